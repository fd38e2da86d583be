"""LSC messages as values: fields, refusals, register counts of what the vISA manual describes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from itertools import product
from typing import Any

import pytest
from every import every
from hypothesis import given
from lsc_strategies import block_messages, messages

import pycute_xe as cx
from pycute_xe import esimd
from pycute_xe.arch import Block2D, get_target
from pycute_xe.arch.lsc import (
    Address,
    Block2DMessage,
    DataType,
    Message,
    encode_descriptor,
    get_operation,
    operations,
    parse,
)
from pycute_xe.arch.target import grf_bytes, message_target
from pycute_xe.errors import CuteError, DTypeError, InputError, ShapeError, TargetError

FLAT = Address("flat", 64, "V1")
LOAD = Message("load", "ugm", 16, DataType("d32"), FLAT, "V2")
BLOCK = Block2DMessage(Block2D("load", 16, 8, 16), dst="V7")


def test_a_message_is_a_value() -> None:
    same = Message("load", "ugm", 16, DataType("d32"), Address("flat", 64, "V1"), "V2")
    assert same == LOAD
    assert len({same, LOAD, BLOCK}) == 2
    with pytest.raises(FrozenInstanceError):
        LOAD.dst = "V3"
    assert pickle.loads(pickle.dumps((LOAD, BLOCK))) == (LOAD, BLOCK)


def test_the_null_register_has_one_spelling() -> None:
    for null in ("V0", "null", "%null", "%null.0", "V0.0"):
        assert replace(LOAD, dst=null) == replace(LOAD, dst=None)
        assert replace(LOAD, dst=null).prefetch
    assert replace(LOAD, dst="V01").dst == "V01"
    assert not LOAD.prefetch
    assert not Message("store", "ugm", 16, DataType("d32"), FLAT, src1="V2").prefetch


def test_a_block_message_is_asked_what_any_message_is() -> None:
    """What it is, and whether a load to the null register is a prefetch."""
    at = "d16.1x16x8nn flat[V1,V2,V3,V4,V5,V6]"
    texts = (f"lsc_load_block2d.ugm {to}:{at}" for to in ("V13", "%null", "V0"))
    assert [parse(text).prefetch for text in texts] == [False, True, True]
    store = parse("lsc_store_block2d.ugm flat[V1,V2,V3,V4,V5,V6] V13:d16.16x8nn")
    assert not store.prefetch
    assert (store.operation.code, store.operation.kind) == (7, "store")


def test_the_operations_of_the_manual() -> None:
    """Encodings and extra operands of the table LscSubOp, those in doubt by hand."""
    found = operations()
    assert [op.code for op in found.values()] == [*range(0x1D), 0x28, 0x29]
    assert [name for name, op in found.items() if op.block2d] == ["load_block2d", "store_block2d"]
    none = {"atomic_iinc", "atomic_idec", "atomic_load"}
    two = {"atomic_icas", "atomic_fcas"}
    for name, op in found.items():
        if op.kind == "atomic":
            assert op.extra == (0 if name in none else 2 if name in two else 1)
    assert get_operation("load_status").kind == "load"
    assert get_operation("store_uncompressed").kind == "store"
    assert get_operation("apndctr_atomic_sub").kind == "counter"


@every(
    ("size", "memory", "register", "upper"),
    [
        ("d8", 8, 8, False),
        ("d16", 16, 16, False),
        ("d32", 32, 32, False),
        ("d64", 64, 64, False),
        ("d8u32", 8, 32, False),
        ("d16u32", 16, 32, False),
        ("d16u32h", 16, 32, True),
    ],
)
def test_data_sizes(size: str, memory: int, register: int, upper: bool) -> None:
    data = DataType(size)
    assert (data.memory_bits, data.register_bits, data.upper_half) == (memory, register, upper)


def test_elements_of_an_address() -> None:
    assert [DataType("d32", v).elements for v in (1, 3, 64)] == [1, 3, 64]
    assert DataType("d32", mask="xw").elements == 2
    assert DataType("d32", mask="xw").channels == (0, 3)
    assert DataType("d32", 3).channels == (0, 1, 2)


REFUSED: list[tuple[Any, type[CuteError], str]] = [
    (lambda: DataType("d12"), DTypeError, "unknown data size"),
    (lambda: DataType(["d32"]), DTypeError, "unknown data size"),
    (lambda: DataType("d32", 5), ShapeError, "unknown vector size"),
    (lambda: DataType("d32", True), ShapeError, "unknown vector size"),
    (lambda: DataType("d32", 2, 1), InputError, "must be True or False"),
    (lambda: DataType("d32", mask="yx"), ShapeError, "malformed channel mask"),
    (lambda: DataType("d32", mask="xx"), ShapeError, "malformed channel mask"),
    (lambda: DataType("d32", mask=""), ShapeError, "malformed channel mask"),
    (lambda: DataType("d32", 2, mask="x"), ShapeError, "neither vector size nor transpose"),
    (lambda: Address("surf", 32, "V1"), ShapeError, "unknown address model"),
    (lambda: Address("flat", 48, "V1"), ShapeError, "unknown address size"),
    (lambda: Address("flat", 64, "V0"), ShapeError, "null register"),
    (lambda: Address("flat", 64, "12"), ShapeError, "not the name"),
    (lambda: Address("flat", 64, 12), ShapeError, "not the name"),
    (lambda: Address("flat", 64, "V1", surface=4), ShapeError, "no surface"),
    (lambda: Address("bti", 32, "V1", surface=-1), ShapeError, "cannot hold"),
    (lambda: Address("bti", 32, "V1", surface="a b"), ShapeError, "cannot hold"),
    (lambda: Address("flat", 64, "V1", scale=0), ShapeError, "cannot hold"),
    (lambda: Address("flat", 64, "V1", scale=2**16), ShapeError, "cannot hold"),
    (lambda: Address("flat", 64, "V1", offset=2**31), ShapeError, "cannot hold"),
    (lambda: Address("flat", 64, "V1", pitch=2.0), ShapeError, "cannot hold"),
    (lambda: Address("bti", 32, None, offset=4), ShapeError, "nothing to scale or offset"),
    (lambda: replace(LOAD, op="load_block2d"), ShapeError, "Block2DMessage"),
    (lambda: replace(LOAD, op={}), ShapeError, "unknown operation"),
    (lambda: replace(LOAD, sfid="tgm"), ShapeError, "unknown sfid"),
    (lambda: replace(LOAD, exec_size=64), ShapeError, "unknown execution size"),
    (lambda: replace(LOAD, exec_size=True), ShapeError, "unknown execution size"),
    (lambda: replace(LOAD, l1="cc"), ShapeError, "unknown l1"),
    (lambda: replace(LOAD, l3=None), ShapeError, "unknown l3"),
    (lambda: replace(LOAD, exec_mask="M9"), ShapeError, "unknown exec_mask"),
    (lambda: replace(LOAD, predicate="~P1"), ShapeError, "malformed predicate"),
    (lambda: replace(LOAD, data="d32"), ShapeError, "must be a "),
    (lambda: replace(LOAD, address="V1"), ShapeError, "must be a "),
    (lambda: replace(LOAD, src1="V3"), ShapeError, "a load has no data operand"),
    (lambda: replace(LOAD, src2="V3"), ShapeError, "only atomics"),
    (lambda: replace(LOAD, dst="2V"), ShapeError, "not the name"),
    (lambda: replace(LOAD, op="store"), ShapeError, "a store has no destination"),
    (lambda: replace(LOAD, op="load_quad"), ShapeError, "quad operations need a channel mask"),
    (lambda: replace(LOAD, data=DataType("d32", mask="x")), ShapeError, "quad operations"),
    (lambda: replace(LOAD, address=replace(FLAT, pitch=4)), ShapeError, "only strided"),
    (lambda: replace(LOAD, op="apndctr_atomic_add"), ShapeError, "no address register"),
    (lambda: replace(LOAD, address=Address("bti", 32, None)), ShapeError, "no address register"),
    (
        lambda: Message(
            "apndctr_atomic_add", "ugm", 16, DataType("d32"), Address("bti", 64, None), src1="V1"
        ),
        ShapeError,
        "no address size",
    ),
    (lambda: replace(BLOCK, block="d16"), ShapeError, "must be a "),
    (lambda: replace(BLOCK, dst=None), ShapeError, "a load needs a destination"),
    (lambda: replace(BLOCK, src1="V8"), ShapeError, "a store reads"),
    (lambda: replace(BLOCK, surface=("V1",)), ShapeError, "base, width, height and pitch"),
    (lambda: replace(BLOCK, surface=[1, 2, 3, 4]), ShapeError, "must be a "),
    (lambda: replace(BLOCK, surface=(2**64, 1, 1, 1)), ShapeError, "cannot hold"),
    (lambda: replace(BLOCK, x=2**31), ShapeError, "cannot hold"),
    (lambda: replace(BLOCK, block=Block2D("load", 8, 1, 1, count=256)), ShapeError, "cannot hold"),
    (lambda: replace(BLOCK, block=Block2D("load", 8, 1, 2**16)), ShapeError, "cannot hold"),
]


@every(("make", "error", "condition"), REFUSED)
def test_what_no_encoding_holds(make: Any, error: type[CuteError], condition: str) -> None:
    with pytest.raises(error, match=condition) as refused:
        make()
    assert refused.value.operation in ("DataType", "Address", "Message", "Block2DMessage")
    assert refused.value.operands
    assert refused.value.fix


def text_registers(text: str) -> tuple[int, int, int]:
    message = parse(text)
    assert isinstance(message, Message)
    return (
        message.registers("pvc"),
        message.address_registers("bmg"),
        message.source_registers("lnl"),
    )


@every(
    ("text", "registers"),
    [
        # 64 bytes a register: 16 elements of d32, 8 of d64, 32 of d16 (Semantics, grf_data_sized)
        ("lsc_load.ugm (M1,32) V3:d32 flat[V1]:a64", (2, 4, 0)),
        ("lsc_load.ugm (M1,16) V3:d64x3 flat[V1]:a32", (6, 1, 0)),
        ("lsc_load.slm (M1,32) V3:d16 flat[V1]:a16", (1, 1, 0)),
        ("lsc_load.slm (M1,32) V3:d8u32 flat[V1]:a32", (2, 2, 0)),
        ("lsc_load.ugm (M1,16) %null:d32 flat[V1]:a64", (0, 2, 0)),
        # transposed: one address, elements side by side
        ("lsc_load.ugm (M1,1) V3:d32x16t flat[V1]:a64", (1, 1, 0)),
        ("lsc_load.ugm (M1,1) V3:d64x64t flat[V1]:a64", (8, 1, 0)),
        # strided: one address for all
        ("lsc_load_strided.ugm (M1,32) V3:d32 flat[V1]:a64", (2, 1, 0)),
        ("lsc_load_quad.ugm (M1,32) V3:d32.xzw flat[V1]:a64", (6, 4, 0)),
        # one bit per channel
        ("lsc_load_status.ugm (M1,32) V3:d64 flat[V1]:a64", (1, 4, 0)),
        ("lsc_store.ugm (M1,32) flat[V1]:a64 V3:d32x4", (0, 4, 8)),
        ("lsc_store_quad.ugm (M1,16) flat[V1]:a64 V3:d32.xy", (0, 2, 2)),
        ("lsc_atomic_iinc.ugm (M1,16) V3:d32 flat[V1]:a64 %null %null", (1, 2, 0)),
        ("lsc_atomic_iadd.ugm (M1,32) %null:d64 flat[V1]:a64 V4 %null", (0, 4, 4)),
        ("lsc_atomic_icas.ugm (M1,32) V3:d32 flat[V1]:a64 V4 V5", (2, 4, 4)),
        ("lsc_apndctr_atomic_add.ugm (M1,32) V3:d32 bti(0x1) V4:d32", (2, 0, 2)),
    ],
)
def test_register_counts(text: str, registers: tuple[int, int, int]) -> None:
    assert text_registers(text) == registers


def test_block_register_counts() -> None:
    store = Block2DMessage(Block2D("store", 16, 8, 16), src1="V7")
    prefetch = Block2DMessage(Block2D("prefetch", 16, 8, 16))
    found = [(m.registers("pvc"), m.source_registers("pvc")) for m in (BLOCK, store, prefetch)]
    assert found == [(4, 0), (0, 4), (0, 0)]


@every("target, message", [("dg2", BLOCK), *product(("mtl", "arl"), (LOAD, BLOCK))])
def test_machines_of_8_lanes_are_refused_by_name(target: str, message: Message) -> None:
    for ask in (message.check, message.nearest, message.registers, message.source_registers):
        with pytest.raises(TargetError, match=f"target={target}.*8 lanes.*vISA manual"):
            ask(target)


@pytest.mark.parametrize(
    ("text", "registers", "rules"),
    [
        # Half the elements of a register: 8 of 32 bits, 4 addresses of 64.
        ("lsc_load.ugm (M1,16) V13:d32 flat[V12]:a64", (2, 4), []),
        ("lsc_load.ugm (M1,8) V13:d32x8 flat[V12]:a32", (8, 1), []),
        ("lsc_load.slm (M1,1) V13:d32x16t flat[V12]:a16", (2, 1), []),
        ("lsc_load.ugm (M1,16) V13:d32x8 flat[V12]:a64", (16, 4), ["data-registers"]),
        ("lsc_load.ugm.ri.ri (M1,16) V13:d32 flat[V12]:a64", (2, 4), ["caching-load"]),
        ("lsc_apndctr_atomic_add.ugm (M1,16) V13:d32 bti(0x4) V10:d32", (2, 0), ["counter-target"]),
        # What no document limits is marked, not refused.
        ("lsc_load.ugm (M1,32) V13:d32 flat[V12]:a32", (4, 4), ["untold-width"]),
    ],
)
def test_messages_on_dg2(text: str, registers: tuple[int, int], rules: list[str]) -> None:
    message = parse(text)
    assert isinstance(message, Message)
    broken = message.check("dg2")
    assert [one.rule for one in broken] == rules
    assert all(one.level == "warning" for one in broken) == (rules in ([], ["untold-width"]))
    assert all(one.source.startswith("unknown: ") for one in broken if one.level == "warning")
    assert message.registers("dg2") == registers[0]
    if message.operation.kind != "counter":
        assert message.address_registers("dg2") == registers[1]
        assert message.nearest("dg2").check("dg2") == ()
    assert bool(cx.check(message, "dg2")) == (rules in ([], ["untold-width"]))


def test_nothing_but_messages_is_laid_out_for_dg2() -> None:
    dg2 = message_target("DG2")
    assert (dg2.grf_bytes, dg2.exec_size, dg2.grf_modes, dg2.slm_bytes) == (
        32,
        8,
        (128, 256),
        65536,
    )
    assert repr(dg2) == "message_target('dg2')"
    assert message_target("bmg") == get_target("bmg")
    assert grf_bytes() == 64
    load = parse("lsc_load.ugm (M1,16) V13:d32 flat[V12]:a64")
    asked: tuple[Callable[[Any], object], ...] = (
        get_target,
        lambda target: cx.check("XE_LOAD_2D<16,8,16>", target),
        lambda target: cx.get_atom("XE_2D_U16x8x16_LD_N", "f16").messages(target),
        lambda target: esimd.launch(lambda item: None, target=target),
        lambda target: Block2D("load", 16, 8, 16).check(target),
        lambda target: encode_descriptor(load, target),
    )
    for ask in asked:
        for target in ("dg2", dg2):
            with pytest.raises(TargetError, match=r"target=dg2.*32 bytes.*without blocks"):
                ask(target)


def test_an_unknown_target_is_refused_by_name() -> None:
    for message in (LOAD, BLOCK):
        for ask in (message.check, message.nearest, message.registers, message.source_registers):
            with pytest.raises(TargetError, match=r"xe9.*unknown target"):
                ask("xe9")


def test_a_target_without_rules_is_refused() -> None:
    other = replace(get_target("pvc"), name="mine")
    for message in (LOAD, BLOCK):
        for ask in (message.check, message.nearest, message.registers, message.source_registers):
            assert ask(get_target("pvc")) == ask("pvc")
            with pytest.raises(TargetError, match=r"mine.*no rule speaks"):
                ask(other)


@given(messages())
def test_registers_grow_with_what_is_moved(message: Message) -> None:
    """At least what the bytes need, and none for an operand that is not there."""
    for given_, count in (
        (message.dst is not None, message.registers("pvc")),
        (
            message.src1 is not None or message.src2 is not None,
            message.source_registers("pvc"),
        ),
    ):
        assert (count > 0) == given_
        if given_ and message.op != "load_status":
            bits = message.data.elements * message.data.register_bits * message.exec_size
            assert count * 512 >= bits


@given(messages() | block_messages())
def test_equal_messages_hash_alike(message: Message | Block2DMessage) -> None:
    again = replace(message)
    assert again == message
    assert hash(again) == hash(message)
