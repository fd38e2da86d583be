"""Kernels by which a verifier is attacked: right ones and wrong ones, and how runs tell them apart.

Which is which is never taken from the package's own reading of a specification: a kernel is right
where the reference executor gives what `specification_values` says, on chosen inputs.
"""

from __future__ import annotations

import dataclasses
import itertools
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from small_kernels import fragment, load_of, shared_array, store_of
from specification_values import NoValueError, computed, rounded
from unsound_kernels import GRID, A, kernel, load, store

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype
from pycute_xe.errors import CuteError
from pycute_xe.kernel import (
    BarrierArrive,
    BarrierWait,
    Claim,
    Fence,
    Index,
    Kernel,
    Operand,
    SharedLoad,
    SharedStore,
    Specification,
    Statement,
    Tiles,
)
from pycute_xe.kernel.spec.expression import as_expression
from pycute_xe.layout import Layout
from pycute_xe.verifying.verdict import Verdict

Sizes = dict[str, int]
Inputs = Callable[[Kernel, Sizes], dict[str, Any]]
SMALL: tuple[Sizes, ...] = ({"M": 1, "N": 1}, {"M": 9, "N": 17}, {"M": 16, "N": 16})


@dataclass(frozen=True)
class Attack:
    """A kernel, whether it is right, and the problems on which a run tells.

    ``decided`` are those of which an answer is demanded; ``told`` those that no run can tell, as
    they go wrong at sizes that take too long.
    """

    name: str
    make: Callable[[], Kernel]
    right: bool
    sizes: tuple[Sizes, ...] = SMALL
    inputs: tuple[Inputs, ...] = field(default_factory=lambda: (integers,))
    decided: bool = False
    told: bool = True
    params: Mapping[str, int] = field(default_factory=dict[str, int])
    tolerance: float = 0.0

    def __str__(self) -> str:
        """The name."""
        return self.name


# ---------------------------------------------------------------- inputs


def integers(kernel: Kernel, sizes: Sizes, seed: int = 0) -> dict[str, Any]:
    """Small integers of both signs, none zero, so that a factor or a term left out shows."""
    rng = np.random.default_rng(seed)
    out: dict[str, Any] = {}
    for operand in kernel.inputs:
        shape = tuple(mode.at(sizes) for mode in operand.modes)
        low = 1 if operand.value_type.kind == "unsigned" else -5
        least = max(
            low, -(2 ** (operand.value_type.bits - 1)) if operand.value_type.bits < 4 else low
        )
        drawn = rng.integers(least, 6, shape)
        out[operand.name] = np.where(drawn == 0, 3, drawn).astype(dtype(operand))
    return out


def dtype(operand: Operand) -> Any:
    """NumPy's type of an operand."""
    return np.float32 if operand.value_type.name == "tf32" else numpy_dtype(operand.value_type)


def filled_with(*values: float) -> tuple[Inputs, ...]:
    """Inputs that are one of these numbers everywhere, each in turn."""

    def of(value: float) -> Inputs:
        def every(kernel: Kernel, sizes: Sizes) -> dict[str, Any]:
            found = integers(kernel, sizes)
            with np.errstate(over="ignore"):
                return {
                    n: np.full_like(x, np.array(value).astype(x.dtype)) for n, x in found.items()
                }

        return every

    return tuple(map(of, values))


# ---------------------------------------------------------------- the truth


def how_wrong(attack: Attack, made: Kernel) -> str:
    """Say how a run is not what is claimed; empty where every one is."""
    for sizes, inputs in itertools.product(attack.sizes, attack.inputs):
        given = inputs(made, {**sizes, **attack.params})
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                found: Any = cx.run(made, **given, **left(made, given, sizes), executor="reference")
            except CuteError as error:
                return f"{sizes}: {error}"
            try:
                wanted = computed(made, given, sizes)
            except NoValueError as error:
                return f"{sizes}: {error}"
        arrays = found if isinstance(found, tuple) else (found,)
        for operand, actual in zip(made.outputs, arrays, strict=True):
            expected = held(wanted[operand.name], operand)
            if not same(np.asarray(actual).astype(np.float64), expected, attack.tolerance):
                return f"{sizes}: {operand.name} is not what is claimed"
    return ""


def held(wanted: Any, operand: Operand) -> Any:
    """What an output holds of a claim: roundings to f32, f64 and integers need not be said."""
    kind = operand.value_type
    implied = kind.kind != "float" or kind.bits >= 32
    value = rounded(wanted, kind.name) if implied else wanted
    return np.asarray(value, np.float64)


