"""A problem: what a user hands to a kernel, checked, rounded and bound to its operands."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.converting import convert, host_dtype
from pycute_xe.errors import DTypeError, InputError, plural, quoted, with_article
from pycute_xe.kernel import Kernel, Operand
from pycute_xe.kernel.ir.operands import bind_sizes, shape_of
from pycute_xe.kernel.spec.table_checks import demand_kept
from pycute_xe.numeric import Numeric
from pycute_xe.signatures import checked_fields, shortly
from pycute_xe.typing import glance, shown

__all__ = [
    "Asked",
    "Problem",
    "Report",
    "as_array",
    "demand_tables",
    "poison",
    "prepare",
    "rounded",
]


Asked: TypeAlias = "Numeric | Mapping[str, Numeric] | None"
"""The type that inputs may be rounded to: one for all of that type, or one for each operand."""


def as_array(
    name: str,
    value: Any,
    wanted: Numeric,
    rank: int,
    asked: Asked,
    verb: str = "takes",
    types: str = "",
) -> NDArray[Any]:
    """Return an array of so many modes and of the wanted type.

    An array of that type is taken as it is; any other real type is rounded to nearest even when
    ``asked`` names the type, and refused otherwise. Python's own numbers are always converted, and
    arrays of float32 stand for tf32 where every element is one. Warns, with their number, of
    elements that are too large for the type and become infinite. Raises `InputError` for another
    number of modes and `DTypeError` for a type that would have to be rounded unasked.

    >>> from pycute_xe.numeric import as_numeric
    >>> as_array("bias", [1, 2], as_numeric("f32"), 1, as_numeric("f32")).tolist()
    [1.0, 2.0]
    """
    array = _shaped(name, value, rank)
    if _fits(array, wanted):
        return array
    if array.dtype.kind not in "fiub" and not _narrow(array):
        part = ".real" if array.dtype.kind == "c" else ""
        fix = f'write {name}{part}.astype("float64"), and ask for rounding with dtype="{wanted}"'
        wrong = f"{array.dtype} holds no real numbers"
        raise DTypeError("run", {name: array.dtype}, wrong, fix)
    if rank == 0 and isinstance(value, (bool, int, float)):
        return _number(name, array, wanted)
    _check_asked(name, array, wanted, asked, verb, types)
    out = rounded(array, wanted)
    if wanted.kind == "float":
        _warn_of_overflow(name, array, out, wanted)
    return out


def _shaped(name: str, value: Any, rank: int) -> NDArray[Any]:
    """Return an array of so many modes of what was given. Raises `InputError` as `as_array`."""
    what = {0: "number", 1: "vector", 2: "matrix"}.get(rank, f"array of {rank} dimensions")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(
            "run",
            {name: type(value).__name__},
            f"{name} cannot be read as a {what}: {error}",
            "even out its rows",
        ) from error
    if array.ndim and not rank:
        raise InputError(
            "run",
            {name: f"array of shape {array.shape}"},
            f"{name} is one number of the kernel, and was given as an array",
            f"give a number, or make the kernel of {name}[n] or {name}[m]: one for each column or "
            "row",
        )
    if value is None or isinstance(value, (str, bytes)):
        fix = f"give {name} as an array"
        if isinstance(value, str) and rank:
            fix = f"read it first: {name}=numpy.load({quoted(value)})"
        kind = with_article(type(value).__name__) if value is not None else "None"
        raise InputError("run", {name: shortly(value)}, f"{name} is {kind}, not numbers", fix)
    if array.ndim != rank:
        raise InputError(
            "run",
            {name: f"array of shape {array.shape}"},
            f"{name} has {plural(array.ndim, 'dimension')}, a {what} has {rank}",
            _reshaped(name, array.shape, rank),
        )
    return array


def _reshaped(name: str, shape: tuple[int, ...], rank: int) -> str:
    """Return how an array of another number of modes is given with this one."""
    lead, kept = shape[: len(shape) - rank], shape[len(shape) - rank :]
    if len(shape) > rank and prod(lead) != 1 and rank > 1:
        return f"give {name}[0], one at a time, or make the kernel with batch=True"
    extents = kept if len(shape) > rank and prod(lead) == 1 else (*[1] * (rank - 1), -1)
    return f"write {name}.reshape({', '.join(map(str, extents))})"


def _warn_of_overflow(name: str, array: NDArray[Any], out: NDArray[Any], wanted: Numeric) -> None:
    """Warn of finite elements that became infinite."""
    infinite = np.isinf(out.astype(np.float32))
    count = int(np.count_nonzero(infinite & np.isfinite(array.astype(np.float64))))
    if count:
        message = f"{count:,} of {array.size:,} elements of {name} overflow {wanted}: now infinite"
        warnings.warn(message, RuntimeWarning, stacklevel=2)


def rounded(array: NDArray[Any], numeric: Numeric) -> NDArray[Any]:
    """Round every element to the nearest value of a type, ties to even, in one step.

    Raises `DTypeError` for elements that float64 does not hold: larger integers, longer floats.
    The result is compact, first index slowest, and starts on a 64-byte address.

    >>> from pycute_xe.numeric import as_numeric
    >>> float(rounded(np.array([1 + 2.0**-8 + 2.0**-40]), as_numeric("bf16"))[0])
    1.0078125
    """
    if numeric.kind == "float" or array.dtype.kind == "f":
        _check_exact(array)
    out = _aligned(array.shape, host_dtype(numeric))
    out[...] = convert(array, numeric)
    return out


def _fits(array: NDArray[Any], wanted: Numeric) -> bool:
    if array.dtype != host_dtype(wanted):
        return False
    return wanted.name != "tf32" or bool(np.array_equal(convert(array, wanted), array, True))


def _narrow(array: NDArray[Any]) -> bool:
    """Whether an array holds numbers of an ml_dtypes type."""
    return array.dtype.kind == "V" and array.dtype.type.__module__.startswith("ml_dtypes")


def _number(name: str, array: NDArray[Any], wanted: Numeric) -> NDArray[Any]:
    out = convert(array, wanted)
    if wanted.kind != "float" and out != array:
        raise DTypeError(
            "run", {name: array.item()}, f"{wanted} does not hold {array.item()}", "round it"
        )
    return out


def _check_asked(
    name: str, array: NDArray[Any], wanted: Numeric, asked: Asked, verb: str, types: str
) -> None:
    each = asked if isinstance(asked, Mapping) else None
    asked = each.get(name) if each is not None else asked
    if asked is None:
        odd = " whose elements are not all tf32" if array.dtype == host_dtype(wanted) else ""
        raise DTypeError(
            "run",
            {name: array.dtype},
            f"{name} is {array.dtype.name}{odd}, the kernel {verb} {wanted}",
            f'ask for rounding with dtype="{wanted}", or convert it yourself'
            if each is None
            else f'add "{name}": "{wanted}" to dtype, or convert {name} yourself',
        )
    if asked != wanted:
        raise DTypeError(
            "run",
            {"dtype": asked, "kernel": wanted},
            f"rounding to {asked} was asked for, the kernel {verb} {wanted}",
            f"use dtype={types}"
            if types
            else f'use dtype="{wanted}", dtype={{"{name}": "{wanted}"}} or another MMA atom',
        )


def _check_exact(array: NDArray[Any]) -> None:
    long = array.dtype.kind == "f" and array.dtype.itemsize > 8
    big = array.dtype.kind in "iu" and array.dtype.itemsize == 8 and array.size > 0
    if long or (big and (array.max() > 2**53 or array.min() < -(2**53))):
        raise DTypeError(
            "rounded",
            {"array": array.dtype},
            "float64 does not hold every element, so rounding would be done twice",
            "convert to float64 yourself",
        )


def _aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Reserve an array on a 64-byte address, where a surface may start."""
    nbytes = prod(shape) * dtype.itemsize
    room = np.empty(nbytes + 64, dtype=np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + nbytes].view(dtype).reshape(shape)


