"""What the parts of a copy's name mean, and the names beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import pairwise

from pycute_xe.arch.block2d import Block2D
from pycute_xe.atom import Block2DOp, CopyAtom
from pycute_xe.atom.copy_answers import PlacedMessage
from pycute_xe.atom.register_picture import Place, RegisterPicture
from pycute_xe.comparing.atom_arguments import Copy, direction
from pycute_xe.cutlass import LegacyCopyAtom, LegacyCopyName, shipped_names
from pycute_xe.cutlass.legacy_lowering import broken_rules, messages_of, op_sending
from pycute_xe.cutlass.legacy_name import register_steps
from pycute_xe.cutlass.names import get_atom
from pycute_xe.errors import CuteError, plural
from pycute_xe.numeric import Numeric

__all__ = [
    "head_line",
    "name_lines",
    "related_lines",
    "shipped_line",
    "first_places",
    "listed",
    "misplaced",
    "owner_table",
    "walk_words",
]

# ------------------------------------------------------------ atom words
# Who owns what, in words and small tables.


def listed(numbers: Iterable[int]) -> str:
    """Return ascending numbers, long runs by their ends.

    >>> listed([0, 16]), listed(range(32)), listed(range(0, 32, 2))
    ('0, 16', '0 to 31', '0, 2, 4, … 30')
    """
    values = list(numbers)
    steps = {b - a for a, b in pairwise(values)}
    if len(values) > 2 and steps == {1}:
        return f"{values[0]} to {values[-1]}"
    if len(values) > 5 and len(steps) == 1:
        return f"{', '.join(map(str, values[:3]))}, … {values[-1]}"
    return ", ".join(map(str, values))


def owner_table(owned: Sequence[Sequence[Place]]) -> list[str]:
    """Return lines of "work-item | columns | rows" for the first, second and last work-item.

    Where work-items own again what others do, for those between which that begins.
    """
    rows = [("work-item", "columns", "rows")]
    last = len(owned) - 1
    again = next((t for t in range(2, last) if owned[t] == owned[0] != owned[1]), None)
    for work_item in (0, 1, None, last) if again is None else (0, None, again - 1, again, last):
        if work_item is None:
            rows.append(("...", "...", "..."))
            continue
        columns = sorted({x for _, x in owned[work_item]})
        down = sorted({y for y, _ in owned[work_item]})
        rows.append((str(work_item), _runs(columns), _runs(down)))
    if len({down for _, _, down in rows[1:] if down != "..."}) == 1:
        rows = [(label, columns, rows[1][2] if label == "..." else d) for label, columns, d in rows]
    wide = max(len(columns) for _, columns, _ in rows)
    return [f"{label:<9} | {columns:<{wide}} | {down}".rstrip() for label, columns, down in rows]


def _runs(numbers: list[int]) -> str:
    """As `listed`, run by run where neighbours lie together: "0, 1 and 32, 33"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    if len(runs) == 1 or len(runs) == len(numbers) or len(runs) > 4:
        return listed(numbers)
    return " and ".join(map(listed, runs))


def first_places(places: Sequence[Place | None], count: int = 4) -> str:
    """Return the first (row, column) of a list and its last.

    >>> first_places([(y, 0) for y in range(8)])
    '(0,0) (1,0) (2,0) (3,0) … (7,0)'
    """
    shown = [_place(place) for place in places]
    if len(shown) <= count + 1:
        return " ".join(shown)
    return " ".join([*shown[:count], "…", shown[-1]])


def _place(place: Place | None) -> str:
    return "padding" if place is None else f"({place[0]},{place[1]})"


def walk_words(places: Sequence[Place]) -> str:
    """Say in which steps a list of places walks, the fastest first; empty without steps.

    >>> walk_words([(y + v, x) for y in (0, 2) for x in (0, 16) for v in (0, 1)])
    '2 rows, then 2 columns 16 apart, then 2 rows 2 apart'
    """
    modes = _modes(list(places))
    return "" if modes is None else ", then ".join(_mode_words(*mode) for mode in modes)


def _modes(places: list[Place]) -> list[tuple[int, int, int]] | None:
    modes: list[tuple[int, int, int]] = []
    while len(places) > 1:
        down, right = places[1][0] - places[0][0], places[1][1] - places[0][1]
        run = next((n for n in _divisors(len(places)) if _steps(places, n, down, right)), None)
        if run is None:
            return None
        modes.append((run, down, right))
        places = places[::run]
    return modes


def _divisors(count: int) -> list[int]:
    return [n for n in range(count, 1, -1) if count % n == 0]


def _steps(places: list[Place], run: int, down: int, right: int) -> bool:
    """Whether every ``run`` places step alike."""
    return all(
        place == (places[i - i % run][0] + i % run * down, places[i - i % run][1] + i % run * right)
        for i, place in enumerate(places)
    )


