"""Floor 9: values, indices and types of a kernel in MLIR, one line an operation."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite

from pycute_xe.emitting.numbers import as_f32, f32_bits
from pycute_xe.emitting.xegpu_tiles import swapped, unsaid
from pycute_xe.kernel import Index, Kernel, Operand
from pycute_xe.kernel.index import Looked, Quotient
from pycute_xe.numeric import Numeric, as_numeric, numerics

__all__ = ["Trip", "Values"]


@dataclass
class Trip:
    """A trip of a loop: what its body is given, what it leaves, and what the loop results in."""

    arguments: list[str]
    results: list[str]
    types: list[str]
    left: list[str] = field(default_factory=list[str])

    def leave(self, values: list[str]) -> None:
        """Say what the next trip begins with."""
        self.left = values


class Values:
    """The lines of a function; layouts and numbers that it names stand before them."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.lines: list[str] = []
        self.level = 3
        self.count = 0
        self.numbers: dict[int, str] = {}
        self.layouts: dict[str, str] = {}
        self.descriptors: dict[tuple[str, str], str] = {}
        self.first: list[str] = []

    def put(self, text: str) -> None:
        """Append a line at the present depth."""
        self.lines.append("  " * self.level + text)

    def fresh(self, stem: str = "v") -> str:
        """Return a name that no value has yet."""
        self.count += 1
        return f"%{stem}.{self.count}"  # a dot is in no name of the kernel

    def made(self, operation: str, stem: str = "v") -> str:
        """Write an operation and return the name of its result."""
        name = self.fresh(stem)
        self.put(f"{name} = {operation}")
        return name

    @staticmethod
    def extents(kernel: Kernel) -> tuple[Index, ...]:
        """Return M, N and K: the extents of the first two operands, the shared one last."""
        a, b = kernel.operands[:2]
        if len(a.modes) != 2 or len(b.modes) != 2:
            raise unsaid(a, "only matrices of two modes are said", "emit one matrix of the batch")
        return a.modes[0], b.modes[1], a.modes[1]

    @staticmethod
    def type_of(numeric: Numeric) -> str:
        """Return a type in MLIR; refuse those whose sign or width DPAS would have to guess."""
        found = numeric.row.mlir
        if not found:
            known = ", ".join(name for name in numerics() if as_numeric(name).row.mlir)
            raise unsaid(numeric, f"{numeric} has no type in this module", f"use one of {known}")
        return found

    def source_type(self, operand: Operand) -> str:
        """Return the type of an operand: a memref, or an address where it is read as dwords.

        The pass that makes dwords of transposed elements takes a memref of them for granted.
        """
        kind = self.type_of(operand.value_type)
        narrow = operand.contiguous == 0 and operand.value_type.bits < 32
        return "i64" if narrow else f"memref<?x?x{kind}>"

    def layout(self, name: str, text: str) -> str:
        """Return the alias of a layout; two of one name and another text get two aliases."""
        alias, number = f"#{name}", 1
        while self.layouts.setdefault(alias, text) != text:
            number += 1
            alias = f"#{name}{number}"
        return alias

    def number(self, value: int) -> str:
        """Return an integer constant."""
        return self.numbers.setdefault(value, f"%c.n{value}" if value >= 0 else f"%c.m{-value}")

    def index(self, index: Index) -> str:
        """Write an index and return its value; quotients round down."""
        out = self.number(index.offset) if index.offset or index.is_constant else ""
        for atom, factor in index.terms:
            if isinstance(atom, Looked):
                raise unsaid(index, f"{atom} is known only in a run", "use sizes and loops")
            value = f"%{atom}"
            if isinstance(atom, Quotient):
                inner = self.index(atom.index)
                divisor = self.number(atom.divisor)
                value = self.made(f"arith.floordivsi {inner}, {divisor} : index", "i")
            if factor != 1:
                value = self.made(f"arith.muli {value}, {self.number(factor)} : index", "i")
            out = self.made(f"arith.addi {out}, {value} : index", "i") if out else value
        return out

    def descriptor(self, operand: Operand, text: str) -> str:
        """Return the descriptor of an operand, made where the function begins."""
        key = operand.name, text
        if key not in self.descriptors:
            name = f"%{operand.name}.d{len(self.descriptors)}"
            self.descriptors[key] = name
            shape = [f"%{mode}" for mode in operand.modes]
            if any(not mode.is_simple for mode in operand.modes):
                raise unsaid(operand, "an extent that is computed is not said", "name it")
            shape = shape[::-1] if operand.contiguous == 0 else shape
            kind = self.source_type(operand)
            self.first.append(
                f"{name} = xegpu.create_nd_tdesc %{operand.name}, shape : [{', '.join(shape)}], "
                f"strides : [%{operand.name}.ld, {self.number(1)}] : {kind} -> {text}"
            )
        return self.descriptors[key]

    def _placed(
        self, operand: Operand, tile: tuple[int, int], layout: str, at: tuple[Index, ...]
    ) -> tuple[str, str, tuple[int, int]]:
        turned = operand.contiguous == 0
        shape = swapped(tile) if turned else tile
        kind = self.type_of(operand.value_type)
        text = f"!xegpu.tensor_desc<{shape[0]}x{shape[1]}x{kind}, {layout}>"
        places = [self.index(i) for i in (at[::-1] if turned else at)]
        return f"{self.descriptor(operand, text)}[{', '.join(places)}]", text, shape

    def load(
        self,
        operand: Operand,
        tile: tuple[int, int],
        layout: str,
        at: tuple[Index, ...],
        wanted: str,
    ) -> str:
        """Load a tile, rows first; one that lies columns first is transposed."""
        place, text, shape = self._placed(operand, tile, layout, at)
        kind = self.type_of(operand.value_type)
        vector = f"vector<{shape[0]}x{shape[1]}x{kind}>"
        stem, turned = operand.name.lower(), operand.contiguous == 0
        # The pass that deals a transposition reads the layout of the load itself.
        held = f" <{{layout = {layout}}}>" if turned else ""
        value = self.made(f"xegpu.load_nd {place}{held} : {text} -> {vector}", stem)
        if not turned:
            return value
        return self.transposed(value, vector, f"vector<{tile[0]}x{tile[1]}x{kind}>", wanted)

    def transposed(self, value: str, before: str, after: str, layout: str) -> str:
        """Exchange rows and columns of a tile."""
        told = f" {{layout_result_0 = {layout}}}"
        return self.made(f"vector.transpose {value}, [1, 0]{told} : {before} to {after}", "t")

    def prefetch(
        self, operand: Operand, tile: tuple[int, int], layout: str, at: tuple[Index, ...]
    ) -> None:
        """Bring a tile, given as it lies in memory, to the caches."""
        own = swapped(tile) if operand.contiguous == 0 else tile
        place, text, _ = self._placed(operand, own, layout, at)
        # Without a layout of its own a pass gives it a load's block, and spoils that load.
        self.put(f"xegpu.prefetch_nd {place} <{{layout = {layout}}}> : {text}")

    def store(
        self,
        operand: Operand,
        tile: tuple[int, int],
        layout: str,
        at: tuple[Index, ...],
        value: str,
        vector: str,
    ) -> None:
        """Store a tile."""
        place, text, shape = self._placed(operand, tile, layout, at)
        if operand.contiguous == 0:
            turned = f"vector<{shape[0]}x{shape[1]}x{self.type_of(operand.value_type)}>"
            value, vector = self.transposed(value, vector, turned, layout), turned
        self.put(f"xegpu.store_nd {value}, {place} : {vector}, {text}")

    def filled(self, value: float, vector: str, kind: str, layout: str) -> str:
        """Return a tile of one number."""
        text = str(int(value)) if kind.startswith("i") else _number(value, kind)
        told = f"{{layout_result_0 = {layout}}}"
        return self.made(f"arith.constant {told} dense<{text}> : {vector}", "fill")

    def multiplied(self, a: tuple[str, str], b: tuple[str, str], c: tuple[str, str]) -> str:
        """Multiply two tiles into a third."""
        values, types = ", ".join(x[0] for x in (a, b, c)), ", ".join(x[1] for x in (a, b, c))
        told = "{layout_a = #a, layout_b = #b, layout_cd = #c}"
        return self.made(f"xegpu.dpas {values} {told} : {types} -> {c[1]}", "acc")

    def converted(self, value: str, before: str, after: str, source: Numeric, to: Numeric) -> str:
        """Convert a tile between floats; refuse what MLIR would not round or saturate alike."""
        if source == to:
            return value
        if source.kind != "float" or to.kind != "float":
            raise unsaid(f"{source} to {to}", "conversions of integers saturate; MLIR's do not")
        verb = "truncf" if to.bits < source.bits else "extf"
        return self.made(
            f"arith.{verb} {value} {{layout_result_0 = #c}} : {before} to {after}", "to"
        )

    @contextmanager
    def block_if(self, index: Index, below: Index) -> Generator[None]:
        """Write what is done under a condition."""
        left, right = self.index(index), self.index(below)
        holds = self.made(f"arith.cmpi slt, {left}, {right} : index", "if")
        self.put(f"scf.if {holds} {{")
        self.level += 1
        yield
        self.level -= 1
        self.put("}")

    @contextmanager
    def block_for(
        self, var: str, start: Index, stop: Index, carried: list[tuple[str, str]]
    ) -> Generator[Trip]:
        """Write a loop that hands values from trip to trip."""
        low, high, step = self.index(start), self.index(stop), self.number(1)
        trip = Trip(
            [self.fresh("in") for _ in carried],
            [],
            [kind for _, kind in carried],
        )
        head, name = f"scf.for %{var} = {low} to {high} step {step}", ""
        if carried:
            name = self.fresh("out")
            pairs = zip(trip.arguments, carried, strict=True)
            given = ", ".join(f"{a} = {value}" for a, (value, _) in pairs)
            several = f":{len(carried)}" if len(carried) > 1 else ""
            head = f"{name}{several} = {head} iter_args({given}) -> ({', '.join(trip.types)})"
        self.put(f"{head} {{")
        self.level += 1
        yield trip
        if carried:
            self.put(f"scf.yield {', '.join(trip.left)} : {', '.join(trip.types)}")
        self.level -= 1
        self.put("}")
        trip.results = [f"{name}#{i}" if len(carried) > 1 else name for i in range(len(carried))]

    def text(self) -> str:
        """Return the module."""
        kernel = self.kernel
        matrices = [o for o in kernel.operands if o.modes]
        arguments = [f"%{o.name}: {self.source_type(o)}" for o in matrices]
        scalars = [o for o in kernel.operands if not o.modes]
        arguments += [f"%{o.name}: {self.type_of(o.value_type)}" for o in scalars]
        arguments += [f"%{size}: index" for size in kernel.sizes]
        arguments += [f"%{o.name}.ld: index" for o in matrices]
        axes = dict(zip("xyz", (name for name, _ in kernel.grid), strict=False))
        if len(kernel.grid) > 3:
            raise unsaid(kernel.name, "a grid has three axes at most", "join two of them")
        begin = [f"{n} = arith.constant {v} : index" for v, n in sorted(self.numbers.items())]
        begin += [f"%{name} = gpu.block_id {axis}" for axis, name in axes.items()]
        pad = "      "
        return "\n".join(
            (
                *(f"// {text}" for text in str(kernel).splitlines()),
                f"// {16 * kernel.subgroups} work-items a work-group; strides in elements",
                *(f"{alias} = {text}" for alias, text in sorted(self.layouts.items())),
                f"module @{kernel.name} attributes {{gpu.container_module}} {{",
                f"  gpu.module @{kernel.name} {{",
                f"    gpu.func @{kernel.name}({', '.join(arguments)}) kernel {{",
                *(pad + text for text in (*begin, *self.first)),
                *self.lines,
                "      gpu.return",
                "    }",
                "  }",
                "}",
                "",
            )
        )


def _number(value: float, kind: str) -> str:
    """A float as MLIR writes it; f32 alone has infinities here."""
    found = as_f32(value)
    if isfinite(found):
        return repr(found)
    if kind != "f32":
        raise unsaid(value, f"{value} cannot be filled into {kind}", "use f32")
    return f32_bits(value)
