"""The GEMM as a value: what it is made of, what it prints, what its construction refuses."""

from __future__ import annotations

import dataclasses
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from every import every

import pycute_xe as cx
from pycute_xe.errors import (
    DivisibilityError,
    DTypeError,
    InputError,
    KernelError,
    RankError,
    ShapeError,
)
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Counterexample,
    Fill,
    Index,
    Kernel,
    Load,
    Mma,
    Prefetch,
    Reorder,
    Store,
    Tiles,
)


@pytest.fixture(scope="module")
def mma() -> cx.TiledMma:
    return cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))


@pytest.fixture(scope="module")
def gemm(mma: cx.TiledMma) -> Kernel:
    return cx.kernel.gemm(mma)


def test_statements_in_order(gemm: Kernel) -> None:
    inside = [type(s) for s in gemm.loop("k").body]
    assert inside[0] is BarrierArrive
    assert inside[-1] is BarrierWait
    assert [t for t in inside if t in (Load, Reorder, Mma)] == [Load, Load, Reorder, Reorder, Mma]
    assert isinstance(gemm.body[0], Fill)
    assert isinstance(gemm.body[-1], Store)
    along_k = [
        s.at[mode]
        for s, mode in zip(gemm.loop("p").body, (1, 0), strict=True)
        if isinstance(s, Prefetch)
    ]
    assert along_k == [32 * Index("p")] * 2


def test_listing_shows_every_statement(gemm: Kernel) -> None:
    text = str(gemm)
    for part in (
        "gemm(A[M,K] bf16 row-major, B[K,N] bf16 row-major, D[M,N] f32 row-major)",
        "XE_DPAS_TT<8,f32,bf16,bf16,f32>",
        "tile 256x256x32",
        "1 × XE_LOAD_2D<16,32,32,16>",
        "4 × XE_LOAD_2D_VNNI<16,16,32,16>",
        "16 × XE_STORE_2D<32,8,16>",
        "when k+2 < ceil_div(K, 32)",
        "moves nothing",
    ):
        assert part in text


def test_a_kernel_is_a_value(mma: cx.TiledMma, gemm: Kernel) -> None:
    again = cx.kernel.gemm(mma)
    assert gemm == again
    assert hash(gemm) == hash(again)
    assert pickle.loads(pickle.dumps(gemm)) == gemm
    with pytest.raises(dataclasses.FrozenInstanceError):
        gemm.name = "other"


@pytest.mark.parametrize("stages", [0, 1, 5])
def test_stages_are_the_prefetch_distance(mma: cx.TiledMma, stages: int) -> None:
    kernel = cx.kernel.gemm(mma, stages=stages)
    ahead = [s for s in kernel.statements() if isinstance(s, Prefetch)]
    assert len(ahead) == (4 if stages else 0)
    along_k = [s.at[1 if s.operand == "A" else 0] for s in ahead]
    assert all(at in (32 * Index("p"), 32 * Index("k", stages)) for at in along_k)


def test_replace_exchanges_removes_and_refuses(gemm: Kernel) -> None:
    loop = gemm.loop("k")
    short = gemm.replace(loop, dataclasses.replace(loop, stop=Tiles("K", 32) - 1))
    assert short.loop("k").stop == Tiles("K", 32, -1)
    bare = gemm.replace(gemm.loop("p"), None)
    with pytest.raises(KernelError, match="no loop of this kernel"):
        bare.loop("p")
    with pytest.raises(KernelError, match="does not contain this statement"):
        bare.replace(gemm.loop("p"), None)


def test_tiles_are_counted_by_sizes() -> None:
    assert (Tiles("K", 32) - 1).at({"K": 32}) == 0
    assert (Tiles("K", 32) + 2).at({"K": 33}) == 4
    with pytest.raises(KernelError, match="no loop binds q"):
        Index("q").at({"k": 1})


# ------------------------------------------------------------------ what construction refuses


