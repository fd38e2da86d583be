"""Which work-group of a kernel has which rows of which request, where tables decide it.

The grid, loops, conditions and places of the copies of one operand are evaluated at given tables;
what a work-group would move if its conditions were so is a ragged edge of its tile.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, product
from math import prod
from typing import Any, TypeAlias, cast

from pycute_xe.drawing.images import pair
from pycute_xe.drawing.scene import MARKS, Cell, Panel, Scene, demand_room, make_panel
from pycute_xe.drawing.style import COLOURS
from pycute_xe.errors import InputError, ShapeError, plural, quoted
from pycute_xe.kernel import If, Kernel, Loop, walk
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index
from pycute_xe.kernel.ir.effects import MemoryAccess
from pycute_xe.kernel.ir.operands import Operand, bind_sizes, shape_of
from pycute_xe.kernel.ir.statements import Statement

__all__ = ["no_product", "no_tables", "of_rows"]

Place: TypeAlias = tuple[int, ...]
LINE = 16
"""Rows in a line of the operand, where they are counted by one number."""


def of_rows(kernel: Kernel, what: str | None, tables: Mapping[str, Any]) -> Scene:
    """Return the rows of an operand that each work-group stores, or loads, at given tables.

    Raises `InputError` for tables and sizes that are missing or do not fit, `ShapeError` for an
    operand that no tiled copy moves, and for more rows than can be drawn.
    """
    dealt = _Dealt(kernel, _operand(kernel, what), tables)
    panels = [dealt.memory()]
    if dealt.operand.written:
        panels.insert(0, dealt.by_group())
    verb = "stores" if dealt.operand.written else "loads"
    title = f"Which rows of {dealt.operand.name} each work-group of {kernel.name} {verb}"
    return Scene(title, tuple(dealt.caption()), tuple(panels), str(dealt.request), dealt.legend())


def _operand(kernel: Kernel, what: str | None) -> Operand:
    """Return the operand that is asked for: without a name the first output."""
    accesses = map(_access, kernel.statements())
    moved = dict.fromkeys(access.operand for access in accesses if access is not None)
    every = dict.fromkeys((*kernel.outputs, *kernel.inputs))
    known = [o for o in every if o.name in moved]
    for operand in known:
        if what in (None, operand.name):
            return operand
    wrong = f"no tiled copy moves {'an operand' if what is None else what}"
    fix = f"one of {', '.join(o.name for o in known)}" if known else "draw its MMA or its copies"
    raise ShapeError("draw", {"kernel": kernel.name, "what": what}, wrong, fix)


@dataclass(frozen=True)
class _Tile:
    """What a work-group has: its subgroups by row, and why it leaves other rows of its tile out."""

    at: Mapping[str, int]
    request: int
    rows: Mapping[Place, tuple[int, ...]]
    left: Mapping[Place, str]

    @property
    def name(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.at.items())


class _Dealt:
    """The rows of an operand, dealt out to work-groups."""

    def __init__(self, kernel: Kernel, operand: Operand, tables: Mapping[str, Any]) -> None:
        self.kernel, self.operand = kernel, operand
        every = _moving(kernel.body, operand)
        self.moves = tuple(access for s in walk(every) if (access := _access(s)) is not None)
        self.modes = _row_modes(kernel, self.moves)
        rows = [move.at[mode] for move in self.moves for mode in self.modes]
        self.deciding = (*rows, *_conditions(every, _names(rows)))
        self.body = _once(every, _names(self.deciding))
        used = _names(self.deciding) | _names(_indices(self.body, If))
        self.names = tuple(name for name, _ in kernel.grid if name in used)
        self.request = self._request()
        self.tables = {n: x for n, x in tables.items() if n in {o.name for o in kernel.operands}}
        self.sizes = self._sizes(tables)

    def _request(self) -> Index:
        """What says whose rows they are: a variable of the grid, or an entry of a table."""
        looked = _looked([*self.deciding, *(index for move in self.moves for index in move.at)])
        for name in self.names:
            if name in looked:
                return Index(name)
        for index in _indices(self.kernel.body):  # the expert of a tile, the place of a token
            alone = index.looked_up and Index.of({index.looked_up[0]: 1}, 0) == index
            if alone and index.names and index.names <= set(self.names):
                return index
        return Index(self.names[0]) if self.names else Index()

    def _sizes(self, tables: Mapping[str, Any]) -> Mapping[str, int]:
        """Return sizes by name, those that say nothing of rows too: they are as good as any."""
        kernel, shapes = self.kernel, {name: _shape(x) for name, x in self.tables.items()}
        for name in tables:
            if name not in self.tables and name not in kernel.sizes:
                known = ", ".join([*(o.name for o in kernel.operands), *kernel.sizes])
                wrong = f"{name} is neither an operand nor a size of {kernel.name}"
                raise InputError("draw", {"tables": name}, wrong, f"one of {known}")
        for name, shape in shapes.items():
            rank = len(kernel.operand(name).modes)
            if len(shape) != rank:
                wrong = f"{name} has {plural(rank, 'mode')}, and was given with {len(shape)}"
                raise InputError("draw", {"tables": name}, wrong, f"give {name} as `run` takes it")
        counts = [count for name, count in kernel.grid if name in self.names]
        extents = [self.operand.modes[mode] for mode in self.modes]
        bound = {extent for name in shapes for extent in kernel.operand(name).extents}
        others = set(kernel.sizes) - _names([*self.deciding, *counts, *extents]) - bound
        given = {name: _integer(name, x) for name, x in tables.items() if name in kernel.sizes}
        for name, shape in shapes.items():  # as starts[E+1] has one entry more than E
            for mode, extent in zip(kernel.operand(name).modes, shape, strict=True):
                for size in mode.names:
                    if mode - mode.offset == Index(size):
                        given.setdefault(size, extent - mode.offset)
        self._demand_sizes(others | given.keys() | bound)
        known = dict.fromkeys(others, 1 << 10) | given
        sizes = bind_sizes(kernel.operands, shapes, known, "draw")
        if small := next((name for name, size in sizes.items() if size < 1), None):
            wrong = f"{small} is {sizes[small]}, not a size of 1 or more"
            fix = f'write "{small}": 16' if small in tables else "give longer tables"
            raise InputError("draw", {"tables": small}, wrong, fix)
        self._demand_kept(sizes, others - given.keys())
        return sizes

    def _demand_sizes(self, known: set[str]) -> None:
        """Raise `InputError` for a size that nothing says."""
        if unsaid := next((size for size in self.kernel.sizes if size not in known), None):
            wrong, fix = f"no table tells how large {unsaid} is", f'tables={{…, "{unsaid}": 64}}'
            raise InputError("draw", {"kernel": self.kernel.name}, wrong, f"say it there: {fix}")

    def _demand_kept(self, sizes: Mapping[str, int], unknown: set[str]) -> None:
        """Raise `InputError` where tables break what is assumed of them, as `run` does.

        Of what speaks of a table or of a size that is not given, nothing is known.
        """
        computes, modes = self.kernel.computes, {o.name: o.modes for o in self.kernel.operands}
        known = [
            one
            for one in (computes.tables if computes is not None else ())
            if one.tables <= self.tables.keys()
            and not any(law.sizes & unknown for law in one.laws(modes))
        ]
        if known:
            from pycute_xe.kernel.spec.table_checks import demand_kept

            given = {n: _integers(n, self.tables[n]) for one in known for n in one.tables}
            demand_kept("draw", self.kernel.name, known, modes, given, sizes)

    # ------------------------------------------------------------ evaluating

    @cached_property
    def tiles(self) -> tuple[_Tile, ...]:
        """What each work-group has, in the order of the grid."""
        counts = dict(self.kernel.grid)
        ranges = [range(max(0, self.value(counts[n], self.sizes))) for n in self.names]
        demand_room(f"{self.operand.name} of {self.kernel.name}", prod(map(len, ranges)))
        others = {name: 0 for name, _ in self.kernel.grid}
        return tuple(
            self.tile(others | dict(zip(self.names, at, strict=True))) for at in product(*ranges)
        )

    @cached_property
    def colours(self) -> Mapping[int, int]:
        """The number of each request among all, also of those without rows."""
        return {n: i for i, n in enumerate(sorted({tile.request for tile in self.tiles}))}

    def legend(self) -> tuple[str, ...]:
        """What each colour stands for, if there is a colour for each request."""
        return tuple(map(str, self.colours)) if len(self.colours) <= len(COLOURS) else ()

    def tile(self, at: Mapping[str, int]) -> _Tile:
        rows: dict[Place, tuple[int, ...]] = {}
        left: dict[Place, str] = {}
        shape = shape_of(self.operand, self.sizes)
        extents = [shape[mode] for mode in self.modes]
        for subgroup in range(self.kernel.subgroups):
            env = {**self.sizes, **at, SUBGROUP_INDEX: subgroup}
            for place, why in self.reached(self.body, env, ""):
                inside = all(0 <= x < extent for x, extent in zip(place, extents, strict=True))
                why = why or ("" if inside else f"it is outside of {self.operand.name}")
                if why:
                    left.setdefault(place, why)
                elif subgroup not in rows.get(place, ()):
                    rows[place] = (*rows.get(place, ()), subgroup)
                demand_room(f"{self.operand.name} of {self.kernel.name}", len(rows) + len(left))
        request = self.value(self.request, {**self.sizes, **at})
        missing = {place: why for place, why in left.items() if place not in rows}
        return _Tile({name: at[name] for name in self.names}, request, rows, missing)

    def reached(
        self, body: tuple[Statement, ...], env: Mapping[str, int], why: str
    ) -> Iterator[tuple[Place, str]]:
        """Yield the rows of the copies in a body, and why they are not moved; empty if they are."""
        for s in body:
            try:
                if isinstance(s, Loop):
                    for trip in range(self.value(s.start, env), self.value(s.stop, env)):
                        yield from self.reached(s.body, {**env, s.var: trip}, why)
                elif isinstance(s, If):
                    so = self.value(s.index, env) < self.value(s.below, env)
                    yield from self.reached(s.body, env, why or ("" if so else _not(s)))
                elif (access := _access(s)) is not None:
                    yield from ((place, why) for place in self.places(access, env))
            except InputError:
                if not why:  # else tables need not have what is not looked up
                    raise

    def places(self, move: MemoryAccess, env: Mapping[str, int]) -> Iterator[Place]:
        """Yield the rows that the messages of a subgroup reach."""
        copy, start = move.copy, [self.value(move.at[mode], env) for mode in self.modes]
        axes = {mode: axis for axis, mode in enumerate(move.modes) if mode in self.modes}
        wide = {copy.x_mode: copy.block.width, copy.y_mode: copy.block.height}
        for message in range(copy.messages):
            corner = pair(copy.anchors(env[SUBGROUP_INDEX], message))
            ranges = [
                range(first + corner[axes[mode]], first + corner[axes[mode]] + wide[axes[mode]])
                if mode in axes
                else (first,)
                for mode, first in zip(self.modes, start, strict=True)
            ]
            yield from product(*ranges)

    def value(self, index: Index, env: Mapping[str, int]) -> int:
        return index.at(env, self.entry)

    def entry(self, name: str, at: tuple[int, ...]) -> int:
        if name not in self.tables:
            wrong = f"rows depend on entries of {name}, which is not given"
            fix = f"give them: tables={{{name!r}: …}}"
            raise InputError("draw", {"kernel": self.kernel.name, "tables": name}, wrong, fix)
        table = self.tables[name]
        for place, extent in zip(at, _shape(table), strict=True):
            if not 0 <= place < extent:
                wrong = f"{name}[{', '.join(map(str, at))}] is looked up, and {name} has {extent}"
                raise InputError("draw", {"kernel": self.kernel.name}, wrong, "give other tables")
        for place in at:
            table = table[place]
        return _integer(name, table)

    # ------------------------------------------------------------ panels

    def by_group(self) -> Panel:
        """A line for each work-group, a cell for each row of its tile."""
        cells: list[Cell] = []
        for line, tile in enumerate(self.tiles):
            columns = count()
            for place in dict.fromkeys((*tile.rows, *tile.left)):
                cells.append(self._mine(tile, line, next(columns), place))
            if not next(columns):
                cells.append(Cell(line, 0, None, ("·",), (), f"{tile.name} has no row"))
        panel = make_panel("work-groups", cells, ("", "rows of its tile"), False, (0, 0))
        return panel.headed("row of its tile", (), (), tuple(t.name for t in self.tiles))

    def _mine(self, tile: _Tile, line: int, column: int, place: Place) -> Cell:
        name = f"row {','.join(map(str, place))} of {self.operand.name}"
        if place in tile.left:
            return Cell(line, column, None, ("·",), (), f"not {name}: {tile.left[place]}")
        words = ",".join(map(str, tile.rows[place]))
        tip = f"{tile.name} has {name}, by subgroup {words}"
        data = (("request", tile.request), ("group", line), ("row", place[-1]))
        label = tuple(map(str, place))[-2:]
        return Cell(line, column, self.colours[tile.request], label, data, tip, joint=",")

    def memory(self) -> Panel:
        """The operand's rows where they lie, and whose each is."""
        shape = shape_of(self.operand, self.sizes)
        extents = [shape[mode] for mode in self.modes]
        demand_room(f"{self.operand.name} of {self.kernel.name}", prod(extents))
        cells = [
            cell for n, place in enumerate(product(*map(range, extents)))
            for cell in self._there(place, divmod(n, LINE if len(extents) == 1 else extents[-1]))
        ]  # fmt: skip
        panel = make_panel(
            self.operand.name, cells, ("row", "row"), False, (0, int(self.operand.written))
        )
        if len(extents) == 1:
            names = tuple(str(row * LINE) for row in panel.rows)
            return panel.headed("row + 0 to 15", (), (), names) if len(names) > 1 else panel
        outer = self.operand.modes[self.modes[0]]
        return replace(panel, row_axis=str(outer))

    def _there(self, place: Place, at: tuple[int, int]) -> Iterator[Cell]:
        owners = self.owners[place]
        name = f"row {','.join(map(str, place))} of {self.operand.name}"
        if not owners:
            yield Cell(*at, None, ("·",), (), f"no work-group has {name}")
        twice = self.operand.written and len(owners) > 1
        shown = owners if self.operand.written else list({t.request: t for t in owners}.values())
        for tile in shown:
            label = tuple(map(str, tile.at.values()))[:2] if self.operand.written else ()
            data = (("request", tile.request), ("row", place[-1]))
            tip = f"{tile.name} has {name}"
            label = label or (str(tile.request),)
            yield Cell(*at, self.colours[tile.request], label, data, tip, wrong=twice, joint=",")

    @cached_property
    def owners(self) -> Mapping[Place, list[_Tile]]:
        out: dict[Place, list[_Tile]] = defaultdict(list)
        for tile in self.tiles:
            for place in tile.rows:
                out[place].append(tile)
        return out

    # ------------------------------------------------------------ caption

    def caption(self) -> Iterator[str]:
        asked = [*self.deciding, *(i for move in self.moves for i in move.at), self.request]
        looked = {one.operand for index in asked for one in index.looked_up}
        given = [f"{name} = {_short(self.tables[name])}" for name in self.tables if name in looked]
        if given:
            yield f"{'; '.join(given)}."
        alike = [name for name, _ in self.kernel.grid if name not in self.names]
        same = f", whatever {' and '.join(alike)}" if alike else ""
        along = " and ".join(str(self.operand.modes[mode]) for mode in self.modes)
        rows = f"rows of {self.operand.name} along {along}"
        if self.operand.written:
            yield f"Above: a line for each work-group{same}, and the rows that it stores;"
            yield "a dot is a row of its tile that it leaves out."
            owner = " and ".join(self.names)
            yield f"Below: {rows}, with {owner} of the work-group."
        else:
            yield f"Colours and numbers: {self.request} of what loads the {rows}{same}."
        twice = sum(len(tiles) > 1 for tiles in self.owners.values())
        if self.operand.written and twice:
            several = f"{plural(twice, 'row')} {'is' if twice == 1 else 'are'}"
            yield f"WRONG: {several} stored by several work-groups ({MARKS})."


