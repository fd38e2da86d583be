"""The Python that launches a kernel: two functions for a host of one's own, or a whole program."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from pycute_xe.arch.rules import rules
from pycute_xe.converting import bounds
from pycute_xe.emitting import specifying
from pycute_xe.emitting.opencl import OPENCL, opencl, parameters
from pycute_xe.emitting.portable import portable
from pycute_xe.emitting.writer import launch_axes, plain_text
from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel, Mma, Operand
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.identity import identity
from pycute_xe.kernel.probes import tolerance_of
from pycute_xe.kernel.spec.specification import Claim, Specification

__all__ = ["host", "program"]

OPTIONS = {"gpu": "-cl-std=CL2.0 -cl-intel-256-GRF-per-thread", "cpu": "-cl-std=CL2.0"}
"""What the compiler of each kind of device is asked for."""

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


def host(kernel: Kernel, device: str = "gpu") -> str:
    """Return a module of two functions: ``build`` the text of `emit`, ``launch`` what it builds."""
    for statement in kernel.statements():
        OPENCL[statement]
    known = parameters(kernel)
    names = ", ".join(name for _, name in known)
    given = ", ".join(_given(kind, name) for kind, name in known)
    lanes = (16 if device == "gpu" else 1) * kernel.subgroups
    counts = [" * ".join(f"({plain_text(n)})" for _, n in axes) for axes in launch_axes(kernel)]
    shape = [f"{lanes} * {counts[0]}", *counts[1:]]
    local = [str(lanes), *("1" for _ in counts[1:])]
    lines = [_HEAD.format(name=kernel.name, options=OPTIONS[device])]
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
# ruff: noqa: E501
'''
_OURS = "from pycute_xe"


def program(kernel: Kernel, spelled: Kernel) -> str:
    """Return a Python file that runs a kernel on a device; ``spelled`` has names that C takes.

    Raises `KernelError` for a kernel that claims nothing.
    """
    if kernel.computes is None:
        raise KernelError(
            "emit",
            {"kernel": kernel.name},
            "the kernel claims nothing, so that its result cannot be compared",
            "give it a specification",
        )
    common = _common(kernel)
    sizes = f"--size {','.join(f'{name}={n}' for name, n in common['gpu'].items())}"
    values = [_value(kernel, i, claim) for i, claim in enumerate(kernel.computes.claims)]
    texts = {"gpu": opencl(spelled), "cpu": portable(spelled)}
    head, *fixed = _fixed()
    kept = [_TITLE.format(name=kernel.name, sizes=sizes), head, *fixed]
    kept += [*specifying.sources(kernel.computes), *values]
    kept += [f'{kind.upper()} = r"""\n{text}"""' for kind, text in texts.items()]
    kept += [_kernel(kernel, kernel.computes, spelled.name, common)]
    kept += ['if __name__ == "__main__":\n    sys.exit(main(KERNEL))']
    return _joined(kept)


@cache
def _fixed() -> tuple[str, str, str]:
    """Return the imports, and what the two modules that every program holds define."""
    bodies = [_module(name) for name in ("launching", "valuing")]
    imports = [line for line in bodies[0][0].splitlines() if not line.startswith(_OURS)]
    return "\n".join(imports).strip(), bodies[1][1], bodies[0][1]


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


def _kernel(
    kernel: Kernel, computes: Specification, function: str, common: dict[str, dict[str, int]]
) -> str:
    """Return the value that names all that a launch needs."""
    looked = {x.operand for i in _indices(kernel) for x in i.looked_up}
    counts = "".join(f"int({_product(axes)}), " for axes in launch_axes(kernel))
    outputs = [
        f"Output({claim.output!r}, value_{number}, row_{number}, {_tolerance(kernel, claim)!r})"
        for number, claim in enumerate(computes.claims)
    ]
    fields = {
        "name": repr(kernel.name),
        "function": repr(function),
        "identity": repr(identity(kernel)),
        "subgroups": repr(kernel.subgroups),
        "sizes": repr(kernel.sizes),
        "common": json.dumps(common, ensure_ascii=False),
        "tensors": _listed([_tensor(kernel, o, o.name in looked) for o in kernel.operands]),
        "outputs": _listed(outputs),
        "groups": _lambda(f"({counts.strip()})", "s", "x"),
        "operations": _lambda(specifying.operations(computes, kernel.operands), "s"),
        "rules": _listed([repr(rule) for rule in _rules()]),
        "options": json.dumps(OPTIONS),
        "texts": '{"gpu": GPU, "cpu": CPU}',
    }
    return "\n".join(["KERNEL = Kernel(", *(f"    {k}={v}," for k, v in fields.items()), ")"])


def _product(axes: tuple[tuple[str, Index], ...]) -> str:
    texts = [specifying.size_text(count) for _, count in axes]
    return texts[0] if len(texts) == 1 else " * ".join(f"({text})" for text in texts)


def _listed(items: list[str]) -> str:
    return "\n".join(["(", *(f"        {item}," for item in items), "    )"])


def _indices(kernel: Kernel) -> list[Index]:
    own = [index for s in kernel.statements() for index in s.touched.indices]
    return [*own, *(count for _, count in kernel.grid)]


def _tolerance(kernel: Kernel, claim: Claim) -> float:
    return tolerance_of(claim.value, kernel.operand(claim.output).value_type)


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
        "()" if is_index else _numbers(kernel, operand),
    )
    return f"Tensor({', '.join(parts)})"


def _numbers(kernel: Kernel, operand: Operand) -> str:
    """Return numbers of an operand's type of which sums are exact, as Python."""
    kind = operand.value_type
    claims = kernel.computes.claims if kernel.computes is not None else ()
    sums = {s.mma.atom.op.C for s in kernel.statements() if isinstance(s, Mma)}
    if kind.kind != "float":
        low, high = bounds(kind)
        most = 128 if all(k.kind != "float" for k in sums) and sums else 8
        return (
            f"tuple(range({max(low, -most)}, {min(high, most) + 1}))" if operand.modes else "(1,)"
        )
    if not operand.modes:
        return "(0.5,)"
    if kind.row.positive:
        return "(0.5, 1, 2)"
    if kind.bits < 8:
        return "(-2, -1, -0.5, 0, 0.5, 1, 2)"
    if any(k.bits == 16 for k in sums):
        return "(-1, 0, 0, 1)"
    if any(_tolerance(kernel, claim) for claim in claims):
        return "tuple(n / 8 for n in range(-4, 5))"
    return "tuple(range(-4, 5))"


