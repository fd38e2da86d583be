"""States that decay, a token at a time: of one request, or of many whose states lie in slots."""

from __future__ import annotations

from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Operand
from pycute_xe.kernel.spec.tables import Distinct, InRange, Rising

__all__ = ["TokenStates"]


class TokenStates:
    """The operands of a state's steps, and the steps.

    A state decays by ``g[h,t]``, and takes in the product of key and value; with ``delta`` the
    value less what the state then has for the key, at the rate ``beta[h,t]``.
    """

    def __init__(
        self, name: str, depth: int, wide: int, subgroups: int, delta: bool = False
    ) -> None:
        """Declare what every step reads and writes."""
        self.k = k = KernelBuilder(name, subgroups)
        self.depth, self.wide, self.delta = depth, wide, delta
        self.part = k.parts((depth, self.wide), (1, subgroups))
        self.Q, self.K = (k.input(x, "f32", ("H", "T", depth)) for x in "QK")
        self.V, self.g = k.input("V", "f32", ("H", "T", "E")), k.input("g", "f32", ("H", "T"))
        self.beta = k.input("beta", "f32", ("H", "T")) if delta else None
        self.out = k.output("O", "f32", ("H", "T", "E"))

    def whole(self) -> Kernel:
        """Return the kernel of one request."""
        k, wide = self.k, self.wide
        first = k.input("S0", "f32", ("H", self.depth, "E"))
        last = k.output("SN", "f32", ("H", self.depth, "E"))
        step = self.next("t", "S[t,h,{},e]")
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
        step = self.next(at, "R[t,b,h,{},e]")
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
        if self.beta is None:
            k.map("s", "decay*s + key*value")
        else:
            k.load("rate", self.beta, k.one("s"), at=(h, t))
            k.map("s", "decay*s")
            k.map("kept", "key*s")
            k.reduce("old", "sum", "kept", axis=0)
            k.map("new", "rate*(value - old)")
            k.map("s", "s + key*new")
        k.map("seen", "query*s")
        k.reduce("o", "sum", "seen", axis=0)
        k.store(self.out, "o", at=(h, t, e * self.wide))

    def next(self, t: str, state: str) -> str:
        """Return what a state is claimed to be behind a token."""
        new = f"V[h,{t},e]"
        if self.delta:
            old = f"sum(f < {self.depth}, K[h,{t},f]*g[h,{t}]*{state.format('f')})"
            new = f"(beta[h,{t}]*({new} - {old}))"
        return f"g[h,{t}]*{state.format('d')} + K[h,{t},d]*{new}"
