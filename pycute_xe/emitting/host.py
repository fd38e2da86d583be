"""Floor 9: the Python that launches a kernel's OpenCL C through pyopencl."""

from __future__ import annotations

from keyword import iskeyword

from pycute_xe.emitting.indices import plain_text
from pycute_xe.emitting.launching import launch_axes
from pycute_xe.emitting.opencl import OPENCL, check_names, parameters
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel

__all__ = ["host"]

_NUMBERS = {"int": "np.int32", "long": "np.int64", "float": "np.float32"}
_HEAD = '''\
"""Launches {name}: buffers, the bytes of a row and the bytes from row to row, then the sizes.

A width is a multiple of 4 whatever the sizes are; `check` says what a target demands of pitches.
"""

import numpy as np
import pyopencl as cl

OPTIONS = "{options}"
'''
_OPTIONS = {"gpu": "-cl-std=CL2.0 -cl-intel-256-GRF-per-thread", "cpu": "-cl-std=CL2.0"}


def host(kernel: Kernel, device: str = "gpu") -> str:
    """Return a module of two functions: ``build`` the text of `emit`, ``launch`` what it builds."""
    for statement in kernel.statements():
        OPENCL[statement]
    check_names(kernel)
    known = parameters(kernel)
    taken = next((name for _, name in known if iskeyword(name)), None)
    if taken is not None:
        raise KernelError(
            "emit",
            {"kernel": kernel.name},
            f"{taken} cannot be a name in Python",
            "rename an operand or a size",
        )
    names = ", ".join(name for _, name in known)
    given = ", ".join(_given(kind, name) for kind, name in known)
    lanes = (16 if device == "gpu" else 1) * kernel.subgroups
    counts = [" * ".join(f"({plain_text(n)})" for _, n in axes) for axes in launch_axes(kernel)]
    shape = [f"{lanes} * {counts[0]}", *counts[1:]]
    local = [str(lanes), *("1" for _ in counts[1:])]
    lines = [_HEAD.format(name=kernel.name, options=_OPTIONS[device])]
    if any("xe_floor" in count for count in counts):
        lines.append("\ndef xe_floor(a, b):\n    return a // b\n")
    lines += [
        "",
        "def build(context, text):",
        f'    return cl.Kernel(cl.Program(context, text).build(OPTIONS), "{kernel.name}")',
        "",
        "",
        f"def launch(queue, kernel, {names}):",
        f"    kernel.set_args({given})",
        f"    groups = ({', '.join(shape)},)",
        f"    return cl.enqueue_nd_range_kernel(queue, kernel, groups, ({', '.join(local)},))",
        "",
    ]
    return "\n".join(lines)


def _given(kind: str, name: str) -> str:
    number = _NUMBERS.get(kind)
    return f"{number}({name})" if number else name