def _rules() -> tuple[tuple[str, str, int], ...]:
    """Return the strictest that documents demand of surfaces: a quantity, how and a number."""
    strictest: dict[tuple[str, str], int] = {}
    for target in ("pvc", "bmg"):
        for rule in rules("block2d", "surface", target):
            bound, key = rule.bounds[0], (rule.quantity, rule.kind)
            if isinstance(bound, int):
                stricter = min if rule.kind == "at_most" else max
                strictest[key] = stricter(strictest.get(key, bound), bound)
    return tuple(sorted((quantity, how, bound) for (quantity, how), bound in strictest.items()))


_LARGE = {"gpu": (4096, (128, 1024, 4)), "cpu": (257, (40, 70, 2))}
"""The sizes of matrices, and of modes of what has more: the last, the one before, the others."""


def _common(kernel: Kernel) -> dict[str, dict[str, int]]:
    """Return sizes to begin with, for each kind of device."""
    out: dict[str, dict[str, int]] = {}
    for kind, (matrix, deep) in _LARGE.items():
        sizes = dict.fromkeys(kernel.sizes, deep[2])
        for operand in kernel.operands:
            rank = len(operand.modes)
            for number, mode in enumerate(operand.modes):
                behind = min(rank - 1 - number, 2)
                size = matrix if rank == 2 else deep[behind] if rank > 2 else 1
                sizes |= {name: max(sizes[name], size) for name in mode.names}
        out[kind] = sizes
    return out
