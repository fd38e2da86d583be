"""The gated delta rule: a state forgets what it has for a key before it takes in a new value."""

from __future__ import annotations

from pycute_xe.errors import KernelError
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.chunk_products import ChunkProducts, demand_product_type
from pycute_xe.kernel.serving.chunks import Chunks
from pycute_xe.kernel.serving.sizes import sized
from pycute_xe.kernel.serving.token_states import TokenStates
from pycute_xe.signatures import typed

__all__ = ["delta_rule"]


@typed
@sized(chunk=None)
def delta_rule(
    depth: int = 64,
    *,
    subgroups: int = 4,
    slots: bool = False,
    chunk: int | None = None,
    inverse: bool = False,
    kind: str = "f32",
) -> Kernel:
    """Return the kernel ``O[h,t,e] = sum(d, Q[h,t,d] * S[t+1,h,d,e])`` of the gated delta rule.

    The state decays by ``g[h,t]``, and what it then has for the key gives way to the value, at a
    rate: ``S[t+1] = g·S[t] + k·beta·(v - k·g·S[t])``, beginning with ``S0`` (H, depth, E), in order
    of t. Q and K (H, T, depth), V (H, T, E), g and beta (H, T) and both outputs, O (H, T, E) and
    ``SN``, the state behind the last token, are of f32; a subgroup has 16 columns of the state.
    With ``slots`` requests have their states in slots, as those of `linear_attention`.

    With a ``chunk`` of tokens, of which T is a multiple, decays are given by the sums of their
    logarithms B (H, T + 1), g being ``exp(B[h,t+1] - B[h,t])``: what the tokens of a chunk bring
    solves a triangular system, and the state goes on once a chunk. With ``inverse`` the triangle's
    inverse is an input X (H, T, chunk), taken for what ``solve_tril(chunk, depth=depth)`` computes.
    Then Q, K, V and X may be of the ``kind`` "bf16" or "f16": a chunk is products by DPAS, a
    work-group one subgroup, and KT (H, depth, T) are the keys again, column by column, which are
    the same bytes. C++: vLLM's and fla's ``fused_recurrent_gated_delta_rule`` and
    ``chunk_gated_delta_rule``.

    Raises `KernelError` for a chunk with slots, or of less than one token, an inverse without a
    chunk, or of one that is not a multiple of 16 tokens, and a ``kind`` without an inverse.

    >>> print(str(delta_rule().computes).splitlines()[2])
    O[h,t,e] = sum(d, Q[h,t,d]*S[t+1,h,d,e])
    """
    given = {"chunk": chunk, "inverse": inverse, "kind": kind}
    if slots and chunk is not None:
        wrong, fix = "a chunk is gone through without slots", "leave slots out, or the chunk"
        raise KernelError("delta_rule", {"slots": slots, **given}, wrong, fix)
    if inverse and chunk is None:
        wrong = "only a chunk has a triangular system to invert"
        raise KernelError("delta_rule", given, wrong, "give a chunk of 16, 32 or 64")
    demand_product_type("delta_rule", kind)
    if kind != "f32" and not inverse:
        wrong = f"products of {kind} are those by an inverse"
        raise KernelError("delta_rule", given, wrong, "give a chunk, and inverse=True")
    if chunk is not None:
        if kind != "f32":
            return ChunkProducts("delta_rule", depth, chunk, kind, delta=True).kernel()
        return Chunks("delta_rule", depth, subgroups, chunk, delta=True, inverse=inverse).kernel()
    s = TokenStates("delta_rule", depth, 16 * subgroups, subgroups, delta=True)
    return s.in_slots() if slots else s.whole()
