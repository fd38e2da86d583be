"""Hypothesis strategies for LSC messages: whatever can be built, legal or not."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from pycute_xe.arch import Block2D
from pycute_xe.arch.lsc import Address, Block2DMessage, DataType, Message, Operation, operations

SIZES = st.sampled_from(["d8", "d16", "d32", "d64", "d8u32", "d16u32", "d16u32h"])
VECTORS = st.sampled_from([1, 2, 3, 4, 8, 16, 32, 64])
MASKS = st.sampled_from(
    [m for n in range(1, 16) if (m := "".join("xyzw"[i] for i in range(4) if n >> i & 1))]
)
CACHINGS = st.sampled_from(["df", "uc", "ca", "wb", "wt", "st", "ri"])
EXEC_MASKS = st.sampled_from([f"M{i}{end}" for i in range(1, 9) for end in ("", "_NM")])
EXEC_SIZES = st.sampled_from([1, 2, 4, 8, 16, 32])
UNITS = st.sampled_from(["ugm", "ugml", "slm"])
MODELS = st.sampled_from(["flat", "bss", "ss", "bti"])
PREDICATES = st.sampled_from([None, "P1", "!P1", "P2.any", "!P_loop.all"])

# Names that are words of the language elsewhere are names all the same.
REGISTERS = st.sampled_from(
    ["V12", "V0_1", "VDATA", "%r0", "%12", "V7.64", "x", "flat", "t", "a64", "nn"]
)
NULLS = st.sampled_from([None, "V0", "null", "%null", "%null.0"])
NAMES = REGISTERS | st.sampled_from(["S1(0,1)", "V3(0,0)<0;1,0>", "V5<1;1,0>"])


def data_types(quad: bool) -> st.SearchStrategy[DataType]:
    """Data types of quad operations, or of the others."""
    if quad:
        return st.builds(DataType, SIZES, mask=MASKS)
    return st.builds(DataType, SIZES, VECTORS, st.booleans())


@st.composite
def addresses(draw: st.DrawFn, op: Operation) -> Address:
    """Addresses that an operation can hold."""
    model = draw(MODELS)
    surface = 0 if model == "flat" else draw(NAMES | st.integers(0, 2**32 - 1))
    if op.kind == "counter":
        return Address(model, 32, None, surface)
    return Address(
        model,
        draw(st.sampled_from([16, 32, 64])),
        draw(REGISTERS),
        surface,
        draw(st.sampled_from([1, 4]) | st.integers(1, 2**16 - 1)),
        draw(st.sampled_from([0, 4]) | st.integers(-(2**31), 2**31 - 1)),
        draw(st.none() | NAMES | st.integers(0, 2**17)) if op.strided else None,
    )


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """Messages of every operation but the block-2D ones."""
    op = draw(st.sampled_from([op for op in operations().values() if not op.block2d]))
    operand = REGISTERS | NULLS
    return Message(
        op.name,
        draw(UNITS),
        draw(EXEC_SIZES),
        draw(data_types(op.quad)),
        draw(addresses(op)),
        None if op.kind == "store" else draw(operand),
        None if op.kind == "load" else draw(operand),
        draw(operand) if op.kind == "atomic" else None,
        draw(CACHINGS),
        draw(CACHINGS),
        draw(PREDICATES),
        draw(EXEC_MASKS),
    )


@st.composite
def block_messages(draw: st.DrawFn, most: int = 70) -> Block2DMessage:
    """Block-2D messages with blocks up to a size, and operands of any kind."""
    op: Any = draw(st.sampled_from(["load", "store", "prefetch"]))
    block = Block2D(
        op,
        draw(st.sampled_from([8, 16, 32, 64])),
        draw(st.integers(1, most)),
        draw(st.integers(1, most)),
        draw(st.integers(1, 5)),
        draw(st.booleans()),
        draw(st.booleans()),
    )
    return Block2DMessage(
        block,
        draw(UNITS),
        draw(REGISTERS) if op == "load" else None,
        draw(REGISTERS) if op == "store" else None,
        (
            draw(NAMES | st.integers(0, 2**64 - 1)),
            *(draw(NAMES | st.integers(0, 2**24)) for _ in range(3)),
        ),
        draw(NAMES | st.integers(-100, 100)),
        draw(NAMES | st.integers(-100, 100)),
        draw(CACHINGS),
        draw(CACHINGS),
        draw(EXEC_MASKS),
        draw(PREDICATES),
    )
