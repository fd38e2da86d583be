"""What 16 work-items do at once, without a compiler: their conditions, their bytes of an array."""

from __future__ import annotations

import pytest
from small_kernels import fragment, shared_array, small_kernel

from pycute_xe.emitting.instructions import LANE, Access, Alu, Condition, Registers, Scalar
from pycute_xe.emitting.masks import compared
from pycute_xe.emitting.shared import shared_accesses
from pycute_xe.kernel import Fill, Index, SharedLoad, SharedStore
from pycute_xe.kernel.spec.expression import Where, as_expression
from pycute_xe.layout import Layout

M, E = Index("M"), Index("element")
COMPARED = {"cmp.lt": int.__lt__, "cmp.gt": int.__gt__, "cmp.ne": int.__ne__}


def bits(found: Alu, size: int) -> list[bool]:
    """The predicate that a comparison sets: of the number of each lane, or of a number for all."""
    one, other = found.sources
    out: list[bool] = []
    for lane in range(16):
        if found.op == "cmp.ne":
            assert isinstance(one, Scalar)
            assert isinstance(one.value, Condition)
            out.append(one.value.index.at({"M": size}) < one.value.below.at({"M": size}))
        else:
            assert isinstance(other, Scalar)
            assert isinstance(other.value, Index)
            out.append(COMPARED[found.op](lane, other.value.at({"M": size})))
    return out


@pytest.mark.parametrize(
    ("index", "below"),
    [
        (E % 16 + 1, M),
        (M - E % 16, Index() + 4),
        (E // 16, M - 5),
        (M - E // 16, Index() + 4),
        (E, M * 8),
        (E // 16 + E % 16, M),
    ],
    ids=str,
)
def test_a_comparison_holds_for_the_elements_for_which_the_condition_does(
    index: Index, below: Index
) -> None:
    for first in (0, 16, 112):
        found = compared(
            Registers(small_kernel(())),
            Where(index, below, as_expression(1), as_expression(0)),
            first,
        )
        for size in range(20):
            elements = ({"element": first + lane, "M": size} for lane in range(16))
            wanted = [index.at(names) < below.at(names) for names in elements]
            assert bits(found, size) == wanted


IN_ORDER, TURNED = Layout((1, 128), (0, 1)), Layout((1, (8, 16)), (0, (16, 1)))
APART, PAIRS = Layout((1, 128), (0, 2)), Layout((1, (2, 64)), (0, (1, 4)))


@pytest.mark.parametrize("kind", ["s8", "bf16", "f32"])
@pytest.mark.parametrize("places", [IN_ORDER, TURNED, APART, PAIRS], ids=str)
@pytest.mark.parametrize("first", [0, 1])
def test_messages_reach_the_bytes_of_each_element_in_turn(
    kind: str, places: Layout, first: int
) -> None:
    at = Index(None, first)
    store, load = SharedStore("y", "s", places, at), SharedLoad("s", "y", places, at)
    array = shared_array("s", kind, 512)
    kernel = small_kernel((Fill("y", 1), store, load), (fragment("y", kind, 8),), shared=(array,))
    wide = array.value_type.bits // 8
    wanted = [(first + places(i)) * wide + byte for i in range(128) for byte in range(wide)]
    for statement in (store, load):
        found: list[int] = []
        for one in shared_accesses(kernel, Registers(kernel), statement.access, "y"):
            if isinstance(one, Access):
                assert one.stores == (statement is store)
                unit = {"d64": 8, "d32": 4, "d16u32": 2, "d8u32": 1}[one.size] * one.vector
                starts = (one.at.at({LANE: lane, "subgroup": 0}) for lane in range(one.lanes))
                found += [start + byte for start in starts for byte in range(unit)]
                # A block fills whole registers, and begins where its elements may.
                assert one.vector == 1 or (one.lanes == 1 and unit % 64 == 0)
                assert one.vector == 1 or one.at.offset % (unit // one.vector) == 0
        assert found == wanted


@pytest.mark.parametrize(
    ("kind", "elements", "first", "blocks"),
    [
        ("f32", 8, 0, [("d64", 64)]),
        ("f32", 8, 1, [("d32", 64), ("d32", 64)]),
        ("f32", 7, 0, [("d32", 64), ("d32", 32), ("d32", 16)]),
        ("bf16", 16, 0, [("d64", 64)]),
        ("s8", 4, 0, [("d32", 16)]),
        ("bf16", 8, 1, []),
    ],
)
def test_registers_side_by_side_are_blocks_of_up_to_eight(
    kind: str, elements: int, first: int, blocks: list[tuple[str, int]]
) -> None:
    places, array = Layout((1, 16 * elements), (0, 1)), shared_array("s", kind, 512)
    load = SharedLoad("s", "y", places, Index(None, first))
    kernel = small_kernel((Fill("y", 1), load), (fragment("y", kind, elements),), shared=(array,))
    accesses = shared_accesses(kernel, Registers(kernel), load.access, "y")
    sent = [s for s in accesses if isinstance(s, Access)]
    assert [(one.size, one.vector) for one in sent if one.vector > 1] == blocks
