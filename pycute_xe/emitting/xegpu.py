"""A kernel as a module of MLIR's XeGPU, at the level of a work-group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from pycute_xe.emitting.xegpu_values import (
    Deal,
    Ints,
    TileValue,
    Values,
    agree,
    dealt,
    loaded,
    multiplied_places,
    prefetched,
    swapped,
    tile_of,
    unsaid,
)
from pycute_xe.holding.tables import moved, multiplied
from pycute_xe.kernel import Element, Expression, Kernel, Meanings, Operand, Slot, Touched, walk
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.kernel.ir.effects import RegisterMove
from pycute_xe.kernel.ir.listing import line_in
from pycute_xe.kernel.spec.expression import Apply, Const
from pycute_xe.kernel.spec.functions import SEQUENCE, function
from pycute_xe.layout import size
from pycute_xe.numeric import Numeric

__all__ = ["XEGPU", "xegpu", "SEQUENCES", "widened"]

# ------------------------------------------------------------ xegpu maps
# The scalar functions of epilogues as MLIR's elementwise operations on tiles of f32.

_DEALT = "{layout_result_0 = #c}"


def computed(out: Values, value: Expression, fragments: dict[str, str], vector: str) -> str:
    """Compute a tile element by element; ``fragments`` are values by name."""
    match value:
        case Slot(name):
            return fragments[name]
        case Const(number):
            return Tile(out, vector).filled(number)
        case Element(operand, ()):
            one = widened(out, f"%{operand}", out.kernel.operand(operand).value_type)
            return out.made(f"vector.broadcast {one} {_DEALT} : f32 to {vector}", "all")
        case Apply(name, arguments):
            tile = Tile(out, vector)
            return tile.apply(name, *(computed(out, x, fragments, vector) for x in arguments))
        case _:
            raise unsaid(value, f"{value} has no operation here", "compute it on the host")


@dataclass(frozen=True)
class Tile:
    """What writes operations on tiles of f32, all of one type."""

    out: Values
    vector: str

    def filled(self, number: float) -> str:
        """Return a tile of one number."""
        return self.out.filled(number, self.vector, "f32", "#c")

    def operation(self, name: str, *values: str | float, types: str = "") -> str:
        """Write an operation of tiles and numbers."""
        read = ", ".join(v if isinstance(v, str) else self.filled(v) for v in values)
        return self.out.made(f"{name} {read} {_DEALT} : {types or self.vector}")

    def apply(self, name: str, *values: str | float) -> str:
        """Write a function of tiles and numbers; one that is made of others as these."""
        row = function(name, len(values))
        if row.of is not None:
            return row.unfolded(self.apply, *values)
        if row.mlir == SEQUENCE:
            return SEQUENCES[name](self, *values)
        if not row.mlir:
            raise unsaid(name, f"{name} has no operation here", "compute it on the host")
        return self.operation(row.mlir, *values)

    def chosen(
        self, condition: str, one: str | float, other: str | float, then: Any, otherwise: Any
    ) -> str:
        """Write one of two, by a comparison of two tiles."""
        where = self.operation(f"arith.cmpf {condition},", one, other)
        bits = self.vector.replace("xf32>", "xi1>")
        types = f"{bits}, {self.vector}"
        return self.operation("arith.select", where, then, otherwise, types=types)


def _sigmoid(tile: Tile, x: str) -> str:
    power = tile.apply("exp", tile.operation("arith.negf", x))
    return tile.apply("div", 1.0, tile.apply("add", 1.0, power))


def _gelu(tile: Tile, x: str) -> str:
    """Half of x, times 1 + erf(x / √2)."""
    error = tile.operation("math.erf", tile.apply("mul", x, 0.5**0.5))
    return tile.apply("mul", tile.apply("mul", x, 0.5), tile.apply("add", 1.0, error))


def _at_least(tile: Tile, x: str, y: str) -> str:
    return tile.chosen("oge", x, y, 1.0, 0.0)


def _below(tile: Tile, x: str, y: str) -> str:
    return tile.chosen("olt", x, y, x, -inf)


SEQUENCES: dict[str, Callable[..., str]] = {
    "sigmoid": _sigmoid,
    "gelu": _gelu,
    "at_least": _at_least,
    "below": _below,
}
"""By name: what writes a function of several operations."""


def widened(out: Values, value: str, numeric: Numeric, vector: str = "") -> str:
    """Return a float as f32: one number, or a tile whose type in f32 is ``vector``."""
    if numeric.name == "f32":
        return value
    if numeric.kind != "float":
        raise unsaid(numeric, "maps are said of floats", "convert first")
    kind, layout = out.type_of(numeric), f" {_DEALT}" if vector else ""
    before, after = (vector.replace("xf32>", f"x{kind}>"), vector) if vector else (kind, "f32")
    return out.made(f"arith.extf {value}{layout} : {before} to {after}", "wide")


# ------------------------------------------------------------ xegpu

XEGPU: Meanings[Callable[[Any, Any], None]] = Meanings("emit")
"""How each kind of statement is said in XeGPU."""


class Module:
    """The text of a kernel as it grows, and what its fragments hold."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.out = Values(kernel)
        self.values: dict[str, TileValue] = {}
        effects = (statement.touched for statement in walk(kernel.body))
        products = [t.product for t in effects if t.product is not None]
        if not products:
            raise unsaid(
                kernel.name,
                "the kernel multiplies nothing, so that no tiled MMA deals its tiles to subgroups",
                'emit it as "opencl"',
            )
        if len({product.mma for product in products}) > 1:
            raise unsaid(kernel.name, "two tiled MMAs of one kernel are not said", "emit each")
        self.mma = products[0].mma
        rows, columns, _ = (size(mode) for mode in self.mma.atom_layout_mnk)
        self.grid = rows, columns
        self.accumulators = {product.accumulator for product in products}

    def deal(self, given: object, places: Ints, tile: tuple[int, int]) -> Deal:
        """Return how the subgroups share a tile; refuse what is not one block each."""
        deal = dealt(places, tile, self.grid)
        if deal is None:
            raise unsaid(given, "the subgroups do not have one whole block of the tile each")
        return deal

    def body(self, body: tuple[ir.Statement, ...]) -> None:
        """Write statements, each behind its line of the listing."""
        for statement in body:
            self.out.put(f"// {line_in(self.kernel, statement)}")
            XEGPU[statement](self, statement)

    def in_memory(self, role: str, deal: Deal, operand: Operand) -> str:
        """Return the layout of a matrix that feeds an operand of DPAS, as it lies in memory."""
        if operand.contiguous != 0:
            return self.dealt_as(role, deal)
        block = swapped(self.instruction(role))
        return self.out.layout(f"{role.lower()}_in_memory", deal.turned.text(block))

    def dealt_as(self, role: str, deal: Deal, turned: bool = False) -> str:
        """Return the layout of an operand of DPAS; ``turned`` where it comes from its transpose."""
        name = self.out.layout(role.lower(), deal.text(self.instruction(role), turned))
        if name != f"#{role.lower()}":
            raise unsaid(self.kernel.name, f"{role} is dealt to the subgroups in two ways")
        return name

    def instruction(self, role: str) -> tuple[int, int]:
        """Return the block of an operand that one DPAS takes."""
        op = self.mma.atom.op
        return {"A": (op.M, op.K), "B": (op.K, op.N), "C": (op.M, op.N)}[role]


