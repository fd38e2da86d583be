"""Floor 9: messages start where the hardware can start them: in memory and in the registers."""

from __future__ import annotations

from pycute_xe.arch.target import grf_bytes
from pycute_xe.atom import TiledCopy
from pycute_xe.kernel import Load, Prefetch, Store
from pycute_xe.verifying.flow import Site
from pycute_xe.verifying.messages import message_corners
from pycute_xe.verifying.regions import Names
from pycute_xe.verifying.scope import Failure, Point, Scope, smallest

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
    copy = statement.copy
    base = (copy.tiler_mn[0], statement.at[0]), (copy.tiler_mn[1], statement.at[1])
    corners = scope.space.lifted(message_corners(copy), base, MESSAGE)
    faults = {
        "before its surface": "R < 0 or C < 0",
        f"between elements of {copy.op.bits} bits": _between(copy),
        "inside a register": "false" if isinstance(statement, Prefetch) else _inside(copy),
    }
    bad = corners.within(f"({' or '.join(faults.values())}) and {scope.space.domain(site)}")
    point = smallest(bad, (*scope.space.names, *MESSAGE))
    if point is None:
        return None
    at = " and ".join(f"{name} = {point[name]}" for name in bad.names)
    what = next(
        word for word, where in faults.items() if not bad.within(f"({where}) and {at}").is_empty
    )
    return _failure(scope, statement, point, what)


def _between(copy: TiledCopy) -> str:
    """Return the constraint that x falls inside an element of the message."""
    ratio = copy.op.bits // copy.value_type.bits
    return f"{'RC'[copy.x_mode]} mod {ratio} > 0" if ratio > 1 else "false"


def _inside(copy: TiledCopy) -> str:
    """Return the constraint that a message's registers begin inside a register."""
    step = copy.atom.values * 16 * copy.value_type.bits // 8
    return f"({step}*j) mod {grf_bytes()} > 0" if step % grf_bytes() else "false"


def _failure(scope: Scope, statement: Prefetch | Load | Store, point: Point, what: str) -> Failure:
    start, message = (point["R"], point["C"]), point["j"]
    verb = type(statement).__name__.lower()
    return scope.failure(
        {**point, "v": message * statement.copy.atom.values},
        claim="bounds",
        message=f"message {message} of the {verb} of {statement.operand} at {start} starts {what}",
        operand=statement.operand,
        element=None,
        found=start,
        output=(0, 0),
        shows=False,
    )