def _moving(body: tuple[Statement, ...], operand: Operand) -> tuple[Statement, ...]:
    """Return the stores of an output in a body, or the loads of an input, and what they are in."""
    kept: list[Statement] = []
    for s in body:
        access, touched = _access(s), s.touched
        if isinstance(s, (Loop, If)):
            inside = _moving(s.body, operand)
            kept += [replace(s, body=inside)] if inside else []
        elif access is not None and access.operand == operand.name:
            kept += [s] if access.stores == operand.written else []
        elif operand.name in (touched.to_memory if operand.written else touched.from_memory):
            wrong = f"{type(s).__name__} does not declare which rows of {operand.name} it moves"
            raise ShapeError("draw", {"what": operand.name}, wrong, "draw another operand")
    return tuple(kept)


def _access(statement: Statement) -> MemoryAccess | None:
    """Return the tile that a statement moves; None where it moves none, or prefetches it."""
    memory = statement.touched.memory
    return None if memory is None or memory.prefetches else memory


def _once(body: tuple[Statement, ...], used: frozenset[str]) -> tuple[Statement, ...]:
    """Return a body that goes once through loops whose trips all move the same rows."""
    kept: list[Statement] = []
    for s in body:
        match s:
            case Loop(var, start, stop, inner) if var in used:
                kept.append(Loop(var, start, stop, _once(inner, used)))
            case Loop(_, index, below, inner) | If(index, below, inner):
                kept.append(If(index, below, _once(inner, used)))
            case _:
                kept.append(s)
    return tuple(kept)