def _mode_words(count: int, down: int, right: int) -> str:
    if down and right:
        return f"{count} times {down} down and {right} right"
    what, step = ("row", down) if down else ("column", right)
    return plural(count, what) + (f" {step} apart" if step != 1 else "")


def misplaced(owned: Sequence[Sequence[Place]], picture: RegisterPicture) -> Place | None:
    """Return the first place in the registers whose owner or value is not the one that is said."""
    owners: dict[Place, tuple[int, int]] = {}
    for work_item, places in enumerate(owned):
        for value, place in enumerate(places):
            owners.setdefault(place, (work_item, value))  # the first, where several own it
    holders = picture.owners()
    return next((place for place in holders if holders[place] != owners.get(place)), None)


# ------------------------------------------------------------ copy names


_MODES = {
    "N": "the matrix is stored row by row, and stays so",
    "T": "the matrix is stored column by column: transposed on the way",
    "V": "the matrix is stored row by row; VNNI packs its rows into dwords, for B of DPAS",
}
_TEMPLATES = {
    "XE_LOAD_2D": "load a block as it lies in memory",
    "XE_LOAD_2D_VNNI": "load a block and pack its rows into dwords (VNNI), for B of DPAS",
    "XE_LOAD_2D_TRANSPOSE": "load a block transposed: a column in memory fills a register row",
    "XE_STORE_2D": "store a block as it lies in the registers",
    "XE_PREFETCH_2D": "bring a block into the cache; no register changes",
}


def head_line(atom: Copy) -> str:
    """Say in a sentence what the copy does."""
    rows, cols = atom.shape
    block = f"{plural(rows, 'row')} x {plural(cols, 'column')}"
    moved = f"{block} of {atom.value_type.bits}-bit values"
    way = direction(atom)
    template = isinstance(atom, CopyAtom)
    turned = atom.op.message.transpose if template else atom.name.mode == "T"
    if way == "prefetch":
        return f"Brings {moved} into the cache."
    if way == "store":
        return f"Stores {moved} from the registers of 16 work-items to memory."
    how = ", transposed," if turned else " from memory"
    return f"Loads {moved}{how} into the registers of 16 work-items."


def name_lines(atom: Copy) -> list[str]:
    """Say what each part of the name means."""
    return _template_lines(atom) if isinstance(atom, CopyAtom) else _older_lines(atom)


def _older_lines(atom: LegacyCopyAtom) -> list[str]:
    name, kind, modes = atom.name, atom.value_type, _MODES
    parts = [("XE_2D", "a block-2D copy: the 16 work-items of a subgroup move one block together")]
    if name.packed:
        parts.append(("Packed", "each work-item takes adjacent columns"))
    parts.append((name.data_type, _element(name.bits, kind)))
    parts.append((f"{name.rows}x{name.cols}", _sizes(name)))
    if name.mode == "N" and any(part.message.vnni for part in _sent(name)):
        modes = {
            **_MODES,
            "N": "stored row by row, but CUTLASS's message packs its rows (VNNI), as for LD_V",
        }
    way = (
        ("ST", "from registers to memory") if name.is_store else ("LD", "from memory to registers")
    )
    parts += [way, (name.mode, modes[name.mode])]
    if name.mode == "V" and name.bits >= 32:
        parts[-1] = (name.mode, "VNNI packs nothing from 32 bits on: use LD_N")
    if name.is_prefetch:
        parts[-2:] = [(f"LD_{name.mode}", "the load that it goes before")]
        parts.append(("PREFETCH", "only into the cache: no register changes"))
    wide = max(len(part) for part, _ in parts)
    return [f"{part:<{wide}}  {text}" for part, text in parts]


def _element(bits: int, kind: Numeric) -> str:
    holds = "" if kind.bits == bits else f", {_ratio(bits, kind.bits)}"
    return f"elements of {bits} bits, whatever their type; shown for {kind.name}{holds}"


def _ratio(bits: int, wanted: int) -> str:
    if wanted < bits:
        return f"{bits // wanted} to an element"
    return f"each of {wanted // bits} elements"


def _sizes(name: LegacyCopyName) -> str:
    rows, cols = name.memory_shape
    if name.mode != "T":
        return f"{plural(rows, 'row')} x {plural(cols, 'column')} of elements"
    if rows == cols:
        return f"{plural(rows, 'row')} x {plural(cols, 'column')} of elements, in memory and out"
    if name.counts == "memory":
        text = (
            f"{plural(rows, 'row')} x {plural(cols, 'element')}, counted in memory: the work-items "
            f"get {plural(cols, 'row')} x {plural(rows, 'column')}"
        )
    else:
        result = f"{plural(name.rows, 'row')} x {plural(name.cols, 'column')}"
        text = (
            f"{result}, counted as the work-items get them: in memory {plural(rows, 'row')} x "
            f"{plural(cols, 'element')}"
        )
    return f"{text} ({_counting(name)})"


