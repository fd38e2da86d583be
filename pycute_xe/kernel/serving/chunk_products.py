"""States that decay, a chunk of tokens at a time, by products of matrices."""

from __future__ import annotations

from pycute_xe.atom import XE_DPAS_TT, TiledMma, workgroup_mma
from pycute_xe.errors import KernelError
from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.chunk_states import BY_TOKENS, COLUMNS, define_states, demand_tokens
from pycute_xe.kernel.tiles.spread import Share

__all__ = ["ChunkProducts", "demand_product_type"]

ROWS = 16
"""Tokens, and elements of keys, that are multiplied at a time."""
BY_ELEMENTS = "K[h,{d},{t}]"
"""An element of the key of a token, where keys are columns."""


def demand_product_type(name: str, kind: str) -> None:
    """Refuse a type other than f32, and those in which chunks are multiplied."""
    if kind not in ("f32", "bf16", "f16"):
        wrong, fix = f"{kind} is not a type of the products of a chunk", "use bf16 or f16"
        raise KernelError(name, {"kind": kind}, wrong, fix)


class ChunkProducts:
    """The kernel of a state that decays, whose chunks are products by DPAS of a narrow type.

    With P for the scores ``Q Kᵀ`` of a chunk, decayed from key to query and zero above the
    diagonal, what queries see is ``P U`` and what is left of ``Q S``; the state goes on by
    ``Kᵀ U``, each token as far as it decays to the end of the chunk. U are the values; or with
    ``delta``, what the state lacks of them, times the inverse X of the chunk's triangle. A
    work-group is one subgroup, with 16 columns of the state.
    """

    def __init__(self, name: str, depth: int, chunk: int, kind: str, delta: bool = False) -> None:
        """Declare operands, states and what they are some tokens on."""
        demand_tokens(name, chunk)
        given = {"depth": depth, "chunk": chunk}
        wrong = next((n for n, of in given.items() if of < 1 or of % ROWS), None)
        if wrong is not None:
            what = f"the {wrong} {given[wrong]} is not a multiple of {ROWS}"
            raise KernelError(name, {**given, "kind": kind}, what, "use 16, 32 or 64")
        self.depth, self.chunk, self.kind, self.delta = depth, chunk, kind, delta
        self.k = k = KernelBuilder(name, 1)
        many = Index("N") * chunk
        self.Q = k.input("Q", kind, ("H", many, depth))
        if delta:
            self.K = k.input("K", kind, ("H", many, depth))
        self.KT = k.input("KT" if delta else "K", kind, ("H", depth, many), "col")
        self.V, self.B = k.input("V", kind, ("H", many, "E")), k.input("B", "f32", ("H", many + 1))
        if delta:
            self.beta = k.input("beta", "f32", ("H", many))
            self.X = k.input("X", kind, ("H", many, chunk))
        self.first = k.input("S0", "f32", ("H", depth, "E"))
        self.out = k.output("O", "f32", ("H", many, "E"))
        self.last = k.output("SN", "f32", ("H", depth, "E"))
        k.reads_as_real(kind)
        if delta:
            k.given("KT[h,d,t] = K[h,t,d]")
        key = BY_TOKENS if delta else BY_ELEMENTS
        define_states(k, depth, chunk, delta=delta, inverse=delta, key=key)

    def _mma(self, rows: int, columns: int, depth: int) -> TiledMma:
        op = XE_DPAS_TT(8, "f32", self.kind)
        return workgroup_mma(op, (rows, columns, depth), ((1, 1, 1), (1, 1, 0)))

    def kernel(self) -> Kernel:
        """Return the kernel."""
        k, chunk = self.k, self.chunk
        h, e = k.grid(h="H", e=Tiles("E", COLUMNS))
        state = Share(self._mma(self.depth, COLUMNS, ROWS), "C")
        k.load("s", self.first, state, at=(h, 0, e * COLUMNS))
        holds = {"s": f"S[{chunk}*c,h,row,{COLUMNS}*e + column]"}
        with k.loop("c", 0, Index("N"), holds=holds) as c:
            t = c * chunk
            k.load("before", self.B, k.one("s"), at=(h, t))
            k.convert("s_narrow", "s", self.kind)
            k.reorder("begun", "s_narrow", Share(self._mma(ROWS, COLUMNS, self.depth), "B"))
            if self.delta:
                self._solve(h, t, e)
            with k.loop("b", 0, chunk // ROWS) as b:
                self._scores(h, t, b * ROWS)
                self._see(h, t, t + b * ROWS, e)
            k.load("end", self.B, k.one("s"), at=(h, t + chunk))
            k.map("s", "exp(end - before)*s")
            (self._take_solved if self.delta else self._take)(h, t, e)
        k.store(self.last, "s", at=(h, 0, e * COLUMNS))
        k.computes("O[h,t,e] = sum(d, Q[h,t,d]*S[t+1,h,d,e])")
        k.computes(f"SN[h,d,e] = S[{chunk}*N,h,d,e]")
        return k.build()

    def _solve(self, h: Index, t: Index, e: Index) -> None:
        """Multiply what the state leaves of the values by the inverse."""
        k, chunk, mma = self.k, self.chunk, self._mma(self.chunk, COLUMNS, ROWS)
        seen = self._mma(ROWS, COLUMNS, self.depth)
        k.fill("u", Share(mma, "C"))
        with k.loop("m", 0, chunk // ROWS) as m:
            first = t + m * ROWS
            k.load("keys", self.K, Share(seen, "A"), at=(h, first, 0))
            k.fill("w", Share(seen, "C"))
            k.mma("w", "keys", "begun", seen)
            for name, operand, at in (("mine", self.B, first + 1), ("rate", self.beta, first)):
                k.load(name, operand, k.rows("w"), at=(h, at))
            k.load("value", self.V, k.spread_of("w"), at=(h, first, e * COLUMNS))
            k.map("w", "rate*(value - exp(mine - before)*w)", "f32")
            k.convert("w_narrow", "w", self.kind)
            k.reorder("left", "w_narrow", Share(mma, "B"))
            k.load("x", self.X, Share(mma, "A"), at=(h, t, m * ROWS))
            k.mma("u", "x", "left", mma)
        # It is what the specification defines: from here on it has that name.
        holds = {"u": f"U[{chunk}*c + row + 1,h,{COLUMNS}*e + column]"}
        with k.loop("once", 0, 1, holds=holds):
            k.convert("u_narrow", "u", self.kind)
        k.reorder("v", "u_narrow", Share(self._mma(ROWS, COLUMNS, chunk), "B"))

    def _scores(self, h: Index, t: Index, begun: Index) -> None:
        """Multiply queries and keys, and let each key decay until its query."""
        k, mma = self.k, self._mma(ROWS, self.chunk, ROWS)
        k.fill("p", Share(mma, "C"))
        with k.loop("d", 0, self.depth // ROWS) as d:
            k.load("part", self.Q, Share(mma, "A"), at=(h, t + begun, d * ROWS))
            k.load("key", self.KT, Share(mma, "B"), at=(h, d * ROWS, t))
            k.mma("p", "part", "key", mma)
        row, column = (k.spread_of("p").place(mode) for mode in (0, 1))
        k.load("now", self.B, k.rows("p"), at=(h, t + begun + 1))
        k.load("since", self.B, k.columns("p"), at=(h, t + 1))
        k.map("p", f"where({row} + {begun} < {column}, 0, p*exp(now - since))")
        k.convert("p_narrow", "p", self.kind)

    def _see(self, h: Index, t: Index, row: Index, e: Index) -> None:
        """Store what queries see: of the state at the start, and of what came until then."""
        k = self.k
        within = self._mma(ROWS, COLUMNS, self.chunk)
        across = self._mma(ROWS, COLUMNS, self.depth)
        k.load("q", self.Q, Share(across, "A"), at=(h, row, 0))
        k.fill("o", Share(across, "C"))
        k.mma("o", "q", "begun", across)
        k.map("o", "exp(now - before)*o")
        k.reorder("weights", "p_narrow", Share(within, "A"))
        if not self.delta:
            k.load("v", self.V, Share(within, "B"), at=(h, t, e * COLUMNS))
        k.mma("o", "weights", "v", within)
        k.store(self.out, "o", at=(h, row, e * COLUMNS))

    def _take(self, h: Index, t: Index, e: Index) -> None:
        """Take in the values of a chunk, some tokens at a time."""
        with self.k.loop("n", 0, self.chunk // ROWS) as n:
            at = t + n * ROWS
            mma = self._mma(self.depth, COLUMNS, ROWS)
            self.k.load("taken", self.V, Share(mma, "B"), at=(h, at, e * COLUMNS))
            self._add(h, at, "taken", mma)

    def _take_solved(self, h: Index, t: Index, _: Index) -> None:
        """Take in what was solved."""
        self._add(h, t, "u", self._mma(self.depth, COLUMNS, self.chunk))

    def _add(self, h: Index, t: Index, brought: str, mma: TiledMma) -> None:
        """Add products of keys and what they bring, as far as that decays to the chunk's end."""
        k = self.k
        k.load("then", self.B, k.rows(brought), at=(h, t + 1))
        k.map("kept", f"{brought}*exp(end - then)", "f32")
        k.convert("kept_narrow", "kept", self.kind)
        k.reorder("right", "kept_narrow", Share(mma, "B"))
        k.load("kt", self.KT, Share(mma, "A"), at=(h, 0, t))
        k.mma("s", "kt", "right", mma)
