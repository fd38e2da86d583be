"""Floor 4: symbolic integers as text: Python expressions of the symbols that evaluate exactly."""

from __future__ import annotations

from math import lcm

from pycute_xe.symbolic.assumed import Known
from pycute_xe.symbolic.terms import Expr, FloorDiv, coefficients, divided, factors, sp

__all__ = ["text_of"]


def text_of(value: Expr, known: Known) -> str:
    """Return a value as Python writes it, ``//`` and ``%`` included.

    Law: evaluating the text with integers for the symbols gives the value.
    """
    text = _sum(value, known)
    return text[1:-1] if _is_bracketed(text) else text


def _sum(value: Expr, known: Known) -> str:
    value, remainders = _with_remainders(_rounded(value), known)
    terms = value.as_ordered_terms()
    out = ""
    for term in terms:
        c, rest = term.as_coeff_Mul()
        body = _term(abs(c), rest, known, remainders)
        if isinstance(rest, FloorDiv) and abs(c) == 1 and (out or c > 0):
            body = body[1:-1]  # ``//`` binds tighter than the sum around it
        sign = "-" if c < 0 else "+"
        out = f"{out} {sign} {body}" if out else (f"-{body}" if c < 0 else body)
    return out


def _rounded(value: Expr) -> Expr:
    """Move a constant into the quotient beside it: ``(a//b + 1)*c`` is ``((a + b)//b)*c``."""
    constant, rest = value.as_coeff_Add()
    c, quotient = rest.as_coeff_Mul()
    if not isinstance(quotient, FloorDiv) or constant % c != 0 or constant * c < 0:
        return value
    dividend, divisor = quotient.args
    return c * FloorDiv(sp.expand(dividend + constant / c * divisor), divisor)


_Remainders = dict[Expr, tuple[Expr, Expr]]


def _with_remainders(value: Expr, known: Known) -> tuple[Expr, _Remainders]:
    """Write ``a - b*(a//b)`` as one term wherever that makes the sum shorter."""
    remainders: _Remainders = {}
    for quotient in sorted(value.atoms(FloorDiv), key=sp.default_sort_key):
        for scale in (_scale(quotient.args, known), 1):
            dividend, divisor = (scale * part for part in quotient.args)
            factor, _ = divided(sp.expand(value).coeff(quotient), -divisor)
            name = sp.Dummy(f"r{len(remainders)}", integer=True)
            remainder = dividend - divisor * quotient
            shorter = sp.expand(value - factor * remainder + factor * name)
            if len(sp.Add.make_args(shorter)) < len(sp.Add.make_args(value)):
                value, remainders[name] = shorter, (dividend, divisor)
                break
    return value, remainders


def _scale(parts: tuple[Expr, ...], known: Known) -> int:
    """Return what makes the coefficients of the symbols themselves integers."""
    ratios = (
        c / sp.prod(known[base.name].multiple_of ** power for base, power in factors(term))
        for part in parts
        for term, c in coefficients(part)
        if term != 1 and all(isinstance(base, sp.Symbol) for base, _ in factors(term))
    )
    return lcm(*(int(ratio.q) for ratio in ratios))


def _term(c: Expr, rest: Expr, known: Known, remainders: _Remainders) -> str:
    """Return one product; a symbol stands for its multiple, so the coefficient may be a ratio."""
    parts: list[str] = []
    # Names first, then what stands in brackets.
    for base, power in sorted(
        factors(rest), key=lambda f: not f[0].is_Symbol or f[0] in remainders
    ):
        if isinstance(base, sp.Symbol) and base not in remainders:
            c = c / known[base.name].multiple_of ** power
        if base != 1:
            text = _factor(base, known, remainders)
            parts.append(text if power == 1 else f"{text}**{power}")
    if c.p != 1 or not parts:
        parts.insert(0, str(c.p))
    product = "*".join(parts)
    return product if c.q == 1 else f"{product}//{c.q}"


def _factor(base: Expr, known: Known, remainders: _Remainders) -> str:
    if base in remainders:
        return f"({_ratio(*remainders[base], ' % ', known)})"
    if isinstance(base, FloorDiv):
        scale = _scale(base.args, known)
        return f"({_ratio(scale * base.args[0], scale * base.args[1], '//', known)})"
    return str(base)


def _ratio(dividend: Expr, divisor: Expr, sign: str, known: Known) -> str:
    above, below = (_bracketed(text_of(sp.expand(part), known)) for part in (dividend, divisor))
    return f"{above}{sign}{below}"


def _bracketed(text: str) -> str:
    """Put brackets around everything but a name or a number."""
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def _is_bracketed(text: str) -> bool:
    """Whether the first bracket of a text is closed by its last character."""
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return i > 0 and i == len(text) - 1
    return False
