"""Floor 7: attention forward: online softmax between two products, for prefill and for decode."""

from __future__ import annotations

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.statements import If, Loop, Statement
from pycute_xe.kernel.kinds.attention_claim import claims
from pycute_xe.kernel.kinds.attention_end import Ending
from pycute_xe.kernel.kinds.attention_form import Form, Keys, Window
from pycute_xe.kernel.kinds.attention_loop import Mainloop
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed

__all__ = ["attention"]


@typed
def attention(
    qk: TiledMma,
    pv: TiledMma,
    *,
    out: int | None = None,
    causal: bool = False,
    window: Window | None = None,
    group: int = 1,
    stages: int = 2,
    sink: bool = False,
    lse: bool = False,
    cached: bool = False,
    page: int | None = None,
    packed: bool = False,
    splits: int = 1,
    kind: Numeric | str | None = None,
    out_type: Numeric | str = "f32",
) -> Kernel:
    """Return the kernel ``O = softmax(scale · Q Kᵀ + mask) V`` for batches and heads.

    Q is (B, heads, M, D), K and V are (B, heads / ``group``, N, D or E), O is (B, heads, M, E); a
    work-group has a tile of queries and ``out`` columns of V, by default one tile of ``pv``.
    ``qk`` multiplies Q by K, ``pv`` the weights by V: both share the queries out over subgroups
    alike, or the keys, whose parts are then put together in shared memory. The loop over keys keeps
    a running maximum and sum of each row; the weights are rounded to the type that ``pv`` reads,
    and reach it by a reorder of registers. Any M, N, D, E work.

    ``causal``: a query sees the keys up to its own, the last beside the last, also where M is not
    N. ``window``: so many keys before and behind that one. ``stages``: how many tiles of K the
    prefetch runs ahead. ``sink``: an extra score for each head, with weight but without a value.
    ``lse``: also returns log(sum(exp(scores))). ``cached``: keys K0, V0 that precede K, V, in a
    loop of their own. ``page``: K and V are pages of so many keys, which ``pages`` lists for each
    batch, and ``lengths`` counts its keys. ``packed``: batches of different length lie one behind
    the other, and ``starts``, ``key_starts`` tell where, ``longest`` how many queries there are at
    most. ``splits``: the keys are parted over so many work-groups, whose O and lse
    `attention_combine` puts together. ``kind`` is the type in memory, converted for the products.

    Raises `KernelError` for tilings that do not fit one another, and for pages that a tile does not
    divide. C++: ``xe_fmha_fwd_mainloop.hpp``, ``xe_fmha_fwd_epilogue.hpp``.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> op, grid = XE_DPAS_TT(8, "f32", "bf16"), ((8, 1, 1), (1, 1, 1))
    >>> tiles = workgroup_mma(op, (128, 64, 32), grid), workgroup_mma(op, (128, 32, 64), grid)
    >>> kernel = attention(*tiles, out=64, causal=True)
    >>> print(*(str(operand) for operand in kernel.operands[:2]), sep="; ")
    Q[B,G,M,D] bf16 row-major; K[B,G,N,D] bf16 row-major
    """
    form = Form(
        qk=qk,
        pv=pv,
        out=pv.tile_mnk[1] if out is None else out,
        causal=causal,
        window=window,
        group=group,
        stages=stages,
        sink=sink,
        lse=lse,
        cached=cached,
        page=page,
        packed=packed,
        splits=splits,
        kind=qk.atom.op.A if kind is None else as_numeric(kind),
        out_type=as_numeric(out_type),
    )
    form.check()
    loop, end = Mainloop(form), Ending(form)
    body = (*loop.begin(), *(s for keys in form.keys for s in _over(form, loop, keys)))
    body = (*body, *end.statements())
    if form.packed:
        body = (If(Index("q") * form.tile[0], form.queries, body),)
    return Kernel(
        "attention",
        qk.num_subgroups,
        form.operands,
        (*loop.fragments(), *end.fragments()),
        form.grid,
        body,
        claims(form),
        end.shared(),
    )


def _over(form: Form, loop: Mainloop, keys: Keys) -> tuple[Statement, ...]:
    """Return the prefetches ahead and the loop over tiles of keys, or over every so many."""
    stop = (keys.count + (form.tile[1] - 1)) // form.tile[1]
    if form.splits > 1:
        stop = (stop + (form.splits - 1) - Index("s")) // form.splits
    return (*loop.ahead(keys), Loop(keys.var, Index(), stop, loop.tile(keys)))
