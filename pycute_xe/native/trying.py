"""A kernel and its binary side by side: sizes and data, what both do, how far they may be apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Target
from pycute_xe.converting import bounds, convert, host_dtype
from pycute_xe.errors import CuteError, KernelError
from pycute_xe.executing.problem import Problem, prepare
from pycute_xe.executing.runner import count_work, outputs_of
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.probes import edges
from pycute_xe.kernel.spec.functions import CHOOSING
from pycute_xe.machine import Memory, Trace
from pycute_xe.native.allowing import roundings, tolerance, used
from pycute_xe.native.comparison import execute, operands_in
from pycute_xe.native.compiler import Binary
from pycute_xe.native.diagnosing import Wrong, diagnosed
from pycute_xe.native.differing import KINDS, Difference, fault, hints, joined, of_traces
from pycute_xe.native.operands import UnmodelledFault
from pycute_xe.native.telling import Regime, telling
from pycute_xe.numeric import Numeric
from pycute_xe.trials.edge_sizes import edge_sizes, least_edges
from pycute_xe.trials.edge_tables import tables_at, uneven_table_sizes
from pycute_xe.trials.problems import looked_up

__all__ = ["DATA", "Judge", "Trial", "apart"]

# ------------------------------------------------------------ problems
# What is run: sizes and data.

DATA = ("random numbers", "edges of each type", "few integers that are not 0")


def _problems(
    kernel: Kernel, sizes: Mapping[str, int] | None
) -> Iterator[tuple[dict[str, int], str, bool]]:
    """Yield sizes, each with the name of its data, and whether these are whole tiles."""
    chosen = [dict(sizes)] if sizes is not None else edge_sizes(kernel)
    exact = not tolerance(kernel)
    few = not exact and any(o.value_type.kind != "float" for o in kernel.inputs)
    for number, each in enumerate(chosen):
        yield each, DATA[0], number == 1
        # Of large sums a function may be one number for all: sums that stay small tell more.
        if few and number == min(1, len(chosen) - 1):
            yield each, DATA[2], number == 1
        # Infinities swallow what is wrong beside them, and no function has a bound there.
        if exact and number == 0:
            yield each, DATA[1], False
    for each in uneven_table_sizes(kernel) if sizes is None else ():
        yield each, DATA[0], False


def _operands(kernel: Kernel, sizes: Mapping[str, int], data: str) -> dict[str, Any]:
    rng = np.random.default_rng(len(data))
    out: dict[str, Any] = {name: size for name, size in sizes.items() if name in kernel.sizes}
    for operand in kernel.inputs:
        shape, kind = tuple(mode.at(sizes) for mode in operand.modes), operand.value_type
        if data == DATA[1]:
            values = edges(kind)
            out[operand.name] = convert(values[rng.integers(0, values.size, shape)], kind)
        elif data == DATA[2] and kind.kind != "float":
            out[operand.name] = convert(_few(rng, kind, shape), kind)
        else:
            out[operand.name] = convert(_spread(rng, kind, shape), kind)
    return out


def _few(rng: np.random.Generator, kind: Numeric, shape: tuple[int, ...]) -> NDArray[Any]:
    """Ones among zeros, one in eight, of both signs where a type has them."""
    signs = rng.choice((1, 1) if kind.kind == "unsigned" else (1, -1), shape)
    return signs * (rng.integers(0, 8, shape) == 0)


MOST_TABLES, DRAWS = 48, 6
"""Combinations of tables that are tried, and draws of those that assumptions are about."""


def _tables(kernel: Kernel, sizes: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Yield values for the operands that tell where messages go: counts, ranges, shares.

    Of tables that the specification speaks of, values that meet what it assumes.
    """
    assumed = kernel.computes.tables if kernel.computes is not None else ()
    drawn = [tables_at(kernel, sizes, seed) for seed in range(DRAWS if assumed else 1)]
    named = {name: kernel.operand(name).value_type for name in drawn[0]}
    names = looked_up(kernel) | {x.operand for _, count in kernel.grid for x in count.looked_up}
    looked = [o for o in kernel.inputs if o.name in names - named.keys()]
    shapes = [tuple(mode.at(sizes) for mode in o.modes) for o in looked]
    extents = sorted({*sizes.values()}, reverse=True)
    each = [(None, *extents, 1, 0) if o.modes else (extents[0],) for o in looked]
    for tables, ends in product(drawn, product(*each)):
        yield {
            o.name: _table(shape, end).astype(host_dtype(o.value_type))
            for o, shape, end in zip(looked, shapes, ends, strict=True)
        } | {name: tables[name].astype(host_dtype(kind)) for name, kind in named.items()}


