"""Floor 9: what an elementwise statement computes, as expressions of C++."""

from __future__ import annotations

from functools import partial
from typing import NoReturn

import numpy as np

from pycute_xe.algebra import composition, upcast
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.bulk import table
from pycute_xe.emitting.numbers import as_f32
from pycute_xe.errors import CuteError, KernelError
from pycute_xe.kernel import Kernel, Map
from pycute_xe.kernel.spec.expression import Apply, Const, Element, Expression, Rounded, Slot
from pycute_xe.kernel.spec.functions import function
from pycute_xe.layout import Layout
from pycute_xe.numeric import as_numeric

__all__ = ["converted", "map_text"]

# Types to which C++ rounds to nearest even when it constructs them.
_ROUNDED = frozenset({"f32", "f16", "bf16"})
_BOUNDS = {"s8": (-128, 127), "u8": (0, 255), "s16": (-32768, 32767), "u16": (0, 65535)}


def map_text(kernel: Kernel, statement: Map) -> str:
    """Return what element ``i`` of the destination becomes.

    Raises `KernelError` for a function or a broadcast that cannot be written in CuTe C++.
    """
    gathers = dict(statement.gathers)
    value = _text(kernel, statement.value, gathers)
    held = kernel.fragment(statement.destination).value_type
    return converted(kernel, "f32", held.name, value)


def _text(kernel: Kernel, value: Expression, gathers: dict[str, Layout]) -> str:
    if isinstance(value, Const):
        return _number(value.value)
    if isinstance(value, Slot):
        at = _index(kernel, value.fragment, gathers.get(value.fragment))
        return f"float({value.fragment}({at}))"
    if isinstance(value, Element) and not value.at:
        return f"float({value.operand})"
    if isinstance(value, Rounded):
        body = _text(kernel, value.body, gathers)
        return f"float({converted(kernel, 'f32', value.to.name, body)})"
    if isinstance(value, Apply):
        return _applied(
            kernel, value.function, *(_text(kernel, a, gathers) for a in value.arguments)
        )
    return _refuse(kernel, f"{value} is not a function of registers and scalars")


def _applied(kernel: Kernel, name: str, *arguments: str | float) -> str:
    """Return a function of texts and numbers."""
    row = function(name, len(arguments))
    texts = [a if isinstance(a, str) else _number(float(a)) for a in arguments]
    if row.of is not None:
        return row.unfolded(partial(_applied, kernel), *texts)
    if not row.cute:
        _refuse(kernel, f"{name} cannot be written in CuTe C++")
    return row.cute.format(*texts)


def _number(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        sign = "-" if value < 0 else ""
        return "NAN" if value != value else f"{sign}INFINITY"
    text = repr(as_f32(value))
    return f"{text}f" if value >= 0 else f"({text}f)"


def _index(kernel: Kernel, fragment: str, gather: Layout | None) -> str:
    """The value of a work-item that it reads as its ``i``-th."""
    if gather is None:
        return "i"
    bits = kernel.fragment(fragment).value_type.bits
    slots = len(table(gather)) // SUBGROUP
    places = table(gather).reshape(-1)
    lanes = np.arange(len(places)) % SUBGROUP
    if bits < 8 or (places % SUBGROUP != lanes).any():
        _refuse(
            kernel,
            f"a work-item reads values of {fragment} that other work-items hold",
        )
    try:
        own = upcast(composition(gather, Layout(slots, SUBGROUP)), SUBGROUP)
    except CuteError:
        _refuse(kernel, f"the values of {fragment} that a work-item reads follow no layout")
    if (table(own).reshape(-1) != places[::SUBGROUP] // SUBGROUP).any():
        _refuse(kernel, f"the values of {fragment} that a work-item reads follow no layout")
    return "i" if own == Layout(slots) else f"{own.to_cpp()}{{}}(i)"


def converted(kernel: Kernel, source: str, destination: str, value: str) -> str:
    """Return a value converted as the kernel does: to nearest even, integers saturated.

    Raises `KernelError` for conversions that cannot be written in CuTe C++.
    """
    held = as_numeric(destination).to_cpp()
    if source == destination or destination in _ROUNDED:
        return f"{held}({value})"
    if source == "f32" and destination in _BOUNDS:
        low, high = _BOUNDS[destination]
        return f"{held}(cute::min(cute::max(sycl::rint({value}), {low}.0f), {high}.0f))"
    if (source, destination) == ("f32", "s32"):
        whole = f"sycl::rint({value})"
        least = f"int32_t(cute::max({whole}, -2147483648.0f))"
        return f"({whole} >= 2147483648.0f ? 2147483647 : {least})"
    if source == "s32" and destination in _BOUNDS:
        low, high = _BOUNDS[destination]
        return f"{held}(cute::min(cute::max({value}, {low}), {high}))"
    return _refuse(
        kernel, f"the conversion of {source} to {destination} cannot be written in CuTe C++"
    )


def _refuse(kernel: Kernel, condition: str) -> NoReturn:
    raise KernelError(
        "emit",
        {"kernel": kernel.name, "to": '"cute"'},
        condition,
        'use emit(kernel, "opencl"), or another epilogue',
    )
