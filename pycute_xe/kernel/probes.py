"""Inputs on which a wrong register shows: small integers, different where it matters.

Each is a function of places, so that inputs of any size can be looked at where a run touches them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import bounds, convert
from pycute_xe.errors import KernelError
from pycute_xe.facts import rows
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import shape_of
from pycute_xe.kernel.spec.expression import Apply, Const, Element, Expression, Total, parts
from pycute_xe.kernel.spec.functions import CHOOSING, OF_INTEGERS, reduction
from pycute_xe.numeric import Numeric, as_numeric, whole_to

if TYPE_CHECKING:
    from pycute_xe.kernel.ir.kernel import Kernel
    from pycute_xe.kernel.ir.operands import Operand

__all__ = [
    "Field",
    "drawn",
    "edge",
    "edges",
    "matrices",
    "telling_fields",
    "telling_inputs",
    "variants",
    "wraps_alone",
    "allowed_off",
    "differ_by",
    "is_moved",
    "tolerance_of",
]


@dataclass(frozen=True, eq=False)
class Field:
    """An array of a type and a shape whose elements are a function of their indices.

    >>> import numpy as np
    >>> from pycute_xe.numeric import as_numeric
    >>> wide = Field(as_numeric("s8"), (2**40, 2**40), lambda at: at[0] % 3 + at[1] % 2)
    >>> wide[np.array([2**39, 4]), np.array([0, 1])]
    array([2, 2], dtype=int8)
    """

    numeric: Numeric
    shape: tuple[int, ...]
    values: Callable[[tuple[NDArray[np.int64], ...]], NDArray[Any]]

    def __getitem__(self, places: tuple[Any, ...]) -> NDArray[Any]:
        """Return the elements at arrays of indices, one array for each mode."""
        indices = tuple(map(np.asarray, places))
        extents = np.broadcast_shapes(*(place.shape for place in indices))
        return np.broadcast_to(convert(self.values(indices), self.numeric), extents)

    def whole(self) -> NDArray[Any]:
        """Return all elements as an array."""
        return np.array(self[tuple(np.ogrid[tuple(slice(0, n) for n in self.shape)])])

    @property
    def elements(self) -> int:
        """How many elements there are."""
        return prod(self.shape)


def drawn(
    key: tuple[int, ...],
    shape: tuple[int, ...],
    places: Sequence[NDArray[np.int64]],
    low: int,
    high: int,
) -> NDArray[np.int64]:
    """Return pseudo-random integers, ``low`` to ``high`` inclusive, by key and place.

    Source: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), a counter through its finaliser.
    """
    state = np.uint64(0)
    with np.errstate(over="ignore"):
        for part in key:
            state = _mixed_up(state + np.uint64(part + 1))
        at: Any = np.uint64(0)
        for place, extent in zip(places, shape, strict=True):
            at = at * np.uint64(extent) + place.astype(np.uint64)
        bits = _mixed_up(state + at)
    return (bits % np.uint64(high - low + 1)).astype(np.int64) + low


def _mixed_up(state: Any) -> Any:
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@cache
def edges(numeric: Numeric) -> NDArray[Any]:
    """Return numbers at the edges of a type: its largest, its least, powers of two and halves.

    >>> from pycute_xe.numeric import as_numeric
    >>> edges(as_numeric("s8")).tolist()[:4]
    [-128, -127, -65, -64]
    """
    if numeric.kind != "float":
        low, high = bounds(numeric)
        powers = [sign * (1 << bit) + by for bit in range(numeric.bits) for sign in (1, -1)
                  for by in (-1, 0, 1)]  # fmt: skip
        whole = sorted({n for n in (low, high, low + 1, high - 1, 0, *powers) if low <= n <= high})
        return np.array(whole, np.uint64 if high >= 1 << 63 else np.int64)
    powers = [2.0**bit for bit in (-149, -133, -126, -24, -14, -8, 0, 1, 7, 8, 10, 11, 15, 23, 24)]
    powers += [2.0**31, 2.0**63, 65504.0, 448.0, 57344.0, 2.0**127 * (2 - 2.0**-7)]
    powers += [2.0**127 * (2 - 2.0**-23)]
    near = [p * (1 + by) for p in powers for by in (0.0, 2.0**-7, 2.0**-8, 2.0**-10, 2.0**-11,
            2.0**-23, -(2.0**-8), -(2.0**-11), -(2.0**-24))]  # fmt: skip
    numbers = np.array([0.0, -0.0, 0.5, 1.5, 2.5, 127.5, *near, *(-x for x in near)])
    exact = convert(numbers, numeric).astype(np.float64)
    return np.concatenate([np.unique(exact[np.isfinite(exact)]), [-0.0, 0.0]])


# ------------------------------------------------------------ showing
# When two values of an output show that they are not the same computation.


def tolerance_of(value: Expression, numeric: Numeric) -> float:
    """Return by how much of itself a right output may be off what is claimed, by roundings alone.

    >>> from pycute_xe.kernel.index import Index
    >>> from pycute_xe.kernel.spec.expression import Slot, Where, apply
    >>> from pycute_xe.numeric import as_numeric
    >>> tolerance_of(Slot("x") + 1, as_numeric("f32"))
    0.0
    >>> inside = Where(Index("i"), Index("n"), apply("exp", Slot("x")), Slot("x"))
    >>> tolerance_of(inside, as_numeric("f16"))
    0.015625
    """
    if numeric.kind != "float" or _exact(value):
        return 0.0
    return allowed_off(numeric.bits, "small")


def allowed_off(bits: int, data: Literal["small", "random"]) -> float:
    """Return how far from its claim a result may be whose narrowest float has so many bits.

    >>> allowed_off(32, "random")
    0.000244140625
    """
    for row in rows("tolerance", "claim"):
        if bits >= cast("int", row["least"]):
            return 2.0 ** -cast("int", row[data])
    raise KernelError(
        "tolerance", {"bits": bits}, f"no row is for {bits} bits", "add one to atoms/tolerance.toml"
    )


def differ_by(actual: float, expected: float, tolerance: float) -> bool:
    """Whether a value is further from what is expected than so much of that.

    Poison is never near what is expected, and NaN is near NaN alone.

    >>> differ_by(1.0, 1.01, 2.0**-6), differ_by(float("nan"), 1.0, 2.0**-6)
    (False, True)
    """
    if math.isnan(expected) or math.isnan(actual) or math.isinf(expected):
        return not (actual == expected or (math.isnan(expected) and math.isnan(actual)))
    return abs(actual - expected) > tolerance * abs(expected)


def is_moved(value: Expression) -> bool:
    """Whether every input comes out as it is, chosen among others or rounded: nothing is computed.

    >>> from pycute_xe.kernel.spec.expression import Slot, apply, rounded_to
    >>> is_moved(rounded_to("bf16", apply("relu", Slot("x")))), is_moved(Slot("x") + 1)
    (True, False)
    """
    if isinstance(value, Total) and value.how == "sum":
        return False
    if isinstance(value, Apply) and value.function not in CHOOSING:
        signs = [a for a in value.arguments if isinstance(a, Const) and abs(a.value) == 1]
        if value.function != "mul" or not signs:
            return False
    return all(map(is_moved, parts(value)))


def _exact(value: Expression) -> bool:
    """Whether small integers make it exact: nothing but sums, products and comparisons."""
    known = not isinstance(value, Apply) or value.function in OF_INTEGERS
    return known and all(map(_exact, parts(value)))


# ------------------------------------------------------------ telling inputs

Values: TypeAlias = "Callable[[tuple[NDArray[np.int64], ...]], NDArray[Any]]"
"""Numbers at places: an array of indices for each mode, broadcast against one another."""

Given: TypeAlias = "Mapping[str, float | NDArray[np.int64]]"
"""Inputs that are one number everywhere, or whole tables."""

NOTHING: Given = {}

_MIXED = 49
"""The first variant of edge values; before it, numbers are small."""
_EDGES = 4
_WRAPPING = 32
"""Variants of edge values for integers that wrap: few numbers overflow in one way and no other."""

BF16 = as_numeric("bf16")


def variants(kernel: Kernel) -> range:
    """Return the inputs on which a wrong value is looked for: what none shows is not disproved.

    The last ones are the edges of types, where outputs are inputs that are moved and rounded, or
    where all are integers that wrap.
    """
    computes = kernel.computes
    if computes is None or computes.defines:
        return range(_MIXED)
    moved = any(is_moved(claim.value) for claim in computes.claims)
    return range(_MIXED + (_WRAPPING if wraps_alone(kernel) else _EDGES * moved))


def wraps_alone(kernel: Kernel) -> bool:
    """Whether a kernel has no floats, and its specification says that integers wrap."""
    wraps = kernel.computes is not None and kernel.computes.overflow == "wraps"
    return wraps and all(x.value_type.kind != "float" for x in kernel.operands + kernel.fragments)


def telling_inputs(
    kernel: Kernel,
    sizes: Mapping[str, int],
    operand: str,
    element: tuple[int, ...] | None,
    output: tuple[int, ...],
    variant: int = 0,
    filled: Given = NOTHING,
) -> dict[str, NDArray[Any]]:
    """Return inputs by name, in their own types, that tell a wrong element from the right one.

    Variant 0 is made for the product of two operands that the specification names, if there is
    one; in it, operands that are ``filled`` with a number are that everywhere. Others are
    pseudo-random small integers. Tables are given whole, whatever the variant.
    """
    fields = telling_fields(kernel, sizes, operand, element, output, variant, filled)
    return {name: field.whole() for name, field in fields.items()}


def telling_fields(
    kernel: Kernel,
    sizes: Mapping[str, int],
    operand: str,
    element: tuple[int, ...] | None,
    output: tuple[int, ...],
    variant: int = 0,
    filled: Given = NOTHING,
) -> dict[str, Field]:
    """Return the inputs of `telling_inputs` as functions of places."""
    factors = _factors(kernel)
    multiplied = {x.operand for x in (factors or ())[:2]}  # pyright: ignore[reportAttributeAccessIssue]
    shapes = {o.name: shape_of(o, sizes) for o in kernel.inputs}
    fields = {
        o.name: _mixed(o, shapes[o.name], variant, i, o.name in multiplied)
        for i, o in enumerate(kernel.inputs)
    }
    if variant == 0 and factors is not None:
        fields |= _product(kernel, factors, sizes, operand, element, output)
    for name, value in filled.items():
        if isinstance(value, np.ndarray):
            fields[name] = partial(_entry, value)
        elif variant == 0 and name in fields:
            fields[name] = partial(_constant, value)
    return {o.name: Field(o.value_type, shapes[o.name], fields[o.name]) for o in kernel.inputs}


def matrices(
    extents: tuple[int, int, int],
    operand: str,
    element: tuple[int, ...] | None,
    output: tuple[int, ...],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return A (M, K) and B (K, N); ``element`` is (row, k) in A, (k, column) in B."""
    m, n, k = extents
    f64, shapes = as_numeric("f64"), ((m, k), (k, n))
    pair = _pair(shapes, (1, 0), (BF16, BF16), operand, element, output)
    a, b = (Field(f64, s, f).whole() for s, f in zip(shapes, pair, strict=True))
    return a, b


