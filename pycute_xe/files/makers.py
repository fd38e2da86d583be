"""The classes that the rule for dataclasses does not serve: what is written of them, how it is read.

Of a symbolic integer the terms are written: a number, and factors with their powers. A factor is
the name of a symbol, which stands for its value divided by ``multiple_of``, or a quotient rounded
down: a pair of terms, the dividend's and the divisor's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from pycute_xe.basis import Basis
from pycute_xe.errors import quoted
from pycute_xe.files.text import REWRITE, Unfit
from pycute_xe.layout import Layout
from pycute_xe.typing import Shape, Stride, is_tuple

if TYPE_CHECKING:
    from pycute_xe.kernel.index import Index, Looked, Quotient
    from pycute_xe.symbolic import SymbolicInt
    from pycute_xe.symbolic.terms import Assumed

__all__ = ["MAKERS", "Maker"]

MOST_TERMS = 64
"""Terms of a sum of a symbolic integer, and of a sum that reading it computes."""

MOST_POWER = 16
"""The power of a factor."""

MOST_SYMBOLS = 16
"""Symbols of a symbolic integer."""

Parts = Callable[[Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Maker:
    """How a class is read: by ``make``, of what ``held`` says, with annotations.

    Without ``held`` the fields of the dataclass are held. ``parts`` takes a value apart.
    """

    make: Callable[..., Any]
    held: Callable[[], Mapping[str, Any]] | None = None
    parts: Parts | None = None


# ------------------------------------------------------------ indices


def _index(terms: tuple[tuple[Any, int], ...], offset: int) -> Index:
    from pycute_xe.kernel.index import Index, checked_name

    for atom, _ in terms:
        if isinstance(atom, str):
            checked_name(atom)
    made = Index.of(dict(terms), offset)
    if made.terms != terms:
        raise _uncollected(made)
    return made


def _quotient(index: Index, divisor: int) -> Quotient:
    from pycute_xe.kernel.index import Quotient

    made, wanted = index // divisor, Quotient(index, divisor)
    if made.terms != ((wanted, 1),) or made.offset:
        raise _uncollected(made)
    return wanted


def _uncollected(made: Index) -> Unfit:
    told = "the terms of the index are not collected and in order"
    return Unfit(told, f"write what to_json writes of {quoted(str(made))}")


def _looked(operand: str, at: tuple[Index, ...]) -> Looked:
    from pycute_xe.kernel.index import Looked, checked_name

    checked_name(operand)
    return Looked(operand, at)


# ------------------------------------------------------------ symbolic integers


def _symbolic_held() -> Mapping[str, Any]:
    from pycute_xe.symbolic.terms import Assumed

    return {"symbols": tuple[Assumed, ...], "terms": Any}


def _symbolic_parts(value: SymbolicInt) -> Mapping[str, Any]:
    """Return the symbols and the terms of a symbolic integer."""
    known = sorted(value.known.values(), key=lambda symbol: symbol.name)
    return {"symbols": tuple(known), "terms": _terms(value.expr)}


def _terms(expr: Any) -> tuple[Any, ...]:
    from pycute_xe.symbolic.terms import coefficients, factors

    out: list[Any] = []
    for term, c in coefficients(expr):
        if not c.is_Integer:
            raise Unfit(f"{quoted(str(c))} is not an integer", "write whole multiples")
        powers = () if term == 1 else tuple((_factor(base), p) for base, p in factors(term))
        out.append((int(c), powers))
    return tuple(out)


def _factor(base: Any) -> Any:
    from pycute_xe.symbolic.terms import FloorDiv, sp

    if isinstance(base, FloorDiv):
        return tuple(map(_terms, cast("Any", base).args))
    if isinstance(base, sp.Symbol):
        return str(cast("Any", base).name)
    raise Unfit(f"{quoted(str(base))} is neither a symbol nor a quotient", "write its parts")


def _symbolic(symbols: tuple[Assumed, ...], terms: Any) -> SymbolicInt:
    """Return the symbolic integer of some terms, computed as the algebra computes."""
    from pycute_xe.symbolic import SymbolicInt, symbol

    if len(symbols) > MOST_SYMBOLS:
        raise Unfit(f"{len(symbols)} symbols are more than {MOST_SYMBOLS}", "use fewer")
    units: dict[str, Any] = {}
    for one in symbols:
        if one.name in units:
            raise Unfit(f"the symbol {one.name} occurs twice", "leave one out")
        least, most = one.at_least, one.at_most
        made = symbol(one.name, multiple_of=one.multiple_of, at_least=least, at_most=most)
        units[one.name] = made // one.multiple_of
    found = _summed(terms, units)
    if not isinstance(found, SymbolicInt):
        raise Unfit("the terms are a plain integer", f"write {quoted(found)} instead")
    return found


def _summed(terms: Any, units: Mapping[str, Any]) -> Any:
    total: Any = 0
    if not is_tuple(terms) or len(terms) > MOST_TERMS:
        raise _malformed()
    for term in terms:
        if not is_tuple(term) or len(term) != 2 or type(term[0]) is not int:
            raise _malformed()
        total = total + _product(term[0], term[1], units)
    return total


def _product(scale: int, powers: Any, units: Mapping[str, Any]) -> Any:
    product: Any = scale
    if not is_tuple(powers) or len(powers) > MOST_POWER:
        raise _malformed()
    for one in powers:
        if not is_tuple(one) or len(one) != 2 or type(one[1]) is not int:
            raise _malformed()
        base, power = _base(one[0], units), one[1]
        if not 1 <= power <= MOST_POWER:
            raise _malformed()
        for _ in range(power):
            if _count(product) * _count(base) > MOST_TERMS:
                raise Unfit(f"a product has more than {MOST_TERMS} terms", "multiply it out")
            product = product * base
    return product


def _base(factor: Any, units: Mapping[str, Any]) -> Any:
    if isinstance(factor, str):
        if factor not in units:
            raise Unfit(f"the symbol {quoted(factor)} is not listed", "enter it in symbols")
        return units[factor]
    if not is_tuple(factor) or len(factor) != 2:
        raise _malformed()
    dividend, divisor = (_summed(terms, units) for terms in factor)
    return dividend // divisor


def _count(value: Any) -> int:
    from pycute_xe.symbolic.terms import sp

    return len(sp.Add.make_args(value.expr)) if hasattr(value, "expr") else 1


def _malformed() -> Unfit:
    told = f"the terms are not a list of at most {MOST_TERMS} numbers with factors and powers"
    return Unfit(told, REWRITE)


# ------------------------------------------------------------ table

MAKERS: dict[str, Maker] = {
    "Layout": Maker(Layout, lambda: {"shape": Shape, "stride": Stride}),
    "Basis": Maker(Basis, lambda: {"value": Any, "modes": tuple[int, ...]}),
    "Index": Maker(_index),
    "Quotient": Maker(_quotient),
    "Looked": Maker(_looked),
    "SymbolicInt": Maker(_symbolic, _symbolic_held, _symbolic_parts),
}
"""By the class's name; classes that are not here are read by the rule for dataclasses."""
