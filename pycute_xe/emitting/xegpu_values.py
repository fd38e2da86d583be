"""Values, indices and types of a kernel in MLIR, one line an operation."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite

import numpy as np

from pycute_xe.atom import TiledCopy
from pycute_xe.emitting.instructions import as_f32, f32_bits
from pycute_xe.errors import KernelError
from pycute_xe.holding.tables import Multiplied, anchors, copied
from pycute_xe.kernel import Index, Kernel, Operand
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import Looked, Quotient
from pycute_xe.numeric import Numeric, as_numeric, numerics

__all__ = [
    "Trip",
    "Values",
    "Deal",
    "TileValue",
    "Ints",
    "agree",
    "dealt",
    "loaded",
    "multiplied_places",
    "prefetched",
    "swapped",
    "tile_of",
    "unsaid",
]

# ------------------------------------------------------------ xegpu tiles
# Tiles of a work-group as XeGPU says them: a matrix dealt to a grid of subgroups.
#
# XeGPU names whole tiles where a kernel names registers. What a fragment holds is therefore
# followed as a table, (subgroup, element) → (row, column) in the tile, and held against what is
# read from it.

NOWHERE = -1
"""The place of a register element that no element of the tile fills."""


def swapped(pair: tuple[int, int]) -> tuple[int, int]:
    """Return the two the other way round."""
    return pair[1], pair[0]


def unsaid(given: object, condition: str, fix: str = "") -> KernelError:
    """Return the refusal of something that XeGPU cannot say."""
    return KernelError("emit", {"to": "xegpu", "given": given}, condition, fix)


@dataclass(frozen=True)
class Deal:
    """A tile cut in equal blocks and dealt to a grid of subgroups, around again where blocks end.

    ``order`` is which mode of the grid runs fastest in a subgroup's number, 0 or 1.
    """

    grid: tuple[int, int]
    block: tuple[int, int]
    fastest: int

    def text(self, instruction: tuple[int, int], ordered: bool = False) -> str:
        """Return the attribute, with the block that one instruction takes.

        The order that is usual is said where it is asked for: MLIR compares the two layouts of a
        transposition only if both say theirs, and elsewhere passes drop it.
        """
        usual = ", order = [1, 0]" if ordered else ""
        order = usual if self.fastest == 1 else ", order = [0, 1]"
        return (
            f"#xegpu.layout<sg_layout = {list(self.grid)}, sg_data = {list(self.block)}, "
            f"inst_data = {list(instruction)}{order}>"
        )

    @property
    def turned(self) -> Deal:
        """The same deal of the tile with its modes exchanged."""
        return Deal(swapped(self.grid), swapped(self.block), 1 - self.fastest)

    def origins(self, tile: tuple[int, int], subgroups: int) -> Ints:
        """Return where the block of each subgroup begins."""
        number = np.arange(subgroups)
        fast, slow = number % self.grid[self.fastest], number // self.grid[self.fastest]
        place = (slow, fast) if self.fastest == 1 else (fast, slow)
        return np.stack([p * b % t for p, b, t in zip(place, self.block, tile, strict=True)], 1)


@dataclass(frozen=True, eq=False)
class TileValue:
    """A value, its tile, its type; and which place of the tile each register element holds.

    ``places`` is ``None`` where every element holds the same number.
    """

    value: str
    tile: tuple[int, ...]
    kind: str
    places: Ints | None

    @property
    def type(self) -> str:
        """The type of the value in MLIR."""
        return f"vector<{'x'.join(map(str, self.tile))}x{self.kind}>"


def dealt(places: Ints, tile: tuple[int, int], like: tuple[int, int]) -> Deal | None:
    """Return how a tile is dealt, where each subgroup has one whole block; else ``None``.

    ``places`` is (subgroup, element, mode). Of grids that say the same, the one ``like`` another
    tile's comes first.
    """
    subgroups, count = places.shape[:2]
    low, high = places.min(axis=1), places.max(axis=1)
    block = high[0] - low[0] + 1
    if (high - low + 1 != block).any() or int(block.prod()) > count:
        return None
    inside = (places - low[:, None]) @ np.array([block[1], 1])
    if any(np.unique(row).size != block.prod() for row in inside):
        return None
    rows = sorted(
        (n for n in range(1, subgroups + 1) if subgroups % n == 0), key=lambda n: n != like[0]
    )
    for first in rows:
        for fastest in (1, 0):
            grid = first, subgroups // first
            deal = Deal(grid, (int(block[0]), int(block[1])), fastest)
            if np.array_equal(deal.origins(tile, subgroups), low):
                return deal
    return None


def tile_of(copy_tile: tuple[int, ...], modes: tuple[int | None, ...]) -> tuple[int, int]:
    """Return the extents of a copy's tile in the order of the operand's modes."""
    sizes = [copy_tile[modes.index(m)] for m in sorted(m for m in modes if m is not None)]
    if len(sizes) != 2:
        raise unsaid(modes, "only tiles of two modes are said; a vector is not")
    return sizes[0], sizes[1]


def loaded(copy: TiledCopy, modes: tuple[int | None, ...]) -> Ints:
    """Return (subgroup, register element, mode of the operand) → place in the tile."""
    moved = copied(copy)
    places = np.where(moved.padded[None, :, None], NOWHERE, moved.places)
    places = places[:, : copy.messages * copy.atom.values * 16]
    order = [modes.index(m) for m in sorted(m for m in modes if m is not None)]
    return places[..., order]


def prefetched(copy: TiledCopy, modes: tuple[int | None, ...]) -> Ints:
    """Return (subgroup, element, mode of the operand) → place, of what messages bring to caches."""
    starts, atom = anchors(copy), copy.block
    inside = np.zeros((atom.height * atom.width, starts.shape[2]), dtype=np.int64)
    y, x = np.indices((atom.height, atom.width))
    inside[:, copy.y_mode], inside[:, copy.x_mode] = y.ravel(), x.ravel()
    places = (starts[:, :, None, :] + inside).reshape(starts.shape[0], -1, starts.shape[2])
    return places[..., [modes.index(m) for m in sorted(m for m in modes if m is not None)]]


def agree(given: object, tile: TileValue, places: Ints | None) -> None:
    """Refuse registers that hold a tile in another order than they are read in."""
    if tile.places is not None and places is not None and not np.array_equal(tile.places, places):
        raise unsaid(
            given,
            "the registers hold the tile in another order than the statement reads it in",
            "verify(kernel) shows an element",
        )


def multiplied_places(given: object, a: TileValue, b: TileValue, tables: Multiplied) -> Ints:
    """Return the places of a product's elements; refuse registers that DPAS reads otherwise."""
    if a.places is None or b.places is None:
        raise unsaid(given, "a number in every element is multiplied", "load both factors")
    left, right = a.places[:, tables.a], b.places[:, tables.b]
    row, column = left[:, :, :1, 0], right[:, :, :1, 1]
    depth, depth_b = left[:, :1, :, 1], right[:, :1, :, 0]
    whole = np.array_equal(np.sort(depth[:, 0]), np.tile(np.arange(a.tile[1]), (len(depth), 1)))
    same = (left[..., 0] == row).all() and (left[..., 1] == depth).all()
    same = same and (right[..., 1] == column).all() and (right[..., 0] == depth_b).all()
    if not (same and whole and np.array_equal(depth, depth_b) and a.tile[1] == b.tile[0]):
        raise unsaid(
            given,
            "the registers do not hold the rows, the columns and the depth that DPAS multiplies",
            "verify(kernel) shows an element",
        )
    places = np.empty((len(left), tables.c.size, 2), dtype=np.int64)
    places[:, tables.c, 0] = row[:, :, 0][:, :, None]
    places[:, tables.c, 1] = column[:, :, 0][:, None, :]
    return places