def _conditions(body: tuple[Statement, ...], used: frozenset[str]) -> tuple[Index, ...]:
    """Return what decides whether rows are moved: conditions, and trips that move other rows."""
    out: list[Index] = list(_indices(body, If))
    loops = [s for s in walk(body) if isinstance(s, Loop)]
    for loop in reversed(loops):  # the bounds of inner ones may name outer ones
        if loop.var in used | _names(out):
            out += [loop.start, loop.stop]
    return tuple(out)


def _row_modes(kernel: Kernel, moves: tuple[MemoryAccess, ...]) -> tuple[int, ...]:
    """Return the modes that count rows: those that tables decide, else the rows of a tile."""
    looked = _looked(_indices(kernel.body))
    counting: dict[int, None] = {}
    for move in moves:
        for mode, index in enumerate(move.at):
            if index.looked_up or (index.names and index.names <= looked):
                counting[mode] = None
    down = moves[0].modes[moves[0].copy.y_mode]
    return tuple(sorted(counting)) or (down if down is not None else 0,)


def _indices(body: tuple[Statement, ...], kind: type[Statement] = Statement) -> Iterator[Index]:
    for s in walk(body):
        if isinstance(s, kind):
            yield from s.touched.indices


def _names(indices: Iterable[Index]) -> frozenset[str]:
    return frozenset(name for index in indices for name in index.names)