# ------------------------------------------------------------ report
# What a run did, for people and programs.


@checked_fields
@dataclass(frozen=True)
class Report:
    """The work of a run: messages and bytes by kind, DPAS instructions, barriers, copies.

    Messages count those of all subgroups; bytes are those inside the surfaces; ``copies`` names
    the operands whose arrays the target could not address as they lie, so that they were copied
    onto a legal surface. ``doubts`` says which atoms of the kernel do something else than their
    layouts claim. ``why`` says what kept the fast executor from whole arrays, so that the byte
    machine ran; it is empty where nothing did. ``seconds`` is the time that it took, neither shown
    nor compared. Both executors report the same work.
    """

    executor: str
    sizes: dict[str, int]
    messages: dict[str, int]
    bytes: dict[str, int]
    dpas: int
    barriers: int
    copies: tuple[str, ...]
    seconds: float = field(compare=False)
    doubts: tuple[str, ...] = ()
    why: str = ""

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Refuse a time that no run took."""
        if not 0 <= self.seconds < 1e9:
            given = {"seconds": self.seconds}
            raise InputError("Report", given, "a run takes 0 to 1e9 seconds", "give its time")

    def __repr__(self) -> str:
        """The sizes, the executor and the time."""
        return glance(self)

    def __str__(self) -> str:
        """One line for each kind of work."""
        extents = " ".join(f"{name}={extent}" for name, extent in self.sizes.items())
        lines = [f"{extents} by the {self.executor} executor"]
        for kind, count in self.messages.items():
            lines.append(f"  {kind:9} {count:>12,} messages {self.bytes.get(kind, 0):>15,} bytes")
        lines.append(f"  dpas      {self.dpas:>12,} instructions")
        lines.append(f"  barriers  {self.barriers:>12,}")
        if self.copies:
            lines.append(f"  copied onto a legal surface: {', '.join(self.copies)}")
        if self.why:
            lines.append(f"  byte by byte: {self.why}")
        lines += [f"  not vouched for: {doubt}" for doubt in self.doubts]
        return "\n".join(lines)


# ------------------------------------------------------------ problem


@dataclass(frozen=True)
class Problem:
    """Extents by name, and the arrays that a kernel is given: one for each of ``kernel.inputs``.

    Arrays have the operand's modes in its order and its `host_dtype`; scalars are arrays without
    modes. They are the user's own, which no work-group writes. Where a run is of a part of a grid,
    ``pages`` asks for memory that is made where it is touched, and inputs are `Field`s.
    """

    kernel: Kernel
    sizes: dict[str, int]
    inputs: dict[str, Any]
    pages: bool = False

    @property
    def empty(self) -> bool:
        """Whether any extent is zero, so that no message would be sent."""
        return not all(self.sizes.values())

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the extents of an operand."""
        return shape_of(self.kernel.operand(name), self.sizes)

    def blank(self, name: str) -> NDArray[Any]:
        """Return an output as it is before a kernel runs: poison, what was handed in, zero."""
        operand = self.kernel.operand(name)
        if operand.role == "inout":
            return np.array(self.inputs[name])
        if operand.is_counter:
            return np.zeros(self.shape(name), host_dtype(operand.value_type))
        return poison(operand, self.shape(name))


