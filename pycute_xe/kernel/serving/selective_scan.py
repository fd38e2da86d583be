"""States that decay as their input says: Mamba's selective scan, and its form with heads."""

from __future__ import annotations

from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Index, Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.sizes import sized
from pycute_xe.signatures import typed

__all__ = ["selective_scan"]


@typed
@sized()
def selective_scan(
    states: int = 16, *, heads: bool = False, gated: bool = False, subgroups: int = 4
) -> Kernel:
    """Return the kernel ``O[t,d] = sum(n, C[t,n] * S[t+1,n,d]) + D[d] * X[t,d]`` of states S.

    ``S[t+1,n,d] = exp(dt[t,d] * A[n,d]) * S[t,n,d] + dt[t,d] * B[t,n] * X[t,d]``, beginning with
    ``S0`` (states, E), in order of t. X, dt and O (T, E), B and C (T, states), A (states, E) and D
    (E), as well as ``SN``, the states behind the last token, are of f32; a subgroup has 16 channels
    d. With ``heads``, as in Mamba 2: X and O are (H, T, E), S0 and SN (H, states, E), and a head
    has one rate dt (H, T), one A (H) and one D (H). ``gated``: O is times ``silu(Z)``, of O's
    shape. Raises `KernelError` as `KernelBuilder` does. C++: ``selective_scan_fn`` and
    ``mamba_chunk_scan_combined`` of Mamba.

    >>> print(str(selective_scan().computes).splitlines()[1])
    S[t+1,n,d] = exp(dt[t,d]*A[n,d])*S[t,n,d] + dt[t,d]*B[t,n]*X[t,d]
    """
    k, wide = KernelBuilder("selective_scan", subgroups), 16 * subgroups
    h, lead = ("h,", ("H",)) if heads else ("", ())
    own = () if heads else ("E",)
    X, rate = k.input("X", "f32", (*lead, "T", "E")), k.input("dt", "f32", (*lead, "T", *own))
    B, C = (k.input(x, "f32", ("T", states)) for x in "BC")
    A = k.input("A", "f32", lead if heads else (states, "E"))
    D = k.input("D", "f32", lead if heads else ("E",))
    Z = k.input("Z", "f32", (*lead, "T", "E")) if gated else None
    first = k.input("S0", "f32", (*lead, states, "E"))
    out, last = k.output("O", "f32", (*lead, "T", "E")), k.output("SN", "f32", (*lead, states, "E"))
    dt, a, skip = (
        (f"dt[{h}t]", f"A[{h[:-1]}]", f"D[{h[:-1]}]") if heads else ("dt[t,d]", "A[n,d]", "D[d]")
    )
    state, x = f"{h}n,d", f"X[{h}t,d]"
    k.defines(
        f"S[0,{state}] = S0[{state}]",
        f"S[t+1,{state}] = exp({dt}*{a})*S[t,{state}] + {dt}*B[t,n]*{x}",
    )
    axes = k.grid(**({"h": "H"} if heads else {}), e=Tiles("E", wide))
    before, d = axes[:-1], axes[-1] * wide
    k.load("s", first, k.parts((states, wide), (1, subgroups)), at=(*before, 0, d))
    one = k.one("s") if heads else k.columns("s")
    k.load("a", A, one if heads else k.spread_of("s"), at=before or (0, d))
    k.load("skip", D, one, at=before or d)
    holds = {"s": f"S[t,{h}row,{wide}*e + column]"}
    with k.loop("t", 0, Index("T"), holds=holds) as t:
        k.load("step", rate, one, at=(*before, t) if heads else (t, d))
        for name, operand in (("b", B), ("c", C)):
            k.load(name, operand, k.rows("s"), at=(t, 0))
        k.load("x", X, k.columns("s"), at=(*before, t, d))
        k.map("s", "exp(step*a)*s + step*b*x")
        k.map("seen", "c*s")
        k.reduce("o", "sum", "seen", axis=0)
        k.map("o", "o + skip*x")
        if Z is not None:
            k.load("z", Z, k.columns("s"), at=(*before, t, d))
            k.map("o", "o*silu(z)")
        k.store(out, "o", at=(*before, t, d))
    k.store(last, "s", at=(*before, 0, d))
    value = f"sum(n, C[t,n]*S[t+1,{state}]) + {skip}*{x}"
    k.computes(f"O[{h}t,d] = " + (f"({value})*silu(Z[{h}t,d])" if gated else value))
    k.computes(f"SN[{state}] = S[T,{state}]")
    return k.build()
