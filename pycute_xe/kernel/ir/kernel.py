"""A kernel as a value, what its statements should compute, and how much a run of it takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import prod

from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import CuteError, InputError, KernelError
from pycute_xe.kernel.index import as_index
from pycute_xe.kernel.ir.checks import check_program
from pycute_xe.kernel.ir.listing import listing
from pycute_xe.kernel.ir.operands import shape_of
from pycute_xe.kernel.ir.program import Program, walk
from pycute_xe.kernel.ir.statements import If, Loop, Statement
from pycute_xe.signatures import typed, typed_fields
from pycute_xe.typing import glance, shown

__all__ = [
    "Kernel",
    "MOST_BYTES",
    "MOST_GROUPS",
    "MOST_STEPS",
    "MOST_TRIPS",
    "amount",
    "groups_in",
    "launches",
    "steps",
    "trips",
    "weight",
    "work_in",
]


@typed_fields
@dataclass(frozen=True)
class Kernel(Program):
    """What each work-group of a grid does to operands in memory.

    ``grid`` binds a variable to the number of work-groups along an axis; ``body`` is what each of
    ``subgroups`` subgroups of a work-group executes; ``computes`` says what should come of it, and
    no reader makes the one from the other. ``plan`` says by which names it follows a plan, if it
    does. Raises `KernelError` for a name that is unknown or bound
    twice, a fragment that some path reads before it is written, a barrier of which some path does
    only one half, and for types and sizes that do not fit.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> gemm.name, len(gemm.operands), hash(gemm) == hash(gemm)
    ('gemm', 3, True)
    """

    _repr_mimebundle_ = shown

    def __repr__(self) -> str:
        """The kind and the first line of the text."""
        return glance(self)

    def __post_init__(self) -> None:
        """Check that the statements fit the operands, the fragments and one another."""
        object.__setattr__(
            self, "grid", tuple((name, as_index(count)) for name, count in self.grid)
        )
        check_program(self)

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(self.__getstate__().values()))

    def __hash__(self) -> int:
        """Of its parts, computed once."""
        return self._hash

    def __getstate__(self) -> dict[str, object]:
        """Its parts alone: hashes are others in other processes."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def mma(self) -> TiledMma:
        """The tiled MMA of the first multiplication; `KernelError` where nothing is multiplied."""
        for statement in walk(self.body):
            if (product := statement.touched.product) is not None:
                return product.mma
        raise KernelError("mma", {"kernel": self.name}, "the kernel multiplies nothing", "")

    @typed
    def loop(self, var: str) -> Loop:
        """Return the loop over a variable; `KernelError` for an unknown one."""
        for statement in walk(self.body):
            if isinstance(statement, Loop) and statement.var == var:
                return statement
        raise KernelError(
            "loop",
            {"kernel": self.name, "var": var},
            f"no loop of this kernel has the variable {var}",
            "name one of its loops",
        )

    @typed
    def replace(self, old: Statement, new: Statement | tuple[Statement, ...] | None) -> Kernel:
        """Return the kernel with one statement exchanged for another, several, or none.

        Every occurrence of ``old`` changes. Raises `KernelError` where it does not occur.

        >>> import dataclasses, pycute_xe as cx
        >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
        >>> loop = gemm.loop("k")
        >>> short = gemm.replace(loop, dataclasses.replace(loop, stop=loop.stop - 1))
        >>> str(short.loop("k").stop)
        'ceil_div(K, 32)-1'
        """
        by = () if new is None else new if isinstance(new, tuple) else (new,)
        body = _replaced(self.body, old, by)
        if body == self.body and by != (old,):
            raise KernelError(
                "replace",
                {"kernel": self.name},
                "the kernel does not contain this statement",
                "take one from kernel.statements()",
            )
        return replace(self, body=body)

    def without_claims(self) -> Kernel:
        """Return the kernel that does the same and claims nothing, of its outputs or its loops.

        What a loop holds may speak of states that ``computes`` alone defines, so both go together.

        >>> import pycute_xe as cx
        >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
        >>> bare = cx.kernel.gemm(mma).without_claims()
        >>> bare.computes is None, bare.loop("k").holds
        (True, ())
        """
        return replace(self, body=_unclaimed(self.body), computes=None)

    def __str__(self) -> str:
        """A readable listing: operands, what is computed, registers, statements."""
        return listing(self)


def _replaced(
    body: tuple[Statement, ...], old: Statement, by: tuple[Statement, ...]
) -> tuple[Statement, ...]:
    out: list[Statement] = []
    for statement in body:
        if statement == old:
            out.extend(by)
        elif isinstance(statement, (Loop, If)):
            out.append(replace(statement, body=_replaced(statement.body, old, by)))
        else:
            out.append(statement)
    return tuple(out)


