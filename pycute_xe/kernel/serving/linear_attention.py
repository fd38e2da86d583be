"""Attention without a softmax: a state that decays, and takes in each key with its value."""

from __future__ import annotations

from pycute_xe.errors import KernelError
from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Operand
from pycute_xe.kernel.serving.chunk_products import ChunkProducts
from pycute_xe.kernel.serving.chunk_states import COLUMNS
from pycute_xe.kernel.serving.chunks import Chunks
from pycute_xe.kernel.spec.tables import Distinct, InRange, Rising
from pycute_xe.signatures import typed

__all__ = ["linear_attention"]


@typed
def linear_attention(
    depth: int = 64,
    *,
    columns: int = 16,
    subgroups: int = 4,
    slots: bool = False,
    chunk: int | None = None,
    kind: str = "f32",
) -> Kernel:
    """Return the kernel ``O[h,t,e] = sum(d, Q[h,t,d] * S[t+1,h,d,e])`` of a decaying state S.

    ``S[t+1,h,d,e] = g[h,t] * S[t,h,d,e] + K[h,t,d] * V[h,t,e]``, beginning with ``S0`` (H, depth,
    E), in order of t. Q and K (H, T, depth), V (H, T, E), g (H, T) and both outputs, O (H, T, E)
    and the state ``SN`` behind the last token, are of f32. A subgroup has ``columns`` columns of
    the state of a head in registers. With ``slots``, rows ``starts[b]`` to ``starts[b+1]`` of T are
    request b's, whose state is ``S[slots[b]]`` (P, H, depth, E): it begins with it where
    ``begun[b]`` is positive, with 0 elsewhere, and writes it back; a negative slot leaves a request
    out. With a ``chunk`` of tokens, of which T is a multiple, decays are given by the sums of their
    logarithms B (H, T + 1), g being ``exp(B[h,t+1] - B[h,t])``, and the state goes on once a chunk.
    With the ``kind`` "bf16" or "f16" Q, K and V are of that type, K (H, depth, T) column by column,
    which is key by key; a chunk is products by DPAS, and a work-group one subgroup. Raises
    `KernelError` for an empty chunk, one with slots or with other columns than 16, and for products
    without a chunk or of what is not a multiple of 16. C++: vLLM's ``lightning_attn``, gated linear
    attention.

    >>> print(str(linear_attention().computes).splitlines()[1])
    S[t+1,h,d,e] = g[h,t]*S[t,h,d,e] + K[h,t,d]*V[h,t,e]
    """
    if chunk is not None:
        if slots or columns != COLUMNS:
            given = {"chunk": chunk, "slots": slots, "columns": columns}
            wrong = f"a chunk is gone through without slots, {COLUMNS} columns a subgroup"
            raise KernelError("linear_attention", given, wrong, "leave slots and columns out")
        if kind != "f32":
            return ChunkProducts("linear_attention", depth, chunk, kind).kernel()
        return Chunks("linear_attention", depth, subgroups, chunk).kernel()
    if kind != "f32":
        wrong, fix = f"only chunks are products of {kind}", "give a chunk of 16, 32 or 64"
        raise KernelError("linear_attention", {"kind": kind}, wrong, fix)
    s = _States("linear_attention", depth, columns, subgroups)
    return s.in_slots() if slots else s.whole()


