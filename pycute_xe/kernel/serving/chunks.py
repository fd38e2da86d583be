"""States that decay, a chunk of tokens at a time: what a chunk adds follows from its start."""

from __future__ import annotations

from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.chunk_states import COLUMNS, define_states, demand_tokens

__all__ = ["Chunks"]


class Chunks:
    """The kernel of a state that decays by ``exp(B[h,t+1] - B[h,t])`` and takes in keys.

    With ``G(i, j) = exp(B[h,t+i] - B[h,t+j])``, ``i`` tokens behind the start ``t`` of a chunk the
    state is ``G(i, 0)·S + Σ_{j<i} G(i, j+1)·k_j·u_j``. What a token brings, ``u``, is its value; or
    with ``delta`` its value less what the state has for its key, so that ``(I + L) u = r`` for a
    lower triangle L of the chunk: it is solved row by row, or with the ``inverse`` X, an input,
    ``u = X r``.
    """

    def __init__(
        self, name: str, depth: int, subgroups: int, chunk: int, *, delta: bool = False,
        inverse: bool = False,
    ) -> None:  # fmt: skip
        """Declare operands, states and what they are some tokens on."""
        demand_tokens(name, chunk)
        self.k = k = KernelBuilder(name, subgroups)
        self.depth, self.wide, self.chunk = depth, COLUMNS * subgroups, chunk
        self.delta, self.inverse = delta, inverse
        self.part = k.parts((depth, self.wide), (1, subgroups))
        self.tokens = k.parts((chunk, self.wide), (1, subgroups))
        many = Index("N") * chunk
        self.Q, self.K = (k.input(x, "f32", ("H", many, depth)) for x in "QK")
        self.V, self.B = k.input("V", "f32", ("H", many, "E")), k.input("B", "f32", ("H", many + 1))
        if delta:
            self.beta = k.input("beta", "f32", ("H", many))
        if inverse:
            self.X = k.input("X", "f32", ("H", many, chunk))
        self.first = k.input("S0", "f32", ("H", depth, "E"))
        self.out = k.output("O", "f32", ("H", many, "E"))
        self.last = k.output("SN", "f32", ("H", depth, "E"))
        define_states(k, depth, chunk, delta=delta, inverse=inverse)

    def kernel(self) -> Kernel:
        """Return the kernel."""
        k, wide, chunk = self.k, self.wide, self.chunk
        h, e = k.grid(h="H", e=Tiles("E", wide))
        k.load("s", self.first, self.part, at=(h, 0, e * wide))
        claim = f"S[{chunk}*c,h,row,{wide}*e + column]"
        with k.loop("c", 0, Index("N"), holds={"s": claim}) as c:
            t = c * chunk
            self._decay("before", h, t)
            if self.delta:
                (self._multiply if self.inverse else self._solve)(h, t, e)
            with k.loop("i", 0, chunk) as i:
                self._see(h, t, i, e)
            self._take(h, t, e)
        k.store(self.last, "s", at=(h, 0, e * wide))
        k.computes("O[h,t,e] = sum(d, Q[h,t,d]*S[t+1,h,d,e])")
        k.computes(f"SN[h,d,e] = S[{chunk}*N,h,d,e]")
        return k.build()

    def _decay(self, name: str, h: Index, t: Index) -> None:
        self.k.load(name, self.B, self.k.one("s"), at=(h, t))

    def _key(self, name: str, h: Index, t: Index) -> None:
        self.k.load(name, self.K, self.k.rows("s"), at=(h, t, 0))

    def _value(self, h: Index, t: Index, e: Index) -> None:
        self.k.load("value", self.V, self.k.columns("s"), at=(h, t, e * self.wide))

    def _brought(self, h: Index, t: Index, j: Index, e: Index) -> str:
        """Bring what a token of the chunk brings, and return the name of the fragment."""
        if not self.delta:
            self._value(h, t + j, e)
            return "value"
        row = f"element/{COLUMNS}"
        own = f"where({j} < {row} + 1, where({row} < {j} + 1, u, 0), 0)"
        self.k.map("own", own)
        self.k.reduce("new", "sum", "own", axis=0)
        return "new"

    def _with_key(self, name: str, other: str, h: Index, t: Index, j: Index, e: Index) -> None:
        """Sum a product of a vector with a token's key, times what the token brings."""
        self._decay("then", h, t + j + 1)
        self._key("key", h, t + j)
        brought = self._brought(h, t, j, e)
        self.k.fill("both", self.part)
        self.k.map("both", f"both + {other}*key*{brought}")
        self.k.reduce(name, "sum", "both", axis=0)

    def _solve(self, h: Index, t: Index, e: Index) -> None:
        """Solve ``(I + L) u = r`` by rows: each takes away what the rows above it bring."""
        k, chunk = self.k, self.chunk
        done = f"where(row < r, U[{chunk}*c + row + 1,h,{self.wide}*e + column], 0)"
        k.fill("u", self.tokens)
        with k.loop("r", 0, chunk, holds={"u": done}) as r:
            self._lack(h, t + r, e)
            with k.loop("j", 0, r) as j:
                self._with_key("above", "mine", h, t, j, e)
                k.map("left", "left - rate*exp(now - then)*above")
            self._into("u", r)

    def _multiply(self, h: Index, t: Index, e: Index) -> None:
        """Multiply what the state leaves of the values by the inverse, ``u = X r``."""
        k, chunk, column = self.k, self.chunk, f"{self.wide}*e + column"
        at = f"{chunk}*c + row"
        old = f"sum(f < {self.depth}, K[h,{at},f]*exp(B[h,{at}+1] - B[h,{chunk}*c])"
        left = f"beta[h,{at}]*(V[h,{at},{column}] - {old}*S[{chunk}*c,h,f,{column}]))"
        k.fill("w", self.tokens)
        with k.loop("r", 0, chunk, holds={"w": f"where(row < r, {left}, 0)"}) as r:
            self._lack(h, t + r, e)
            self._into("w", r)
        done = f"where(row < q, U[{at} + 1,h,{column}], 0)"
        k.fill("u", self.tokens)
        with k.loop("q", 0, chunk, holds={"u": done}) as q:
            k.load("x", self.X, k.rows("w"), at=(h, t + q, 0))
            k.map("part", "x*w")
            k.reduce("left", "sum", "part", axis=0)
            self._into("u", q)

    def _lack(self, h: Index, t: Index, e: Index) -> None:
        """Put into ``left`` what the state at the start of a chunk leaves of a token's value."""
        k = self.k
        self._decay("now", h, t + 1)
        k.load("rate", self.beta, k.one("s"), at=(h, t))
        self._key("mine", h, t)
        self._value(h, t, e)
        k.map("kept", "mine*s")
        k.reduce("old", "sum", "kept", axis=0)
        k.map("left", "rate*(value - exp(now - before)*old)")

    def _into(self, rows: str, r: Index) -> None:
        """Put ``left`` into a row."""
        row = f"element/{COLUMNS}"
        self.k.map(rows, f"where({row} < {r}, {rows}, where({row} < {r} + 1, left, 0))")

    def _see(self, h: Index, t: Index, i: Index, e: Index) -> None:
        """Store what a query sees: of the state at the start, and of what came until then."""
        k = self.k
        self._decay("now", h, t + i + 1)
        k.load("query", self.Q, k.rows("s"), at=(h, t + i, 0))
        k.map("seen", "query*s")
        k.reduce("o", "sum", "seen", axis=0)
        k.map("o", "exp(now - before)*o")
        with k.loop("m", 0, i + 1) as m:
            self._with_key("more", "query", h, t, m, e)
            k.map("o", "o + exp(now - then)*more")
        k.store(self.out, "o", at=(h, t + i, e * self.wide))

    def _take(self, h: Index, t: Index, e: Index) -> None:
        """Take the state to the end of the chunk."""
        k = self.k
        self._decay("now", h, t + self.chunk)
        k.map("s", "exp(now - before)*s")
        with k.loop("n", 0, self.chunk) as n:
            self._decay("then", h, t + n + 1)
            self._key("key", h, t + n)
            brought = self._brought(h, t, n, e)
            k.map("s", f"s + exp(now - then)*key*{brought}")
