"""What the questions of a proof share: what was followed, points, failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from pycute_xe.converting import greatest
from pycute_xe.errors import UndecidableError
from pycute_xe.holding.contents import combined, loop_over
from pycute_xe.holding.events import Disorder
from pycute_xe.holding.exploration import disorder, has_roles
from pycute_xe.holding.follower import Followed, Promise
from pycute_xe.holding.following import follow
from pycute_xe.holding.nodes import Node
from pycute_xe.kernel import Kernel
from pycute_xe.numeric import as_numeric
from pycute_xe.verifying.comparison import compare
from pycute_xe.verifying.points import Space
from pycute_xe.verifying.refusing import undecided
from pycute_xe.verifying.regions import Region
from pycute_xe.verifying.translation import held
from pycute_xe.verifying.verdict import Failure, smallest
from pycute_xe.verifying.views import View, registers, view_of

__all__ = ["Facts", "least", "turned_round"]


class Facts:
    """A kernel under proof: what was followed, and the answers that share it.

    ``fixed`` fixes sizes by name. ``real`` gathers what was read as real arithmetic, ``promised``
    what was so where claims of loops were compared.
    """

    def __init__(self, kernel: Kernel, fixed: Mapping[str, int] | None = None) -> None:
        self.kernel = kernel
        self.space = Space(kernel, fixed)
        wide = any(x.value_type.name == "f64" for x in (*kernel.fragments, *kernel.operands))
        self.least = -greatest(as_numeric("f64" if wide else "f32"))
        self.real: set[str] = set()
        self.promised: set[str] = set()
        self.extents = {o.name: self.space.extents(o.name) for o in kernel.operands}

    @cached_property
    def _disorder(self) -> Disorder | UndecidableError | None:
        try:
            return disorder(self.kernel, self.space.fixed)
        except UndecidableError as error:
            return error

    def disorder(self) -> Disorder | None:
        """Return how barriers of some subgroups fail. Raises `UndecidableError` if not known."""
        if isinstance(self._disorder, UndecidableError):
            raise self._disorder
        return self._disorder

    @cached_property
    def _followed(self) -> Followed | UndecidableError:
        try:
            if self.kernel.shared and has_roles(self.kernel):
                met = self._disorder
                if isinstance(met, Disorder) and met.turned:
                    return turned_round(met)  # statements are followed as they are written
            found = follow(self.kernel)
            for promise in found.promises:
                self._kept(promise)
        except UndecidableError as error:
            return error
        return found

    def _kept(self, promise: Promise) -> None:
        """Compare what a loop claims with what is so. Raises `UndecidableError` where they differ.

        What is shown with a wrong claim is worth nothing: so nothing is shown.
        """
        pairs: list[tuple[Node, Node]] = []

        def pair(nodes: tuple[Node, ...]) -> Node:
            pairs.append((nodes[0], nodes[1]))
            return nodes[0]

        both = combined(promise.found.count, (promise.found, promise.claimed), pair)
        for part, (found, claim) in zip(both.parts, pairs, strict=True):
            view = registers(self.kernel.subgroups, part.elements.size)
            naming, kind = self.space.naming, self.kernel.fragment(promise.fragment).value_type
            actual, wanted = (held(n, view, naming, kind, self.promised) for n in (found, claim))
            points = self.space.in_registers(promise.around, view)
            difference = compare(points, actual, wanted, self.extents, self.least)
            if difference is not None:
                when = "at its start" if promise.when == "start" else "after a trip"
                var, fragment = promise.loop.var, promise.fragment
                raise undecided(
                    f"{fragment} is not what {loop_over(var)} claims {when}: {difference.words}",
                    "correct the claim, or leave it out",
                    loop=var,
                    fragment=fragment,
                )

    @property
    def followed(self) -> Followed:
        """What following the statements found. Raises `UndecidableError` where it stopped."""
        if isinstance(self._followed, UndecidableError):
            raise self._followed
        return self._followed

    @cached_property
    def views(self) -> dict[int, View]:
        """The points of each write, by its number."""
        return {i: view_of(write) for i, write in enumerate(self.followed.writes)}

    @cached_property
    def points(self) -> dict[int, Region]:
        """The region of each write, by its number."""
        writes = enumerate(self.followed.writes)
        return {i: self.space.points(write, self.views[i]) for i, write in writes}

    def failure(
        self,
        point: Mapping[str, int],
        claim: str,
        message: str,
        points: Region | None,
        **more: object,
    ) -> Failure:
        """Return a failure at a point, its sizes and variables by the kernel's names."""
        naming = self.space.naming
        sizes = {name: point[text] for name, text in naming.size_of.items()}
        variables = {n: point[t] for n, t in naming.variable_of.items() if t in point}
        return Failure(claim, message, sizes, variables, points=points, **more)  # pyright: ignore[reportArgumentType]

    def failure_in(
        self, region: Region, claim: str, message: str, **more: object
    ) -> Failure | None:
        """Return the failure at the smallest point of a region, None where it has none."""
        point = smallest(region, self.space.naming)
        return None if point is None else self.failure(point, claim, message, region, **more)


def turned_round(found: Disorder) -> UndecidableError:
    """Return the refusal of uses of shared memory that come in another order than is written."""
    fix = "write what comes first in time before what waits for it"
    return undecided(found.words, fix, sizes=found.sizes)


def least(found: Iterable[Failure | None]) -> Failure | None:
    """Return the smallest of some failures, `None` of nothing."""
    failures = [failure for failure in found if failure is not None]
    return min(failures, key=lambda failure: failure.key, default=None)