def _looked(indices: Iterable[Index]) -> frozenset[str]:
    """Return the names by which tables are looked up."""
    entries = (one for index in indices for one in index.looked_up)
    return _names(inner for one in entries for inner in one.at)


def _not(s: If) -> str:
    return f"{s.index} < {s.below} is not so"


def _shape(table: Any) -> tuple[int, ...]:
    shape = getattr(table, "shape", None)
    if shape is not None:
        return tuple(shape)
    if not isinstance(table, (list, tuple)):
        return ()
    rows = cast("list[Any] | tuple[Any, ...]", table)
    inner = {_shape(row) for row in rows}
    if len(inner) > 1:
        wrong = "its rows are not of one length"
        raise InputError("draw", {"tables": quoted(rows)}, wrong, "give rows that are")
    return (len(rows), *next(iter(inner), ()))


def _integer(name: str, value: Any) -> int:
    """Return an entry of a table, or a size. Raises `InputError` for no integer of 64 bits."""
    try:
        entry = operator.index(value)
    except TypeError:
        wrong = f"{quoted(value)} is not an integer"
        raise InputError("draw", {"tables": name}, wrong, "give integers") from None
    if not -(1 << 63) <= entry < 1 << 63:
        wrong = f"{quoted(value)} is not an integer of 64 bits"
        raise InputError("draw", {"tables": name}, wrong, "give integers of its type")
    return entry


