"""What C++ templates stand for, a table from their names to values of the library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, cast

from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.atom.copy_atom import CopyAtom, make_copy_atom
from pycute_xe.atom.linear_op import LinearOp, linear_names
from pycute_xe.atom.makers import workgroup_mma
from pycute_xe.atom.mma_atom import XE_DPAS_TT, MmaAtom, make_mma_atom
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.basis import Basis
from pycute_xe.composed import ComposedLayout
from pycute_xe.cutlass.builders import built_epilogue, built_mainloop
from pycute_xe.cutlass.configuration import CutlassType, Pointer, parameters_of, tag_of, templates
from pycute_xe.cutlass.known_names import KINDS, WITH_BLOCKS
from pycute_xe.cutlass.legacy_copy import LegacyCopyAtom
from pycute_xe.cutlass.legacy_name import LegacyCopyName
from pycute_xe.cutlass.reading_text import (
    Type,
    at_place,
    meaning_of_name,
    modes_of,
    nearest_name,
    refuse,
)
from pycute_xe.errors import CuteError
from pycute_xe.int_tuple import product_each
from pycute_xe.layout import Layout
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.swizzle import Swizzle
from pycute_xe.typing import is_tuple

__all__ = ["Scope", "value_of"]

# ------------------------------------------------------------ reading meanings
# The table of C++ templates that `from_cute` reads, and what each stands for.

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
    """An argument that a template does not take; the template itself where the index is below 0."""

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


def shown(value: Any) -> str:
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
    raise Slip(index, f"{shown(value)} is not {wanted}", fix)


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
                i,
                f"{shown(mode)} is not a type",
                f"write _{mode.value} or Int<{mode.value}>",
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
        raise Slip(index, f"{shown(tree)} is not a type", f"write _{tree.value}")
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
    numerics = [
        demand(i, kind, Numeric, "a type", "write one, such as float")
        for i, kind in enumerate(types, 1)
    ]
    return XE_DPAS_TT(raw(0, m), *numerics)


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


# ------------------------------------------------------------ reading atoms
# The C++ templates of atoms and their tilings, entered in the table of meanings.

AnyOp = Block2DOp | LinearOp | LegacyCopyName
_OPERATION = "write one, such as XE_LOAD_2D<16,32,32,16>"
_ATOM = "write MMA_Atom<XE_DPAS_TT<8,float,bfloat16_t>>"


@dataclass(frozen=True)
class Traits:
    """A copy operation with what its traits add: modes of the tensor, the type of the values."""

    op: AnyOp
    x_mode: int | None = None
    y_mode: int | None = None
    value_type: Numeric | None = None
    first_is_contiguous: bool = False


@dataclass(frozen=True)
class _Copy:
    """A copy atom with its traits."""

    atom: CopyAnswers
    traits: Traits


def unwrapped(value: Any) -> Any:
    """Return a value as users see it: a number without its wrapper, a copy without its traits.

    >>> unwrapped(Number(8))
    8
    """
    if isinstance(value, Number):
        return value.value
    if isinstance(value, Traits):
        return value.op
    return value.atom if isinstance(value, _Copy) else value


@meaning("MMA_Atom", "MMA_Traits", least=1)
def _(op: Any) -> MmaAtom:
    fix = "write XE_DPAS_TT<8,float,bfloat16_t>"
    return make_mma_atom(demand(0, op, (Dpas, MmaAtom), "an MMA operation", fix))


@meaning("TiledMMA", least=2, most=3)
def _(atom: Any, atoms: Any, tile: Any = (None, None, None)) -> TiledMma:
    demand(0, atom, MmaAtom, "an MMA atom", _ATOM)
    demand(1, atoms, Layout, "a layout", "write Layout<Shape<_8,_4,_1>,Stride<_4,_1,_0>>")
    demand(2, tile, tuple, "a tile", "write Tile<_256,_256,_32> or leave it out")
    return TiledMma(atom, atoms, tile)


@meaning("TiledMMAHelper<>::TiledMMA", least=3)
def _(atom: Any, tile: Any, subgroups: Any) -> TiledMma:
    demand(0, atom, MmaAtom, "an MMA atom", _ATOM)
    demand(1, tile, Layout, "a layout", "write Layout<Shape<_256,_256,_32>>")
    demand(2, subgroups, Layout, "a layout", "write Layout<Shape<_8,_4,_1>,Stride<_4,_1,_0>>")
    return workgroup_mma(atom, cast("Any", product_each(tile.shape)), subgroups)


@meaning("Copy_Traits", least=1, most=5)
def _(op: Any, *rest: Any) -> Traits:
    demand(0, op, (Block2DOp, LinearOp, LegacyCopyName), "a copy operation", _OPERATION)
    if isinstance(op, LegacyCopyName) and len(rest) < 2:
        return Traits(op, first_is_contiguous=bool(rest) and _first_is_one(rest[0]))
    if not rest:
        return Traits(op)
    if not isinstance(op, Block2DOp) or len(rest) < 3:
        condition = f"the arguments after {shown(op)} do not fit its traits"
        raise Slip(1, condition, "write Copy_Traits<XE_LOAD_2D<…>,_1,_0,bfloat16_t,Stride<_0,_0>>")
    x, y = (demand(i, rest[i - 1], int, "a mode", "write _0 or _1") for i in (1, 2))
    numeric = demand(3, rest[2], Numeric, "a type", "write bfloat16_t")
    return Traits(op, x, y, numeric)


def _first_is_one(strides: Any) -> bool:
    demand(1, strides, tuple, "a tuple of strides", "write Stride<_1,int64_t,int64_t>")
    ones = [i for i, stride in enumerate(strides) if type(stride) is int and stride == 1]
    if ones not in ([0], [1]):
        condition = "not exactly one stride is _1, that of the first or the second mode"
        raise Slip(1, condition, "write Stride<int64_t,_1,int64_t> or Stride<_1,int64_t,int64_t>")
    return ones == [0]


@meaning("Copy_Atom", least=2)
def _(op: Any, value_type: Any) -> _Copy:
    demand(0, op, (Block2DOp, LinearOp, LegacyCopyName, Traits), "a copy operation", _OPERATION)
    numeric = demand(1, value_type, Numeric, "a type", "write one, such as bfloat16_t")
    traits = op if isinstance(op, Traits) else Traits(op)
    if traits.value_type not in (None, numeric):
        condition = f"the traits move {traits.value_type.to_cpp()}, the atom {numeric.to_cpp()}"
        raise Slip(1, condition, "write the same type twice")
    if isinstance(traits.op, LegacyCopyName):
        return _Copy(LegacyCopyAtom(traits.op, numeric, traits.first_is_contiguous), traits)
    made: Any = make_copy_atom
    return _Copy(made(traits.op, numeric), traits)


@meaning("TiledCopy", least=3)
def _(copy: Any, layout: Any, tiler: Any) -> TiledCopy:
    demand(0, copy, _Copy, "a copy atom", "write Copy_Atom<XE_LOAD_2D<16,8,16>, bfloat16_t>")
    demand(1, layout, Layout, "a layout", "write Layout<Shape<_16,_8>,Stride<_8,_1>>")
    tile = _extents(tiler)
    atom, traits = copy.atom, copy.traits
    if traits.x_mode is not None or not isinstance(atom, CopyAtom):
        x, y = traits.x_mode or 0, traits.y_mode or 0
        return TiledCopy(atom, layout, tile, x, y)
    modes = modes_of(atom, layout, tile)
    if modes is None:
        condition = f"the layout does not begin with one block of {atom}"
        raise Slip(1, condition, "write the traits with their modes, Copy_Traits<…,_1,_0,…>")
    return TiledCopy(atom, layout, tile, *modes)


def _extents(tiler: Any) -> tuple[int, ...]:
    if is_tuple(tiler) and all(isinstance(mode, (int, Layout)) for mode in tiler):
        if any(isinstance(mode, Layout) and mode != Layout(mode.shape) for mode in tiler):
            raise Slip(
                2, "a mode of the tiler is not contiguous", "write the extents, Shape<_8,_16>"
            )
        modes = (mode.shape if isinstance(mode, Layout) else mode for mode in tiler)
        return tuple(product_each((*modes,)))
    raise Slip(2, f"{shown(tiler)} is not a tile", "write Shape<_256,_32>")


def _linear(kind: str) -> Callable[..., LinearOp]:
    def read(source: Any, destination: Any = None) -> LinearOp:
        fix = "write one, such as uint32_t"
        demand(0, source, Numeric, "a type", fix)
        target = source if destination is None else demand(1, destination, Numeric, "a type", fix)
        return LinearOp(kind, source, target)

    return read


for _kind in linear_names():
    meaning(_kind, least=1, most=2)(_linear(_kind))


# ------------------------------------------------------------ reading configurations
# Templates of CUTLASS are rows; what is computed from types is computed.


@meaning("decltype()", least=1)
def _(value: Any) -> Any:
    return value


@meaning("sizeof_bits_v", least=1)
def _(numeric: Any) -> Number:
    return Number(demand(0, numeric, Numeric, "a type", "write one, such as float").bits)


@meaning("sizeof()", least=1)
def _(numeric: Any) -> Number:
    kind = demand(0, numeric, Numeric, "a type", "write one, such as float")
    return Number(-(-kind.bits // 8))


@meaning("/", least=2)
def _(value: Any, by: Any) -> Number:
    if not raw(1, by):
        raise Slip(1, "a quotient by 0 has no value", "divide by another number")
    quotient = abs(raw(0, value)) // abs(raw(1, by))  # C++ rounds towards 0
    return Number(quotient if raw(0, value) * raw(1, by) >= 0 else -quotient)


@meaning("*", least=1)
def _(value: Any) -> Pointer:
    is_sizes = is_tuple(value) and any(isinstance(mode, Numeric) for mode in value)
    if is_sizes or (isinstance(value, CutlassType) and value.kind in ("layout", "strides")):
        return Pointer(value)
    raise Slip(-1, "a pointer is not a layout, an atom or a type of values", "leave * out")


@meaning("tile_shape()", least=1)
def _(mma: Any) -> tuple[int, int, int]:
    return demand(0, mma, TiledMma, "a tiled MMA", "write tile_shape(TiledMma())").tile_mnk


@meaning("GemmUniversalAdapter", least=1)
def _(kernel: Any) -> CutlassType:
    fix = "write GemmUniversal<Shape<int,int,int,int>, …>"
    if not (isinstance(kernel, CutlassType) and kernel.kind == "kernel"):
        raise Slip(0, f"{shown(kernel)} is not a kernel", fix)
    return kernel


@meaning("CollectiveBuilder<>::CollectiveOp", least=13, most=15)
def _(*arguments: Any) -> CutlassType:
    plain = tuple(map(unwrapped, arguments))
    return (built_epilogue if is_tuple(plain[2]) else built_mainloop)(plain)


def _configured(name: str) -> Callable[..., CutlassType]:
    def read(*arguments: Any) -> CutlassType:
        value, plain = CutlassType(name), tuple(map(unwrapped, arguments))
        parameters = parameters_of(name, len(plain))
        for i, argument in enumerate(plain):
            if isinstance(arguments[i], int):
                raw(i, arguments[i])
            if isinstance(arguments[i], Number) and parameters[i].kind != "number":
                raise Slip(i, f"{shown(arguments[i])} is not a type", "write a type")
            if wrong := value.misfit(i, argument, len(plain)):
                raise Slip(i, *wrong)
        return CutlassType(name, plain)

    return read


def _enter_configurations() -> None:
    for name, row in templates().items():
        counts = [len(cast("tuple[str, ...]", row[x])) for x in ("arguments", "older") if x in row]
        if counts:
            needed = sum(not p.default for p in parameters_of(name, 0))
            meaning(name, least=min(needed, *counts), most=max(counts))(_configured(name))


_enter_configurations()


# ------------------------------------------------------------ reading values


@dataclass(frozen=True)
class Scope:
    """The text that is read, and the names that it has declared: a value, or why it has none."""

    text: str
    names: dict[str, Any]

    def fail(self, node: Type, condition: str, fix: str) -> NoReturn:
        """Refuse a type where it stands."""
        refuse(self.text, node.at, condition, fix)

    def value(self, node: Type) -> Any:
        """Return what a type stands for."""
        if node.is_number:
            return Number(int(node.name))
        if node.name in self.names and node.arguments is None:
            if isinstance(refusal := self.names[node.name], CuteError):
                raise refusal
            if node.member:
                self.fail(node, f"{node.name}::{node.member} is not known", "write the type itself")
            return self.names[node.name]
        if node.arguments is None:
            return self.plain(node)
        return self.template(node, node.arguments)

    def plain(self, node: Type) -> Any:
        """Return what a name without arguments stands for."""
        try:
            value = meaning_of_name(node.name, node.member)
        except CuteError as error:
            raise at_place(self.text, node.at, error) from None
        if value is not NotImplemented:
            return value
        name = f"{node.name}::{node.member}" if node.member else node.name
        if "arguments" not in templates().get(name, {"arguments": ()}):
            return tag_of(name)
        if node.name in MEANINGS:
            self.fail(node, f"{node.name} is given no arguments", f"write {node.name}<…>")
        others = (*MEANINGS, *templates())
        return self.fail(node, f"unknown name {name}", nearest_name(node.name, others))

    def template(self, node: Type, arguments: tuple[Type, ...]) -> Any:
        """Return what a template of these arguments stands for."""
        name = f"{node.name}<>::{node.member}" if node.member else node.name
        meaning: Callable[..., Any] | None = MEANINGS.get(name)
        if meaning is None:
            self.unknown(node, name)
        least, most = COUNTS[name]
        if not least <= len(arguments) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            self.fail(
                node,
                f"{node.name} takes {wanted} arguments, not {len(arguments)}",
                f"give {wanted} arguments",
            )
        values = [self.value(argument) for argument in arguments]
        try:
            return meaning(*values)
        except Slip as slip:
            at = node if slip.index < 0 else arguments[slip.index]
            self.fail(at, slip.condition, slip.fix)
        except CuteError as error:
            raise at_place(self.text, node.at, error) from None

    def unknown(self, node: Type, name: str) -> NoReturn:
        """Refuse a template that the table does not have."""
        members = [known.split("::")[1] for known in MEANINGS if known.startswith(f"{node.name}<>")]
        if members:
            self.fail(
                node, f"{node.name} is a helper, not a type of this kind", f"append ::{members[0]}"
            )
        if node.member and node.name in MEANINGS:
            self.fail(node, f"{name} is not known", f"leave ::{node.member} out")
        self.fail(node, f"unknown template {name}", nearest_name(node.name, tuple(MEANINGS)))


def value_of(text: str, named: list[tuple[str, Type]], last: Type) -> Any:
    """Return the value of a type, after the declarations of the text.

    Raises `InputError` for what stands for nothing, and what the library raises for a value that
    it refuses, each with line and column.
    """
    scope = Scope(text, {})
    for name, node in named:
        scope.names[name] = scope.value(node)
    return unwrapped(scope.value(last))
