"""Floor 7: a GEMM that follows a plan: stream-K, split-K with fix-up, grouped, experts."""

from __future__ import annotations

from typing import Literal

from pycute_xe.atom.reordering import is_identity, reorder
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Fragment, Operand, Order, matrix
from pycute_xe.kernel.ir.statements import (
    AtomicStore,
    Await,
    Fill,
    If,
    Load,
    Loop,
    Map,
    Reorder,
    Signal,
    Statement,
    Store,
)
from pycute_xe.kernel.kinds.endings import product_of
from pycute_xe.kernel.kinds.epilogue import Epilogue, Frame
from pycute_xe.kernel.kinds.gemm import check_arguments
from pycute_xe.kernel.kinds.mainloop import Stretch, stretched
from pycute_xe.kernel.kinds.parts import (
    Side,
    by_registers,
    copy_slots,
    mma_slots,
    operand_copy,
    store_reorder,
)
from pycute_xe.kernel.kinds.transforming import operand_side, transformed_operands
from pycute_xe.kernel.schedules.tables import FIELDS
from pycute_xe.kernel.spec.expression import Slot
from pycute_xe.layout import size
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed

__all__ = ["scheduled"]

Groups = Literal["none", "batch", "stacked"]


@typed
def scheduled(
    mma: TiledMma,
    a: Order = "row",
    b: Order = "row",
    d: Order = "row",
    stages: int = 2,
    *,
    groups: Groups = "none",
    fixup: bool = True,
    transform_a: str | None = None,
    transform_b: str | None = None,
    epilogue: str | None = None,
    d_type: Numeric | str | None = None,
    types: dict[str, Numeric | str] | None = None,
    orders: dict[str, Order] | None = None,
) -> Kernel:
    """Return the GEMM whose work-groups look up in tables which pieces of which tiles they compute.

    The tables are operands, ``work`` and ``count``, which `plan_tables` makes of any `Plan`. Pieces
    of a shared tile meet in the scratch ``W``: the first stores there, others add by atomics, and
    the last one loads the sum, adds its own and has the epilogue. Each waits before and signals
    behind at a counter of the tile in ``locks``, as the table says. ``fixup=False`` leaves that
    out, for plans of whole tiles. ``groups="batch"`` gives every matrix a leading mode L, the
    problem's number; smaller problems leave parts of it unused. ``"stacked"`` gives it to B alone:
    rows of A and D of all experts lie one after the other, each expert's from a whole tile on.
    Types in memory and transforms are as in `gemm`; what a transform reads has the leading mode of
    its operand, ``B * scale[l,k/128,n]``, and a trip loads the scales of its group. Raises
    `KernelError` as `gemm` does. C++: ``kernel/xe_gemm_cooperative.hpp``,
    ``kernel/xe_gemm_array_cooperative.hpp``.

    >>> import numpy as np, pycute_xe as cx
    >>> from pycute_xe.kernel.schedules import StreamK, plan_tables, tile_counts
    >>> op, alone = cx.XE_DPAS_TT(8, "f32", "bf16"), ((1, 1, 1), (1, 1, 0))
    >>> mma = cx.workgroup_mma(op, (16, 16, 16), alone)
    >>> plan = StreamK(4, least=1).plan(tile_counts(32, 16, 96, mma.tile_mnk))
    >>> A, B = np.ones((32, 96)), np.ones((96, 16))
    >>> rounded = {"A": "bf16", "B": "bf16"}
    >>> D = cx.run(scheduled(mma), A, B, **plan_tables(plan), dtype=rounded)
    >>> bool((D == 96).all())
    True
    """
    check_arguments(mma, stages)
    if groups not in ("none", "batch", "stacked"):
        raise KernelError(
            "scheduled",
            {"groups": groups},
            "groups must be none, batch or stacked",
            'use groups="batch"',
        )
    op, tiles = mma.atom.op, mma.tile_mnk
    held = by_registers(mma)
    lead = ("L",) if groups == "batch" else ()
    of_b = () if groups == "none" else ("L",)
    group = _field("group")
    first, m, n = (group,) * len(lead), _field("m") * tiles[0], _field("n") * tiles[1]
    out_type = as_numeric(d_type) if d_type is not None else op.D
    declared = types or {}
    outputs: dict[str, Order] = {"D": d}
    frame = Frame(held, lead, first, (m, n), orders or {}, declared, outputs)
    of_first = (group,) * len(of_b)
    frame_b = Frame(held, of_b, of_first, (m, n), orders or {}, declared, outputs)
    sides = (
        _side(frame, "A", a, (*first, m, Index()), transform_a),
        _side(frame_b, "B", b, (*of_first, Index(), n), transform_b),
    )
    ending = Epilogue.read(frame, epilogue, {}, out_type, None)
    fix = _Fixup(held, op.D, lead, (*first, m, n), (*first, _field("m"), _field("n")))
    part = Stretch(_field("start"), _field("stop"))
    work: tuple[Statement, ...] = (Fill("tCrC"), *stretched(held, sides, stages, part))
    tail = fix.around(ending.statements) if fixup else ending.statements
    accumulator = Fragment("tCrC", op.D, size(mma.fragment("C")[1]))
    fragments = (accumulator, *(f for s in sides for f in s.fragments()), *ending.fragments)
    operands = (
        matrix("A", sides[0].copy.value_type, (*lead, "M", "K"), a),
        matrix("B", sides[1].copy.value_type, (*of_b, "K", "N"), b),
        *transformed_operands(sides),
        *ending.operands[:-1],
        Operand("work", "s32", ("U", "P", len(FIELDS))),
        Operand("count", "s32", ("U",)),
        *(fix.operands(tiles) if fixup else ()),
        ending.operands[-1],
    )
    body = (Loop("i", Index(), Index.element("count", Index("u")), (*work, *tail)),)
    at = tuple(Index(x.lower()) for x in lead)
    claim = ending.specification(product_of(op.D, (sides[0].factor, sides[1].factor), at))
    return Kernel(
        "scheduled",
        mma.num_subgroups,
        operands,
        (*fragments, *(fix.fragments() if fixup else ())),
        (("u", Index("U")),),
        body,
        None if groups == "stacked" else claim,
    )


