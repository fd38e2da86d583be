"""What a formula of ownership claims, and the words for what a value is."""

from __future__ import annotations

from typing import Any, assert_never, cast

from pycute_xe.atom.copy_answers import ValueOrder
from pycute_xe.atom.register_picture import SUBGROUP, is_index
from pycute_xe.errors import InputError, KernelError
from pycute_xe.kernel import Counterexample, Index
from pycute_xe.kernel.spec.equations import read_index
from pycute_xe.signatures import shortly
from pycute_xe.verifying.verdict import Proof

__all__ = [
    "T",
    "V",
    "claim_words",
    "example_at",
    "failed",
    "index_of",
    "value_statement",
    "value_words",
]

T, V = "t", "v"


def index_of(name: str, given: object) -> Index:
    """Return a coordinate as an index of t and v; refuse what is not an integer."""
    try:
        if isinstance(given, str):
            return read_index(given, (T, V), "verify")
        if isinstance(given, Index) or is_index(given) or hasattr(given, "free_symbols"):
            value = _of_sympy(given) if hasattr(given, "free_symbols") else given
            index = value if isinstance(value, Index) else Index(None, int(cast("int", value)))
            if index.names <= {T, V}:
                return index
            wrong = f"{sorted(index.names - {T, V})[0]} is neither {T} nor {V}"
        else:
            wrong = f"{name} is {type(given).__name__}"
    except KernelError as error:
        wrong = error.condition
    fix = f'write {name}="t % 8 + 8*(v // 2)": t is the work-item, v the value'
    raise InputError("verify", {name: shortly(given)}, wrong, fix)


def _of_sympy(given: Any) -> Index:
    """Return a sympy expression of integers as an index; refuse what is a fraction somewhere."""
    from pycute_xe.symbolic.terms import sp

    expr: Any = sp.expand(given.doit())
    if expr.is_Integer:
        return Index(None, int(expr))
    if expr.is_Symbol:
        return Index(str(expr))
    if expr.is_Add:
        return sum((_of_sympy(part) for part in expr.args), Index())
    if expr.is_Mul and expr.args[0].is_Integer:
        return _of_sympy(sp.Mul(*expr.args[1:])) * int(expr.args[0])
    if isinstance(expr, (sp.floor, sp.ceiling)):
        above, below = sp.fraction(sp.together(expr.args[0]))
        if below.is_Integer:
            up = int(below) - 1 if isinstance(expr, sp.ceiling) else 0
            return (_of_sympy(above) + up) // int(below)
    if isinstance(expr, sp.Mod) and expr.args[1].is_Integer and int(expr.args[1]) > 0:
        return _of_sympy(expr.args[0]) % int(expr.args[1])
    raise KernelError("verify", {"expr": expr}, f"{expr} is not an integer of t and v", "use floor")


def value_words(t: int, v: int) -> str:
    """Return what a value of a work-item is called."""
    return f"value {v} of work-item {t}"


def value_statement(order: ValueOrder) -> str:
    """Return what is proved of the values of a work-item, counted in an order."""
    statement = "value v of work-item t is the v-th that it owns"
    match order:
        case "registers":
            return statement
        case "layout":
            return f"{statement} in the order of its layout"
        case _:
            assert_never(order)


def claim_words(copy: object, row: object, column: object, order: ValueOrder) -> str:
    """Return the name of a claim of ownership, with its formula and the order of its values.

    >>> claim_words("a copy", "v", "t", "layout")
    'a copy, row v, column t, values in the order of its layout'
    """
    formula = "" if row is None else f", row {row}, column {column}"
    match order:
        case "registers" if not formula:
            return f"{copy}"
        case "registers" | "layout":
            return f"{copy}{formula}, values in the order of its {order}"
        case _:
            assert_never(order)


def failed(name: str, statement: str, wrong: Counterexample) -> Proof:
    """Return the proof that a property fails, as an example shows."""
    return Proof(name, "disproved", statement, (), 0.0, wrong)


def example_at(
    name: str, message: str, t: int, v: int, at: tuple[int, ...] | None
) -> Counterexample:
    """Return what is wrong about value ``v`` of work-item ``t``, and the element it is about."""
    subgroup, lane = divmod(t, SUBGROUP)
    return Counterexample(
        name, message, {}, operand="A", subgroup=subgroup, lane=lane, value=v, element=at
    )
