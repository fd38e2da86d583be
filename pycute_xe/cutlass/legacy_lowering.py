"""The block-2D messages that move the block of an older name, or the rules against."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache
from itertools import groupby, islice, product
from math import log2
from operator import itemgetter
from typing import cast

from pycute_xe.arch.block2d import Block2D, Op
from pycute_xe.arch.rules import Broken, Rule, errors, judge, rules
from pycute_xe.arch.target import Target, get_target, targets
from pycute_xe.atom.block2d_op import Block2DOp, Kind
from pycute_xe.atom.copy_answers import PlacedMessage
from pycute_xe.atom.register_picture import ANY_TARGET, SUBGROUP
from pycute_xe.cutlass.legacy_name import (
    LARGEST_BLOCK,
    LegacyCopyName,
    adjacent_columns,
    parse_block2d_name,
)
from pycute_xe.errors import CuteError, LegalityError
from pycute_xe.facts import rows
from pycute_xe.signatures import typed

__all__ = [
    "broken_rules",
    "lower",
    "messages_of",
    "nearest_names",
    "op_of",
    "op_sending",
    "sent_by_cutlass",
    "can_repeat",
    "largest",
    "least_elements",
    "transposed_bits",
    "vnni_width",
    "template_of",
]

# ------------------------------------------------------------ message limits
# How large block-2D messages may be, from the rows that refuse larger ones.


@cache
def largest(op: Op, turned: bool, vnni: bool, bits: int) -> tuple[int, int]:
    """Return rows and elements of a row of the largest message, in elements of so many bits.

    Transposed blocks keep the tighter limit that the compiler of 2022 had. Widths that no transpose
    has count as the next one that it has.

    >>> largest("load", False, False, 16), largest("load", True, False, 32)
    ((32, 32), (16, 8))
    """
    if turned and op == "load":
        bits = transposed_bits(bits)
    about = {"bits": bits, "transpose": int(turned), "vnni": int(vnni)}
    size = {quantity: _most(op, quantity, about) for quantity in ("height", "width", "row_bytes")}
    rows = size["height"]
    if turned and op == "load":
        rows = min(rows, _bound("transpose-column-bytes") * 8 // bits)
    return rows, min(size["width"], size["row_bytes"] * 8 // bits)


@cache
def least_elements(bits: int) -> int:
    """Return the elements of the narrowest message: it moves, and starts at, whole dwords.

    >>> least_elements(8), least_elements(64)
    (4, 0)
    """
    return _bound("width-min-dword") * 8 // bits


@cache
def transposed_bits(bits: int) -> int:
    """Return the width in which elements are transposed: dwords below 32 bits.

    >>> transposed_bits(8), transposed_bits(64)
    (32, 64)
    """
    return _row("transpose-bits").nearest({"bits": bits})


@cache
def vnni_width() -> int:
    """Return the elements of a row that every document lets a VNNI message have."""
    return _bound("vnni-width")


@cache
def can_repeat(bits: int, block: int, count: int) -> bool:
    """Tell whether so many blocks of ``block`` elements lie side by side in one message.

    >>> can_repeat(16, 16, 2), can_repeat(16, 16, 3)
    (True, False)
    """
    counts = _rules("load", "count", {"bits": bits, "transpose": 0})
    alike = all(rule.holds({"count": count}) for rule in counts)
    return alike and block >= least_elements(bits)


def _most(op: Op, quantity: str, about: dict[str, int]) -> int:
    """The largest value that every refusing rule lets a quantity have; very many without one."""
    bounds = (max(cast("tuple[int, ...]", rule.bounds)) for rule in _rules(op, quantity, about))
    return min(bounds, default=1 << 24)


def _rules(op: Op, quantity: str, about: dict[str, int]) -> list[Rule]:
    return [
        rule
        for rule in rules("block2d", "message", ANY_TARGET, op)
        if (rule.quantity, rule.level) == (quantity, "error")
        and rule.kind in ("at_most", "one_of")
        and rule.applies(about)
    ]


def _bound(rule: str) -> int:
    return cast("int", _row(rule).bounds[0])


def _row(wanted: str) -> Rule:
    for rule in rules("block2d", "message", ANY_TARGET):
        if rule.id == wanted:
            return rule
    raise CuteError(
        "message_limits", {"rule": wanted}, "no row has this id", "correct atoms/block2d.toml"
    )


# ------------------------------------------------------------ legacy lowering

SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Rows and columns that are tried."""
_BLOCK = re.compile(r"d(\d+)\.(\d+)x(\d+)x(\d+)([nt])([nt])")


