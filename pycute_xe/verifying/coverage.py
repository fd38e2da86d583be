"""Floor 9: the question whether every element of an output is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from pycute_xe.errors import UndecidableError
from pycute_xe.kernel import Claim
from pycute_xe.verifying.comparing import compare
from pycute_xe.verifying.covering import left_out, united
from pycute_xe.verifying.differences import Difference
from pycute_xe.verifying.evaluating import differ
from pycute_xe.verifying.failures import Failure, smallest
from pycute_xe.verifying.faulting import Faults
from pycute_xe.verifying.formula import Formula, Place, Term
from pycute_xe.verifying.patience import a_while
from pycute_xe.verifying.regions import Region
from pycute_xe.verifying.seeking import narrowed
from pycute_xe.verifying.showing import is_seen
from pycute_xe.verifying.translating import claimed
from pycute_xe.verifying.views import view_of

__all__ = ["Coverage", "Point"]

Point: TypeAlias = Mapping[str, int]

FEW = 2
"""Stores of one output beyond which the first tile is looked at for elements they leave out."""
WORK = 5_000_000
"""Units of work to find inputs that show a difference."""


class Coverage(Faults):
    """The question whether every element of an output is written, and what is claimed of it."""

    def coverage(self, output: str) -> Failure | None:
        """Return the smallest problem in which an element of an output is never written."""
        names = tuple(f"u_{i}" for i in range(len(self.extents[output])))
        sizes = self.space.naming.sizes
        limits = (f"0 <= {u} < {n}" for u, n in zip(names, self.extents[output], strict=True))
        missing = Region.where((*sizes, *names), " and ".join([*self.space.sizes, *limits]))
        mine = [write for write in self.followed.writes if write.statement.operand == output]
        whole = united(mine)
        if len(whole) > FEW and self.kernel.operand(output).role == "out":
            found = left_out(self.space, output, mine)
            if found is not None:
                return self._unwritten_element(output, found)
        for write in whole:
            view = view_of(write)
            targets = self.space.targets(write, view)
            link = " and ".join(f"{u} = {t}" for u, t in zip(names, targets, strict=True))
            missing = missing - self.space.points(write, view).to(missing.names, link)
        if self.kernel.operand(output).role == "inout":
            return self._not_kept(output, missing, names)
        point = smallest(missing, self.space.naming)
        if point is None:
            return None
        return self._never(output, point, tuple(point[name] for name in names), missing)

    def _unwritten_element(self, output: str, sizes: Mapping[str, int]) -> Failure:
        point = {self.space.naming.size_of[name]: size for name, size in sizes.items()}
        index = tuple(extent - 1 for extent in self.space.shape(output, sizes))
        return self._never(output, point, index, None)

    def _never(
        self, output: str, point: Point, index: tuple[int, ...], missing: Region | None
    ) -> Failure:
        words = f"{output}{list(index)} is never written"
        return self.of_element(output, "coverage", words, point, index, missing)

    def of_element(
        self,
        output: str,
        question: str,
        words: str,
        point: Point,
        index: tuple[int, ...],
        points: Region | None,
    ) -> Failure:
        """Return a failure that an element of an output shows."""
        return self.failure(
            point,
            f"{output} {question}",
            words,
            points,
            operand=output,
            element=index,
            output=output,
            index=index,
        )

    def _not_kept(self, output: str, missing: Region, names: tuple[str, ...]) -> Failure | None:
        """Return where an element is never written though something else is claimed of it."""
        numeric = self.kernel.operand(output).value_type
        before: Formula = (Term(1.0, (Place(output, names, numeric),)),)
        claim = self.claim_of(output)
        places = dict(zip(claim.indices, names, strict=True))
        wanted = claimed(claim.value, self.space.naming, places, numeric)
        difference = compare(missing, before, wanted, self.extents)
        if difference is None:
            return None

        def failed(found: Difference, point: Point) -> Failure:
            return self._never(output, point, tuple(point[n] for n in names), found.points)

        return self.shown(output, difference, (before, wanted), failed)

    def shown(
        self,
        output: str,
        difference: Difference,
        formulas: tuple[Formula, Formula],
        failed: Callable[[Difference, Point], Failure | None],
    ) -> Failure | None:
        """Return the failure at the first point that is tried at which a replay shows it.

        Raises `UndecidableError` where none does.
        """
        goes_on = a_while(WORK)
        for where, point in narrowed(difference.points, self.space.naming):
            if difference.filled or differ(*formulas, point, self.extents):
                failure = failed(replace(difference, points=where), point)
                if failure is None or self._is_seen(failure, formulas, point):
                    return failure and replace(failure, points=difference.points)
            if not goes_on():
                break
        raise _agreeing(output, difference)

    def demand_seen(
        self,
        failure: Failure,
        difference: Difference,
        formulas: tuple[Formula, Formula],
        point: Point,
    ) -> None:
        """Demand that a replay shows a difference. Raises `UndecidableError`."""
        if not self._is_seen(failure, formulas, point):
            raise _agreeing(failure.output, difference)

    def _is_seen(self, failure: Failure, formulas: tuple[Formula, Formula], point: Point) -> bool:
        claim = self.claim_of(failure.output)
        return is_seen(self.kernel, claim, failure, formulas, point, self.extents)

    def claim_of(self, output: str) -> Claim:
        """Return what is claimed of an output. Raises `UndecidableError` where nothing is."""
        if self.kernel.computes is None:
            raise UndecidableError(
                "verify", {}, "the kernel has no specification", "give it one: Kernel.computes"
            )
        return self.kernel.computes.of(output)


def _agreeing(output: str, difference: Difference) -> UndecidableError:
    """Return the refusal of a difference that no value shows."""
    return UndecidableError(
        "verify",
        {"output": output},
        f"{difference.words}, yet the values agree where that was tried",
        "claim it as it is computed",
    )
