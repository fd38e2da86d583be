"""Which experts a token goes to where these are in groups: the best of the best groups."""

from __future__ import annotations

from math import inf

from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.serving.argmax_rows import first_of
from pycute_xe.kernel.serving.moe_routing import MOST_CHOSEN, chosen
from pycute_xe.kernel.serving.rows import RowBuilder
from pycute_xe.kernel.serving.sizes import sized
from pycute_xe.signatures import typed

__all__ = ["grouped_routing"]

BEHIND = 2.0**100
"""More than any score."""


MOST_IN_GROUP = 256


@typed
@sized(experts=None, groups=None, best=None, top=None)
def grouped_routing(
    experts: int,
    groups: int = 8,
    best: int = 4,
    top: int = 8,
    *,
    scale: float = 1.0,
    kind: str = "f32",
    rows: int = 64,
    subgroups: int = 4,
) -> Kernel:
    """Return the kernel that gives each token its ``top`` experts among those of ``best`` groups.

    X (M, experts), of ``kind``, are logits, whose scores are ``sigmoid(X)``; ``bias`` (experts), of
    f32, is added to scores where experts are chosen. A group's score is the sum of its two largest;
    experts of the ``best`` groups are chosen as `moe_routing` does, and ``weights[j,m]`` is the
    score of the j-th, without bias, over the sum of those that are chosen, times ``scale``. Groups
    of equal scores count as one. ``numbers`` (experts) is as in `moe_routing`. A row is read a
    group at a time, once or twice for each that is chosen: any number of groups works. Raises
    `KernelError` for groups that do not divide the experts into multiples of 16 up to 256, and for
    more groups or experts than there are. C++: vLLM's and SGLang's ``grouped_topk`` of DeepSeek.

    >>> print(*grouped_routing(64, 4, 2, 2).inputs, sep="; ")
    X[M,64] f32 row-major; bias[64] f32; numbers[64] f32
    """
    given = {"experts": experts, "groups": groups, "best": best, "top": top}
    step = 16 * groups
    if step < 1 or experts < step or experts % step:
        wrong = f"{groups} groups do not divide {experts} experts into multiples of 16"
        fix = f"use experts={step * max(1, -(-experts // step))}" if step > 0 else "use groups=1"
        raise KernelError("grouped_routing", given, wrong, fix)
    if experts > MOST_IN_GROUP * groups:
        wrong = f"a group has {experts // groups} experts, and a tile at most {MOST_IN_GROUP}"
        fix = f"use groups={-(-experts // MOST_IN_GROUP)}, or more that divide the experts"
        raise KernelError("grouped_routing", given, wrong, fix)
    most = min(MOST_CHOSEN, best * (experts // groups))
    if not 1 <= best <= groups or not 1 <= top <= most:
        wrong = f"{best} of {groups} groups do not have {top} experts of 1 to {MOST_CHOSEN}"
        fix = f"use best={min(max(best, 1), groups)}, top={min(max(top, 1), 2)}"
        raise KernelError("grouped_routing", given, wrong, fix)
    r = _Routing(experts, groups, kind, rows, subgroups)
    for t in range(best):
        r.find_group(t)
    for j in range(top):
        r.find_expert(j, best)
    return r.weigh(top, best, scale)


class _Routing:
    """The passes over the groups of a row, and what each comes to."""

    def __init__(self, experts: int, groups: int, kind: str, rows: int, subgroups: int) -> None:
        """Declare what is read."""
        self.groups, self.each = groups, experts // groups
        self.k = k = RowBuilder("grouped_routing", experts, rows, subgroups, self.each)
        self.X = k.matrix("X", kind)
        self.bias, self.numbers = (k.input(x, "f32", (experts,)) for x in ("bias", "numbers"))

    def take(self, g: Index) -> None:
        """Load a group, and find its score."""
        k = self.k
        k.column = g * self.each
        k.take_rows("x", self.X)
        k.take_columns("more", self.bias)
        k.map("score", "sigmoid(x)")
        k.map("biased", "score + more")
        k.reduce("one", "max", "biased", axis=1)
        k.map("below_one", "below(biased, one)")
        k.reduce("two", "max", "below_one", axis=1)
        k.map("both", "one + two")

    def find_group(self, t: int) -> None:
        """Find the t-th best score of a group."""
        k, left = self.k, "both" if t == 0 else f"below(both, group{t - 1})"
        k.fill(f"group{t}", k.by_row, -inf)
        with k.loop(f"g{t}", 0, self.groups) as g:
            self.take(g)
            k.map(f"group{t}", f"max(group{t}, {left})")

    def find_expert(self, j: int, best: int) -> None:
        """Find the j-th largest biased score in these groups, and the first expert that has it."""
        k, kept = self.k, _kept("biased", "both", f"group{best - 1}")
        left = kept if j == 0 else f"below({kept}, top{j - 1})"
        k.fill(f"top{j}", k.by_row, -inf)
        with k.loop(f"t{j}", 0, self.groups) as g:
            self.take(g)
            k.gather_rows("max", f"top{j}", left)
        k.fill(f"first{j}", k.by_row, -inf)
        with k.loop(f"f{j}", 0, self.groups) as g:
            self.take(g)
            k.take_columns("number", self.numbers)
            k.gather_rows("max", f"first{j}", first_of(left, f"top{j}", "number"))
        k.map(f"id{j}", f"-1*first{j}")

    def weigh(self, top: int, best: int, scale: float) -> Kernel:
        """Return the kernel that stores what was chosen, and the scores of these."""
        k, rows = self.k, self.k.tile[0]
        ids, weights = k.output("ids", "s32", (top, "M")), k.output("weights", "f32", (top, "M"))
        for j in range(top):
            k.fill(f"own{j}", k.by_row)
        with k.loop("w", 0, self.groups) as g:
            self.take(g)
            k.take_columns("number", self.numbers)
            for j in range(top):
                k.gather_rows("sum", f"own{j}", _hit("score", "number", f"id{j}"))
        k.map("all", " + ".join(f"own{j}" for j in range(top)))
        for j in range(top):
            k.convert("id_out", f"id{j}", "s32")
            k.store(ids, "id_out", at=(j, k.m * rows))
            k.map("weight", f"own{j}*{scale!r} / all")
            k.store(weights, "weight", at=(j, k.m * rows))
        k.reads_as_real("f32")  # of scores that differ by a rounding either may be the larger
        own = [self._id(j, best) for j in range(top)]
        each = [f"sum(n, {_hit('sigmoid(X[m,n])', 'numbers[n]', one)})" for one in own]
        k.computes(f"ids[j,m] = {chosen([f's32({one})' for one in own])}")
        k.computes(f"weights[j,m] = {chosen(each)}*{scale!r} / ({' + '.join(each)})")
        return k.build()

    # ------------------------------------------------------------------ claims
    # Variables are numbered by how deep they stand: what is asked twice is the same text.

    def _group(self, g: str, deep: int) -> str:
        """Return the claim of a group's score."""
        each = self.each
        at = [f"{each}*({g})+{n}{deep}" for n in "abc"]
        a, b, c = (f"sigmoid(X[m,{x}]) + bias[{x}]" for x in at)
        below = f"below({b}, max(c{deep} < {each}, {c}))"
        return f"(max(a{deep} < {each}, {a}) + max(b{deep} < {each}, {below}))"

    def _best(self, t: int, deep: int) -> str:
        """Return the claim of the t-th best score of a group."""
        left = self._group(f"g{deep}", deep)
        left = left if t == 0 else f"below({left}, {self._best(t - 1, deep + 1)})"
        return f"max(g{deep} < {self.groups}, {left})"

    def _left(self, j: int, best: int, deep: int) -> str:
        """Return the claim of an expert's biased score, if it may be the j-th."""
        at = f"{self.each}*g{deep}+e{deep}"
        score, group = f"sigmoid(X[m,{at}]) + bias[{at}]", self._group(f"g{deep}", deep)
        kept = _kept(score, group, self._best(best - 1, deep + 1))
        return kept if j == 0 else f"below({kept}, {self._top(j - 1, best, deep + 1)})"

    def _over(self, deep: int, value: str) -> str:
        """Return the largest value among all experts."""
        return f"max(g{deep} < {self.groups}, max(e{deep} < {self.each}, {value}))"

    def _top(self, j: int, best: int, deep: int) -> str:
        """Return the claim of the j-th largest biased score in the best groups."""
        return self._over(deep, self._left(j, best, deep))

    def _id(self, j: int, best: int) -> str:
        """Return the claim of the first expert that has it."""
        number = f"numbers[{self.each}*g0+e0]"
        first = first_of(self._left(j, best, 0), self._top(j, best, 1), number)
        return f"-1*{self._over(0, first)}"


def _kept(score: str, group: str, least: str) -> str:
    """Return a score if that of its group is not below another, else minus infinity, exactly."""
    return f"below({score}, {2 * BEHIND!r}*at_least({group}, {least}) - {BEHIND!r})"


def _hit(value: str, number: str, wanted: str) -> str:
    """Return a value where two whole numbers are equal, else 0."""
    return f"({value})*at_least({number}, {wanted})*at_least({wanted}, {number})"
