"""What changes from one atom to another, or from what an atom says to what it does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from textwrap import wrap

from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom.copy_atom import CopyAtom
from pycute_xe.atom.mma_atom import MmaAtom, Operand
from pycute_xe.atom.register_picture import UNITS, Place, RegisterPicture
from pycute_xe.comparing.atom_arguments import (
    Copy,
    as_copy_atom,
    as_mma_atom,
    first_messages,
    name_of,
)
from pycute_xe.comparing.changes import (
    NAMES,
    Change,
    Difference,
    Owner,
    Row,
    change_of_owners,
)
from pycute_xe.cutlass.legacy_copy import LegacyCopyAtom
from pycute_xe.cutlass.names import get_atom
from pycute_xe.errors import CuteError
from pycute_xe.signatures import checked_fields

__all__ = ["AtomDiff", "Change", "diff_atoms"]

# ------------------------------------------------------------ compared facts
# What `diff` compares of an atom.

Owners = Mapping[Place, tuple[Owner, ...]]
"""All owners of each element, by work-item and value."""

STRIDE = "gmem_stride"
"""The parameter of an older name that no element's owner depends on."""

_CHANNEL = 32


@dataclass(frozen=True, eq=False)
class Side:
    """One atom, seen as `diff` needs it.

    ``facts`` are its parameters by name; ``claimed`` the owners of each element by its layouts;
    ``picture`` its registers, ``None`` where ``why`` says why; ``units`` the widths of 8 to 64 bits
    in which registers show what is said; ``offsets`` the layout of a copy, (work-item, value) →
    offset in memory.
    """

    label: str
    facts: Mapping[str, str]
    messages: tuple[str, ...]
    shape: Place
    bits: int
    claimed: Owners
    picture: RegisterPicture | None
    units: tuple[int, ...]
    why: str = ""
    turned: bool = False
    offsets: str = ""

    @property
    def work_item_units(self) -> tuple[int, ...]:
        """Widths in which each work-item holds what is said, in whatever order."""
        wanted = {place: [t for t, _ in owners] for place, owners in self.claimed.items()}
        return tuple(
            unit
            for unit, owned in _read(self.picture)
            if {p: [t for t, _ in owners] for p, owners in owned.items()} == wanted
        )

    @property
    def owners(self) -> Owners:
        """The owner of each element in registers, which have one of each."""
        return _alone(self.picture, None)

    @property
    def repeated(self) -> int:
        """Elements that several work-items, or one under several numbers, are said to own."""
        return sum(len(owners) > 1 for owners in self.claimed.values())

    @property
    def rows_in_a_dword(self) -> int:
        """Elements of one column that the first dword of the registers holds."""
        if self.picture is None:
            return 1
        row, col = self.picture.slots[0] or (0, 0)
        first = self.picture.slots[: max(1, _CHANNEL // self.picture.bits)]
        return sum(place == (row + i, col) for i, place in enumerate(first))

    @property
    def adjacent(self) -> int:
        """Adjacent columns that work-item 0 is said to own from the first on."""
        count = 1
        while (0, count) in self.claimed.get((0, count), ()):
            count += 1
        return count


def _alone(picture: RegisterPicture | None, unit_bits: int | None) -> Owners:
    owners = picture.owners(unit_bits) if picture else {}
    return {place: (owner,) for place, owner in owners.items()}


def _read(picture: RegisterPicture | None) -> Iterator[tuple[int, Owners]]:
    """The owners in registers that are read in units of each width."""
    for unit in UNITS if picture else ():
        if picture and unit % picture.bits == 0:
            yield unit, _alone(picture, unit)


def sides(a: object, b: object, operand: Operand | None) -> tuple[Side, Side]:
    """Return both sides; for a single atom, the same one twice.

    Raises `CuteError` for a copy against an MMA, a missing operand, or one that does not apply.
    """
    kinds = {isinstance(_named(x), MmaAtom | Dpas) for x in (a, b) if x is not None}
    given = {"a": a, "b": b, "operand": operand}
    if len(kinds) > 1:
        condition = "a copy and an MMA cannot be compared"
        raise CuteError("diff", given, condition, "call feeds(copy, mma, operand)")
    if kinds == {True}:
        if operand is None:
            raise CuteError(
                "diff",
                given,
                "two MMAs are compared in one operand, and none is named",
                'add operand="B"',
            )
        left = _mma_side(as_mma_atom(a, "diff"), operand)
        return left, left if b is None else _mma_side(as_mma_atom(b, "diff"), operand)
    if operand is not None:
        raise CuteError("diff", given, "a copy has no operands", "leave the operand out")
    return _copies(a, b)


def _named(given: object) -> object:
    return get_atom(given) if isinstance(given, str) else given


def _copies(a: object, b: object) -> tuple[Side, Side]:
    left = as_copy_atom(a, "diff", b.value_type if isinstance(b, Copy) else None)
    if b is None:
        side = _copy_side(left, False)
        return side, side
    right = as_copy_atom(b, "diff", left.value_type)
    if left.value_type.bits > right.value_type.bits:
        left = replace(left, value_type=right.value_type)
    elif left.value_type.bits < right.value_type.bits:
        right = replace(right, value_type=left.value_type)
    # Templates count rows and columns of memory, older names those of the result.
    mixed = type(left) is not type(right)
    return _copy_side(left, mixed), _copy_side(right, mixed)


def _copy_side(copy: Copy, mixed: bool) -> Side:
    placed, why = first_messages(copy)
    picture = copy.registers() if placed else None
    if picture is not None and not picture.slots:
        picture, why = None, "a prefetch fills no registers"
    facts = _facts(copy)
    if picture is not None:
        facts["registers"] = str(picture.registers)
    side = Side(
        name_of(copy),
        facts,
        tuple(map(str, placed)),
        copy.shape,
        copy.value_type.bits,
        _owners(copy.ownership()),
        picture,
        copy.faithful_units if picture is not None else (),
        why,
        any(part.message.transpose for part in placed),
        str(copy.layout_ref_tv),
    )
    return _turned(side) if mixed and isinstance(copy, CopyAtom) and side.turned else side


def _facts(copy: Copy) -> dict[str, str]:
    """The parts of a name or the parameters of a template."""
    if isinstance(copy, LegacyCopyAtom):
        name = copy.name
        return {
            "data type": name.data_type,
            "rows": str(name.rows),
            "columns": str(name.cols),
            "packed": "yes" if name.packed else "no",
            "direction": "store" if name.is_store else "load",
            "mode": name.mode,
            "prefetch": "yes" if name.is_prefetch else "no",
            "values": copy.value_type.name,
            STRIDE: '(1, "ld")' if copy.m_major else '("ld", 1)',
        }
    op = copy.op
    return {
        "operation": op.kind,
        "bits": str(op.bits),
        "height": str(op.height),
        "width": str(op.width),
        "block width": str(op.block_width),
        "values": copy.value_type.name,
    }


def _turned(side: Side) -> Side:
    """The side with rows for columns."""
    picture = side.picture
    if picture is not None:
        slots = tuple(place and (place[1], place[0]) for place in picture.slots)
        picture = replace(picture, slots=slots)
    turned = {(x, y): owners for (y, x), owners in side.claimed.items()}
    return replace(side, shape=(side.shape[1], side.shape[0]), claimed=turned, picture=picture)


def _mma_side(mma: MmaAtom, operand: Operand) -> Side:
    picture = mma.registers(operand)
    op = mma.op
    facts = {
        "types": " ".join(f"{name}={getattr(op, name)}" for name in "DABC"),
        "M": str(op.M),
        "layouts": "older atoms" if mma.legacy else "XE_DPAS_TT",
        "registers": str(picture.registers),
    }
    shape, owners = mma.operand_shape(operand), _owners(mma.ownership(operand))
    units = tuple(unit for unit, owned in _read(picture) if owned == owners)
    return Side(
        f"{operand} of {mma}", facts, (str(op),), shape, picture.bits, owners, picture, units
    )


def _owners(ownership: tuple[tuple[Place, ...], ...]) -> Owners:
    owners: dict[Place, tuple[Owner, ...]] = {}
    for work_item, places in enumerate(ownership):
        for value, place in enumerate(places):
            owners[place] = (*owners.get(place, ()), (work_item, value))
    return owners


# ------------------------------------------------------------ differing

_COLUMNS = 100
_MESSAGES = 2


@checked_fields
@dataclass(frozen=True, repr=False)
class AtomDiff(Difference):
    """What differs between two atoms, or between the two accounts of one.

    ``parameters``: (what, before, after) of those that differ; ``messages``: the hardware messages
    of both; ``shapes``: their blocks, in values of ``bits``. ``said`` compares what CuTe's layouts
    say, ``held`` what registers hold, both over the elements that the blocks have in common. Of one
    atom ``said`` is ``None``, and ``held`` goes from what it says to what its messages do. ``held``
    is ``None`` without registers. ``meaning``: in words.
    """

    parameters: tuple[tuple[str, str, str], ...] = ()
    messages: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    shapes: tuple[Place, Place] = ((0, 0), (0, 0))
    bits: int = 0
    said: Change | None = None
    held: Change | None = None
    meaning: tuple[str, ...] = ()

    def _paragraphs(self, most: int) -> Iterator[str]:
        return (line for text in self._texts(most) for line in text.split("\n"))

    def _texts(self, most: int) -> Iterator[str]:
        yield f"{self.before} → {self.after}"
        if self.parameters:
            changed = "; ".join(f"{what} {old} → {new}" for what, old, new in self.parameters)
            yield from wrap(changed, _COLUMNS, initial_indent="  ", subsequent_indent="  ")
        before, after = self.messages
        for mark, texts in (("-", before), ("+", after)) if before != after else ((" ", before),):
            yield from (f"{mark} {text}" for text in texts[:_MESSAGES])
            if len(texts) > _MESSAGES:
                yield f"{mark} and {len(texts) - _MESSAGES} more messages"
        blocks = ["{}x{}".format(*shape) for shape in self.shapes]
        yield f"block in values of {self.bits} bits: {' → '.join(dict.fromkeys(blocks))}"
        for what, change in self.owners:
            yield f"{what}: {change}"
        rules = [row for row in self.changed if row.section == "legality"]
        for words in (*self.meaning, *(f"legality: {row}" for row in rules)):
            yield from wrap(f"* {words}", _COLUMNS, subsequent_indent="  ")[: max(2, most)]


def diff_atoms(a: object, b: object = None, operand: Operand | None = None) -> AtomDiff:
    """Return what changes from one atom to another, or from what one says to what it does.

    ``a`` and ``b`` are two copies or two MMAs, as atoms, operations or names; two MMAs are compared
    in one ``operand``. Without ``b``: ``a`` as its layouts have it, against its messages. Elements
    are (row, column) in ``shape``, of the narrower of two types; the block of
    ``XE_LOAD_2D_TRANSPOSE`` is turned where an older name is the other, whose rows and columns
    count the result. Law: nothing changes from an atom to itself.
    Raises `CuteError` for a copy against an MMA, a missing operand, or one that does not apply.
    Document: CUTLASS, "2D Copy Operations for Intel XE Architecture"; intel/sycl-tla,
    media/docs/cpp/xe_rearchitecture.md.

    >>> change = diff_atoms("XE_2D_U16x16x16_LD_N", "XE_2D_U16x16x16_LD_V")
    >>> change.parameters, change.held.other_work_item, change.held.examples[0]
    ((('mode', 'N', 'V'),), 240, ((0, 1), (1, 0), (2, 0)))
    >>> print(diff_atoms("XE_2D_U16x16x16_LD_V").meaning[0])
    read in units of 32 bits, registers show what XE_2D_U16x16x16_LD_V says
    """
    before, after = sides(a, b, operand)
    layouts = None if b is None else change_of_owners(before.claimed, after.claimed)
    registers = _register_change(before, after, alone=b is None)
    names = ("said by layouts", "held in registers" if layouts else "said, against registers")
    return AtomDiff(
        kind="atom",
        before=before.label,
        after=after.label if b is not None else "its registers",
        rows=tuple(_rows(before, after)),
        owners=tuple((what, c) for what, c in zip(names, (layouts, registers), strict=True) if c),
        parameters=tuple(_parameters(before, after)),
        messages=(before.messages, after.messages),
        shapes=(before.shape, after.shape),
        bits=before.bits,
        said=layouts,
        held=registers,
        meaning=tuple(_meaning(before, after)),
    )


def _rows(before: Side, after: Side) -> Iterator[Row]:
    """Parameters, messages and blocks of both."""
    for what in dict.fromkeys((*before.facts, *after.facts)):
        # What only one kind of name has says nothing that owners and messages do not.
        section = "parameters" if what in before.facts and what in after.facts else NAMES
        yield Row(section, what, before.facts.get(what), after.facts.get(what))
    yield Row("messages", "", "; ".join(before.messages), "; ".join(after.messages))
    shapes = ("{}x{}".format(*side.shape) for side in (before, after))
    yield Row("block", f"in values of {before.bits} bits", *shapes)
    if before.picture is None or after.picture is None:
        yield Row("registers", "", *("none" if s.picture is None else "" for s in (before, after)))


def _register_change(before: Side, after: Side, alone: bool) -> Change | None:
    """The change of registers; of one atom, from what is said to its registers."""
    left, right = before.picture, after.picture
    if left is None or right is None:
        return None
    if alone:
        return change_of_owners(before.claimed, after.owners)
    first, second = _bytes(left), _bytes(right)
    other = sum(first[place] != second[place] for place in first.keys() & second.keys())
    return change_of_owners(before.owners, after.owners, other)


def _bytes(picture: RegisterPicture) -> dict[Place, int]:
    slots = enumerate(picture.slots)
    return {place: i * picture.bits // 8 for i, place in slots if place is not None}


def _parameters(before: Side, after: Side) -> Iterator[tuple[str, str, str]]:
    for what, value in before.facts.items():
        other = after.facts.get(what, value)
        if other != value:
            yield what, value, other


def _meaning(before: Side, after: Side) -> Iterator[str]:
    """What the figures come from, in words; of an atom alone each is said once."""
    both = (before, after) if before is not after else (before,)
    yield from dict.fromkeys(map(_shown, both))
    for note in (_packing, _turning, _adjacency, _repeating, _padding):
        notes = [note(side) for side in both]
        if len(both) == 1 or notes[0][0] != notes[1][0]:
            yield from (
                words.format(side.label) for side, (n, words) in zip(both, notes, strict=True) if n
            )
    if len(both) == 1 or before.picture is None or after.picture is None:
        return
    same_layouts, same_registers = before.claimed == after.claimed, before.picture == after.picture
    yield from _strides(before, after)
    if same_layouts and not same_registers:
        yield "the layouts do not tell them apart: code that reads single registers must"
    if same_registers and not same_layouts:
        yield "the registers are alike: only the layouts say something else"


def _strides(before: Side, after: Side) -> Iterator[str]:
    """What the stride of the tensor does: no owner of an element depends on it."""
    old, new = before.facts.get(STRIDE), after.facts.get(STRIDE)
    if old is None or new is None or old == new:
        return
    alike = before.claimed == after.claimed and before.picture == after.picture
    only = "only offsets differ" if alike else "offsets differ"
    if before.offsets == after.offsets:
        yield f"the layouts of stores count row by row, whatever the {STRIDE}: no offset differs"
    else:
        yield f"{only} by {STRIDE}: the layouts are {before.offsets} and {after.offsets}"


def _shown(side: Side) -> str:
    """How registers and layouts of one atom go together."""
    if side.picture is None:
        return f"no registers of {side.label}: {side.why}"
    if side.units:
        units = " or ".join(map(str, side.units))
        return f"read in units of {units} bits, registers show what {side.label} says"
    if side.work_item_units:
        units = " or ".join(map(str, side.work_item_units))
        return (
            f"read in units of {units} bits, each work-item holds what {side.label} says, "
            "in another order"
        )
    return f"read in no unit of 8 to 64 bits do registers show what {side.label} says"


# Each tells how much there is of something, and the words for it where there is any.


def _packing(side: Side) -> tuple[int, str]:
    rows = side.rows_in_a_dword
    return rows - 1, f"{rows} rows share each dword of {{}}: VNNI"


def _turning(side: Side) -> tuple[int, str]:
    return side.turned, "{} turns the block: a column in memory becomes a row"


def _adjacency(side: Side) -> tuple[int, str]:
    count = side.adjacent
    return count - 1, f"a work-item of {{}} is said to own {count} adjacent columns at a time"


def _repeating(side: Side) -> tuple[int, str]:
    count = side.repeated
    words = f"{count} elements of {{}} are said to have several owners: registers hold each once"
    return count, words


def _padding(side: Side) -> tuple[int, str]:
    padding = side.picture.padding if side.picture else 0
    return padding, f"{padding} elements of padding stand in the registers of {{}}"
