"""The identity of a kernel: a number that two kernels share if they are equal, in any process."""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from typing import Any

from pycute_xe.kernel.ir.program import Program
from pycute_xe.signatures import typed
from pycute_xe.typing import is_tuple

__all__ = ["identity"]


@typed
def identity(kernel: Program) -> str:
    """Return the SHA-256 of all that a kernel says, in hexadecimal.

    Law: equal kernels have one identity, in every process and after a round trip as a document.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> identity(cx.kernel.gemm(mma)) == identity(cx.kernel.gemm(mma))
    True
    >>> identity(cx.kernel.gemm(mma)) == identity(cx.kernel.gemm(mma, a="col"))
    False
    """
    return hashlib.sha256(_written(kernel).encode()).hexdigest()


def _written(value: Any) -> str:
    """Return a text of a value: its class and fields, or its repr where that says all of it."""
    if is_tuple(value):
        return f"({','.join(map(_written, value))})"
    if is_dataclass(value):
        named = (f"{f.name}={_written(getattr(value, f.name))}" for f in fields(value) if f.compare)
        return f"{type(value).__name__}({','.join(named)})"
    return repr(value)
