"""Judging copies and matrix instructions: their messages, where these start, and their memory."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, cast

from pycute_xe.arch import Block2D, Broken, Dpas
from pycute_xe.arch.dpas import DpasMessage
from pycute_xe.arch.lsc import Block2DMessage, Message
from pycute_xe.arch.rules import Level, errors, rules
from pycute_xe.atom import CopyAtom, LinearCopyAtom, MmaAtom, TiledCopy, TiledMma
from pycute_xe.atom.mma_atom import Operand
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.checking.report import Findings, Resource
from pycute_xe.comparing.feeding import FIELDS, quantities_of
from pycute_xe.cutlass import LegacyCopyAtom
from pycute_xe.cutlass.legacy_lowering import broken_rules, messages_of, nearest_names
from pycute_xe.errors import LegalityError, TargetError
from pycute_xe.layout import size
from pycute_xe.typing import is_tuple

__all__ = [
    "judge_atom",
    "judge_legacy",
    "judge_linear",
    "judge_lsc",
    "judge_message",
    "judge_block",
    "judge_places",
    "judge_tiled_copy",
    "memory_of",
    "judge_dpas",
    "judge_dpas_message",
    "judge_fragments",
    "judge_mma_atom",
    "judge_registers",
    "judge_threads",
    "judge_tiled_mma",
]

# ------------------------------------------------------------ mmas
# Judging matrix instructions, alone and tiled.

_ALIGNED = frozenset(FIELDS.values())


def judge_dpas(op: Dpas, subject: str, findings: Findings) -> None:
    """Judge the types of a DPAS and its sizes."""
    broken = op.broken_rules(findings.target)
    findings.refuse(subject, broken)
    if not broken:
        condition = f"DPAS has {op.D} = {op.A} × {op.B} + {op.C}"
        findings.hold(subject, "types", condition, "vISA manual, DPAS.md")
        table = rules("dpas", "rule", findings.target.name)
        sizes = [rule for rule in table if rule.quantity not in _ALIGNED]
        findings.judge(subject, sizes, quantities_of(op))


def judge_dpas_message(message: DpasMessage, subject: str, findings: Findings) -> None:
    """Judge a DPAS with its operands, as text says it."""
    findings.refuse(subject, message.check(findings.target))
    findings.judge(subject, rules("dpas", "rule", findings.target.name), message.quantities)


def judge_mma_atom(atom: MmaAtom, findings: Findings) -> None:
    """Judge an MMA atom: its instruction, and whether its layouts say where operands lie.

    Those of older atoms are of registers that are read in wider elements: they are right in these.
    """
    subject = str(atom)
    judge_dpas(atom.op, subject, findings)
    source = "vISA manual, DPAS.md: A is row-major without gaps, B is packed in dwords"
    if atom.faithful or findings.allow_unfaithful:
        findings.hold(subject, "faithful", "its layouts say where the operands lie", source)
        return
    level: Level = "error"
    fix = "use an even M, or allow_unfaithful=True"
    if atom.readable:
        names: tuple[Operand, ...] = ("A", "B")
        units = (f"{name} in elements of {atom.unit_bits(name)} bits" for name in names)
        level, fix = "warning", f"read {' and '.join(units)}, or use XE_DPAS_TT"
        source += "; intel/sycl-tla, media/docs/cpp/xe_rearchitecture.md: elements of registers"
    broken = Broken("faithful", level, "; ".join(atom.differences), source, fix)
    findings.refuse(subject, (broken,))


def judge_tiled_mma(mma: TiledMma, findings: Findings) -> None:
    """Judge the atom, and where in registers each of its repetitions finds the operands."""
    judge_mma_atom(mma.atom, findings)
    if mma.atom.op.broken_rules(findings.target):
        return
    table = rules("dpas", "rule", findings.target.name)
    for operand, field in FIELDS.items():
        part = "C" if operand == "D" else operand
        nbytes = _operand_bytes(mma.atom, cast("Operand", operand))
        aligned = [rule for rule in table if rule.quantity == field]
        for number in range(min(prod(mma.repetitions(part)), 2)):
            place = quantities_of(mma.atom.op) | {field: number * nbytes}
            findings.judge(
                f"{operand} of {mma.atom}", aligned, place, "use an M that fills whole registers"
            )


def _operand_bytes(atom: MmaAtom, operand: Operand) -> int:
    """The bytes of registers that an operand of one instruction takes."""
    part = "C" if operand == "D" else operand
    values = size(getattr(atom, f"tv_layout_{part}")[1]) * SUBGROUP
    return values * atom.operand_type(operand).bits // 8


# ------------------------------------------------------------ resources
# Registers and hardware threads, of a kernel and of a tiled MMA alike.


def judge_registers(fragments: Mapping[str, int], findings: Findings, payloads: int = 0) -> None:
    """Judge the registers of fragments that live at once, beside so many address payloads."""
    total, target = sum(fragments.values()), findings.target
    detail = " + ".join(f"{name} {count}" for name, count in fragments.items())
    mode, broken = target.grf_mode_of(total, payloads)
    _take(Resource("registers", total, mode, detail), broken, findings)


def judge_threads(subgroups: int, findings: Findings) -> None:
    """Judge that an Xe core has a thread for each subgroup, of the registers counted before."""
    registers = findings.resources[-1]
    mode, target = registers.available, findings.target
    if registers.used > mode:
        return
    try:
        available = target.threads_per_core(mode)
    except TargetError as unknown:
        broken = Broken("threads", "warning", unknown.condition, target.source, unknown.fix)
        findings.refuse("hardware threads", (broken,))
        return
    room = f"an Xe core holds {available} threads of {mode} registers each"
    detail = f"one per subgroup; {room}"
    condition = (
        f"a work-group of {subgroups} subgroups needs as many hardware threads, an Xe core has "
        f"{available} with {mode} registers each"
    )
    fix = "use fewer subgroups, or fewer registers"
    broken = Broken("threads", "error", condition, target.source, fix)
    resource = Resource("hardware threads", subgroups, available, detail)
    _take(resource, (broken,) if subgroups > available else (), findings)


def _take(resource: Resource, broken: tuple[Broken, ...], findings: Findings) -> None:
    """Note a resource, and whether there is enough of it."""
    findings.resources.append(resource)
    findings.refuse(resource.name, broken)
    if not errors(broken):
        condition = f"{resource.used} of {resource.available}"
        findings.hold(resource.name, resource.name, condition, findings.target.source)


def judge_fragments(mma: TiledMma, findings: Findings) -> None:
    """Judge the registers and threads that a tile takes: one fragment each of C, A and B."""
    fragments: dict[str, int] = {}
    for operand in ("C", "A", "B"):
        nbytes = prod(mma.repetitions(operand)) * _operand_bytes(mma.atom, operand)
        fragments[f"tCr{operand}"] = findings.target.registers(nbytes)
    judge_registers(fragments, findings)
    judge_threads(mma.num_subgroups, findings)


# ------------------------------------------------------------ copies

_PADDING = (
    "vISA manual, LSC_UNTYPED.md, LOAD_BLOCK2D: rows are padded to a power of two, blocks to whole "
    "registers"
)


def judge_message(message: Block2D, subject: str, findings: Findings) -> None:
    """Judge the sizes of a block-2D message and, as far as it is known, its use."""
    findings.message(subject, message)
    _judge_use(message, subject, findings, (0,))


def _judge_use(message: Block2D, subject: str, findings: Findings, starts: tuple[int, ...]) -> None:
    findings.use_taken = True
    findings.surface(subject, message, findings.use.surface)
    if findings.use.x is not None or starts != (0,):
        for start in starts:
            findings.start(subject, message, start + (findings.use.x or 0))


def judge_block(message: Block2D, subject: str, findings: Findings) -> None:
    """Judge a block-2D message, or that of an operation, and say what it demands."""
    judge_message(message, subject, findings)
    findings.demand(subject, (message,))


def judge_atom(atom: CopyAtom, subject: str, findings: Findings) -> None:
    """Judge the message of a copy atom, and whether its layouts say what registers hold."""
    findings.message(subject, atom.op.message)
    try:
        faithful = atom.faithful
    except LegalityError:  # no target has the message, as is reported already
        return
    if faithful or findings.allow_unfaithful:
        findings.hold(subject, "faithful", "its layouts say what the registers hold", _PADDING)
        return
    broken = Broken(
        "faithful",
        "error",
        " ".join(atom.notes),
        _PADDING,
        "use a width that is a power of two and fills registers, or allow_unfaithful=True",
    )
    findings.refuse(subject, (broken,))


def judge_legacy(atom: LegacyCopyAtom, findings: Findings) -> None:
    """Judge every message that moves the block of an older name."""
    subject, name, fix = str(atom), atom.name, ""
    refused = broken_rules(name, findings.target)
    if refused:
        findings.use_taken = True
        near = ", ".join(map(str, nearest_names(name, findings.target)))
        fix = f"use {near}" if near else ""
        findings.refuse(subject, refused, fix)
        if name.memory_shape[1] * name.bits % 8:
            return  # rows of part bytes: there are no messages to judge
    starts: dict[Block2D, dict[int, None]] = {}
    for part in messages_of(name):
        starts.setdefault(part.message, {})[part.x] = None
    for message, places in starts.items():
        findings.message(subject, message, fix)
        _judge_use(message, subject, findings, tuple(places))
    findings.demand(subject, starts, atom.value_type)
    if not refused:
        _judge_layouts(atom, subject, findings)


def _judge_layouts(atom: LegacyCopyAtom, subject: str, findings: Findings) -> None:
    """Warn where the layouts of an older name are right in another width only, or in none."""
    if not atom.faithful and atom.notes and not findings.allow_unfaithful:
        units = " and ".join(map(str, atom.faithful_units))
        fix = f"read the registers in elements of {units} bits" if units else "see its notes"
        source = "intel/sycl-tla, media/docs/cpp/xe_rearchitecture.md"
        broken = Broken("faithful", "warning", "; ".join(atom.notes), source, fix)
        findings.refuse(subject, (broken,))


def judge_linear(atom: LinearCopyAtom, findings: Findings) -> None:
    """Judge every message of a linear copy."""
    try:
        for part in atom.messages(findings.target):
            judge_lsc(part.message, str(atom), findings)
    except LegalityError as error:
        broken = Broken("message", "error", error.condition, "atoms/lsc.toml", error.fix)
        findings.refuse(str(atom), (broken,))


def judge_lsc(message: Message | Block2DMessage, subject: str, findings: Findings) -> None:
    """Judge an LSC message by its own rules; one of blocks by those of its use too."""
    broken = message.check(findings.target)
    findings.refuse(subject, broken)
    if isinstance(message, Block2DMessage):
        judge_block(message.block, subject, findings)
    elif not broken:
        source = "vISA manual, LSC_UNTYPED.md"
        findings.hold(subject, "message", f"the fields of {message.op} fit one another", source)


def judge_tiled_copy(copy: TiledCopy, subject: str, findings: Findings, memory: str = "") -> None:
    """Judge the atom, where each message starts in memory and in registers, and the strides.

    ``memory`` names the array, where several copies use it.
    """
    judge_atom(copy.block, subject, findings)
    findings.use_taken = True
    message = copy.op.message
    array = memory or subject
    findings.surface(array, message, memory_of(copy, array, findings) | findings.use.surface)
    judge_places(copy, subject, findings)


def judge_places(copy: TiledCopy, subject: str, findings: Findings) -> None:
    """Judge where each message of a tiling of templates starts, in memory and in registers."""
    for x in _starts(copy):
        findings.start(subject, copy.op.message, x + (findings.use.x or 0))
    _registers(copy, subject, findings)


def memory_of(copy: TiledCopy, subject: str, findings: Findings) -> dict[str, int]:
    """Return what strides and shape of the tensor say of the surface, in bytes and rows."""
    sizes: dict[str, int] = {}
    bits, stride, shape = copy.value_type.bits, copy.gmem_stride, copy.gmem_shape
    if stride is not None:
        steps = {"pitch": stride[copy.y_mode]}
        steps |= {"width": shape[copy.x_mode]} if shape is not None else {}
        for name, values in steps.items():
            if type(values) is int and _whole(values * bits, f"{subject}, {name}", findings):
                sizes[name] = values * bits // 8
        _batches(copy, stride, subject, findings)
    if shape is not None and type(shape[copy.y_mode]) is int:
        sizes["height"] = shape[copy.y_mode]
    return sizes


def _whole(row_bits: int, subject: str, findings: Findings) -> bool:
    """Whether rows start at whole bytes; refused where they do not."""
    table = rules("block2d", "block", findings.target.name)
    findings.judge(subject, table, {"row_bits": row_bits}, "use an even number of values")
    return row_bits % 8 == 0


def _batches(copy: TiledCopy, stride: tuple[Any, ...], subject: str, findings: Findings) -> None:
    """Each further index of other modes moves the base, which stays aligned."""
    table = rules("block2d", "surface", findings.target.name)
    for mode, step in enumerate(stride):
        alone = copy.gmem_shape is not None and copy.gmem_shape[mode] == 1
        if mode in (copy.x_mode, copy.y_mode) or type(step) is not int or alone:
            continue
        mode_subject = f"{subject}, mode {mode} of stride {step}"
        if _whole(step * copy.value_type.bits, mode_subject, findings):
            findings.judge(mode_subject, table, {"base": step * copy.value_type.bits // 8})


def _starts(copy: TiledCopy) -> set[int]:
    """The distinct x, in message elements, at which messages of the first two tiles start."""
    subgroups, messages = copy.anchors
    first = {_along(copy, subgroups(s)) for s in range(copy.num_subgroups)}
    more = {_along(copy, messages(j)) for j in range(copy.messages)}
    values = {a + b for a in first for b in more}
    step = copy.tiler_mn[copy.x_mode]
    scale = copy.value_type.bits
    return {(v + tile * step) * scale // copy.op.bits for v in values for tile in (0, 1)}


def _along(copy: TiledCopy, coord: Any) -> int:
    """The x of a coordinate, which may stop short of its last modes or be the integer zero."""
    if not is_tuple(coord):
        return 0
    return coord[copy.x_mode] if copy.x_mode < len(coord) else 0


def _registers(copy: TiledCopy, subject: str, findings: Findings) -> None:
    """Each message of a fragment starts at a register: those before it fill theirs."""
    message = copy.op.message
    if message.op == "prefetch":
        return
    table = rules("block2d", "registers", findings.target.name, message.op)
    nbytes = copy.atom.values * SUBGROUP * copy.value_type.bits // 8
    for number in range(min(copy.messages, 2)):
        place = {"register_byte": number * nbytes, "grf_bytes": findings.target.grf_bytes}
        fix = f"move more rows by one message: {copy.op} fills {nbytes} bytes of registers"
        findings.judge(subject, table, place, fix)
