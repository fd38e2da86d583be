"""Copy atoms in memory, registers and work-items; tiled copies as they lie in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from pycute_xe.arch import Block2D
from pycute_xe.arch.registers import RegisterMap
from pycute_xe.atom import CopyAtom, TiledCopy
from pycute_xe.atom.copy_answers import AnyPlaced, CopyAnswers
from pycute_xe.atom.register_picture import SUBGROUP, Place
from pycute_xe.drawing.accounts import Accounts, agreement, items_slot
from pycute_xe.drawing.images import copied
from pycute_xe.drawing.scene import (
    CELL_LIMIT,
    LABELLED,
    Cell,
    Panel,
    Scene,
    demand_room,
    frames,
    make_panel,
    owned,
)
from pycute_xe.errors import CoordError, CuteError, ShapeError
from pycute_xe.layout import Layout, size

__all__ = ["TARGET", "of_copy_atom", "of_tiled_copy"]

TARGET = "bmg"
"""The target whose messages a drawing names."""
MOST_CELLS = 6144
"""Cells that panels have together: with their data and red corners they fill 1 MB."""
PANELS = ("memory", "registers", "work-items")
_T = TypeVar("_T")


def of_copy_atom(atom: CopyAnswers, what: str | None = None) -> Scene:
    """Return an atom's block in memory, in registers and in work-items, or one of these.

    Colours are those of the work-item that `CopyAnswers.ownership` says, in every panel, so that
    registers show at once whether the hardware agrees. What is missing, because no layout or no
    message exists, is left out and the caption says why; panels that are too large together are
    left out as well. A prefetch has memory alone.
    Raises `ShapeError` for another ``what``, for a missing panel, and for too many cells; the error
    of the layout for an atom with neither layouts nor messages.
    """
    facts = _Facts.of(atom)
    there = facts.panels()
    if what is not None and what not in there:
        condition = facts.why(what) if what in PANELS else "unknown panel"
        raise ShapeError(
            "draw", {"x": str(atom), "what": what}, condition, f"one of {', '.join(there)}"
        )
    shown = _that_fit(facts, there) if what is None else (what,)
    _check_size(facts, there, shown)
    caption = [*facts.caption(shown), *_left_out(there, shown, what)]
    panels = facts.draw(shown)
    name = getattr(atom, "op", atom)
    title = f"The block of {name}" if facts.prefetch else f"Who holds the block of {name}"
    return Scene(title, tuple(caption), panels)


@dataclass(frozen=True)
class _Facts:
    """What is known of an atom, and why the rest is not."""

    atom: CopyAnswers
    accounts: Accounts
    messages: tuple[AnyPlaced, ...]
    refusals: tuple[tuple[str, CuteError], ...]

    @classmethod
    def of(cls, atom: CopyAnswers) -> _Facts:
        refusals: list[tuple[str, CuteError]] = []

        def tried(name: str, call: Callable[[], _T]) -> _T | None:
            try:
                return call()
            except CuteError as error:
                refusals.append((name, error))
                return None

        places = tried("work-items", atom.ownership)
        picture = tried("registers", atom.registers)
        messages = tried("messages", lambda: atom.messages(TARGET)) or ()
        if places is None and picture is None:
            raise refusals[0][1]
        group = _Blocks(messages, atom.value_type.bits)
        shape = atom.shape
        if places and len(places) == 1 and picture:
            # One work-item at an address of its own; the registers show all 16 of them.
            shape = SUBGROUP, shape[1]
            places = tuple(tuple((t, x) for _, x in places[0]) for t in range(SUBGROUP))
        filled = picture if picture and picture.slots else None
        accounts = Accounts(
            "in memory",
            shape,
            places,
            filled,
            atom.faithful_units if filled and places else (),
            ("column", "row (transposed)") if _is_turned(atom) else ("row", "column"),
            place_of=lambda place: atom.place_in_memory(*place),
            group_of=group.number if group.several else None,
        )
        return cls(atom, accounts, messages, tuple(refusals))

    @property
    def prefetch(self) -> bool:
        """Whether the messages reach no register."""
        refused = {name for name, _ in self.refusals}
        return self.accounts.picture is None and "registers" not in refused

    def panels(self) -> tuple[str, ...]:
        if self.prefetch:
            return PANELS[:1]
        return PANELS if self.accounts.picture else ("memory", "work-items")

    def why(self, what: str) -> str:
        """Say why a panel does not exist."""
        if self.prefetch:
            return "a prefetch reaches no register and no work-item"
        return dict(self.refusals)[what].condition

    def draw(self, shown: tuple[str, ...]) -> tuple[Panel, ...]:
        """Draw the panels of these names; registers below memory, work-items at the right."""
        accounts = self.accounts
        if len(shown) == 1:
            return (self._panel(shown[0], (0, 0)),)
        memory = accounts.first_panel()
        items = (1, 0) if "registers" not in shown else items_slot(memory)
        slots = {"registers": (0, 1), "work-items": items}
        return memory, *(self._panel(name, slots[name]) for name in shown[1:])

    def _panel(self, name: str, slot: Place) -> Panel:
        if name == "memory":
            return self.accounts.first_panel()
        if name == "registers":
            return self.accounts.registers_panel(slot)
        return self.accounts.items_panel(slot)

    def size(self, name: str) -> int:
        """Cells of a panel."""
        rows, cols = self.accounts.shape
        picture = self.accounts.picture
        return len(picture.slots) if name == "registers" and picture else rows * cols

    def caption(self, shown: tuple[str, ...]) -> Iterator[str]:
        atom, (rows, cols) = self.atom, self.accounts.shape
        kind = f"{_count(rows, 'row')} × {_count(cols, 'column')} of {atom.value_type}"
        if _is_turned(atom):
            kind += f", transposed: in memory {_count(cols, 'row')} × {_count(rows, 'value')}"
        yield f"{kind}. {self._moved('memory' in shown)}"
        if rows != atom.shape[0]:
            yield "Each work-item moves its own row, from or to an address of its own."
        if self.prefetch:
            yield "A prefetch reaches no register: no work-item holds any of it."
            if self.accounts.claimed:
                yield "Colours: the work-items that its layouts name."
        else:
            few = sum(map(self.size, shown)) <= LABELLED
            yield from agreement(self.accounts, shown, few, self._layouts_agree())
            if not few and len(shown) > 1:
                one = f'draw(atom, "{shown[0]}")'
                yield f"More than {LABELLED} cells have no labels: {one} is one panel with them."
        for name, error in self.refusals:
            if name != "messages" or "registers" not in dict(self.refusals):
                yield f"Note: {_LACKING[name]}: {error.condition}."
        yield from _notes(atom, shown=("registers",) if self.accounts.claimed else ())

    def _layouts_agree(self) -> bool:
        """Whether unfaithfulness, if there is any, shows in the ownership that is drawn."""
        accounts = self.accounts
        drawn = accounts.claimed is None or accounts.picture is None or accounts.wrong != (0, 0)
        return drawn or self.atom.faithful

    def _moved(self, in_memory: bool) -> str:
        if not self.messages:
            return f"No message on {TARGET} moves it."
        counted = Counter(str(part.message) for part in self.messages)
        listed = ", ".join(f"{n} × {text}" if n > 1 else text for text, n in counted.items())
        plural = "s" if len(self.messages) > 1 else ""
        framed = in_memory and self.accounts.group_of and frames(self.accounts.first_panel())
        blocks = "; frames: blocks of messages" if framed else ""
        return f"Message{plural} on {TARGET}: {listed}{blocks}."


_LACKING = {
    "work-items": "no layout says who owns what",
    "registers": "the registers are not drawn",
    "messages": f"{TARGET} refuses the message",
}


def _is_turned(atom: CopyAnswers) -> bool:
    """Whether columns of the block are rows of memory."""
    return atom.place_in_memory(0, 1) == (1, 0)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


class _Blocks:
    """The blocks of messages, by the places in memory that they cover."""

    def __init__(self, parts: tuple[AnyPlaced, ...], value_bits: int) -> None:
        self.bits = value_bits
        self.parts = [(p.x, p.y, p.message) for p in parts if isinstance(p.message, Block2D)]

    @property
    def several(self) -> bool:
        return sum(message.count for _, _, message in self.parts) > 1

    def number(self, place: Place) -> int:
        """The number of the block that covers a place, -1 for none."""
        y, column = place
        before = 0
        for left, top, message in self.parts:
            x = column * self.bits // message.bits - left
            if 0 <= y - top < message.height and 0 <= x < message.width * message.count:
                return before + x // message.width
            before += message.count
        return -1


def _that_fit(facts: _Facts, there: tuple[str, ...]) -> tuple[str, ...]:
    """The first panels that a drawing can show together; one at least."""
    total, shown = 0, list[str]()
    for name in there:
        total += facts.size(name)
        if shown and total > MOST_CELLS:
            break
        shown.append(name)
    return tuple(shown)


def _check_size(facts: _Facts, there: tuple[str, ...], shown: tuple[str, ...]) -> None:
    """Refuse too many cells, naming the panels that are small enough."""
    cells = sum(map(facts.size, shown))
    if cells > CELL_LIMIT:
        fitting = [f'draw(atom, "{name}")' for name in there if facts.size(name) <= CELL_LIMIT]
        smaller = "draw an atom of a smaller block, or ask: owner_of(row, col), registers()"
        raise ShapeError(
            "draw",
            {"x": str(facts.atom), "what": shown[0]},
            f"{cells} cells are more than a drawing can show ({CELL_LIMIT})",
            " or ".join(fitting) or smaller,
        )


def _left_out(there: tuple[str, ...], shown: tuple[str, ...], what: str | None) -> Iterator[str]:
    rest = [name for name in there if name not in shown]
    if rest and what is None:
        calls = ", ".join(f'draw(atom, "{name}")' for name in rest)
        yield f"Note: too many cells for all panels; {calls} draws what is left out."


def of_tiled_copy(copy: TiledCopy, subgroup: int) -> Scene:
    """Return a subgroup's share of the tile, laid out as in memory.

    Of a block-2D template as its messages fill registers, of other atoms as the tiling says.
    Raises `CuteError` for a prefetch and `CoordError` for a subgroup that does not exist.
    """
    if not 0 <= subgroup < copy.num_subgroups:
        raise CoordError(
            "draw", {"subgroup": subgroup}, f"there are {copy.num_subgroups} subgroups", "use 0"
        )
    tile = " × ".join(map(str, copy.tiler_mn))
    share = f"The share of one of {copy.num_subgroups} subgroups in the {tile} tile"
    title = f"Who holds what of a tiled copy, subgroup {subgroup}"
    demand_room(title, size(copy.tiler_mn) // copy.num_subgroups)
    if not isinstance(copy.atom, CopyAtom):
        caption = [
            f"{share} of {copy.value_type}, by {copy.messages} × {copy.name}, as the tiling says.",
            *_notes(copy.atom),
        ]
        return Scene(title, tuple(caption), (_ownership_panel(copy, subgroup),))
    _refuse_prefetch(copy.atom)
    bits = copy.value_type.bits
    slots = list(copied(copy, subgroup))
    owner = RegisterMap(Layout(1 + max(s.element for s in slots)), bits).owner
    cells: list[Cell] = []
    for s in slots:
        place = s.place[copy.y_mode], s.place[copy.x_mode]
        what = f"({s.place[0]}, {s.place[1]}) of the tile"
        cells.append(owned(place, owner(s.element), s.element * bits // 8, what, s.group))
    verb = "stored" if copy.op.is_store else "loaded"
    caption = [
        f"{share} of {copy.value_type}, rows as in memory.",
        f"It is {verb} by {copy.messages} × {copy.op}: {copy.op.message}.",
        *_notes(copy.block),
        *(["Frames: messages."] if copy.messages > 1 else []),
    ]
    axes = f"y (mode {copy.y_mode})", f"x (mode {copy.x_mode}, contiguous)"
    panel = make_panel("", cells, axes, framed=copy.messages > 1)
    return Scene(title, tuple(caption), (panel,))


def _ownership_panel(copy: TiledCopy, subgroup: int) -> Panel:
    """Who is meant to hold what, without a place in registers."""
    modes = len(copy.tiler_mn)
    if modes > 2:
        condition = f"the tile has {modes} modes, a drawing two"
        fix = "ask layout_tv_tiled and owner_of instead"
        raise ShapeError("draw", {"tile": copy.tiler_mn}, condition, fix)
    cells: list[Cell] = []
    for lane in range(SUBGROUP):
        for value in range(size(copy.layout_tv_tiled[1])):
            place = copy.fragment((lane, subgroup), value)
            row, col = place if modes == 2 else (0, *place)
            data = (("lane", lane), ("value", value), ("row", row), ("col", col))
            tip = f"T{lane}·V{value} holds ({row}, {col}) of the tile"
            group = value // copy.atom.values
            cells.append(Cell(row, col, lane, (f"T{lane}", f"V{value}"), data, tip, group))
    axes = ("mode 0", "mode 1") if modes == 2 else ("", "mode 0")
    return make_panel("", cells, axes, framed=copy.messages > 1)


def _notes(atom: CopyAnswers, shown: tuple[str, ...] = ()) -> list[str]:
    """The notes on subjects that the caption has not told of yet."""
    notes = atom.notes_by_subject
    return [f"Note: {notes[subject]}." for subject in notes if subject not in shown]


def _refuse_prefetch(atom: CopyAtom) -> None:
    if atom.op.kind == "XE_PREFETCH_2D":
        raise CuteError(
            "draw",
            {"op": atom.op},
            "a prefetch puts nothing into registers, so no work-item owns any of it",
            "draw the copy that it prefetches for",
        )
