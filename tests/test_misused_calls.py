"""Calls that a user gets wrong: each is refused by name, and says what to write instead."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import sympy
from every import every

import pycute_xe as cx
from pycute_xe import esimd
from pycute_xe.arch import Block2D, get_target
from pycute_xe.bulk import offsets
from pycute_xe.compat import pycute
from pycute_xe.compat.pycute_tuples import tuple_max
from pycute_xe.errors import CoordError, CuteError, InputError, KernelError, RankError, ShapeError
from pycute_xe.kernel.ir.effects import Touched
from pycute_xe.notation import cpp_layout, cpp_tree, parse_layout
from pycute_xe.symbolic import from_sympy

OP = cx.XE_DPAS_TT(8, "f32", "bf16")


@pytest.fixture(scope="module")
def gemm() -> cx.Kernel:
    return cx.kernel.gemm(cx.workgroup_mma(OP))


def refused(kind: type[CuteError], words: str, function: Any, *given: Any) -> None:
    """Refused with these words, by an error of just this class."""
    with pytest.raises(CuteError, match=re.escape(words)) as found:
        function(*given)
    assert type(found.value) is kind


def test_a_tensor_read_past_the_end_of_its_data() -> None:
    array = np.arange(6)
    for data in (array, list(array), "abcdef"):
        tensor = cx.make_tensor(data, cx.Layout((2, 4)))
        assert tensor(1, 2) == data[5]
        refused(CoordError, "offset 6 is past the end of the data, which has 6 ele", tensor, 0, 3)
        # As a sub-tensor it may stand there: it is read where it is asked.
        refused(CoordError, "offset 7 is past the end", tensor(None, 3), 1)
    assert cx.make_tensor(None, cx.Layout((2, 4)))(1, 3) == 7


def test_an_mma_atom_that_is_neither_older_nor_not() -> None:
    for legacy in (np.ones((2, 2)), 1, None):
        refused(InputError, "write legacy=True or legacy=False", cx.MmaAtom, OP, legacy)


def test_a_type_of_a_tuple_that_nests_too_deep() -> None:
    deep: Any = 1
    for _ in range(2000):
        deep = (deep,)
    refused(InputError, "nests more than", cpp_tree, deep, "Shape")


def test_replay_by_an_unknown_executor(gemm: cx.Kernel) -> None:
    place = cx.kernel.Counterexample("D values", "wrong", {"M": 1, "N": 1, "K": 1})
    refused(InputError, "is unknown", cx.replay, gemm, place, "gpu")


def test_replay_without_a_counterexample(gemm: cx.Kernel) -> None:
    refused(InputError, "only a counterexample can be replayed", cx.replay, gemm, None)


@pytest.mark.parametrize("params", [(128, 256, 32), ["K"], {"K": "32"}, {"K": True}, {"K": 0}])
def test_verify_with_other_sizes_than_a_mapping_of_extents(gemm: cx.Kernel, params: Any) -> None:
    refused(InputError, 'verify(kernel, {"M": 64})', cx.verify, gemm, params)


def test_a_slice_of_a_work_item_that_is_a_pair(gemm: cx.Kernel) -> None:
    copy = cx.make_block_2d_copy_A(gemm.mma, ("ld", 1))
    for tiled in (gemm.mma, copy):
        refused(RankError, "(1, 1) is not one of the 512 work-items", tiled.get_slice, (1, 1))


def test_a_copy_of_an_operand_made_from_an_operation() -> None:
    makers = (cx.make_block_2d_copy_A, cx.make_block_2d_copy_B, cx.make_block_2d_copy_D)
    for make in makers:
        refused(KernelError, "is not a tiled MMA. Way out: use workgroup_mma", make, OP, ("ld", 1))


def test_swapped_arguments_of_check_are_named(gemm: cx.Kernel) -> None:
    atom = cx.get_atom("XE_2D_U16x16x16_LD_N")
    for value in (gemm, atom):
        refused(CuteError, "bmg is a target, and the target comes second", cx.check, "bmg", value)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = (value,)
    return value


@every(
    "call",
    [
        lambda x: cx.make_tensor(None, cx.Layout((4, 8)))(x),
        lambda x: cx.make_tensor(None, cx.Layout((4, 8))).compose(x),
        lambda x: cx.ComposedLayout(cx.Swizzle(2, 0, 3), 0, cx.Layout((8, 8)))(x),
        lambda x: cx.workgroup_mma(OP).operand_tile(x),
        lambda x: cx.workgroup_mma(OP).repetitions(x),
        lambda x: cx.workgroup_mma(OP).operand_subgroups(x),
        lambda x: cx.workgroup_mma(OP).atoms(x),
        lambda x: get_target("bmg").threads_per_engine(x),
        lambda x: get_target("bmg").threads_per_core(x),
        lambda x: cx.XE_DPAS_TT(x, "f32", "bf16"),
        lambda x: cx.feeds("XE_2D_U16x16x16_LD_V", "XE_DPAS_TT<8,f32,bf16>", x),
        lambda x: cx.search_atoms(kind=x),
        lambda x: cx.explain(x),
        lambda x: cx.latex_math(x),
        lambda x: pycute.flatten(x),
        lambda x: parse_layout(x),
        lambda x: cpp_layout(x, x),
        lambda x: offsets(cx.Layout((4, 8)), x),
        lambda x: cx.substitute(x, x),
        lambda x: from_sympy(x),
        lambda x: cx.make_ordered_layout((4, 8), x),
        lambda x: cx.make_ordered_layout(x, (4, 8)),
    ],
)
def test_tuples_too_deep_for_python_are_refused_with_the_limit(call: Any) -> None:
    with pytest.raises(CuteError) as found:
        call(nested(3_000))
    assert len(str(found.value)) < 1_000


@pytest.mark.parametrize("value", [np.arange(4), np.array(["load", "store"])])
def test_an_array_in_the_place_of_a_number_or_a_name_is_named(value: Any) -> None:
    for call in (
        lambda: Block2D(value, 16, 8, 16),
        lambda: Block2D("load", 16, value, 16),
        lambda: cx.run(cx.kernel.gemm(cx.workgroup_mma(OP)), np.eye(2), np.eye(2), executor=value),
    ):
        with pytest.raises(CuteError):
            call()


def test_names_of_files_that_no_file_can_have(gemm: cx.Kernel) -> None:
    place = cx.Counterexample("D values", "", {})
    refused(InputError, "cannot be read", cx.Counterexample.load, "\ud800")
    refused(InputError, "cannot be written", place.save, "\ud800")
    refused(InputError, "cannot be read", cx.Counterexample.load, "a\0b")


def test_the_largest_leaf_of_nothing() -> None:
    refused(ShapeError, "a tuple without leaves has no largest", tuple_max, ())


def test_parts_of_kernels_refuse_fields_of_a_wrong_type(gemm: cx.Kernel) -> None:
    kernel: Any = cx.kernel
    Counterexample: Any = cx.Counterexample
    program: Any = gemm
    copy = cx.make_block_2d_copy_A(gemm.mma, ("ld", 1))
    at = (kernel.Index("m"), kernel.Index("k"))
    for words, call in {
        "at is an Index": lambda: kernel.Load(copy, "A", at[0], "tArA"),
        "copy is a str": lambda: kernel.Store("copy", "D", at, "tCrC"),
        "slots is a tuple": lambda: kernel.Reorder("x", "y", (4, 8)),
        "modes is a Touched": lambda: kernel.Operand("A", "bf16", kernel.Touched()),
        "indices is a str": lambda: kernel.Claim("D", "mn", 3),
        "claims is a Claim": lambda: kernel.Specification(kernel.Claim("D", (), 3)),
        "operand is an int": lambda: kernel.Element(3),
        "sizes is a str": lambda: Counterexample("D values", "", "M=1"),
        "kernel is a tuple": lambda: Counterexample("D", "", {}).inputs((1,)),
        "it is not a counterexample": lambda: Counterexample.from_json(kernel.total("k", 3, 1)),
        "path is a tuple": lambda: Counterexample.load((1,)),
        "kernel is an ndarray": lambda: Counterexample("D", "", {}).inputs(np.arange(2)),
        "operand is an ndarray": lambda: kernel.gmem_stride(np.arange(2), np.arange(2)),
        "values is an Index": lambda: at[0].at(at[1]),
        "body is an int": lambda: kernel.walk(3),
        "name is an ndarray": lambda: program.operand(np.arange(2)),
        "var is an ndarray": lambda: program.loop(np.arange(2)),
        "old is an ndarray": lambda: program.replace(np.arange(2), None),
        "operands is an Operand": lambda: program.computes.check(gemm.operands[0]),
    }.items():
        refused(InputError, words, call)


def test_numbers_too_large_or_too_deep_for_a_kernel_are_refused() -> None:
    for call in (
        lambda: cx.kernel.Slot("tCrC") + 10**400,
        lambda: cx.kernel.Index("k") * nested(3_000),
        lambda: cx.kernel.Index.element("table", nested(3_000)),
        lambda: cx.make_identity_tensor((4, 8))[nested(3_000)],
    ):
        with pytest.raises(CuteError) as found:
            call()
        assert len(str(found.value)) < 1_000


def test_an_offset_that_is_not_an_integer_is_not_past_the_end() -> None:
    tensor = cx.make_tensor(np.arange(9), cx.Layout(3, cx.symbol("m")))
    refused(CoordError, "offset m is SymbolicInt, not an integer", tensor, 1)


def test_extents_of_zero_have_no_coordinates() -> None:
    refused(ShapeError, "an extent of 0 has no coordinates", pycute.idx2crd, 3, (4, 0))
    refused(ShapeError, "an extent of 0 has no coordinates", cx.idx2crd, 3, (0, 4))


def test_a_contiguous_mode_that_the_tile_does_not_have(gemm: cx.Kernel) -> None:
    words = "is not a mode of the tile"
    for make in (cx.make_block_2d_copy_C, cx.make_block_2d_copy_D):
        refused(KernelError, words, make, gemm.mma, (8, 4, 1))


def test_a_launch_larger_than_python_runs_in_a_while() -> None:
    def launch(threads: int, groups: int) -> None:
        esimd.launch(lambda item: None, threads=threads, groups=groups)

    for size in ((1 << 40, 1), (1, 1 << 40), (1 << 10, 1 << 10)):
        refused(InputError, "threads run one after the other, at most 32768", launch, *size)


def test_lanes_counted_by_something_else_than_an_integer() -> None:
    pointer: Any = np.zeros(4, np.uint32)
    scatter: Any = esimd.scatter
    for lanes in (np.arange(4), nested(3_000)):
        with pytest.raises(CuteError):
            scatter("u32", lanes, pointer, [0, 4], [1, 2])


def test_a_field_is_looked_at_again_where_its_type_does_not_decide() -> None:
    Touched(reads=("a",), meets="wait")
    for wrong in ({"meets": "later"}, {"reads": ("a", 3)}, {"reads": (("a",),)}, {"reads": "a"}):
        with pytest.raises(InputError, match=r"Way out: give (meets|reads) as"):
            Touched(**wrong)


def test_descriptors_texts_and_coordinates_that_are_something_else() -> None:
    junk: Any = cx.E(1)
    with pytest.raises(cx.InputError, match="a descriptor is an integer"):
        cx.arch.lsc.decode_descriptor(2, junk)
    deep: Any = ()
    for _ in range(5000):
        deep = (deep,)
    with pytest.raises(cx.InputError, match="text is of type tuple"):
        cx.from_cute(deep)
    tensor = cx.make_tensor(list(range(32)), cx.Layout((4, 8), (8, 1)))
    with pytest.raises(cx.CoordError, match="past the end of the data"):
        tensor(0, 1 << 63)
    swizzled: Any = cx.ComposedLayout(cx.Swizzle(2, 0, 3), 0, cx.Layout((8, 8), (1, 8)))
    assert pycute.cosize(swizzled) == 64


@every(
    ("call", "words"),
    [
        (lambda: cx.symbol("N") ** 2**63, "is not multiplied out"),
        (lambda: (cx.symbol("N") + cx.symbol("M") + 1) ** 200, "is not multiplied out"),
        (lambda: cx.symbol("N").at_least([]), "a list is not an integer"),
        (lambda: cx.symbol("N").at_most("4"), "a str is not an integer"),
        (lambda: cx.symbol("N").differs(2.5), "a float is not an integer"),
        (lambda: cx.coalesce_z(3, (1,)), "layout is an int"),
        (lambda: cx.image(np.zeros((0, 3))), "layout is an ndarray"),
        (lambda: cx.is_bijective(type(None)), "layout is a type"),
        (lambda: cx.functionally_equal(float, cx.Layout(4)), "a is a type"),
        (lambda: cx.kernel.solve_tril(chunk=10**30), "chunk is above 2**24"),
        (lambda: cx.kernel.moe_counts(2**63), "experts is above 2**24"),
        (lambda: cx.kernel.rms_norm(2**62), "columns is above 2**24"),
        (lambda: pycute.signum(sympy.Symbol("x")), "symbols of sympy"),
        (lambda: get_target("bmg").grf_mode(sympy.Symbol("x")), "symbols of sympy"),
        (lambda: pycute.right_inverse(cx.make_identity_layout((4, 4))), "steps of a coordinate"),
        (lambda: cx.substitute(cx.Layout((cx.symbol("m"), 4)), {"nope": 3}), "does not occur"),
        (lambda: cx.E(1) - ("x",), "an entry is not an integer"),
        (lambda: cx.dialects.Conversion(1, 2, 3, "x", (), 4, 5, 6), "src is an int"),
        (lambda: cx.Explanation("a", "b", ("c",)), "steps is ('c',)"),
    ],
)
def test_values_beyond_what_is_computed_with(call: Any, words: str) -> None:
    """Huge integers, symbols of another package, types, empty arrays and wrong fields."""
    with pytest.raises(CuteError, match=re.escape(words)):
        call()


def test_an_operator_says_what_it_does_not_take() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        cx.F2(3) * 2.5
    assert cx.F2(3) * 2 == cx.F2(6)
    assert cx.symbol("N") ** 3 == cx.symbol("N") * cx.symbol("N") * cx.symbol("N")


def test_a_mapping_of_numbers_serves_layouts_that_name_some_of_its_symbols() -> None:
    layout = cx.Layout((cx.symbol("m"), 4))
    assert cx.substitute(layout, {"m": 8, "nope": 3}) == cx.Layout((8, 4))
    assert cx.substitute(cx.Layout(4), {"m": 8}) == cx.Layout(4)


def test_an_order_of_values_that_is_an_array_is_refused_by_name() -> None:
    atom: Any = cx.get_atom("XE_2D_U16x32x16_LD_N")
    with pytest.raises(InputError, match="order is an ndarray"):
        atom.in_order(np.zeros((0, 3)))
