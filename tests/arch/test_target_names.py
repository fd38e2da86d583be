"""Targets and element types by the names that others give them."""

from __future__ import annotations

import contextlib

import ml_dtypes
import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.arch.lsc.fields import known_target as lsc_target
from pycute_xe.arch.rules import rules
from pycute_xe.errors import TargetError
from pycute_xe.facts import rows
from pycute_xe.numeric import _ROWS, as_numeric


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("bmg", "BMG b580 B570 b60 b70 BMG_G21 intel_gpu_bmg_g31"),
        ("pvc", "PVC max1550 Max1100 intel_gpu_pvc"),
        ("lnl", "LNL lnl_m"),
        ("ptl", "PTL B390 ptl_h"),
        ("cri", "CRI"),
    ],
)
def test_targets_go_by_the_names_of_products_and_compilers(target: str, names: str) -> None:
    for name in names.split():
        assert cx.get_target(name).name == target
        assert cx.check("XE_LOAD_2D<16,8,16>", name).target.name == target


def test_an_alias_names_one_target_that_exists() -> None:
    named = [(name, row["target"]) for row in rows("arch", "alias") for name in row["names"]]
    assert len({name for name, _ in named}) == len(named)
    assert {target for _, target in named} <= {row["name"] for row in rows("arch", "target")}
    assert all(name == name.lower() for name, _ in named)


def test_a_misspelled_target_gets_the_nearest() -> None:
    with pytest.raises(cx.TargetError, match=r"did you mean b580"):
        cx.get_target("b5800")
    with pytest.raises(cx.CuteError, match=r"the target comes second"):
        cx.check("B580", "XE_LOAD_2D<16,8,16>")


SPELLINGS = {
    "f64": "fp64 float64 double",
    "f32": "fp32 float32 float single torch.float32",
    "f16": "fp16 float16 half half_t",
    "tf32": "tfloat32_t tfloat32",
    "bf16": "bfloat16 bfloat16_t torch.bfloat16",
    "f8e4m3": "e4m3 float8_e4m3fn float_e4m3_t fp8e4nv",
    "f8e5m2": "e5m2 float8_e5m2 float_e5m2_t fp8e5",
    "f4e2m1": "e2m1 float4_e2m1fn float_e2m1_t",
    "ue8m0": "e8m0 float8_e8m0fnu float_ue8m0_t",
    "s8": "int8 int8_t",
    "u4": "uint4 uint4_t",
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_types_go_by_the_names_of_others(name: str) -> None:
    assert {as_numeric(spelling).name for spelling in SPELLINGS[name].split()} == {name}


def test_names_agree_with_what_numpy_and_ml_dtypes_make_of_them() -> None:
    for row in _ROWS.values():
        for name in row.aliases:
            found = getattr(ml_dtypes, name, None) or getattr(np, name, None)
            if found is not None:
                assert as_numeric(np.dtype(found)).name == row.name
    # ml_dtypes has another type of this name, with infinities.
    with pytest.raises(cx.DTypeError, match="unknown element type"):
        as_numeric("float8_e4m3")


def test_no_name_is_of_two_types() -> None:
    names = [
        n for row in _ROWS.values() for n in {row.name, row.dtype, row.cpp, *row.aliases} - {""}
    ]
    assert len(names) == len(set(names))


def test_a_type_of_torch_says_its_name_in_its_text() -> None:
    dtype = type("dtype", (), {"__module__": "torch", "__str__": lambda _: "torch.bfloat16"})
    assert as_numeric(dtype()).name == "bf16"


def test_a_misspelled_type_gets_the_nearest() -> None:
    with pytest.raises(cx.DTypeError, match=r"did you mean .*bfloat16"):
        as_numeric("bfloat_16")
    with pytest.raises(cx.DTypeError, match=r"did you mean bf16"):
        as_numeric("BF16")


def test_a_target_that_a_limit_of_all_others_leaves_out_is_refused_by_name() -> None:
    with pytest.raises(TargetError, match="load-height, and no row says that of xyz") as refused:
        rules("block2d", "message", "xyz", "load")
    assert "atoms/block2d.toml" in refused.value.fix
    assert rules("block2d", "message", "xyz", "store")  # of which each limit is said of all


GENERATIONS = {  # as Intel's drivers and compilers name them
    "pvc": "Xe-HPC xe_hpc XeHPC xe_hpc_core",
    "bmg lnl": "xe2 Xe2 XE2 xe2_hpg_core Xe2-HPG",
    "ptl": "xe3 Xe3 xe3_core",
    "cri": "Xe3P xe3p",
}


@pytest.mark.parametrize("targets", GENERATIONS)
def test_a_generation_says_which_targets_are_of_it(targets: str) -> None:
    for spelling in GENERATIONS[targets].split():
        with pytest.raises(TargetError) as refused:
            cx.get_target(spelling)
        assert refused.value.fix == f"use {' or '.join(targets.split())}"
        for name in targets.split():
            assert cx.get_target(name).name == name


def test_what_a_refusal_lists_is_what_is_accepted() -> None:
    every = {str(row["name"]) for row in rows("arch", "target")}
    for ask, call in (("get_target", cx.get_target), ("message", lsc_target)):
        with pytest.raises(TargetError) as refused:
            call("none such")
        listed = set(refused.value.fix.partition("one of ")[2].split(", "))
        taken = set[str]()
        for name in every:
            with contextlib.suppress(TargetError):
                taken.add(call(name).name)
        assert listed == taken, ask
