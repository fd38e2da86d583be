"""Floor 6: the table of C++ templates that `from_cute` reads, and what each stands for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.mma_atom import XE_DPAS_TT
from pycute_xe.basis import Basis
from pycute_xe.composed import ComposedLayout
from pycute_xe.cutlass.template_name import KINDS, WITH_BLOCKS
from pycute_xe.layout import Layout
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.swizzle import Swizzle
from pycute_xe.typing import is_tuple

__all__ = ["COUNTS", "MEANINGS", "Number", "Slip", "demand", "meaning", "said"]

_MANY = 1000
MEANINGS: dict[str, Callable[..., Any]] = {}
"""What each template stands for, by name; ``Name<>::member`` for a member of one."""

COUNTS: dict[str, tuple[int, int]] = {}
"""The least and the largest number of arguments of each."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number among template arguments, ``8`` rather than the type ``_8``."""

    value: int


@dataclass(frozen=True, slots=True)
class SharedPointer:
    """A pointer to shared memory not set yet: the layout counts elements of so many bits."""

    bits: int


class Slip(Exception):
    """An argument that a template does not take."""

    def __init__(self, index: int, condition: str, fix: str) -> None:
        super().__init__(condition)
        self.index, self.condition, self.fix = index, condition, fix


def meaning(
    *names: str, least: int, most: int | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function as what templates of some names stand for."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            MEANINGS[name] = function
            COUNTS[name] = (least, least if most is None else most)
        return function

    return enter


def said(value: Any) -> str:
    """Return an argument for a message."""
    if isinstance(value, Number):
        return f"the number {value.value}"
    if isinstance(value, Numeric):
        return f"the type {value.to_cpp()}"
    if value is None:
        return "_"
    return f"{type(value).__name__} {value}"


def demand(index: int, value: Any, kinds: type | tuple[type, ...], wanted: str, fix: str) -> Any:
    """Return an argument of the right kind, and refuse any other."""
    if isinstance(value, kinds):
        return value
    raise Slip(index, f"{said(value)} is not {wanted}", fix)


def raw(index: int, value: Any) -> int:
    """Return a number that C++ takes as such."""
    fix = f"write {value}" if isinstance(value, int) else "write a number, such as 8"
    return demand(index, value, Number, "a number", fix).value


@meaning("Int", "C", least=1)
def _(value: Any) -> int:
    return raw(0, value)


@meaning("integral_constant", "constant", least=2)
def _(kind: Any, value: Any) -> int:
    demand(0, kind, Numeric, "a type", "write integral_constant<int, 8>")
    return raw(1, value)


@meaning("Shape", "Stride", "Step", "Coord", "Tile", "tuple", "Tiler", least=0, most=_MANY)
def _(*modes: Any) -> tuple[Any, ...]:
    for i, mode in enumerate(modes):
        if isinstance(mode, Number):
            raise Slip(
                i, f"{said(mode)} is not a type", f"write _{mode.value} or Int<{mode.value}>"
            )
    return modes


@meaning("E", least=0, most=_MANY)
def _(*path: Any) -> Any:
    modes = tuple(raw(i, mode) for i, mode in enumerate(path))
    return Basis(1, modes) if modes else 1


@meaning("ScaledBasis", least=1, most=_MANY)
def _(value: Any, *path: Any) -> Any:
    scale = demand(0, value, int, "a static integer", "write _3 or Int<3>")
    modes = tuple(raw(i, mode) for i, mode in enumerate(path, 1))
    return Basis(scale, modes) if modes else scale


@meaning("Layout", least=1, most=2)
def _(shape: Any, stride: Any = None) -> Layout:
    _demand_tree(0, shape, (int,), "Shape")
    if stride is not None:
        _demand_tree(1, stride, (int, Basis), "Stride")
    return Layout(shape, stride)


def _demand_tree(index: int, tree: Any, leaves: tuple[type, ...], name: str) -> None:
    if is_tuple(tree):
        for mode in tree:
            _demand_tree(index, mode, leaves, name)
        return
    if isinstance(tree, Numeric):
        condition = f"{tree.to_cpp()} is known at run time only"
        raise Slip(index, condition, "write its number, as in _8, or paste what print() shows")
    if isinstance(tree, Number):
        raise Slip(index, f"{said(tree)} is not a type", f"write _{tree.value}")
    demand(index, tree, leaves, f"an entry of a {name}", "write a static integer, such as _8")


@meaning("Swizzle", least=2, most=3)
def _(bits: Any, base: Any, shift: Any = None) -> Swizzle:
    first = raw(0, bits)
    return Swizzle(first, raw(1, base), first if shift is None else raw(2, shift))


@meaning("smem_ptr_flag_bits", least=1)
def _(bits: Any) -> SharedPointer:
    return SharedPointer(raw(0, bits))


@meaning("ComposedLayout", least=3)
def composed(swizzle: Any, offset: Any, layout: Any) -> ComposedLayout:
    """Return a composed layout; over shared memory the swizzle counts bytes, the layout elements.

    C++: ``as_position_independent_swizzle_layout``.

    >>> print(composed(Swizzle(3, 4, 3), SharedPointer(16), Layout((8, 64), (64, 1))))
    Sw<3,3,3> o 0 o (8,64):(64,1)
    """
    demand(0, swizzle, Swizzle, "a swizzle", "write Swizzle<3,4,3>")
    demand(1, offset, (int, SharedPointer), "an offset", "write _0")
    demand(2, layout, Layout, "a layout", "write Layout<Shape<_8,_64>,Stride<_64,_1>>")
    if isinstance(offset, SharedPointer):
        swizzle, offset = _in_elements(cast("Swizzle", swizzle), offset.bits), 0
    return ComposedLayout(swizzle, offset, layout)


def _in_elements(swizzle: Swizzle, bits: int) -> Swizzle:
    """Return a swizzle of bytes as one of elements."""
    if bits not in (8, 16, 32, 64, 128):
        raise Slip(
            1, f"{bits} bits are not whole bytes", "use elements of 8, 16, 32, 64 or 128 bits"
        )
    base = swizzle.base - (bits // 8).bit_length() + 1
    if base < 0:
        condition = f"{swizzle} of bytes moves bits inside an element of {bits} bits"
        raise Slip(0, condition, "use a swizzle with a larger base, or smaller elements")
    return Swizzle(swizzle.bits, base, swizzle.shift)


@meaning("integer_subbyte", least=2)
def _(bits: Any, signed: Any) -> Numeric:
    return as_numeric(f"{'s' if raw(1, signed) else 'u'}{raw(0, bits)}")


@meaning("XE_DPAS_TT", least=3, most=5)
def _(m: Any, *types: Any) -> Dpas:
    found = [
        demand(i, kind, Numeric, "a type", "write one, such as float")
        for i, kind in enumerate(types, 1)
    ]
    return XE_DPAS_TT(raw(0, m), *found)


def _block2d(kind: Any) -> Callable[..., Block2DOp]:
    def read(*numbers: Any) -> Block2DOp:
        bits, height, width, *block = (raw(i, number) for i, number in enumerate(numbers))
        block_width = block[0] if block and kind != "XE_PREFETCH_2D" else width
        return Block2DOp(kind, bits, height, width, block_width)

    return read


for _kind in KINDS:
    # A prefetch takes a block width in C++ and ignores it.
    _most = 4 if _kind in (*WITH_BLOCKS, "XE_PREFETCH_2D") else 3
    meaning(_kind, least=3, most=_most)(_block2d(_kind))
