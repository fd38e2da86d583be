"""Why one estimate is before another: which figures differ, and which tie."""

from __future__ import annotations

from pycute_xe.costing.account import Cost

__all__ = ["decides", "figures", "reasons"]


def reasons(first: Cost, second: Cost) -> list[str]:
    """Return which figures of two estimates differ, and last those that tie.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> one, two = (cx.cost(gemm, "b70", M=m, N=4096, K=4096) for m in (4096, 4352))
    >>> reasons(one, two)[2], reasons(one, one)[0][:14]
    ('waves 8 against 9', 'ties: most ms,')
    """
    two = figures(first), figures(second)
    lines: list[str] = []
    for name, (x, text) in two[0].items():
        y, other = two[1][name]
        if x != y:
            nearly = " (nearly a tie)" if text == other else ""
            lines.append(f"{name} {text} against {other}{nearly}")
    ties = [name for name, (x, _) in two[0].items() if x == two[1][name][0]]
    return [*lines, f"ties: {', '.join(ties)}"] if ties else lines


def decides(first: Cost, second: Cost) -> str:
    """Return the resource whose time differs most between two estimates; nothing where all tie.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> one, two = (cx.cost(gemm, "b70", M=m, N=4096, K=4096) for m in (4096, 8192))
    >>> decides(one, two), decides(one, one)
    ('DPAS', '')
    """
    other = {bound.resource: bound for bound in second.bounds}
    apart = {
        bound.resource: abs(bound.most - other[bound.resource].most)
        for bound in first.bounds
        if bound.resource in other
    }
    longest = max(apart, key=lambda name: apart[name])
    return longest if apart[longest] else ""


def figures(cost: Cost) -> dict[str, tuple[object, str]]:
    """Return what estimates are held against each other by, as values and texts."""
    facts = cost.facts
    counts = {
        "bytes of L1": facts.requested,
        "bytes of L2": facts.fetched,
        "bytes of memory": facts.least,
        "DPAS": facts.dpas,
        "messages": sum(facts.messages.values()),
        "barriers": facts.barriers,
        "instructions on registers": facts.moves + facts.widened + facts.converted + facts.computed,
    }
    return {
        "most ms": (cost.most, f"{cost.most * 1e3:.4g}"),
        "least ms": (cost.least, f"{cost.least * 1e3:.4g}"),
        "binds": (cost.binds, cost.binds),
        "waves": (facts.waves, str(facts.waves)),
        "fill of the last wave": (facts.last, f"{facts.last:.0%}"),
        **{name: (count, f"{count:,}") for name, count in counts.items()},
    }
