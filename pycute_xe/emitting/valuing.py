"""Index notation on arrays, as a program of a kernel computes it: an axis for each variable."""

from __future__ import annotations

from math import prod
from typing import Any

import ml_dtypes
import numpy as np


def axis(rank: int, number: int, values: Any) -> Any:
    """Return the values of a variable along its axis: a range, or all below a bound."""
    inside = values if isinstance(values, range) else range(int(np.max(values, initial=0)))
    return np.arange(inside.start, inside.stop).reshape(
        [-1 if i == number else 1 for i in range(rank)]
    )


def take(array: Any, *at: Any) -> Any:
    """Return elements; where a condition leaves out what lies outside, any element will do."""
    return array[tuple(np.clip(i, 0, n - 1) for i, n in zip(at, array.shape, strict=True))]


def wide(value: Any) -> Any:
    """Return numbers as float64."""
    return np.asarray(value, np.float64)


def _summed(over: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(i for variable in over for i, n in enumerate(variable.shape) if n != 1)


def total(over: tuple[Any, ...], *factors: Any) -> Any:
    """Return the sum of a product over variables, exact in integers."""
    rank, axes = over[0].ndim, _summed(over)
    parts = [np.asarray(f).reshape((1,) * (rank - np.ndim(f)) + np.shape(f)) for f in factors]
    alike = [i for i in axes if all(part.shape[i] == 1 for part in parts)]
    repeats = prod(variable.size for variable in over if any(variable.shape[i] != 1 for i in alike))
    integers = all(part.dtype.kind in "iu" for part in parts)
    most = repeats * prod(int(np.abs(part).max(initial=0)) for part in parts) if integers else 0
    most *= prod(variable.size for variable in over)
    if not integers or most < 2**53:
        parts = [wide(part) for part in parts]
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    kept = [[i for i in range(rank) if part.shape[i] != 1] for part in parts]
    there = sorted({i for own in kept for i in own} - set(axes))
    formula = ",".join("".join(letters[i] for i in own) for own in kept)
    reshaped = [p.reshape([p.shape[i] for i in own]) for p, own in zip(parts, kept, strict=True)]
    result = np.einsum(
        f"{formula}->{''.join(letters[i] for i in there)}", *reshaped, optimize="greedy"
    )
    extents = dict(zip(there, result.shape, strict=True))
    result = result.reshape([extents.get(i, 1) for i in range(rank)]) * repeats
    return np.rint(result).astype(np.int64) if integers else result


def extreme(combine: Any, nothing: float, over: tuple[Any, ...], value: Any) -> Any:
    """Return the greatest or least over variables; ``nothing`` where all are empty."""
    axes = tuple(i for i in _summed(over) if np.ndim(value) and np.shape(value)[i] != 1)
    if any(not variable.size for variable in over):
        return np.full([1] * over[0].ndim, nothing)
    return combine.reduce(wide(value), axis=axes, keepdims=True, initial=nothing)


def wrapped(value: Any, bits: int, least: int) -> Any:
    """Return integers of which a register keeps the lowest bits."""
    return ((value - least) & ((1 << bits) - 1)) + least if value.dtype.kind in "iu" else value


def rounded(value: Any, dtype: str) -> Any:
    """Return numbers rounded to a type, to nearest even and in one step; integers saturate."""
    integer = dtype.startswith(("int", "uint"))
    if integer:
        bits, low = int(dtype.lstrip("uint")), 0
        high = (1 << bits) - 1
        if dtype[0] == "i":
            low, high = -(1 << (bits - 1)), high >> 1
        given = np.asarray(value)
        whole = given if given.dtype.kind in "iu" else np.nan_to_num(np.rint(given), nan=0)
        return np.clip(whole, low, high).astype(np.int64)
    if dtype in ("float32", "float64", "float16"):
        return wide(wide(value).astype(dtype))
    exact, near = wide(value), np.asarray(value, np.float32)
    # To odd first: a cut number keeps a last bit that a second rounding sees.
    beyond = np.abs(wide(near)) > np.abs(exact)
    toward = np.asarray(np.where(beyond, np.nextafter(near, np.float32(0)), near))
    cut = np.isfinite(exact) & (wide(near) != exact)
    bits32: Any = toward.view(np.uint32) | cut.astype(np.uint32)
    if dtype != "tf32":
        return wide(bits32.view(np.float32).astype(getattr(ml_dtypes, dtype)))
    longer = bits32.astype(np.uint64)
    longer = (longer + 0xFFF + (longer >> np.uint64(13) & np.uint64(1))) & np.uint64(0xFFFFE000)
    tf32: Any = np.where(np.isfinite(exact), longer.astype(np.uint32).view(np.float32), near)
    return wide(np.where(np.abs(tf32) < np.finfo(np.float32).tiny, np.copysign(0, tf32), tf32))


def shaped(value: Any, window: tuple[range, ...]) -> Any:
    """Return a value on a window of an output: an array of the output's modes."""
    array = np.asarray(value)
    return np.broadcast_to(array.reshape(array.shape[: len(window)]), [len(r) for r in window])