def _role(module: Module, operand: Operand) -> str:
    """Which operand of DPAS a matrix feeds, told by the extents that it has."""
    wanted = {"A": (0, 2), "B": (2, 1), "C": (0, 1)}
    names = [str(mode) for mode in operand.modes]
    known = {str(m): i for i, m in enumerate(module.out.extents(module.kernel))}
    extents = tuple(known.get(name, -1) for name in names)
    for role, modes in wanted.items():
        if extents == modes:
            return role
    raise unsaid(operand, "it is not a matrix over M, N and K", "emit kernels of matrices")


@XEGPU.of(ir.Fill)
def _(module: Module, statement: ir.Fill) -> None:
    fragment = module.kernel.fragment(statement.fragment)
    if fragment.name not in module.accumulators:
        raise unsaid(statement, "only accumulators are filled with a number")
    rows, columns, _ = module.mma.tile_mnk
    kind = module.out.type_of(fragment.value_type)
    tile = TileValue("", (rows, columns), kind, None)
    value = module.out.filled(statement.value, tile.type, kind, "#c")
    module.values[fragment.name] = replace(tile, value=value)


@XEGPU.of(ir.Load)
def _(module: Module, statement: ir.Load) -> None:
    operand = module.kernel.operand(statement.operand)
    tile = tile_of(statement.copy.tiler_mn, statement.modes)
    places, role = loaded(statement.copy, statement.modes), _role(module, operand)
    deal = module.deal(statement.copy, places, tile)
    source = module.in_memory(role, deal, operand)
    wanted = module.dealt_as(role, deal, role != "C" and operand.contiguous == 0)
    value = module.out.load(operand, tile, source, statement.at, wanted)
    kind = module.out.type_of(operand.value_type)
    module.values[statement.fragment] = TileValue(value, tile, kind, places)