def _factors(kernel: Kernel) -> tuple[Element, Element, str] | None:
    """Return the operands whose product the first sum of a specification takes, and over what."""
    if kernel.computes is None or kernel.computes.defines:
        return None
    for claim in kernel.computes.claims:
        total = _first_sum(claim.value)
        if total is not None and isinstance(total.body, Apply) and total.body.function == "mul":
            left, right = total.body.arguments
            if isinstance(left, Element) and isinstance(right, Element):
                return left, right, total.over[0][0]
    return None


def _first_sum(value: Expression) -> Total | None:
    if isinstance(value, Total):
        is_one = reduction(value.how).law == "sum" and len(value.over) == 1
        return value if is_one else None
    inner: tuple[Any, ...] = getattr(value, "arguments", ())
    for part in (*inner, getattr(value, "body", None)):
        if part is not None and (sum_ := _first_sum(part)) is not None:
            return sum_
    return None


def _product(
    kernel: Kernel,
    factors: tuple[Element, Element, str],
    sizes: Mapping[str, int],
    operand: str,
    element: tuple[int, ...] | None,
    output: tuple[int, ...],
) -> dict[str, Values]:
    left, right, over = factors
    depth = tuple(_mode(x, over) for x in (left, right))
    operands = [kernel.operand(x.operand) for x in (left, right)]
    shapes = tuple(shape_of(o, sizes) for o in operands)
    if None in depth or any(len(shape) < 2 for shape in shapes):
        return {}
    kinds = tuple(o.value_type for o in operands)
    renamed = {left.operand: "A", right.operand: "B"}.get(operand, "D")
    pair = _pair(shapes, depth, kinds, renamed, element, output)  # pyright: ignore[reportArgumentType]
    return dict(zip((left.operand, right.operand), pair, strict=True))