def _unclaimed(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    out: list[Statement] = []
    for statement in body:
        if isinstance(statement, Loop):
            out.append(replace(statement, body=_unclaimed(statement.body), holds=()))
        elif isinstance(statement, If):
            out.append(replace(statement, body=_unclaimed(statement.body)))
        else:
            out.append(statement)
    return tuple(out)


MOST_BYTES = 1 << 30
"""Bytes of operands that a replay runs; larger counterexamples are refused."""
MOST_STEPS = 1 << 20
"""Statements that the subgroups of a counterexample do, at most."""
MOST_TRIPS = 1 << 20
"""Trips that a run does of one loop, at most; an operand may ask for any number."""
MOST_GROUPS = 1 << 24
"""Work-groups that a run starts, at most."""


def weight(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """Return the bytes of all operands of a kernel, 1 at least for each element."""
    total = 0
    for operand in kernel.operands:
        elements = 1
        for extent in shape_of(operand, sizes):
            elements *= extent
        total += elements * max(1, operand.value_type.bits // 8)
    return total


def steps(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """Return about how many statements all subgroups do together.

    Bounds of loops that depend on variables are taken where those are 0.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (8, 16, 16),
    ...     ((1, 1, 1), (1, 1, 0))), stages=0)
    >>> trip = len(gemm.loop("k").body)
    >>> steps(gemm, {"M": 9, "N": 1, "K": 17}) == 2 * (1 + 2 * trip + 1)
    True
    """
    names = dict(sizes) | {name: 0 for name, _ in kernel.grid}

    def cost(statement: Statement) -> int:
        return 0 if isinstance(statement, (Loop, If)) else 1

    return groups_in(kernel, sizes) * kernel.subgroups * work_in(kernel.body, names, cost)


def groups_in(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """Return how many work-groups a grid has, a count that is an operand's element taken as 1."""
    out = 1
    for _, count in kernel.grid:
        with suppress(CuteError):
            out *= max(1, count.at(sizes))
    return out


def work_in(
    body: tuple[Statement, ...], names: Mapping[str, int], cost: Callable[[Statement], int]
) -> int:
    """Return what statements cost together, a loop as often as it repeats them; 1 if unknown.

    Loops inside it are as long as they are at its middle trip.
    """
    total = 0
    for statement in body:
        total += cost(statement)
        if isinstance(statement, Loop):
            count, middle = 1, 0
            with suppress(CuteError):
                start = statement.start.at(names)
                count = max(0, statement.stop.at(names) - start)
                middle = start + count // 2
            total += count * work_in(statement.body, {**names, statement.var: middle}, cost)
        elif isinstance(statement, If):
            total += work_in(statement.body, names, cost)
    return total


def trips(loop: Loop, start: int, stop: int) -> range:
    """Return the values that the variable of a loop takes.

    Raises `InputError` for more than `MOST_TRIPS`.

    >>> from pycute_xe.kernel import Index
    >>> trips(Loop("k", Index(), Index("K"), ()), 0, 3)
    range(0, 3)
    """
    if stop - start > MOST_TRIPS:
        asked = dict.fromkeys(x.operand for i in (loop.start, loop.stop) for x in i.looked_up)
        raise InputError(
            "run",
            {"loop": loop.var, "start": start, "stop": stop},
            f"the loop {loop.var} takes {stop - start} trips, a run does at most {MOST_TRIPS}",
            f"correct the bounds in {', '.join(asked)}" if asked else "use smaller sizes",
        )
    return range(start, stop)


def launches(kernel: Kernel, counts: Sequence[int]) -> Sequence[int]:
    """Return how many work-groups lie along each axis of a grid, which may be an operand's element.

    Raises `InputError` for more than `MOST_GROUPS` altogether.
    """
    whole = prod(counts)
    if whole > MOST_GROUPS:
        asked = dict.fromkeys(x.operand for _, i in kernel.grid for x in i.looked_up)
        raise InputError(
            "run",
            {"kernel": kernel.name, "grid": tuple(counts)},
            f"the grid has {whole} work-groups, a run starts at most {MOST_GROUPS}",
            f"correct the counts in {', '.join(asked)}" if asked else "use smaller sizes",
        )
    return counts


def amount(nbytes: int) -> str:
    """Return a number of bytes as it is read.

    >>> amount(512), amount(3 * 2**30)
    ('512 bytes', '3 GiB')
    """
    for exponent, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB")):
        if nbytes >= 1 << exponent:
            return f"{nbytes / (1 << exponent):.3g} {unit}"
    return f"{nbytes} bytes"