def same(actual: Any, expected: Any, tolerance: float) -> bool:
    if tolerance:
        return bool(np.allclose(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True))
    return np.array_equal(actual, expected, equal_nan=True)


def left(made: Kernel, given: Mapping[str, Any], sizes: Sizes) -> Sizes:
    """The sizes that no input tells."""
    told = {str(mode) for operand in made.inputs if operand.name in given for mode in operand.modes}
    return {name: size for name, size in sizes.items() if name not in told}


# ---------------------------------------------------------------- the demand


def answered(attack: Attack) -> Verdict:
    """Ask for the verdict, and demand of it what is demanded of every answer."""
    made = attack.make()
    if attack.told:
        wrong = how_wrong(attack, made)
        assert bool(wrong) != attack.right, f"the case itself is not what it says: {wrong}"
    verdict = cx.verify(made, dict(attack.params))
    if attack.right:
        assert verdict.answer not in ("disproved", "needs"), f"right, and yet:\n{verdict}"
    else:
        assert verdict.answer != "proved", f"wrong, and yet:\n{verdict}"
    if verdict.counterexample is not None:
        assert cx.replay(made, verdict.counterexample).shows, f"nothing is shown:\n{verdict}"
    if attack.decided:
        assert verdict.answer != "undecided", f"undecided:\n{verdict}"
    return verdict


# ---------------------------------------------------------------- two subgroups

TALL = Tiles("M", 16)
FENCED = (Fence(), BarrierArrive(), BarrierWait())


def of_two(
    *body: Statement,
    claim: Any = A,
    more: tuple[Operand, ...] = (),
    grid: Any = None,
    stages: int = 0,
    kind: str = "f32",
    loads: bool = True,
) -> Kernel:
    """Two subgroups with 8 rows each of a tile of 16 load A into x; D is stored of x.

    ``stages`` of an array ``s`` have room for what both hold; ``y`` and ``z`` are registers too.
    """
    rows = Layout(((16, 2), 8), ((16, 8), 1))
    at = (Index("m") * 16, Index("n") * 16)
    into = dataclasses.replace(
        load_of("A", "x", kind),
        at=at,
        copy=cx.make_tiled_copy(load_of("A", "x", kind).copy.atom, rows, (16, 16)),
    )
    out = dataclasses.replace(
        store_of("D", "x", kind),
        at=at,
        copy=cx.make_tiled_copy(store_of("D", "x", kind).copy.atom, rows, (16, 16)),
    )
    operands = (
        Operand("A", kind, ("M", "N")),
        *more,
        Operand("D", kind, ("M", "N"), role="out"),
    )
    grid = grid or (("m", TALL), ("n", Tiles("N", 16)))
    program = (into, *body, out) if loads else body
    claims = Specification((Claim("D", ("m", "n"), as_expression(claim)),))
    shared = (shared_array("s", kind, 256 * stages),) if stages else ()
    fragments = tuple(fragment(name, kind, 8) for name in "xyz")
    return Kernel("attacked", 2, operands, fragments, grid, program, claims, shared)


def put(stage: Index | int) -> SharedStore:
    """Both subgroups store x to their half of a stage."""
    return SharedStore("x", "s", Layout((2, 128), (128, 1)), 256 * index(stage))


def take(stage: Index | int) -> SharedLoad:
    """Both load what subgroup 0 stored to a stage into y."""
    return SharedLoad("s", "y", Layout((2, 128), (0, 1)), 256 * index(stage))


def index(value: Index | int) -> Index:
    return value if isinstance(value, Index) else Index(None, value)


TRIPS = Operand("T", "f32", ("K",))
"""An operand that says how many trips there are, and is not used otherwise."""


def problems(*trips: int) -> tuple[Sizes, ...]:
    """The smallest problem with each number of trips."""
    return tuple({"M": 1, "N": 1, "K": k} for k in trips)


def copied(*body: Statement, claim: Any = A, **options: Any) -> Kernel:
    """One subgroup loads A into x and stores D of x; see `unsound_kernels.kernel`."""
    kind = options.get("kinds", ("f32",))[0]
    return kernel(claim, load("A", "x", kind=kind), *body, store("D", "x", kind=kind), **options)


def names(attacks: Iterable[Attack]) -> list[str]:
    """The names of attacks, each of which is given once."""
    found = [attack.name for attack in attacks]
    assert len({*found}) == len(found)
    return found


__all__ = [
    "FENCED",
    "GRID",
    "TRIPS",
    "Attack",
    "answered",
    "copied",
    "filled_with",
    "how_wrong",
    "integers",
    "names",
    "of_two",
    "problems",
    "put",
    "take",
]
