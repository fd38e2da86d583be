"""Floor 9: messages start inside the plane that the hardware clips, and on their own elements."""

from __future__ import annotations

from pycute_xe.kernel import Load, Prefetch, Store
from pycute_xe.verifying.flow import Site
from pycute_xe.verifying.messages import message_corners
from pycute_xe.verifying.regions import Names, Region
from pycute_xe.verifying.scope import Failure, Scope, smallest

__all__ = ["bounds_failure"]

MESSAGE: Names = ("s", "j")


def bounds_failure(scope: Scope) -> Failure | None:
    """Return the smallest failure of any message to start where the hardware can start it.

    To the right and below, a message may reach past its surface, or lie wholly outside: loads then
    give zero and stores are dropped.
    """
    failures = [_of_site(scope, site) for site in scope.flow.of(Prefetch, Load, Store)]
    return min((f for f in failures if f is not None), key=lambda f: f.key, default=None)


def _of_site(scope: Scope, site: Site) -> Failure | None:
    statement = site.statement
    if not isinstance(statement, (Prefetch, Load, Store)):
        return None
    copy, operand = statement.copy, scope.kernel.operand(statement.operand)
    base = (copy.tiler_mn[0], statement.at[0]), (copy.tiler_mn[1], statement.at[1])
    corners = scope.space.lifted(message_corners(copy), base, MESSAGE)
    x = "R" if copy.x_mode == 0 else "C"
    ratio = copy.op.bits // copy.value_type.bits
    outside = "R < 0 or C < 0"
    between = f"{x} mod {ratio} > 0" if ratio > 1 else "false"
    bad: Region = corners.within(f"({outside} or {between}) and {scope.space.domain(site)}")
    point = smallest(bad, (*scope.space.names, *MESSAGE))
    if point is None:
        return None
    start = point["R"], point["C"]
    what = "before its surface" if min(start) < 0 else f"between elements of {copy.op.bits} bits"
    verb = type(statement).__name__.lower()
    return scope.failure(
        {**point, "v": point["j"] * copy.atom.values},
        property="bounds",
        message=f"message {point['j']} of the {verb} of {operand.name} starts {what}, at {start}",
        operand=operand.name,
        element=None,
        found=start,
        output=(0, 0),
        shows=False,
    )
