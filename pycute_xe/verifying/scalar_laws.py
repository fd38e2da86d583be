"""Normal forms of functions of one argument, by the laws that their rows state.

A law holds for real numbers. It is used in one direction, so that two formulas which are equal by
it become the same formula: ``sqrt(x·x)`` becomes ``abs(x)``, ``1/sqrt(x)`` becomes ``rsqrt(x)``.
Numbers are taken out of a function only where that rounds nothing: signs and powers of two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from math import frexp, isfinite, sqrt
from typing import TypeAlias

from pycute_xe.kernel.spec import functions
from pycute_xe.kernel.spec.functions import FUNCTIONS, Function
from pycute_xe.verifying.formula import (
    Atom,
    Formula,
    Place,
    Term,
    add,
    call,
    multiply,
    number,
    span,
)

__all__ = ["Apply", "one_over", "simplified", "squares_joined"]

Apply: TypeAlias = Callable[..., Formula]
"""What makes a formula of a function's name and of formulas or numbers."""
Factor: TypeAlias = Place | Atom

ONE = number(1.0)


def simplified(name: str, argument: Formula, apply: Apply) -> Formula | None:
    """Return the normal form of a function of a formula; None where no law changes it."""
    row = FUNCTIONS.get(name)
    if row is None or not all(isfinite(term.scale) for term in argument):
        return None
    if row.multiplies or row.of_square is not None:
        factored = _of_product(row, argument, apply)
        if factored is not None:
            return factored
    if row.mirrored is not None and _prefers_negative(argument):
        value = call(name, multiply(number(-1.0), argument))
        return _applied(functions.evaluated(row.mirrored, apply, value))
    return None


def one_over(divisor: Formula, apply: Apply) -> Formula:
    """Return one divided by a formula that is not a number.

    Of a product it is the product of its factors' inverses.
    """
    if not _is_bare(divisor) or not _is_power_of_two(abs(divisor[0].scale)):
        return _inverse_of_sum(divisor, apply) or call("1/", divisor)
    (term,) = divisor
    out = number(1.0 / term.scale)
    for factor in (*term.places, *term.atoms):
        out = multiply(out, _inverse(factor, apply))
    return out


