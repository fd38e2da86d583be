"""The configuration of a GEMM as a user of CUTLASS pastes it, part by part."""

from __future__ import annotations

__all__ = ["BLOCK", "USUAL", "block"]

BLOCK = """
    // what a user pastes
    using namespace cute;
    using ElementA = {a};
    using LayoutB = cutlass::layout::{b};
    using TileShape = Shape<_64, _128, _32>;
    constexpr int PipelineStages = 3;
    using TiledMma = typename TiledMMAHelper<MMA_Atom<XE_DPAS_TT<8, float, {mma}>>,
        Layout<TileShape>, Layout<Shape<_2, _4, _1>, Stride<_4, _1, _0>>>::TiledMMA;
    using Policy = cutlass::epilogue::{policy};
    using Op = cutlass::epilogue::fusion::{op};
    using Callbacks = cutlass::epilogue::fusion::FusionCallbacks<Policy, Op, TileShape,
        decltype(tile_shape(TiledMma()))>;
    using Epilogue = cutlass::epilogue::collective::CollectiveEpilogue<Policy, {tile}, void, {c},
        cutlass::gemm::TagToStrideC_t<cutlass::layout::RowMajor>, {d},
        Stride<int64_t, _1, int64_t>, Callbacks, void, void>;
    using Mainloop = cutlass::gemm::collective::CollectiveMma<
        cutlass::gemm::MainloopXeL1Staged<PipelineStages>, TileShape,
        ElementA, cutlass::gemm::TagToStrideA_t<cutlass::layout::RowMajor>,
        {elements}, {strides}, TiledMma,
        {copy}, void, void, cute::identity, void, void, void, cute::identity>;
    using Kernel = cutlass::gemm::kernel::GemmUniversal<
        Shape<int, int, int, int>, Mainloop, Epilogue, {scheduler}>;
    using Gemm = cutlass::gemm::device::GemmUniversalAdapter<Kernel>;
"""
USUAL = {
    "a": "bfloat16_t",
    "b": "RowMajor",
    "mma": "bfloat16_t",
    "op": "LinearCombination<float, float>",
    "c": "float",
    "d": "float",
    "tile": "TileShape",
    "policy": "IntelXeGeneric",
    "strides": "cutlass::gemm::TagToStrideB_t<LayoutB>",
    "elements": "bfloat16_t",
    "copy": "void",
    "scheduler": "void",
}


def block(**changes: str) -> str:
    return BLOCK.format(**{**USUAL, **changes})
