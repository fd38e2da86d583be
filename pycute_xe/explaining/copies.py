"""What a copy atom does, told to someone who knows the table of its names."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import product, zip_longest
from typing import Any

from pycute_xe.arch.block2d import Block2D
from pycute_xe.arch.dpas.types import Types, listed_types
from pycute_xe.arch.target import grf_bytes, targets
from pycute_xe.atom import CopyAtom, MmaAtom
from pycute_xe.atom.copy_answers import PlacedMessage
from pycute_xe.atom.register_picture import SUBGROUP, Place, RegisterPicture
from pycute_xe.bulk import entries
from pycute_xe.comparing import Feed, feeds
from pycute_xe.comparing.atom_arguments import direction, first_messages
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.cutlass.legacy_copy import unit_of_own_elements
from pycute_xe.cutlass.legacy_lowering import broken_rules, nearest_names
from pycute_xe.errors import CuteError, LegalityError, plural
from pycute_xe.explaining.copy_names import (
    Copy,
    first_places,
    misplaced,
    name_lines,
    owner_table,
    related_lines,
    shipped_line,
    walk_words,
)
from pycute_xe.explaining.explanation import Script, section
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["feeding_pairs", "refusal_line", "explain_copy_atom", "word_lines"]

# ------------------------------------------------------------ telling registers
# What registers hold against what is said, told with an example that shows it.

Owned = Sequence[Sequence[Place]]


def register_lines(atom: Copy) -> list[str]:
    """Say how the registers are filled, by which rule, and whether that is what is said."""
    try:
        picture = atom.registers()
        owned = atom.ownership()
    except CuteError:
        return []
    gap = f", {plural(picture.padding, 'slot')} of padding" if picture.padding else ", no padding"
    size = f"{plural(picture.registers, 'register')} of {grf_bytes()} bytes{gap}"
    wrong_place = misplaced(owned, picture)
    again = None if wrong_place else _owned_again(owned, picture)
    if wrong_place is None and again is None:
        agree = " (faithful)" if atom.faithful else ", though not what CUTLASS's layouts say"
        place = (min(1, atom.shape[0] - 1), min(1, atom.shape[1] - 1))
        lines = [f"{size}; they hold what the table says{agree}", _rule(atom, picture)]
        return [*lines, _example(atom, picture, place)]
    lines = [_rule(atom, picture)]
    own = unit_of_own_elements(picture, owned)
    other = [unit for unit in atom.faithful_units if unit != picture.unit_bits]
    odd = f"{size}; they do not hold what the table says (not faithful)"
    if own and not other:
        odd = f"{size}; right work-items, other order, in {own}-bit units"
        if own == picture.unit_bits:
            return [odd, *lines, _order_of(own, owned, picture)]
    if wrong_place is not None:
        lines.append(_example(atom, picture, wrong_place))
    elif again is not None:
        lines.append(_again(again, owned, picture))
    return [odd, *lines, _widths(other, own, owned, picture)]


def _widths(other: list[int], own: int | None, owned: Owned, picture: RegisterPicture) -> str:
    """In which width the table is true, or at least the work-item."""
    if other:
        where = " or ".join(map(str, other))
        return f"the table is true where registers are read in {where}-bit elements"
    if own:
        return _order_of(own, owned, picture)
    return "read in no width of elements, 8 to 64 bits, is the table true"


def _order_of(unit: int, owned: Owned, picture: RegisterPicture) -> str:
    """The order in which a work-item finds its own elements."""
    read = RegisterPicture(picture.bits, picture.slots, unit)
    slots = ((t, read.held_by(t)) for t in range(SUBGROUP))
    work_item, places = next((t, places) for t, places in slots if places != tuple(owned[t]))
    pairs = zip_longest(places, owned[work_item])
    start = max(0, next(i for i, (place, expected) in enumerate(pairs) if place != expected) - 1)
    lead = "… " if start else ""
    finds = lead + first_places(places[start:], 3).partition(" …")[0]
    expected = lead + first_places(owned[work_item][start:], 3).partition(" …")[0]
    return (
        f"each work-item holds its own elements, read in {unit}-bit units, in another order: "
        f"work-item {work_item} finds {finds} … instead of {expected} …"
    )


def _owned_again(owned: Owned, picture: RegisterPicture) -> tuple[int, int] | None:
    """The first (work-item, value) that is said to be an element which others hold."""
    for work_item, places in enumerate(owned):
        slots = picture.held_by(work_item)
        for value, place in enumerate(places):
            if value >= len(slots) or slots[value] != place:
                return work_item, value
    return None


def _again(pair: tuple[int, int], owned: Owned, picture: RegisterPicture) -> str:
    work_item, value = pair
    row, col = owned[work_item][value]
    slots = picture.held_by(work_item)
    finds = "is past the end of the registers"
    if value < len(slots):
        there = slots[value]
        finds = "is padding" if there is None else f"holds row {there[0]}, column {there[1]}"
    holder = picture.owner_of(row, col)[0]
    return (
        f"work-item {work_item} is said to own row {row}, column {col} too: its slot {finds}, the "
        f"element is with work-item {holder}"
    )


def _example(atom: Copy, picture: RegisterPicture, place: Place) -> str:
    """Where one element is, who finds it there, and who is said to own it."""
    row, col = place
    register, inside = divmod(picture.slot_of(row, col), 8 * grf_bytes() // picture.bits)
    holder, value = picture.owner_of(row, col)
    what = f"element {inside}"
    if picture.bits < 8:
        what = f"{picture.bits}-bit element {inside} (byte {inside * picture.bits // 8})"
    at = f"{what} of register {register} is row {row}, column {col}"
    actual = f"read in {picture.unit_bits}-bit elements it is value {value} of work-item {holder}"
    try:
        owner, own_value = atom.owner_of(row, col)
    except CuteError:
        return f"{at}: {actual}, the table names no owner"
    if (owner, own_value) == (holder, value):
        return f"{at}: {actual}, as said"
    if owner == holder:
        return f"{at}: {actual}, the table says value {own_value}"
    return f"{at}: {actual}, the table says work-item {owner}"


def _rule(atom: Copy, picture: RegisterPicture) -> str:
    """Whose a slot is, and what the message puts side by side."""
    unit = "element" if picture.bits == picture.unit_bits else f"{picture.unit_bits}-bit element"
    rule = f"{unit} i of a register belongs to work-item i mod {SUBGROUP}"
    parts, _ = first_messages(atom)
    together = _together(picture)
    if parts and together and parts[0].message.vnni:
        return f"{rule}; VNNI puts {together} side by side"
    if parts and together and parts[0].message.transpose:
        return f"{rule}; data transposed in dwords has {together} side by side"
    if isinstance(atom, LegacyCopyAtom) and atom.name.packed:
        wide = 2 * atom.name.bits
        return f"{rule}; Packed means pairs of columns, each pair one {wide}-bit element"
    return rule


def _together(picture: RegisterPicture) -> str:
    """The rows or columns that share the first dword; empty where it holds one element."""
    count = 32 // picture.bits
    places = picture.slots[:count]
    for what, which, of in (("row", 0, "column"), ("column", 1, "row")):
        run = [(i, 0) if which == 0 else (0, i) for i in range(count)]
        if count > 1 and list(places) == run:
            letter = what[0]
            last = f"{count}{letter}+{count - 1}"
            many = f"{count}{letter} and {last}" if count == 2 else f"{count}{letter} to {last}"
            return f"{what}s {many} of a {of}"
    return ""


# ------------------------------------------------------------ telling feeds
# Which DPAS a copy is asked about, and what comes of it.

_PLACES = {"D": 0, "A": 1, "B": 2, "C": 3}


def feed_lines(atom: Copy, operand: str | None) -> list[str]:
    """Say for each operand that the copy could be meant for whether it feeds it."""
    answers = _answers(atom, operand)
    if not answers:
        return [f"no DPAS: none takes {atom.value_type.bits}-bit operands"]
    kind = atom.value_type
    # Types of C and D, and plain bits, do not say what A and B are.
    known = kind.kind == "unsigned" or any(kind.name in types for types in _uniform())
    lines = [] if known else [f"no DPAS multiplies {kind}: what follows is for {kind.bits} bits"]
    lines += [f"{f.operand} of {mma}: {f.kind}; {f.reason}" for mma, f in answers]
    best = _best(atom, operand)
    return lines + (_in_cute(atom, best[1]) if best else [])


def _best(atom: Copy, operand: str | None) -> tuple[str, Feed] | None:
    """The MMA and the operand that the copy serves best: free before reordered."""
    able = [answer for answer in _answers(atom, operand) if answer[1].kind != "impossible"]
    return min(able, key=lambda answer: answer[1].kind != "free", default=None)


def _in_cute(atom: Copy, feed: Feed) -> list[str]:
    """With which MMA the layouts of CuTe go together, whatever the registers do."""
    template = isinstance(atom, CopyAtom)
    mma = feed.mma if template else MmaAtom(feed.mma.op, legacy=True)
    if not mma.shipped or not _as_owned(atom) or not _agree(feed, mma):
        return []
    partner = f"{feed.operand} of {'XE_DPAS_TT' if template else mma}"
    return [f'"free" speaks of registers; the CuTe layouts match {partner}']


def _as_owned(atom: Copy) -> bool:
    """Whether CUTLASS has layouts of the copy, and they say what `ownership` says."""
    if isinstance(atom, CopyAtom):
        return True
    usable = atom.name.shipped and atom.name.traits == "usable" and not atom.is_artefact
    return usable and atom.name.fact_of("dealt") != "sides swapped"


def _agree(feed: Feed, mma: MmaAtom) -> bool:
    """Whether the layouts of copy and MMA give the elements of the first tile to one work-item."""
    (down, right), (rows, cols) = feed.tiles[0], mma.operand_shape(feed.operand)
    turned = isinstance(feed.copy, CopyAtom) and feed.order == "col"
    for y, x in product(range(rows), range(cols)):
        row, col = (right + x, down + y) if turned else (down + y, right + x)
        if feed.copy.owner_of(row, col)[0] != mma.owner_of(feed.operand, y, x)[0]:
            return False
    return True


def next_lines(atom: Copy, operand: str | None) -> list[str]:
    """Name the search for other copies of the operand that this one serves, if there is one."""
    best = _best(atom, operand)
    return [f"pycute-xe atoms --feeds '{best[0]}' --operand {best[1].operand}"] if best else []


@cache
def _answers(atom: Copy, operand: str | None) -> tuple[tuple[str, Feed], ...]:
    return tuple((pair[1], feeds(*pair)) for pair in feeding_pairs(atom, operand))


def feeding_pairs(atom: Copy, operand: str | None = None) -> list[tuple[Copy, str, Any]]:
    """Return (copy, MMA, operand) of the questions to ask: of its type or, failing that, its width.

    A load may feed A, B and, if 32 bits wide, C; a store takes D.

    >>> from pycute_xe.cutlass import get_atom
    >>> [(mma, which) for _, mma, which in feeding_pairs(get_atom("XE_2D_U16x8x16_ST_N"))]
    [('XE_DPAS_TT<8,bf16,bf16>', 'D')]
    """
    way = direction(atom)
    if way == "prefetch":
        return []
    fit = ("D",) if way == "store" else ("A", "B", "C")[: 3 if atom.value_type.bits == 32 else 2]
    pairs: list[tuple[Copy, str, Any]] = []
    for which in (operand,) if operand else fit:
        types = _types_for(atom.value_type, which)
        if types is not None:
            retyped = _retyped(atom, types[_PLACES[which]])
            pairs.append((retyped, f"XE_DPAS_TT<8,{types[0]},{types[1]}>", which))
    return pairs


def _types_for(kind: Numeric, operand: str) -> Types | None:
    """The types of the DPAS that has values of a type, or of its width, as an operand."""
    inputs = _matching(kind, "A", exact=True) or _matching(kind, "A", exact=False)
    if operand in ("A", "B"):
        return next(iter(inputs), None)
    # Unsigned types stand for bits of any kind.
    results = _matching(kind, "D", exact=True) if kind.kind != "unsigned" else []
    results = results or _matching(kind, "D", exact=False)
    if operand == "C":
        results = [types for types in inputs if types in results] or results
    return next(iter(results or inputs), None)


def _matching(kind: Numeric, operand: str, exact: bool) -> list[Types]:
    place = _PLACES[operand]
    return [
        types
        for types in _uniform()
        if (types[place] == kind.name if exact else as_numeric(types[place]).bits == kind.bits)
    ]


@cache
def _uniform() -> tuple[Types, ...]:
    """The instructions whose A and B have one type, and whose C and D have one."""
    return tuple(types for types in listed_types() if types[0] == types[3] and types[1] == types[2])


def _retyped(atom: Copy, name: str) -> Copy:
    """The same copy for values of another type of the same width."""
    wanted = as_numeric(name)
    return replace(atom, value_type=wanted) if wanted.bits == atom.value_type.bits else atom


# ------------------------------------------------------------ telling copies

_FAITHFUL = (
    "faithful: work-items find what the table says, in order; reorder: values must move first"
)


def word_lines(atom: Copy, target: str) -> list[str]:
    """Say what the words on a screen mean, and what the suffix of the message there stands for."""
    message = atom.messages(target)[0].message
    suffix = str(message).rpartition(":")[2]
    columns = plural(message.width, "element")
    shape = f"{plural(message.count, 'block')} x {columns} wide x {plural(message.height, 'row')}"
    transposed, packed = suffix[-2:]
    order = f"{transposed}: {'' if message.transpose else 'not '}transposed"
    order += f", {packed}: {'' if message.vnni else 'not '}packed (VNNI)"
    return [_FAITHFUL, f"{suffix}: {message.bits} bits, {shape}, {order}"]


# More than the registers of a subgroup can hold.
_MANY = 1 << 14


def explain_copy_atom(script: Script, atom: Copy, target: str, operand: str | None) -> None:
    """Tell a block-2D copy, section by section."""
    rows, cols = atom.shape
    # A size with a digit too many is answered at once, without its many values.
    small = rows * cols <= _MANY
    shown = (
        small and direction(atom) != "prefetch" and any(_allowed(atom, name) for name in targets())
    )
    section(script, "name", name_lines(atom))
    section(script, "shipped", [shipped_line(atom)])
    too_many = f"not shown: the block has {rows * cols} values"
    section(script, "owners", _owners(atom) if small else [too_many])
    section(script, "order", _order(atom) if small else [])
    section(script, "hardware", _messages(atom, target))
    section(script, "registers", register_lines(atom) if shown else [])
    section(script, "feeds", feed_lines(atom, operand) if shown else [])
    section(script, "notes", _notes(atom) if small else [])
    further = next_lines(atom, operand) if shown else []
    section(script, "see also", [*related_lines(atom), *further])


def _owners(atom: Copy) -> list[str]:
    if direction(atom) == "prefetch":
        return ["no work-item: a prefetch brings the block into the cache and fills no register"]
    try:
        owned = atom.ownership()
    except CuteError as error:
        return [f"unknown: {error.condition}"]
    what = f"{plural(len(owned[0]), 'value')} each, as its layouts say"
    lines = owner_table(owned)
    lines[0] = f"{lines[0]:<40} ({what})"
    return lines


def _order(atom: Copy) -> list[str]:
    if direction(atom) == "prefetch":
        return []
    try:
        owned = atom.ownership()
        layout = atom.layout_ref_tv
    except CuteError:
        return []
    walk = walk_words(owned[0])
    words = f"; {walk}" if walk and len(owned[0]) > 1 else ""
    first = f"work-item 0, as (row,column): {first_places(owned[0])}{words}"
    return [first, f"layout (work-item, value) -> {_offsets(atom)}:  {layout}"]


def _offsets(atom: Copy) -> str:
    """What the offsets of the layout count, found by comparing it with the ownership."""
    rows, cols = atom.shape
    every = entries(atom.layout_ref_tv)
    offsets = [every[lane::SUBGROUP] for lane in range(SUBGROUP)]
    owned = atom.ownership()
    by_row = [[x + cols * y for y, x in places] for places in owned]
    by_col = [[y + rows * x for y, x in places] for places in owned]
    if offsets == by_row:
        return f"column + {cols}·row"
    if offsets == by_col:
        return f"row + {rows}·column"
    return "offset, which differs from the table: see notes"


def _messages(atom: Copy, target: str) -> list[str]:
    others = [name for name in targets() if name != target]
    able = [name for name in others if _allowed(atom, name)]
    try:
        parts = atom.messages(target)
    except LegalityError as error:
        also = f"{', '.join(able)} would take it" if able else f"{', '.join(others)} refuse it too"
        return [*_refusal(atom, target, error), also]
    first, count = parts[0].message, plural(len(parts), "message")
    like = " like this" if len(parts) > 2 else ""
    lines = [f"{target}: {count}{like}: {_message_words(first)}"]
    shown = parts if len(parts) <= 2 else parts[:1]
    lines += [_placed(part, len(parts)) for part in shown]
    refused = [name for name in others if name not in able]
    also = f"; {', '.join(refused)} would refuse it" if refused else ""
    return [*lines, f"the same on {', '.join(able)}{also}"]


def _allowed(atom: Copy, target: str) -> bool:
    with suppress(LegalityError):
        return bool(atom.messages(target))
    return False


def _placed(part: PlacedMessage, count: int) -> str:
    return f"  {part}" if count > 1 else f"  {part.message}"


def _message_words(message: Block2D) -> str:
    blocks = "" if message.count == 1 else f"{message.count} blocks side by side, each "
    packed = ", VNNI" if message.vnni else ""
    turned = ", transposed" if message.transpose else ""
    sizes = f"{plural(message.height, 'row')} of {plural(message.width, 'element')}"
    return f"{blocks}{sizes} of {message.bits} bits in memory{turned}{packed}"


def _refusal(atom: Copy, target: str, error: LegalityError) -> list[str]:
    words = _unpaired(atom, target)
    if isinstance(atom, CopyAtom):
        return [*words, f"{target} refuses it: {error.condition}", f"way out: {error.fix}"]
    lines = [
        f"{target} refuses it by rule {broken.rule}: {broken.condition} [{broken.source}]"
        for broken in broken_rules(atom.name, target)
    ]
    near = ", ".join(map(str, nearest_names(atom.name, target)))
    return [*words, *lines, f"nearest names that work: {near}" if near else f"way out: {error.fix}"]


def _unpaired(atom: Copy, target: str) -> list[str]:
    """Say in rows what the rule says in bytes of a column."""
    if isinstance(atom, CopyAtom):
        vnni, bits, rows = atom.op.message.vnni, atom.op.bits, atom.op.height
    else:
        broken = broken_rules(atom.name, target)
        vnni = any(one.rule == "vnni-height-dwords" for one in broken)
        bits, rows = max(8, atom.name.bits), atom.name.rows
    count = 32 // bits
    if not vnni or count < 2 or rows % count == 0:
        return []
    what = "pair up" if count == 2 else f"make groups of {count}"
    return [f"{rows} rows do not {what}: VNNI fills a dword with {count} rows of a column"]


def refusal_line(atom: Copy, target: str) -> str:
    """Say that a target refuses the copy, and what to use; empty where it takes it.

    >>> from pycute_xe.cutlass import get_atom
    >>> refusal_line(get_atom("XE_2D_U32x16x16_LD_V"), "bmg")
    'Not legal on any target: use XE_2D_U32x16x16_LD_N or XE_2D_U32x32x16_LD_N.'
    """
    try:
        atom.messages(target)
    except LegalityError as error:
        fix = error.fix
    else:
        return ""
    able = [name for name in targets() if _allowed(atom, name)]
    where = f"{target} (legal on {', '.join(able)})" if able else "any target"
    if isinstance(atom, LegacyCopyAtom):
        near = [str(name) for name in nearest_names(atom.name, target)]
        fix = f"use {' or '.join(near[:2])}" if near else fix
    return f"Not legal on {where}: {fix}."


def _notes(atom: Copy) -> list[str]:
    # Other sections say these already.
    elsewhere = {"shipped", "letter", "sizes", "registers"}
    return [
        f"- {note}" for subject, note in atom.notes_by_subject.items() if subject not in elsewhere
    ]
