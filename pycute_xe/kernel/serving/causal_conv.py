"""A convolution over the last tokens of each channel, whose window lies in slots between calls."""

from __future__ import annotations

import re

from pycute_xe.errors import KernelError, quoted
from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.ragged import take_row
from pycute_xe.kernel.serving.rows import rounded
from pycute_xe.kernel.serving.sizes import demand_multiples, in_register, sized
from pycute_xe.kernel.spec.tables import Distinct, InRange, Rising
from pycute_xe.signatures import typed

__all__ = ["causal_conv"]


MOST_TAPS = 64
ACC = r"\bacc\b"


@typed
@sized(taps=None)
def causal_conv(
    taps: int = 4,
    *,
    slots: bool = False,
    combine: str = "silu(acc)",
    kind: str = "bf16",
    width: int = 64,
) -> Kernel:
    """Return the kernel ``O[t,c] = silu(b[c] + sum(j, W[j,c] * X[t+j-taps+1,c]))``.

    X and O (T, C) are of ``kind``, W (taps, C) and b (C) of f32; before the first token there are
    zeros. With ``slots``, rows ``starts[r]`` to ``starts[r+1]`` of T are request r's, whose last
    ``taps - 1`` tokens are ``S[slots[r]]`` (P, taps - 1, C), of ``kind``: it begins with them where
    ``begun[r]`` is positive, with 0 elsewhere, and writes them back; a negative slot leaves a
    request out, whose rows of O are not written. A work-group has ``width`` channels. Raises
    `KernelError` for other than 2 to 64 taps, and where ``combine`` is not of ``acc``. C++:
    ``causal_conv1d_fn`` and ``causal_conv1d_update`` of Mamba.

    >>> print(*causal_conv().inputs, sep="; ")
    X[T,C] bf16 row-major; W[4,C] f32 row-major; b[C] f32
    """
    if not 2 <= taps <= MOST_TAPS:
        wrong = f"taps is {taps}, and must be 2 to {MOST_TAPS}"
        raise KernelError("causal_conv", {"taps": taps}, wrong, "use taps=4")
    if not re.search(ACC, combine):
        wrong = f"{quoted(combine)} does not say what becomes of acc, the sum"
        raise KernelError("causal_conv", {"combine": combine}, wrong, 'use combine="silu(acc)"')
    demand_multiples("causal_conv", in_register(kind), width=width)
    conv = _Window(taps, combine, kind, width)
    return conv.in_slots() if slots else conv.whole()


class _Window:
    """The operands, and what is done with a window of tokens."""

    def __init__(self, taps: int, combine: str, kind: str, width: int) -> None:
        """Declare what is read and written."""
        self.taps, self.combine, self.kind, self.width = taps, combine, kind, width
        self.k = k = KernelBuilder("causal_conv", 1)
        self.X = k.input("X", kind, ("T", "C"))
        self.W, self.b = k.input("W", "f32", (taps, "C")), k.input("b", "f32", ("C",))
        self.out = k.output("O", kind, ("T", "C"))

    def weights(self, c: Index) -> None:
        """Load what a channel's tokens are multiplied by."""
        k, one = self.k, (1, self.width)
        k.load("bias", self.b, k.parts(one, (1, 1)), at=c)
        for j in range(self.taps):
            k.load(f"w{j}", self.W, one, at=(j, c))

    def put(self, t: Index, c: Index) -> None:
        """Combine the tokens x0, x1, …, and store what they come to."""
        k = self.k
        k.map("acc", "bias + " + " + ".join(f"w{j}*x{j}" for j in range(self.taps)), "f32")
        k.map("o", self.combine, "f32")
        name = "o"
        if self.kind != "f32":
            k.convert("o_out", "o", self.kind)
            name = "o_out"
        k.store(self.out, name, at=(t, c))

    def claimed(self, tokens: list[str]) -> str:
        """Return what is claimed of tokens."""
        acc = "b[c] + " + " + ".join(f"W[{j},c]*{x}" for j, x in enumerate(tokens))
        return rounded(self.kind, re.sub(ACC, f"({acc})", self.combine))

    def whole(self) -> Kernel:
        """Return the kernel of one sequence."""
        k, last = self.k, self.taps - 1
        t, c = k.grid(t="T", c=Tiles("C", self.width))
        at = c * self.width
        self.weights(at)
        for j in range(self.taps):
            k.load(f"x{j}", self.X, (1, self.width), at=(t + (j - last), at))
        self.put(t, at)
        tokens = [f"where(t < {last - j}, 0, X[t-{last - j},c])" for j in range(last)]
        return k.build(f"O[t,c] = {self.claimed([*tokens, 'X[t,c]'])}")

    def in_slots(self) -> Kernel:
        """Return the kernel of requests whose windows lie in slots."""
        k, last, one = self.k, self.taps - 1, (1, self.width)
        for name, extent in (("starts", Index("U", 1)), ("slots", "U"), ("begun", "U")):
            k.input(name, "s32", (extent,))
        states = k.inout("S", self.kind, ("P", last, "C"))
        self._claim()
        r, c = k.grid(r="U", c=Tiles("C", self.width))
        at, slot = c * self.width, Index.element("slots", r)
        first, stop = (Index.element("starts", r + i) for i in (0, 1))
        with k.when(slot > -1):
            self.weights(at)
            k.load("window", states, k.parts((last, self.width), (1, 1)), at=(slot, 0, at))
            for j in range(last):
                k.fill(f"x{j}", k.columns("window"), numeric=self.kind)
            with k.when(Index.element("begun", r) > 0):
                for j in range(last):
                    take_row(k, "window", j, f"x{j}")
            place = f"{self.width}*c + column"
            holds = {f"x{j}": f"R[t,r,{j},{place}]" for j in range(last)}
            with k.loop("t", 0, stop - first, holds=holds) as t:
                k.load(f"x{last}", self.X, one, at=(first + t, at))
                self.put(first + t, at)
                for j in range(last):
                    k.map(f"x{j}", f"x{j + 1}")
            row, window = k.spread_of("window").place(0), "window"
            for j in reversed(range(last)):
                window = f"where({row} < {j + 1}, x{j}, {window})"
            k.map("window", window)
            k.store(states, "window", at=(slot, 0, at))
        step = "starts[r+1] - starts[r]"
        tokens = [*(f"R[t,r,{j},c]" for j in range(last)), "X[starts[r]+t,c]"]
        k.computes(
            f"O[starts[r]+t,c] = {self.claimed(tokens)} for r < U, t < {step}, slots[r] >= 0"
        )
        k.computes(f"S[slots[r],j,c] = R[{step},r,j,c]")
        return k.build()

    def _claim(self) -> None:
        """Say what is assumed of the tables, and how a window follows from the last."""
        used = ((Index(None, -1), Index.element("slots", Index("r"))),)
        self.k.assume(Rising("starts", Index("T"), whole=False), Distinct("slots"))
        self.k.assume(InRange("slots", Index("P"), ("r",), used))
        kept = "where(slots[r] >= 0, where(begun[r] > 0, S[slots[r],j,c], 0), 0)"
        last, at = self.taps - 1, "starts[r]+t"
        step = f"where(j < {last - 1}, R[t,r,j+1,c], X[{at},c])"
        step = f"where({at} < T, {step}, R[t,r,j,c])"
        self.k.defines(
            f"R[0,r,j,c] = {kept}", f"R[t+1,r,j,c] = {step} for t < T, r < U, j < {last}"
        )
