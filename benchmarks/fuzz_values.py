"""What the fuzzer calls, and what it calls it with: public callables, and values good and bad."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import sympy

import pycute_xe as cx

__all__ = ["Subject", "arguments", "subjects"]

MODULES = (
    "pycute_xe",
    "pycute_xe.algebra",
    "pycute_xe.arch",
    "pycute_xe.arch.dpas",
    "pycute_xe.arch.lsc",
    "pycute_xe.atom",
    "pycute_xe.checking",
    "pycute_xe.comparing",
    "pycute_xe.compat.pycute",
    "pycute_xe.cutlass",
    "pycute_xe.dialects",
    "pycute_xe.differing",
    "pycute_xe.drawing",
    "pycute_xe.esimd",
    "pycute_xe.esimd.xmx",
    "pycute_xe.executing",
    "pycute_xe.explaining",
    "pycute_xe.kernel",
    "pycute_xe.machine",
    "pycute_xe.naming",
    "pycute_xe.notation",
    "pycute_xe.printing",
    "pycute_xe.symbolic",
    "pycute_xe.verifying",
)
OWN = "pycute_xe"
# What stands behind the notation of a value: called by name here, with what an operator may get.
OPERATORS = (
    *("__call__", "__getitem__", "__setitem__", "__contains__", "__eq__", "__lt__", "__hash__"),
    *("__le__", "__gt__", "__ge__", "__ne__"),
    *("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__len__"),
    *("__mod__", "__rmod__", "__floordiv__", "__rfloordiv__", "__divmod__", "__rdivmod__"),
    *("__truediv__", "__rtruediv__", "__pow__", "__rpow__", "__matmul__", "__rmatmul__"),
    *("__and__", "__rand__", "__or__", "__ror__", "__xor__", "__rxor__", "__invert__"),
    *("__lshift__", "__rlshift__", "__rshift__", "__rrshift__", "__neg__", "__pos__", "__abs__"),
    *("__iter__", "__str__", "__repr__", "__bool__", "__int__", "__float__", "__index__"),
    *("__reversed__", "__format__", "__round__", "__trunc__", "__floor__", "__ceil__"),
)


@dataclass(frozen=True)
class Subject:
    """Something public that can be called, the kinds of its parameters as annotated, by name."""

    name: str
    call: Callable[..., Any]
    signature: inspect.Signature | None


@cache
def good_values() -> dict[str, tuple[Any, ...]]:
    """Values of the library and of its users, by a word of the annotation that asks for them."""
    layouts = (
        cx.Layout((4, 8), (8, 1)),
        cx.Layout(((2, 2), 3), ((1, 6), 2)),
        cx.Layout(7),
        cx.Layout((), ()),
        cx.Layout((1, 5), (3, 2)),
        cx.Layout((4, 4), (0, -1)),
        cx.make_identity_layout((4, 4)),
        cx.Layout((cx.symbol("m"), 4)),
    )
    swizzled = (cx.ComposedLayout(cx.Swizzle(2, 0, 3), 0, cx.Layout((8, 8))),)
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (16, 32, 16), ((2, 1, 1), (1, 1, 0)))
    makers = (cx.make_block_2d_copy_A, cx.make_block_2d_copy_B)
    copies = tuple(make(mma, ("ld", 1)) for make in makers)
    kernel = cx.kernel.gemm(mma)
    ended = cx.kernel.gemm(
        mma,
        epilogue="relu(alpha * acc + beta * C + bias[n])",
        types={"C": "bf16"},
        orders={"C": "col"},
        also={"E": "acc"},
    )
    run = cx.run(kernel, np.ones((2, 3)), np.ones((3, 4)), dtype="bf16", report=True)
    wrong = kernel.replace(kernel.body[0], cx.kernel.Fill("tCrC", 1.0))
    verdicts = (cx.verify(kernel, {"M": 16, "N": 32, "K": 16}), cx.verify(wrong))
    atoms = tuple(
        map(cx.get_atom, ("XE_2D_U16x32x16_LD_V", "XE_LOAD_2D<16,32,32>", "XE_DPAS_TT<4,s32,s8>"))
    )
    tensors = (cx.make_tensor(np.arange(32), layouts[0]), cx.make_identity_tensor((4, 8)))
    arrays = (np.ones((5, 7), np.float32), np.ones((7, 3)), np.arange(4), np.float32(3))
    numbers = (*range(-2, 18), 32, 64, 256, 1 << 20, 1 << 40, 2**63, 10**30, cx.symbol("m"))
    texts = (
        *("A", "B", "C", "D", "row", "col", "bmg", "pvc", "bf16", "f32", "s8", "M", "free", "in"),
        *("XE_2D_U16x16x16_LD_N", "XE_DPAS_TT<8,f32,bf16>", "(4,8):(8,1)", "fast", "memory"),
        "lsc_load.ugm (M1, 16) V10:d32 flat[V20]:a64",
    )
    return {
        "Layout": (*layouts, *swizzled),
        "Tensor": tensors,
        "Tiled": (mma, *copies),
        "Thr": (mma.get_slice(3), copies[0].get_slice(3)),
        "Kernel": (kernel, ended, wrong),
        "Verdict": (*verdicts, verdicts[1].counterexample, run[1]),
        "Counterexample": (verdicts[1].counterexample,),
        **_parts_of_kernels(ended, copies),
        **_tensors(),
        "F2": (cx.F2(3), cx.F2(0), cx.as_f2(layouts[0]), cx.as_f2(swizzled[0])),
        "Symbol": (cx.symbol("N"), cx.symbol("m", multiple_of=4), *map(sympy.Symbol, "xm")),
        "Atom": (mma.atom, *atoms),
        "Copy": (*copies, *atoms),
        "Dpas": (cx.XE_DPAS_TT(8, "f32", "bf16"),),
        "Op": (cx.XE_LOAD_2D(16, 8, 16), cx.XE_STORE_2D(32, 8, 16), cx.XE_ATOMIC("f32")),
        "Target": (cx.get_target("bmg"), "pvc", "bmg"),
        "Swizzle": (cx.Swizzle(2, 3, 3), cx.Swizzle(0, 4, 3)),
        "Basis": (cx.E(0), cx.E(1, 0)),
        "NDArray": arrays,
        "int": numbers,
        "str": texts,
        "bool": (True, False),
        "float": (2.5, 0.0, -1.5, float("nan"), float("inf"), 1e300),
        "Shape": ((4, 8), ((2, 2), 3), 8, (), (8, 4, 1), ((4, 4), (2, (3, 5)))),
        "IntTuple": ((1, 2), ((0, 1), 3), (None, 2), (8, 1), ((1, 2), (3, (4, 5)))),
        "Numeric": ("bf16", "f32", "s8", cx.as_numeric("f16")),
        "Mapping": ({"K": 32}, {"a": layouts[0]}, {}, {"k": cx.kernel.Index("j", 1)}),
        "epilogue": ("relu(acc)", "alpha*acc + C", "acc + bias[n", "X[m,k]", "acc**2", "max(acc)"),
        "dict[str": (
            *({"C": "bf16"}, {"C": "col"}, {"E": "2*acc"}, {"D": 3}, {"acc": "acc"}, {3: "row"}),
        ),
        "Callable": (lambda *values: len(values), lambda *values: values[0]),
    }


def _tensors() -> dict[str, tuple[Any, ...]]:
    """Layouts of other projects, tensors under them, and what it takes to convert them."""
    text = "#xegpu.layout<lane_layout = [%d, %d], lane_data = [1, 1]>"
    encodings = tuple(cx.dialects.parse(text % grid) for grid in ((1, 16), (16, 1)))
    tensors: tuple[Any, ...] = tuple(cx.dialects.layout_of(one, (16, 16)) for one in encodings)
    made = cx.dialects.convert(*tensors)
    return {
        "Distributed": tensors,
        "Encoding": encodings,
        "LinearLayout": (tensors[0].linear, made.steps),
        "Conversion": (made,),
    }


def _parts_of_kernels(kernel: cx.Kernel, copies: tuple[Any, ...]) -> dict[str, tuple[Any, ...]]:
    """Indices, expressions, statements and what else a kernel is made of."""
    k = cx.kernel.Index("k")
    indices = (
        *(k, 32 * k + 3, (k * 5 + 3) // 8, cx.kernel.Tiles("K", 32) - 1),
        *(cx.kernel.Index(), cx.kernel.Index.element("table", k)),
    )
    element = cx.kernel.Element("A", (cx.kernel.Index("m"), k))
    values = (
        *(element, cx.kernel.Slot("tCrC"), cx.kernel.total("k", "K", element)),
        *(cx.kernel.apply("relu", element + 1), cx.kernel.rounded_to("bf16", element)),
    )
    shared = cx.kernel.Shared("tile", cx.as_numeric("bf16"), 512)
    flat = cx.Layout((4, 64))
    reads = (cx.kernel.SharedStore("tCrC", "tile", flat), cx.kernel.SharedLoad("tile", "x", flat))
    more = (
        *(cx.kernel.Fence(), cx.kernel.Convert("tCrC", "x"), *reads),
        *(cx.kernel.Reduce("max", "tCrC", "x", flat), cx.kernel.Reorder("tCrC", "x", flat)),
        *(cx.kernel.AtomicStore(copies[0], "D", (k, k), "tCrC"), cx.kernel.Touched(("x",))),
    )
    kinds = {type(statement): statement for statement in (*cx.kernel.walk(kernel.body), *more)}
    claims = kernel.computes
    assert claims is not None
    return {
        "Index": indices,
        "tuple[Index": (indices[:2], indices[1:3], (0, k), ("k", 3)),
        "Expression": values,
        "Fragment": (*kernel.fragments, shared),
        "Operand": (*kernel.operands, cx.kernel.matrix("B", "bf16", ("K", "N"), "col")),
        "Statement": tuple(kinds.values()),
        "tuple[Statement": (kernel.body, kernel.body[:1]),
        "tuple[Operand": (kernel.operands,),
        "tuple[Fragment": (kernel.fragments,),
        "tuple[tuple[str": (kernel.grid, (("k", k),), (("tCrC", values[0]),)),
        "Specification": (claims,),
        "Claim": claims.claims,
        "tuple[Claim": (claims.claims,),
        "Meanings": (cx.kernel.Meanings("tries"),),
        "Order": ("row", "col"),
    }


class Bad:
    """A value that no operation knows."""

    def __repr__(self) -> str:
        """Without the address, which changes from run to run."""
        return "Bad()"


def nested(depth: int, leaf: Any = 2) -> Any:
    """Return a tuple that many levels deep."""
    for _ in range(depth):
        leaf = (leaf,)
    return leaf


@cache
def junk() -> tuple[Any, ...]:
    """Values that are a slip, or an attack, nearly everywhere."""
    return (
        *(
            None,
            True,
            1.5,
            float("nan"),
            float("inf"),
            -1,
            0,
            1j,
            b"x",
            "",
            "K",
            "\ud800",
            "ÿ(",
            "x" * 5000,
        ),
        *(
            [],
            [1, 2],
            {},
            {"K": "32"},
            {1: 2},
            {3},
            range(4),
            Bad(),
            Fraction(1, 3),
        ),
        *((None,), ((),), (1, (2, "x")), (1.0, 2), (True, 2), ("4", 8), nested(50), nested(1200)),
        *(1 << 62, 1 << 63, -(1 << 70), 10**400, (1 << 40, 1 << 40), tuple(range(300))),
        *(np.int64(4), np.float32(2), np.zeros(3), np.array(["a"]), np.array([None]), slice(None)),
        *(int, float, type(None), type, len, abs, cx.Layout, (value for value in (1, 2)), iter([])),
        *(
            np.zeros((0, 3)),
            np.zeros((2, 0)),
            np.zeros(()),
            np.arange(6).reshape(2, 3),
            np.bool_(True),
        ),
        *(2**31, 2**32, 2**64 - 1, -(2**63), 1e300, sympy.Symbol("x"), sympy.Integer(4), sympy.oo),
        *(frozenset(), bytearray(b"ab"), memoryview(b"ab"), complex(1, 1), lambda x: x, "0" * 400),
        *(slice(1, None, 2), Ellipsis, NotImplemented, Path("no/such"), ValueError("x")),
    )


def arguments(rng: random.Random, subject: Subject) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments that bind, most of them: plausible ones, with a slip here and there."""
    if subject.signature is None:
        return tuple(_any(rng) for _ in range(rng.randrange(3))), {}
    trust = rng.choice((0.0, 0.5, 0.8, 1.0))
    given: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in subject.signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            given += [_one(rng, parameter, trust) for _ in range(rng.randrange(4))]
        elif parameter.kind is parameter.VAR_KEYWORD:
            continue
        elif parameter.default is not parameter.empty and rng.random() < 0.6:
            if parameter.kind is not parameter.KEYWORD_ONLY:
                break
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named[parameter.name] = _one(rng, parameter, trust)
        else:
            given.append(_one(rng, parameter, trust))
    if rng.random() < 0.02:
        given.append(_any(rng))  # one too many
    return tuple(given), named