def poison(operand: Operand, shape: tuple[int, ...]) -> NDArray[Any]:
    """Return an array whose every bit is one: NaN in floats, the number of all ones in integers.

    >>> poison(Operand("D", "f32", ("M",)), (1,)), poison(Operand("D", "u8", ("M",)), (1,))
    (array([nan], dtype=float32), array([255], dtype=uint8))
    """
    dtype = host_dtype(operand.value_type)
    if operand.value_type.bits < 8 and operand.value_type.kind == "float":
        return np.full(shape, (1 << operand.value_type.bits) - 1, np.uint8).view(dtype)
    if operand.value_type.bits < 8:
        ones = -1 if operand.value_type.kind == "signed" else (1 << operand.value_type.bits) - 1
        return np.full(shape, ones, dtype)
    out = np.empty(shape, dtype)
    out.view(np.uint8)[...] = 0xFF
    return out


def prepare(
    kernel: Kernel, operands: tuple[Any, ...], named: Mapping[str, Any], asked: Asked
) -> Problem:
    """Bind arrays to the inputs of a kernel, by position in the order of the listing or by name.

    Sizes that no input tells may be given by name too. Raises `InputError` for too many, unknown,
    missing or doubled operands and for shapes that do not match, `DTypeError` as `as_array` does.
    """
    given = _bound(kernel, operands, named)
    for name in asked if isinstance(asked, Mapping) else ():
        if name not in {operand.name for operand in kernel.inputs}:
            listed = ", ".join(operand.name for operand in kernel.inputs)
            wrong = f"{name} of dtype is not an operand; the kernel takes {listed}"
            raise InputError("run", {"dtype": name}, wrong, f"name one of {listed}")
    sizes = {name: _size(name, value) for name, value in given.items() if name in kernel.sizes}
    kinds = {operand.name: operand.value_type for operand in kernel.inputs if operand.modes}
    each = ", ".join(f'"{name}": "{kind}"' for name, kind in kinds.items())
    types = f"{{{each}}}" if len({*kinds.values()}) > 1 else ""
    inputs = {
        operand.name: as_array(
            operand.name,
            given[operand.name],
            operand.value_type,
            len(operand.modes),
            asked,
            "multiplies" if operand.value_type in _multiplied(kernel) else "takes",
            types,
        )
        for operand in kernel.inputs
    }
    shapes = {name: array.shape for name, array in inputs.items()}
    problem = Problem(kernel, bind_sizes(kernel.operands, shapes, sizes), inputs)
    demand_tables("run", problem)
    return problem


