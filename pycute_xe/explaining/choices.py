"""Why a block-2D copy of an operand is the one it is, and what else there was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from typing import Any

from pycute_xe.arch.target import Target, get_target
from pycute_xe.atom import (
    XE_LOAD_2D,
    XE_LOAD_2D_TRANSPOSE,
    XE_LOAD_2D_VNNI,
    XE_STORE_2D,
    Block2DOp,
    TiledCopy,
    TiledMma,
    classify_reorder,
    make_block_2d_prefetch,
    make_copy_atom,
)
from pycute_xe.atom.block2d_copy import BLOCK_2D_COPIES
from pycute_xe.atom.reordering import operand_reorder, reorder_rank
from pycute_xe.atom.selection import Choice, choose_block_2d, subgroup_fragment
from pycute_xe.errors import CuteError, InputError, quoted
from pycute_xe.explaining.explanation import AtomExplanation, Script, section
from pycute_xe.layout import Layout, size
from pycute_xe.numeric import Numeric

__all__ = ["explain_copy"]

NAMES = {"A": "mk", "B": "nk", "C": "mn", "D": "mn"}
KINDS = {"plain": "plain", "vnni": "VNNI", "transpose": "transposing"}


def explain_copy(
    copy: TiledCopy,
    mma: TiledMma | None = None,
    operand: str | None = None,
    target: str | Target = "bmg",
) -> AtomExplanation:
    """Return why a copy moves an operand of a tiled MMA as it does, and what else is legal.

    Sections: "needs" (whether a transpose or VNNI is needed), "width" and "height" (which extents
    gave them), "chosen" (the copy with its reorder), "else" (the other legal kinds with the
    fewest messages, and the reorder that each costs), "prefetch". Raises `InputError` without the
    MMA and the operand, which a copy does not know, and for a prefetch: explain its copy.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> told = explain_copy(cx.make_block_2d_copy_B(mma, (1, "ld")), mma, "B")
    >>> print(dict(told.sections())["width"][0])
    registers walk 16 along n before a larger step: blocks of 16
    """
    if mma is None or operand not in BLOCK_2D_COPIES:
        raise InputError(
            "explain",
            {"operand": quoted(operand)},
            "a copy is explained for an operand of a tiled MMA",
            'explain(copy, mma, "B")',
        )
    if copy.op.kind == "XE_PREFETCH_2D":
        fix = "explain the copy that it prefetches for"
        raise InputError("explain", {"copy": copy.op}, "a prefetch fills no registers", fix)
    machine = get_target(target)
    part = "C" if operand == "D" else operand
    operand_type: Any = mma.atom.operand_type(operand)  # pyright: ignore[reportArgumentType]
    x, y = copy.x_mode, copy.y_mode
    walk = subgroup_fragment(mma, part)
    choice = choose_block_2d(walk, copy.value_type, operand_type, x, y, operand == "D")
    names = NAMES[operand][x], NAMES[operand][y]
    script = Script()
    section(script, "needs", list(_needs(choice, names, copy, operand_type)))
    section(script, "width", list(_width(choice, names)))
    section(script, "height", list(_height(choice, names)))
    own = "" if choice.op == copy.op else f"; CUTLASS would choose {choice.op}"
    section(script, "chosen", [f"{_summary(copy, mma, operand)}{own}"])
    section(script, "else", list(_others(copy, mma, operand, machine)))
    if operand != "D":
        section(script, "prefetch", list(_prefetch(copy)))
    tile = " x ".join(map(str, copy.tiler_mn))
    title = f"{copy.op} for {operand} of {mma}"
    verb = "Stores" if operand == "D" else "Loads"
    rule = f"{verb} the {tile} tile of {copy.value_type}, {names[0]} contiguous in memory."
    return AtomExplanation(title, rule, tuple(script.steps), copy)


def _needs(
    choice: Choice, names: tuple[str, str], copy: TiledCopy, operand_type: Any
) -> Iterator[str]:
    along = names[0] if choice.along_x else names[1]
    yield f"neighbouring work-items of the MMA hold neighbours along {along}"
    if choice.kind == "transpose":
        yield f"memory is contiguous along {names[0]}: a transpose is needed, in dwords or qwords"
    elif choice.along_x:
        yield "memory runs the same way: no transpose"
    else:
        yield f"memory runs along {names[0]}, but messages transpose whole dwords only: as it lies"
    count = 32 // operand_type.bits
    if choice.kind == "vnni":
        yield f"DPAS reads {count} values along {names[1]} in a dword: VNNI, done by the load"
    elif choice.packed and choice.kind == "transpose" and count > 1:
        yield f"DPAS reads {count} values along {names[0]} in a dword: transposed dwords have them"
    elif choice.packed and count > 1:
        yield f"DPAS reads {count} values in a dword; no VNNI load takes {copy.value_type}"


def _width(choice: Choice, names: tuple[str, str]) -> Iterator[str]:
    op, bits = choice.op, choice.op.bits
    if choice.kind == "transpose":
        yield (
            f"registers walk {choice.run_x} along {names[0]}, a transposed message takes "
            f"{choice.row}: {op.width} elements of {bits} bits"
        )
        return
    yield (
        f"registers walk {choice.run_x} along {names[0]} before a larger step: "
        f"blocks of {op.block_width}"
    )
    if op.kind != "XE_STORE_2D":
        yield (
            f"a message moves rows of 64 bytes, {choice.row} values, in at most 4 blocks; the "
            f"share of a subgroup has {choice.tile_x}: width {op.width}"
        )


def _height(choice: Choice, names: tuple[str, str]) -> Iterator[str]:
    most = 8 if choice.op.kind == "XE_STORE_2D" else 32
    yield (
        f"registers walk {choice.run_y} of {choice.tile_y} along {names[1]}; a message takes "
        f"{most}: height {choice.op.height}"
    )


def _others(copy: TiledCopy, mma: TiledMma, operand: str, target: Target) -> Iterator[str]:
    """The legal copy of each other kind with the fewest messages, the cheapest of those."""
    best: dict[tuple[str, int], tuple[tuple[int, int], TiledCopy]] = {}
    for op in _candidates(copy.value_type, operand == "D", target.name):
        key = op.kind, op.bits
        # Largest blocks come first: a smaller one needs more messages.
        smaller = key in best and _area(op) < _area(best[key][1].op)
        made = None if smaller or op == copy.op else _made(copy, mma, operand, op)
        if made is None:
            continue
        rank = made.messages, reorder_rank(made, mma, operand)
        if key not in best or rank < best[key][0]:
            best[key] = rank, made
    for _, other in sorted(best.values(), key=lambda pair: (pair[0], str(pair[1].op))):
        yield _summary(other, mma, operand)
    if not best:
        yield "no other kind is legal for this operand and memory"


def _area(op: Block2DOp) -> int:
    return op.height * op.width * op.bits


@lru_cache(maxsize=32)
def _candidates(value_type: Numeric, store: bool, target: str) -> tuple[Block2DOp, ...]:
    """Return the operations whose messages a target takes, largest blocks first."""
    unit = max(value_type.bits, 8)
    made: list[tuple[Callable[..., Block2DOp], tuple[int, ...]]] = []
    for height, width in product((32, 16, 8, 4, 2, 1), (64, 32, 16, 8, 4, 2)):
        if store:
            made.append((XE_STORE_2D, (unit, height, width)))
            continue
        made += [(XE_LOAD_2D_TRANSPOSE, (bits, height, width)) for bits in (32, 64)]
        for load, parts in product((XE_LOAD_2D, XE_LOAD_2D_VNNI), (1, 2, 4)):
            if width % parts == 0:
                made.append((load, (unit, height, width, width // parts)))
    out: list[Block2DOp] = []
    for make, shape in made:
        try:
            op = make(*shape)
            make_copy_atom(op, value_type).messages(target)
        except CuteError:
            continue
        out.append(op)
    return tuple(sorted(out, key=lambda op: (-_area(op), str(op))))


def _made(copy: TiledCopy, mma: TiledMma, operand: str, op: Block2DOp) -> TiledCopy | None:
    """Return the tiling of an operation where it holds what each subgroup needs."""
    try:
        strides: list[Any] = ["ld"] * len(copy.tiler_mn)
        strides[copy.x_mode] = 1
        made = BLOCK_2D_COPIES[operand](mma, tuple(strides), copy.value_type, op)
        operand_reorder(made, mma, operand)
    except CuteError:
        return None
    return made if made.block.faithful else None


def _summary(copy: TiledCopy, mma: TiledMma, operand: str) -> str:
    many = f"{copy.messages} message{'s' if copy.messages > 1 else ''}"
    try:
        slots = operand_reorder(copy, mma, operand)
    except CuteError as error:
        return f"{copy.op}, {many}: {error.condition}"
    return f"{copy.op}, {many} a subgroup: {_cost(slots, copy, mma, operand)}"


def _cost(slots: Layout, copy: TiledCopy, mma: TiledMma, operand: str) -> str:
    rank = reorder_rank(copy, mma, operand)
    if rank < 2:
        return ("no reorder", "a reorder that renames registers and costs nothing")[rank]
    registers = -(-size(slots) * copy.value_type.bits // 512)
    bits = mma.atom.operand_type(operand).bits  # pyright: ignore[reportArgumentType]
    return (
        f"a reorder {classify_reorder(slots, copy.value_type.bits, bits)} of {registers} registers"
    )


def _prefetch(copy: TiledCopy) -> Iterator[str]:
    fetched = make_block_2d_prefetch(copy)
    line = 512 // copy.value_type.bits
    yield (
        f"{fetched.op}: {fetched.block.width} of the {copy.tiler_mn[copy.x_mode]} along x fill "
        f"lines of 64 bytes ({line} values), {fetched.block.height} rows for each of "
        f"{copy.num_subgroups} subgroups"
    )
    blocks = 1
    for extent, block in zip(copy.tiler_mn, _block(fetched), strict=True):
        blocks *= -(-extent // block)
    spare = fetched.messages * copy.num_subgroups - blocks
    if spare > 0:
        yield f"the tile has {blocks} such blocks: {spare} of the messages lie outside it"


def _block(fetched: TiledCopy) -> list[int]:
    out = [1] * len(fetched.tiler_mn)
    out[fetched.x_mode], out[fetched.y_mode] = fetched.block.width, fetched.block.height
    return out