def lower(name: LegacyCopyName, target: str | Target) -> tuple[PlacedMessage, ...]:
    """Return the legal messages that together move the block of a name, each element once.

    The message that CUTLASS sends where it is legal and moves the block; else messages as large as
    the target takes them. Elements below 32 bits are transposed as dwords, 4-bit ones move as
    bytes. Raises `LegalityError` with the rules that forbid it, their sources and the nearest names
    that work; `TargetError` for an unknown target.

    >>> from pycute_xe.cutlass import parse_block2d_name
    >>> for part in lower(parse_block2d_name("XE_2D_U16x32x16_LD_T"), "bmg"):
    ...     print(part)
    lsc_load_block2d.ugm (M1,1) V:d32.1x8x16tn at x 0, y 0
    lsc_load_block2d.ugm (M1,1) V:d32.1x8x16tn at x 8, y 0
    """
    on = get_target(target).name
    broken = _broken(name, _judged_as(on))
    if not broken:
        return messages_of(name)
    near = _nearest(name, _judged_as(on), 3)
    fix = f"use {', '.join(map(str, near))}" if near else "; ".join(b.fix for b in broken)
    raise LegalityError(
        "lower",
        {"name": name, "target": on},
        "; ".join(f"{b.rule}: {b.condition} [{b.source}]" for b in broken),
        fix,
    )


def broken_rules(name: LegacyCopyName, target: str | Target) -> tuple[Broken, ...]:
    """Return the rules of level "error" that the messages of a name break, each once.

    >>> from pycute_xe.cutlass import parse_block2d_name
    >>> broken_rules(parse_block2d_name("XE_2D_U32x16x16_LD_V"), "bmg")[0].rule
    'vnni-bits'
    """
    return _broken(name, _judged_as(get_target(target).name))


@cache
def _judged_as(target: str) -> str:
    """The first target with the same rules of level "error", which speak for both."""
    alike = (other for other in targets() if _refusing(other) == _refusing(target))
    return next(alike, target)


def _refusing(target: str) -> list[Rule]:
    tables = [rules("block2d", table, target) for table in ("block", "message")]
    return [rule for table in tables for rule in table if rule.level == "error"]


@lru_cache(maxsize=1 << 14)
def _broken(name: LegacyCopyName, target: str) -> tuple[Broken, ...]:
    row_bits = name.memory_shape[1] * name.bits
    if row_bits % 8:
        return errors(judge(rules("block2d", "block", target), {"row_bits": row_bits}))
    by_rule: dict[str, Broken] = {}
    for message in {part.message: None for part in messages_of(name)}:
        by_rule |= {broken.rule: broken for broken in _forbidden(message, target)}
    return tuple(by_rule.values())


@lru_cache(maxsize=1 << 14)
def _forbidden(message: Block2D, target: str) -> tuple[Broken, ...]:
    return errors(message.broken_rules(target))


def nearest_names(
    name: LegacyCopyName, target: str | Target, count: int = 3
) -> tuple[LegacyCopyName, ...]:
    """Return names of the same data type and direction that a target can move, nearest first.

    Sizes differ by as few doublings as possible, and the mode only where that is nearer.

    >>> from pycute_xe.cutlass import parse_block2d_name
    >>> print(*nearest_names(parse_block2d_name("XE_2D_U16x15x16_LD_V"), "bmg"))
    XE_2D_U16x16x16_LD_V XE_2D_U16x8x16_LD_V XE_2D_U16x15x16_LD_N
    """
    return _nearest(name, _judged_as(get_target(target).name), count)


@lru_cache(maxsize=1 << 10)
def _nearest(name: LegacyCopyName, target: str, count: int) -> tuple[LegacyCopyName, ...]:
    near = (other for other in _by_distance(name) if not _broken(other, target))
    return tuple(islice(near, count))


def _by_distance(name: LegacyCopyName) -> Iterator[LegacyCopyName]:
    """Other names, the fewest doublings away first; another mode counts as one."""
    modes = {name.mode: 0, "N": int(name.mode != "N")}
    rows = {other: abs(log2(name.rows / other)) for other in (*SIZES, name.rows)}
    cols = {other: abs(log2(name.cols / other)) for other in (*SIZES, name.cols)}
    sizes = product(modes.items(), rows.items(), cols.items())
    fitting = (s for s in sizes if s[1][0] * s[2][0] * name.bits <= LARGEST_BLOCK * 8)
    ranked = sorted((r[1] + c[1] + m[1], m[0], r[0], c[0]) for m, r, c in fitting)
    for _, alike in groupby(ranked, key=itemgetter(0)):
        others = [replace(name, mode=m, rows=r, cols=c) for _, m, r, c in alike]
        if len(others) > 1:
            others.sort(key=lambda other: (not other.shipped, str(other)))
        yield from others


@lru_cache(maxsize=1 << 10)
def messages_of(name: LegacyCopyName) -> tuple[PlacedMessage, ...]:
    """Return the messages that move the block in memory, whether or not a target takes them."""
    sent = sent_by_cutlass(name)
    if sent and not why_not(name, sent):
        return (PlacedMessage(sent),)
    rows, row = name.memory_shape
    turned = name.mode == "T" and not name.is_prefetch
    op, vnni, bits = op_of(name), _packs(name), max(name.bits, 8)
    if turned and op == "load" and row * name.bits % transposed_bits(bits) == 0:
        bits = transposed_bits(bits)
    width = row * name.bits // bits
    most_rows, most = largest(op, turned, vnni, bits)
    if vnni and op == "load" and width % vnni_width():
        most = min(most, vnni_width())
    down = tuple(_cut(rows, most_rows, 1))
    across = tuple(_cut(width, most, least_elements(bits)))
    sizes = product({height for _, height in down}, {part for _, part in across})
    kinds = {(h, w): _message(name, turned, bits, h, w) for h, w in sizes}
    return tuple(PlacedMessage(kinds[h, w], x, y) for (y, h), (x, w) in product(down, across))


