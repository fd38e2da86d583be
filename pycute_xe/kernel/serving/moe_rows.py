"""Rows of tokens on their way to experts and back: apart, and together again."""

from __future__ import annotations

from pycute_xe.errors import KernelError, plural
from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.rows import rounded
from pycute_xe.kernel.serving.sizes import demand_multiples, in_register, sized
from pycute_xe.kernel.spec.tables import AtMost, Bins, InRange
from pycute_xe.signatures import typed

__all__ = ["moe_combine", "moe_permute"]


@typed
@sized(top=None)
def moe_permute(top: int = 2, *, kind: str = "bf16", width: int = 64) -> Kernel:
    """Return the kernel that copies each token to a row of each of its experts.

    X (T, K) are tokens, ``ids`` (top, T) their experts, ``offsets`` (E) where the rows of an expert
    begin. A work-group takes a ticket of its expert: row ``offsets[e] + ticket`` of A (R, K)
    becomes the token, and ``places[j,t]`` keeps the ticket. Which row is a token's is decided in a
    run; claimed is that tickets of an expert are 0, 1, 2, …, and that A holds the tokens there.
    C++: vLLM's ``moe_permute``, the second half of ``moe_align_block_size``. Raises `KernelError`
    for a ``top`` below 1.

    >>> print(*moe_permute().outputs, sep="; ")
    A[R,K] bf16 row-major; places[2,T] s32 row-major
    """
    _demand_experts("moe_permute", top)
    demand_multiples("moe_permute", in_register(kind), width=width)
    k = KernelBuilder("moe_permute", 1)
    X = k.input("X", kind, ("T", "K"))
    k.input("ids", "s32", (top, "T"))
    k.input("offsets", "s32", ("E",))
    A, places = k.output("A", kind, ("R", "K")), k.output("places", "s32", (top, "T"))
    taken = k.operand("taken", "s32", ("E",), "scratch")
    j, t = k.grid(j=top, t="T")
    expert = Index.element("ids", j, t)
    ticket = k.ticket(taken, expert, places, (j, t))
    with k.loop("k", 0, Tiles("K", width)) as i:
        k.load("x", X, (1, width), at=(t, i * width))
        k.store(A, "x", at=(Index.element("offsets", expert) + ticket, i * width))
    k.assume(InRange("ids", Index("E"), ("j", "t")), Bins("offsets", "ids", Index("R")))
    rows = "A[offsets[ids[j,t]]+places[j,t],k] = X[t,k]"
    return k.build(f"places are tickets of ids\n{rows} for j < {top}, t < T, k < K")


@typed
@sized(top=None)
def moe_combine(
    top: int = 2, *, kind: str = "bf16", d_type: str = "bf16", width: int = 64
) -> Kernel:
    """Return ``D[t,n] = sum(j, weights[j,t] * Y[offsets[ids[j,t]] + places[j,t], n])``.

    Y (R, N), of ``kind``, are what experts made of the rows that `moe_permute` gave them; the other
    operands are its own and those of `moe_routing`. Raises `KernelError` for a ``top`` below 1.

    >>> print(*moe_combine().inputs, sep="; ")
    Y[R,N] bf16 row-major; weights[2,T] f32 row-major; ids[2,T] s32 row-major; \
places[2,T] s32 row-major; offsets[E] s32
    """
    _demand_experts("moe_combine", top)
    demand_multiples("moe_combine", in_register(d_type), width=width)
    k = KernelBuilder("moe_combine", 1)
    Y, weights = k.input("Y", kind, ("R", "N")), k.input("weights", "f32", (top, "T"))
    for name in ("ids", "places"):
        k.input(name, "s32", (top, "T"))
    k.input("offsets", "s32", ("E",))
    D = k.output("D", d_type, ("T", "N"))
    t, n = k.grid(t="T", n=Tiles("N", width))
    k.fill("acc", (1, width))
    for j in range(top):
        expert = Index.element("ids", j, t)
        row = Index.element("offsets", expert) + Index.element("places", j, t)
        k.load("y", Y, (1, width), at=(row, n * width))
        k.load("weight", weights, k.one("y"), at=(j, t))
        k.map("acc", "acc + weight*y")
    k.convert("out", "acc", d_type)
    k.store(D, "out", at=(t, n * width))
    every = (("j", Index(None, top)), ("t", Index("T")))
    row = Index.element("offsets", Index.element("ids", Index("j"), Index("t")))
    row = row + Index.element("places", Index("j"), Index("t"))
    k.assume(AtMost(Index(), row, every), AtMost(row + 1, Index("R"), every))
    k.assume(InRange("ids", Index("E"), ("j", "t")))
    rows = (f"weights[{j},t]*Y[offsets[ids[{j},t]]+places[{j},t],n]" for j in range(top))
    return k.build(f"D[t,n] = {rounded(d_type, ' + '.join(rows))}")


def _demand_experts(name: str, top: int) -> None:
    """Refuse tokens without experts."""
    if top < 1:
        wrong = f"a token has {plural(top, 'expert')}"
        raise KernelError(name, {"top": top}, wrong, "use top=2")
