"""What is assumed of functions: the formula of a function of formulas.

Sums and products are those of real numbers. Of the other functions nothing is assumed but the laws
here: of maxima, of exponentials (`pycute_xe.kernel.spec.functions`), and that a conversion to a
type with a zero keeps it. Minus infinity stands for what is masked: it is nothing in a maximum, and
zero in an exponential.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from math import inf, isfinite
from typing import assert_never

import numpy as np

from pycute_xe.converting import bounds, convert, greatest
from pycute_xe.holding.adding import LOWEST_BITS
from pycute_xe.holding.nodes import BESIDE
from pycute_xe.kernel.spec.functions import EXPONENTIALS, FUNCTIONS, MASKING, Reduction
from pycute_xe.numeric import Numeric, as_numeric, is_exact, whole_to
from pycute_xe.verifying.formula import (
    MAXIMA,
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
    kept_type,
    may_be_nan,
    multiply,
    number,
    signature,
    span,
    summed,
)
from pycute_xe.verifying.guards import Guard
from pycute_xe.verifying.matching import KEEP_ZERO
from pycute_xe.verifying.modular import without_lowest_bits
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.scalar_laws import one_over, simplified, squares_joined

__all__ = [
    "LIMITS",
    "UNDEFINED",
    "applied",
    "as_computed",
    "as_stored",
    "is_number",
    "lowest_bits",
    "reduced",
    "rounded",
]

UNDEFINED = "what was never written"
WIDEST = as_numeric("s64")
"""What integers are computed in."""
LIMITS = Limits()
TURNED = {"max": 1.0, "min": -1.0}
"""The smaller of two is the negative of the larger of their negatives."""


def is_number(formula: Formula) -> bool:
    """Whether a formula is the same number everywhere."""
    return not formula or formula == number(formula[0].scale)


def applied(name: str, arguments: tuple[Formula, ...]) -> Formula:
    """Return a scalar function of formulas."""
    if name == "add":
        return add(*arguments)
    if name in ("mul", "div") and any(_is_infinite(a) for a in arguments):
        raise undecided("an infinite constant is a factor", "multiply by finite numbers")
    if name == "mul":
        return _product(*arguments)
    if name == "div":
        divisor = arguments[1]
        if divisor and is_number(divisor):  # with a condition it is zero elsewhere
            return multiply(arguments[0], number(1.0 / divisor[0].scale))
        return _product(arguments[0], one_over(divisor, _applied))
    if name in ("max", "min"):
        return _larger_or_smaller(name, *arguments)
    if name in FUNCTIONS and FUNCTIONS[name].of is not None:
        return FUNCTIONS[name].unfolded(_applied, *arguments)
    if name in EXPONENTIALS:
        return _exponential(name, arguments[0])
    return _opaque(name, arguments)


def _opaque(name: str, arguments: tuple[Formula, ...]) -> Formula:
    """Return a function of which little is known: it is left out where it changes nothing."""
    if name.startswith(LOWEST_BITS):
        return lowest_bits(as_numeric(name.removeprefix(LOWEST_BITS)), arguments[0])
    if name == "abs" and span(arguments[0]).low >= 0:
        return arguments[0]
    normal = simplified(name, arguments[0], _applied) if len(arguments) == 1 else None
    return call(name, *arguments) if normal is None else normal


def _applied(name: str, *arguments: Formula | float) -> Formula:
    """Return a function of formulas and numbers, as one that is made of others names it."""
    return applied(
        name, tuple(number(float(a)) if isinstance(a, (int, float)) else a for a in arguments)
    )


def rounded(to: Numeric, formula: Formula) -> Formula:
    """Return a conversion; that of a number is a number, and a second one changes nothing.

    What is zero under a condition stays so.
    """
    if is_number(formula):
        return number(float(convert(np.array([formula[0].scale]), to)[0])) if formula else formula
    name = f"to {to}"
    if len(formula) == 1 and not formula[0].over and name in KEEP_ZERO and formula[0].guards:
        guards, inner = formula[0].guards, (replace(formula[0], guards=()),)
        return _guarded(guards, rounded(to, inner))
    if _holds(to, formula) and _through(to, formula) == formula:
        return formula
    size = _size_of(formula)
    if size is not None and name in KEEP_ZERO and to.kind == "float":  # it is rounded either way
        return applied("abs", (rounded(to, size),))
    clipped = _clipped(to, formula)
    interval = span(clipped)
    ends = (rounded(to, number(end)) for end in (interval.low, interval.high))
    if is_number(clipped) or (isfinite(interval.high - interval.low) and next(ends) == next(ends)):
        return rounded(to, number(interval.low))
    if _holds(to, clipped):
        return clipped
    if interval.whole and to.kind != "float" and to.bits <= 32:  # nothing but the ends changes
        low, high = bounds(to)
        return _applied("clamp", clipped, low, high)
    return call(name, clipped)


def as_stored(to: Numeric, formula: Formula) -> Formula:
    """Return a formula whose values become, converted to a type, what those of another become.

    An operand of the type holds no more than that of what is claimed. Roundings to types in which
    nothing is computed are said, but for those of numbers.
    """
    if to.kind == "float" and to.bits < 32:
        return rounded(to, formula) if is_number(formula) else formula
    out: list[Formula] = []
    for guards, inner in _alternatives(formula):
        converted = rounded(to, inner)
        inside = _arguments(converted, f"to {to}")
        out.append(_guarded(guards, inside[0] if inside else converted))
    return add(*out)


def _alternatives(formula: Formula) -> list[tuple[tuple[Guard, ...], Formula]]:
    """Return formulas of which one at most is not zero, and their conditions."""
    parts: dict[tuple[Guard, ...], list[Term]] = {}
    for term in formula:
        bound = {b.name for b in term.over}
        if any(bound & guard.names for guard in term.guards):
            return [((), formula)]
        parts.setdefault(term.guards, []).append(replace(term, guards=()))
    for one, other in combinations(parts, 2):
        if not any(guard.contrary in other for guard in one):
            return [((), formula)]
    return [(guards, tuple(terms)) for guards, terms in parts.items()]


def _holds(to: Numeric, formula: Formula) -> bool:
    """Whether every value of a formula is a number of a type."""
    kept = kept_type(formula)
    if kept is not None and is_exact(kept, to):
        return True
    interval = span(formula)
    if not interval.whole:
        return False
    if to.kind == "float":
        return max(abs(interval.low), abs(interval.high)) <= whole_to(to)
    low, high = bounds(to)
    return low <= interval.low and interval.high <= high


def _clipped(to: Numeric, formula: Formula) -> Formula:
    """Return a simpler formula whose values a conversion takes to the same numbers.

    Conversions do not fall: they may be taken inside of maxima and minima.
    """
    for sign in (1.0, -1.0):
        families = _arguments(multiply(number(sign), formula), MAXIMA)
        if families is not None:
            clipped = tuple(_clipped_family(to, term, sign) for term in families[0])
            return multiply(number(sign), call(MAXIMA, alike(clipped)))
    for name, end in (("max", 0), ("min", 1)):
        pair = _arguments(formula, name)
        number_ = next((f for f in pair or () if is_number(f)), None)
        if pair is None or number_ is None or any(may_be_nan(to, span(f)) for f in pair):
            continue
        inner = _clipped(to, pair[0] if pair[1] == number_ else pair[1])
        limit = rounded(to, number_)
        if to.kind != "float" and limit == number(bounds(to)[end]):
            return inner
        if not all(isfinite(term.scale) for term in limit):  # what lies beyond is infinite
            beyond = TURNED[name] * number_[0].scale < 0
            return inner if beyond else formula
        return _larger_or_smaller(name, inner, limit)
    return _through(to, formula)


def _through(to: Numeric, formula: Formula) -> Formula:
    """Return what a conversion takes to the same numbers without one that was made before."""
    kept = kept_type(formula)
    arguments = _arguments(formula, f"to {kept}")
    if kept is None or arguments is None:
        return formula
    (inner,) = arguments
    if _reaches(to, kept, inner):
        return _clipped(to, inner)
    if may_be_nan(kept, span(inner)):
        return formula
    for name, end in (("max", 0), ("min", 1)):
        pair = _arguments(inner, name) or ()
        for limit, other in (pair, pair[::-1]) if pair else ():
            kept_limit = is_number(limit) and to.kind != "float"
            kept_limit = kept_limit and not may_be_nan(kept, span(other))
            if kept_limit and rounded(to, rounded(kept, limit)) == number(bounds(to)[end]):
                return _clipped(to, rounded(kept, other))
    return formula


def _reaches(to: Numeric, kept: Numeric, inner: Formula) -> bool:
    """Whether a conversion by way of another type gives what it gives at once.

    All that the type changes lies beyond the ends of the last one, or below a half of integers.
    """
    if kept.kind != "float":
        if to.kind == "float":
            return False
        (least, most), (low, high) = bounds(kept), bounds(to)
        return least <= low and high <= most
    most = greatest(to) if to.kind == "float" else float(max(-bounds(to)[0], bounds(to)[1]))
    if may_be_nan(kept, span(inner)):
        return False
    first = kept_type(inner)
    integers = first is not None and first.kind != "float"
    if integers and kept.name == "f64" and to.kind == "float":
        return True  # that is the way integers of 64 bits become floats
    if span(inner).whole:
        same = to.kind == "float" and whole_to(to) == whole_to(kept) and greatest(kept) >= most
        return same or most <= whole_to(kept)
    fewer = first is not None and first.kind == "float" and whole_to(first) <= whole_to(kept)
    reaches = most <= greatest(kept) or span(inner).high <= greatest(kept)
    return fewer and to.kind != "float" and kept.bits >= 8 and reaches


def _clipped_family(to: Numeric, term: Term, sign: float) -> Term:
    """Return a number among the elements of a maximum as a type holds it; others as they are.

    Where ``sign`` is -1 the elements are the negatives of numbers of the type.
    """
    if term.places or term.atoms:
        return term
    value = rounded(to, number(sign * term.scale))
    kept = value and isfinite(value[0].scale)
    return replace(term, scale=sign * value[0].scale) if kept else term


def lowest_bits(to: Numeric, formula: Formula) -> Formula:
    """Return the integers of a type that have the lowest bits of others: what a register keeps.

    Sums and products of lowest bits have those of the sums and products.
    """
    if _holds(to, formula):
        return formula
    if all(term.scale.is_integer() for term in formula):
        formula = without_lowest_bits(to, formula)
        if _holds(to, formula):
            return formula
    return call(f"{LOWEST_BITS}{to}", formula)


def as_computed(name: str, arguments: tuple[Formula, ...], wraps: bool) -> tuple[Formula, ...]:
    """Return integer arguments of a function as 64 bits hold them, where integers wrap.

    Sums and products may take them before: their lowest bits are the same.
    """
    if not wraps or name in ("add", "mul") or name.startswith(LOWEST_BITS):
        return arguments
    return tuple(lowest_bits(WIDEST, a) if span(a).whole else a for a in arguments)


# ---------------------------------------------------------------------- cases of conditions


def _cases(formula: Formula) -> Iterator[tuple[tuple[Guard, ...], Formula]]:
    """Yield a formula by the conditions that say where it is infinite, and those conditions."""
    endless = next((t for t in formula if _is_infinite((t,)) and t.guards and not t.over), None)
    if endless is None or any(_is_infinite((t,)) and not t.guards for t in formula):
        yield (), formula
        return
    condition = endless.guards[0].less
    if condition is None:
        yield (), formula
        return
    for holds, guard in ((True, condition), (False, condition.contrary)):
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
    if atom.name in (UNDEFINED, BESIDE, *MASKING):
        return False
    if atom.name != MAXIMA:
        return all(map(_is_finite, atom.arguments))
    # One number that is always among them is enough: the others are minus infinity at worst.
    families = atom.arguments[0]
    sure = any(not t.over and not t.guards and _is_finite((t,)) for t in families)
    return sure and all(_is_finite((t,)) for t in families)


def _guarded(guards: tuple[Guard, ...], formula: Formula) -> Formula:
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
    return add(*(squares_joined(_together(term), _applied) for term in out))


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


def reduced(row: Reduction, over: tuple[Bounds, ...], formula: Formula) -> Formula:
    """Return the sum, the maximum or the minimum of a formula over variables.

    Of a maximum, what is not one product of elements stays together, as one function of the
    variables: terms of a sum, conditions, sums inside and zeros are values there, and must not be
    taken apart. A maximum of maxima is one over all variables. A minimum is the negative of the
    maximum of negatives.
    """
    match row.law:
        case "sum":
            return summed(over, formula)
        case "greatest":
            return _of_families(summed_apart(over, _families(formula)))
        case "least":
            return _negated(_of_families(summed_apart(over, _families(_negated(formula)))))
        case _:
            assert_never(row.law)


def _negated(formula: Formula) -> Formula:
    return multiply(number(-1.0), formula)


def summed_apart(over: tuple[Bounds, ...], families: Formula) -> Formula:
    """Return families of elements of a maximum over more variables."""
    return tuple(t for family in families for t in summed(over, (family,)))


def _families(formula: Formula) -> Formula:
    """Return what a formula is as elements of a maximum: what is minus infinity is none."""
    out: list[Term] = []
    for guards, inner in _cases(formula):
        if _is_lowest(inner):
            continue
        arguments, pair = _arguments(inner, MAXIMA), _arguments(inner, "max")
        least = _arguments(_negated(inner), "min")
        pair = tuple(map(_negated, least)) if least is not None else pair
        if pair is not None:
            out += _guarded(guards, tuple(t for f in pair for t in _families(f)))
        else:
            out += _guarded(guards, arguments[0] if arguments else _whole(inner))
    return tuple(out)


def _of_families(families: Formula) -> Formula:
    """Return the maximum of families of elements; one element alone is itself."""
    different = alike(_sizes(families))
    if not different:
        return number(-inf)
    if len(different) == 1 and not different[0].over and not different[0].guards:
        inner = _arguments(different, WHOLE)
        return inner[0] if inner else different
    return call(MAXIMA, tuple(sorted(different, key=repr)))  # maxima of the same are alike


def _sizes(families: Formula) -> Formula:
    """Return families in which elements and their negatives are one family of their sizes."""
    out = alike(families)
    for term in out:
        negative = replace(term, scale=-term.scale)
        if term.scale > 0 and negative in out and (term.places or term.atoms):
            (size,) = applied("abs", ((replace(term, over=(), guards=()),),))
            size = replace(size, over=term.over, guards=term.guards)
            out = tuple(size if t == term else t for t in out if t != negative)
    return out


def _whole(formula: Formula) -> Formula:
    simple = len(formula) == 1 and not formula[0].over and not formula[0].guards
    return formula if simple else call(WHOLE, formula)


def _larger_or_smaller(name: str, left: Formula, right: Formula) -> Formula:
    """Return the maximum or minimum of two, in either order; of one of them again it is that."""
    if left == right or right in (_arguments(left, name) or ()):
        return left
    if left in (_arguments(right, name) or ()):
        return right
    if left == multiply(number(-1.0), right) and not _is_infinite(left):
        return multiply(number(TURNED[name]), applied("abs", (left,)))
    larger = _first_if_larger(left, right)
    if larger is not None:
        return left if (larger is left) == (TURNED[name] > 0) else right
    for inner, limit in ((left, right), (right, left)):
        if is_number(limit) and (ordered := _in_order(name, inner, limit)) is not None:
            return ordered
    sign = number(TURNED[name])
    turned = multiply(sign, left), multiply(sign, right)
    if any(_arguments(f, MAXIMA) or _is_infinite(f) for f in turned):
        return multiply(sign, _of_families(tuple(t for f in turned for t in _families(f))))
    return call(name, *sorted((left, right), key=signature))


def _in_order(name: str, inner: Formula, limit: Formula) -> Formula | None:
    """Return the maximum or the minimum of what has limits already, the upper one outermost."""
    for other in ("max", "min"):
        pair = _arguments(inner, other)
        first = next((f for f in pair or () if is_number(f)), None)
        if pair is None or first is None or _is_infinite(first) or _is_infinite(limit):
            continue
        rest = pair[0] if pair[1] == first else pair[1]
        if name == other:
            return _larger_or_smaller(name, rest, _larger_or_smaller(name, first, limit))
        larger = _first_if_larger(first, limit)
        if (name == "max") == (larger is limit):
            return limit
        if name == "max":
            return _larger_or_smaller("min", _larger_or_smaller("max", rest, limit), first)
    return None


def _first_if_larger(left: Formula, right: Formula) -> Formula | None:
    """Return the one of two formulas that is never below the other, if that is known."""
    if any(map(_is_infinite, (left, right))):
        return None
    one, other = span(left), span(right)
    if one.low >= other.high:
        return left
    return right if other.low >= one.high else None


def _size_of(formula: Formula) -> Formula | None:
    """Return a formula whose size another is, with a factor that is one; None where it is not."""
    if len(formula) != 1 or formula[0].over or formula[0].guards or formula[0].scale < 0:
        return None
    (term,) = formula
    sizes = [a for a in term.atoms if a.name == "abs"]
    rest = replace(term, atoms=tuple(a for a in term.atoms if a.name != "abs"))
    if not sizes or span((rest,)).low < 0 or any(len(a.arguments[0]) != 1 for a in sizes[1:]):
        return None
    out: Formula = (rest,)
    for atom in sizes:
        out = multiply(out, atom.arguments[0])
    return out


def _arguments(formula: Formula, name: str) -> tuple[Formula, ...] | None:
    """Return the arguments of a function that a formula is; None where it is anything else."""
    if len(formula) != 1 or len(formula[0].atoms) != 1 or formula[0].atoms[0].name != name:
        return None
    (term,) = formula
    return term.atoms[0].arguments if term == Term(1.0, (), term.atoms) else None