def _cut(length: int, most: int, least: int) -> Iterator[tuple[int, int]]:
    """Cut a side of a block: where each part starts, and its extent, none below ``least``."""
    start = 0
    while start < length:
        left = length - start
        part = min(most, left)
        if 0 < left - part < least:
            part -= least
        yield start, part
        start += part


def _packs(name: LegacyCopyName) -> bool:
    """Whether a name asks for VNNI; a prefetch has no registers to pack."""
    return name.mode == "V" and not name.is_prefetch


def _message(name: LegacyCopyName, turned: bool, bits: int, height: int, width: int) -> Block2D:
    vnni = _packs(name)
    if name.is_store:
        return Block2D("store", bits, height, width, transpose=turned, vnni=vnni)
    block, count = width, 1
    group = SUBGROUP * adjacent_columns(name) * name.bits // bits
    if not turned and width % group == 0 and can_repeat(bits, group, width // group):
        block, count = group, width // group
    return Block2D(op_of(name), bits, height, block, count, transpose=turned, vnni=vnni)


def op_of(name: LegacyCopyName) -> Op:
    """Return what the messages of a name do."""
    if name.is_prefetch:
        return "prefetch"
    return "store" if name.is_store else "load"


def sent_by_cutlass(name: LegacyCopyName) -> Block2D | None:
    """Return the message of CUTLASS's own, where it is another than the block cut by its name.

    >>> from pycute_xe.cutlass import parse_block2d_name
    >>> print(sent_by_cutlass(parse_block2d_name("XE_2D_U8x32x32_LD_N")))
    lsc_load_block2d.ugm (M1,1) V:d8.2x16x32nt
    """
    text = name.fact_of("sends")
    match = _BLOCK.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    bits, count, width, height = map(int, match.groups()[:4])
    turned, vnni = (letter == "t" for letter in match.groups()[4:])
    return Block2D(op_of(name), bits, height, width, count, transpose=turned, vnni=vnni)


def why_not(name: LegacyCopyName, sent: Block2D) -> str:
    """Return in words why a message of CUTLASS's own is not taken; empty where it is."""
    rows, row = name.memory_shape
    moved, wanted = sent.height * sent.quantities["row_bytes"] * 8, rows * row * name.bits
    if moved < wanted:
        return f"moves {moved // 8} of the {wanted // 8} bytes"
    broken = _forbidden(sent, ANY_TARGET)
    return f"breaks {', '.join(b.rule for b in broken)}" if broken else ""


# ------------------------------------------------------------ legacy templates
# The template operation that sends the message of an older name.


@typed
def template_of(name: str | LegacyCopyName) -> Block2DOp:
    """Return the template operation that sends the messages of an older block-2D name.

    Law: ``template_of(name).message`` is the message of the name, one of them where the name needs
    several alike; what lands in registers is what `LegacyCopyAtom.registers` shows. Older layouts
    that say otherwise are left behind. Sizes count elements of the message: dwords for LD_T of
    narrower ones, bytes for U4. Raises `CuteError` for other names and for a block that needs
    messages of several sizes. C++: ``XE_LOAD_2D<…>`` in place of ``XE_2D_…``.

    >>> template_of("XE_2D_U16x32x16_LD_V"), template_of("XE_2D_U16x16x16_LD_T")
    (XE_LOAD_2D_VNNI(16, 32, 16), XE_LOAD_2D_TRANSPOSE(32, 16, 8))
    """
    parsed = name if isinstance(name, LegacyCopyName) else parse_block2d_name(name)
    sent = {placed.message for placed in messages_of(parsed)}
    if len(sent) > 1:
        row = next(r for r in rows("block2d_names", "without_order") if r["id"] == "several sizes")
        condition = f"{row['condition']}: {', '.join(sorted(map(str, sent)))}"
        raise CuteError("template_of", {"name": parsed}, condition, str(row["fix"]))
    (message,) = sent
    return op_sending(message)


def op_sending(message: Block2D) -> Block2DOp:
    """Return the template operation that sends a message."""
    width = message.width * message.count
    return Block2DOp(_kind(message), message.bits, message.height, width, message.width)


def _kind(message: Block2D) -> Kind:
    if message.op == "store":
        return "XE_STORE_2D"
    if message.op == "prefetch":
        return "XE_PREFETCH_2D"
    if message.transpose:
        return "XE_LOAD_2D_TRANSPOSE"
    return "XE_LOAD_2D_VNNI" if message.vnni else "XE_LOAD_2D"
