"""The Python that launches a kernel: two functions for a host of one's own, or a whole program."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import inf
from pathlib import Path

from pycute_xe.emitting import specifying
from pycute_xe.emitting.figures import DEVICES
from pycute_xe.emitting.opencl import OPENCL, opencl, parameters
from pycute_xe.emitting.portable import portable
from pycute_xe.emitting.problem import (
    claimed,
    claims_of,
    common_sizes,
    numbers,
    surface_rules,
    tolerance,
)
from pycute_xe.emitting.writer import launch_axes, plain_text
from pycute_xe.kernel import Kernel, Operand
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.identity import identity
from pycute_xe.kernel.spec.specification import Claim, Specification

__all__ = ["host", "program"]


@dataclass(frozen=True)
class Target:
    """A kind of device: what writes its text, and what its launches and its compiler take.

    ``lanes`` are the work-items of a subgroup, ``options`` the compiler's by the registers of a
    thread, ``demands`` an extension. ``slow`` is from how many operations on registers the compiler
    takes half a minute. ``matrix`` is the size of matrices to begin with, ``deep`` those of modes
    of what has more: the last, the one before, the others.
    """

    write: Callable[[Kernel], str]
    lanes: int
    options: dict[int, str]
    demands: str
    slow: float
    matrix: int
    deep: tuple[int, int, int]


_CL = "-cl-std=CL2.0"
_TARGETS = {
    "gpu": Target(
        opencl, 16, {128: _CL, 256: f"{_CL} -cl-intel-256-GRF-per-thread"},
        "cl_intel_subgroup_2d_block_io", inf, 4096, (128, 1024, 4),
    ),
    "cpu": Target(portable, 1, {128: _CL, 256: _CL}, "", 12_000, 257, (40, 70, 2)),
}  # fmt: skip

# ------------------------------------------------------------ host

_NUMBERS = {"int": "np.int32", "long": "np.int64", "float": "np.float32"}
_HEAD = '''\
"""Launches {name}: buffers, the bytes of a row and the bytes from row to row, then the sizes.

A width is a multiple of 4 whatever the sizes are; `check` says what a target demands of pitches.
"""

import numpy as np
import pyopencl as cl

OPTIONS = "{options}"
'''


def host(kernel: Kernel, device: str) -> str:
    """Return a module of two functions: ``build`` the text of `emit`, ``launch`` what it builds."""
    for statement in kernel.statements():
        OPENCL[statement]
    known = parameters(kernel)
    names = ", ".join(name for _, name in known)
    given = ", ".join(_given(kind, name) for kind, name in known)
    lanes = _TARGETS[device].lanes * kernel.subgroups
    counts = [" * ".join(f"({plain_text(n)})" for _, n in axes) for axes in launch_axes(kernel)]
    shape = [f"{lanes} * {counts[0]}", *counts[1:]]
    local = [str(lanes), *("1" for _ in counts[1:])]
    lines = [_HEAD.format(name=kernel.name, options=_TARGETS[device].options[256])]
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


# ------------------------------------------------------------ program

_TITLE = '''\
"""{name} on a device: run, compared with NumPy, timed. Written by pycute_xe.

    python {name}.py {sizes} --save report.json

It needs numpy, ml_dtypes and pyopencl, and Intel's driver of a GPU (intel-opencl-icd) or of a CPU
(pip install intel-opencl-rt intel-cmplr-lib-rt). `--help` lists the options.
"""

# The kernel's text has lines as long as they come.
# ruff: noqa: E501, RUF100
'''
_OURS = "from pycute_xe"


def program(kernel: Kernel, spelled: Kernel) -> str:
    """Return a Python file that runs a kernel on a device; ``spelled`` has names that C takes.

    Raises `KernelError` for a kernel that claims nothing.
    """
    computes = claimed(kernel)
    common = _common(kernel, DEVICES[0])
    sizes = f"--size {','.join(f'{name}={n}' for name, n in common.items())}"
    values = [_value(kernel, i, claim) for i, claim in enumerate(claims_of(kernel))]
    texts = {kind: target.write(spelled) for kind, target in _TARGETS.items()}
    head, *fixed = _fixed()
    kept = [_TITLE.format(name=kernel.name, sizes=sizes), head, *fixed]
    kept += [*specifying.sources(computes), *values]
    kept += [f'{kind.upper()} = r"""\n{text}"""' for kind, text in texts.items()]
    kept += [_kernel(kernel, computes, spelled.name, texts)]
    kept += ['if __name__ == "__main__":\n    sys.exit(main(KERNEL))']
    return _joined(kept)


@cache
def _fixed() -> tuple[str, str, str]:
    """Return the imports, and what the two modules that every program holds define."""
    bodies = [_module(name) for name in ("launching", "valuing", "figures")]
    imports = [line for line in bodies[0][0].splitlines() if not line.startswith(_OURS)]
    return "\n".join(imports).strip(), f"{bodies[1][1]}\n\n\n{bodies[2][1]}", bodies[0][1]


def _module(name: str) -> tuple[str, str]:
    """Return the imports of a module here, and what follows them."""
    text = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    lines = text.split('"""', 2)[2].strip().splitlines()
    last = max(i for i, line in enumerate(lines) if line.startswith(("import ", "from ")))
    return "\n".join(lines[: last + 1]), "\n".join(lines[last + 1 :]).strip()


