"""Why one estimate is before another: which figures differ, and which tie."""

from __future__ import annotations

from pycute_xe.costing import Cost

__all__ = ["reasons"]


def reasons(first: Cost, second: Cost) -> list[str]:
    """Return which figures of two estimates differ, and last those that tie.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> one, two = (cx.cost(gemm, "b70", M=m, N=4096, K=4096) for m in (4096, 4352))
    >>> reasons(one, two)[2], reasons(one, one)[0][:14]
    ('waves 8 against 9', 'ties: most ms,')
    """
    two = _figures(first), _figures(second)
    lines: list[str] = []
    for name, (x, text) in two[0].items():
        y, other = two[1][name]
        if x != y:
            nearly = " (nearly a tie)" if text == other else ""
            lines.append(f"{name} {text} against {other}{nearly}")
    ties = [name for name, (x, _) in two[0].items() if x == two[1][name][0]]
    return [*lines, f"ties: {', '.join(ties)}"] if ties else lines


def _figures(cost: Cost) -> dict[str, tuple[object, str]]:
    """The figures that estimates are held against each other by, as values and texts."""
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