def _table(shape: tuple[int, ...], end: int | None) -> NDArray[Any]:
    """Equal steps up to an end along the last mode, one number after the other, or one for all."""
    if end is None:
        return np.arange(prod(shape)).reshape(shape)
    last = shape[-1] if shape and end > 1 else 1
    return np.broadcast_to(np.linspace(0, end, last) if last > 1 else np.array(end), shape)


def _drawn(problem: Problem, regime: Regime, tables: set[str]) -> Problem:
    """Return a problem with a regime's data; tables stay as they are."""
    rng = np.random.default_rng(len(str(regime)))
    inputs = dict(problem.inputs)
    for operand in problem.kernel.inputs:
        shape, kind = inputs[operand.name].shape, operand.value_type
        drawn = regime.draw(operand.name, kind, shape, rng)
        if drawn is None:
            drawn = _spread(rng, kind, shape)
        if operand.name not in tables:
            inputs[operand.name] = convert(drawn, kind)
    return replace(problem, inputs=inputs)


def _spread(rng: np.random.Generator, kind: Numeric, shape: tuple[int, ...]) -> NDArray[Any]:
    """Random numbers of the whole range of integers, and floats around 1 with all their bits."""
    if kind.kind == "float":
        return rng.standard_normal(shape)
    low, high = bounds(kind)
    return rng.integers(low, high + 1, shape)


# ------------------------------------------------------------ trials
# Both run, and what differs.


@dataclass(frozen=True, eq=False)
class Trial:
    """What both did at sizes and on data, which results are wrong, and what else differs.

    ``whole`` says that the sizes are whole tiles; ``ended`` that the machine refused nothing;
    ``merged`` which messages stand for several; ``regime`` how the data were chosen to show a
    slip, None for data that every kernel gets.
    """

    words: str
    whole: bool
    expected: Trace
    executed: Trace
    problem: Problem
    ended: bool
    wrong: tuple[Wrong, ...]
    differences: tuple[Difference, ...]
    merged: tuple[str, ...]
    regime: Regime | None = None


