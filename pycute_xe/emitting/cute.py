"""Floor 9: a kernel as CuTe C++ for CUTLASS on Intel, with what the library claims of it."""

from __future__ import annotations

from pycute_xe.atom import TiledCopy
from pycute_xe.emitting.cute_claims import HELPERS, claims
from pycute_xe.emitting.cute_parts import Parts, Role
from pycute_xe.emitting.cute_prelude import KEYWORDS, RETYPED
from pycute_xe.emitting.cute_values import converted, map_text
from pycute_xe.emitting.indices import plain_text
from pycute_xe.emitting.writer import Says, Writer, demand_said
from pycute_xe.errors import KernelError
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Convert,
    Fill,
    If,
    Kernel,
    Load,
    Loop,
    Map,
    Meanings,
    Mma,
    Operand,
    Prefetch,
    Reorder,
    Statement,
    Store,
)
from pycute_xe.kernel.index import Index

__all__ = ["CUTE", "cute"]

CUTE: Meanings[Says] = Meanings("emit")
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

    def tile(self, statement: Load | Store | Prefetch) -> str:
        """Return the coordinates of the tile that a copy moves."""
        name = self.parts.copies[statement.copy, statement.operand]
        places = [statement.at[m] if m is not None else Index() for m in statement.modes]
        at = ", ".join(map(plain_text, places))
        return f"tile_at(c{name}, typename {name}::Tiler_MN{{}}, make_coord({at}))"


@CUTE.of(Fill)
def _(writer: CuteWriter, statement: Fill) -> None:
    held = writer.kernel.fragment(statement.fragment).value_type.to_cpp()
    value = f"{statement.value:g}" if statement.value else "0"
    writer.put(f"fill({statement.fragment}, {held}({value}));")


@CUTE.of(Load)
def _(writer: CuteWriter, statement: Load) -> None:
    name = writer.parts.copies[statement.copy, statement.operand]
    role = writer.parts.of_copy(statement.copy, statement.operand)
    into = writer.viewed(statement.fragment, role)
    writer.put(f"copy(use{name}, thr{name}.partition_S({writer.tile(statement)}), {into});")


@CUTE.of(Store)
def _(writer: CuteWriter, statement: Store) -> None:
    name = writer.parts.copies[statement.copy, statement.operand]
    role = writer.parts.of_copy(statement.copy, statement.operand)
    held = writer.viewed(statement.fragment, role)
    writer.put(f"copy(use{name}, {held}, thr{name}.partition_D({writer.tile(statement)}));")


@CUTE.of(Prefetch)
def _(writer: CuteWriter, statement: Prefetch) -> None:
    name = writer.parts.copies[statement.copy, statement.operand]
    writer.put(f"prefetch(use{name}, thr{name}.partition_S({writer.tile(statement)}));")


@CUTE.of(Reorder)
def _(writer: CuteWriter, statement: Reorder) -> None:
    writer.put(f"reorder({statement.source}, {statement.destination});")


@CUTE.of(Convert)
def _(writer: CuteWriter, statement: Convert) -> None:
    source, destination = map(writer.kernel.fragment, (statement.source, statement.destination))
    types = source.value_type.name, destination.value_type.name
    value = converted(writer.kernel, *types, f"{statement.source}(i)")
    writer.each(statement.destination, value)


@CUTE.of(Map)
def _(writer: CuteWriter, statement: Map) -> None:
    writer.each(statement.destination, map_text(writer.kernel, statement))


@CUTE.of(Mma)
def _(writer: CuteWriter, statement: Mma) -> None:
    parts, mma = writer.parts, statement.mma
    a = writer.viewed(statement.a, parts.of_mma(mma, "A"))
    b = writer.viewed(statement.b, parts.of_mma(mma, "B"))
    c = writer.viewed(statement.accumulator, parts.of_mma(mma, "C"))
    writer.put(f"gemm({parts.mmas[mma]}{{}}, {a}, {b}, {c});")


