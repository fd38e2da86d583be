"""A kernel as CuTe C++ for CUTLASS on Intel, with what the library claims of it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NoReturn

import numpy as np

from pycute_xe.algebra import coalesce, composition, upcast
from pycute_xe.atom import TiledCopy, TiledMma
from pycute_xe.atom.cpp_text import tiler_cpp
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.bulk import table
from pycute_xe.cutlass.builders import is_declared
from pycute_xe.emitting.cute_parts import Parts, Role
from pycute_xe.emitting.instructions import as_f32
from pycute_xe.emitting.writer import Writer, Writes, demand_entries, plain_text
from pycute_xe.errors import CuteError, KernelError
from pycute_xe.kernel import Kernel, Meanings, Operand
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.kernel.ir.effects import MemoryAccess, RegisterMove
from pycute_xe.kernel.spec.expression import Apply, Const, Element, Expression, Rounded, Slot
from pycute_xe.kernel.spec.functions import function
from pycute_xe.layout import Layout
from pycute_xe.numeric import as_numeric

__all__ = ["CUTE", "cute", "parameters"]

# ------------------------------------------------------------ cute values
# What an elementwise statement computes, as expressions of C++.

# Types to which C++ rounds to nearest even when it constructs them.
_ROUNDED = frozenset({"f32", "f16", "bf16"})
_BOUNDS = {"s8": (-128, 127), "u8": (0, 255), "s16": (-32768, 32767), "u16": (0, 65535)}


def map_text(kernel: Kernel, statement: ir.Map) -> str:
    """Return what element ``i`` of the destination becomes.

    Raises `KernelError` for a function or a broadcast that cannot be written in CuTe C++.
    """
    gathers = dict(statement.gathers)
    value = _text(kernel, statement.value, gathers)
    numeric = kernel.fragment(statement.destination).value_type
    return converted(kernel, "f32", numeric.name, value)


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
    cpp = as_numeric(destination).to_cpp()
    if as_numeric(source).bits < 8 and source != destination:
        # Their registers are in an order of their own, which a conversion value by value leaves.
        _refuse(kernel, f"values of {source} are converted by no function of CuTe one by one")
    if source in ("bf16", "f16") and destination in _ROUNDED and source != destination:
        return f"{cpp}(float({value}))"
    if source == destination or destination in _ROUNDED:
        return f"{cpp}({value})"
    if source == "f32" and destination in _BOUNDS:
        low, high = _BOUNDS[destination]
        return f"{cpp}(cute::min(cute::max(sycl::rint({value}), {low}.0f), {high}.0f))"
    if (source, destination) == ("f32", "s32"):
        whole = f"sycl::rint({value})"
        least = f"int32_t(cute::max({whole}, -2147483648.0f))"
        return f"({whole} >= 2147483648.0f ? 2147483647 : {least})"
    if source == "s32" and destination in _BOUNDS:
        low, high = _BOUNDS[destination]
        return f"{cpp}(cute::min(cute::max({value}, {low}), {high}))"
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


# ------------------------------------------------------------ cute claims
# What the library claims of a kernel's layouts, as static assertions of C++.

HELPERS = """\
// Layouts are compared as types, simplified by mode: equal types are equal functions.
template <class L> using by_mode = decltype(coalesce(L{}, Step<_1,_1>{}));
template <class L, class M> constexpr bool same = std::is_same_v<L, M>;

// What moves a block: the operation, and the tensor's modes along and across rows.
template <class T> struct moved;
template <class Op, class X, class Y, class T, class Strides>
struct moved<Copy_Traits<Op, X, Y, T, Strides>> {
  template <class O, int x, int y>
  static constexpr bool by = same<Op, O> && X::value == x && Y::value == y;
};

// The (work-item, value) layout of a fragment in the order of the registers' elements.
template <class F>
using register_tv = decltype(detail::subbyte_sg_tv_swizzle<typename F::value_type>(
    project_strides(std::declval<F>().tv_layout())));