@dataclass(frozen=True, eq=False)
class Judge:
    """A kernel and its binary for a target, and how far each output may be apart."""

    kernel: Kernel
    binary: Binary
    target: Target
    allowed: Mapping[str, float]

    def trials(self, sizes: Mapping[str, int] | None) -> Iterator[Trial]:
        """Run both on sizes and data; raise what a run raises where it takes none of them.

        After the data that every kernel gets come regimes that show what these do not, at few
        work-groups with ragged edges.
        """
        last: Trial | None = None
        for last in self._usual(sizes):
            yield last
        if last is None:
            return
        problem = last.problem if sizes is not None else self._smallest(last.problem)
        tables = {
            name for first in islice(_tables(self.kernel, problem.sizes), 1) for name in first
        }
        attempt = partial(self._attempt, problem, tables)
        for regime in telling(self.kernel, attempt, self._differing):
            drawn, expected = _drawn(problem, regime, tables), Trace(keep=True)
            outputs = outputs_of(drawn, self.target, expected, "reference")
            words = f"{_words(problem.sizes)}: {regime}"
            yield replace(self._trial(drawn, words, False, outputs, expected), regime=regime)

    def _smallest(self, problem: Problem) -> Problem:
        """Return a problem with ragged edges and one of what a work-group of its own does each."""
        least = least_edges(self.kernel)
        try:
            return self._most_done(least, DATA[0])[0]
        except CuteError:
            return problem

    def _attempt(
        self, problem: Problem, tables: set[str], kernel: Kernel, regime: Regime | None
    ) -> Outputs:
        """Return what a kernel makes of a regime's data."""
        drawn = replace(
            problem if regime is None else _drawn(problem, regime, tables), kernel=kernel
        )
        with np.errstate(all="ignore"):
            return outputs_of(drawn, self.target, Trace(), "fast")

    def _differing(self, expected: Outputs, there: Outputs) -> dict[str, NDArray[np.bool_]]:
        """Return which elements of each output are further apart than is allowed."""
        with np.errstate(all="ignore"):
            wrong = apart(self.kernel, expected, there, self.allowed)
            return {one.name: one.where for one in wrong}

    def _usual(self, sizes: Mapping[str, int] | None) -> Iterator[Trial]:
        """Run both on the sizes and data that every kernel gets."""
        refused: CuteError | None = None
        taken = 0
        for each, data, whole in _problems(self.kernel, sizes):
            try:
                problem, outputs, expected = self._most_done(each, data)
            except CuteError as error:  # sizes that the kernel does not take
                refused = error
                continue
            taken += 1
            yield self._trial(problem, f"{_words(each)}: {data}", whole, outputs, expected)
        if not taken and refused is not None:
            raise refused

    def _most_done(self, sizes: Mapping[str, int], data: str) -> tuple[Problem, Outputs, Trace]:
        """Run the kernel, with those tables of `_tables` with which it does most."""
        refused: CuteError | None = None
        given, counted = _operands(self.kernel, sizes, data), list[tuple[Problem, Counts]]()
        for tables in islice(_tables(self.kernel, sizes), MOST_TABLES):
            try:
                problem = prepare(self.kernel, (), given | tables, None)
                counted.append((problem, self._counted(problem)))
            except CuteError as error:
                refused = error
        for problem, _ in sorted(counted, key=lambda pair: pair[1], reverse=True):
            trace = Trace(keep=True)
            try:
                return problem, outputs_of(problem, self.target, trace, "reference"), trace
            except CuteError as error:
                refused = error
        raise refused or CuteError("compare", {}, "no tables are tried", "give sizes")

    def _counted(self, problem: Problem) -> Counts:
        """Return how much a run does, without one where its work is known beforehand."""
        trace = Trace()
        try:
            count_work(self.kernel, problem, self.target, trace)
        except KernelError:  # it depends on what the kernel writes
            trace = Trace()
            outputs_of(problem, self.target, trace, "reference")
        return _done(trace)

    def _trial(
        self, problem: Problem, words: str, whole: bool, outputs: Outputs, expected: Trace
    ) -> Trial:
        executed, wrong, refused = Trace(keep=True), [], None
        try:
            got = execute(self.binary, problem, executed)
            wrong = [*apart(self.kernel, outputs, got, self.allowed, partial(self._moved, problem))]
        except UnmodelledFault:
            raise
        except CuteError as error:
            refused = fault(error)
        places = self._places(problem)
        ended = refused is None
        differing = [*of_traces(expected, executed, places, ended)]
        differing += [] if refused is None else [refused]
        merged = tuple(joined(expected, executed)) if ended else ()
        differences = tuple(replace(one, words=f"{one.words} (at {words})") for one in differing)
        return Trial(
            words, whole, expected, executed, problem, ended, tuple(wrong), differences, merged
        )

    def _moved(self, problem: Problem, name: str, by: float) -> tuple[NDArray[Any], ...] | None:
        """Return an output with so much taken and added before it is rounded last."""
        rounding = roundings(self.kernel).get(name)
        if rounding is None:
            return None
        changed = (replace(problem, kernel=rounding.moved(off)) for off in (-by, by))
        return tuple(outputs_of(p, self.target, Trace(), "reference")[name] for p in changed)

    def _places(self, problem: Problem) -> Callable[[int], str]:
        """Where an address lies: operands are at the same addresses in every run."""
        placed = operands_in(Memory(), problem, self.target)

        def place(address: int) -> str:
            inside = (n for n, at in placed.items() if at.base <= address < at.base + at.nbytes)
            return next(inside, "no operand")

        return place

    def differences(self, trials: list[Trial]) -> tuple[Difference, ...]:
        """Return the differences of the code and of all trials, the first of each kind."""
        every = [one for t in trials for one in t.differences]
        if trials:
            every += hints(self.binary, self.kernel)
        every += self._of_values([t for t in trials if t.wrong], known=bool(every))
        every += self._of_edges(trials)
        first = {one.kind: one for one in reversed(every)}
        return tuple(first[kind] for kind in KINDS if kind in first)

    def _of_values(self, trials: list[Trial], known: bool) -> Iterator[Difference]:
        """Name wrong values: by what they look like, unless something else is ``known``."""
        if not trials:
            return
        trial, first = trials[0], trials[0].wrong[0]

        def again(kernel: Kernel, inputs: Mapping[str, Any]) -> Outputs:
            changed = replace(trial.problem, kernel=kernel, inputs=dict(inputs))
            return outputs_of(changed, self.target, Trace(), "reference")

        if known:
            one = Difference("values", first.element, first.words)
        else:
            one = diagnosed(self.kernel, trial.problem.inputs, [*trial.wrong], again)
        yield replace(one, words=f"{one.words} (at {trial.words})")

    def _of_edges(self, trials: list[Trial]) -> Iterator[Difference]:
        """Name a difference that whole tiles do not have by the sizes that alone bring it out."""
        trials = [t for t in trials if t.regime is None]
        whole = [t for t in trials if t.whole and t.expected.messages]
        if not whole or any(map(_differs, whole)) or not any(map(_differs, trials)):
            return
        above, at, below = edge_sizes(self.kernel)
        names: list[str] = []
        for name in at:
            alone = [at | {name: other[name]} for other in (above, below)]
            with suppress(CuteError):
                if any(_differs(t) for one in alone for t in self._usual(one)):
                    names.append(name)
        where = ", ".join(names or at)
        yield Difference("remainder", where, "whole tiles do not differ, and others do")