class _States:
    """The operands of a state's steps, and the steps."""

    def __init__(self, name: str, depth: int, columns: int, subgroups: int) -> None:
        """Declare what every step reads and writes."""
        self.k = k = KernelBuilder(name, subgroups)
        self.depth, self.wide = depth, columns * subgroups
        self.part = k.parts((depth, self.wide), (1, subgroups))
        self.Q, self.K = (k.input(x, "f32", ("H", "T", depth)) for x in "QK")
        self.V, self.g = k.input("V", "f32", ("H", "T", "E")), k.input("g", "f32", ("H", "T"))
        self.out = k.output("O", "f32", ("H", "T", "E"))

    def whole(self) -> Kernel:
        """Return the kernel of one request."""
        k, wide = self.k, self.wide
        first = k.input("S0", "f32", ("H", self.depth, "E"))
        last = k.output("SN", "f32", ("H", self.depth, "E"))
        step = "g[h,t]*S[t,h,d,e] + K[h,t,d]*V[h,t,e]"
        k.defines("S[0,h,d,e] = S0[h,d,e]", f"S[t+1,h,d,e] = {step}")
        h, e = k.grid(h="H", e=Tiles("E", wide))
        k.load("s", first, self.part, at=(h, 0, e * wide))
        with k.loop("t", 0, Index("T"), holds={"s": f"S[t,h,row,{wide}*e + column]"}) as t:
            self.step(h, t, e)
        k.store(last, "s", at=(h, 0, e * wide))
        k.computes("O[h,t,e] = sum(d, Q[h,t,d]*S[t+1,h,d,e])")
        k.computes("SN[h,d,e] = S[T,h,d,e]")
        return k.build()

    def in_slots(self) -> Kernel:
        """Return the kernel of requests whose states lie in slots."""
        k, tables = self.k, (("starts", Index("U", 1)), ("slots", "U"), ("begun", "U"))
        for name, extent in tables:
            k.input(name, "s32", (extent,))
        states = k.inout("S", "f32", ("P", "H", self.depth, "E"))
        self.claim()
        b, h, e = k.grid(b="U", h="H", e=Tiles("E", self.wide))
        first, stop = (Index.element("starts", b + i) for i in (0, 1))
        slot = Index.element("slots", b)
        with k.when(slot > -1):
            self.request(states, (slot, h, Index(), e * self.wide), Index.element("begun", b))
            wide = self.wide
            with k.loop("t", 0, stop - first, holds={"s": f"R[t,b,h,row,{wide}*e + column]"}) as t:
                self.step(h, first + t, e)
            k.store(states, "s", at=(slot, h, Index(), e * self.wide))
        step = "starts[b+1] - starts[b]"
        seen = f"sum(d, Q[h,starts[b]+t,d]*R[t+1,b,h,d,e]) for b < U, t < {step}, slots[b] >= 0"
        k.computes(f"O[h,starts[b]+t,e] = {seen}")
        k.computes(f"S[slots[b],h,d,e] = R[{step},b,h,d,e]")
        return k.build()

    def claim(self) -> None:
        """Say what is assumed of the tables, and how a request's state follows from the last."""
        b, slot = Index("b"), Index.element("slots", Index("b"))
        used = ((Index(None, -1), slot),)
        self.k.assume(Rising("starts", Index("T"), whole=False), Distinct("slots"))
        self.k.assume(InRange("slots", Index("P"), (str(b),), used))
        kept = "where(slots[b] >= 0, where(begun[b] > 0, S[slots[b],h,d,e], 0), 0)"
        at = "starts[b]+t"
        step = f"g[h,{at}]*R[t,b,h,d,e] + K[h,{at},d]*V[h,{at},e]"
        step = f"where({at} < T, {step}, R[t,b,h,d,e])"
        self.k.defines(f"R[0,b,h,d,e] = {kept}", f"R[t+1,b,h,d,e] = {step} for t < T, b < U")

    def request(self, states: Operand, at: tuple[Index, ...], begun: Index) -> None:
        """Begin with the state of a slot, or with zeros."""
        self.k.load("kept", states, self.part, at=at)
        spread = self.k.spread_of("kept")
        self.k.fill("s", spread)
        with self.k.when(begun > 0):
            self.k.map("s", "kept")

    def step(self, h: Index, t: Index, e: Index) -> None:
        """Take in a token, and store what it sees."""
        k = self.k
        k.load("decay", self.g, k.one("s"), at=(h, t))
        k.load("key", self.K, k.rows("s"), at=(h, t, 0))
        k.load("query", self.Q, k.rows("s"), at=(h, t, 0))
        k.load("value", self.V, k.columns("s"), at=(h, t, e * self.wide))
        k.map("s", "decay*s + key*value")
        k.map("seen", "query*s")
        k.reduce("o", "sum", "seen", axis=0)
        k.store(self.out, "o", at=(h, t, e * self.wide))
