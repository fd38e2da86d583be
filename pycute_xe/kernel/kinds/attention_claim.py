"""What attention computes, in index notation."""

from __future__ import annotations

from functools import partial, reduce
from math import inf, log
from operator import add

from pycute_xe.kernel.index import Index
from pycute_xe.kernel.kinds.attention_bias import biased
from pycute_xe.kernel.kinds.attention_form import (
    LOG2E,
    LOWEST,
    Conditions,
    Form,
    Keys,
    seen,
)
from pycute_xe.kernel.spec.expression import (
    Const,
    Element,
    Expression,
    Where,
    apply,
    rounded_to,
    total,
)
from pycute_xe.kernel.spec.specification import Claim, Specification

__all__ = ["claims"]

ASSUMED = "each query sees a key"


def claims(form: Form) -> Specification:
    """Return softmax(scale · Q Kᵀ + mask) V, with the roundings of a kernel of this form.

    Scores are to base 2, as `exp2` takes them: ``exp(x) = exp2(x * log2(e))``.
    A weight is rounded as it leaves the accumulator: against the largest score up to its tile, of
    those keys that its subgroup has.
    """
    claim = _Claim(form)
    queries = ("h", "t") if form.packed else ("b", "h", "m")
    parts = ("s",) if form.splits > 1 else ()
    sums = claim.weights()
    if form.may_lack_keys:
        sums = apply("max", sums, 1.0)
    value = claim.batched(form.valued(claim.weighted() / sums))
    out = [Claim("O", (*parts, *queries, "e"), rounded_to(form.out_type, value))]
    if form.out_type.name == "f32":
        out = [Claim("O", (*parts, *queries, "e"), value)]
    if form.lse:
        lse = claim.batched(claim.top() * log(2.0) + apply("log", claim.weights()))
        if form.packed:  # rows behind a batch's end add 0
            lse = Element("lse", tuple(map(Index, (*parts, *queries)))) + lse
        out.append(Claim("lse", (*parts, *queries), lse))
    return Specification(tuple(out), () if form.may_lack_keys else (ASSUMED,), tables=form.tables)


class _Claim:
    """The parts of the claim; names of sums are told apart by numbers."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.query = Index("m")
        if form.packed:
            self.query = Index("t") - Index.element("starts", Index("b"))

    def batched(self, value: Expression) -> Expression:
        """Choose the batch of a packed row."""
        if not self.form.packed:
            return value
        t, b = Index("t"), Index("b")
        inside = Where(t, Index.element("starts", b + 1), value, Const(0.0))
        mine = Where(Index.element("starts", b), t + 1, inside, Const(0.0))
        return total("b", Index("U") - 1, mine)

    def score(self, keys: Keys, key: Index, depth: str) -> Expression:
        """Return the masked score of a key."""
        form, d = self.form, Index(depth)
        query = (Index("b"), Index("h"), Index("m"))
        if form.packed:
            query = (Index("h"), Index("t"))
        pair = Element("Q", (*query, d)) * Element(keys.k, form.of_keys(keys, key, d))
        score = form.scored(total(depth, form.depth, pair))
        score = biased(form, score, keys, Index("t" if form.packed else "m"), key)
        conditions = seen(form, self.query, keys.first + key)
        for one, other in (*conditions, *self._part(key)):
            score = Where(one, other, score, Const(-inf))
        return score

    def _part(self, key: Index) -> list[tuple[Index, Index]]:
        """Return when a key belongs to the part of the keys that an output is of."""
        form = self.form
        if form.splits == 1:
            return []
        own = key // form.tile[1] % form.splits
        return [(Index("s"), own + 1), (own, Index("s") + 1)]

    def largest(self, of: tuple[tuple[Keys, Conditions], ...], number: int) -> Expression:
        """Return the largest score among those keys ``j`` of each loop that meet conditions."""
        maxima: list[Expression] = []
        for i, (keys, conditions) in enumerate(of):
            name = f"j{number}{i}"
            score = self.score(keys, Index(name), f"d{number}{i}")
            for one, other in conditions:
                j = {"j": Index(name)}
                score = Where(one.substitute(j), other.substitute(j), score, Const(-inf))
            maxima.append(total(name, keys.count, score, how="max"))
        return reduce(partial(apply, "max"), maxima, Const(LOWEST))

    def top(self) -> Expression:
        """Return the largest score, the sink's included."""
        out = self.largest(tuple((keys, []) for keys in self.form.keys), 0)
        return apply("max", out, self.sink()) if self.form.sink else out

    def sink(self) -> Expression:
        """Return the sink's score."""
        return Element("sink", (Index("h"),)) * LOG2E

    def running(self, keys: Keys, key: Index) -> Expression:
        """Return the largest score that a subgroup has come to when it rounds a key's weight."""
        form, width, j = self.form, self.form.tile[1], Index("j")
        conditions: Conditions = [(j, (key // width + 1) * width)]
        if form.across > 1:
            mine, other = (x % width // (width // form.across) for x in (key, j))
            conditions += [(mine, other + 1), (other, mine + 1)]
        before: list[tuple[Keys, Conditions]] = []
        before += [(k, []) for k in form.keys[: form.keys.index(keys)]]
        return self.largest((*before, (keys, conditions)), 1)

    def weights(self) -> Expression:
        """Return the sum of the weights, against the largest score."""
        parts: list[Expression] = []
        for i, keys in enumerate(self.form.keys):
            n = Index(f"n{i}")
            weight = apply("exp2", self.score(keys, n, f"d2{i}") - self.top())
            parts.append(total(f"n{i}", keys.count, weight))
        if self.form.sink:
            parts.append(apply("exp2", self.sink() - self.top()))
        return reduce(add, parts)

    def weighted(self) -> Expression:
        """Return the sum of the weighted values, each weight rounded."""
        parts: list[Expression] = []
        for i, keys in enumerate(self.form.keys):
            n, e = Index(f"n{i}"), Index("e")
            running = self.running(keys, n)
            weight = apply("exp2", self.score(keys, n, f"d2{i}") - running)
            rescaled = rounded_to(self.form.pv.atom.op.A, weight) * apply(
                "exp2", running - self.top()
            )
            value = Element(keys.v, self.form.of_keys(keys, n, e))
            parts.append(total(f"n{i}", keys.count, rescaled * value))
        return reduce(add, parts)