def _differs(trial: Trial) -> bool:
    return bool(trial.wrong or trial.differences)


Counts: TypeAlias = tuple[int, int]


def _done(trace: Trace) -> Counts:
    """How many kinds of things were done to bytes that are there, and to how many bytes."""
    kinds = sum(count > 0 for count in (*trace.nbytes.values(), trace.dpas))
    return kinds, trace.nbytes.total()


Outputs = Mapping[str, NDArray[Any]]
Moved = Callable[[str, float], "tuple[NDArray[Any], ...] | None"]


def apart(
    kernel: Kernel,
    expected: Outputs,
    got: Outputs,
    allowed: Mapping[str, float],
    moved: Moved | None = None,
) -> Iterator[Wrong]:
    """Yield each output that is apart; NaNs are equal, and rounding may go either way.

    ``moved`` gives an output with so much taken and added before its last rounding, between which
    it must lie; None where that is not known, and two steps of its type are allowed.
    """
    # The greater of a NaN and a number is NaN to NumPy, and the number to vISA's max.
    chosen = any(f in CHOOSING for s in kernel.statements() for f in used(s))
    for operand in kernel.outputs:
        a, b = expected[operand.name], got[operand.name]
        share = allowed.get(operand.name, 0.0)
        wrong = ~((a == b) | ((a != a) & ((b != b) | chosen)))
        if share and wrong.any():
            wide, other = (np.asarray(x, np.float64) for x in (a, b))
            largest = float(np.abs(wide[np.isfinite(wide)]).max(initial=0.0))
            step = np.abs(wide) * 2.0 ** -(operand.value_type.row.significand or 53)
            # Sums with what is off are rounded to f32: a sixteenth more makes up for that.
            off = (share + 2.0**-23) * largest * 17 / 16
            between = moved(operand.name, off) if moved is not None else None
            if between is None:
                with np.errstate(invalid="ignore"):  # equal infinities are not wrong
                    right = np.abs(wide - other) <= share * largest + 2 * step
            else:
                low, high = (np.asarray(x, np.float64) for x in between)
                right = (low <= other) & (other <= high)
            wrong &= ~right
        if wrong.any():
            yield Wrong(operand.name, operand.value_type, a, b, wrong, share)


def _words(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items())