def _mode(element: Element, over: str) -> int | None:
    places = [i for i, index in enumerate(element.at) if index == Index(over)]
    return places[0] if len(places) == 1 else None


def _pair(
    shapes: tuple[tuple[int, ...], ...],
    depth: tuple[int, ...],
    kinds: tuple[Numeric, ...],
    operand: str,
    element: tuple[int, ...] | None,
    output: tuple[int, ...],
) -> tuple[Values, Values]:
    """Return both factors. ``depth`` is the mode of each that the sum runs along."""
    if operand not in ("A", "B") or element is None:
        output = output if len(output) >= 2 else (0, 0)
        modes = [_other(shape, at) for shape, at in zip(shapes, depth, strict=True)]
        counts = [shape[mode] for shape, mode in zip(shapes, modes, strict=True)]
        rows = partial(_distinct, modes[0], counts[0], output[-2], kinds[0], 6)
        return rows, partial(_distinct, modes[1], counts[1], output[-1], kinds[1], 6)
    mine = 0 if operand == "A" else 1
    theirs = 1 - mine
    count, one = shapes[theirs][depth[theirs]], element[depth[mine]]
    spread = partial(_distinct, depth[theirs], count, one, kinds[theirs], 126)
    single = partial(_single, element)
    return (single, spread) if mine == 0 else (spread, single)


