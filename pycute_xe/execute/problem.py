"""Floor 9: a problem in memory: operands checked, placed on legal surfaces, and read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Surface, Target
from pycute_xe.arch.rules import errors
from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import InputError, LegalityError
from pycute_xe.execute.rounding import as_matrix
from pycute_xe.kernel import Kernel, Operand
from pycute_xe.machine import Memory
from pycute_xe.numeric import Numeric

__all__ = [
    "Problem",
    "blank_surface",
    "demand_legal",
    "fetch",
    "is_legal",
    "natural_surface",
    "place",
    "place_poison",
    "prepare",
]


@dataclass(frozen=True)
class Problem:
    """Extents by name and the input matrices in CuTe's mode order: A (M, K), B (N, K)."""

    sizes: dict[str, int]
    inputs: dict[str, NDArray[Any]]

    @property
    def empty(self) -> bool:
        """Whether any extent is zero, so that no message would be sent."""
        return not all(self.sizes.values())


def prepare(kernel: Kernel, a: Any, b: Any, asked: Numeric | None) -> Problem:
    """Check A (M, K) and B (K, N) against each other and the kernel's types.

    Raises `InputError` when the shapes do not match, `DTypeError` as `as_matrix` does.
    """
    op_a, op_b = kernel.operand("A"), kernel.operand("B")
    left = as_matrix("A", a, op_a.value_type, asked)
    right = as_matrix("B", b, op_b.value_type, asked)
    if left.shape[1] != right.shape[0]:
        raise InputError(
            "run",
            {"A": left.shape, "B": right.shape},
            f"A has {left.shape[1]} columns, B has {right.shape[0]} rows",
            "A is (M, K) and B is (K, N)",
        )
    sizes = {"M": left.shape[0], "N": right.shape[1], "K": left.shape[1]}
    return Problem(sizes, {"A": left, "B": right.T})


def natural_surface(operand: Operand, array: NDArray[Any]) -> Surface | None:
    """Return the surface an array is where it lies, ``None`` when its order is another.

    ``array`` is in CuTe's mode order.
    """
    x, y = operand.x_mode, 1 - operand.x_mode
    unit = array.itemsize
    step, pitch = array.strides[x], array.strides[y]
    if (step != unit and array.shape[x] > 1) or pitch < 0:
        return None
    if array.shape[y] == 1:
        pitch = max(pitch, array.shape[x] * unit)
    return Surface(array.ctypes.data, array.shape[x] * unit, array.shape[y], pitch)


def demand_legal(operand: Operand, array: NDArray[Any], target: Target) -> None:
    """Refuse an array that the target's messages could not address as it lies.

    Raises `LegalityError` naming the rules, their sources and the nearest legal values.
    """
    surface = natural_surface(operand, array)
    given = {"operand": operand, "target": target, "strides": array.strides}
    if surface is None:
        raise LegalityError(
            "run",
            given,
            f"{operand.name} is declared {operand.order}, but its {operand.modes[operand.x_mode]} "
            "is not contiguous in memory",
            "declare the other order, or copy the array",
        )
    broken = errors(surface.broken_rules(target))
    if broken:
        near = surface.nearest_legal(target, strict=False)
        raise LegalityError(
            "run",
            given | {"surface": surface},
            "; ".join(f"{b.rule}: {b.condition} [{b.source}]" for b in broken),
            f"nearest legal: base {near.base:#x}, width {near.width}, pitch {near.pitch} bytes",
        )


def is_legal(operand: Operand, array: NDArray[Any], target: Target) -> bool:
    """Tell whether the target's messages could address an array as it lies."""
    surface = natural_surface(operand, array)
    return surface is not None and not errors(surface.broken_rules(target))


def place(memory: Memory, operand: Operand, array: NDArray[Any], target: Target) -> Surface:
    """Copy an array onto a legal surface of its own, padding zeroed."""
    surface, image = _blank(operand, array.shape, target)
    x, y = operand.x_mode, 1 - operand.x_mode
    image[:, : array.shape[x]] = array.transpose(y, x)
    return _placed(memory, surface, image)


def place_poison(
    memory: Memory, operand: Operand, shape: tuple[int, int], target: Target
) -> Surface:
    """Reserve a legal surface whose every byte is all ones: NaN, until something is stored."""
    surface, image = _blank(operand, shape, target)
    image.view(np.uint8)[:] = 0xFF
    return _placed(memory, surface, image)


def blank_surface(operand: Operand, shape: tuple[int, ...], target: Target) -> Surface:
    """Return the least legal surface, at address 0, for a matrix of a shape."""
    width = shape[operand.x_mode] * operand.value_type.bytes
    return Surface(0, width, shape[1 - operand.x_mode], width).nearest_legal(target)


def _blank(
    operand: Operand, shape: tuple[int, ...], target: Target
) -> tuple[Surface, NDArray[Any]]:
    surface = blank_surface(operand, shape, target)
    dtype = numpy_dtype(operand.value_type)
    return surface, np.zeros((surface.height, surface.pitch // dtype.itemsize), dtype)


def _placed(memory: Memory, surface: Surface, image: NDArray[Any]) -> Surface:
    base = memory.place(image.view(np.uint8), align=64)
    return Surface(base, surface.width, surface.height, surface.pitch)


def fetch(
    memory: Memory, operand: Operand, surface: Surface, shape: tuple[int, int]
) -> NDArray[Any]:
    """Read a matrix back from its surface, in CuTe's mode order."""
    dtype = numpy_dtype(operand.value_type)
    image = memory.array(surface.base, (surface.height, surface.pitch // dtype.itemsize), dtype)
    x, y = operand.x_mode, 1 - operand.x_mode
    out = image[: shape[y], : shape[x]]
    return np.ascontiguousarray(out.T if x == 0 else out)