def _joined(blocks: list[str]) -> str:
    """Return blocks two lines apart; the title and the imports one."""
    title, imports, *rest = (block.strip("\n") for block in blocks)
    return "\n\n\n".join([f"{title}\n\n{imports}", *rest]) + "\n"


def _value(kernel: Kernel, number: int, claim: Claim) -> str:
    """Return the function that computes an output."""
    value = specifying.valued(claim, kernel.operand(claim.output))
    body = [*(f"    {line}" for line in value.lines), f"    return shaped({value.value}, at)"]
    x, s = _used("\n".join(body), "x", "s")
    (size,) = _used(value.row, "s")
    lines = [
        f"def value_{number}({x}: Arrays, {s}: Sizes, at: Window) -> Any:",
        f'    """Return {claim}."""',
        *body,
        "",
        "",
        f"def row_{number}({size}: Sizes) -> int:",
        '    """Return the numbers of the largest array, for each row."""',
        f"    return {value.row}",
    ]
    return "\n".join(lines)


def _used(text: str, *names: str) -> list[str]:
    """Return names of parameters, each with an underscore before it where a text leaves it out."""
    return [n if re.search(rf"\b{n}(\[|\.)", text) else f"_{n}" for n in names]


def _lambda(text: str, *names: str) -> str:
    return f"lambda {', '.join(_used(text, *names))}: {text}"


def _kernel(kernel: Kernel, computes: Specification, function: str, texts: dict[str, str]) -> str:
    """Return the value that names all that a launch needs."""
    looked = {x.operand for i in _indices(kernel) for x in i.looked_up}
    counts = "".join(f"{_product(axes)}, " for axes in launch_axes(kernel))
    outputs = [
        f"Output({claim.output!r}, value_{number}, row_{number}, {tolerance(kernel, claim)!r})"
        for number, claim in enumerate(computes.claims)
    ]
    fields = {
        "name": repr(kernel.name),
        "function": repr(function),
        "identity": repr(identity(kernel)),
        "subgroups": repr(kernel.subgroups),
        "sizes": repr(kernel.sizes),
        "tensors": _listed([_tensor(kernel, o, o.name in looked) for o in kernel.operands]),
        "outputs": _listed(outputs),
        "groups": _lambda(f"({counts.strip()})", "s", "x"),
        "operations": _lambda(specifying.operations(computes, kernel.operands), "s"),
        "rules": _listed([repr(rule) for rule in surface_rules()]),
        "targets": _by_kind({kind: _target(kernel, kind, text) for kind, text in texts.items()}),
    }
    return "\n".join(["KERNEL = Kernel(", *(f"    {k}={v}," for k, v in fields.items()), ")"])


def _target(kernel: Kernel, kind: str, text: str) -> str:
    """Return a target as a launch has it."""
    target, common = _TARGETS[kind], json.dumps(_common(kernel, kind), ensure_ascii=False)
    slow = text.count("XE_ALU(") > target.slow
    row = f"{target.lanes}, {target.options!r}, {target.demands!r}, {slow}, {common}"
    return f"Target({kind.upper()}, {row})"


def _by_kind(items: dict[str, str]) -> str:
    return "\n".join(["{", *(f"        {k!r}: {item}," for k, item in items.items()), "    }"])


def _product(axes: tuple[tuple[str, Index], ...]) -> str:
    texts = [specifying.size_text(count) for _, count in axes]
    text = texts[0] if len(texts) == 1 else " * ".join(f"({text})" for text in texts)
    # An element of an operand is NumPy's.
    return f"int({text})" if any(count.looked_up for _, count in axes) else text


def _listed(items: list[str]) -> str:
    return "\n".join(["(", *(f"        {item}," for item in items), "    )"])


def _indices(kernel: Kernel) -> list[Index]:
    own = [index for s in kernel.statements() for index in s.touched.indices]
    return [*own, *(count for _, count in kernel.grid)]


def _tensor(kernel: Kernel, operand: Operand, is_index: bool) -> str:
    """Return an operand, with what fills it unless its elements are indices."""
    modes = "".join(f"{specifying.size_text(mode)}, " for mode in operand.modes)
    kind = operand.value_type
    parts = (
        repr(operand.name),
        repr(kind.row.dtype or kind.row.host),
        repr(kind.bits),
        repr(tuple(map(str, operand.modes))),
        _lambda(f"({modes.strip()})", "s"),
        repr(operand.contiguous),
        repr(operand.role),
        "()" if is_index else _numbers(numbers(kernel, operand)),
    )
    return f"Tensor({', '.join(parts)})"


def _numbers(values: range | tuple[float, ...]) -> str:
    if not isinstance(values, range):
        return repr(values)
    return f"tuple({values})" if values.start else f"tuple(range({values.stop}))"


def _common(kernel: Kernel, kind: str) -> dict[str, int]:
    return common_sizes(kernel, _TARGETS[kind].matrix, _TARGETS[kind].deep)