def _other(shape: tuple[int, ...], depth: int) -> int:
    """The last mode that the sum does not run along."""
    return max(mode for mode in range(len(shape)) if mode != depth)


def _single(element: tuple[int, ...], places: tuple[NDArray[np.int64], ...]) -> NDArray[Any]:
    """Return 1 at one element, and zero elsewhere."""
    here: Any = True
    for place, one in zip(places, element, strict=True):
        here = here & (place == one)
    return here * 1.0


def _distinct(
    mode: int,
    count: int,
    one: int,
    kind: Numeric,
    spread: int,
    places: tuple[NDArray[np.int64], ...],
) -> NDArray[Any]:
    """Return 1 at one place and other small integers, from 2 on where they fit, everywhere else."""
    most, along = _most(kind), places[mode]
    if most < 2:  # 2-bit integers
        out = -(along % 2).astype(np.float64) * (kind.kind == "signed")
    else:
        out = (along % min(spread, most - 1) + 2).astype(np.float64)
    return np.where(along == (one if one < count else 0), 1.0, out)  # it may be of other modes


def _most(kind: Numeric) -> int:
    """The largest integer below which all are exact, and small enough to be summed."""
    if kind.kind != "float":
        return min(bounds(kind)[1], 127)
    return min(whole_to(kind), 127)