@pytest.mark.parametrize(
    ("tile", "words"),
    [
        ((250, 256, 32), "M of the tile is 250, not a multiple of 64 = 8 .M of the atom. × 8"),
        ((256, 250, 32), "N of the tile is 250, not a multiple of 64 = 16 .N of the atom. × 4"),
        ((256, 256, 24), "K of the tile is 24, not a multiple of 16 = 16 .K of the atom. × 1"),
        ((0, 256, 32), "M of the tile is 0"),
    ],
)
def test_indivisible_tiles_name_each_factor(tile: Any, words: str) -> None:
    with pytest.raises(DivisibilityError, match=words):
        cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), tile)


def test_types_and_extents_no_dpas_has() -> None:
    with pytest.raises(DTypeError, match="no instruction takes these types"):
        cx.XE_DPAS_TT(8, "f32", "f64")
    with pytest.raises(DTypeError, match="unknown element type"):
        cx.XE_DPAS_TT(8, "f32", "float7")
    with pytest.raises(ShapeError, match="M must be 1 to 8"):
        cx.XE_DPAS_TT(9, "f32", "bf16")


def test_ranks() -> None:
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    with pytest.raises(RankError, match="three modes"):
        cx.workgroup_mma(op, (256, 256, 32), ((8, 4), (4, 1)))
    with pytest.raises(RankError, match="three modes"):
        cx.make_tiled_mma(op, cx.Layout((2, 2)))


def test_orders_stages_and_accumulators(mma: cx.TiledMma) -> None:
    with pytest.raises(KernelError, match="not a storage order"):
        cx.kernel.gemm(mma, a="rows")
    with pytest.raises(KernelError, match="stages is -1"):
        cx.kernel.gemm(mma, stages=-1)
    mixed = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16", "bf16", "bf16"))
    with pytest.raises(KernelError, match="goes in as bf16 and comes out as f32"):
        cx.kernel.gemm(mixed)


def test_copies_of_another_tile_or_subgroup_count(mma: cx.TiledMma) -> None:
    small = cx.workgroup_mma(mma.atom, (128, 256, 32))
    with pytest.raises(KernelError, match="moves 64 slots, the fragment has 32"):
        cx.kernel.gemm(mma, copy_a=cx.make_block_2d_copy_A(small, ("ld", 1)), reorder_a=False)
    fewer = cx.workgroup_mma(mma.atom, (256, 256, 32), ((4, 4, 1), (4, 1, 0)))
    with pytest.raises(KernelError, match="shared by 16 subgroups, the kernel has 32"):
        cx.kernel.gemm(mma, copy_a=cx.make_block_2d_copy_A(fewer, ("ld", 1)), reorder_a=False)


def test_fragments_of_another_size_and_unknown_names(gemm: Kernel) -> None:
    load = next(s for s in gemm.statements() if isinstance(s, Load))
    with pytest.raises(KernelError, match="the fragment has 128"):
        gemm.replace(load, dataclasses.replace(load, fragment="tCrC"))
    with pytest.raises(KernelError, match="no fragment tXrX"):
        gemm.replace(load, dataclasses.replace(load, fragment="tXrX"))
    with pytest.raises(KernelError, match="no operand X"):
        gemm.replace(load, dataclasses.replace(load, operand="X"))


def test_copies_of_another_type_direction_or_order(mma: cx.TiledMma) -> None:
    with pytest.raises(KernelError, match="moves f16, A holds bf16"):
        cx.kernel.gemm(mma, copy_a=cx.make_block_2d_copy_A(mma, ("ld", 1), "f16"))
    store = cx.make_block_2d_copy_A(mma, ("ld", 1), op=cx.XE_STORE_2D(16, 8, 16))
    with pytest.raises(KernelError, match=r"a load is done by XE_STORE_2D<16,8,16>, a store"):
        cx.kernel.gemm(mma, copy_a=store, stages=0)
    with pytest.raises(KernelError, match="is built for contiguous K, A is column-major"):
        cx.kernel.gemm(mma, a="col", copy_a=cx.make_block_2d_copy_A(mma, ("ld", 1)))