def _one(rng: random.Random, parameter: inspect.Parameter, trust: float) -> Any:
    if rng.random() >= trust:
        return _any(rng)
    asked = str(parameter.annotation)
    kinds = [values for word, values in good_values().items() if word in asked]
    return rng.choice(rng.choice(kinds)) if kinds else _any(rng)


def _any(rng: random.Random) -> Any:
    pools = (junk(), rng.choice(tuple(good_values().values())))
    return rng.choice(rng.choice(pools))


@cache
def subjects() -> tuple[Subject, ...]:
    """Return every public function, class and method, by name, each once."""
    found: dict[int, Subject] = {}
    for module in map(import_module, MODULES):
        names = getattr(module, "__all__", None) or [n for n in dir(module) if n[0] != "_"]
        for name in sorted(names):
            value = getattr(module, name)
            if not callable(value) or not str(getattr(value, "__module__", "")).startswith(OWN):
                continue
            if not (isinstance(value, type) and issubclass(value, Enum)):  # Python looks these up
                found.setdefault(id(value), _subject(f"{module.__name__}.{name}", value))
    methods = (m for values in good_values().values() for v in values for m in _methods(v))
    return (*found.values(), *{subject.name: subject for subject in methods}.values())


def _methods(value: Any) -> Iterator[Subject]:
    """Yield what can be called on a value of the library, properties asked included."""
    kind = type(value)
    if not kind.__module__.startswith("pycute_xe"):
        return
    for name in sorted(n for n in dir(kind) if n[0] != "_" or n in OPERATORS):
        label = f"{kind.__name__}[{str(value)[:40]}].{name}"
        if isinstance(getattr(kind, name, None), property) or not callable(
            getattr(kind, name, None)
        ):
            yield Subject(label, partial(getattr, value, name), inspect.Signature())
        elif getattr(kind, name) is not getattr(object, name, None):
            yield _subject(label, getattr(value, name))


def _subject(name: str, call: Callable[..., Any]) -> Subject:
    try:
        return Subject(name, call, inspect.signature(call))
    except (TypeError, ValueError):
        return Subject(name, call, None)
