"""What is said of a tiled MMA, of a tiled copy, and of atoms that no other account compares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pycute_xe.arch import Target
from pycute_xe.atom import CopyAtom, MmaAtom, TiledCopy, TiledMma
from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.checking import check
from pycute_xe.comparing.changes import NAMES
from pycute_xe.differing.sides import Fact, Owned, Side, owned_by
from pycute_xe.errors import CuteError, LegalityError

__all__ = [
    "accounts_of",
    "judged",
    "of_copy",
    "of_mma",
    "of_tiled_copy",
    "of_tiled_mma",
    "operands_of",
]

_OPERANDS = ("A", "B", "C")


def judged(value: Any, target: Target) -> Iterator[Fact]:
    """Yield what `check` says: the rules that are broken, what is used, what memory must be."""
    try:
        report = check(value, target)
    except CuteError as error:
        yield "legality", f"on {target.name}", f"not judged: {error.condition}"
        return
    yield "legality", f"on {target.name}", "legal" if report else "refused"
    broken: dict[str, dict[str, None]] = {}
    for finding in report.findings:
        mark = "✗" if finding.is_error else "!"
        broken.setdefault(finding.broken.rule, {})[f"{mark} {finding.broken.condition}"] = None
    for rule, conditions in broken.items():
        yield "legality", rule, ", ".join(conditions)
    for resource in report.resources:
        room = "GRF mode" if resource.name == "registers" else "available"
        yield resource.name, "in use", resource.used
        yield resource.name, room, resource.available
    subjects = dict.fromkeys(demand.subject for demand in report.demands)
    for demand in report.demands:
        whose = demand.subject if len(subjects) > 1 else "memory"
        yield "demands", f"{whose} {demand.quantity}", f"{demand.must} {demand.unit}"


# ------------------------------------------------------------ MMAs


def of_tiled_mma(mma: TiledMma, target: Target, operand: str | None = None) -> Side:
    """Return what is said of a tiled MMA, and who owns the elements of its operands."""
    m, n, k = mma.tile_mnk
    facts: list[Fact] = [
        *_types(mma.atom),
        ("tile", "", f"{m}x{n}x{k}"),
        ("DPAS", "", str(mma.atom.op)),
        ("subgroups", "", mma.num_subgroups),
        ("subgroups", "along M, N and K", str(mma.atom_layout_mnk)),
        *(("DPAS", f"blocks of {x}", "x".join(map(str, mma.repetitions(x)))) for x in _OPERANDS),
        (NAMES, "permutation", ", ".join(map(str, mma.permutation_mnk))),
        (NAMES, "layouts", "older atoms" if mma.atom.legacy else "XE_DPAS_TT"),
        *judged(mma, target),
    ]
    return Side("tiled MMA", str(mma), tuple(facts), operands_of(mma, operand))


def operands_of(mma: TiledMma, operand: str | None = None) -> Mapping[str, Owned]:
    """Return who owns the elements of A (m, k), B (k, n) and C (m, n) in a tile."""
    return {
        name: owned_by(getattr(mma, f"tv_layout_{name}_tiled"), mma.operand_tile(name), name == "B")
        for name in _OPERANDS
        if operand in (None, name) or (operand == "D" and name == "C")
    }


def _types(atom: MmaAtom) -> Iterator[Fact]:
    yield from (("types", name, str(getattr(atom.op, name))) for name in "ABCD")


def of_mma(mma: MmaAtom, target: Target) -> Side:
    """Return what is said of an MMA atom in all of its operands."""
    facts: list[Fact] = [
        *_types(mma),
        ("tile", "", "x".join(map(str, mma.shape_mnk))),
        ("DPAS", "", str(mma.op)),
        (NAMES, "layouts", "older atoms" if mma.legacy else "XE_DPAS_TT"),
    ]
    owners: dict[str, Owned] = {}
    for name in _OPERANDS:
        picture: Any = mma.registers(name)
        facts.append(("registers", name, picture.registers))
        owners[f"{name} by layouts"] = _by_layouts(mma.ownership(name))
        owners[f"{name} in registers"] = _by_registers(picture)
    return Side("MMA", str(mma), (*facts, *judged(mma, target)), owners)


# ------------------------------------------------------------ copies


def of_tiled_copy(copy: TiledCopy, target: Target) -> Side:
    """Return what is said of a tiled copy, and who is meant to hold the elements of its tile."""
    stride, shape = copy.gmem_stride, copy.gmem_shape
    facts: list[Fact] = [
        ("types", "", str(copy.value_type)),
        ("tile", "", "x".join(map(str, copy.tiler_mn))),
        ("tile", "where messages begin", str(copy.anchors)),
        ("subgroups", "", copy.num_subgroups),
        ("messages", "a subgroup", f"{copy.messages} × {_named(copy.atom)}"),
        ("memory", "modes of rows and columns", f"{copy.y_mode}, {copy.x_mode}"),
        ("memory", "stride", None if stride is None else str(stride)),
        ("memory", "shape", None if shape is None else str(shape)),
        *_registers(copy.atom, target),
        (NAMES, "layout", str(copy.layout_tv_tiled)),
        *judged(copy if isinstance(copy.atom, CopyAtom) else copy.atom, target),
    ]
    owners = {"the tile": owned_by(copy.layout_tv_tiled, copy.tiler_mn)}
    label = str(copy) if isinstance(copy.atom, CopyAtom) else f"tiling of {copy.atom}"
    return Side("tiled copy", label, tuple(facts), owners)


def _named(atom: CopyAnswers) -> str:
    return str(atom.op) if isinstance(atom, CopyAtom) else str(atom)


def of_copy(copy: CopyAnswers, target: Target) -> Side:
    """Return what is said of a copy atom of any kind."""
    facts: list[Fact] = [
        ("types", "", str(copy.value_type)),
        ("block", "", "x".join(map(str, copy.shape))),
        ("values", "a work-item", copy.values),
        ("memory", "source", str(copy.layout_src_tv)),
        ("memory", "destination", str(copy.layout_dst_tv)),
        *_registers(copy, target),
        (NAMES, "operation", str(copy)),
        *judged(copy, target),
    ]
    owners = {"the block by layouts": _by_layouts(copy.ownership())}
    try:
        picture = copy.registers()
    except LegalityError:
        picture = None
    if picture is not None and picture.slots:
        owners["the block in registers"] = _by_registers(picture)
    return Side("copy", str(copy), tuple(facts), owners)


def accounts_of(side: Side) -> tuple[Side, Side]:
    """Return a copy as its layouts have it and as its registers do.

    Raises `CuteError` for one that fills no registers.
    """
    if len(side.owners) < 2:
        condition = f"{side.label} fills no registers, which its layouts could be compared with"
        raise CuteError("diff", {"one": side.label}, condition, "give two atoms")
    layouts, registers = (replace(side, owners={"the block": x}) for x in side.owners.values())
    return layouts, replace(registers, label="its registers")


def _registers(copy: CopyAnswers, target: Target) -> Iterator[Fact]:
    """Yield the messages of one atom, and what registers hold of what it says."""
    try:
        yield "messages", "an atom", "; ".join(map(str, copy.messages(target)))
        picture = copy.registers()
        units = copy.faithful_units if picture.slots else ()
    except LegalityError as error:
        yield "messages", "an atom", f"none: {error.condition}"
        return
    yield "registers", "an atom", picture.registers
    yield "registers", "show what is said in units of bits", ", ".join(map(str, units)) or None


def _by_layouts(ownership: tuple[tuple[Any, ...], ...]) -> Owned:
    """Return the owners of the elements of a block, as layouts have it."""
    entries = [(p, t, v) for t, places in enumerate(ownership) for v, p in enumerate(places)]
    return _owned(entries)


def _by_registers(picture: Any) -> Owned:
    return _owned([(place, t, v) for place, (t, v) in picture.owners().items()])


def _owned(entries: list[tuple[Any, int, int]]) -> Owned:
    places, work_items, values = zip(*entries, strict=True)
    return Owned(places, work_items, values)
