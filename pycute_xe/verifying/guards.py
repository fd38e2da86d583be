"""Conditions of terms as values: two indices and how they compare.

Sides are texts of indices. Conditions are compared, negated and renamed as values; their text is
for isl.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from pycute_xe.verifying.lookups import WORD, canonical, variables_of

__all__ = ["Guard", "Sign", "renamed"]

Sign: TypeAlias = Literal["<", ">=", "=", "!="]

_CONTRARY: Mapping[Sign, Sign] = {"<": ">=", ">=": "<", "=": "!=", "!=": "="}


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a text with texts for names.

    >>> renamed("floor((v_m + S_M)/8)", {"v_m": "(8*t)"})
    'floor(((8*t) + S_M)/8)'
    """
    return WORD.sub(lambda match: names.get(match[0], match[0]), text)


class Guard(NamedTuple):
    """A condition of a term: where it does not hold, the term is zero.

    >>> guard = Guard("k - 3", "<", "K")
    >>> guard.contrary.text, guard.contrary.contrary == guard
    ('k - 3 >= K', True)
    """

    left: str
    sign: Sign
    right: str

    def __repr__(self) -> str:
        """Return the text, quoted: the elements of maxima are in the order of how they print."""
        return repr(self.text)

    __str__ = __repr__

    @property
    def text(self) -> str:
        """The constraint as isl reads it."""
        return f"{self.left} {self.sign} {self.right}"

    @property
    def contrary(self) -> Guard:
        """The condition that holds exactly where this one does not."""
        return Guard(self.left, _CONTRARY[self.sign], self.right)

    @property
    def less(self) -> Guard | None:
        """The comparison by ``<`` that this is, or whose contrary this is; None for equalities.

        >>> Guard("k", ">=", "K").less
        'k < K'
        """
        match self.sign:
            case "<":
                return self
            case ">=":
                return self.contrary
            case _:
                return None

    @property
    def sides(self) -> tuple[str, str]:
        """The two indices that are compared."""
        return self.left, self.right

    @property
    def names(self) -> frozenset[str]:
        """The variables and sizes in both sides, also inside lookups."""
        return variables_of(self.left) | variables_of(self.right)

    @property
    def canonical(self) -> Guard:
        """The condition with each side of an inequality written in the one way of its index."""
        if self.less is None:
            return self
        return self.with_sides(canonical)

    def with_sides(self, change: Callable[[str], str]) -> Guard:
        """Return the same comparison of changed indices."""
        return Guard(change(self.left), self.sign, change(self.right))

    def renamed(self, names: Mapping[str, str]) -> Guard:
        """Return the condition with texts for names."""
        return self.with_sides(lambda side: renamed(side, names))
