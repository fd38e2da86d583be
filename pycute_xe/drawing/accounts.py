"""The two accounts of one block: who is said to own a value, and what registers hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from pycute_xe.arch.target import grf_bytes
from pycute_xe.atom.register_picture import SUBGROUP, Place, RegisterPicture
from pycute_xe.drawing.scene import LABELS, MARKS, Cell, Panel, make_panel
from pycute_xe.errors import ShapeError

__all__ = ["Accounts", "items_slot", "agreement"]

Owner = tuple[int, int]
_CLAIMED, _DONE = "T said to own it", "T that holds it"
LINE, LONGEST_LINE = 32, 64
"""Register slots in a line of the drawing: a register of narrow values takes several lines."""


def _itself(place: Place) -> Place:
    return place


@dataclass(frozen=True)
class Accounts:
    """A block of ``shape`` values, the owner ``claimed`` of each, and the registers that hold them.

    ``claimed`` lists (row, column) for each work-item and value, ``picture`` is what the hardware
    does; either may be ``None``. ``units`` are the widths in bits in which
    registers show what is said. ``place_of`` says where the first panel draws a
    value, ``name`` and ``axes`` name it, ``group_of`` numbers the message that moves it, by the
    place. Colours are those of the work-item said to own a value, in every panel.
    """

    name: str
    shape: Place
    claimed: tuple[tuple[Place, ...], ...] | None
    picture: RegisterPicture | None
    units: tuple[int, ...] = ()
    axes: tuple[str, str] = ("row", "column")
    element: Callable[[Place], str] = str
    names: tuple[str, str] = ("row", "column")
    place_of: Callable[[Place], Place] = _itself
    group_of: Callable[[Place], int] | None = None

    @cached_property
    def owners(self) -> Mapping[Place, Owner]:
        """(work-item, value) said to own each value of the block; the first where several are."""
        if self.claimed is None:
            return self.done
        table: dict[Place, Owner] = {}
        for lane, places in enumerate(self.claimed):
            for value, place in enumerate(places):
                table.setdefault(place, (lane, value))
        return table

    @cached_property
    def done(self) -> Mapping[Place, Owner]:
        """(work-item, value) whose register holds each value."""
        return self.picture.owners() if self.picture else {}

    @cached_property
    def wrong(self) -> tuple[int, int]:
        """Values that another work-item holds than is said, and those in another order only."""
        elsewhere = reordered = 0
        for lane, places in enumerate(self.claimed or ()):
            for value, place in enumerate(places):
                holder = self.done.get(place, (-1, -1))
                elsewhere += holder[0] != lane
                reordered += holder[0] == lane and holder[1] != value
        return elsewhere, reordered

    # ------------------------------------------------------------------ panels

    def panels(self) -> tuple[Panel, ...]:
        """All three."""
        first = self.first_panel()
        return first, self.registers_panel((0, 1)), self.items_panel(items_slot(first))

    def first_panel(self) -> Panel:
        """The block where it lies in memory, or the matrix that it is."""
        rows, cols = self.shape
        places = [(row, col) for row in range(rows) for col in range(cols)]
        wide = 1 + max(self.place_of(place)[1] for place in places)
        # A long row goes on below itself; a single one sooner, as it has nothing to line up with.
        limit = LONGEST_LINE if wide < rows * cols else LINE
        line = limit if wide > limit else wide
        lines = -(-wide // line)
        cells: list[Cell] = []
        for place in places:
            y, x = self.place_of(place)
            at = y * lines + x // line, x % line
            group = self.group_of((y, x)) if self.group_of else 0
            cells.append(self._cell(place, at, as_owner=True, group=group))
        framed = self.group_of is not None or self.name != "in memory"
        panel = make_panel(self.name, cells, self.axes, framed)
        names = tuple(_line_name(row, lines, line) for row in panel.rows)
        return replace(panel, row_names=names)

    def registers_panel(self, slot: Place) -> Panel:
        """What the hardware has in each register, in the order of the bytes."""
        picture = self.picture
        if picture is None:
            raise ShapeError(
                "draw",
                {"block": self.shape},
                "no registers are known for the block",
                "draw its work-items",
            )
        line = self._line(picture)
        lines = 8 * grf_bytes() // picture.bits // line
        cells = [self._slot(picture, i, line) for i in range(len(picture.slots))]
        # Frames around each register, while they do not hide small cells.
        framed = lines > 1 and len(cells) <= 1024
        panel = make_panel("in registers", cells, ("register", ""), framed, slot)
        names = [_line_name(row, lines, grf_bytes() // lines) for row in panel.rows]
        heads, colours = _holders(picture, line)
        short = _CLAIMED if self.claimed else "T"
        about = "work-item that holds it" if heads else "slot"
        return panel.headed(about, heads, colours, tuple(names), short, self._full)

    def items_panel(self, slot: Place) -> Panel:
        """What each work-item is said to own: a column for each, a row for each value."""
        cells = list(self._items())
        about = "work-item that is said to own it" if self.claimed else "work-item that holds it"
        panel = make_panel("in work-items", cells, ("value", ""), False, slot)
        heads = tuple(f"T{lane}" for lane in panel.cols)
        short = _DONE if self.picture else "T"
        return panel.headed(about, heads, panel.cols, short=short, full=self._full)

    @property
    def _full(self) -> str:
        return ",".join(self.names)

    def _items(self) -> Iterator[Cell]:
        picture = self.picture
        if self.claimed is None and picture is not None:
            for lane in range(SUBGROUP):
                for value, place in enumerate(picture.held_by(lane)):
                    if place is not None:
                        yield self._cell(place, (value, lane))
        for lane, places in enumerate(self.claimed or ()):
            for value, place in enumerate(places):
                yield self._item(place, (lane, value))

    def _item(self, place: Place, owner: Owner) -> Cell:
        lane, value = owner
        if place in self._inside:
            return self._cell(
                place, (value, lane), owner, judged=self.picture is not None, in_items=True
            )
        tip = f"T{lane}·V{value} is said to hold {self.element(place)}, outside of the block"
        data = ("lane", lane), ("value", value)
        return Cell(value, lane, None, ("–",), data, tip, wrong=True)

    @cached_property
    def _inside(self) -> frozenset[Place]:
        rows, cols = self.shape
        return frozenset((row, col) for row in range(rows) for col in range(cols))

    @staticmethod
    def _line(picture: RegisterPicture) -> int:
        """Slots in a line: all work-items once, or twice."""
        per_unit = picture.unit_bits // picture.bits
        return min(8 * grf_bytes() // picture.bits, LONGEST_LINE, max(LINE, SUBGROUP * per_unit))

    def _slot(self, picture: RegisterPicture, index: int, line: int) -> Cell:
        row, col = divmod(index, line)
        group = index * picture.bits // (8 * grf_bytes())
        place = picture.slots[index]
        if place is None:
            byte = index * picture.bits // 8
            return Cell(row, col, None, ("·",), (("byte", byte),), "padding", group)
        return self._cell(place, (row, col), judged=True, group=group)

    def _cell(
        self,
        place: Place,
        at: Place,
        owner: Owner | None = None,
        *,
        as_owner: bool = False,
        judged: bool = False,
        in_items: bool = False,
        group: int = 0,
    ) -> Cell:
        """One value, drawn at a place of its panel: named by its owner, or by itself."""
        owner = owner or self.owners.get(place)
        byte = self._bytes.get(place)
        data = [("row", place[0]), ("col", place[1])]
        if owner:
            data = [("lane", owner[0]), ("value", owner[1]), *data]
        if byte is not None:
            data.append(("byte", byte))
        lines = tuple(map(str, place))
        if as_owner:
            lines = (f"T{owner[0]}", f"V{owner[1]}") if owner else ("–",)
        holder = self.done.get(place)
        wrong = judged and self.claimed is not None and holder != owner
        # A column says one work-item, so a short label says the other.
        other = holder if in_items else owner
        short = str(other[0]) if other else "–"
        return Cell(
            *at,
            colour=owner[0] if owner else None,
            lines=lines,
            data=tuple(data),
            tip=self._tip(place, owner),
            group=group,
            wrong=wrong,
            joint="·" if as_owner else ",",
            short=short,
        )

    @cached_property
    def _bytes(self) -> Mapping[Place, int]:
        picture = self.picture
        if picture is None:
            return {}
        slots = enumerate(picture.slots)
        return {place: i * picture.bits // 8 for i, place in slots if place is not None}

    def _tip(self, place: Place, owner: Owner | None) -> str:
        what, holder = self.element(place), self.done.get(place)
        label = f"T{owner[0]}·V{owner[1]}" if owner else "no work-item"
        if holder is None:
            return f"{label} is said to hold {what}" if self.claimed else what
        register, byte = divmod(self._bytes[place], grf_bytes())
        where = f"in register {register}, byte {byte} of it"
        if holder == owner:
            return f"{label} holds {what} {where}"
        return f"{label} is said to hold {what}, T{holder[0]}·V{holder[1]} does {where}"


def items_slot(first: Panel) -> Place:
    """Where work-items stand: beside the first panel, or below it if it is wide."""
    return (1, 1) if len(first.cols) > LINE else (1, 0)


def _line_name(row: int, lines: int, step: int) -> str:
    """The number of a row or register, or the column or byte of it where another line begins."""
    number, part = divmod(row, lines)
    return f"+{part * step}" if part else str(number)


def _holders(picture: RegisterPicture, line: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Name the work-item that each column of slots belongs to, and its colour if it is one.

    Where lines of 8 units alternate, the columns name two; where it is more, none.
    """
    columns: list[list[int]] = []
    for col in range(min(line, len(picture.slots))):
        slots = range(col, len(picture.slots), line)
        columns.append(list(dict.fromkeys(picture.owner(i)[0] for i in slots)))
    most = max(map(len, columns))
    if most > 2:
        return (), ()
    if most == 2:
        return tuple(",".join(map(str, column)) for column in columns), ()
    return tuple(f"T{column[0]}" for column in columns), tuple(column[0] for column in columns)


