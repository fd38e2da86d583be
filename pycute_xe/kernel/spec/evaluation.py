"""The value of a specification on arrays, from index notation alone.

Nothing here knows of kernels. Every index variable is an axis; an expression becomes an array that
has the extents of the variables it depends on, and 1 elsewhere. Sums of products go through
``einsum``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import convert, wrap
from pycute_xe.errors import InputError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Operand, bind_sizes, shape_of
from pycute_xe.kernel.probes import Field
from pycute_xe.kernel.spec.arrivals import with_tickets
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Element,
    Expression,
    Rounded,
    Total,
    Where,
)
from pycute_xe.kernel.spec.functions import OF_INTEGERS, Reduction, reduction
from pycute_xe.kernel.spec.roundings import computed
from pycute_xe.kernel.spec.scatters import Scatter
from pycute_xe.kernel.spec.specification import Claim, Specification
from pycute_xe.numeric import Numeric

__all__ = ["claimed_part", "compute", "compute_part", "kept_as", "named_elements"]


def compute(
    specification: Specification,
    operands: Iterable[Operand],
    inputs: Mapping[str, Any],
    sizes: Mapping[str, int] | None = None,
) -> dict[str, NDArray[Any]]:
    """Return what each output should be: float64, or int64 where only integers are involved.

    ``inputs`` are arrays by operand, in the order of its modes. Sums are exact in integers, which
    keep the accumulator's lowest bits; in floats they are float64's, and only `Rounded` rounds.
    Raises `InputError` for shapes that do not match and for elements outside an operand.

    >>> import numpy as np
    >>> from pycute_xe.kernel.spec.expression import total
    >>> from pycute_xe.kernel.spec.specification import Claim
    >>> m, n, k = map(Index, "mnk")
    >>> product = total("k", "K", Element("A", (m, k)) * Element("B", (k, n)))
    >>> a, b = Operand("A", "f32", ("M", "K")), Operand("B", "f32", ("K", "N"))
    >>> d = Operand("D", "f32", ("M", "N"), role="out")
    >>> spec = Specification((Claim("D", ("m", "n"), product),))
    >>> compute(spec, (a, b, d), {"A": np.ones((2, 3)), "B": np.ones((3, 1))})["D"].tolist()
    [[3.0], [3.0]]
    """
    declared = {operand.name: operand for operand in operands}
    arrays = {name: np.asarray(value) for name, value in inputs.items()}
    shapes = {name: array.shape for name, array in arrays.items() if name in declared}
    known = bind_sizes(declared.values(), shapes, sizes)
    whole = {
        claim.output: tuple(range(n) for n in shape_of(declared[claim.output], known))
        for claim in specification.claims
    }
    out = {o: compute_part(specification, arrays, known, o, at) for o, at in whole.items()}
    drawn = with_tickets(specification, arrays) if specification.tickets else {}
    return out | {one.operand: drawn[one.operand] for one in specification.tickets}


def compute_part(
    specification: Specification,
    inputs: Mapping[str, NDArray[Any] | Field],
    sizes: Mapping[str, int],
    output: str,
    window: tuple[range, ...],
) -> NDArray[Any]:
    """Return what a window of one output should be, as `compute` does, without looking elsewhere.

    >>> from pycute_xe.kernel.spec.specification import Claim
    >>> from pycute_xe.numeric import as_numeric
    >>> wide = Field(as_numeric("s32"), (2**40,), lambda at: at[0] % 7)
    >>> spec = Specification((Claim("D", ("m",), Element("A", (Index("m"),)) * 2),))
    >>> compute_part(spec, {"A": wide}, {"M": 2**40}, "D", (range(8, 11),)).tolist()
    [2, 4, 6]
    """
    outside = _outside(specification, inputs, sizes)
    return _part(specification, _with_states(specification, outside), output, window)


def kept_as(specification: Specification, values: NDArray[Any], numeric: Numeric) -> NDArray[Any]:
    """Return what an output of a type keeps of what is specified.

    The nearest number of the type, or of integers that wrap the lowest bits.

    >>> from pycute_xe.numeric import as_numeric
    >>> s32, large = as_numeric("s32"), np.array([2**31])
    >>> kept_as(Specification(()), large, s32).tolist()
    [2147483647]
    >>> kept_as(Specification((), overflow="wraps"), large, s32).tolist()
    [-2147483648]
    """
    if specification.overflow == "wraps" and numeric.kind != "float" and values.dtype.kind in "iu":
        return wrap(values, numeric)
    return convert(values, numeric)


def named_elements(
    specification: Specification,
    operands: Iterable[Operand],
    inputs: Mapping[str, NDArray[Any] | Field],
    sizes: Mapping[str, int],
) -> dict[str, NDArray[np.bool_]]:
    """Return which elements of inputs any claim names: others tell nothing of a result.

    >>> from pycute_xe.kernel.spec.specification import Claim
    >>> a, d = Operand("A", "f32", ("K",)), Operand("D", "f32", ("M",), role="out")
    >>> spec = Specification((Claim("D", ("m",), Element("A", (Index("m") * 2,))),))
    >>> named_elements(spec, (a, d), {"A": np.ones(4)}, {"M": 2})["A"].tolist()
    [True, False, True, False]
    """
    seen = {name: np.zeros(value.shape, np.bool_) for name, value in inputs.items()}
    outside = _with_states(specification, _outside(specification, inputs, sizes, seen))
    declared = {operand.name: operand for operand in operands}
    for claim in specification.claims:
        whole = tuple(map(range, shape_of(declared[claim.output], sizes)))
        _part(specification, outside, claim.output, whole)
    return seen


def _outside(
    specification: Specification,
    inputs: Mapping[str, NDArray[Any] | Field],
    sizes: Mapping[str, int],
    seen: Mapping[str, NDArray[np.bool_]] | None = None,
) -> _Scope:
    """Return the scope outside of all claims: no variable has a value yet."""
    wraps = specification.overflow == "wraps"
    arrays = {
        name: value if isinstance(value, Field) else _widened(np.asarray(value), wraps)
        for name, value in inputs.items()
    }
    return _Scope(arrays, sizes, (), seen=seen or {}, wraps=wraps)


def _part(
    specification: Specification, outside: _Scope, output: str, window: tuple[range, ...]
) -> NDArray[Any]:
    extents = tuple(map(len, window))
    if any(one.operand == output for one in specification.tickets):
        return np.array(outside.arrays[output][np.ix_(*window)])
    match specification.of(output):
        case Claim(_, indices, value):
            axes = tuple(zip(indices, extents, strict=True))
            first = {n: at.start for n, at in zip(indices, window, strict=True) if at.start}
            with np.errstate(all="ignore"):
                values = replace(outside, axes=axes, first=first).value(value)
            return np.array(np.broadcast_to(values, extents))
        case Scatter() as scatter:
            named = _Named(scatter, outside, window)
            return named.among(_kept(outside, output, window))


def claimed_part(
    specification: Specification,
    inputs: Mapping[str, NDArray[Any] | Field],
    sizes: Mapping[str, int],
    output: str,
    window: tuple[range, ...],
) -> NDArray[np.bool_]:
    """Return of which elements of a window something is claimed: all but what no scatter names.

    Places of an operand that held something keep it, which is claimed too.
    """
    claim, extents = specification.known(output), tuple(map(len, window))
    if not isinstance(claim, Scatter) or output in inputs:
        return np.ones(extents, np.bool_)
    outside = _with_states(specification, _outside(specification, inputs, sizes))
    out = np.zeros(extents, np.bool_)
    out[_Named(claim, outside, window).places] = True
    return out


def _kept(outside: _Scope, output: str, window: tuple[range, ...]) -> NDArray[Any]:
    """Return what lay in a window; zeros where nothing did."""
    before = outside.arrays.get(output)
    if before is None:
        return np.zeros(tuple(map(len, window)))
    places = np.ix_(*(np.arange(r.start, r.stop) for r in window))
    return np.array(_widened(before[places], outside.wraps))


class _Named:
    """The places in a window that a scatter names, and its values there.

    Raises `InputError` where one is named twice.
    """

    def __init__(self, scatter: Scatter, outside: _Scope, window: tuple[range, ...]) -> None:
        scope, below = outside, np.asarray(True)
        for name, extent in scatter.over:
            limit = scope.index(extent)
            count = int(limit.max(initial=0))
            below = below[..., None] & (np.arange(count) < limit[..., None])
            scope = replace(scope, axes=(*scope.axes, (name, count)), live=below)
        extents = tuple(n for _, n in scope.axes)
        for one, other in scatter.when:
            below = below & (scope.index(one) < scope.index(other))
            scope = replace(scope, live=below)
        inside, at = below, list[NDArray[np.int64]]()
        for index, span in zip(scatter.at, window, strict=True):
            places = scope.index(index)
            inside = inside & (places >= span.start) & (places < span.stop)
            at.append(places - span.start)
        inside = np.broadcast_to(inside, extents)
        self.places = tuple(np.broadcast_to(a, extents)[inside] for a in at)
        self._demand_apart(scatter, scope, inside, tuple(map(len, window)))
        scope = replace(scope, live=inside)
        with np.errstate(all="ignore"):
            self.values = np.broadcast_to(scope.value(scatter.value), extents)[inside]

    def _demand_apart(
        self, scatter: Scatter, scope: _Scope, inside: NDArray[np.bool_], extents: tuple[int, ...]
    ) -> None:
        flat = np.ravel_multi_index(self.places, extents) if self.places else np.zeros(1)
        order = np.argsort(flat, kind="stable")
        again = np.flatnonzero(flat[order][1:] == flat[order][:-1])
        if not again.size:
            return
        points = np.argwhere(inside)
        both = (points[order[again[0] + i]].tolist() for i in (0, 1))
        names = [name for name, _ in scope.axes]
        texts = (", ".join(f"{n} = {i}" for n, i in zip(names, p, strict=True)) for p in both)
        at = " and at ".join(texts)
        wrong = f"a place of {scatter.output} is named at {at}"
        fix = 'assume that they differ: Distinct("slots")'
        raise InputError("compute", {"claim": scatter}, wrong, fix)

    def among(self, kept: NDArray[Any]) -> NDArray[Any]:
        """Return an array with the values at their places."""
        out = kept.astype(np.result_type(kept.dtype, self.values.dtype))
        out[self.places] = self.values
        return out


def _with_states(specification: Specification, outside: _Scope) -> _Scope:
    """Return a scope with tickets, and the arrays that are defined step by step."""
    if specification.tickets:
        outside = replace(outside, arrays=with_tickets(specification, outside.arrays))
    for one in specification.defines:
        steps, *extents = (extent.at(outside.sizes) for extent in one.extents)
        state = np.zeros((steps + 1, *extents))
        outside = replace(outside, arrays={**outside.arrays, one.name: state})
        time, *names = one.indices
        axes = tuple(zip(names, extents, strict=True))
        with np.errstate(all="ignore"):
            state[0] = replace(outside, axes=axes).value(one.start)
            for t in range(steps):
                scope = replace(outside, axes=((time, 1), *axes), first={time: t})
                state[t + 1] = np.broadcast_to(scope.value(one.step), (1, *extents))[0]
    return outside


def _widened(array: NDArray[Any], wraps: bool) -> NDArray[Any]:
    """Return numbers as float64 or int64; where integers wrap those of u64 keep their bits."""
    integer = array.dtype.kind in "iub" or array.dtype.name in ("int4", "uint4", "int2", "uint2")
    if not wraps and array.dtype == np.uint64 and array.size and array.max() >= 2**63:
        return array.astype(np.float64)
    return array.astype(np.int64 if integer else np.float64, copy=False)


@dataclass(frozen=True)
class _Scope:
    """The variables in whose terms an expression is evaluated, an axis for each.

    ``first`` is where those begin that do not begin at zero; ``live`` says at which points values
    count, None at all: an element outside its operand is read where they do not. ``seen`` is told
    which elements of operands count. Integers that wrap (``wraps``) have 64 bits and a sign.
    """

    arrays: Mapping[str, NDArray[Any] | Field]
    sizes: Mapping[str, int]
    axes: tuple[tuple[str, int], ...]
    first: Mapping[str, int] = field(default_factory=dict[str, int])
    live: NDArray[np.bool_] | None = None
    seen: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict[str, NDArray[np.bool_]])
    wraps: bool = False

    def value(self, expression: Expression) -> NDArray[Any]:
        if isinstance(expression, Const):
            number = expression.value
            whole = abs(number) < 2**53 and number == int(number)
            return self.lifted(int(number) if whole else number)
        if isinstance(expression, Element):
            return self.element(expression)
        if isinstance(expression, Apply):
            return self.applied(expression)
        if isinstance(expression, Rounded):
            return self.rounded(expression)
        if isinstance(expression, Total):
            return self.total(expression)
        if isinstance(expression, Where):
            where = self.index(expression.index) < self.index(expression.below)
            then = self.within(where).value(expression.then)
            return np.where(where, then, self.within(~where).value(expression.otherwise))
        raise InputError(
            "compute", {"value": expression}, f"{type(expression).__name__} has no value here", ""
        )

    def within(self, where: NDArray[np.bool_]) -> _Scope:
        """Return the scope of what counts at some of its points alone."""
        return replace(self, live=where if self.live is None else self.aligned(self.live) & where)

    def aligned(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an array over the first axes as one over all."""
        return array.reshape(array.shape + (1,) * (len(self.axes) - array.ndim))

    def lifted(self, number: Any) -> NDArray[Any]:
        return np.asarray(number).reshape((1,) * len(self.axes))

    def applied(self, expression: Apply) -> NDArray[Any]:
        arguments = [self.value(argument) for argument in expression.arguments]
        if expression.function not in OF_INTEGERS:
            arguments = [argument.astype(np.float64) for argument in arguments]
        return computed(expression.function, arguments)

    def rounded(self, expression: Rounded) -> NDArray[Any]:
        return _widened(convert(self.value(expression.body), expression.to), self.wraps)

    def index(self, index: Index) -> NDArray[Any]:
        """Return an index at every point: an array with the axes it depends on."""
        return self.lifted(0) + np.asarray(index.at(self.places, self.looked))

    @property
    def places(self) -> dict[str, Any]:
        values: dict[str, Any] = dict(self.sizes)
        for number, (name, extent) in enumerate(self.axes):
            shape = [1] * len(self.axes)
            shape[number] = extent
            values[name] = (np.arange(extent) + self.first.get(name, 0)).reshape(shape)
        return values

    def looked(self, name: str, at: tuple[Any, ...]) -> Any:
        return self.taken(name, [self.lifted(0) + np.asarray(i) for i in at])

    def element(self, expression: Element) -> NDArray[Any]:
        array = self.arrays[expression.operand]
        if not expression.at:
            self.see(expression.operand, [])
            return self.lifted(_widened(array[()], self.wraps))
        numbers = {name: i for i, (name, _) in enumerate(self.axes)}
        plain = [_variable(index) for index in expression.at]
        known = all(name in numbers and name not in self.first for name in plain)
        known = known and expression.operand not in self.seen
        if known and len(set(plain)) == len(plain) and not isinstance(array, Field):
            modes = [numbers[name] for name in plain]  # pyright: ignore[reportArgumentType]
            if all(self.axes[i][1] == n for i, n in zip(modes, array.shape, strict=True)):
                shape = [1] * len(self.axes)
                for i in modes:
                    shape[i] = self.axes[i][1]
                return array.transpose(np.argsort(modes)).reshape(shape)
        return self.taken(expression.operand, [self.index(i) for i in expression.at])

    def taken(self, name: str, at: list[NDArray[Any]]) -> NDArray[Any]:
        array = self.arrays[name]
        for mode, (places, extent) in enumerate(zip(at, array.shape, strict=True)):
            if not places.size or (places.min() >= 0 and places.max() < extent):
                continue
            wrong = (places < 0) | (places >= extent)
            if self.live is not None:
                wrong = wrong & self.aligned(self.live)
            if wrong.any():
                raise InputError(
                    "compute",
                    {"operand": name, "mode": mode},
                    f"element {int(np.broadcast_to(places, wrong.shape)[wrong].max())} is read, "
                    f"there are {extent}",
                    "guard it with a condition",
                )
            if not extent:
                return self.lifted(0)
            at[mode] = places.clip(0, extent - 1)
        self.see(name, at)
        return _widened(array[tuple(at)], self.wraps)

    def see(self, name: str, at: list[NDArray[Any]]) -> None:
        """Note which elements of an operand count."""
        if name not in self.seen:
            return
        live = self.lifted(True) if self.live is None else self.aligned(self.live)
        shape = np.broadcast_shapes(*(places.shape for places in at)) or live.shape
        alone = tuple(i for i, n in enumerate(shape) if n == 1)
        live = live.any(axis=alone, keepdims=True)
        both = np.broadcast_shapes(shape, live.shape)
        live = np.broadcast_to(live, both)
        self.seen[name][tuple(np.broadcast_to(places, both)[live] for places in at)] = True

    # ------------------------------------------------------------ sums and maxima

    def total(self, expression: Total) -> NDArray[Any]:
        row, limits = reduction(expression.how), [self.index(e) for _, e in expression.over]
        longest = [int(limit.max(initial=0)) for limit in limits]
        names = [name for name, _ in expression.over]
        inner = replace(self, axes=(*self.axes, *zip(names, longest, strict=True)))
        body = [expression.body]
        if row.law == "sum":
            body = _factors(expression.body)
        if any(limit.size != 1 for limit in limits):
            values = [inner.masked(expression, dict(zip(names, limits, strict=True)))]
        else:
            values = [inner.value(part) for part in body]
        match row.law:
            case "sum":
                result = inner.summed(values, len(names))
            case "greatest" | "least":
                result = inner.extreme(row, values[0], len(names))
            case _:
                assert_never(row.law)
        numeric = expression.accumulator
        if numeric is None or numeric.kind == "float" or result.dtype.kind == "f":
            return result
        return wrap(result, numeric).astype(np.int64)

    def masked(self, expression: Total, limits: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """The body where every variable is below its own limit, and nothing elsewhere."""
        places, below = self.places, np.asarray(True)
        for name, limit in limits.items():
            below = below & (places[name] < self.aligned(limit))
        nothing = reduction(expression.how).nothing
        return np.where(below, self.within(below).value(expression.body), nothing)

    def extreme(self, row: Reduction, terms: NDArray[Any], count: int) -> NDArray[Any]:
        rank = len(self.axes)
        extents = [extent for _, extent in self.axes[rank - count :]]
        if 0 in extents:
            return np.full(terms.shape[: rank - count], row.nothing)
        return row.ufunc().reduce(terms, axis=tuple(range(rank - count, rank)))

    def summed(self, factors: list[NDArray[Any]], count: int) -> NDArray[Any]:
        """The sum of a product over the last ``count`` axes."""
        outer = len(self.axes) - count
        repeats = 1
        for axis in range(outer, len(self.axes)):
            if all(factor.shape[axis] == 1 for factor in factors):
                repeats *= self.axes[axis][1]  # nothing depends on it
        if any(f.dtype.kind == "f" for f in factors):
            return _einsum([f.astype(np.float64) for f in factors], outer) * repeats
        bound = repeats
        for axis in range(outer, len(self.axes)):
            bound *= max(factor.shape[axis] for factor in factors)
        for factor in factors:
            bound *= int(np.abs(factor).max()) if factor.size else 0
        if bound < 2**53:  # every partial sum is exact in float64
            exact = _einsum([f.astype(np.float64) for f in factors], outer)
            return exact.astype(np.int64) * repeats
        return _einsum(factors, outer) * repeats


def _einsum(factors: list[NDArray[Any]], outer: int) -> NDArray[Any]:
    """Multiply arrays whose axes broadcast, and sum over the axes from ``outer`` on."""
    rank = factors[0].ndim
    shape = np.broadcast_shapes(*(factor.shape for factor in factors))
    if len(factors) == 1:
        return factors[0].sum(axis=tuple(range(outer, rank)))
    letters = "abcdefghijklmnopqrstuvwxyz"[:rank]
    terms: list[tuple[str, Any]] = []
    for factor in factors:
        # An axis of extent 1 among longer ones is left out, so that it broadcasts.
        kept = [i for i in range(rank) if factor.shape[i] != 1 or shape[i] == 1]
        terms.append(("".join(letters[i] for i in kept), factor.reshape([shape[i] for i in kept])))
    result = letters[:outer]
    formula = ",".join(term for term, _ in terms) + "->" + result
    return np.einsum(formula, *(array for _, array in terms), optimize="greedy")


def _factors(value: Expression) -> list[Expression]:
    if isinstance(value, Apply) and value.function == "mul":
        return [factor for argument in value.arguments for factor in _factors(argument)]
    return [value]


def _variable(index: Index) -> str | None:
    """The name that an index is, and nothing else."""
    if index.offset or len(index.terms) != 1:
        return None
    atom, scale = index.terms[0]
    return atom if scale == 1 and isinstance(atom, str) else None
