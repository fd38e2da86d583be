"""What states that decay are, a chunk of tokens at a time, as specifications say it.

Decays are given by the sums of their logarithms: ``exp(B[h,t+i] - B[h,t+j])`` is left at ``t + i``
of what was there at ``t + j``.
"""

from __future__ import annotations

from pycute_xe.errors import KernelError, plural
from pycute_xe.kernel.building.builder import KernelBuilder

__all__ = ["BY_TOKENS", "COLUMNS", "define_inverse", "define_states", "demand_tokens", "inverse_at"]

COLUMNS = 16
"""Columns of the state that a subgroup has, one for each lane."""
BY_TOKENS = "K[h,{t},{d}]"
"""An element of the key of a token."""


def demand_tokens(name: str, chunk: int) -> None:
    """Refuse a chunk without tokens."""
    if chunk < 1:
        wrong, fix = f"a chunk of {plural(chunk, 'token')} goes on by none", "use 16, 32 or 64"
        raise KernelError(name, {"chunk": chunk}, wrong, fix)


def define_states(
    k: KernelBuilder,
    depth: int,
    chunk: int,
    *,
    delta: bool = False,
    inverse: bool = False,
    key: str = BY_TOKENS,
) -> None:
    """Define S, which takes in values by keys, and what it is some tokens behind a chunk's start.

    With ``delta`` also U, what a token brings: the value less what S has for its key, at a rate;
    and with an ``inverse`` I, of which U is a product, and which the input X is known to be.
    """
    decay, brought = "exp(B[h,t+1] - B[h,t])", "V[h,t,e]"
    if delta:
        old = f"sum(f < {depth}, {key.format(t='t', d='f')}*{decay}*S[t,h,f,e])"
        brought = f"beta[h,t]*(V[h,t,e] - {old})"
    spans = f"for t < {chunk}*N"
    step = f"{decay}*S[t,h,d,e] + {key.format(t='t', d='d')}*({brought})"
    k.defines("S[0,h,d,e] = S0[h,d,e]", f"S[t+1,h,d,e] = {step} {spans}")
    taken = "V[h,t+j,e]"
    if delta:
        k.defines("U[0,h,e] = 0", f"U[t+1,h,e] = {brought} {spans}, h < H, e < E")
        taken = "U[t+j+1,h,e]"
    since = f"exp(B[h,t+i] - B[h,t+j+1])*{key.format(t='t+j', d='d')}*{taken}"
    now = f"exp(B[h,t+i] - B[h,t])*S[t,h,d,e] + sum(j < i, {since})"
    k.jumps(f"S[t+i,h,d,e] = {now} for i < {chunk + 1}")
    if not inverse:
        return
    define_inverse(k, chunk, depth, key)
    k.given(inverse_at("X", chunk))
    mine = key.format(t="t+j", d="f")
    left = f"V[h,t+j,e] - sum(f < {depth}, {mine}*exp(B[h,t+j+1] - B[h,t])*S[t,h,f,e])"
    solved = f"sum(j < {chunk}, I[i+1,t/{chunk},h,j]*beta[h,t+j]*({left}))"
    k.jumps(f"U[t+i+1,h,e] = {solved} for i < {chunk}")


def define_inverse(
    k: KernelBuilder, chunk: int, depth: int | None = None, key: str = BY_TOKENS
) -> None:
    """Define I, row by row the inverse of the identity and a chunk's lower triangle L.

    L is the operand of that name, or with a ``depth`` of keys what these have in common, times
    their decay and their rates. Row i of ``(1 + L) I = 1`` is row ``i + 1`` of I. Raises
    `KernelError` for a chunk that does not fill lanes.
    """
    if chunk < 1 or chunk % COLUMNS:
        wrong = f"{chunk} is not a multiple of {COLUMNS}"
        raise KernelError(k.name, {"chunk": chunk}, wrong, "use 16, 32 or 64")
    row, other = f"h,{chunk}*c+i", f"h,{chunk}*c+m"
    below = f"L[{row},m]"
    if depth is not None:
        mine, theirs = (key.format(t=f"{chunk}*c+{x}", d="f") for x in "im")
        shared = f"sum(f < {depth}, {mine}*{theirs})"
        below = f"beta[{row}]*exp(B[{row}+1] - B[{other}+1])*{shared}"
    one = "where(j < i, 0, where(i < j, 0, 1))"
    step = f"{one} - sum(m < i, {below}*I[m+1,c,h,j])"
    spans = f"i < {chunk}, c < N, h < H, j < {chunk}"
    k.defines("I[0,c,h,j] = 0", f"I[i+1,c,h,j] = {step} for {spans}")


def inverse_at(name: str, chunk: int) -> str:
    """Return what is claimed, or known, of an operand with the inverses of all chunks."""
    return f"{name}[h,t,j] = I[t%{chunk}+1,t/{chunk},h,j]"
