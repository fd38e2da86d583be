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
        symbol, quotients = own[0], list(difference.atoms(FloorDiv))
        if relation == "==" and len(quotients) == 1 and quotients[0].args[1].is_Integer:
            divisor = int(quotients[0].args[1])
            return symbol.code(multiple_of=lcm(symbol.multiple_of * divisor, symbol.multiple_of))
        if not quotients and sp.degree(difference, symbol.unit) == 1:
            if relation == "==":
                return _exclusion(symbol, difference)
            return _bound(symbol, difference, relation)
        return f"say more of {symbol.name}: multiple_of, at_least, at_most"
    if relation == "==":
        return 'make one a multiple of the other, as N = M * symbol("n")'
    return 'make one the other and more, as N = M + symbol("more", at_least=0)'


def _bound(symbol: Assumed, difference: Expr, relation: str) -> str:
    """Return the bound at which the answer changes."""
    c, k = difference.coeff(symbol.unit), difference.subs(symbol.unit, 0)
    # At the threshold a value passes 0: it leaves it behind, or reaches it.
    leaves = (relation in (">", "<=")) == (c > 0)
    past = sp.floor(-k / c) + 1 if leaves else sp.ceiling(-k / c)
    least = int(past) * symbol.multiple_of
    above = symbol.code(at_least=least)
    below = symbol.code(at_most=least - symbol.multiple_of)
    return f"{above} or {below}"


def _exclusion(symbol: Assumed, difference: Expr) -> str:
    """Return the bound that leaves out the one value at which the answer changes."""
    c, k = difference.coeff(symbol.unit), difference.subs(symbol.unit, 0)
    following = symbol.code(at_least=(int(-k / c) + 1) * symbol.multiple_of)
    if -k / c == symbol.least:
        return following
    return f"{following}, or a number for {symbol.name}"
