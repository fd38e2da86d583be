"""Floor 9: what the parts of a copy's name mean, and the names beside it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache

from pycute_xe.arch.block2d import Block2D
from pycute_xe.atom import Block2DOp, CopyAtom
from pycute_xe.atom.block2d_op import Kind
from pycute_xe.atom.placed_message import PlacedMessage
from pycute_xe.comparing.atom_arguments import direction
from pycute_xe.cutlass import LegacyCopyAtom, LegacyCopyName, shipped_names
from pycute_xe.cutlass.legacy_lowering import broken_rules, messages_of
from pycute_xe.cutlass.legacy_steps import register_steps
from pycute_xe.cutlass.names import get_atom
from pycute_xe.errors import CuteError
from pycute_xe.explaining.atom_words import plural
from pycute_xe.numeric import Numeric

__all__ = ["head_line", "name_lines", "related_lines", "shipped_line"]

Copy = LegacyCopyAtom | CopyAtom

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
        return "yes: CUTLASS has this template, for any sizes the hardware takes"
    if not atom.name.shipped:
        return "no: the grammar has this name, but CUTLASS defines no operation of it"
    traits = atom.name.traits
    if traits == "usable":
        return "yes: CUTLASS defines it, with Copy_Traits"
    said = "without Copy_Traits" if traits == "none" else "but its Copy_Traits do not compile"
    own = "" if atom.name.is_prefetch else "; what follows is the documented ownership"
    return f"yes: CUTLASS defines it, {said}{own}"


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
    found = [twin] if twin.shipped else []
    if not name.is_prefetch:
        shape = name.logical_shape
        sized = (replace(name, rows=r, cols=c) for r, c in (shape, shape[::-1]))
        others = [
            replace(one, mode=mode, packed=one.packed and mode != "V")
            for one in sized
            for mode in ("N", "V", "T")
        ]
        found += [one for one in others if one.logical_shape == shape and _works(one)]
        packed = replace(name, packed=not name.packed)
        found += [packed] if packed.shipped else []
    kept = [one for one in dict.fromkeys(found) if one != name]
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
    message = parts[0].message
    plain: dict[str, Kind] = {"store": "XE_STORE_2D", "prefetch": "XE_PREFETCH_2D"}
    kind = plain.get(message.op, "XE_LOAD_2D")
    if message.transpose:
        kind = "XE_LOAD_2D_TRANSPOSE"
    elif message.vnni:
        kind = "XE_LOAD_2D_VNNI"
    width = message.width * message.count
    return Block2DOp(kind, message.bits, message.height, width, message.width)


@cache
def _older_names() -> dict[Block2D, list[LegacyCopyName]]:
    """The shipped names that are one message each, by that message."""
    found: dict[Block2D, list[LegacyCopyName]] = {}
    for text in shipped_names():
        atom = get_atom(text)
        parts = list(messages_of(atom.name)) if isinstance(atom, LegacyCopyAtom) else []
        if len(parts) == 1 and isinstance(atom, LegacyCopyAtom):
            found.setdefault(parts[0].message, []).append(atom.name)
    return found


def _sent(name: LegacyCopyName) -> tuple[PlacedMessage, ...]:
    with suppress(CuteError):
        return tuple(messages_of(name))
    return ()
