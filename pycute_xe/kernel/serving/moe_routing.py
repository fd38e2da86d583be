"""Which experts a token goes to: the largest of its logits, their weights, and how many come."""

from __future__ import annotations

from pycute_xe.errors import KernelError
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.argmax_rows import first_of
from pycute_xe.kernel.serving.rows import RowBuilder
from pycute_xe.kernel.serving.sizes import sized
from pycute_xe.signatures import typed

__all__ = ["MOST_CHOSEN", "chosen", "moe_counts", "moe_routing"]

MOST_CHOSEN = 8


@typed
@sized(top=None)
def moe_routing(
    experts: int,
    top: int = 2,
    *,
    renormalize: bool = True,
    kind: str = "f32",
    rows: int = 64,
    subgroups: int = 4,
) -> Kernel:
    """Return the kernel that gives each token its ``top`` experts, and their weights.

    X (M, experts), of ``kind``, are logits; ``ids[j,m]`` is the expert of the j-th largest of a
    token and ``weights[j,m]`` its softmax among these, or among all unless weights ``renormalize``.
    ``numbers`` (experts), of f32, is what an expert is called: 0, 1, 2, …, or its place on this
    device. Of experts with equal logits the one of the least number is chosen and the others never;
    where fewer than ``top`` logits differ, one is chosen twice. Raises `KernelError` for another
    ``top`` than 1 to 8, and as `rms_norm` does. C++: vLLM's ``topk_softmax``, which takes equal
    logits in turn.

    >>> print(*moe_routing(64).outputs, sep="; ")
    ids[2,M] s32 row-major; weights[2,M] f32 row-major
    """
    most = min(MOST_CHOSEN, experts)
    if not 1 <= top <= most:
        wrong, fix = f"top is {top}, which must be 1 to {most}", f"use top={min(most, 2)}"
        raise KernelError("moe_routing", {"top": top}, wrong, fix)
    k = RowBuilder("moe_routing", experts, rows, subgroups, -(-experts // 32) * 32)
    X, numbers = k.matrix("X", kind), k.input("numbers", "f32", (experts,))
    ids = k.output("ids", "s32", (top, "M"))
    weights = k.output("weights", "f32", (top, "M"))
    k.take_rows("x", X)
    k.take_columns("number", numbers)
    for j in range(top):
        left = "x" if j == 0 else f"below(x, top{j - 1})"
        k.map("low", k.within(left, "-inf"))
        k.reduce(f"top{j}", "max", "low", axis=1)
        k.map("low", k.within(first_of(left, f"top{j}", "number"), "-inf"))
        k.reduce("first", "max", "low", axis=1)
        k.map("id", "-1*first")
        k.convert("id_out", "id", "s32")
        k.store(ids, "id_out", at=(j, k.m * rows))
    if not renormalize:
        k.map("low", k.within("exp(x - top0)", "0"))
        k.reduce("all", "sum", "low", axis=1)
    else:
        k.map("all", " + ".join(f"exp(top{j} - top0)" for j in range(top)))
    for j in range(top):
        k.map("weight", f"exp(top{j} - top0) / all")
        k.store(weights, "weight", at=(j, k.m * rows))
    own = [first_of(_left(j, "n"), _top(j, "i"), "numbers[n]") for j in range(top)]
    weighed = " + ".join(map(_weight, range(top)))
    if not renormalize:
        weighed = f"sum(n, exp(X[m,n] - {_top(0, 'b')}))"
    k.computes(f"ids[j,m] = {chosen([f's32(-1*max(n, {each}))' for each in own])}")
    k.computes(f"weights[j,m] = {chosen([f'{_weight(j)} / ({weighed})' for j in range(top)])}")
    return k.build()


def _left(j: int, n: str) -> str:
    """Return the claim of a logit, minus infinity where it is one of the j largest."""
    return f"X[m,{n}]" if j == 0 else f"below(X[m,{n}], {_top(j - 1, f'{n}_')})"


def _top(j: int, n: str) -> str:
    """Return the claim of the j-th largest logit of a token."""
    return f"max({n}, {_left(j, n)})"


def _weight(j: int) -> str:
    return f"exp({_top(j, 'a')} - {_top(0, 'b')})"


def chosen(values: list[str]) -> str:
    """Return the claim whose j-th row is the j-th value."""
    out = values[-1]
    for j in reversed(range(len(values) - 1)):
        out = f"where(j < {j + 1}, {values[j]}, {out})"
    return out


@typed
@sized()
def moe_counts(experts: int, top: int = 2, *, rows: int = 64, subgroups: int = 4) -> Kernel:
    """Return the kernel ``counts[e] += `` how many of ``ids`` (top, M) are ``numbers[e]``.

    ``counts`` (experts), of f32, must be zero before; whole numbers of f32 are exact up to 2**24.
    Raises `KernelError` as `rms_norm` does. C++: the first half of ``moe_align_block_size``.

    >>> print(str(moe_counts(16, 1).computes)[:66])
    counts[e] = counts[e] + sum(m, at_least(f32(ids[0,m]), numbers[e])
    """
    k = RowBuilder("moe_counts", experts, rows, subgroups, -(-experts // 32) * 32)
    ids, numbers = k.input("ids", "s32", (top, "M")), k.input("numbers", "f32", (experts,))
    counts = k.inout("counts", "f32", (experts,))
    k.fill("hits", k.part)
    k.take_columns("number", numbers)
    for j in range(top):
        k.load("id_in", ids, k.by_row, at=(j, k.m * rows))
        k.convert("id", "id_in", "f32")
        hit = "at_least(id, number)*at_least(number, id)"
        k.map("hits", f"hits + {k.within_rows(hit, '0', 'M')}")
    k.reduce("sums", "sum", "hits", axis=0)
    k.atomic_add(counts, "sums", at=0)
    hit = "at_least(f32(ids[{0},m]), numbers[e])*at_least(numbers[e], f32(ids[{0},m]))"
    sums = " + ".join(f"sum(m, {hit.format(j)})" for j in range(top))
    return k.build(f"counts[e] = counts[e] + {sums}")
