"""Floor 9: `verify`, the verb."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from time import perf_counter

from pycute_xe.errors import KernelError
from pycute_xe.kernel import Kernel
from pycute_xe.signatures import typed
from pycute_xe.verifying.bounds import bounds_failure
from pycute_xe.verifying.fragments import fragment_failure
from pycute_xe.verifying.products import product_failure
from pycute_xe.verifying.regions import effort
from pycute_xe.verifying.scope import Failure, Scope
from pycute_xe.verifying.stores import Writes, coverage_failure, value_failure
from pycute_xe.verifying.verdict import Proof, Verdict

__all__ = ["verify"]

CLIPPED = "outside a surface loads give zero and stores are dropped, value by value"
SURFACES = (
    "surfaces as their messages need them: base, width and pitch legal for the target, extents "
    "below 2**24 (`run` copies operands onto such surfaces)"
)
ORDER = "any order of adding up the products of an element is accepted"
STEPS = 3_000_000
RACES = "nothing else writes to D meanwhile"


@typed
def verify(kernel: Kernel, params: Mapping[str, int] | None = None) -> Verdict:
    """Prove that a kernel computes D = A B for all M, N, K >= 1, or find a smallest counterexample.

    The proofs follow the statements: what messages put into registers, what instructions take them
    for, what is summed and what is stored; they do not trust what the layouts of copies claim.
    ``params`` fixes some of the sizes, by name. Raises `KernelError` for statements the proofs
    do not understand or cannot decide, `InputError` for other params.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> bool(verify(gemm))
    True
    >>> import dataclasses
    >>> loop = gemm.loop("k")
    >>> short = gemm.replace(loop, dataclasses.replace(loop, stop=loop.stop - 1))
    >>> print(verify(short).counterexample)
    products: the product A[0,0] B[0,0] is never added to the accumulator of D[0,0]
      M=1 N=1 K=1: work-group (0,0), K tile 0, work-item 0 (subgroup 0, lane 0), value 0
    """
    if not isinstance(kernel, Kernel):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise KernelError(
            "verify",
            {"kernel": type(kernel).__name__},
            "only kernels are verified",
            "build one with kernel.gemm(mma)",
        )
    scope = Scope(kernel, params)
    writes = cache(partial(Writes, scope))
    with effort(STEPS):
        proved = [_proved(*question) for question in _questions(scope, writes)]
    failures = [failure for _, failure in proved if failure is not None]
    least = min(failures, key=lambda failure: failure.key, default=None)
    return Verdict(
        kernel.name,
        _words({} if params is None else params),
        tuple(proof for proof, _ in proved),
        least.counterexample if least else None,
    )


Question = tuple[str, str, tuple[str, ...], Callable[[], Failure | None]]


def _questions(scope: Scope, writes: Callable[[], Writes]) -> tuple[Question, ...]:
    return (
        *(
            (
                f"{role} fragment",
                f"every register that DPAS reads holds the {role}[{index}] it is taken for",
                (CLIPPED, SURFACES),
                partial(fragment_failure, scope, role),
            )
            for role, index in (("A", "m,k"), ("B", "n,k"))
        ),
        (
            "products",
            "every A[m,k] B[k,n] is added exactly once to an accumulator that starts at zero",
            (ORDER,),
            partial(product_failure, scope),
        ),
        (
            "D coverage",
            "every D[m,n] is written exactly once",
            (CLIPPED, SURFACES, RACES),
            lambda: coverage_failure(scope, writes()),
        ),
        (
            "D values",
            "what is written to D[m,n] is the accumulator of D[m,n]",
            (CLIPPED, SURFACES),
            lambda: value_failure(scope, writes()),
        ),
        (
            "bounds",
            "messages start at coordinates >= 0, on whole elements and whole registers",
            (CLIPPED, SURFACES),
            partial(bounds_failure, scope),
        ),
    )


def _proved(
    name: str, statement: str, assumptions: tuple[str, ...], find: Callable[[], Failure | None]
) -> tuple[Proof, Failure | None]:
    start = perf_counter()
    failure = find()
    counterexample = failure.counterexample if failure else None
    seconds = perf_counter() - start
    return Proof(name, failure is None, statement, assumptions, seconds, counterexample), failure


def _words(params: Mapping[str, int]) -> str:
    free = ", ".join(name for name in "MNK" if name not in params)
    fixed = ", ".join(f"{name} = {value}" for name, value in params.items())
    return " with ".join(filter(None, (f"for all {free} >= 1" if free else "", fixed)))