@CUTE.of(BarrierArrive)
def _(writer: CuteWriter, _: Statement) -> None:
    writer.put("barrier_arrive(ScopeWorkgroup);")


@CUTE.of(BarrierWait)
def _(writer: CuteWriter, _: Statement) -> None:
    writer.put("barrier_wait(ScopeWorkgroup);")


@CUTE.of(Loop)
def _(writer: CuteWriter, statement: Loop) -> None:
    var, start, stop = statement.var, plain_text(statement.start), plain_text(statement.stop)
    writer.block(f"for (int {var} = {start}; {var} < {stop}; ++{var})", statement.body)


@CUTE.of(If)
def _(writer: CuteWriter, statement: If) -> None:
    writer.block(
        f"if ({plain_text(statement.index)} < {plain_text(statement.below)})", statement.body
    )


def cute(kernel: Kernel) -> str:
    """Return a kernel as CuTe C++: types, static assertions of the layouts, a device function."""
    demand_said(kernel, CUTE)
    writer = CuteWriter(kernel)
    _check_names(kernel)
    writer.body(kernel.body)
    parts = writer.parts
    types = [
        *(f"using {name} = {parts.mma_cpp(mma)};" for mma, name in parts.mmas.items()),
        *(f"using {name} = {parts.copy_cpp(copy)};" for (copy, _), name in parts.copies.items()),
        *(f"using {f.name}_t = {_fragment(parts, f.name)};" for f in kernel.fragments),
    ]
    arguments = ", ".join(f"{kind} {name}" for kind, name in _parameters(kernel))
    made = (text for item in parts.copies.items() for text in _copy(kernel, *item))
    declared = (f"{f.name}_t {f.name};" for f in kernel.fragments)
    return "\n".join(
        [
            *(f"// {text}" for text in str(kernel).splitlines()),
            "",
            "#include <cute/tensor.hpp>",
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
    role, held = parts.roles[name], parts.kernel.fragment(name).value_type
    own = role.fragment()
    return own if parts.held(role) == held else f"retyped<{held.to_cpp()}, {own}>"


def _parameters(kernel: Kernel) -> list[tuple[str, str]]:
    """(type, name) of each parameter: operands with their strides, sizes, work-group, work-item."""
    out: list[tuple[str, str]] = []
    for operand in kernel.operands:
        held = operand.value_type.to_cpp()
        if not operand.modes:
            out.append((held, operand.name))
            continue
        out.append((held if operand.written else f"{held} const", f"*{operand.name}"))
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
    uses = [
        s
        for s in kernel.statements()
        if isinstance(s, (Load, Store, Prefetch)) and (s.copy, s.operand) == key
    ]
    modes = uses[0].modes
    rest = [m for m in range(len(operand.modes)) if m not in modes]
    first = [tuple(s.at[m] for m in rest) for s in uses]
    known = {*kernel.sizes, *(var for var, _ in kernel.grid)}
    fixed = all(index.names <= known for index in first[0])
    if any(s.modes != modes for s in uses) or len(set(first)) > 1 or not fixed:
        raise KernelError(
            "emit",
            {"kernel": kernel.name, "operand": operand.name},
            f"{name} moves tiles of several matrices of {operand.name}",
            'use emit(kernel, "opencl")',
        )
    base = "".join(
        f" + {_stride(operand, m)} * ({plain_text(at)})"
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


def _check_names(kernel: Kernel) -> None:
    names = [name.lstrip("*") for _, name in _parameters(kernel)]
    names += [fragment.name for fragment in kernel.fragments]
    names += [s.var for s in kernel.statements() if isinstance(s, Loop)]
    bad = sorted({n for n in names if names.count(n) > 1 or KEYWORDS.fullmatch(n)} - {"thread"})
    if bad or names.count("thread") > 1:
        raise KernelError(
            "emit",
            {"kernel": kernel.name},
            f"{(*bad, 'thread')[0]} cannot be a name in C++, or would be the name of two things",
            "rename an operand, a fragment, a size or a variable",
        )
