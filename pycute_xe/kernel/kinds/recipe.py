"""The recipe of a GEMM: a main loop, an epilogue and a schedule, each a value.

What one kind of kernel has, another has from here too: transforms, types in memory, shared memory,
further outputs, batches, parts of K, plans. What does not go together is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from pycute_xe.atom.reordering import is_identity, reorder
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Fragment, Operand, Order, Shared, matrix
from pycute_xe.kernel.ir.planned import Planned
from pycute_xe.kernel.ir.statements import (
    AtomicStore,
    Await,
    Fill,
    If,
    Load,
    Loop,
    Map,
    Mma,
    Reorder,
    Signal,
    Statement,
    Store,
)
from pycute_xe.kernel.kinds.epilogue import Frame, Tail
from pycute_xe.kernel.kinds.epilogue_tiles import TiledTail
from pycute_xe.kernel.kinds.mainloop import (
    Stretch,
    by_some,
    doubled,
    produced_loop,
    register_loop,
    shared_loop,
)
from pycute_xe.kernel.kinds.parts import (
    GivenCopy,
    check_given,
    given_copy,
    operand_copy,
    product_of,
    store_reorder,
    unfit,
)
from pycute_xe.kernel.kinds.scalars import nearest_name
from pycute_xe.kernel.kinds.side import Side, cooperative_copy, transformed_operands
from pycute_xe.kernel.kinds.transforms import Transform
from pycute_xe.kernel.schedules.plan import FIELDS
from pycute_xe.kernel.spec.expression import Expression, Slot
from pycute_xe.kernel.tiles.slots import by_registers, copy_slots, mma_slots
from pycute_xe.layout import size
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import checked_fields, typed, typed_fields
from pycute_xe.swizzle import Swizzle

__all__ = ["Epilogue", "Input", "Mainloop", "Schedule", "Step", "kernel", "side_of"]

# ------------------------------------------------------------ fixup
# Pieces of one tile put together: a work-group's table of pieces, and their sum.

TABLES = (Operand("work", "s32", ("U", "P", len(FIELDS))), Operand("count", "s32", ("U",)))
"""The operands that say which pieces each work-group computes."""


def table_field(name: str) -> Index:
    """Return what the table says of piece i of work-group u."""
    return Index.element("work", Index("u"), Index("i"), FIELDS.index(name))


class Fixup:
    """The statements by which pieces of a tile are added up in ``W``."""

    def __init__(self, frame: Frame, numeric: Numeric) -> None:
        """Find the copies."""
        mma, self.numeric, self.lead = frame.mma, numeric, frame.lead
        self.at = (*frame.first, *frame.corner)
        self.lock = (*frame.first, table_field("m"), table_field("n"))
        self.loads = operand_copy(mma, "C", "row", numeric)
        self.stores = operand_copy(mma, "D", "row", numeric)
        self.modes = len(self.lead), len(self.lead) + 1
        self.out = store_reorder(mma, self.stores)
        back = reorder(copy_slots(self.loads), mma_slots(mma, "C"))
        self.back = None if is_identity(back) else back
        self.mma = mma

    def operands(self) -> tuple[Operand, ...]:
        """Return the memory that is worked in."""
        tiles = self.mma.tile_mnk
        locks = (*self.lead, Tiles("M", tiles[0]), Tiles("N", tiles[1]))
        return (
            matrix("W", self.numeric, (*self.lead, "M", "N"), "row", role="scratch"),
            Operand("locks", "s32", locks, role="scratch"),
        )

    def fragments(self) -> tuple[Fragment, ...]:
        """Return the registers that are worked in."""
        slots = size(self.mma.fragment("C")[1])
        names = ["tWrW"]
        names += ["tWsW"] if self.out is not None else []
        names += ["tWaW"] if self.back is not None else []
        return tuple(Fragment(name, self.numeric, slots) for name in names)

    def around(self, ending: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """Return what a piece does behind its loop: first, middle, last."""
        first, last, none, one = table_field("first"), table_field("last"), Index(), Index(None, 1)
        wait = Await("locks", self.lock, table_field("needs"))
        source, turn = "tCrC", ()
        if self.out is not None:
            source, turn = "tWsW", (Reorder("tCrC", "tWsW", self.out),)
        store = Store(self.stores, "W", self.at, source, self.modes)
        add = AtomicStore(self.stores, "W", self.at, source, self.modes)
        fragment, back = "tWrW", ()
        if self.back is not None:
            fragment, back = "tWaW", (Reorder("tWrW", "tWaW", self.back),)
        load = Load(self.loads, "W", self.at, "tWrW", self.modes)
        total = Map("tCrC", Slot("tCrC") + Slot(fragment))
        shared = (
            *turn,
            If(none, first, (store,)),
            If(first, one, (wait, add)),
            Signal("locks", self.lock, table_field("gives")),
        )
        joined = (If(first, one, (wait, load, *back, total)), *ending)
        return If(last, one, shared), If(none, last, joined)


# ------------------------------------------------------------ recipe


@typed_fields
@dataclass(frozen=True)
class Input:
    """An operand that is multiplied: how it lies in memory, and how it comes to the registers.

    ``numeric`` is the type in memory, the MMA's by default; it is converted behind its load.
    ``transform`` is an expression that is multiplied in its place, with scalars, a value for each
    ``m`` or ``n``, and one for each group along k, loaded once for the group, which must be a
    multiple of the tile's K: ``(B - zero[k/128,n]) * scale[k/128,n]``.
    ``copy`` is a tiled copy, an atom to tile, or its name, CUTLASS's choice by default;
    ``reorders=False`` lets the MMA read the registers as the copy left them. ``ahead`` tiles of K
    are prefetched. With ``stages``, 1 to 3, the subgroups load a tile together and so many lie in
    shared memory, permuted by ``swizzle`` against bank conflicts.
    """

    order: Order = "row"
    numeric: Numeric | str | None = None
    transform: str | None = None
    copy: GivenCopy = None
    reorders: bool = True
    ahead: int = 2
    stages: int | None = None
    swizzle: Swizzle | None = None


@typed_fields
@dataclass(frozen=True)
class Step:
    """What is done to accumulators between the main loop and the epilogue, and its claim.

    ``claim`` makes of the products, one for each accumulator, what the epilogue's ``acc`` is. With
    ``rows``, whole rows are needed: a tile has all columns.
    """

    statements: tuple[Statement, ...]
    claim: Callable[..., Expression]
    operands: tuple[Operand, ...] = ()
    fragments: tuple[Fragment, ...] = ()
    shared: tuple[Shared, ...] = ()
    rows: bool = False


def _itself(product: Expression) -> Expression:
    return product


PLAIN = Step((), _itself)
"""The step that leaves an accumulator as it is."""


@typed_fields
@dataclass(frozen=True)
class Mainloop:
    """The loop over K: A is multiplied by each B, into an accumulator for each.

    ``producers`` puts as many subgroups beside those of the MMA, which load and fill shared memory
    while those multiply. C++: ``CollectiveMma``.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> loop = Mainloop(mma, b=Input(numeric="s8", transform="B * scale[n]", stages=2))
    >>> print(*(f"{array}" for array in kernel(loop).shared))
    sB s8[16384] shared
    """

    mma: TiledMma
    a: Input = field(default_factory=Input)
    b: Input | tuple[Input, ...] = field(default_factory=Input)
    producers: bool = False

    @property
    def bs(self) -> tuple[Input, ...]:
        """The right sides."""
        return (self.b,) if isinstance(self.b, Input) else self.b

    @property
    def factors(self) -> dict[str, Input]:
        """The operands by name: A, and B, or B0 and B1."""
        names = ("B",) if isinstance(self.b, Input) else (f"B{i}" for i in range(len(self.b)))
        return {"A": self.a} | dict(zip(names, self.bs, strict=True))

    @property
    def accumulators(self) -> tuple[str, ...]:
        """The fragments that products are added up in."""
        return tuple(f"tCrC{i or ''}" for i in range(len(self.factors) - 1))

    def loop(self, sides: tuple[Side, ...], part: Stretch) -> tuple[Statement, ...]:
        """Return the statements of the loop over a part of K."""
        products = tuple(
            Mma(self.mma, accumulator, sides[0].read, side.read)
            for accumulator, side in zip(self.accumulators, sides[1:], strict=True)
        )
        shared = any(side.stages for side in sides)
        write = produced_loop if self.producers else shared_loop if shared else register_loop
        return write(by_registers(self.mma) if not part.whole else self.mma, sides, products, part)


@checked_fields
@dataclass(frozen=True)
class Epilogue:
    """What becomes of a product: an expression of ``acc``, how D lies, and what else is stored.

    ``value`` is of ``acc``, numbers, scalars by name, matrices ``C`` or ``X[m,n]``, ``bias[n]`` and
    ``bias[m]``, and functions (`pycute_xe.kernel.spec.functions`); ``types`` and ``orders`` declare
    them and what transforms read (the accumulator's type and rows by default). ``numeric`` converts
    last, to nearest even, integers saturated. ``also`` names further outputs, their expressions,
    and vectors of sums: ``{"rows[m]": "sum(n, D[m,n])"}`` adds to what the vector had. ``tile``
    cuts each subgroup's share of D into so many rows and columns, loaded, computed and stored in
    turn; CUTLASS's is the shape of one DPAS. C++: ``CollectiveEpilogue``.
    """

    value: str | None = None
    numeric: Numeric | str | None = None
    order: Order = "row"
    types: dict[str, Numeric | str] | None = None
    orders: dict[str, Order] | None = None
    also: dict[str, str] | None = None
    tile: tuple[int, int] | None = None
    copy: GivenCopy = None

    @property
    def is_plain(self) -> bool:
        """Whether D is the product as it is accumulated."""
        return not any((self.value, self.numeric, self.also, self.tile, self.copy))

    def tail(self, frame: Frame) -> Tail:
        """Return the operands and statements behind the main loop, and what they compute."""
        mma = frame.mma
        numeric = mma.atom.op.D if self.numeric is None else as_numeric(self.numeric)
        stored: TiledCopy | None = None
        if self.copy is not None:
            stored = given_copy(mma, "D", self.order, self.copy, numeric)
        if self.tile is None:
            return Tail.read(frame, self.value, self.also or {}, numeric, stored)
        if stored is not None:
            raise KernelError(
                "gemm",
                {"epilogue_tile": self.tile},
                "epilogue_tile cuts the store into messages of its own, copy_d names others",
                "give one of the two",
            )
        return TiledTail.read_in_tiles(frame, self.value, self.also or {}, numeric, self.tile)


@checked_fields
@dataclass(frozen=True)
class Schedule:
    """Which work-group computes what: a tile of one product, of many, a part of K, a plan's pieces.

    ``groups="batch"`` gives every matrix a leading mode L, ``"stacked"`` gives it to B alone.
    ``parts`` or ``chunk`` share K out over work-groups that add to D; ``plan`` has each look its
    pieces up in tables, ``fixup=False`` for plans of whole tiles. ``raster`` is the axis of tiles
    that varies first in the grid. C++: ``TileScheduler``.
    """

    groups: Literal["none", "batch", "stacked"] = "none"
    parts: int | None = None
    chunk: int | None = None
    plan: bool = False
    fixup: bool = True
    raster: Literal["m", "n"] = "m"

    @property
    def splits(self) -> bool:
        """Whether work-groups add parts of K to D."""
        return self.parts is not None or self.chunk is not None

    def frame(self, mma: TiledMma, epilogue: Epilogue, columns: int | None) -> Frame:
        """Return where a work-group's tile stands; ``columns`` are those of whole rows."""
        lead = ("L",) if self.groups == "batch" else ()
        corner, first = (Index("m"), Index("n")), tuple(Index(name.lower()) for name in lead)
        if self.plan:
            corner, first = (
                (table_field("m"), table_field("n")),
                (table_field("group"),) * len(lead),
            )
        m, n = (i * extent for i, extent in zip(corner, mma.tile_mnk[:2], strict=True))
        extents: tuple[str | int, str | int] = ("M", "N")
        if columns is not None:
            n, extents = Index(), ("M", columns)
        declared = epilogue.orders or {}, epilogue.types or {}
        outputs: dict[str, Order] = {"D": epilogue.order}
        return Frame(mma, lead, first, (m, n), *declared, outputs, extents, self.splits)

    def stretch(self, mma: TiledMma) -> Stretch:
        """Return the trips of a work-group."""
        s, trips = Index("s"), Tiles("K", mma.tile_mnk[2])
        if self.plan:
            return Stretch(table_field("start"), table_field("stop"))
        if self.parts is not None:
            parts = self.parts
            stop = (trips - s + (parts - 1)) // parts
            return Stretch(Index(), stop, lambda j: parts * j + s)
        if self.chunk is not None:
            each = self.chunk  # Trips beyond K multiply zeros.
            return Stretch(Index(), Index(None, each), lambda j: each * s + j)
        return Stretch.over(mma)

    def grid(self, mma: TiledMma, whole_rows: bool) -> tuple[tuple[str, Index], ...]:
        """Return the axes of the grid."""
        if self.plan:
            return (("u", Index("U")),)
        tile_m, tile_n, tile_k = mma.tile_mnk
        axes = (("m", Tiles("M", tile_m)), ("n", Tiles("N", tile_n)))
        axes = axes[:1] if whole_rows else axes if self.raster == "m" else axes[::-1]
        if self.parts is not None:
            axes = (("s", Index(None, self.parts)), *axes)
        if self.chunk is not None:
            axes = (("s", Tiles("K", tile_k * self.chunk)), *axes)
        return (("l", Index("L")), *axes) if self.groups == "batch" else axes


@typed
def kernel(
    mainloop: Mainloop,
    epilogue: Epilogue | None = None,
    schedule: Schedule | None = None,
    *,
    step: Step | None = None,
    name: str = "gemm",
) -> Kernel:
    """Return the kernel of a main loop, an epilogue and a schedule.

    Each of the older kinds is one such call, and what they have goes together: shared memory with
    transforms, batches and parts of K, softmax of rows with scaled types. Raises `KernelError` for
    parts that do not fit, and for those that do not go together, with the reason. C++:
    ``GemmUniversal<Shape, CollectiveMainloop, CollectiveEpilogue, TileScheduler>``.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> staged = Input(stages=2)
    >>> split = kernel(Mainloop(mma, staged, staged), schedule=Schedule(parts=4))
    >>> print(split.computes)
    D[m,n] = D[m,n] + sum(k, A[m,k]*B[k,n], f32)
    """
    ending, plan, between = epilogue or Epilogue(), schedule or Schedule(), step or PLAIN
    _check(name, mainloop, ending, plan, between)
    mma, op = by_registers(mainloop.mma), mainloop.mma.atom.op
    frame = plan.frame(mma, ending, mma.tile_mnk[1] if between.rows else None)
    stacked = replace(frame, lead=("L",), first=(table_field("group"),))
    given = tuple(
        (stacked if x != "A" and plan.groups == "stacked" else frame, x, one)
        for x, one in mainloop.factors.items()
    )
    sides = tuple(side_of(*one) for one in given)
    tail, at = ending.tail(frame), tuple(Index(x.lower()) for x in frame.lead)
    products = (product_of(op.D, (sides[0].factor, side.factor), at) for side in sides[1:])
    claim = tail.specification(between.claim(*products))
    fix = Fixup(frame, op.D) if plan.plan and plan.fixup else None
    operands = (
        *(*(_operand_of(*one) for one in given), *transformed_operands(sides)),
        *(*between.operands, *tail.operands[:-1]),
        *(*(TABLES if plan.plan else ()), *(fix.operands() if fix else ())),
        tail.operands[-1],
    )
    _demand_declared(name, ending, operands)
    behind = (*between.statements, *tail.statements)
    slots = size(mma.fragment("C")[1])
    fragments = (
        *(Fragment(x, op.D, slots) for x in mainloop.accumulators),
        *(fragment for side in sides for fragment in side.fragments()),
        *(*between.fragments, *tail.fragments, *(fix.fragments() if fix else ())),
    )
    return Kernel(
        name,
        mma.num_subgroups * (1 + mainloop.producers),
        operands,
        fragments,
        plan.grid(mma, between.rows),
        _body(mainloop, plan, sides, fix.around(behind) if fix else behind),
        None if plan.groups == "stacked" else claim,
        (*(array for side in sides for array in side.shared()), *between.shared),
        _planned(plan, fix is not None) if plan.plan else None,
    )


def _planned(schedule: Schedule, adds: bool) -> Planned:
    """Return the names by which a planned kernel looks its work up."""
    batch = "" if schedule.groups == "none" else "L"
    return Planned(batch=batch) if adds else Planned(scratch="", locks="", batch=batch)


def _body(
    mainloop: Mainloop, plan: Schedule, sides: tuple[Side, ...], behind: tuple[Statement, ...]
) -> tuple[Statement, ...]:
    mma = by_registers(mainloop.mma)
    fills = tuple(map(Fill, mainloop.accumulators))
    loop = mainloop.loop(sides, plan.stretch(mma))
    if mainloop.producers:
        return tuple(map(doubled, (by_some(mma, fills), *loop, by_some(mma, behind))))
    if plan.plan:
        turns = Index.element("count", Index("u"))
        return (Loop("i", Index(), turns, (*fills, *loop, *behind)),)
    return (*fills, *loop, *behind)


def _operand_of(frame: Frame, name: str, given: Input) -> Operand:
    numeric = given.numeric or getattr(frame.mma.atom.op, name[0])
    modes = (frame.extents[0], "K") if name == "A" else ("K", frame.extents[1])
    return matrix(name, numeric, (*frame.lead, *modes), given.order)


def side_of(frame: Frame, name: str, given: Input) -> Side:
    """Return how an operand comes to the MMA of a frame."""
    mma, role, rank = frame.mma, name[0], len(frame.lead)
    numeric = as_numeric(given.numeric or getattr(mma.atom.op, role))
    m, n = frame.corner
    modes = (rank, rank + 1) if role == "A" else (rank + 1, rank)
    before = (*frame.first, *((m, Index()) if role == "A" else (Index(), n)))
    if given.stages is not None:
        copy = cooperative_copy(mma, role, given.order, numeric)
    else:
        copy = given_copy(mma, role, given.order, given.copy, numeric)
    transform = None if given.transform is None else Transform.read(frame, name, given.transform)
    return Side(
        name, copy, mma, modes, before, given.reorders, transform,
        given.ahead, given.stages or 0, given.swizzle,
    )  # fmt: skip


# ------------------------------------------------------------------ what is refused


_ELSEWHERE = {("types", "D"): "d_type", **{("orders", x): x.lower() for x in "ABD"}}
"""Arguments of their own for what `types` and `orders` say of other operands."""


def _demand_declared(name: str, epilogue: Epilogue, operands: tuple[Operand, ...]) -> None:
    """Refuse types and orders that would be ignored: of names that the kernel does not have."""
    known = {operand.name for operand in operands}
    for option, given in (("types", epilogue.types), ("orders", epilogue.orders)):
        for one, asked in (given or {}).items():
            if elsewhere := _ELSEWHERE.get((option, one)):
                wrong = f"what {option} says of {one} is an argument of its own"
                raise KernelError(name, {option: given}, wrong, f"write {elsewhere}={str(asked)!r}")
            near = nearest_name(one, known)
            wrong, fix = f"{one} of {option} is not an operand of the kernel", "leave it out"
            if one in known:
                if option == "types" or one not in ("A", "B", "D"):
                    continue
                wrong, fix = (
                    f"{one} has its order from {one.lower()}=",
                    f'write {one.lower()}="col"',
                )
            elif near:
                wrong, fix = f"{wrong}, and resembles {near}", f"write {near}"
            raise KernelError(name, {option: given}, wrong, fix)


def _check(
    name: str, mainloop: Mainloop, epilogue: Epilogue, schedule: Schedule, step: Step
) -> None:
    """Refuse slips that would otherwise surface far from here, and what does not go together."""
    mma, factors = mainloop.mma, mainloop.factors
    stages = {x.stages for x in factors.values()} - {None}
    if not isinstance(mma, TiledMma):  # pyright: ignore[reportUnnecessaryIsInstance]
        wrong, fix = f"{type(mma).__name__} is not a tiled MMA", "use workgroup_mma(op, tile=…)"
    else:
        inputs = (_unfit_input(mma, x, given) for x, given in factors.items())
        slips = (unfit(mma), *inputs, _clash(mainloop, epilogue, schedule, step))
        wrong, fix = next((one for one in slips if one[0]), ("", ""))
    if wrong:
        given = {"mma": mma, "stages": next(iter(stages), factors["A"].ahead)}
        raise KernelError(name if stages else "gemm", given, wrong, fix)
    check_given(*(x.copy for x in factors.values()), epilogue.copy)


def _unfit_input(mma: TiledMma, name: str, given: Input) -> tuple[str, str]:
    numeric = as_numeric(given.numeric or getattr(mma.atom.op, name[0]))
    if type(given.ahead) is not int or given.ahead < 0:
        return f"stages is {given.ahead!r}, which is not a count of tiles", "use 0 or more"
    if given.stages is not None and numeric.bits < 8:
        wrong = f"elements of {numeric} are narrower than a byte, and shared memory has bytes"
        return wrong, "share them in a wider type, or use kernel.gemm"
    if given.stages is not None and not 1 <= given.stages <= 3:
        return f"stages is {given.stages}, which must be 1 to 3", "use 2"
    if given.stages is not None and (given.copy is not None or not given.reorders):
        return f"{name} is loaded by all subgroups together", "leave copy and reorders out"
    return "", ""


Clash: TypeAlias = tuple[Any, str, str]
"""Whether something is so, why it cannot be, and a way out."""


def _clash(
    mainloop: Mainloop, epilogue: Epilogue, schedule: Schedule, step: Step
) -> tuple[str, str]:
    """Return why parts of a recipe do not go together, and a way out; else nothing."""
    stages = {given.stages for given in mainloop.factors.values()} - {None}
    for count in (schedule.parts, schedule.chunk):
        if count is not None and (type(count) is not int or count < 1):
            return f"a split of {count!r} parts", "use 1 or more"
    rules = (
        (len(stages) > 1, "operands lie in shared memory in different stages", "use one number"),
        (
            mainloop.producers and not stages,
            "producers have no shared memory to fill",
            "give an Input stages=2",
        ),
        (
            mainloop.producers and (schedule.plan or bool(step.shared)),
            "producers do not meet those that multiply behind the loop",
            "leave producers out",
        ),
        (
            len(mainloop.accumulators) > 1 and step is PLAIN,
            "nothing puts the accumulators together",
            "give a step",
        ),
        *_clashes_of_work(epilogue, schedule, step, bool(stages)),
    )
    return next(((wrong, fix) for is_so, wrong, fix in rules if is_so), ("", ""))


def _clashes_of_work(
    epilogue: Epilogue, schedule: Schedule, step: Step, shared: bool
) -> tuple[Clash, ...]:
    """Return what does not go together with how work is shared out."""
    return (
        (
            schedule.parts is not None and schedule.chunk is not None,
            "K is shared out by parts and by chunk",
            "give one of the two",
        ),
        (
            schedule.splits and schedule.plan,
            "a plan says itself which part of K a piece has",
            "leave parts and chunk out",
        ),
        (
            schedule.splits and (not epilogue.is_plain or step is not PLAIN),
            "parts of K are added to D by atomics, no work-group has the sum for an epilogue",
            "use Schedule(plan=True), whose last piece has the sum",
        ),
        (
            schedule.plan and shared,
            "a piece of a plan would store to shared memory while subgroups read the last one's",
            "load by registers: Input(stages=None)",
        ),
        (
            schedule.plan and bool(epilogue.also),
            "further outputs of pieces that are added up are not supported",
            "use Schedule(groups=…) without a plan",
        ),
        (
            schedule.plan and schedule.fixup and step is not PLAIN,
            "pieces add up one accumulator, without a step",
            "use fixup=False, and a plan of whole tiles",
        ),
        (
            schedule.plan and step.rows,
            "whole rows are those of one tile, which a plan may part",
            "leave the plan out",
        ),
        (
            schedule.groups == "stacked" and not schedule.plan,
            "rows of stacked experts begin where a plan says",
            "use plan=True",
        ),
    )
