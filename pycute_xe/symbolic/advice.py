"""Floor 4: how to say of a symbol what a question needs to know."""

from __future__ import annotations

from math import lcm

from pycute_xe.symbolic.assumed import Assumed, Known
from pycute_xe.symbolic.terms import Expr, FloorDiv, sp

__all__ = ["way_out"]


def way_out(difference: Expr, known: Known, relation: str) -> str:
    """Return an assumption that would decide ``difference <relation> 0``, as Python code.

    >>> M = Assumed("M")
    >>> way_out(M.unit - 31, {"M": M}, ">")
    'symbol("M", at_least=32) or symbol("M", at_most=31)'
    """
    own = [known[s.name] for s in difference.free_symbols if isinstance(s, sp.Symbol)]
    if len(own) == 1:
        quotients = list(difference.atoms(FloorDiv))
        if relation == "==" and len(quotients) == 1 and quotients[0].args[1].is_Integer:
            return _multiple(own[0], int(quotients[0].args[1]))
        if relation != "==" and not quotients and sp.degree(difference, own[0].unit) == 1:
            return _bound(own[0], difference, relation)
    if relation == "==":
        return 'make one a multiple of the other, as N = M * symbol("n")'
    return 'make one the other and more, as N = M + symbol("more", at_least=0)'


def _multiple(symbol: Assumed, divisor: int) -> str:
    factor = lcm(symbol.multiple_of * divisor, symbol.multiple_of)
    return f'symbol("{symbol.name}", multiple_of={factor})'


def _bound(symbol: Assumed, difference: Expr, relation: str) -> str:
    """Return the bound at which the answer changes."""
    c, k = difference.coeff(symbol.unit), difference.subs(symbol.unit, 0)
    # At the threshold a value passes 0: it leaves it behind, or reaches it.
    leaves = (relation in (">", "<=")) == (c > 0)
    past = sp.floor(-k / c) + 1 if leaves else sp.ceiling(-k / c)
    least = int(past) * symbol.multiple_of
    bounds = f"at_least={least}", f"at_most={least - symbol.multiple_of}"
    return " or ".join(f'symbol("{symbol.name}", {bound})' for bound in bounds)
