"""Tiles dealt out by a counter: a work-group takes a ticket for each, until all are taken."""

from __future__ import annotations

from dataclasses import replace

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index, Looked, Tiles
from pycute_xe.kernel.ir.effects import CounterAccess
from pycute_xe.kernel.ir.identities import named
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.program import walk
from pycute_xe.kernel.ir.statements import If, Loop, Statement
from pycute_xe.kernel.ir.tickets import misused
from pycute_xe.kernel.serving.rows import rounded
from pycute_xe.kernel.serving.sizes import sized
from pycute_xe.kernel.spec.specification import never_negative
from pycute_xe.kernel.tiles.spread import Share
from pycute_xe.signatures import typed

__all__ = ["dealt_gemm", "dealt_tiles"]


@typed
@sized()
def dealt_gemm(
    mma: TiledMma, across: int = 1, *, kind: str = "bf16", d_type: str = "f32"
) -> Kernel:
    """Return the GEMM whose U work-groups take tiles from a counter until all are taken.

    D (M, N) = A B with N of ``across`` tiles; ticket i is tile (i / across, i % across). Which
    work-group computes a tile is decided in a run. ``counter`` begins with 0, as scratch does, and
    ``tickets`` (U) keeps the one that a work-group holds. Raises `KernelError` as `KernelBuilder`
    does. C++: a dynamic persistent tile scheduler; vLLM's and SGLang's persistent kernels.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 1, 1), (1, 1, 0)))
    >>> print(*(f"{name} < {count}" for name, count in dealt_tiles(dealt_gemm(mma)).grid))
    tickets < ceil_div(M, 32)
    """
    rows, columns, depth = mma.tile_mnk
    k = KernelBuilder("dealt_gemm", mma)
    A, B = k.input("A", kind, ("M", "K")), k.input("B", kind, ("K", columns * across))
    D = k.output("D", d_type, ("M", columns * across))
    counter = k.operand("counter", "s32", (1,), "scratch")
    tickets = k.operand("tickets", "s32", ("U",), "scratch")
    count = Tiles("M", rows) * across
    (u,) = k.grid(u="U")
    with k.loop("i", 0, count):
        ticket = k.ticket(counter, 0, tickets, u)
        with k.when(ticket < count):
            m, n = ticket // across * rows, ticket % across * columns
            k.fill("acc", Share(mma, "C"))
            with k.loop("k", 0, Tiles("K", depth)) as j:
                k.load("a", A, Share(mma, "A"), at=(m, j * depth))
                k.load("b", B, Share(mma, "B"), at=(j * depth, n))
                k.mma("acc", "a", "b")
            k.convert("out", "acc", d_type)
            k.store(D, "out", at=(m, n))
    return k.build(f"D[m,n] = {rounded(d_type, 'sum(k, A[m,k]*B[k,n], f32)')}")


# ------------------------------------------------------------ what each ticket is for


@typed
def dealt_tiles(kernel: Kernel) -> Kernel:
    """Return the kernel in which each ticket has a work-group of its own.

    The law: where a work-group goes on until a ticket is not below ``count``, and takes as many as
    there are, tickets are 0, 1, 2, … without a gap; so each one below ``count`` is drawn, once, and
    what is done with it is done once. All subgroups meet where a ticket is taken: shared memory
    passes from one to the next in order, once a `Fence` is behind its stores. Raises `KernelError`
    for a kernel that does anything else with its counter, or whose work depends on more than the
    ticket.
    """
    (turns,) = kernel.body if len(kernel.body) == 1 else (None,)
    if not isinstance(turns, Loop) or len(turns.body) != 2:
        raise _undealt(kernel, "its body is not a loop of a ticket and what is done with it")
    statement, done = turns.body
    take = statement.touched.counter if statement.touched.only_counts else None
    if take is None or not take.into or take.least is not None or not isinstance(done, If):
        raise _undealt(kernel, "its loop does not begin with a ticket, under a condition behind it")
    ticket = Index.element(take.into, *take.place)
    if (done.index, turns.start, turns.stop) != (ticket, Index(), done.below):
        raise _undealt(kernel, "it does not go on until the tickets are used up")
    ranges = ((turns.var, turns.stop), *kernel.grid)
    own = {name for name, _ in ranges}
    body = named(done.body, Looked(take.into, take.place), take.into)
    wrong = _lost(kernel, take, ranges) or misused(kernel, statement)
    if wrong := wrong or _not_a_deal(kernel, take, own, done.below, body):
        raise _undealt(kernel, wrong)
    gone = {take.operand, take.into}
    operands = tuple(o for o in kernel.operands if o.name not in gone)
    return replace(kernel, operands=operands, grid=((take.into, done.below),), body=body)


def _not_a_deal(
    kernel: Kernel, take: CounterAccess, own: set[str], count: Index, body: tuple[Statement, ...]
) -> str:
    """Return why tickets are not each drawn once, or their work is not a kernel of its own."""
    if any(i.names or i.looked_up for i in take.at):
        return "tickets are not counted at one place"
    if kernel.operand(take.into).role != "scratch":
        return f"{take.into} must be scratch: which ticket it has at the end is open"
    indices = (i for s in walk(body) for i in s.touched.indices)
    if own & {n for i in (*indices, count) for n in i.names} or count.looked_up:
        return "what is done depends on the work-group, not on the ticket alone"
    if not _is_fenced(body):
        return "no fence lies between a store to shared memory and the next ticket"
    return ""


def _lost(kernel: Kernel, take: CounterAccess, ranges: tuple[tuple[str, Index], ...]) -> str:
    """Return why a ticket may lack a place, or a work-group that takes it, at some sizes."""
    for name, at in ((take.operand, take.at), (take.into, take.place)):
        for index, extent in zip(at, kernel.operand(name).modes, strict=True):
            if not all(never_negative(i, ranges) for i in (index, extent - 1 - index)):
                return f"{index} may lie outside of {name}"
    empty = (
        f"the grid may be empty along {name}"
        for name, n in kernel.grid
        if not never_negative(n - 1, ())
    )
    return next(empty, "")


def _is_fenced(body: tuple[Statement, ...]) -> bool:
    """Whether a fence is behind every store to shared memory, however conditions turn out."""
    for statement in reversed(body):
        if statement.touched.meets == "fence":
            return True
        if statement.touched.to_shared:
            return False
        if isinstance(statement, (Loop, If)) and not _is_fenced(statement.body):
            return False
    return True


def _undealt(kernel: Kernel, wrong: str) -> KernelError:
    fix = "write a loop of a ticket and a condition on it, as dealt_gemm does"
    return KernelError("dealt_tiles", {"kernel": kernel.name}, wrong, fix)
