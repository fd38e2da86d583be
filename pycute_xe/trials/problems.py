"""Floor 10: the problems of a trial: sizes and data, and where conditions turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from pycute_xe.errors import CuteError, KernelError
from pycute_xe.executing.reaching import grid_space
from pycute_xe.executing.space import Space
from pycute_xe.kernel import If, Kernel, Loop, Statement
from pycute_xe.kernel.field import Field
from pycute_xe.kernel.showing import is_moved
from pycute_xe.trials.data import EDGES, INEXACT, WIDE, Data, exact
from pycute_xe.trials.sizes import least_sizes, telling_sizes
from pycute_xe.trials.work import groups_in, work_of_subgroup

__all__ = ["Asked", "conditions", "problems", "unmet"]

Sizes: TypeAlias = Mapping[str, int]

SMALL = 8_000
"""Work up to which the sizes are tried one by one, too."""
FAR = 1 << 20
"""The largest size that is tried for the sake of a condition."""
MOST_GROUPS = 1 << 19
"""Work-groups of a grid in which it is looked for where a condition turns."""
MOST_POINTS = 1 << 18
"""Combinations of variables that are listed for the sake of a condition."""


@dataclass(frozen=True)
class Asked:
    """A problem of a trial; ``data`` is None for edge values."""

    kernel: Kernel
    sizes: Sizes
    data: Data | None
    inputs: Mapping[str, Field]

    @property
    def words(self) -> str:
        """What the data are called."""
        return EDGES if self.data is None else self.data.name

    def look_up(self, name: str, at: tuple[Any, ...]) -> Any:
        """Return elements of an input; `KernelError` for what the kernel writes itself."""
        if name not in self.inputs or self.kernel.operand(name).written:
            raise KernelError("trial", {"operand": name}, "it is known only in a run", "run it")
        return self.inputs[name][tuple(map(np.asarray, at))].astype(np.int64)


def problems(
    kernel: Kernel, fixed: Mapping[str, int]
) -> Iterator[tuple[dict[str, int], Data | None, int]]:
    """Yield the sizes of a trial, each with its data and a seed."""
    least, telling = least_sizes(kernel, fixed), telling_sizes(kernel, fixed)
    claims = kernel.computes.claims if kernel.computes is not None else ()
    # In a moved value nothing is summed: edges of types show what small numbers do not.
    edges = any(is_moved(claim.value) for claim in claims)
    small = {name: exact(kernel, sizes) or INEXACT for name, sizes in
             (("least", least), ("telling", telling))}  # fmt: skip
    yield least, small["least"], 0
    if wide := exact(kernel, telling, WIDE):
        yield telling, wide, 1
    yield telling, small["telling"], 2
    for name in kernel.sizes:
        # Where one size stands for another, equal ones do not show it.
        alone = least | {name: 3 * telling[name]} | dict(fixed)
        if work_of_subgroup(kernel, alone) * groups_in(kernel, alone) * kernel.subgroups <= SMALL:
            yield alone, exact(kernel, alone) or INEXACT, 4
    if edges:
        yield telling, None, 7
    for sizes in _turning(kernel, telling, fixed):
        yield sizes, exact(kernel, sizes) or INEXACT, 3


def conditions(body: tuple[Statement, ...], space: Space) -> Iterator[tuple[If, Space, Space]]:
    """Yield conditions, each with the points at which it is so, and at which it is not."""
    for statement in body:
        if isinstance(statement, Loop):
            inner = space.bound(statement.var, statement.start, statement.stop)
            yield from conditions(statement.body, inner)
        elif isinstance(statement, If):
            inside = space.where(statement.index, statement.below)
            outside = space.where(statement.below - 1, statement.index)
            yield statement, inside, outside
            yield from conditions(statement.body, inside)


def _turned(kernel: Kernel, sizes: Sizes) -> dict[If, tuple[bool, bool]]:
    """Return of each condition whether it is met at some point, and not met at some."""
    asked = Asked(kernel, sizes, None, {})
    if groups_in(kernel, sizes) > MOST_GROUPS:
        return {}
    try:
        space = replace(grid_space(kernel, sizes, asked.look_up), most=MOST_POINTS)
        found = list(conditions(kernel.body, space))
    except CuteError:
        return {}
    out: dict[If, tuple[bool, bool]] = {}
    for one, inside, outside in found:
        met, unmet = out.get(one, (False, False))
        out[one] = (met or inside.size > 0, unmet or outside.size > 0)
    return out


def _turning(kernel: Kernel, telling: Sizes, fixed: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Yield larger sizes at which conditions turn that did not at the telling ones."""
    wanted = {(one, way) for one, ways in _turned(kernel, telling).items()
              for way in (0, 1) if not ways[way]}  # fmt: skip
    for one, way in sorted(wanted, key=lambda pair: (str(pair[0].index), pair[1])):
        if (one, way) not in wanted:
            continue
        names = _sizes_of(kernel, one) - fixed.keys()
        sizes = dict(telling)
        while names and max(sizes[name] for name in names) * 2 <= FAR:
            sizes |= {name: 2 * sizes[name] for name in names}
            found = _turned(kernel, sizes)
            if one in found and found[one][way]:
                wanted -= {(x, w) for x, ways in found.items() for w in (0, 1) if ways[w]}
                yield sizes
                break


def _sizes_of(kernel: Kernel, one: If) -> set[str]:
    """Return the sizes that a condition depends on, those of its variables' ranges included."""
    limits: dict[str, frozenset[str]] = {name: count.names for name, count in kernel.grid}
    for statement in kernel.statements():
        if isinstance(statement, Loop):
            limits[statement.var] = statement.start.names | statement.stop.names
    names = set(one.index.names | one.below.names)
    for _ in range(len(limits)):
        names |= {more for name in names for more in limits.get(name, frozenset())}
    return names & set(kernel.sizes)


def unmet(kernel: Kernel, fixed: Mapping[str, int]) -> list[str]:
    """Say which conditions no size of a trial turns."""
    sizes = [telling_sizes(kernel, fixed), least_sizes(kernel, fixed)]
    sizes += _turning(kernel, sizes[0], fixed)
    met: dict[If, tuple[bool, bool]] = {}
    for one in sizes:
        for condition, ways in _turned(kernel, one).items():
            before = met.get(condition, (False, False))
            met[condition] = (before[0] or ways[0], before[1] or ways[1])
    if not met and any(isinstance(s, If) for s in kernel.statements()):
        return ["the points at which its conditions are asked are too many to be listed"]
    return [
        f"{condition.index} < {condition.below} is {'never' if not ways[0] else 'always'} so there"
        for condition, ways in met.items()
        if not all(ways)
    ]
