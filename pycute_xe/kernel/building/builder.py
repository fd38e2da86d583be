"""Floor 7: a kernel from nothing, a line for each statement, checked where it is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from pycute_xe.atom.block2d_copy import make_block_2d_prefetch
from pycute_xe.atom.reordering import is_identity
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import KernelError
from pycute_xe.kernel.building.spread import Share, Spread, contiguous_axis, modes_of
from pycute_xe.kernel.index import (
    ELEMENT_INDEX,
    SUBGROUP_INDEX,
    Condition,
    Index,
    as_index,
)
from pycute_xe.kernel.ir.checks import check_names, check_statement
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Fragment, Operand, Order, Role, Shared, matrix
from pycute_xe.kernel.ir.paths import check_barriers, check_defined, is_arrived
from pycute_xe.kernel.ir.program import Program
from pycute_xe.kernel.ir.statements import (
    AtomicStore,
    BarrierArrive,
    BarrierWait,
    Convert,
    Fence,
    Fill,
    If,
    Load,
    Loop,
    Map,
    Mma,
    Prefetch,
    Reduce,
    Reorder,
    SharedLoad,
    SharedStore,
    Statement,
    Store,
)
from pycute_xe.kernel.kinds.parts import by_registers, operand_copy
from pycute_xe.kernel.spec.equations import Notation, read_claim
from pycute_xe.kernel.spec.expression import Element, Expression, Slot, Total, leaves, parts
from pycute_xe.kernel.spec.specification import Claim, Specification
from pycute_xe.layout import Layout, size
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed
from pycute_xe.swizzle import Swizzle

__all__ = ["KernelBuilder"]

Tile: TypeAlias = tuple[int, int]
Tiling: TypeAlias = "Share | TiledCopy | Spread | Tile"
"""A share of an MMA, a tiled copy, rows or columns of a fragment, or a tile in equal parts."""

Extents: TypeAlias = tuple[str | int | Index, ...]
At: TypeAlias = "tuple[Index | int | str, ...] | Index | int | str"


@dataclass
class _Block:
    """Statements of a loop or condition that is still open, and whether it began arrived."""

    head: Loop | If | None
    arrived: bool
    body: list[Statement] = field(default_factory=list[Statement])


@dataclass(frozen=True)
class _Array:
    """A tile in shared memory: where its elements lie in a stage, and how they are permuted."""

    tile: Tile
    place: Layout
    swizzle: Swizzle | None


class KernelBuilder:
    """Write a kernel line by line; a line that does not fit raises `KernelError` there.

    Fragments are declared by the statements that fill them: a name comes first, as on the left of
    an equation, and type, size and the spread over subgroups follow from the tiling. The listing
    of the kernel has the order of the lines. ``subgroups`` are those of a work-group, or a tiled
    MMA, whose subgroups they are and which `mma` multiplies by. C++: what ``CollectiveMainloop``
    and ``CollectiveEpilogue`` say in one.

    >>> import pycute_xe as cx
    >>> k = KernelBuilder("relu", 8)
    >>> A, D = k.input("A", "f32", ("M", "N")), k.output("D", "f32", ("M", "N"))
    >>> m, n = k.grid(m=cx.kernel.Tiles("M", 64), n=cx.kernel.Tiles("N", 64))
    >>> k.load("x", A, (64, 64), at=(m * 64, n * 64))
    >>> k.map("y", "relu(x)")
    >>> k.store(D, "y", at=(m * 64, n * 64))
    >>> k.computes("D[m,n] = relu(A[m,n])")
    >>> print(*str(k.build()).splitlines()[3:], sep="\\n")
      for each work-group m < ceil_div(M, 64), n < ceil_div(N, 64); for each of 8 subgroups
        copy      A[64*m, 64*n] → x  by 1 × XE_LOAD_2D<32,32,16>
        map       y = relu(x)
        copy      y → D[64*m, 64*n]  by 4 × XE_STORE_2D<32,8,16>
    """

    @typed
    def __init__(self, name: str, subgroups: int | TiledMma) -> None:
        """Begin a kernel without operands."""
        self._mma = subgroups if isinstance(subgroups, TiledMma) else None
        count = subgroups.num_subgroups if isinstance(subgroups, TiledMma) else subgroups
        self._parts = Program(name, count, (), (), (), ())
        self._blocks = [_Block(None, arrived=False)]
        self._claims: tuple[Claim, ...] = ()
        self._spreads: dict[str, Spread | None] = {}
        self._arrays: dict[str, _Array] = {}

    # ------------------------------------------------------------------ what there is

    @typed
    def operand(
        self, name: str, numeric: Numeric | str, modes: Extents, role: Role, order: Order = "row"
    ) -> Operand:
        """Declare an operand in memory; scalars have no modes, matrices an order."""
        if len(modes) < 2:
            made = Operand(name, numeric, modes, role=role)
        else:
            made = matrix(name, numeric, modes, order, role)
        self._declare(operands=(*self._parts.operands, made))
        return made

    def input(
        self, name: str, numeric: Numeric | str, modes: Extents = (), order: Order = "row"
    ) -> Operand:
        """Declare an operand that the kernel reads."""
        return self.operand(name, numeric, modes, "in", order)

    def output(
        self, name: str, numeric: Numeric | str, modes: Extents, order: Order = "row"
    ) -> Operand:
        """Declare an operand that the kernel writes."""
        return self.operand(name, numeric, modes, "out", order)

    def inout(
        self, name: str, numeric: Numeric | str, modes: Extents, order: Order = "row"
    ) -> Operand:
        """Declare an operand that the kernel reads and writes, such as one that it adds to."""
        return self.operand(name, numeric, modes, "inout", order)

    @typed
    def shared(
        self,
        name: str,
        numeric: Numeric | str,
        tile: Tile,
        stages: int = 1,
        *,
        layout: Layout | None = None,
        swizzle: Swizzle | None = None,
    ) -> None:
        """Declare an array of shared memory for a tile, or for several stages of it.

        ``layout`` says where an element of the tile lies in a stage, by rows where none is given.
        """
        elements = tile[0] * tile[1]
        place = Layout(tile, (tile[1], 1)) if layout is None else layout
        if [size(mode) for mode in place] != list(tile):
            wrong = f"{place} is not a map of the tile {tile}"
            raise self._refused({"shared": name}, wrong, f"use Layout({tile}, ({tile[1]}, 1))")
        self._declare(
            shared=(*self._parts.shared, Shared(name, as_numeric(numeric), stages * elements))
        )
        self._arrays[name] = _Array(tile, place, swizzle)

    @typed
    def grid(self, **counts: Index | int | str) -> tuple[Index, ...]:
        """Declare axes of the grid, each with its number of work-groups; return the variables."""
        grid = tuple((name, as_index(count)) for name, count in counts.items())
        self._declare(grid=(*self._parts.grid, *grid))
        return tuple(map(Index, counts))

    @property
    def subgroup(self) -> Index:
        """The number of a subgroup in its work-group."""
        return Index(SUBGROUP_INDEX)

    def rows(self, name: str) -> Spread:
        """Return the tiling of a vector with a value for each row of a fragment's tile."""
        return self._spread(name).along(0)

    def columns(self, name: str) -> Spread:
        """Return the tiling of a vector with a value for each column of a fragment's tile."""
        return self._spread(name).along(1)

    @typed
    def parts(self, tile: Tile, over: tuple[int, int]) -> Spread:
        """Return the tiling that cuts a tile into equal parts: (4, 1) gives 4 subgroups its rows."""
        if over[0] * over[1] != self._parts.subgroups:
            wrong = (
                f"{over[0]} x {over[1]} parts are for {over[0] * over[1]} subgroups, the kernel "
            )
            wrong += f"has {self._parts.subgroups}"
            raise self._refused({"tile": tile, "over": over}, wrong, "cut a part for each subgroup")
        return Spread.parts(tile, over)

    # ------------------------------------------------------------------ memory

    @typed
    def load(self, name: str, operand: Operand | str, tiling: Tiling, at: At) -> None:
        """Fill a fragment with a tile of an operand that begins ``at`` an index for each mode.

        What an MMA shares comes in the type and the order that it multiplies: a conversion and a
        reorder follow the load where they are needed.
        """
        held = self._operand(operand)
        copy = self._copy(held, tiling, "load")
        modes = modes_of(held, copy)
        is_vector = isinstance(tiling, Spread) and min(tiling.tile) == 1
        spread = tiling if is_vector else Spread.of_copy(copy, modes)
        steps, wanted, kind = 0, None, held.value_type
        if isinstance(tiling, Share):
            wanted, kind = Spread.of_share(tiling), tiling.numeric
            moves = not is_identity(self._turn(name, spread, wanted))
            steps = moves + (kind != held.value_type)
        first = f"{name}_loaded" if steps else name
        self._fill(first, held.value_type, copy.messages * copy.atom.values, spread)
        self._append(Load(copy, held.name, _place(at), first, modes))
        if wanted is None or not steps:
            if wanted is not None:
                self._spreads[name] = wanted
            return
        if kind != held.value_type:
            last = first
            first = f"{name}_converted" if steps == 2 else name
            self.convert(first, last, kind)
        if steps == 2 or kind == held.value_type:
            self.reorder(name, first, wanted)
        self._spreads[name] = wanted

    @typed
    def prefetch(self, operand: Operand | str, tiling: Tiling, at: At) -> None:
        """Bring a tile of an operand into the cache."""
        held = self._operand(operand)
        copy = self._copy(held, tiling, "load")
        ahead = make_block_2d_prefetch(copy)
        self._append(Prefetch(ahead, held.name, _place(at), modes_of(held, copy)))

    @typed
    def store(
        self, operand: Operand | str, name: str, at: At, copy: TiledCopy | None = None
    ) -> None:
        """Store a fragment to a tile of an operand, clipped to it."""
        self._put(Store, operand, name, at, copy)

    @typed
    def atomic_add(
        self, operand: Operand | str, name: str, at: At, copy: TiledCopy | None = None
    ) -> None:
        """Add a fragment to a tile of an operand, each element indivisibly."""
        self._put(AtomicStore, operand, name, at, copy)

    def _put(
        self,
        kind: type[Store] | type[AtomicStore],
        operand: Operand | str,
        name: str,
        at: At,
        copy: TiledCopy | None,
    ) -> None:
        held, source = self._operand(operand), self._parts.fragment(name)
        if source.value_type != held.value_type:
            wrong = f"{name} holds {source.value_type}, {held.name} is of {held.value_type}"
            fix = f'convert it first: convert("{name}_out", "{name}", "{held.value_type}")'
            raise self._refused({"operand": held, "fragment": source}, wrong, fix)
        spread = self._spread(name)
        made = copy or self._copy(held, spread.share or spread, "store")
        modes = modes_of(held, made)
        if copy is not None or min(spread.tile) > 1:
            slots = self._turn(name, spread, Spread.of_copy(made, modes))
            if not is_identity(slots):
                moved = f"{name}_stored"
                self._fill(moved, source.value_type, source.slots, None)
                self._append(Reorder(name, moved, slots))
                name = moved
        self._append(kind(made, held.name, _place(at), name, modes))

    # ------------------------------------------------------------------ registers

    @typed
    def fill(
        self,
        name: str,
        tiling: Tiling | str | None = None,
        value: float = 0.0,
        numeric: Numeric | str | None = None,
    ) -> None:
        """Fill a fragment with a number: one that there is, or one spread as a tiling says.

        A text names a fragment that it is spread like. The type is the accumulator's for a share
        of an MMA, that of the fragment it is like, and f32 for any other tiling.
        """
        if tiling is not None:
            known = self._parts.fragment(tiling) if isinstance(tiling, str) else None
            spread = self._spread(tiling) if isinstance(tiling, str) else self._tiled(tiling)
            kind: Numeric | str = numeric or "f32"
            if numeric is None and (known is not None or isinstance(tiling, Share)):
                kind = known.value_type if known is not None else tiling.numeric
            slots = known.slots if known is not None else -(-len(spread.places) // 16)
            self._fill(name, as_numeric(kind), slots, spread)
        self._append(Fill(name, value))

    @typed
    def map(self, name: str, value: str | Expression, numeric: Numeric | str | None = None) -> None:
        """Compute a fragment element by element: ``map("y", "relu(x + bias)")``.

        Names are fragments and scalar operands; a row or a column of values is broadcast, and
        ``where(i < j, x, y)`` chooses. The result has the type of its fragments where all have
        one, else f32.
        """
        known = {f.name: f for f in self._parts.fragments}
        expression = self._expression(value) if isinstance(value, str) else value
        self._demand_scalar(expression)
        names = [x.fragment for x in leaves(expression) if isinstance(x, Slot)]
        sources = [self._parts.fragment(one) for one in dict.fromkeys(names)]
        spread = self._widest([one.name for one in sources] or [name])
        kinds = {one.value_type for one in sources}
        if numeric is None:
            kept = known[name].value_type if name in known and not kinds else None
            numeric = kept or (kinds.pop() if len(kinds) == 1 else "f32")
        gathers = [(one.name, self._gather(one.name, name, spread)) for one in sources]
        slots = max(
            [one.slots for one in sources if self._spread(one.name).tile == spread.tile]
            or [known[name].slots]
        )
        self._fill(name, as_numeric(numeric), slots, spread)
        plain = Layout(16 * slots)
        moved = tuple((one, by) for one, by in gathers if by != plain)
        self._append(Map(name, expression, moved))

    @typed
    def convert(self, name: str, source: str, numeric: Numeric | str) -> None:
        """Convert a fragment: to nearest even, integers saturated."""
        held = self._parts.fragment(source)
        self._fill(name, as_numeric(numeric), held.slots, self._spreads[source])
        self._append(Convert(source, name))

    @typed
    def reorder(self, name: str, source: str, to: Tiling) -> None:
        """Permute the registers of a fragment into the order of a tiling of the same tile."""
        held, wanted = self._parts.fragment(source), self._tiled(to)
        slots = self._turn(source, self._spread(source), wanted)
        self._fill(name, held.value_type, held.slots, wanted)
        self._append(Reorder(source, name, slots))

    @typed
    def reduce(
        self, name: str, how: Literal["sum", "max"], source: str, axis: Literal[0, 1]
    ) -> None:
        """Combine what each subgroup has of a tile's rows (axis 1) or columns (axis 0).

        Subgroups beside one another have parts of a row, whose sums are to be added.
        """
        held, spread = self._parts.fragment(source), self._spread(source)
        if axis not in (0, 1):
            wrong = f"axis is {axis!r}, a tile has axes 0 and 1"
            raise self._refused({"fragment": held}, wrong, "use axis=1 to reduce rows")
        kept = spread.along(1 - axis)
        self._fill(name, held.value_type, -(-len(kept.places) // 16), kept)
        self._append(Reduce(how, source, name, spread.reduced(axis)))

    @typed
    def mma(self, accumulator: str, a: str, b: str, mma: TiledMma | None = None) -> None:
        """Multiply two fragments into an accumulator, by the builder's MMA or another."""
        by = mma or self._mma
        if by is None:
            wrong = "the kernel was begun without a tiled MMA"
            raise self._refused({}, wrong, "write KernelBuilder(name, mma), or give mma=…")
        for role, name in (("C", accumulator), ("A", a), ("B", b)):
            share = Share(by, role)  # pyright: ignore[reportArgumentType]
            spread = self._spread(name)
            if not spread.is_like(Spread.of_share(share)):
                is_of = f"{spread.share.role} of its MMA" if spread.share else f"{spread.tile}"
                wrong = f"{name} is spread as {is_of}, not as {share}, which the MMA takes here"
                fix = f'load it as Share(mma, "{role}"), or reorder it'
                raise self._refused({"fragment": name, "role": role}, wrong, fix)
        self._append(Mma(by, accumulator, a, b))

    # ------------------------------------------------------------------ shared memory, barriers

    @typed
    def share(self, array: str, name: str, stage: Index | int = 0) -> None:
        """Store a fragment to an array of shared memory, each subgroup its part."""
        of = self._array(array)
        spread = self._spread(name)
        if spread.tile != of.tile:
            wrong = f"{name} is a tile of {spread.tile}, {array} holds one of {of.tile}"
            raise self._refused({"array": array, "fragment": name}, wrong, "use tiles of one size")
        self._append(SharedStore(name, array, _swizzled(of, spread), self._stage(array, stage)))

    @typed
    def take(self, name: str, array: str, tiling: Tiling, stage: Index | int = 0) -> None:
        """Fill a fragment from an array of shared memory, spread as a tiling says."""
        of, spread = self._array(array), self._tiled(tiling)
        if spread.tile != of.tile:
            wrong = f"the tiling is of a tile of {spread.tile}, {array} holds one of {of.tile}"
            raise self._refused({"array": array, "fragment": name}, wrong, "use tiles of one size")
        numeric = self._parts.shared_array(array).value_type
        self._fill(name, numeric, -(-len(spread.places) // 16), spread)
        self._append(SharedLoad(array, name, _swizzled(of, spread), self._stage(array, stage)))

    def barrier(self) -> None:
        """Meet all subgroups of the work-group; stores to shared memory need a `fence` before."""
        self.arrive()
        self.wait()

    def arrive(self) -> None:
        """Tell the barrier of the work-group that this subgroup has come; `wait` must follow."""
        self._append(BarrierArrive())

    def wait(self) -> None:
        """Wait until every subgroup of the work-group has come."""
        self._append(BarrierWait())

    def fence(self) -> None:
        """Make earlier stores to shared memory visible behind the next barrier."""
        self._append(Fence())

    # ------------------------------------------------------------------ loops, conditions, the rest

    @contextmanager
    def loop(self, var: str, start: Index | int, stop: Index | int) -> Iterator[Index]:
        """Repeat what the ``with`` block writes for ``start <= var < stop``; give the variable."""
        with self._inside(Loop(var, as_index(start), as_index(stop), ())):
            yield Index(var)

    @contextmanager
    def when(self, condition: Condition) -> Iterator[None]:
        """Do what the ``with`` block writes where a condition holds: ``when(i + 2 < count)``."""
        if not isinstance(condition, Condition):  # pyright: ignore[reportUnnecessaryIsInstance]
            wrong = f"{type(condition).__name__} is not a condition on indices"
            raise self._refused({"when": condition}, wrong, "write when(k.subgroup < 4)")
        with self._inside(If(condition.index, condition.below, ())):
            yield

    @typed
    def fragment(
        self, name: str, numeric: Numeric | str, slots: int, tiling: Tiling | None = None
    ) -> None:
        """Declare a fragment for statements given to `add`."""
        self._fill(
            name, as_numeric(numeric), slots, None if tiling is None else self._tiled(tiling)
        )

    @typed
    def add(self, *statements: Statement) -> None:
        """Append statements that the builder has no method for, over fragments that there are."""
        for statement in statements:
            self._append(statement)

    # ------------------------------------------------------------------ the claim, the kernel

    @typed
    def computes(self, equation: str) -> None:
        """Claim what an output should be, in index notation: ``D[m,n] = relu(A[m,n])``."""
        claim = read_claim(equation, self._parts.operands)
        others = tuple(x for x in self._parts.operands if x.role == "in" or x.name == claim.output)
        Specification((claim,)).check(others)
        if any(claim.output == known.output for known in self._claims):
            wrong = f"{claim.output} is claimed twice"
            raise self._refused({"claim": claim}, wrong, "claim each output once")
        self._claims = (*self._claims, claim)

    def build(self, computes: str | None = None) -> Kernel:
        """Return the kernel; refused are half a barrier, and fragments and operands without use."""
        if computes is not None:
            for line in computes.strip().splitlines():
                self.computes(line)
        body = tuple(self._blocks[0].body)
        program = self._so_far()
        check_barriers(program, body)
        touched = [s.touched for s in program.statements()]
        read = {n for t in touched for n in (*t.reads, *t.updates)}
        idle = [f.name for f in program.fragments if f.name not in read]
        memory = {n for t in touched for n in (*t.from_memory, *t.to_memory)}
        looked = {x.operand for t in touched for i in t.indices for x in i.looked_up}
        idle += [o.name for o in program.operands if o.name not in memory | looked]
        if idle:
            wrong = f"{idle[0]} is never used"
            raise self._refused({"name": idle[0]}, wrong, "use it, or leave it out")
        claims = Specification(self._claims) if self._claims else None
        return Kernel(
            program.name, program.subgroups, program.operands, program.fragments, program.grid,
            body, claims, program.shared,
        )  # fmt: skip

    @property
    def so_far(self) -> tuple[Statement, ...]:
        """The statements that are written, inner ones included."""
        return tuple(self._so_far().statements())

    # ------------------------------------------------------------------ checks

    def _so_far(self, statement: Statement | None = None) -> Program:
        """Return the parts with what is written, open blocks closed behind it."""
        inner: tuple[Statement, ...] = () if statement is None else (statement,)
        for block in reversed(self._blocks):
            inner = (*block.body, *inner)
            if block.head is not None:
                inner = (replace(block.head, body=inner),)
        return replace(self._parts, body=inner)

    def _append(self, statement: Statement) -> None:
        program, block = self._so_far(statement), self._blocks[-1]
        check_statement(program, statement)
        check_defined(program)
        is_arrived(program, (*block.body, statement), block.arrived)
        block.body.append(statement)

    @contextmanager
    def _inside(self, head: Loop | If) -> Iterator[None]:
        program, block = self._so_far(head), self._blocks[-1]
        check_names(program)
        check_statement(program, head)
        check_defined(program)
        arrived = is_arrived(program, tuple(block.body), block.arrived)
        self._blocks.append(_Block(head, arrived))
        yield
        inner = tuple(self._blocks.pop().body)
        self._append(replace(head, body=inner))

    def _declare(self, **parts: object) -> None:
        """Add to the parts, unless a name stands for two things then."""
        before = self._parts
        self._parts = replace(before, **parts)  # pyright: ignore[reportArgumentType]
        try:
            check_names(self._so_far())
        except KernelError:
            self._parts = before
            raise

    def _fill(self, name: str, numeric: Numeric, slots: int, spread: Spread | None) -> None:
        """Declare a fragment, or see that it is the one that there is."""
        made = Fragment(name, numeric, slots)
        known = {f.name: f for f in self._parts.fragments}.get(name)
        if known is None:
            self._declare(fragments=(*self._parts.fragments, made))
        elif known != made:
            wrong = f"{name} is {known}, the statement fills {made}"
            raise self._refused({"fragment": name}, wrong, "use another name")
        before = self._spreads.get(name)
        if before is not None and spread is not None and not before.is_like(spread):
            wrong = f"{name} is a tile of {before.tile}, spread in another way over the subgroups"
            raise self._refused({"fragment": name}, wrong, "use another name")
        self._spreads[name] = spread if before is None else before

    # ------------------------------------------------------------------ tilings

    def _operand(self, operand: Operand | str) -> Operand:
        return self._parts.operand(operand if isinstance(operand, str) else operand.name)

    def _array(self, name: str) -> _Array:
        self._parts.shared_array(name)
        return self._arrays[name]

    def _spread(self, name: str) -> Spread:
        self._parts.fragment(name)
        spread = self._spreads.get(name)
        if spread is None:
            wrong = f"nothing says how {name} is spread over the subgroups"
            raise self._refused({"fragment": name}, wrong, "give it a tiling where it is declared")
        return spread

    def _tiled(self, tiling: Tiling) -> Spread:
        if isinstance(tiling, Share):
            return Spread.of_share(tiling)
        if isinstance(tiling, TiledCopy):
            return Spread.of_copy(tiling, (0, 1))
        if isinstance(tiling, Spread):
            return tiling
        return Spread.even(tiling, self._parts.subgroups, 1, 32)

    def _copy(self, operand: Operand, tiling: Tiling, verb: Literal["load", "store"]) -> TiledCopy:
        """Return the copy of an operand's tile by a tiling."""
        if isinstance(tiling, TiledCopy):
            return tiling
        axis, numeric = contiguous_axis(operand), operand.value_type
        if isinstance(tiling, Share):
            role = "D" if verb == "store" else tiling.role
            order: Order = "row" if axis == 1 else "col"
            return operand_copy(by_registers(tiling.mma), role, order, numeric, operand.name)
        if not isinstance(tiling, Spread):
            tiling = Spread.even(tiling, self._parts.subgroups, axis, numeric.bits)
        x = axis if len(operand.modes) > 1 else tiling.tile.index(max(tiling.tile))
        return tiling.copy(verb, numeric, x)

    def _turn(self, name: str, spread: Spread, to: Spread) -> Layout:
        slots = spread.moved(to)
        if slots is None:
            wrong = f"{name} is a tile of {spread.tile}, of which other subgroups have other parts"
            wrong = (
                wrong
                if spread.tile == to.tile
                else (f"{name} is a tile of {spread.tile}, the tiling is of one of {to.tile}")
            )
            fix = "use one tiling, or pass it through shared memory"
            raise self._refused({"fragment": name}, wrong, fix)
        return slots

    def _widest(self, names: list[str]) -> Spread:
        """Return the spread of a whole tile among fragments, of which others are broadcast."""
        return max((self._spread(one) for one in names), key=lambda s: s.tile[0] * s.tile[1])

    def _gather(self, source: str, name: str, spread: Spread) -> Layout:
        of = self._spread(source)
        if of.is_like(spread):
            return Layout(self._parts.fragment(source).elements)
        by = spread.gathered(of)
        if by is None:
            wrong = f"a subgroup does not have the elements of {source}, a tile of {of.tile}, "
            wrong += f"that it needs for its part of a tile of {spread.tile}"
            fix = f"reorder {source}, or load it by the same tiling"
            raise self._refused({"map": name, "fragment": source}, wrong, fix)
        return by

    def _stage(self, array: str, stage: Index | int) -> Index:
        of = self._arrays[array].tile
        return as_index(stage) * (of[0] * of[1])

    def _expression(self, text: str) -> Expression:
        fragments = frozenset(f.name for f in self._parts.fragments)
        variables = [name for name, _ in self._parts.grid]
        variables += [b.head.var for b in self._blocks if isinstance(b.head, Loop)]
        known = {o.name: o for o in self._parts.operands}
        indices = (*variables, SUBGROUP_INDEX, ELEMENT_INDEX)
        return Notation(text, fragments, indices, known, "map").whole()

    def _demand_scalar(self, value: Expression) -> None:
        """Refuse what only a specification can say: elements of operands, and sums."""
        match value:
            case Element(name, at) if at:
                fix = f'load it first: load("x", "{name}", …)'
                raise self._refused({"map": value}, f"{value} lies in memory", fix)
            case Total():
                fix = f'reduce it first: reduce("all", "{value.how}", …)'
                raise self._refused({"map": value}, f"{value} is of many elements", fix)
            case _:
                for part in parts(value):
                    self._demand_scalar(part)

    def _refused(self, given: dict[str, object], wrong: str, fix: str) -> KernelError:
        return KernelError(self._parts.name, given, wrong, fix)


def _place(at: At) -> tuple[Index, ...]:
    return tuple(map(as_index, at)) if isinstance(at, tuple) else (as_index(at),)


def _swizzled(array: _Array, spread: Spread) -> Layout | ComposedLayout:
    places = spread.in_array(array.place)
    return places if array.swizzle is None else ComposedLayout(array.swizzle, 0, places)
