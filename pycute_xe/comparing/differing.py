"""Floor 6: what changes from one atom to another, or from what an atom says to what it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import wrap

from pycute_xe.atom.mma_atom import Operand
from pycute_xe.atom.register_picture import Place, RegisterPicture
from pycute_xe.comparing.compared_facts import STRIDE, Owner, Owners, Side, sides

__all__ = ["AtomDiff", "Change", "diff"]

_EXAMPLES = 3
_LINES = 24
_COLUMNS = 100
_MESSAGES = 2


@dataclass(frozen=True)
class Change:
    """How the owners of the elements of a common block change.

    ``elements`` are compared; of them ``other_work_item`` have another work-item, ``other_value``
    the same one under another value number, and ``other_byte`` begin in another byte of the
    registers, where two of them are compared. The first owner counts where several work-items
    repeat an element; ``other_repeats`` are those whose first owner stays and further ones do not.
    ``examples``: (row, column), first owner before, first owner after.
    """

    elements: int
    other_work_item: int
    other_value: int
    other_byte: int
    examples: tuple[tuple[Place, Owner, Owner], ...]
    other_repeats: int = 0

    def __str__(self) -> str:
        """One line of figures, then the examples on another."""
        if not self.elements:
            return "no element in common"
        if not (self.other_work_item or self.other_value or self.other_byte or self.other_repeats):
            return f"all {self.elements} elements alike"
        text = (
            f"of {self.elements} elements {self.other_work_item} change work-item, "
            f"{self.other_value} only value number"
        )
        if self.other_byte:
            text += f", {self.other_byte} byte"
        if self.other_repeats:
            text += f", {self.other_repeats} further owners"
        shown = (
            f"({y}, {x}): T{t}·V{v} → T{to}·V{at}" for (y, x), (t, v), (to, at) in self.examples
        )
        return "\n  ".join((text, "; ".join(shown))) if self.examples else text


@dataclass(frozen=True, repr=False)
class AtomDiff:
    """What differs between two atoms, or between the two accounts of one.

    ``parameters``: (what, before, after) of those that differ; ``messages``: the hardware messages
    of both; ``shapes``: their blocks, in values of ``bits``. ``said`` compares what CuTe's layouts
    say, ``held`` what registers hold, both over the elements that the blocks have in common. Of one
    atom ``said`` is ``None``, and ``held`` goes from what it says to what its messages do. ``held``
    is ``None`` without registers. ``meaning``: in words.
    """

    before: str
    after: str
    parameters: tuple[tuple[str, str, str], ...]
    messages: tuple[tuple[str, ...], tuple[str, ...]]
    shapes: tuple[Place, Place]
    bits: int
    said: Change | None
    held: Change | None
    meaning: tuple[str, ...]

    def __repr__(self) -> str:
        """The two sides."""
        return f"<AtomDiff {self.before} → {self.after}>"

    def __str__(self) -> str:
        """At most 24 lines of 100 columns."""
        lines = [line for text in self._texts() for line in text.split("\n")]
        most = len(lines) if len(lines) <= _LINES else _LINES - 1
        dropped = [f"* and {len(lines) - most} more lines"] if most < len(lines) else []
        return "\n".join([*map(_fitting, lines[:most]), *dropped])

    def _texts(self) -> Iterator[str]:
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
        if self.said:
            yield f"said by layouts: {self.said}"
        if self.held:
            yield f"{'held in' if self.said else 'said, against'} registers: {self.held}"
        for words in self.meaning:
            yield from wrap(f"* {words}", _COLUMNS, subsequent_indent="  ")


def _fitting(line: str) -> str:
    return line if len(line) <= _COLUMNS else line[: _COLUMNS - 1] + "…"


def diff(a: object, b: object = None, operand: Operand | None = None) -> AtomDiff:
    """Return what changes from one atom to another, or from what one says to what it does.

    ``a`` and ``b`` are two copies or two MMAs, as atoms, operations or names; two MMAs are compared
    in one ``operand``. Without ``b``: ``a`` as its layouts have it, against its messages. Elements
    are (row, column) in ``shape``, of the narrower of two types; the block of
    ``XE_LOAD_2D_TRANSPOSE`` is turned where an older name is the other, whose rows and columns
    count the result. Law: nothing changes from an atom to itself.
    Raises `CuteError` for a copy against an MMA, a missing operand, or one that does not apply.
    Document: CUTLASS, "2D Copy Operations for Intel XE Architecture"; intel/sycl-tla,
    media/docs/cpp/xe_rearchitecture.md.

    >>> change = diff("XE_2D_U16x16x16_LD_N", "XE_2D_U16x16x16_LD_V")
    >>> change.parameters, change.held.other_work_item, change.held.examples[0]
    ((('mode', 'N', 'V'),), 240, ((0, 1), (1, 0), (2, 0)))
    >>> print(diff("XE_2D_U16x16x16_LD_V").meaning[0])
    read in units of 32 bits, registers show what XE_2D_U16x16x16_LD_V says
    """
    before, after = sides(a, b, operand)
    return AtomDiff(
        before.label,
        after.label if b is not None else "its registers",
        tuple(_parameters(before, after)),
        (before.messages, after.messages),
        (before.shape, after.shape),
        before.bits,
        None if b is None else _change(before.said, after.said, 0),
        _held(before, after, alone=b is None),
        tuple(_meaning(before, after)),
    )


def _held(before: Side, after: Side, alone: bool) -> Change | None:
    """The change of registers; of one atom, from what is said to its registers."""
    left, right = before.picture, after.picture
    if left is None or right is None:
        return None
    if alone:
        return _change(before.said, after.held, 0)
    first, second = _bytes(left), _bytes(right)
    other = sum(first[place] != second[place] for place in first.keys() & second.keys())
    return _change(before.held, after.held, other)


def _bytes(picture: RegisterPicture) -> dict[Place, int]:
    slots = enumerate(picture.slots)
    return {place: i * picture.bits // 8 for i, place in slots if place is not None}


def _change(before: Owners, after: Owners, other_byte: int) -> Change:
    common = sorted(before.keys() & after.keys())
    first = {p: (before[p][0], after[p][0]) for p in common}
    moved = [p for p, (old, new) in first.items() if old[0] != new[0]]
    renumbered = [p for p, (old, new) in first.items() if old[0] == new[0] and old != new]
    repeats = sum(old == new and before[p] != after[p] for p, (old, new) in first.items())
    shown = [*moved[:_EXAMPLES], *renumbered[:_EXAMPLES]][:_EXAMPLES]
    examples = tuple((place, *first[place]) for place in shown)
    return Change(len(common), len(moved), len(renumbered), other_byte, examples, repeats)


def _parameters(before: Side, after: Side) -> Iterator[tuple[str, str, str]]:
    for what, value in before.facts.items():
        other = after.facts.get(what, value)
        if other != value:
            yield what, value, other


def _meaning(before: Side, after: Side) -> Iterator[str]:
    """What the figures come from, in words; of an atom alone each is said once."""
    both = (before, after) if before is not after else (before,)
    yield from dict.fromkeys(map(_shown, both))
    for tell in (_packing, _turning, _adjacency, _repeating, _padding):
        told = [tell(side) for side in both]
        if len(both) == 1 or told[0][0] != told[1][0]:
            yield from (
                words.format(side.label) for side, (n, words) in zip(both, told, strict=True) if n
            )
    if len(both) == 1 or before.picture is None or after.picture is None:
        return
    said, held = before.said == after.said, before.picture == after.picture
    yield from _strides(before, after)
    if said and not held:
        yield "the layouts do not tell them apart: code that reads single registers must"
    if held and not said:
        yield "the registers are alike: only the layouts say something else"


def _strides(before: Side, after: Side) -> Iterator[str]:
    """What the stride of the tensor does: no owner of an element depends on it."""
    old, new = before.facts.get(STRIDE), after.facts.get(STRIDE)
    if old is None or new is None or old == new:
        return
    alike = before.said == after.said and before.picture == after.picture
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