def test_loops_below_zero_unbound_variables_and_other_extents(gemm: Kernel) -> None:
    with pytest.raises(KernelError, match="starts below zero"):
        gemm.replace(gemm.loop("k"), dataclasses.replace(gemm.loop("k"), start=-1))
    load = next(s for s in gemm.statements() if isinstance(s, Load))
    with pytest.raises(KernelError, match="no loop binds z"):
        gemm.replace(load, dataclasses.replace(load, at=(Index("m"), Index("z"))))
    with pytest.raises(KernelError, match="1 or more elements of an extent"):
        Tiles("K", 0)
    with pytest.raises(KernelError, match="no loop binds Q"):
        gemm.replace(gemm.loop("k"), dataclasses.replace(gemm.loop("k"), stop=Tiles("Q", 32)))


def test_slips_are_named_where_they_are_made(mma: cx.TiledMma) -> None:
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    with pytest.raises(KernelError, match=r"Dpas is not a tiled MMA.*workgroup_mma"):
        cx.kernel.gemm(op)
    with pytest.raises(KernelError, match="a copy is neither a tiled copy, an atom nor the name"):
        cx.kernel.kernel(cx.kernel.Mainloop(mma, cx.kernel.Input(copy=3)))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"copy_a is an int\. .*TiledCopy"):
        cx.kernel.gemm(mma, copy_a=3)
    with pytest.raises(KernelError, match=r"stages is 1\.5"):
        cx.kernel.gemm(mma, stages=1.5)
    with pytest.raises(KernelError, match="nothing adds them up"):
        cx.kernel.gemm(cx.workgroup_mma(op, (128, 128, 32), ((2, 2, 2), (2, 1, 4))))
    with pytest.raises(ShapeError, match="a shape and its strides"):
        cx.workgroup_mma(op, subgroups=(8, 4, 1))
    with pytest.raises(ShapeError, match="not a tuple of integers"):
        cx.workgroup_mma(op, tile=256)
    with pytest.raises(ShapeError, match="is not an integer"):
        cx.XE_DPAS_TT("8", "f32", "bf16")
    with pytest.raises(ShapeError, match="each once"):
        cx.workgroup_mma(op, subgroups=((8, 4, 1), (1, 1, 0)))


def test_memory_without_a_contiguous_mode(mma: cx.TiledMma) -> None:
    with pytest.raises(KernelError, match="one contiguous mode"):
        cx.make_block_2d_copy_A(mma, (7, 3))


OLD = {
    "claim": "products",
    "message": "",
    "M": 2,
    "N": 3,
    "K": 4,
    "operand": "A",
    "work_group": [0, 0],
    "k_tile": 0,
    "subgroup": 0,
    "lane": 0,
    "value": 0,
    "element": [1, 3],
    "found": None,
    "output": [1, 2],
    "faults": False,
}


def test_files_of_earlier_versions_load() -> None:
    found = Counterexample.from_json(json.dumps(OLD))
    assert found.sizes == {"M": 2, "N": 3, "K": 4}
    assert (found.output, found.index, found.element) == ("D", (1, 2), (1, 3))
    assert found.where == {"m": 0, "n": 0, "k": 0}
    assert Counterexample.from_json(found.to_json()) == found


@every(
    "change",
    [
        {"sizes": {"M": "3", "N": 3, "K": 4}},
        {"sizes": {"M": -1, "N": 3, "K": 4}},
        {"sizes": {"M": None, "N": 3, "K": 4}},
        {"sizes": 7},
        {"index": [9, 9]},
        {"element": ["x"]},
        {"extra": 1},
    ],
)
def test_what_is_not_a_counterexample_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    good = Counterexample(
        "D values", "", {"M": 2, "N": 3, "K": 4}, "A", element=(1, 3), output="D", index=(1, 2)
    )
    assert Counterexample.from_json(good.to_json()) == good
    with pytest.raises(InputError, match="Counterexample"):
        Counterexample.from_json(json.dumps({**json.loads(good.to_json()), **change}))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path, tmp_path / "binary", tmp_path / "missing"):
        with pytest.raises(InputError, match="cannot be read"):
            Counterexample.load(path)
