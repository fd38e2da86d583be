"""Floor 9: every product A[m,k] B[k,n] is added to its accumulator once, from zero."""

from __future__ import annotations

from pycute_xe.kernel import Fill, Index, Loop, Mma, Store
from pycute_xe.verifying.contents import product_elements
from pycute_xe.verifying.flow import Site, stored_from
from pycute_xe.verifying.regions import Names, Region
from pycute_xe.verifying.scope import Failure, Point, Scope, mma_of, smallest
from pycute_xe.verifying.space import SIZES, place_text

__all__ = ["product_failure"]

CLAIM = "products"
INSTANCE: Names = ("i", "s", "l", "v", "q")
PRODUCT: Names = ("m", "n", "k")


def product_failure(scope: Scope) -> Failure | None:
    """Return the smallest problem in which a product is missing, or added twice."""
    done = Region.nothing(_names(scope))
    for number, site in enumerate(scope.products):
        done |= _instances(scope, site, number)
    failures = (_start(scope), _missing(scope, done), _repeated(scope, done))
    return min((f for f in failures if f is not None), key=lambda f: f.key, default=None)


def _names(scope: Scope) -> Names:
    return (*scope.space.names, *INSTANCE, *PRODUCT)


def _instances(scope: Scope, site: Site, number: int) -> Region:
    """Return the products that an MMA adds and that reach D."""
    (tile_m, m), (tile_n, n) = scope.base(site, "C")
    _, (tile_k, k) = scope.base(site, "A")
    at = scope.space.index
    placed = product_elements(mma_of(site)).to(
        _names(scope),
        f"i = {number} and m = {place_text(tile_m, at(m), 'r')} and "
        f"n = {place_text(tile_n, at(n), 'c')} and k = {place_text(tile_k, at(k), 'z')}",
    )
    return placed.within(f"{scope.space.domain(site)} and {_kept(scope, site)}")


def _box(scope: Scope) -> str:
    bounds = zip(PRODUCT, scope.extents, strict=True)
    return " and ".join(f"0 <= {name} < {extent}" for name, extent in bounds)


def _missing(scope: Scope, done: Region) -> Failure | None:
    names = (*SIZES, *PRODUCT)
    wanted = Region.where(names, f"{scope.space.sizes} and {_box(scope)}")
    point = smallest(wanted - done.to(names), PRODUCT)
    return None if point is None else _failure(scope, point, "is never added")


def _repeated(scope: Scope, done: Region) -> Failure | None:
    by = (*SIZES, *PRODUCT)
    if done.decides(by):
        return None
    again = done.repeats(by, _box(scope))
    point = smallest(again, (*scope.space.names, *INSTANCE))
    return None if point is None else _failure(scope, point, "is added more than once")


def _failure(scope: Scope, point: Point, what: str) -> Failure:
    m, n, k = (point[name] for name in PRODUCT)
    place = dict(point) if "s" in point else {**scope.holder(point, m, n), **point}
    return scope.failure(
        place,
        claim=CLAIM,
        message=f"the product A[{m},{k}] B[{k},{n}] {what} to the accumulator of D[{m},{n}]",
        operand="A",
        element=(m, k),
        found=None if "s" not in point else (m, k),
        output=(m, n),
        k_tile=None if "s" in point else _k_tile(scope, k),
    )


def _k_tile(scope: Scope, k: int) -> int:
    return k // mma_of(scope.products[0]).tile_mnk[2] if scope.products else 0


def _start(scope: Scope) -> Failure | None:
    """Return the failure of an accumulator that does not start at zero."""
    for site in scope.products:
        accumulator = site.statement.accumulator if isinstance(site.statement, Mma) else ""
        filled = scope.flow.filled_by(site, accumulator)
        fill = filled.statement if filled is not None else None
        if isinstance(fill, Fill) and fill.value == 0:
            continue
        text = f"starts at {fill.value:g}, not 0" if isinstance(fill, Fill) else "is never filled"
        point = smallest(Region.where(SIZES, scope.space.sizes), ())
        if point is not None:
            return scope.failure(
                {**scope.holder(point, 0, 0), **point},
                claim=CLAIM,
                message=f"the accumulator of D[0,0] {text}",
                operand="D",
                element=(0, 0),
                found=None,
                output=(0, 0),
            )
    return None


def _kept(scope: Scope, site: Site) -> str:
    """Return when an MMA's products are not filled over, or too late for the store."""
    accumulator = site.statement.accumulator if isinstance(site.statement, Mma) else ""
    reader = _reader(scope, accumulator)
    if reader is None:
        # Nothing takes the sum to D.
        return "false"
    if reader.order < site.order and not reader.shared_loops(site):
        return "false"
    kept = [
        _survives(scope, site, fill, reader)
        for fill in scope.flow.of(Fill)
        if isinstance(fill.statement, Fill) and fill.statement.fragment == accumulator
    ]
    return " and ".join(kept) or "true"


def _reader(scope: Scope, accumulator: str) -> Site | None:
    """Return the first statement that takes the accumulator for the result."""
    for store in scope.flow.of(Store):
        fragment, reorders = stored_from(scope.flow, store)
        if fragment == accumulator:
            return reorders[-1] if reorders else store
    return None


def _survives(scope: Scope, site: Site, fill: Site, reader: Site) -> str:
    """Return when a fill does not come between an MMA and the reader of its result."""
    if site.order < fill.order < reader.order:
        return "false"
    last: list[str] = []
    for around in fill.shared_loops(site):
        loop = around.statement
        if isinstance(loop, Loop) and around not in reader.loops:
            # Any later trip of this loop would fill again.
            last.append(f"not ({scope.space.within_loop(Index(loop.var, 1), loop.stop)})")
    return " and ".join(last) or "true"