def _counting(name: LegacyCopyName) -> str:
    """Why the sizes of a transposed name count what they do."""
    if name.shipped:
        most = "most shipped LD_T names count memory"
        return most if name.counts == "memory" else f"{most}, this one does not"
    if name.counts == "memory":
        return "as most shipped LD_T names; as a result it would be too narrow"
    return "not shipped: as the document counts"


def _template_lines(atom: CopyAtom) -> list[str]:
    op = atom.op
    bits, kind = op.bits, atom.value_type
    parts = [
        (op.kind, _TEMPLATES[op.kind]),
        (str(bits), _element(bits, kind)),
        (str(op.height), "rows in memory"),
        (str(op.width), "elements of a row in memory, which is the contiguous direction"),
    ]
    if op.block_count > 1:
        parts.append((str(op.block_width), f"elements of a block: {op.block_count} side by side"))
    wide = max(len(part) for part, _ in parts)
    lines = [f"{part:<{wide}}  {text}" for part, text in parts]
    if op.kind == "XE_LOAD_2D_TRANSPOSE":
        rows, cols = atom.shape
        lines.append(
            f"rows and columns here are those of memory; as an operand the block is {cols}x{rows}"
        )
    return lines


def shipped_line(atom: Copy) -> str:
    """Say whether CUTLASS has it."""
    if isinstance(atom, CopyAtom):
        broken = atom.op.broken_assertions
        if not broken:
            return "yes: CUTLASS has this template, and takes these sizes"
        return f"no: CUTLASS has this template and rejects these sizes: {broken[0].condition}"
    if not atom.name.shipped:
        return "no: the grammar has this name, but CUTLASS defines no operation of it"
    traits = atom.name.traits
    if traits == "usable":
        return "yes: CUTLASS defines it, with Copy_Traits"
    fault = "without Copy_Traits" if traits == "none" else "but its Copy_Traits do not compile"
    own = "" if atom.name.is_prefetch else "; what follows is the documented ownership"
    return f"yes: CUTLASS defines it, {fault}{own}"


def related_lines(atom: Copy) -> list[str]:
    """Name the same block in other modes, the prefetch, and the same message by other names."""
    if isinstance(atom, CopyAtom):
        older = _older_names().get(atom.op.message, ())
        # Names of the same elements say it best; transposes of narrower ones move as dwords too.
        first = sorted(older, key=lambda name: name.bits != atom.op.bits)[:2]
        return [f"older name of the same message: {', '.join(map(str, first))}"] if first else []
    lines: list[str] = []
    siblings = [_marked(name) for name in _siblings(atom.name)]
    if siblings:
        lines.append(", ".join(siblings))
    template = _template_of(atom.name)
    if template:
        lines.append(f"the same message by its newer template: {template}")
    return lines


def _marked(name: LegacyCopyName) -> str:
    return str(name) if name.shipped else f"{name} (not shipped)"


def _siblings(name: LegacyCopyName) -> list[LegacyCopyName]:
    """The same block in the other modes, packed or not, and with or without prefetch."""
    if name.is_store:
        return []
    twin = replace(name, is_prefetch=not name.is_prefetch)
    relatives = [twin] if twin.shipped else []
    if not name.is_prefetch:
        shape = name.logical_shape
        sized = (replace(name, rows=r, cols=c) for r, c in (shape, shape[::-1]))
        others = [
            replace(one, mode=mode, packed=one.packed and mode != "V")
            for one in sized
            for mode in ("N", "V", "T")
        ]
        relatives += [one for one in others if one.logical_shape == shape and _works(one)]
        packed = replace(name, packed=not name.packed)
        relatives += [packed] if packed.shipped else []
    kept = [one for one in dict.fromkeys(relatives) if one != name]
    return sorted(kept, key=lambda one: not one.shipped)[:4]


def _works(name: LegacyCopyName) -> bool:
    with suppress(CuteError):
        register_steps(name)
        return not broken_rules(name, "bmg")
    return False


def _template_of(name: LegacyCopyName) -> Block2DOp | None:
    parts = list(messages_of(name))
    if len(parts) != 1 or broken_rules(name, "bmg"):
        return None
    return op_sending(parts[0].message)


@cache
def _older_names() -> dict[Block2D, list[LegacyCopyName]]:
    """The shipped names that are one message each, by that message."""
    by_message: dict[Block2D, list[LegacyCopyName]] = {}
    for text in shipped_names():
        atom = get_atom(text)
        parts = list(messages_of(atom.name)) if isinstance(atom, LegacyCopyAtom) else []
        if len(parts) == 1 and isinstance(atom, LegacyCopyAtom):
            by_message.setdefault(parts[0].message, []).append(atom.name)
    return by_message


def _sent(name: LegacyCopyName) -> tuple[PlacedMessage, ...]:
    with suppress(CuteError):
        return tuple(messages_of(name))
    return ()