def _field(name: str) -> Index:
    """Return what the table says of piece i of work-group u."""
    return Index.element("work", Index("u"), Index("i"), FIELDS.index(name))


def _side(
    frame: Frame, name: str, order: Order, before: tuple[Index, ...], transform: str | None
) -> Side:
    """Return how A or B comes to the MMA, from memory of the type that is declared."""
    numeric = as_numeric(frame.types.get(name, getattr(frame.mma.atom.op, name)))
    copy, lead = operand_copy(frame.mma, name, order, numeric), len(before) - 2
    modes = (lead, lead + 1) if name == "A" else (lead + 1, lead)
    return operand_side(frame, name, copy, modes, before, True, transform)


class _Fixup:
    """The statements by which pieces of a tile are added up in ``W``."""

    def __init__(
        self,
        mma: TiledMma,
        numeric: Numeric,
        lead: tuple[str, ...],
        at: tuple[Index, ...],
        lock: tuple[Index, ...],
    ) -> None:
        self.numeric, self.lead, self.at, self.lock = numeric, lead, at, lock
        self.loads = operand_copy(mma, "C", "row", numeric)
        self.stores = operand_copy(mma, "D", "row", numeric)
        self.modes = len(lead), len(lead) + 1
        self.out = store_reorder(mma, self.stores)
        back = reorder(copy_slots(self.loads), mma_slots(mma, "C"))
        self.back = None if is_identity(back) else back
        self.slots = size(mma.fragment("C")[1])

    def operands(self, tiles: tuple[int, int, int]) -> tuple[Operand, ...]:
        """Return the memory that is worked in."""
        locks = (*self.lead, Tiles("M", tiles[0]), Tiles("N", tiles[1]))
        return (
            matrix("W", self.numeric, (*self.lead, "M", "N"), "row", role="scratch"),
            Operand("locks", "s32", locks, role="scratch"),
        )

    def fragments(self) -> tuple[Fragment, ...]:
        """Return the registers that are worked in."""
        names = ["tWrW"]
        names += ["tWsW"] if self.out is not None else []
        names += ["tWaW"] if self.back is not None else []
        return tuple(Fragment(name, self.numeric, self.slots) for name in names)

    def around(self, ending: tuple[Statement, ...]) -> tuple[Statement, ...]:
        """Return what a piece does behind its loop: first, middle, last."""
        first, last, none, one = _field("first"), _field("last"), Index(), Index(None, 1)
        wait = Await("locks", self.lock, _field("needs"))
        source, turn = "tCrC", ()
        if self.out is not None:
            source, turn = "tWsW", (Reorder("tCrC", "tWsW", self.out),)
        store = Store(self.stores, "W", self.at, source, self.modes)
        add = AtomicStore(self.stores, "W", self.at, source, self.modes)
        found, back = "tWrW", ()
        if self.back is not None:
            found, back = "tWaW", (Reorder("tWrW", "tWaW", self.back),)
        load = Load(self.loads, "W", self.at, "tWrW", self.modes)
        total = Map("tCrC", Slot("tCrC") + Slot(found))
        shared = (
            *turn,
            If(none, first, (store,)),
            If(first, one, (wait, add)),
            Signal("locks", self.lock, _field("gives")),
        )
        joined = (If(first, one, (wait, load, *back, total)), *ending)
        return If(last, one, shared), If(none, last, joined)
