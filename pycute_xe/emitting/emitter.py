"""Floor 9: `emit`, the verb."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pycute_xe.emitting.cute import cute
from pycute_xe.emitting.host import host
from pycute_xe.emitting.opencl import opencl
from pycute_xe.emitting.portable import portable
from pycute_xe.emitting.visa import visa
from pycute_xe.emitting.xegpu import xegpu
from pycute_xe.errors import InputError, KernelError
from pycute_xe.kernel import Await, Kernel, NamedArrive, NamedWait, Signal
from pycute_xe.signatures import shortly, typed

__all__ = ["Device", "Language", "emit"]

Language = Literal["opencl", "visa", "cute", "host", "xegpu"]
Device = Literal["gpu", "cpu"]
_LANGUAGES: dict[str, Callable[[Kernel], str]] = {
    "opencl": opencl,
    "visa": visa,
    "cute": cute,
    "host": host,
    "xegpu": xegpu,
}


# What is not for Intel's GPUs alone.
_PORTABLE: dict[str, Callable[[Kernel], str]] = {
    "opencl": portable,
    "host": lambda kernel: host(kernel, "cpu"),
}


@typed
def emit(kernel: Kernel, to: Language = "opencl", device: Device = "gpu") -> str:
    r"""Return a kernel as a text in another language, the listing at its head.

    ``"opencl"`` is OpenCL C for Intel's graphics compiler (``ocloc``): every fragment is a variable
    of vISA under the kernel's name, every message and DPAS one instruction of inline vISA. Widths
    and pitches are arguments of their own, in bytes. ``"visa"`` is the same in the manual's
    spelling, loops and indices in comments: `arch.lsc.parse` and `arch.dpas.parse` read its
    messages and DPAS back. ``"cute"`` is CuTe C++ for CUTLASS on Intel:
    the types of the tiled MMA, copies and fragments, a static assertion for each layout that the
    library claims of them, and the device function, with strides in elements. ``"host"`` is the
    Python that launches the OpenCL C through pyopencl. ``"xegpu"`` is a module of MLIR's XeGPU at
    the level of a work-group.

    ``device="cpu"`` writes the OpenCL C, or the host program, for a CPU's OpenCL: the same
    statements call a prelude of plain C, and each subgroup is one work-item, its registers arrays.

    Law: the text depends on the kernel alone.
    Raises `KernelError` naming a statement, a function or a type that the language cannot say, and
    `InputError` for an unknown language or device, and one that the language is not for.
    Document: vISA manual; intel-graphics-compiler, inline vISA.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (8, 16, 16),
    ...     ((1, 1, 1), (1, 1, 0))), stages=0)
    >>> print(*[line for line in emit(gemm).splitlines() if "  XE_DPAS(" in line], sep="\n")
        XE_DPAS(bf.bf.8.8, tCrC_f.0, tCrC_f.0, tCrB.0, tCrA(0,0));
    """
    if device not in ("gpu", "cpu"):
        raise InputError(
            "emit", {"device": shortly(device)}, "the device is unknown", 'use "gpu" or "cpu"'
        )
    language = _LANGUAGES.get(to)
    if language is None:
        known = ", ".join(f'"{name}"' for name in _LANGUAGES)
        raise InputError(
            "emit", {"to": shortly(to)}, f"the language {shortly(to)} is unknown", f"use {known}"
        )
    if device == "cpu" and to not in _PORTABLE:
        raise InputError(
            "emit",
            {"to": to, "device": device},
            f'"{to}" is for GPUs alone',
            'use to="opencl" or to="host"',
        )
    if not kernel.name.isidentifier():
        raise KernelError(
            "emit",
            {"kernel": kernel.name},
            "the name is not an identifier, and a text calls the kernel by it",
            "use letters, digits and _",
        )
    _demand_compiled(kernel)
    return _PORTABLE[to](kernel) if device == "cpu" else language(kernel)


def _demand_compiled(kernel: Kernel) -> None:
    """Refuse what the compiler behind every language here gets wrong or cannot say."""
    for statement in kernel.statements():
        if isinstance(statement, (Await, Signal)):
            raise KernelError(
                "emit",
                {"kernel": kernel.name, "statement": type(statement).__name__},
                "in no language here can a work-group wait for another one",
                "use scheduled(fixup=False), or split_k, which adds by atomics",
            )
        if isinstance(statement, (NamedArrive, NamedWait)):
            raise KernelError(
                "emit",
                {"kernel": kernel.name, "barrier": statement.barrier},
                "the graphics compiler gives a kernel with named barriers a wrong number of them",
                "use BarrierArrive and BarrierWait, as slm_gemm does",
            )