// Register element of a source -> of a destination, as `reorder` moves them.
template <class S, class D>
using reordered = decltype(coalesce(composition(right_inverse(register_tv<D>{}),
                                                register_tv<S>{})));"""


def claims(parts: Parts) -> Iterator[str]:
    """Yield the assertions: tiled MMAs, copies, sizes of fragments, reorders."""
    for mma, name in parts.mmas.items():
        yield from _of_mma(mma, name)
    for (copy, _), name in parts.copies.items():
        yield from _of_copy(copy, name)
    for fragment in parts.kernel.fragments:
        count = f"decltype(size(std::declval<{fragment.name}_t>().layout()))::value"
        yield _line(f"{count} == {fragment.slots}", f"values of {fragment.name}")
    for move, slots in parts.reorders():
        yield _of_reorder(move, slots)


def _of_mma(mma: TiledMma, name: str) -> Iterator[str]:
    atom = (mma.atom.tv_layout_A, mma.atom.tv_layout_B, mma.atom.tv_layout_C)
    tiled = (mma.tv_layout_A_tiled, mma.tv_layout_B_tiled, mma.tv_layout_C_tiled)
    for operand, whole, one in zip("ABC", tiled, atom, strict=True):
        yield _same(f"typename {name}::AtomLayout{operand}_TV", one, f"{operand} of the atom")
        layout = f"decltype({name}{{}}.get_layout{operand}_TV())"
        yield _same(layout, whole, f"{operand} of {name}")


def _of_copy(copy: TiledCopy, name: str) -> Iterator[str]:
    """What is claimed of a copy; raise `KernelError` for sizes that its template rejects."""
    for broken in copy.op.broken_assertions:
        raise KernelError(
            "emit",
            {"language": "cute", "copy": copy.op},
            f"CUTLASS's template does not compile: {broken.condition} [{broken.source}]",
            "leave the copy out: CUTLASS chooses one that compiles",
        )
    by = f"{copy.op.to_cpp()}, {copy.x_mode}, {copy.y_mode}"
    yield _line(f"moved<typename {name}::Traits>::by<{by}>", f"operation of {name}")
    tile = tiler_cpp(copy.tiler_mn)
    yield _line(f"same<typename {name}::Tiler_MN, {tile}>", f"tile of {name}")
    yield _same(f"typename {name}::ValLayoutRef", copy.atom.layout_ref_tv, f"block of {name}")
    yield _same(f"typename {name}::TiledLayout_TV", copy.layout_tv_tiled, name)


def _of_reorder(move: RegisterMove, slots: Layout) -> str:
    names = f"{move.source}_t, {move.destination}_t"
    text = f"same<reordered<{names}>, {coalesce(slots).to_cpp()}>"
    return _line(text, f"reorder {move.source} -> {move.destination}")


def _same(actual: str, claimed: Layout, of: str) -> str:
    return _line(f"same<by_mode<{actual}>, {coalesce(claimed, (1, 1)).to_cpp()}>", of)


def _line(condition: str, of: str) -> str:
    return f'static_assert({condition}, "{of}");'


# ------------------------------------------------------------ cute prelude
# What every CuTe text begins with.

RETYPED = """\
// A fragment like another one, of another type.
template <class T, class F>
using retyped = remove_cvref_t<decltype(make_subgroup_tensor(
    make_fragment_like<T>(std::declval<F>().layout()), std::declval<F>().tv_layout()))>;

// The registers of a fragment in the shape of another one.
template <class F, class G>
CUTE_DEVICE auto viewed(F& fragment) {
  return make_tensor(fragment.data(), decltype(std::declval<G>().layout()){});
}

// The tile of a tensor that begins at a coordinate.
template <class T, class Tile, class Coord>
CUTE_DEVICE auto tile_at(T const& tensor, Tile const& tile, Coord const& at) {
  return local_tile(domain_offset(at, tensor), tile, make_coord(_0{}, _0{}));
}