_WIDE = 9
"""The variant from which on operands have more bits than narrow types hold."""
_CLOSE = 33
"""The variant from which on operands are next to small integers, so that sums nearly vanish."""


def _mixed(
    operand: Operand, shape: tuple[int, ...], variant: int, number: int, factor: bool
) -> Values:
    """Return small integers in no order: different operands and neighbours differ.

    From variant 3 on, floats have eight bits, which tell one rounding from another. From variant 9
    on, the factors of a product and everything else have as many bits as they hold, up to 13, by
    turns: products and short sums are exact in f32, and are not in a narrower type. From variant
    33 on, what is not a factor is a little off an integer: where a sum nearly vanishes, a rounding
    of one part is all that is left, whatever function is then taken. The last are edge values.
    """
    kind, most = operand.value_type, min(_most(operand.value_type), 7)
    draw = partial(drawn, (variant, number), shape)
    if variant >= _MIXED:
        return partial(edge, kind, draw)
    if variant >= _CLOSE:
        return partial(_close, kind, draw, factor)
    if variant >= _WIDE and factor == bool(variant % 2) and (kind.bits >= 8 or not _floats(kind)):
        return partial(_wide, kind, draw)
    if not shape:
        return partial(_constant, float(min(2 + (number + variant) % 3, most)))
    if _WIDE > variant >= 3 and _floats(kind):
        return partial(_spread, draw, -127, 127, 1 + variant % 2 * 15)
    low = 1 if variant == 0 or kind.kind == "unsigned" else -min(most, 5)
    return partial(_spread, draw, low, most, 1)


Draw: TypeAlias = "Callable[[tuple[NDArray[np.int64], ...], int, int], NDArray[np.int64]]"


def _floats(kind: Numeric) -> bool:
    return kind.kind == "float"


def _constant(value: float, _places: tuple[NDArray[np.int64], ...]) -> NDArray[Any]:
    return np.asarray(value)


def _entry(table: NDArray[Any], places: tuple[NDArray[np.int64], ...]) -> NDArray[Any]:
    return table[places] if table.ndim else table


def _spread(
    draw: Draw, low: int, high: int, divisor: int, places: tuple[NDArray[np.int64], ...]
) -> NDArray[Any]:
    """Return integers from ``low`` to ``high``, by a divisor."""
    return draw(places, low, high) / divisor


def _close(
    numeric: Numeric, draw: Draw, whole: bool, places: tuple[NDArray[np.int64], ...]
) -> NDArray[Any]:
    """Return integers from -2 to 2, and unless they are to be whole, a last bit more for floats."""
    most = min(_most(numeric), 2)
    low = 0 if numeric.kind == "unsigned" else -most
    span = most - low + 1
    both = draw(places, 0, 3 * span - 1)
    out = (both % span + low).astype("f8")
    if not _floats(numeric) or whole:
        return out
    return out + (both // span - 1) / (1 << max(0, min(numeric.row.significand, 15) - 2))


def _wide(numeric: Numeric, draw: Draw, places: tuple[NDArray[np.int64], ...]) -> NDArray[Any]:
    """Return numbers of as many bits as a type holds, up to 13 and a sign."""
    if not _floats(numeric):
        low, high = bounds(numeric)
        return draw(places, max(low, -4095), min(high, 4095)).astype("f8")
    most = (1 << min(numeric.row.significand, 13)) - 1
    return draw(places, -most, most) / 64


def edge(numeric: Numeric, draw: Draw, places: tuple[NDArray[np.int64], ...]) -> NDArray[Any]:
    """Return edges of a type at places, drawn at random."""
    numbers = edges(numeric)
    return numbers[draw(places, 0, numbers.size - 1)]