def _integers(name: str, table: Any) -> Any:
    """Return the entries of a table as lists. Raises `InputError` for what is not an integer."""
    if not _shape(table):
        return _integer(name, table)
    return [_integers(name, part) for part in table]


def _short(table: Any) -> str:
    """A table in a caption; a long one is only named."""
    shape = _shape(table)
    if not shape:
        return str(_integer("tables", table))
    if prod(shape) > 64:
        return f"{' × '.join(map(str, shape))} entries"
    if len(shape) == 1:
        return " ".join(str(_integer("tables", x)) for x in table)
    return " / ".join(_short(row) for row in table)


def no_product(kernel: Kernel) -> ShapeError:
    """Return the refusal of a kernel without an MMA, of which no sizes are given."""
    indices = [*_indices(kernel.body), *(count for _, count in kernel.grid)]
    tables = {one.operand for index in indices for one in index.looked_up}
    given = ", ".join(f'"{name}": …' for name in sorted({*kernel.sizes, *tables}))
    return ShapeError(
        "draw",
        {"kernel": kernel.name},
        "it multiplies nothing: no MMA reads its registers",
        f"draw(kernel, tables={{{given}}}) shows which work-group stores what",
    )


def no_tables(x: object) -> ShapeError:
    """Return the refusal of tables, of what looks none up."""
    return ShapeError(
        "draw",
        {"x": type(x).__name__},
        "tables belong to a kernel, and are drawn without a view or colours",
        "draw(kernel, tables={...})",
    )
