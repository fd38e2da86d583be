"""Floor 9: what is assumed of functions: the formula of a function of formulas.

Sums and products are those of real numbers. Of the other functions nothing is assumed but the laws
here: of maxima, of exponentials (`pycute_xe.kernel.spec.functions`), and that a conversion to a
type with a zero keeps it. Minus infinity stands for what is masked: it is nothing in a maximum, and
zero in an exponential.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf, isfinite

import numpy as np

from pycute_xe.converting import convert
from pycute_xe.errors import UndecidableError
from pycute_xe.holding.nodes import BESIDE
from pycute_xe.kernel.spec.functions import EXPONENTIALS
from pycute_xe.numeric import Numeric
from pycute_xe.verifying.formula import (
    WHOLE,
    Atom,
    Bounds,
    Formula,
    Limits,
    Term,
    add,
    alike,
    assuming,
    call,
    multiply,
    number,
    signature,
    summed,
)
from pycute_xe.verifying.matching import KEEP_ZERO

__all__ = ["LIMITS", "UNDEFINED", "applied", "extreme", "is_number", "rounded"]

UNDEFINED = "what was never written"
LIMITS = Limits()
MAXIMA = "max over"


def is_number(formula: Formula) -> bool:
    """Whether a formula is the same number everywhere."""
    return not formula or formula == number(formula[0].scale)


def applied(name: str, arguments: tuple[Formula, ...]) -> Formula:
    """Return a scalar function of formulas."""
    if name == "add":
        return add(*arguments)
    if name in ("mul", "div") and any(_is_infinite(a) for a in arguments):
        raise UndecidableError(
            "verify", {}, "an infinite constant is a factor", "multiply by finite numbers"
        )
    if name == "mul":
        return _product(*arguments)
    if name == "div":
        divisor = arguments[1]
        if divisor and is_number(divisor):  # with a condition it is zero elsewhere
            return multiply(arguments[0], number(1.0 / divisor[0].scale))
        return multiply(arguments[0], call("1/", divisor))
    if name in ("max", "min"):
        return _larger_or_smaller(name, *arguments)
    if name in _MADE_OF:
        return _MADE_OF[name](*arguments)
    if name in EXPONENTIALS:
        return _exponential(name, arguments[0])
    return call(name, *arguments)


def _relu(value: Formula) -> Formula:
    return applied("max", (value, number(0.0)))


def _clamp(value: Formula, low: Formula, high: Formula) -> Formula:
    return applied("min", (applied("max", (value, low)), high))


def _silu(value: Formula) -> Formula:
    return multiply(value, call("sigmoid", value))


_MADE_OF: dict[str, Callable[..., Formula]] = {"relu": _relu, "clamp": _clamp, "silu": _silu}
"""Functions that are made of others."""


def rounded(to: Numeric, formula: Formula) -> Formula:
    """Return a conversion; that of a number is a number, and a second one changes nothing.

    What is zero under a condition stays so.
    """
    if is_number(formula):
        return number(float(convert(np.array([formula[0].scale]), to)[0])) if formula else formula
    name = f"to {to}"
    if len(formula) == 1 and not formula[0].over and name in KEEP_ZERO:
        guards, inner = formula[0].guards, (replace(formula[0], guards=()),)
        return _guarded(guards, inner if _arguments(inner, name) else call(name, inner))
    return formula if _arguments(formula, name) is not None else call(name, formula)


# ---------------------------------------------------------------------- cases of conditions


def _cases(formula: Formula) -> Iterator[tuple[tuple[str, ...], Formula]]:
    """Yield a formula by the conditions that say where it is infinite, and those conditions."""
    endless = next((t for t in formula if _is_infinite((t,)) and t.guards and not t.over), None)
    if endless is None or any(_is_infinite((t,)) and not t.guards for t in formula):
        yield (), formula
        return
    condition = endless.guards[0].replace(" >= ", " < ")
    if " < " not in condition:
        yield (), formula
        return
    for holds, guard in ((True, condition), (False, condition.replace(" < ", " >= "))):
        for guards, inner in _cases(assuming(formula, condition, holds)):
            yield (guard, *guards), inner


def _is_infinite(formula: Formula) -> bool:
    return any(not isfinite(term.scale) for term in formula)


def _is_lowest(formula: Formula) -> bool:
    """Whether a formula is minus infinity: one term is, and the others are finite."""
    ends = [term for term in formula if _is_infinite((term,))]
    rest = tuple(term for term in formula if isfinite(term.scale))
    return bool(ends) and all(t == Term(-inf) for t in ends) and _is_finite(rest)


def _is_finite(formula: Formula) -> bool:
    """Whether a formula is finite, where the elements of operands and what is computed are."""
    return all(isfinite(t.scale) and all(map(_is_finite_atom, t.atoms)) for t in formula)


def _is_finite_atom(atom: Atom) -> bool:
    if atom.name in (UNDEFINED, BESIDE, "below", "min over"):
        return False
    if atom.name != MAXIMA:
        return all(map(_is_finite, atom.arguments))
    # One number that is always among them is enough: the others are minus infinity at worst.
    families = atom.arguments[0]
    sure = any(not t.over and not t.guards and _is_finite((t,)) for t in families)
    return sure and all(_is_finite((t,)) for t in families)


def _guarded(guards: tuple[str, ...], formula: Formula) -> Formula:
    both = ((t, tuple(dict.fromkeys((*t.guards, *guards)))) for t in formula)
    return tuple(replace(t, guards=g) for t, g in both)


# ---------------------------------------------------------------------- exponentials


def _exponential(name: str, argument: Formula) -> Formula:
    """Return an exponential: of a sum that is minus infinity under a condition it is zero there."""
    out: list[Formula] = []
    for guards, inner in _cases(argument):
        if not _is_lowest(inner):
            out.append(_guarded(guards, call(name, inner) if inner else number(1.0)))
    return add(*out)


def _product(left: Formula, right: Formula) -> Formula:
    """Return a product, exponentials of one kind in a term put together."""
    out = LIMITS.check(multiply(left, right))
    return add(tuple(map(_together, out)))


def _together(term: Term) -> Term:
    atoms = list(term.atoms)
    for name in EXPONENTIALS:
        mine = [a for a in atoms if a.name == name and _is_finite(a.arguments[0])]
        if len(mine) < 2:
            continue
        whole = add(*(a.arguments[0] for a in mine))
        atoms = [a for a in atoms if a not in mine]
        atoms += [Atom(name, (whole,))] if whole else []
    return replace(term, atoms=tuple(atoms))


# ---------------------------------------------------------------------- maxima and minima


def extreme(how: str, over: tuple[Bounds, ...], formula: Formula) -> Formula:
    """Return the maximum or the minimum of a formula over variables.

    What is not one product of elements stays together, as one function of the variables: terms of
    a sum, conditions, sums inside and zeros are values there, and must not be taken apart.
    A maximum of maxima is one over all variables.
    """
    if how == "max":
        return _of_families(summed_apart(over, _families(formula)))
    name = f"{how} over"
    inner = _arguments(formula, name)
    return call(name, summed(over, inner[0] if inner else _whole(formula)))


def summed_apart(over: tuple[Bounds, ...], families: Formula) -> Formula:
    """Return families of elements of a maximum over more variables."""
    return tuple(t for family in families for t in summed(over, (family,)))


def _families(formula: Formula) -> Formula:
    """Return what a formula is as elements of a maximum: what is minus infinity is none."""
    out: list[Term] = []
    for guards, inner in _cases(formula):
        if _is_lowest(inner):
            continue
        found = _arguments(inner, MAXIMA)
        out += _guarded(guards, found[0] if found else _whole(inner))
    return tuple(out)


def _of_families(families: Formula) -> Formula:
    """Return the maximum of families of elements; one element alone is itself."""
    different = alike(families)
    if not different:
        return number(-inf)
    if len(different) == 1 and not different[0].over and not different[0].guards:
        inner = _arguments(different, WHOLE)
        return inner[0] if inner else different
    return call(MAXIMA, different)


def _whole(formula: Formula) -> Formula:
    simple = len(formula) == 1 and not formula[0].over and not formula[0].guards
    return formula if simple else call(WHOLE, formula)


def _larger_or_smaller(name: str, left: Formula, right: Formula) -> Formula:
    """Return the maximum or minimum of two, in either order; of one of them again it is that."""
    if left == right or right in (_arguments(left, name) or ()):
        return left
    if left in (_arguments(right, name) or ()):
        return right
    over = any(_arguments(f, MAXIMA) or _is_infinite(f) for f in (left, right))
    if name == "max" and over:
        return _of_families((*_families(left), *_families(right)))
    return call(name, *sorted((left, right), key=signature))


def _arguments(formula: Formula, name: str) -> tuple[Formula, ...] | None:
    """Return the arguments of a function that a formula is; None where it is anything else."""
    if len(formula) != 1 or len(formula[0].atoms) != 1:
        return None
    (atom,) = formula[0].atoms
    return atom.arguments if formula == call(name, *atom.arguments) else None