def demand_tables(verb: str, problem: Problem) -> None:
    """Raise `InputError` for tables of which what is assumed is not so."""
    kernel, sizes = problem.kernel, problem.sizes
    assumed = kernel.computes.tables if kernel.computes is not None else ()
    tables = {name: problem.inputs[name] for one in assumed for name in one.tables}
    key = None
    if all(isinstance(x, np.ndarray) and x.nbytes <= SMALL for x in tables.values()):
        shown = ((name, x.dtype, x.shape, x.tobytes()) for name, x in sorted(tables.items()))
        key = kernel, *sizes.items(), *shown
    if key in _kept:
        return
    modes = {o.name: o.modes for o in kernel.operands} if assumed else {}
    demand_kept(verb, kernel.name, assumed, modes, tables, sizes)
    while len(_kept) >= KEPT:
        _kept.pop(next(iter(_kept)), None)
    if key is not None:
        _kept[key] = None


KEPT, SMALL = 64, 1 << 16
"""Runs of which it is remembered that tables keep what is assumed; bytes of such a table."""
_kept: dict[object, None] = {}


def _bound(kernel: Kernel, operands: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    names = [operand.name for operand in kernel.inputs]
    listed = ", ".join(names) or "nothing"
    if len(operands) > len(names):
        raise InputError(
            "run",
            {"kernel": kernel.name, "operands": len(operands)},
            f"{len(operands)} operands were given, the kernel takes {listed}",
            "give one for each",
        )
    given = dict(zip(names, operands, strict=False))
    for name, value in named.items():
        if name in given:
            raise InputError(
                "run",
                {"kernel": kernel.name, "operand": name},
                f"{name} was given by position and by name",
                "give it once",
            )
        if name not in names and name not in kernel.sizes:
            known = {operand.name for operand in kernel.operands}
            what = "is an output" if name in known else "is not an operand"
            raise InputError(
                "run",
                {"kernel": kernel.name, "operand": name},
                f"{name} {what}; the kernel takes {listed}",
                "name one of these",
            )
        given[name] = value
    missing = [name for name in names if name not in given]
    if missing:
        raise InputError(
            "run",
            {"kernel": kernel.name, "missing": ", ".join(missing)},
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; "
            f"the kernel takes {listed}",
            "give every one, in this order or by name",
        )
    return given


def _size(name: str, value: Any) -> int:
    if isinstance(value, np.integer):
        value = value.item()
    if type(value) is not int or value < 0:
        raise InputError(
            "run", {name: value}, f"{name} is an extent, {value!r} is not a count", "use 0 or more"
        )
    return value


@lru_cache(maxsize=128)
def _multiplied(kernel: Kernel) -> frozenset[Numeric]:
    """Return the types that a kernel multiplies."""
    products = (s.touched.product for s in kernel.statements())
    ops = (product.mma.atom.op for product in products if product is not None)
    return frozenset(kind for op in ops for kind in (op.A, op.B))
