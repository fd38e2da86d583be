"""Floor 6: the block-2D messages that move the block of an older name, or the rules against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import log2

from pycute_xe.arch.block2d import Block2D
from pycute_xe.arch.rules import Broken, errors
from pycute_xe.arch.target import Target, get_target
from pycute_xe.atom.block2d_name import Block2DName
from pycute_xe.atom.placed_message import PlacedMessage
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.errors import LegalityError

__all__ = ["broken_rules", "lower", "messages_of", "nearest_names"]

_SIZES = (1, 2, 4, 8, 16, 32, 64)


def lower(name: Block2DName, target: str | Target) -> tuple[PlacedMessage, ...]:
    """Return the legal messages that together move the block of a name, each element once.

    The messages are as large as the target takes them. Elements below 32 bits are transposed as
    dwords, 4-bit ones move as bytes. Raises `LegalityError` with the rules that forbid it, their
    sources and the nearest names that work; `TargetError` for an unknown target.

    >>> from pycute_xe.atom import parse_block2d_name
    >>> for part in lower(parse_block2d_name("XE_2D_U16x32x16_LD_T"), "bmg"):
    ...     print(part)
    lsc_load_block2d.ugm (M1,1) V:d32.1x8x16tn at x 0, y 0
    lsc_load_block2d.ugm (M1,1) V:d32.1x8x16tn at x 8, y 0
    """
    broken = broken_rules(name, target)
    if not broken:
        return tuple(messages_of(name))
    near = nearest_names(name, target)
    fix = f"use {', '.join(map(str, near))}" if near else "; ".join(b.fix for b in broken)
    raise LegalityError(
        "lower",
        {"name": name, "target": get_target(target).name},
        "; ".join(f"{b.rule}: {b.condition} [{b.source}]" for b in broken),
        fix,
    )


def broken_rules(name: Block2DName, target: str | Target) -> tuple[Broken, ...]:
    """Return the rules of level "error" that the messages of a name break, each once.

    >>> from pycute_xe.atom import parse_block2d_name
    >>> broken_rules(parse_block2d_name("XE_2D_U32x16x16_LD_V"), "bmg")[0].rule
    'vnni-bits'
    """
    _, row = name.memory_shape
    if row * name.bits % 8:
        return (
            Broken(
                "whole-bytes",
                "error",
                f"a row is {row} elements of {name.bits} bits, must be whole bytes",
                "vISA manual, LSC_UNTYPED.md: elements of 8, 16, 32 or 64 bits",
                f"make it {row + 1}",
            ),
        )
    found = {
        broken.rule: broken
        for part in messages_of(name)
        for broken in errors(part.message.broken_rules(target))
    }
    return tuple(found.values())


def nearest_names(
    name: Block2DName, target: str | Target, count: int = 3
) -> tuple[Block2DName, ...]:
    """Return names of the same data type and direction that a target can move, nearest first.

    Sizes differ by as few doublings as possible, and the mode only where that is nearer.
    """
    modes = tuple(dict.fromkeys((name.mode, "N")))
    sizes = product(modes, {*_SIZES, name.rows}, {*_SIZES, name.cols})
    others = (replace(name, mode=mode, rows=r, cols=c) for mode, r, c in sizes)
    out: list[Block2DName] = []
    for other in sorted(others, key=lambda other: _distance(name, other)):
        if not broken_rules(other, target):
            out.append(other)
        if len(out) == count:
            break
    return tuple(out)


def _distance(a: Block2DName, b: Block2DName) -> tuple[float, bool, str]:
    """Doublings from one to the other; another mode counts as one."""
    steps = abs(log2(a.rows / b.rows)) + abs(log2(a.cols / b.cols)) + (a.mode != b.mode)
    return steps, not b.shipped, str(b)


def messages_of(name: Block2DName) -> Iterator[PlacedMessage]:
    """Cut the block in memory into messages, whether or not a target takes them."""
    rows, row = name.memory_shape
    turned = name.mode == "T" and not name.is_prefetch
    bits = max(name.bits, 8)
    if turned and not name.is_store and bits < 32 and row * name.bits % 32 == 0:
        bits = 32
    width = row * name.bits // bits
    most_rows, most = _limits(name, turned, bits)
    for y, x in product(range(0, rows, most_rows), range(0, width, most)):
        height, part = min(most_rows, rows - y), min(most, width - x)
        yield PlacedMessage(_message(name, turned, bits, height, part), x, y)


def _limits(name: Block2DName, turned: bool, bits: int) -> tuple[int, int]:
    """Rows and elements of the largest message."""
    if name.is_store:
        return 8, 512 // bits
    if turned:
        return (8, 4) if bits == 64 else (16, 8)
    return 32, 512 // bits


def _message(name: Block2DName, turned: bool, bits: int, height: int, width: int) -> Block2D:
    vnni = name.mode == "V" and not name.is_prefetch
    if name.is_store:
        return Block2D("store", bits, height, width, transpose=turned, vnni=vnni)
    op = "prefetch" if name.is_prefetch else "load"
    block, count = width, 1
    group = SUBGROUP * name.bits // bits * (2 if name.packed else 1)
    if not turned and width % group == 0 and _can_repeat(bits, group, width // group):
        block, count = group, width // group
    return Block2D(op, bits, height, block, count, transpose=turned, vnni=vnni)


def _can_repeat(bits: int, block: int, count: int) -> bool:
    """Whether blocks of 16 columns lie side by side in one message, as CUTLASS has them."""
    return count <= {8: 4, 16: 4, 32: 2}.get(bits, 1) and count != 3 and block * bits >= 32
