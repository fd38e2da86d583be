"""Floor 7: inputs on which a wrong register shows: small integers, different where it matters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pycute_xe.kernel.binding import shape_of
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.spec.expression import Apply, Element, Expression, Total
from pycute_xe.numeric import Numeric, as_numeric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pycute_xe.kernel.ir.kernel import Kernel
    from pycute_xe.kernel.ir.operands import Operand

__all__ = ["VARIANTS", "matrices", "telling_inputs"]

VARIANTS = range(49)
"""The inputs on which a wrong value is looked for: what none of them shows is not disproved."""

BF16 = as_numeric("bf16")


def telling_inputs(
    kernel: Kernel,
    sizes: Mapping[str, int],
    operand: str,
    element: tuple[int, ...] | None,
    output: tuple[int, ...],
    variant: int = 0,
) -> dict[str, NDArray[Any]]:
    """Return inputs by name, in their own types, that tell a wrong element from the right one.

    Variant 0 is made for the product of two operands that the specification names, if there is
    one; others are pseudo-random small integers.
    """
    from pycute_xe.converting import convert

    factors = _factors(kernel)
    multiplied = {x.operand for x in (factors or ())[:2]}  # pyright: ignore[reportAttributeAccessIssue]
    found = {
        o.name: _mixed(o, shape_of(o, sizes), variant, i, o.name in multiplied)
        for i, o in enumerate(kernel.inputs)
    }
    if variant == 0 and factors is not None:
        found |= _product(kernel, factors, sizes, operand, element, output)
    return {o.name: convert(found[o.name], o.value_type) for o in kernel.inputs}


def matrices(
    extents: tuple[int, int, int],
    operand: str,
    element: tuple[int, ...] | None,
    output: tuple[int, ...],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return A (M, K) and B (K, N); ``element`` is (row, k) in A, (k, column) in B."""
    m, n, k = extents
    a, b = _pair(((m, k), (k, n)), (1, 0), (BF16, BF16), operand, element, output)
    return a, b


def _factors(kernel: Kernel) -> tuple[Element, Element, str] | None:
    """Return the operands whose product the first sum of a specification takes, and over what."""
    if kernel.computes is None:
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
        return value if value.how == "sum" and len(value.over) == 1 else None
    inner: tuple[Any, ...] = getattr(value, "arguments", ())
    for part in (*inner, getattr(value, "body", None)):
        if part is not None and (found := _first_sum(part)) is not None:
            return found
    return None


