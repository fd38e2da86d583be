"""Attention without a softmax: a state that decays, and takes in each key with its value."""

from __future__ import annotations

from pycute_xe.kernel.building.builder import KernelBuilder
from pycute_xe.kernel.index import Tiles
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.signatures import typed

__all__ = ["linear_attention"]


@typed
def linear_attention(depth: int = 64, *, columns: int = 16, subgroups: int = 4) -> Kernel:
    """Return the kernel ``O[h,t,e] = sum(d, Q[h,t,d] * S[t+1,h,d,e])`` of a decaying state S.

    ``S[t+1,h,d,e] = g[h,t] * S[t,h,d,e] + K[h,t,d] * V[h,t,e]``, beginning with ``S0`` (H, depth,
    E), in order of t. Q and K (H, T, depth), V (H, T, E), g (H, T) and both outputs, O (H, T, E)
    and the state ``SN`` behind the last token, are of f32. A subgroup has ``columns`` columns of
    the state of a head in registers. C++: vLLM's ``lightning_attn``, decode of gated linear
    attention.

    >>> print(str(linear_attention().computes).splitlines()[1])
    S[t+1,h,d,e] = g[h,t]*S[t,h,d,e] + K[h,t,d]*V[h,t,e]
    """
    wide = columns * subgroups
    k = KernelBuilder("linear_attention", subgroups)
    Q, K = (k.input(x, "f32", ("H", "T", depth)) for x in "QK")
    V, g = k.input("V", "f32", ("H", "T", "E")), k.input("g", "f32", ("H", "T"))
    S0 = k.input("S0", "f32", ("H", depth, "E"))
    out = k.output("O", "f32", ("H", "T", "E"))
    SN = k.output("SN", "f32", ("H", depth, "E"))
    k.defines("S[0,h,d,e] = S0[h,d,e]", "S[t+1,h,d,e] = g[h,t]*S[t,h,d,e] + K[h,t,d]*V[h,t,e]")
    h, e = k.grid(h="H", e=Tiles("E", wide))
    k.load("s", S0, k.parts((depth, wide), (1, subgroups)), at=(h, 0, e * wide))
    with k.loop("t", 0, Tiles("T", 1), holds={"s": f"S[t,h,row,{wide}*e + column]"}) as t:
        k.load("decay", g, k.one("s"), at=(h, t))
        k.load("key", K, k.rows("s"), at=(h, t, 0))
        k.load("query", Q, k.rows("s"), at=(h, t, 0))
        k.load("value", V, k.columns("s"), at=(h, t, e * wide))
        k.map("s", "decay*s + key*value")
        k.map("seen", "query*s")
        k.reduce("o", "sum", "seen", axis=0)
        k.store(out, "o", at=(h, t, e * wide))
    k.store(SN, "s", at=(h, 0, e * wide))
    k.computes("O[h,t,e] = sum(d, Q[h,t,d]*S[t+1,h,d,e])")
    k.computes("SN[h,d,e] = S[T,h,d,e]")
    return k.build()
