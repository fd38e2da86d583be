"""The kernel that stands for a kind: what ``check gemm`` and its neighbours are asked of."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pycute_xe.errors import InputError, quoted
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed

if TYPE_CHECKING:
    from pycute_xe.atom import TiledMma
    from pycute_xe.kernel import Kernel

__all__ = ["KINDS", "default_kernel", "default_mma", "names_kind", "read_kind"]

# Functions of `pycute_xe.kernel`, which is not imported for their names.
KINDS = (
    *("attention", "attention_combine", "chained_gemm", "dual_gemm", "gemm", "scheduled"),
    *("slm_gemm", "softmax_gemm", "specialised_gemm", "split_k", "top_k_gemm", "from_cutlass"),
    *("block_scaled_gemm", "convolution", "dealt_gemm", "moe_gemm", "mqa_logits", "sgmv"),
    *("add_rms_norm", "argmax_rows", "causal_conv", "delta_rule"),
    *("dequantize_groups", "embedding", "gated_rows", "kv_cache_gather"),
    *("grouped_routing", "kv_cache_write", "layer_norm", "linear_attention", "mla_cache_write"),
    *("moe_combine", "moe_counts", "moe_permute", "moe_routing"),
    *("quantize_groups", "quantize_rows", "rms_norm", "rope"),
    *("selective_scan", "softmax_rows", "solve_tril"),
)

TILE, SUBGROUPS = (256, 256, 32), (8, 4)
"""The tile and the subgroups of a work-group that multiplies, where none are named."""

_TILINGS: dict[str, tuple[tuple[tuple[int, int, int], ...], tuple[int, int]]] = {
    "attention": (((128, 64, 32), (128, 32, 64)), (8, 1)),
    "attention_combine": (((64, 64, 32),), (4, 1)),
    "block_scaled_gemm": (((128, 128, 32),), (4, 4)),
}
"""The tiles of a kind's MMAs and their subgroups, where `TILE` does not fit the kind."""

_EXAMPLES = {"columns": 1024, "experts": 128, "splits": 4, "parts": 4}
"""Arguments without a default, with a number that a hint can name."""

_CALL = re.compile(r"(?:kernel\.)?([a-z_0-9]+)\s*(\(.*\))?", re.DOTALL)


@typed
def default_mma(
    tile: tuple[int, int, int] = TILE,
    subgroups: tuple[int, int] = SUBGROUPS,
    value_type: Numeric | str = "bf16",
    accumulator: str | None = None,
) -> TiledMma:
    """Return the tiled MMA of a work-group, its subgroups numbered along N first.

    Floats accumulate in f32 and integers in s32, where no ``accumulator`` is named.

    >>> print(default_mma())
    XE_DPAS_TT<8,f32,bf16,bf16,f32> over (8,4,1):(4,1,0) subgroups, tile 256x256x32
    """
    from pycute_xe.atom import XE_DPAS_TT, workgroup_mma

    numeric = as_numeric(value_type)
    wide = accumulator or ("f32" if numeric.kind == "float" else "s32")
    m, n = subgroups
    return workgroup_mma(XE_DPAS_TT(8, wide, numeric), tile, ((m, n, 1), (n, 1, 0)))


@typed
def names_kind(text: str) -> bool:
    """Tell whether a text is a kind of kernel, alone or called.

    >>> names_kind("gemm"), names_kind("rms_norm(columns=64)"), names_kind("coalesce(4:1)")
    (True, True, False)
    """
    match = _CALL.fullmatch(text.strip())
    return match is not None and match[1] in KINDS


@typed
def read_kind(text: str) -> Kernel:
    """Return the kernel of a text such as ``gemm`` or ``rms_norm(columns=1024)``.

    Arguments are given by name, as literals of Python. Raises `InputError` for others, and as
    `default_kernel` does.

    >>> print(read_kind("gemm(a='col')").operand("A"))
    A[M,K] bf16 column-major
    """
    match = _CALL.fullmatch(text.strip())
    if match is None:
        raise InputError("read", {"text": quoted(text)}, "the text is not a kind", "write gemm")
    return default_kernel(match[1], _arguments(text, match[2] or "()"))


def _arguments(text: str, listed: str) -> dict[str, Any]:
    fix = "give arguments by name, as literals: gemm(a='col', stages=3)"
    try:
        call = ast.parse(f"f{listed}", mode="eval").body
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and not call.args
            and all(k.arg for k in call.keywords)
        ):
            return {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        wrong = "the arguments of the kind cannot be read"
        raise InputError("read", {"text": quoted(text)}, wrong, fix) from error
    wrong = "a kind's arguments are not given by name"
    raise InputError("read", {"text": quoted(text)}, wrong, fix)


@typed
def default_kernel(kind: str, arguments: Mapping[str, Any] | None = None) -> Kernel:
    """Return the kernel of a kind: its tiled MMAs by default, arguments as they are given.

    Raises `InputError` for an unknown kind, and for one that needs an argument more, naming it;
    and what the kind raises.

    >>> default_kernel("gemm").name, default_kernel("rms_norm", {"columns": 64}).name
    ('gemm', 'rms_norm')
    >>> default_kernel("rms_norm")
    Traceback (most recent call last):
    pycute_xe.errors.InputError: rms_norm(): columns has no default. Way out: write \
rms_norm(columns=1024)
    """
    from pycute_xe import kernel
    from pycute_xe.atom.spelling import nearest_spelling

    given = dict(arguments or {})
    if kind not in KINDS:
        near = nearest_spelling(kind, KINDS) or KINDS
        wrong = f"unknown kind of kernel {quoted(kind)}"
        raise InputError("kernel", {"kind": quoted(kind)}, wrong, f"use {', '.join(near)}")
    function = getattr(kernel, kind)
    parameters = inspect.signature(function).parameters.values()
    tiled = [p.name for p in parameters if p.annotation == "TiledMma"]
    missing = [
        p.name
        for p in parameters
        if p.default is p.empty and p.kind is not p.VAR_KEYWORD
        if p.name not in given and p.name not in tiled
    ]
    if kind == "split_k" and not {"parts", "chunk"} & given.keys():
        missing = ["parts"]
    if missing:
        raise _without_default(kind, missing, given)
    tiles, subgroups = _TILINGS.get(kind, ((TILE,) * len(tiled), SUBGROUPS))
    wanted = zip(tiled, tiles, strict=True)
    mmas = {name: default_mma(tile, subgroups) for name, tile in wanted if name not in given}
    return function(**mmas, **given)


def _without_default(kind: str, missing: list[str], given: Mapping[str, Any]) -> InputError:
    if kind == "from_cutlass":
        wrong, fix = "the kind reads a configuration of C++", "give its file, such as gemm.hpp"
        return InputError(kind, given, wrong, fix)
    listed = ", ".join(f"{name}={_EXAMPLES.get(name, '…')}" for name in missing)
    verb = "has" if len(missing) == 1 else "have"
    wrong = f"{' and '.join(missing)} {verb} no default"
    return InputError(kind, given, wrong, f"write {kind}({listed})")
