"""Attention without a softmax: a state that decays, and takes in each key with its value."""

from __future__ import annotations

from pycute_xe.errors import KernelError
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.chunk_products import ChunkProducts, demand_product_type
from pycute_xe.kernel.serving.chunk_states import COLUMNS
from pycute_xe.kernel.serving.chunks import Chunks
from pycute_xe.kernel.serving.sizes import demand_multiples, sized
from pycute_xe.kernel.serving.token_states import TokenStates
from pycute_xe.signatures import typed

__all__ = ["linear_attention"]


@typed
@sized(chunk=None)
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
    demand_product_type("linear_attention", kind)
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
    demand_multiples("linear_attention", COLUMNS, columns=columns)
    s = TokenStates("linear_attention", depth, columns * subgroups, subgroups)
    return s.in_slots() if slots else s.whole()