@XEGPU.of(ir.Prefetch)
def _(module: Module, statement: ir.Prefetch) -> None:
    operand, copy = module.kernel.operand(statement.operand), statement.copy
    tile = tile_of(copy.tiler_mn, statement.modes)
    deal = module.deal(copy, prefetched(copy, statement.modes), tile)
    if operand.contiguous == 0:
        tile, deal = swapped(tile), deal.turned
    (high, wide), bits = deal.block, operand.value_type.bits
    text = deal.text((min(high, 8), min(wide, 256 // bits)))
    name = module.out.layout(f"{operand.name.lower()}_ahead", text)
    module.out.prefetch(operand, tile, name, statement.at)


@XEGPU.of(ir.Store)
def _(module: Module, statement: ir.Store) -> None:
    operand, values = module.kernel.operand(statement.operand), _read(module, statement.fragment)
    tile = tile_of(statement.copy.tiler_mn, statement.modes)
    places = loaded(statement.copy, statement.modes)
    agree(statement, values, places)
    deal = module.deal(statement.copy, places, tile)
    layout = module.in_memory("C", deal, operand)
    module.out.store(operand, tile, layout, statement.at, values.value, values.type)


@XEGPU.of(ir.Reorder)
def _(module: Module, statement: ir.Reorder) -> None:
    tile = _converted(module, statement.move)
    to, places = moved(statement.slots), tile.places
    if places is not None:
        if np.unique(to).size != to.size or to.size != places.shape[1]:
            raise unsaid(statement, "the reorder is not a permutation")
        after = np.empty_like(places)
        after[:, to] = places
        places = after
    module.values[statement.destination] = replace(tile, places=places)


@XEGPU.of(ir.Convert)
def _(module: Module, statement: ir.Convert) -> None:
    module.values[statement.destination] = _converted(module, statement.move)


def _converted(module: Module, move: RegisterMove) -> TileValue:
    """Return what a fragment holds in the type of another."""
    tile = _read(module, move.source)
    source, to = (module.kernel.fragment(n) for n in (move.source, move.destination))
    if move.slots is not None and source.value_type == to.value_type:
        return tile
    kind = module.out.type_of(to.value_type)
    made = replace(tile, kind=kind)
    value = module.out.converted(tile.value, tile.type, made.type, source.value_type, to.value_type)
    return replace(made, value=value)


@XEGPU.of(ir.Map)
def _(module: Module, statement: ir.Map) -> None:
    if statement.gathers:
        raise unsaid(statement, "a fragment that is broadcast is not said", "use a whole matrix")
    sources = {name: _read(module, name) for name in statement.sources}
    if not sources:
        raise unsaid(statement, "the map reads no fragment, so that its tile is not known")
    first, *others = sources.values()
    for tile in others:
        if first.places is not None and tile.places is not None:
            agree(statement, tile, first.places)
    kind = module.out.type_of(module.kernel.fragment(statement.destination).value_type)
    if kind != "f32":
        raise unsaid(statement, "maps are said with a result of f32", "compute in f32 and convert")
    wide = replace(first, kind=kind)
    names = {
        name: widened(module.out, tile.value, module.kernel.fragment(name).value_type, wide.type)
        for name, tile in sources.items()
    }
    value = computed(module.out, statement.value, names, wide.type)
    places = next((h.places for h in sources.values() if h.places is not None), None)
    module.values[statement.destination] = replace(wide, value=value, places=places)


@XEGPU.of(ir.Mma)
def _(module: Module, statement: ir.Mma) -> None:
    tables = multiplied(statement.mma)
    a, b, c = (_read(module, n) for n in (statement.a, statement.b, statement.accumulator))
    places = multiplied_places(statement, a, b, tables)
    agree(statement, c, places)
    deal = module.deal(statement.mma, places, (a.tile[0], b.tile[1]))
    module.dealt_as("C", deal)
    value = module.out.multiplied((a.value, a.type), (b.value, b.type), (c.value, c.type))
    module.values[statement.accumulator] = replace(c, value=value, places=places)


@XEGPU.of(ir.BarrierArrive)
def _(module: Module, _: ir.Statement) -> None:
    module.out.put("// the barrier below is whole: it arrives and waits")


@XEGPU.of(ir.BarrierWait)
def _(module: Module, _: ir.Statement) -> None:
    module.out.put("gpu.barrier")


@XEGPU.of(ir.If)
def _(module: Module, statement: ir.If) -> None:
    if not all(_only_prefetches(inner.touched) for inner in walk(statement.body)):
        raise unsaid(statement, "only prefetches are said under a condition")
    with module.out.block_if(statement.index, statement.below):
        module.body(statement.body)


def _only_prefetches(touched: Touched) -> bool:
    """Whether a statement brings a tile into the cache and does nothing else."""
    memory = touched.memory
    alone = Touched(memory=memory, indices=touched.indices)
    return memory is not None and memory.prefetches and touched == alone


@XEGPU.of(ir.Loop)
def _(module: Module, statement: ir.Loop) -> None:
    touched = [s.touched for s in walk(statement.body)]
    written = dict.fromkeys(n for t in touched for n in (*t.writes, *t.updates))
    carried = [name for name in written if name in module.values]
    entry = _carried(module, statement, carried)
    pairs = [(entry[n].value, entry[n].type) for n in carried]
    with module.out.block_for(statement.var, statement.start, statement.stop, pairs) as trip:
        for name, value in zip(carried, trip.arguments, strict=True):
            module.values[name] = replace(entry[name], value=value)
        module.body(statement.body)
        trip.leave([module.values[name].value for name in carried])
    for name, value in zip(carried, trip.results, strict=True):
        after = module.values[name]
        agree(statement, after, entry[name].places)
        module.values[name] = replace(after, value=value)
    for name in written:
        if name not in carried:
            del module.values[name]


def _carried(module: Module, statement: ir.Loop, names: list[str]) -> dict[str, TileValue]:
    """What fragments hold when a trip begins: one number in all elements may become a tile."""
    entry = {name: module.values[name] for name in names}
    if all(values.places is not None for values in entry.values()):
        return entry
    values, out = dict(module.values), module.out
    module.out = Values(module.kernel)  # the text of this first trip is thrown away
    module.body(statement.body)
    after, module.values, module.out = module.values, values, out
    return {
        n: replace(h, places=h.places if h.places is not None else after[n].places)
        for n, h in entry.items()
    }


def _read(module: Module, name: str) -> TileValue:
    values = module.values.get(name)
    if values is None:
        raise unsaid(name, f"{name} is read behind the loop that fills it", "fill it before")
    return values


def xegpu(kernel: Kernel) -> str:
    """Return a kernel as a module of XeGPU: one function over tiles of a work-group."""
    for statement in kernel.statements():
        XEGPU[statement]
    module = Module(kernel)
    module.body(kernel.body)
    return module.out.text()