def _product(
    kernel: Kernel,
    factors: tuple[Element, Element, str],
    sizes: Mapping[str, int],
    operand: str,
    element: tuple[int, ...] | None,
    output: tuple[int, ...],
) -> dict[str, NDArray[np.float64]]:
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
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both factors. ``depth`` is the mode of each that the sum runs along."""
    import numpy as np

    if operand not in ("A", "B") or element is None:
        output = output if len(output) >= 2 else (0, 0)
        rows = _told_apart(shapes[0][_other(shapes[0], depth[0])], output[-2], kinds[0], 6)
        columns = _told_apart(shapes[1][_other(shapes[1], depth[1])], output[-1], kinds[1], 6)
        first = _along(shapes[0], _other(shapes[0], depth[0]), rows)
        return first, _along(shapes[1], _other(shapes[1], depth[1]), columns)
    mine = 0 if operand == "A" else 1
    theirs = 1 - mine
    by_k = _told_apart(shapes[theirs][depth[theirs]], element[depth[mine]], kinds[theirs], 126)
    single = np.zeros(shapes[mine])
    single[element] = 1
    spread = _along(shapes[theirs], depth[theirs], by_k)
    return (single, spread) if mine == 0 else (spread, single)


def _other(shape: tuple[int, ...], depth: int) -> int:
    """The last mode that the sum does not run along."""
    return max(mode for mode in range(len(shape)) if mode != depth)


def _along(shape: tuple[int, ...], mode: int, values: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    wide = [1] * len(shape)
    wide[mode] = shape[mode]
    return np.array(np.broadcast_to(values.reshape(wide), shape))


def _told_apart(count: int, one: int, kind: Numeric, spread: int) -> NDArray[np.float64]:
    """Return 1 at one place and other small integers, from 2 on where they fit, everywhere else."""
    import numpy as np

    most = _most(kind)
    if most < 2:  # 2-bit integers
        out = -(np.arange(count) % 2).astype(np.float64) * (kind.kind == "signed")
    else:
        out = (np.arange(count) % min(spread, most - 1) + 2).astype(np.float64)
    out[one if one < count else 0] = 1  # the output may be a vector, of other modes
    return out


def _most(kind: Numeric) -> int:
    """The largest integer below which all are exact, and small enough to be summed."""
    from pycute_xe.converting import bounds

    if kind.kind != "float":
        return min(bounds(kind)[1], 127)
    return {"f8e4m3": 16, "f8e5m2": 8}.get(kind.name, 127)


_BITS = {"bf16": 8, "f16": 11, "tf32": 11, "f8e4m3": 4, "f8e5m2": 3}
_WIDE = 9
"""The variant from which on operands have more bits than narrow types hold."""
_CLOSE = 33
"""The variant from which on operands are next to small integers, so that sums nearly vanish."""


def _mixed(
    operand: Operand, shape: tuple[int, ...], variant: int, number: int, factor: bool
) -> NDArray[np.float64]:
    """Return small integers in no order: different operands and neighbours differ.

    From variant 3 on, floats have eight bits, which tell one rounding from another. From variant 9
    on, the factors of a product and everything else have as many bits as they hold, up to 13, by
    turns: products and short sums are exact in f32, and are not in a narrower type. From variant
    33 on, what is not a factor is a little off an integer: where a sum nearly vanishes, a rounding
    of one part is all that is left, whatever function is then taken.
    """
    import numpy as np

    most = min(_most(operand.value_type), 7)
    rng = np.random.default_rng((variant, number))
    if variant >= _CLOSE:
        return _close(operand.value_type, shape, rng, factor)
    whole = operand.value_type.bits >= 8 or operand.value_type.kind != "float"
    if variant >= _WIDE and factor == bool(variant % 2) and whole:
        return _wide(operand.value_type, shape, rng)
    if not shape:
        return np.asarray(float(min(2 + (number + variant) % 3, most)))
    if _WIDE > variant >= 3 and operand.value_type.kind == "float":
        return rng.integers(-127, 128, shape) / (1 + variant % 2 * 15)
    low = 1 if variant == 0 or operand.value_type.kind == "unsigned" else -min(most, 5)
    return rng.integers(low, most + 1, shape).astype(np.float64)


def _close(
    numeric: Numeric, shape: tuple[int, ...], rng: np.random.Generator, whole: bool
) -> NDArray[np.float64]:
    """Return integers from -2 to 2, and unless they are to be whole, a last bit more for floats."""
    import numpy as np

    low = 0 if numeric.kind == "unsigned" else -min(_most(numeric), 2)
    out = np.asarray(rng.integers(low, min(_most(numeric), 2) + 1, shape), np.float64)
    if numeric.kind != "float" or whole:
        return out
    return out + np.asarray(rng.integers(-1, 2, shape)) / (1 << _BITS.get(numeric.name, 15) - 2)


def _wide(
    numeric: Numeric, shape: tuple[int, ...], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return numbers of as many bits as a type holds, up to 13 and a sign."""
    import numpy as np

    from pycute_xe.converting import bounds

    if numeric.kind != "float":
        low, high = bounds(numeric)
        return np.asarray(rng.integers(max(low, -4095), min(high, 4095) + 1, shape), np.float64)
    most = (1 << _BITS.get(numeric.name, 13)) - 1
    return np.asarray(rng.integers(-most, most + 1, shape) / 64)