# ------------------------------------------------------------ account words
# Whether the two accounts of a block agree, in words for a caption.


def agreement(
    accounts: Accounts,
    shown: tuple[str, ...] = ("registers",),
    labelled: bool = True,
    layouts_agree: bool = True,
) -> Iterator[str]:
    """Say what colours mean, whether registers hold what is said, and what pads them.

    ``shown`` are the panels, ``labelled`` tells whether cells have labels, ``layouts_agree``
    whether the layouts of the atom say the same as its ownership.
    """
    owned, picture = accounts.claimed, accounts.picture
    if owned is None:
        yield "Colours: the work-item whose registers hold a value."
    elif picture is None:
        yield "Colours: the work-item that is said to own a value."
    else:
        yield "Colours: the work-item that is said to own a value, in every panel."
        yield from _verdict(accounts, shown != ("memory",), layouts_agree)
    if picture is not None and "registers" in shown:
        pads = f", {picture.padding} slots of them padding (dots)" if picture.padding else ""
        yield f"Registers are drawn lowest byte first{pads}."
    if labelled and shown != ("memory",):
        yield f"{LABELS}: {' and '.join(accounts.names)} of the value there."


def _verdict(accounts: Accounts, marks: bool, layouts_agree: bool) -> Iterator[str]:
    elsewhere, reordered = accounts.wrong
    picture = accounts.picture
    unit = picture.unit_bits if picture else 0
    widths = " or ".join(f"{unit}-bit" for unit in accounts.units)
    if not elsewhere and not reordered:
        words = f"the registers, read as {widths} units, hold what is said"
        yield (
            f"Faithful: {words}." if layouts_agree else f"Note: {words}, but its layouts differ."
        )
        return
    total = sum(map(len, accounts.claimed or ()))
    counts = f"{elsewhere} of {total} values are with another work-item than is said"
    if reordered and elsewhere:
        counts += f", and {reordered} in another order"
    elif reordered:
        counts = f"{reordered} of {total} values are in another order than is said"
    corners = f" ({MARKS})" if marks else ""
    if widths:
        # Nothing is wrong with such an atom: it is read in another width.
        yield (
            f"Read in {widths} units, each work-item finds what is said; "
            f"read in {unit}-bit ones, {counts}{corners}."
        )
        return
    yield f"Note: unfaithful{corners}: read as {unit}-bit units, {counts}."
    yield "In no width of units do the registers show what is said."
