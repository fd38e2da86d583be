"""The scalar functions and reductions that a claim may name: a row for each.

Every reader takes what it knows of one from its row; a column that a reader needs and that
a row leaves empty is refused by name. A function that is made of others says so and needs no more.
A prover takes the others for opaque but for sums, products and the laws that rows state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from difflib import get_close_matches
from functools import partial
from math import inf
from typing import Any, Literal, TypeAlias

from pycute_xe.errors import KernelError, plural

__all__ = [
    "CHOOSING",
    "COMPARING",
    "EXPONENTIALS",
    "FUNCTIONS",
    "MASKING",
    "NEAREST",
    "OF_INTEGERS",
    "SEQUENCE",
    "UNROUNDED",
    "ZERO_OF_ZEROS",
    "Function",
    "Term",
    "evaluated",
    "function",
    "REDUCTIONS",
    "REDUCTION_OF",
    "Reduction",
    "reduction",
]


Meaning: TypeAlias = Callable[..., Any]
Term: TypeAlias = "str | float | tuple[str, *tuple[Term, ...]]"
"""An argument (x, y or z), a number, or a function's name and what it is applied to."""

SEQUENCE = "a sequence"
"""In the column of a language: several operations, in the language's own table of them."""


def _unsaid(_np: Any, *_: Any) -> Any:
    raise KernelError("function", {}, "a function has no meaning on arrays", "give it one")


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function: its name, its number of arguments, and its meaning on NumPy arrays.

    ``meaning`` takes NumPy and the arguments, and keeps their precision; it may be left to
    ``ufunc``, NumPy's function of that name, or to ``of``, the function in terms of others, of its
    arguments ``"x"``, ``"y"`` and ``"z"``. ``visa`` and ``mlir`` are operations
    of these languages, ``cute`` an expression of C++ with its arguments in braces. Raises
    `KernelError` for a function without a meaning.

    >>> import numpy as np
    >>> twice = Function("twice", 1, of=("add", "x", "x"))
    >>> float(twice.meaning(np, 4.0))
    8.0
    """

    name: str
    arity: int
    meaning: Meaning = _unsaid
    _: KW_ONLY
    ufunc: str = ""
    of: Term | None = None
    visa: str = ""
    cute: str = ""
    mlir: str = ""
    integers: bool = False
    """Whether it gives whole numbers of whole numbers, exactly.

    This and the next three follow from its parts for a function that is made of others.
    """
    chooses: bool = False
    """Whether it gives one of its arguments, or its size: nothing is rounded."""
    compares: bool = False
    """Whether it jumps: a last bit of an argument may change everything. It rounds nothing."""
    masks: bool = False
    """Whether it gives its first argument, or minus infinity."""
    nearest: bool = False
    """Whether a float is the nearest to the real result: IEEE 754-2019, 5.4.1."""
    exponential: bool = False
    """Whether f(x + y) = f(x)·f(y) for finite numbers, f(0) = 1 and f(-inf) = 0.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 4.2.
    """
    zero: bool = False
    """Whether it is zero where all its arguments are."""
    multiplies: bool = False
    """Whether f(x·y) = f(x)·f(y)."""
    of_square: Term | None = None
    """What f(x·x·y) = g(x)·f(y) has for g(x), wherever f(x·x·y) is defined."""
    squared: Term | None = None
    """What f(x)·f(x) is, in terms of x, for every x."""
    mirrored: Term | None = None
    """What f(-x) is, in terms of f(x), which is ``"x"`` there."""
    inverse: Term | None = None
    """What 1/f(x) is in terms of x. This and the four laws above hold for real numbers."""
    rises: bool = False
    """Whether it never falls, and takes one argument."""
    low: float = -inf
    high: float = inf
    """Between which numbers its values lie, whatever it is given."""
    whole: bool = False
    """Whether its values are whole numbers, whatever it is given."""

    def __post_init__(self) -> None:
        """Take the meaning from other columns, where it is left to them."""
        if self.meaning is _unsaid:
            if self.ufunc:
                object.__setattr__(self, "meaning", partial(_named, self.ufunc))
            elif self.of is not None:
                object.__setattr__(self, "meaning", self._defined)
            else:
                _unsaid(None)

    def unfolded(self, apply: Callable[..., Any], *arguments: Any) -> Any:
        """Return what the function is in others, which ``apply`` makes of a name and arguments."""
        return None if self.of is None else evaluated(self.of, apply, *arguments)

    def _defined(self, np: Any, *x: Any) -> Any:
        return self.unfolded(partial(_computed, np), *x)


def evaluated(term: Term, apply: Callable[..., Any], *arguments: Any) -> Any:
    """Return what ``apply`` makes of the names and arguments of a term, from inside out.

    >>> evaluated(("add", 1, ("mul", -1, "x")), lambda name, *x: f"{name}{x}", 3)
    "add(1, 'mul(-1, 3)')"
    """
    value_of = dict(zip("xyz", arguments, strict=False))

    def value(inner: Term) -> Any:
        if isinstance(inner, tuple):
            return apply(inner[0], *map(value, inner[1:]))
        return value_of[inner] if isinstance(inner, str) else inner

    return value(term)


def _computed(np: Any, name: str, *x: Any) -> Any:
    return function(name, len(x)).meaning(np, *x)


def _named(name: str, np: Any, *x: Any) -> Any:
    return getattr(np, name)(*x)


def _rsqrt(np: Any, x: Any) -> Any:
    return 1 / np.sqrt(x)


def _sigmoid(np: Any, x: Any) -> Any:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def _gelu(np: Any, x: Any) -> Any:
    from math import erf

    values = np.asarray(x)
    halves = np.asarray(np.frompyfunc(erf, 1, 1)(values / np.sqrt(2.0)), dtype=values.dtype)
    return values * (1 + halves) / 2


def _at_least(np: Any, x: Any, y: Any) -> Any:
    """1 where the first is not below the second, else 0."""
    return np.greater_equal(x, y).astype(np.result_type(x, y))


def _below(np: Any, x: Any, y: Any) -> Any:
    """The first where it is below the second, else minus infinity.

    Without a branch for each element: the least of it and of an infinity that the comparison makes.
    """
    kind = np.result_type(np.asarray(x), np.float16)
    chosen = np.asarray(np.less(x, y).astype(kind))
    chosen -= 0.5
    chosen *= np.inf
    return np.fmin(x, chosen, out=chosen)


FUNCTIONS: dict[str, Function] = {}
"""By name. A new elementwise function is one more row below."""

for _row in (
    Function(
        "add", 2, ufunc="add", integers=True, nearest=True,
        visa="add", cute="({} + {})", mlir="arith.addf",
    ),
    Function(
        "mul", 2, ufunc="multiply", integers=True, nearest=True,
        visa="mul", cute="({} * {})", mlir="arith.mulf",
    ),
    Function(
        "div", 2, ufunc="divide", nearest=True,
        visa=SEQUENCE, cute="({} / {})", mlir="arith.divf",
    ),
    Function(
        "max", 2, ufunc="maximum", integers=True, chooses=True, zero=True,
        visa="max", cute="cute::max({}, {})", mlir="arith.maximumf",
    ),
    Function(
        "min", 2, ufunc="minimum", integers=True, chooses=True, zero=True,
        visa="min", cute="cute::min({}, {})", mlir="arith.minimumf",
    ),
    Function(
        "abs", 1, ufunc="abs", integers=True, chooses=True, zero=True, low=0,
        multiplies=True, of_square=("mul", "x", "x"), squared=("mul", "x", "x"), mirrored="x",
        visa=SEQUENCE, cute="sycl::fabs({})", mlir="math.absf",
    ),
    Function(
        "exp", 1, ufunc="exp", exponential=True, rises=True, low=0,
        inverse=("exp", ("mul", -1, "x")),
        visa=SEQUENCE, cute="sycl::exp({})", mlir="math.exp",
    ),
    Function(
        "exp2", 1, ufunc="exp2", exponential=True, rises=True, low=0,
        inverse=("exp2", ("mul", -1, "x")),
        visa="exp", cute="sycl::exp2({})", mlir="math.exp2",
    ),
    Function("log", 1, ufunc="log", visa=SEQUENCE, cute="sycl::log({})", mlir="math.log"),
    Function(
        "sqrt", 1, ufunc="sqrt", nearest=True, zero=True, low=0,
        of_square=("abs", "x"), inverse=("rsqrt", "x"),
        visa="sqrt", cute="sycl::sqrt({})", mlir="math.sqrt",
    ),
    Function(
        "rsqrt", 1, _rsqrt, low=0, of_square=("div", 1, ("abs", "x")), inverse=("sqrt", "x"),
        visa="rsqrt", cute="sycl::rsqrt({})", mlir="math.rsqrt",
    ),
    Function(
        "tanh", 1, ufunc="tanh", zero=True, low=-1, high=1, mirrored=("mul", -1, "x"),
        visa=SEQUENCE, cute="sycl::tanh({})", mlir="math.tanh",
    ),
    Function(
        "sigmoid", 1, _sigmoid, low=0, high=1,
        mirrored=("add", 1, ("mul", -1, "x")), inverse=("add", 1, ("exp", ("mul", -1, "x"))),
        visa=SEQUENCE, cute="(1.0f / (1.0f + sycl::exp(-{})))", mlir=SEQUENCE,
    ),
    Function(
        "gelu", 1, _gelu, zero=True, visa=SEQUENCE,
        cute="({0} * 0.5f * (1.0f + sycl::erf({0} * 0.70710678f)))", mlir=SEQUENCE,
    ),
    Function(
        "at_least", 2, _at_least, compares=True, low=0, high=1, whole=True,
        visa=SEQUENCE, cute="({} >= {} ? 1.0f : 0.0f)", mlir=SEQUENCE,
    ),
    Function(
        "below", 2, _below, compares=True, masks=True,
        visa=SEQUENCE, cute="({0} < {1} ? {0} : -INFINITY)", mlir=SEQUENCE,
    ),
    Function("relu", 1, of=("max", "x", 0)),
    Function("silu", 1, of=("mul", "x", ("sigmoid", "x"))),
    Function("clamp", 3, of=("min", ("max", "x", "y"), "z")),
):  # fmt: skip
    FUNCTIONS[_row.name] = _row


def _parts(name: str) -> tuple[set[str], set[float]]:
    """Return the functions that one comes to which are not made of others, and the numbers."""
    row, names, numbers = FUNCTIONS[name], set[str](), set[float]()
    if row.of is None:
        return {name}, numbers

    def part(inner: str, *arguments: float | None) -> None:
        more, constants = _parts(inner)
        names.update(more)
        numbers.update(constants, (x for x in arguments if x is not None))

    row.unfolded(part, *[None] * row.arity)
    return names, numbers


def _every(*columns: str) -> frozenset[str]:
    """The functions of which all parts have one of some columns."""
    own = {f.name for f in FUNCTIONS.values() if any(getattr(f, column) for column in columns)}
    return frozenset(name for name in FUNCTIONS if _parts(name)[0] <= own)


def _some(column: str) -> frozenset[str]:
    """The functions of which a part has a column."""
    own = {f.name for f in FUNCTIONS.values() if getattr(f, column)}
    return frozenset(name for name in FUNCTIONS if _parts(name)[0] & own)


def _own(column: str) -> frozenset[str]:
    return frozenset(f.name for f in FUNCTIONS.values() if getattr(f, column))


EXPONENTIALS = _own("exponential")
"""The functions that turn sums into products."""

ZERO_OF_ZEROS = _own("zero")
"""The functions that are zero where all their arguments are; those made of others left out."""

NEAREST = _own("nearest")
"""The functions of which a float is the nearest to the real result."""

OF_INTEGERS = frozenset(
    name for name in _every("integers") if all(float(x).is_integer() for x in _parts(name)[1])
)
"""The functions that give whole numbers of whole numbers."""

CHOOSING = _every("chooses")
"""The functions that give one of their arguments, or its size."""

UNROUNDED = _every("chooses", "compares")
"""The functions that round nothing: they choose or compare."""

COMPARING = _some("compares")
"""The functions that jump."""

MASKING = _some("masks")
"""The functions that may be minus infinity."""


def function(name: str, arguments: int | None = None, beside: tuple[str, ...] = ()) -> Function:
    """Return the function of a name, taking so many arguments.

    Raises `KernelError` for an unknown name, which lists those that may stand ``beside`` functions
    too, or another number of arguments.

    >>> function("relu", 1).name
    'relu'
    """
    function_ = FUNCTIONS.get(name)
    if function_ is None:
        known = sorted({*FUNCTIONS, *beside})
        near = get_close_matches(name.casefold(), known, 1, 0.75)
        fix = f"use {near[0] if near else ', '.join(known)}"
        raise KernelError("function", {"name": name}, f"{name} is not a known function", fix)
    if arguments is not None and arguments != function_.arity:
        raise KernelError(
            "function",
            {"name": name, "arguments": arguments},
            f"{name} takes {plural(function_.arity, 'argument')}",
            f"write {name}({', '.join('xyz'[: function_.arity])})",
        )
    return function_


@dataclass(frozen=True, slots=True)
class Reduction:
    """A function of two values that is repeated over many, in any order.

    ``nothing`` is what it makes of none. ``law`` says what may be assumed of it: of a sum, that it
    is linear; of the greatest or the least, that an element may be taken twice. ``atomic`` are the
    operations of messages that do it in memory, by type.
    """

    name: str
    noun: str
    combine: str
    nothing: float
    law: Literal["sum", "greatest", "least"]
    atomic: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def function(self) -> Function:
        """The function of two values."""
        return function(self.combine, 2)

    def start(self, dtype: Any) -> Any:
        """Return what arrays of a dtype begin with.

        >>> import numpy as np
        >>> reduction("max").start(np.dtype("f4")), int(reduction("min").start(np.dtype("i8")))
        (-inf, 9223372036854775807)
        """
        if dtype.kind == "f":
            return self.nothing
        import numpy as np

        ends = np.iinfo(dtype)
        return min(max(self.nothing, ends.min), ends.max)

    def ufunc(self) -> Any:
        """Return NumPy's function of two arrays."""
        import numpy as np

        return getattr(np, self.function.ufunc)


REDUCTIONS: dict[str, Reduction] = {
    row.name: row
    for row in (
        Reduction("sum", "sum", "add", 0, "sum", {"f32": "fadd", "s32": "iadd", "u32": "iadd"}),
        Reduction("max", "maximum", "max", -inf, "greatest"),
        Reduction("min", "minimum", "min", inf, "least"),
    )
}
"""By name. A new reduction is one more row."""

REDUCTION_OF = {row.combine: row.name for row in REDUCTIONS.values()}
"""The reductions by their functions of two values."""


def reduction(name: str) -> Reduction:
    """Return the reduction of a name. Raises `KernelError` for an unknown one.

    >>> reduction("min").nothing
    inf
    """
    reduction_ = REDUCTIONS.get(name)
    if reduction_ is None:
        known = ", ".join(REDUCTIONS)
        raise KernelError("reduction", {"how": name}, "it is not a known reduction", f"use {known}")
    return reduction_
