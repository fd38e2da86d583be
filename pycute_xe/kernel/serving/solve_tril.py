"""The inverse of a lower triangle for each chunk of tokens, which other kernels multiply by."""

from __future__ import annotations

from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.operands import Operand
from pycute_xe.kernel.serving.chunk_states import COLUMNS, define_inverse, inverse_at
from pycute_xe.kernel.serving.sizes import sized
from pycute_xe.signatures import typed

__all__ = ["solve_tril"]


@typed
@sized(chunk=None)
def solve_tril(chunk: int = 64, *, depth: int | None = None) -> Kernel:
    """Return the kernel of X, for each chunk of tokens the inverse of ``1 + L``.

    L (H, T, chunk) has a row for each of the T tokens, of which what lies below the diagonal of
    its chunk counts; X, of the same shape and of f32, is lower triangular with ones on the
    diagonal, and ``X[i] = e_i - sum(m < i, L[i,m]*X[m])``. With a ``depth`` L is that of the gated
    delta rule, ``beta[i]*exp(B[i+1] - B[m+1])*sum(d, K[i,d]*K[m,d])`` of keys K (H, T, depth),
    rates beta (H, T) and sums of logarithms B (H, T + 1), and X is what
    ``delta_rule(chunk=…, inverse=True)`` is given. A subgroup has 16 columns. C++: fla's
    ``solve_tril`` and ``chunk_scaled_dot_kkt``.

    Raises `KernelError` for a chunk that is not a multiple of 16 tokens.

    >>> print(str(solve_tril(16).computes).splitlines()[2])
    X[h,t,j] = I[t-16*(t/16)+1,t/16,h,j]
    """
    return _Inverse(chunk, depth).kernel()


class _Inverse:
    """The kernel, row by row: each takes away multiples of the rows above it."""

    def __init__(self, chunk: int, depth: int | None) -> None:
        """Declare operands, and what the inverse is."""
        self.chunk, self.depth, self.subgroups = chunk, depth, max(1, chunk // COLUMNS)
        self.k = k = KernelBuilder("solve_tril", self.subgroups)
        many = Index("N") * chunk
        modes: dict[str, tuple[Index | int, ...]] = {"L": (many, chunk)}
        if depth is not None:
            modes = {"K": (many, depth), "B": (many + 1,), "beta": (many,)}
        self.given = {name: k.input(name, "f32", ("H", *of)) for name, of in modes.items()}
        self.out = k.output("X", "f32", ("H", many, chunk))
        define_inverse(k, chunk, depth)

    def kernel(self) -> Kernel:
        """Return the kernel."""
        k, chunk, row = self.k, self.chunk, f"element/{COLUMNS}"
        h, c = k.grid(h="H", c="N")
        k.fill("x", k.parts((chunk, chunk), (1, self.subgroups)))
        done = "where(row < r, I[row+1,c,h,column], 0)"
        with k.loop("r", 0, chunk, holds={"x": done}) as r:
            column = f"{COLUMNS}*subgroup + element"
            k.fill("left", k.columns("x"))
            k.map("left", f"where({column} < {r}, left, where({r} < {column}, left, left + 1))")
            with k.loop("j", 0, r) as j:
                k.map("own", f"where({j} < {row} + 1, where({row} < {j} + 1, x, 0), 0)")
                k.reduce("above", "sum", "own", axis=0)
                self._take_away(h, c * chunk, r, j)
            k.map("x", f"where({row} < {r}, x, where({row} < {r} + 1, left, 0))")
        k.store(self.out, "x", at=(h, c * chunk, 0))
        return k.build(inverse_at("X", chunk))

    def _take_away(self, h: Index, t: Index, r: Index, j: Index) -> None:
        """Take a multiple of the row above away from the row at hand: an element of L times it."""
        k = self.k
        if self.depth is None:
            self._one("below", self.given["L"], (h, t + r, j))
            k.map("left", "left - below*above")
            return
        tile = k.parts((self.depth, self.chunk), (1, self.subgroups))
        for name, at in (("mine", r), ("key", j)):
            k.load(name, self.given["K"], tile.along(0), at=(h, t + at, 0))
        for name, at in (("now", r), ("then", j)):
            self._one(name, self.given["B"], (h, t + at + 1))
        self._one("rate", self.given["beta"], (h, t + r))
        k.fill("both", tile)
        k.map("both", "both + mine*key*above")
        k.reduce("shared", "sum", "both", axis=0)
        k.map("left", "left - rate*exp(now - then)*shared")

    def _one(self, name: str, operand: Operand, at: tuple[Index, ...]) -> None:
        self.k.load(name, operand, self.k.one("x"), at=at)
