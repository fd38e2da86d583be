"""Floor 7: which keys a query sees: the mask of a tile of scores, and the tiles that have any."""

from __future__ import annotations

from math import inf
from typing import TypeAlias

from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.statements import If, Statement
from pycute_xe.kernel.kinds.attention_form import Form, Keys
from pycute_xe.kernel.kinds.attention_rows import place_in_tile
from pycute_xe.kernel.spec.expression import Const, Expression, Where

__all__ = ["Conditions", "guarded", "seen", "unmasked"]

Conditions: TypeAlias = list[tuple[Index, Index]]


def seen(form: Form, query: Index, key: Index) -> Conditions:
    """Return when a query sees a key, by their positions: each pair is ``one < other``.

    The last query is beside the last key, as many keys as there may be. C++: ``full_tile_offset``.
    """
    beside = query + form.all_keys - form.queries
    out: Conditions = []
    behind: int | None = 0 if form.causal else None
    if form.window is not None:
        before, more = form.window
        behind = more if behind is None else min(more, behind)
        out.append((beside - before, key + 1))
    if behind is not None:
        out.append((key, beside + behind + 1))
    return out


def unmasked(form: Form, keys: Keys, score: Expression) -> Expression:
    """Return the score of an element of a tile, minus infinity where its query does not see it."""
    query = Index("q") * form.tile[0] + place_in_tile(form.qk, "m")
    key = form.tile_of(keys) * form.tile[1] + place_in_tile(form.qk, "n")
    for one, other in (*seen(form, query, keys.first + key), (key, keys.count)):
        score = Where(one, other, score, Const(-inf))
    return score


def guarded(form: Form, keys: Keys, body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Return a body that is done for those tiles of keys of which some query sees some key."""
    queries, width, _ = form.tile
    first, start = Index("q") * queries, keys.first + form.tile_of(keys) * width
    last_query, last_key = first + (queries - 1), start + (width - 1)
    for number in range(len(seen(form, first, start))):
        early, late = seen(form, first, last_key)[number], seen(form, last_query, start)[number]
        # A window begins soonest for the first query and the last key, and ends for the others.
        one, other = early if number == 0 and form.window is not None else late
        body = (If(one, other, body),)
    return body
