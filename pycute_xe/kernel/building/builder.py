"""A kernel from nothing, a line for each statement, checked where it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

from pycute_xe.atom.block2d_copy import make_block_2d_prefetch
from pycute_xe.atom.reordering import is_identity
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.composed import ComposedLayout
from pycute_xe.kernel.building.draft import Block, Draft, SharedArray, Tile, Tiling, line
from pycute_xe.kernel.index import (
    SUBGROUP_INDEX,
    Condition,
    Index,
    as_index,
)
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Operand, Order, Role, Shared, matrix
from pycute_xe.kernel.ir.planned import Planned
from pycute_xe.kernel.ir.program import check_barriers
from pycute_xe.kernel.spec.equations import read_claim
from pycute_xe.kernel.spec.expression import Expression, Slot, leaves
from pycute_xe.kernel.spec.reading import (
    read_given,
    read_jump,
    read_recurrence,
    read_tickets,
)
from pycute_xe.kernel.spec.specification import Specification
from pycute_xe.kernel.spec.tables import Assumption
from pycute_xe.kernel.tiles.spread import Share, Spread, modes_of
from pycute_xe.layout import Layout, size
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed
from pycute_xe.swizzle import Swizzle

__all__ = ["KernelBuilder"]

Extents: TypeAlias = tuple[str | int | Index, ...]
At: TypeAlias = "tuple[Index | int | str, ...] | Index | int | str"


class KernelBuilder(Draft):
    r"""Write a kernel line by line; a line that does not fit raises `KernelError` there.

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
    >>> print(*str(k.build()).splitlines()[3:], sep="\n")
      for each work-group m < ceil_div(M, 64), n < ceil_div(N, 64); for each of 8 subgroups
        copy      A[64*m, 64*n] → x  by 1 × XE_LOAD_2D<32,32,16>
        map       y = relu(x)
        copy      y → D[64*m, 64*n]  by 4 × XE_STORE_2D<32,8,16>
    """

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
        self._arrays[name] = SharedArray(tile, place, swizzle)

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
        return self.spread_of(name).along(0)

    def columns(self, name: str) -> Spread:
        """Return the tiling of a vector with a value for each column of a fragment's tile."""
        return self.spread_of(name).along(1)

    def one(self, name: str) -> Spread:
        """Return the tiling of one value that all of a fragment's tile share."""
        return self.spread_of(name).along(0).along(1)

    @typed
    def parts(self, tile: Tile, over: tuple[int, int]) -> Spread:
        """Return the tiling that cuts a tile into equal parts: (4, 1) gives each of 4 its rows."""
        if over[0] * over[1] != self._parts.subgroups:
            wrong = (
                f"{over[0]} x {over[1]} parts are for {over[0] * over[1]} subgroups, the kernel "
            )
            wrong += f"has {self._parts.subgroups}"
            raise self._refused({"tile": tile, "over": over}, wrong, "cut a part for each subgroup")
        return Spread.parts(tile, over)

    # ------------------------------------------------------------------ memory

    @line
    def load(self, name: str, operand: Operand | str, tiling: Tiling, at: At) -> None:
        """Fill a fragment with a tile of an operand that begins ``at`` an index for each mode.

        Values for the rows or columns of a tile lie along the operand's contiguous mode.
        What an MMA shares comes in the type and the order that it multiplies: a conversion and a
        reorder follow the load where they are needed.
        """
        memory = self._operand(operand)
        copy = self._copy(memory, tiling, "load")
        modes = modes_of(memory, copy)
        spread = Spread.of_copy(copy, modes)
        if isinstance(tiling, Spread) and min(tiling.tile) == 1:
            self._demand_along(memory, max(tiling.tile), _place(at))
            spread = tiling
        wanted, kind, moves = spread, memory.value_type, False
        if isinstance(tiling, Share):
            wanted, kind = Spread.of_share(tiling), tiling.numeric
            moves = not is_identity(self._turn(name, spread, wanted))
        converts = kind != memory.value_type
        last = f"{name}_loaded" if converts or moves else name
        self._fill(last, memory.value_type, copy.messages * copy.atom.values, spread)
        self._append(ir.Load(copy, memory.name, _place(at), last, modes))
        if converts:
            source, last = last, f"{name}_converted" if moves else name
            self.convert(last, source, kind)
        if moves:
            self.reorder(name, last, wanted)
        self._spreads[name] = wanted

    def _demand_along(self, memory: Operand, length: int, at: tuple[Index, ...]) -> None:
        """Refuse a vector that is read along one mode and whose tiles step along another one."""
        steps = [i for i, index in enumerate(at) if _steps_by(index, length)]
        if length == 1 or not steps or at[memory.contiguous].is_constant:
            return
        if memory.contiguous in steps:
            return
        mode = memory.modes[memory.contiguous]
        wrong = f"{length} values are read along {mode}, and its tiles step along "
        wrong += f"{memory.modes[steps[0]]}"
        order = "row" if steps[0] == len(at) - 1 else "col"
        fix = f'store {memory.name} with order "{order}", or load a tile of {length} x 1'
        raise self._refused({"operand": memory, "at": at}, wrong, fix)

    @line
    def prefetch(self, operand: Operand | str, tiling: Tiling, at: At) -> None:
        """Bring a tile of an operand into the cache."""
        memory = self._operand(operand)
        copy = self._copy(memory, tiling, "load")
        ahead = make_block_2d_prefetch(copy)
        self._append(ir.Prefetch(ahead, memory.name, _place(at), modes_of(memory, copy)))

    @line
    def store(
        self, operand: Operand | str, name: str, at: At, copy: TiledCopy | None = None
    ) -> None:
        """Store a fragment to a tile of an operand, clipped to it."""
        self._put(ir.Store, operand, name, at, copy)

    @line
    def atomic_add(
        self, operand: Operand | str, name: str, at: At, copy: TiledCopy | None = None
    ) -> None:
        """Add a fragment to a tile of an operand, each element indivisibly."""
        self._put(ir.AtomicStore, operand, name, at, copy)

    def _put(
        self,
        kind: type[ir.Store] | type[ir.AtomicStore],
        operand: Operand | str,
        name: str,
        at: At,
        copy: TiledCopy | None,
    ) -> None:
        memory, source = self._operand(operand), self._parts.fragment(name)
        if source.value_type != memory.value_type:
            wrong = f"{name} holds {source.value_type}, {memory.name} is of {memory.value_type}"
            fix = f'convert it first: convert("{name}_out", "{name}", "{memory.value_type}")'
            raise self._refused({"operand": memory, "fragment": source}, wrong, fix)
        spread = self.spread_of(name)
        made = copy or self._copy(memory, spread.share or spread, "store")
        modes = modes_of(memory, made)
        if copy is not None or min(spread.tile) > 1:
            slots = self._turn(name, spread, Spread.of_copy(made, modes))
            if not is_identity(slots):
                moved = f"{name}_stored"
                self._fill(moved, source.value_type, source.slots, None)
                self._append(ir.Reorder(name, moved, slots))
                name = moved
        self._append(kind(made, memory.name, _place(at), name, modes))

    # ------------------------------------------------------------------ registers

    @line
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
            spread = self.spread_of(tiling) if isinstance(tiling, str) else self._tiled(tiling)
            usual = tiling.numeric if isinstance(tiling, Share) else "f32"
            kind = numeric or (known.value_type if known is not None else usual)
            slots = known.slots if known is not None else -(-len(spread.places) // 16)
            self._fill(name, as_numeric(kind), slots, spread)
        self._append(ir.Fill(name, value))

    @line
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
        whole = [one.slots for one in sources if self.spread_of(one.name).tile == spread.tile]
        slots = whole[0] if whole else known[name].slots
        self._fill(name, as_numeric(numeric), slots, spread)
        plain = Layout(16 * slots)
        moved = tuple((one, by) for one, by in gathers if by != plain)
        self._append(ir.Map(name, expression, moved))

    @line
    def convert(self, name: str, source: str, numeric: Numeric | str) -> None:
        """Convert a fragment: to nearest even, integers saturated."""
        fragment = self._parts.fragment(source)
        self._fill(name, as_numeric(numeric), fragment.slots, self._spreads[source])
        self._append(ir.Convert(source, name))

    @line
    def reorder(self, name: str, source: str, to: Tiling) -> None:
        """Permute the registers of a fragment into the order of a tiling of the same tile."""
        fragment, wanted = self._parts.fragment(source), self._tiled(to)
        slots = self._turn(source, self.spread_of(source), wanted)
        self._fill(name, fragment.value_type, fragment.slots, wanted)
        self._append(ir.Reorder(source, name, slots))

    @line
    def reduce(self, name: str, how: str, source: str, axis: Literal[0, 1]) -> None:
        """Combine what each subgroup has of a tile's rows (axis 1) or columns (axis 0).

        Subgroups beside one another have parts of a row, whose sums are to be added.
        """
        fragment, spread = self._parts.fragment(source), self.spread_of(source)
        if axis not in (0, 1):
            wrong = f"axis is {axis!r}, a tile has axes 0 and 1"
            raise self._refused({"fragment": fragment}, wrong, "use axis=1 to reduce rows")
        kept = spread.along(1 - axis)
        if len(kept.places) % 16:
            count, what = len(kept.places), ("columns", "rows")[axis]
            wrong = f"each subgroup has {count} {what}, which do not fill registers of 16 lanes"
            raise self._refused({"fragment": fragment}, wrong, f"give each a multiple of 16 {what}")
        self._fill(name, fragment.value_type, -(-len(kept.places) // 16), kept)
        self._append(ir.Reduce(how, source, name, spread.reduced(axis)))

    @line
    def mma(self, accumulator: str, a: str, b: str, mma: TiledMma | None = None) -> None:
        """Multiply two fragments into an accumulator, by the builder's MMA or another."""
        by = mma or self._mma
        if by is None:
            wrong = "the kernel was begun without a tiled MMA"
            raise self._refused({}, wrong, "write KernelBuilder(name, mma), or give mma=…")
        for role, name in (("C", accumulator), ("A", a), ("B", b)):
            share = Share(by, role)  # pyright: ignore[reportArgumentType]
            spread = self.spread_of(name)
            if not spread.is_like(Spread.of_share(share)):
                is_of = f"{spread.share.role} of its MMA" if spread.share else f"{spread.tile}"
                wrong = f"{name} is spread as {is_of}, not as {share}, which the MMA takes here"
                fix = f'load it as Share(mma, "{role}"), or reorder it'
                raise self._refused({"fragment": name, "role": role}, wrong, fix)
        self._append(ir.Mma(by, accumulator, a, b))

    # ------------------------------------------------------------------ shared memory, barriers

    @line
    def share(self, array: str, name: str, stage: Index | int = 0) -> None:
        """Store a fragment to an array of shared memory, each subgroup its part."""
        of = self._array(array)
        spread = self.spread_of(name)
        if spread.tile != of.tile:
            wrong = f"{name} is a tile of {spread.tile}, {array} holds one of {of.tile}"
            raise self._refused({"array": array, "fragment": name}, wrong, "use tiles of one size")
        self._append(ir.SharedStore(name, array, _swizzled(of, spread), self._stage(array, stage)))

    @line
    def take(self, name: str, array: str, tiling: Tiling, stage: Index | int = 0) -> None:
        """Fill a fragment from an array of shared memory, spread as a tiling says."""
        of, spread = self._array(array), self._tiled(tiling)
        if spread.tile != of.tile:
            wrong = f"the tiling is of a tile of {spread.tile}, {array} holds one of {of.tile}"
            raise self._refused({"array": array, "fragment": name}, wrong, "use tiles of one size")
        numeric = self._parts.shared_array(array).value_type
        self._fill(name, numeric, -(-len(spread.places) // 16), spread)
        self._append(ir.SharedLoad(array, name, _swizzled(of, spread), self._stage(array, stage)))

    @line
    def barrier(self) -> None:
        """Meet all subgroups of the work-group; stores to shared memory need a `fence` before."""
        self.arrive()
        self.wait()

    def arrive(self) -> None:
        """Tell the barrier of the work-group that this subgroup has come; `wait` must follow."""
        self._append(ir.BarrierArrive())

    def wait(self) -> None:
        """Wait until every subgroup of the work-group has come."""
        self._append(ir.BarrierWait())

    def fence(self) -> None:
        """Make earlier stores to shared memory visible behind the next barrier."""
        self._append(ir.Fence())

    @typed
    def ticket(
        self, counter: Operand, at: At, into: Operand, place: At, by: Index | int = 1
    ) -> Index:
        """Add to a counter, and return what it was before, which ``into[place]`` keeps."""
        own = _place(place)
        self._append(ir.FetchAdd(counter.name, _place(at), as_index(by), into.name, own))
        return Index.element(into.name, *own)

    # ------------------------------------------------------------------ loops, conditions, the rest

    @typed
    def loop(
        self,
        var: str,
        start: Index | int,
        stop: Index | int,
        holds: Mapping[str, str] | None = None,
    ) -> Block[Index]:
        """Repeat what the ``with`` block writes for ``start <= var < stop``; give the variable.

        ``holds`` claims what fragments hold when a trip begins, of ``row`` and ``column`` of their
        tile: ``{"s": "S[t,row,column]"}``. `verify` shows it, and never trusts it.
        """
        claimed = self._invariants(holds or {}, var)
        return Block(self, ir.Loop(var, as_index(start), as_index(stop), (), claimed), Index(var))

    def when(self, condition: Condition) -> Block[None]:
        """Do what the ``with`` block writes where a condition holds: ``when(i + 2 < count)``."""
        if not isinstance(condition, Condition):  # pyright: ignore[reportUnnecessaryIsInstance]
            wrong = f"{type(condition).__name__} is not a condition on indices"
            raise self._refused({"when": condition}, wrong, "write when(k.subgroup < 4)")
        return Block(self, ir.If(condition.index, condition.below, ()), None)

    @line
    def fragment(
        self, name: str, numeric: Numeric | str, slots: int, tiling: Tiling | None = None
    ) -> None:
        """Declare a fragment for statements given to `add`."""
        self._fill(
            name, as_numeric(numeric), slots, None if tiling is None else self._tiled(tiling)
        )

    @line
    def add(self, *statements: ir.Statement) -> None:
        """Append statements that the builder has no method for, over fragments that there are."""
        for statement in statements:
            if not isinstance(statement, ir.Statement):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TypeError("only statements are added")
            self._append(statement)

    # ------------------------------------------------------------------ the claim, the kernel

    @line
    def defines(self, first: str, step: str) -> None:
        """Define a state that claims and loops speak of: what it is at 0, and one step on.

        ``defines("S[0,d] = 0", "S[t+1,d] = g[t]*S[t,d] + x[t,d]")``.
        """
        defines = (*self._defines, read_recurrence(first, step, self._known()))
        given = (o for o in self._parts.operands if o.role in ("in", "inout"))
        Specification((), defines=defines).check(tuple(replace(o, role="in") for o in given))
        self._defines = defines
        self._states()

    @line
    def jumps(self, equation: str) -> None:
        """Claim what a state is some steps on: `verify` shows it, and loops over chunks use it.

        ``jumps("S[t+i,d] = S[t,d] + sum(j < i, x[t+j,d]) for i < 17")``.
        """
        jumps = (*self._jumps, read_jump(equation, self._known()))
        given = (o for o in self._parts.operands if o.role in ("in", "inout"))
        inputs = tuple(replace(o, role="in") for o in given)
        Specification((), defines=self._defines, jumps=jumps).check(inputs)
        self._jumps = jumps
        self._states()

    @line
    def given(self, equation: str) -> None:
        """Take for granted what an input is: what another kernel claims of its output.

        ``given("X[h,t] = S[t+1,h]")``, an element of what is defined.
        """
        given = (*self._given, read_given(equation, self._known()))
        Specification((), defines=self._defines, given=given).check(self._parts.operands)
        self._given = given

    @line
    def reads_as_real(self, kind: str | Numeric) -> None:
        """Leave roundings to a type of floats out of what is claimed, as a verdict then says."""
        real = tuple(dict.fromkeys((*self._real, as_numeric(kind))))
        Specification((), real=real).check(())
        self._real = real

    def _states(self) -> None:
        states = Specification((), defines=self._defines, jumps=self._jumps)
        self._parts = replace(self._parts, computes=states)

    @line
    def assume(self, *tables: Assumption) -> None:
        """Take something for granted of integers that indices look up; a run checks it."""
        self._assumed = (*self._assumed, *tables)

    @line
    def computes(self, equation: str) -> None:
        """Claim what an output should be, in index notation: ``D[m,n] = relu(A[m,n])``.

        ``places are tickets of ids`` says it of an output that `ticket` writes, up to the order of
        arrival; claims behind it may look its entries up.
        """
        if (tickets := read_tickets(equation)) is not None:
            Specification((), tickets=(tickets,)).check(self._asked_of(tickets.operand))
            self._tickets = (*self._tickets, tickets)
            return
        claim = read_claim(equation, self._known())
        Specification((claim,), defines=self._defines).check(self._asked_of(claim.output))
        if any(claim.output == known.output for known in self._claims):
            wrong = f"{claim.output} is claimed twice"
            raise self._refused({"claim": claim}, wrong, "claim each output once")
        self._claims = (*self._claims, claim)

    def _asked_of(self, output: str) -> tuple[Operand, ...]:
        """Return operands as the claim of one output sees them: others are inputs, if it may."""
        drawn = {one.operand for one in self._tickets}
        return tuple(
            x if x.name == output else replace(x, role="in")
            for x in self._parts.operands
            if x.name in {output, *drawn} or x.role in ("in", "inout")
        )

    @typed
    def build(self, computes: str | None = None, *, plan: Planned | None = None) -> Kernel:
        """Return the kernel; refused are half a barrier, and fragments and operands without use.

        What ``computes`` claims is the kernel's and not the builder's: it may be built again.
        ``plan`` says which names are those of a plan that the kernel follows.
        """
        before = self._claims, self._tickets
        try:
            for line in (computes or "").strip().splitlines():
                self.computes(line)
            return replace(self._built(), plan=plan)
        finally:
            self._claims, self._tickets = before

    def _built(self) -> Kernel:
        """Return the kernel of what was written and claimed so far."""
        if self.unopened:
            raise self.unopened[0].never_opened()
        body = tuple(self._blocks[0].body)
        program = self._so_far()
        check_barriers(program, body)
        touched = [s.touched for s in program.statements()]
        read = {n for t in touched for n in (*t.reads, *t.updates)}
        idle = [f.name for f in program.fragments if f.name not in read]
        memory = {n for t in touched for n in (*t.from_memory, *t.to_memory)}
        indices = [*(i for t in touched for i in t.indices), *(n for _, n in program.grid)]
        looked = {x.operand for i in indices for x in i.looked_up}
        idle += [o.name for o in program.operands if o.name not in memory | looked]
        if idle:
            wrong = f"{idle[0]} is never used"
            raise self._refused({"name": idle[0]}, wrong, "use it, or leave it out")
        claims = Specification(
            self._claims,
            (),
            self._defines,
            self._assumed,
            self._jumps,
            self._given,
            self._tickets,
            self._real,
        )
        return Kernel(
            program.name, program.subgroups, program.operands, program.fragments, program.grid,
            body, claims if self._claims or self._assumed else None, program.shared,
        )  # fmt: skip


def _steps_by(index: Index, length: int) -> bool:
    """Whether an index steps by whole tiles of a length."""
    factors = [index.offset, *(factor for _, factor in index.terms)]
    return not index.is_constant and all(factor % length == 0 for factor in factors)


def _place(at: At) -> tuple[Index, ...]:
    return tuple(map(as_index, at)) if isinstance(at, tuple) else (as_index(at),)


def _swizzled(array: SharedArray, spread: Spread) -> Layout | ComposedLayout:
    places = spread.in_array(array.place)
    return places if array.swizzle is None else ComposedLayout(array.swizzle, 0, places)