def squares_joined(term: Term, apply: Apply) -> Formula:
    """Return a term in which products of a function with itself are what its row says of them."""
    atoms = list(term.atoms)
    squares = ONE
    for atom in dict.fromkeys(atoms):
        row = FUNCTIONS.get(atom.name)
        law = None if row is None else row.squared
        if law is None or not _is_bare(atom.arguments[0]):
            continue
        for _ in range(atoms.count(atom) // 2):
            atoms.remove(atom)
            atoms.remove(atom)
            square = functions.evaluated(law, apply, atom.arguments[0])
            squares = multiply(squares, _applied(square))
    if len(atoms) == len(term.atoms):
        return (term,)
    (square,) = squares
    return (
        replace(
            term,
            scale=term.scale * square.scale,
            places=(*term.places, *square.places),
            atoms=(*atoms, *square.atoms),
        ),
    )


def _applied(value: Formula | float) -> Formula:
    return number(float(value)) if isinstance(value, (int, float)) else value


# ---------------------------------------------------------------------- products


def _of_product(row: Function, argument: Formula, apply: Apply) -> Formula | None:
    """Return a function of one product by those of its factors, or of its squares."""
    if len(argument) != 1 or argument[0].over:
        return None
    (term,) = argument
    if term.guards:
        if not row.zero:
            return None
        inner = _of_product(row, (replace(term, guards=()),), apply)
        return inner and tuple(replace(t, guards=(*t.guards, *term.guards)) for t in inner)
    outside, rest = ONE, term
    if row.of_square is not None:
        squared, rest = _square_in(term)
        if squared != ONE:
            outside = _applied(functions.evaluated(row.of_square, apply, squared))
    if row.multiplies:
        product = _of_factors(row, outside, rest)
        return None if product == call(row.name, argument) else product
    if outside == ONE:
        return None
    if rest == Term(1.0):
        return outside
    return multiply(outside, apply(row.name, (rest,)))


def _of_factors(row: Function, outside: Formula, term: Term) -> Formula:
    """Return a function of each factor of a term, multiplied, and a number by which to scale it."""
    parts = [_of_factor(row, factor) for factor in (*term.places, *term.atoms)]
    scale = number(abs(term.scale))
    if parts and not _is_power_of_two(abs(term.scale)):
        if outside == ONE and len(parts) == 1:
            return call(row.name, (replace(term, scale=abs(term.scale)),))
        scale = call(row.name, scale)
    out = multiply(outside, scale)
    for part in parts:
        out = multiply(out, part)
    return out


def _of_factor(row: Function, factor: Factor) -> Formula:
    """Return a function of one factor, which is left out of numbers that are not negative."""
    formula = _formula(factor)
    return formula if span(formula).low >= 0 else call(row.name, formula)


def _square_in(term: Term) -> tuple[Formula, Term]:
    """Return the largest formula whose square is a factor of a term, and what remains."""
    factors = (*term.places, *term.atoms)
    halves = {factor: factors.count(factor) // 2 for factor in dict.fromkeys(factors)}
    root = sqrt(term.scale) if term.scale > 0 else 0.0
    taken = root if root and _is_power_of_two(root) and root * root == term.scale else 1.0
    square = number(taken)
    rest = list(factors)
    for factor, times in halves.items():
        for _ in range(times):
            square = multiply(square, _formula(factor))
            rest.remove(factor)
            rest.remove(factor)
    places = tuple(f for f in rest if isinstance(f, Place))
    atoms = tuple(f for f in rest if isinstance(f, Atom))
    return square, Term(term.scale / (taken * taken), places, atoms)


def _formula(factor: Factor) -> Formula:
    if isinstance(factor, Place):
        return (Term(1.0, (factor,)),)
    return (Term(1.0, (), (factor,)),)


def _is_bare(formula: Formula) -> bool:
    """Whether a formula is one product, without sums and conditions."""
    return len(formula) == 1 and not formula[0].over and not formula[0].guards


def _is_power_of_two(value: float) -> bool:
    return isfinite(value) and value > 0 and frexp(value)[0] == 0.5


# ---------------------------------------------------------------------- signs


def _prefers_negative(formula: Formula) -> bool:
    """Whether a function is written of the negative of a formula, by what its terms are made of.

    Both sides of a comparison decide alike: indices do not count. Undecided where the negative has
    the same terms.
    """
    turned = multiply(number(-1.0), formula)
    sides = ({term.signature for term in f} for f in (formula, turned))
    plain, negative = ((sum(text.startswith("-") for text in s), sorted(s)) for s in sides)
    return negative < plain


# ---------------------------------------------------------------------- inverses


def _inverse(factor: Factor, apply: Apply) -> Formula:
    """Return one over a factor."""
    formula = _formula(factor)
    if isinstance(factor, Place):
        return call("1/", formula)
    if factor.name == "1/":
        return factor.arguments[0]
    row = FUNCTIONS.get(factor.name)
    if row is None or row.inverse is None:
        return call("1/", formula)
    return functions.evaluated(row.inverse, apply, factor.arguments[0])


@cache
def _sums() -> tuple[tuple[Function, str, float], ...]:
    """The functions that are one over a sum, and which function of x times a number is in it."""
    out: list[tuple[Function, str, float]] = []
    for row in FUNCTIONS.values():
        match row.inverse:
            case ("add", float() | int(), (str(inner), ("mul", float() | int() as times, "x"))):
                out.append((row, inner, float(times)))
            case _:  # closed: one over a single function is `_inverse`'s
                pass
    return tuple(out)


def _inverse_of_sum(divisor: Formula, apply: Apply) -> Formula | None:
    """Return the function that is one over a sum by its row, of the argument that makes it so."""
    atoms = [a for term in divisor if _is_bare((term,)) for a in term.atoms]
    for row, inner, times in _sums():
        for atom in atoms:
            if atom.name != inner or row.inverse is None:
                continue
            argument = multiply(number(1.0 / times), atom.arguments[0])
            again = add(functions.evaluated(row.inverse, apply, argument))
            if {*again} == {*divisor}:
                return apply(row.name, argument)
    return None