# ------------------------------------------------------------ xegpu values


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
        text = numeric.row.mlir
        if not text:
            known = ", ".join(name for name in numerics() if as_numeric(name).row.mlir)
            raise unsaid(numeric, f"{numeric} has no type in this module", f"use one of {known}")
        return text

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
        attribute = f" <{{layout = {layout}}}>" if turned else ""
        value = self.made(f"xegpu.load_nd {place}{attribute} : {text} -> {vector}", stem)
        if not turned:
            return value
        return self.transposed(value, vector, f"vector<{tile[0]}x{tile[1]}x{kind}>", wanted)

    def transposed(self, value: str, before: str, after: str, layout: str) -> str:
        """Exchange rows and columns of a tile."""
        attribute = f" {{layout_result_0 = {layout}}}"
        return self.made(f"vector.transpose {value}, [1, 0]{attribute} : {before} to {after}", "t")

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
        attribute = f"{{layout_result_0 = {layout}}}"
        return self.made(f"arith.constant {attribute} dense<{text}> : {vector}", "fill")

    def multiplied(self, a: tuple[str, str], b: tuple[str, str], c: tuple[str, str]) -> str:
        """Multiply two tiles into a third."""
        values, types = ", ".join(x[0] for x in (a, b, c)), ", ".join(x[1] for x in (a, b, c))
        layouts = "{layout_a = #a, layout_b = #b, layout_cd = #c}"
        return self.made(f"xegpu.dpas {values} {layouts} : {types} -> {c[1]}", "acc")

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
    number = as_f32(value)
    if isfinite(number):
        return repr(number)
    if kind != "f32":
        raise unsaid(value, f"{value} cannot be filled into {kind}", "use f32")
    return f32_bits(value)