CUTE_DEVICE constexpr int xe_floor(int a, int b) { return a / b - (a % b < 0); }"""


# ------------------------------------------------------------ cute

CUTE: Meanings[Writes] = Meanings("emit")
"""How each kind of statement is said in CuTe C++."""


class CuteWriter(Writer):
    """A body in CuTe C++, and the names of its types."""

    def __init__(self, kernel: Kernel) -> None:
        """Start with nothing written."""
        super().__init__(kernel, CUTE, level=1)
        self.parts = Parts(kernel)

    def each(self, fragment: str, value: str) -> None:
        """Write a loop over the values that a work-item holds."""
        self.put("CUTE_UNROLL")
        self.put(f"for (int i = 0; i < {fragment}.size(); ++i) {fragment}(i) = {value};")

    def viewed(self, fragment: str, role: Role) -> str:
        """Return a fragment in the shape that a role wants."""
        if self.parts.roles[fragment] == role:
            return fragment
        return f"viewed<{fragment}_t, {role.fragment()}>({fragment})"

    def copied(self, memory: MemoryAccess) -> tuple[str, str]:
        """Return the name of a copy, and the coordinates of the tile that it moves."""
        name = self.parts.copies[memory.copy, memory.operand]
        places = [memory.at[m] if m is not None else Index() for m in memory.modes]
        at = ", ".join(map(plain_text, places))
        return name, f"tile_at(c{name}, typename {name}::Tiler_MN{{}}, make_coord({at}))"


@CUTE.of(ir.Fill)
def _(writer: CuteWriter, statement: ir.Fill) -> None:
    cpp = writer.kernel.fragment(statement.fragment).value_type.to_cpp()
    value = f"{statement.value:g}" if statement.value else "0"
    writer.put(f"fill({statement.fragment}, {cpp}({value}));")


@CUTE.of(ir.Load)
def _(writer: CuteWriter, statement: ir.Load) -> None:
    memory = statement.access
    registers = writer.viewed(memory.fragment, writer.parts.of_copy(memory))
    name, tile = writer.copied(memory)
    writer.put(f"copy(use{name}, thr{name}.partition_S({tile}), {registers});")


@CUTE.of(ir.Store)
def _(writer: CuteWriter, statement: ir.Store) -> None:
    memory = statement.access
    registers = writer.viewed(memory.fragment, writer.parts.of_copy(memory))
    name, tile = writer.copied(memory)
    writer.put(f"copy(use{name}, {registers}, thr{name}.partition_D({tile}));")


@CUTE.of(ir.Prefetch)
def _(writer: CuteWriter, statement: ir.Prefetch) -> None:
    name, tile = writer.copied(statement.access)
    writer.put(f"prefetch(use{name}, thr{name}.partition_S({tile}));")


@CUTE.of(ir.Reorder)
def _(writer: CuteWriter, statement: ir.Reorder) -> None:
    writer.put(f"reorder({statement.source}, {statement.destination});")


@CUTE.of(ir.Convert)
def _(writer: CuteWriter, statement: ir.Convert) -> None:
    source, destination = map(writer.kernel.fragment, (statement.source, statement.destination))
    types = source.value_type.name, destination.value_type.name
    value = converted(writer.kernel, *types, f"{statement.source}(i)")
    writer.each(statement.destination, value)


@CUTE.of(ir.Map)
def _(writer: CuteWriter, statement: ir.Map) -> None:
    writer.each(statement.destination, map_text(writer.kernel, statement))


@CUTE.of(ir.Mma)
def _(writer: CuteWriter, statement: ir.Mma) -> None:
    parts, mma = writer.parts, statement.mma
    if not is_declared(mma.atom.op):
        _refuse(writer.kernel, f"CuTe C++ does not declare {mma.atom.op.to_cpp()}")
    a = writer.viewed(statement.a, parts.of_mma(mma, "A"))
    b = writer.viewed(statement.b, parts.of_mma(mma, "B"))
    c = writer.viewed(statement.accumulator, parts.of_mma(mma, "C"))
    writer.put(f"gemm({parts.mmas[mma]}{{}}, {a}, {b}, {c});")


@CUTE.of(ir.BarrierArrive)
def _(writer: CuteWriter, _statement: ir.BarrierArrive) -> None:
    writer.put("barrier_arrive(ScopeWorkgroup);")


@CUTE.of(ir.BarrierWait)
def _(writer: CuteWriter, _statement: ir.BarrierWait) -> None:
    writer.put("barrier_wait(ScopeWorkgroup);")


@CUTE.of(ir.Loop)
def _(writer: CuteWriter, statement: ir.Loop) -> None:
    var, start, stop = statement.var, plain_text(statement.start), plain_text(statement.stop)
    writer.block(f"for (int {var} = {start}; {var} < {stop}; ++{var})", statement.body)


@CUTE.of(ir.If)
def _(writer: CuteWriter, statement: ir.If) -> None:
    writer.block(
        f"if ({plain_text(statement.index)} < {plain_text(statement.below)})", statement.body
    )


def cute(kernel: Kernel, headers: tuple[str, ...] = ("cute/tensor.hpp",)) -> str:
    """Return a kernel as CuTe C++: types, static assertions of the layouts, a device function."""
    demand_entries(kernel, CUTE)
    writer = CuteWriter(kernel)
    writer.body(kernel.body)
    parts = writer.parts
    types = [
        *(f"using {name} = {parts.mma_cpp(mma)};" for mma, name in parts.mmas.items()),
        *(f"using {name} = {parts.copy_cpp(copy)};" for (copy, _), name in parts.copies.items()),
        *(f"using {f.name}_t = {_fragment(parts, f.name)};" for f in kernel.fragments),
    ]
    arguments = ", ".join(f"{kind} {name}" for kind, name in parameters(kernel))
    made = (text for item in parts.copies.items() for text in _copy(kernel, *item))
    declared = (f"{f.name}_t {f.name};" for f in kernel.fragments)
    return "\n".join(
        [
            *(f"// {text}" for text in str(kernel).splitlines()),
            "",
            *(f"#include <{header}>" for header in headers),
            "",
            f"namespace {kernel.name}_xe {{",
            "using namespace cute;",
            "",
            RETYPED,
            "",
            HELPERS,
            "",
            "// The types.",
            *types,
            "",
            "// What pycute_xe claims of them.",
            *claims(parts),
            "",
            f"// For each of {16 * kernel.subgroups} work-items in subgroups of 16.",
            f"CUTE_DEVICE void {kernel.name}_device({arguments}) {{",
            *(f"  {text}" for text in (*made, *declared)),
            *writer.lines,
            "}",
            "",
            f"}} // namespace {kernel.name}_xe",
            "",
        ]
    )


def _fragment(parts: Parts, name: str) -> str:
    role, numeric = parts.roles[name], parts.kernel.fragment(name).value_type
    own = role.fragment()
    return own if parts.type_of(role) == numeric else f"retyped<{numeric.to_cpp()}, {own}>"


def parameters(kernel: Kernel) -> list[tuple[str, str]]:
    """Return type and name of each parameter: operands with strides, sizes, group, work-item."""
    out: list[tuple[str, str]] = []
    for operand in kernel.operands:
        cpp = operand.value_type.to_cpp()
        if not operand.modes:
            out.append((cpp, operand.name))
            continue
        out.append((cpp if operand.written else f"{cpp} const", f"*{operand.name}"))
        out += [("int64_t", _stride(operand, m)) for m in _strided(operand)]
    numbers = (*kernel.sizes, *(name for name, _ in kernel.grid), "thread")
    return [*out, *(("int", name) for name in numbers)]


def _strided(operand: Operand) -> list[int]:
    return [m for m in range(len(operand.modes)) if m != operand.contiguous]


def _stride(operand: Operand, mode: int) -> str:
    """The parameter that is the elements between neighbours along a mode."""
    single = _strided(operand) == [mode]
    return f"{operand.name}_ld" if single else f"{operand.name}_stride{mode}"


def _copy(kernel: Kernel, key: tuple[TiledCopy, str], name: str) -> list[str]:
    """The lines that make a copy of a tensor, its part for a work-item, and its coordinates."""
    copy, operand = key[0], kernel.operand(key[1])
    accesses = (statement.touched.memory for statement in kernel.statements())
    uses = [m for m in accesses if m is not None and (m.copy, m.operand) == key]
    modes = uses[0].modes
    rest = [m for m in range(len(operand.modes)) if m not in modes]
    first = [tuple(use.at[m] for m in rest) for use in uses]
    known = {*kernel.sizes, *(var for var, _ in kernel.grid)}
    fixed = all(index.names <= known for index in first[0])
    if any(use.modes != modes for use in uses) or len(set(first)) > 1 or not fixed:
        raise KernelError(
            "emit",
            {"kernel": kernel.name, "operand": operand.name},
            f"{name} moves tiles of several matrices of {operand.name}",
            'use emit(kernel, "opencl")',
        )
    # Two elements and more in a byte: a pointer counts bytes.
    packed = f" / {8 // bits}" if (bits := operand.value_type.bits) < 8 else ""
    base = "".join(
        f" + {_stride(operand, m)} * ({plain_text(at)}){packed}"
        for m, at in zip(rest, first[0], strict=True)
    )
    shape = [plain_text(operand.modes[m]) if m is not None else "1" for m in modes]
    stride = [_tensor_stride(operand, m, copy, shape, i) for i, m in enumerate(modes)]
    layout = f"make_layout(make_shape({', '.join(shape)}), make_stride({', '.join(stride)}))"
    tensor = f"make_tensor(make_gmem_ptr({operand.name}{base}), {layout})"
    return [
        f"auto use{name} = {name}{{}}.with({tensor});",
        f"auto thr{name} = use{name}.get_slice(thread);",
        f"auto c{name} = make_identity_tensor(make_shape({', '.join(shape)}));",
    ]


def _tensor_stride(
    operand: Operand, mode: int | None, copy: TiledCopy, shape: list[str], axis: int
) -> str:
    if axis == copy.x_mode:
        return "_1{}"
    # A vector is a matrix of one row, whose pitch is never walked.
    return f"int64_t({shape[copy.x_mode]})" if mode is None else _stride(operand, mode)
