"""The classes that the rule for dataclasses does not serve: what is written of them, and how read.

Of a symbolic integer the terms are written: a number, and factors with their powers. A factor is
the name of a symbol, which stands for its value divided by ``multiple_of``, or a quotient rounded
down: a pair of terms, the dividend's and the divisor's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pycute_xe.basis import Basis
from pycute_xe.errors import quoted
from pycute_xe.files.text import REWRITE, Unfit
from pycute_xe.layout import Layout
from pycute_xe.typing import Shape, Stride, is_tuple

if TYPE_CHECKING:
    from pycute_xe.kernel.index import Index, Looked, Quotient
    from pycute_xe.symbolic import SymbolicInt
    from pycute_xe.symbolic.terms import Assumed, Known

__all__ = ["MAKERS", "Maker"]

MOST_TERMS = 64
"""Terms of a sum of a symbolic integer."""

MOST_POWER = 8
"""Factors of a product, and the power of each."""

FEW = 12
"""Terms and factors of a divisor with which its sign is asked of isl."""

MOST_SYMBOLS = 16
"""Symbols of a symbolic integer."""

Parts = Callable[[Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Maker:
    """How a class is read: by ``make``, of what ``annotations`` says, with annotations.

    Without ``annotations`` the fields of the dataclass are held. ``parts`` takes a value apart.
    """

    make: Callable[..., Any]
    annotations: Callable[[], Mapping[str, Any]] | None = None
    parts: Parts | None = None


# ------------------------------------------------------------ layouts


def _layout(shape: Any, stride: Any) -> Layout:
    made = Layout(shape, stride)
    if made.stride != stride:  # a stride left out stands for one that to_json writes
        reason = "the stride is not written out"
        raise Unfit(reason, f"write what to_json writes of {quoted(str(made))}")
    return made


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
    reason = "the terms of the index are not collected and in order"
    return Unfit(reason, f"write what to_json writes of {quoted(str(made))}")


def _looked(operand: str, at: tuple[Index, ...]) -> Looked:
    from pycute_xe.kernel.index import Looked, checked_name

    checked_name(operand)
    return Looked(operand, at)


# ------------------------------------------------------------ symbolic integers


def _symbolic_annotations() -> Mapping[str, Any]:
    from pycute_xe.symbolic.terms import Assumed

    return {"symbols": tuple[Assumed, ...], "terms": Any}


def _symbolic_parts(value: SymbolicInt) -> Mapping[str, Any]:
    """Return the symbols and the terms of a symbolic integer."""
    known = tuple(sorted(value.known.values(), key=lambda symbol: symbol.name))
    terms = _terms(value.expr)
    _symbolic(known, terms)  # what is written can be read
    return {"symbols": known, "terms": terms}


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
        return tuple(map(_terms, base.args))
    if isinstance(base, sp.Symbol):
        return str(base.name)
    raise Unfit(f"{quoted(str(base))} is neither a symbol nor a quotient", "write its parts")


def _symbolic(symbols: tuple[Assumed, ...], terms: Any) -> SymbolicInt:
    """Return the symbolic integer of some terms."""
    from pycute_xe.symbolic import SymbolicInt, symbol
    from pycute_xe.symbolic.terms import joined, relevant

    if len(symbols) > MOST_SYMBOLS:
        raise Unfit(f"{len(symbols)} symbols are more than {MOST_SYMBOLS}", "use fewer")
    known: Known = {}
    for one in symbols:
        least, most = one.at_least, one.at_most
        made = symbol(one.name, multiple_of=one.multiple_of, at_least=least, at_most=most)
        known = joined(known, made.known)
    expr = _summed(terms, known)
    if not expr.free_symbols:
        raise Unfit("the terms are a plain integer", f"write {quoted(str(expr))} instead")
    return SymbolicInt(expr, relevant(known, [expr]))


def _summed(terms: Any, known: Known) -> Any:
    from pycute_xe.symbolic.terms import sp

    if not is_tuple(terms) or len(terms) > MOST_TERMS:
        raise _malformed()
    out: list[Any] = []
    for term in terms:
        if not is_tuple(term) or len(term) != 2 or type(term[0]) is not int:
            raise _malformed()
        out.append(term[0] * _product(term[1], known))
    return sp.Add(*out)


def _product(powers: Any, known: Known) -> Any:
    from pycute_xe.symbolic.terms import sp

    if not is_tuple(powers) or len(powers) > MOST_POWER:
        raise _malformed()
    out: list[Any] = []
    for one in powers:
        if not is_tuple(one) or len(one) != 2 or type(one[1]) is not int:
            raise _malformed()
        if not 1 <= one[1] <= MOST_POWER:
            raise _malformed()
        out.append(_base(one[0], known) ** one[1])
    return sp.Mul(*out)


def _base(factor: Any, known: Known) -> Any:
    from pycute_xe.symbolic.terms import FloorDiv

    if isinstance(factor, str):
        if factor not in known:
            raise Unfit(f"the symbol {quoted(factor)} is not listed", "enter it in symbols")
        return known[factor].unit
    if not is_tuple(factor) or len(factor) != 2:
        raise _malformed()
    dividend, divisor = (_summed(terms, known) for terms in factor)
    if not _is_positive(divisor, known):
        reason = f"the divisor {quoted(str(divisor))} is not seen to be 1 or more"
        raise Unfit(reason, "divide by a number, or by products of extents")
    return FloorDiv(dividend, divisor)


def _is_positive(divisor: Any, known: Known) -> bool:
    """Whether a divisor is 1 or more: term by term, or as isl sees where there are few."""
    from pycute_xe.symbolic.integer_sets import always
    from pycute_xe.symbolic.terms import coefficients, factors, sp

    terms = coefficients(divisor)
    bases = [base for term, _ in terms if term != 1 for base, _ in factors(term)]
    extents = all(isinstance(base, sp.Symbol) and known[base.name].least >= 1 for base in bases)
    if extents and all(c > 0 for _, c in terms):
        return bool(terms)
    return len(terms) <= FEW and len(bases) <= FEW and always(">=", divisor - 1, known)


def _malformed() -> Unfit:
    reason = f"the terms are not a list of at most {MOST_TERMS} numbers with factors and powers"
    return Unfit(reason, REWRITE)


# ------------------------------------------------------------ table

MAKERS: dict[str, Maker] = {
    "Layout": Maker(_layout, lambda: {"shape": Shape, "stride": Stride}),
    "Basis": Maker(Basis, lambda: {"value": Any, "modes": tuple[int, ...]}),
    "Index": Maker(_index),
    "Quotient": Maker(_quotient),
    "Looked": Maker(_looked),
    "SymbolicInt": Maker(_symbolic, _symbolic_annotations, _symbolic_parts),
}
"""By the class's name; classes that are not here are read by the rule for dataclasses."""
