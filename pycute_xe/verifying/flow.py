"""Floor 9: which statement fills the registers that another reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from pycute_xe.errors import KernelError
from pycute_xe.kernel import Fill, Kernel, Load, Loop, Mma, Reorder, Statement, Store, When

__all__ = ["Flow", "Site", "stored_from"]


@dataclass(frozen=True, slots=True)
class Site:
    """A statement at its place: a number in textual order, and the sites it is nested in."""

    order: int
    statement: Statement
    context: tuple[Site, ...] = ()

    @property
    def loops(self) -> tuple[Site, ...]:
        """The loops around the statement, outermost first."""
        return tuple(site for site in self.context if isinstance(site.statement, Loop))

    def shared_loops(self, other: Site) -> tuple[Site, ...]:
        """The loops around both statements."""
        return tuple(site for site in self.loops if site in other.loops)

    def always_before(self, other: Site) -> bool:
        """Whether this is done before ``other`` whenever ``other`` is done."""
        return self.order < other.order and self.context == other.context[: len(self.context)]


class Flow:
    """The sites of a kernel and how registers pass between them.

    >>> import pycute_xe as cx
    >>> flow = Flow(cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))))
    >>> mma, = flow.of(Mma)
    >>> [type(site.statement).__name__ for site in flow.chain(mma, "tCrA")]
    ['Reorder', 'Load']
    """

    def __init__(self, kernel: Kernel) -> None:
        self.sites = tuple(_sites(kernel.body, (), count()))

    def of(self, *kinds: type) -> tuple[Site, ...]:
        """Return the sites of some kinds of statement."""
        return tuple(site for site in self.sites if isinstance(site.statement, kinds))

    def filled_by(self, use: Site, fragment: str) -> Site | None:
        """Return the site that fills what ``use`` reads, ``None`` when nothing does.

        Raises `KernelError` when that depends on the trip of a loop or on a condition.
        """
        writers = [site for site in self.sites if _writes(site.statement) == fragment]
        before = [site for site in writers if site.order < use.order]
        if not before:
            return None
        last = before[-1]
        carried = any(
            loop not in last.context
            for site in writers
            if site.order > use.order
            for loop in site.shared_loops(use)
        )
        if carried or not last.always_before(use):
            raise KernelError(
                "verify",
                {"fragment": fragment, "read by": type(use.statement).__name__},
                "what fills the registers differs from trip to trip",
                "fill them in the same loop and under the same condition as they are read",
            )
        return last

    def chain(self, use: Site, fragment: str) -> tuple[Site, ...]:
        """Return the sites through which a fragment came, the latest first.

        Reorders are followed to their source; the last site is a load or a fill, or missing.
        """
        site = self.filled_by(use, fragment)
        if site is None:
            return ()
        if isinstance(site.statement, Reorder):
            return (site, *self.chain(site, site.statement.source))
        return (site,)


def _sites(
    body: tuple[Statement, ...], context: tuple[Site, ...], numbers: Iterator[int]
) -> Iterator[Site]:
    for statement in body:
        site = Site(next(numbers), statement, context)
        yield site
        if isinstance(statement, (Loop, When)):
            yield from _sites(statement.body, (*context, site), numbers)


def _writes(statement: Statement) -> str | None:
    match statement:
        case Load(fragment=name) | Fill(fragment=name) | Reorder(destination=name):
            return name
        case _:
            return None


def stored_from(flow: Flow, store: Site) -> tuple[str, tuple[Site, ...]]:
    """Return the fragment a store's registers came from, and the reorders in between.

    >>> import pycute_xe as cx
    >>> flow = Flow(cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))))
    >>> stored_from(flow, flow.of(Store)[0])
    ('tCrC', ())
    """
    statement = store.statement
    fragment = statement.fragment if isinstance(statement, Store) else ""
    reorders: list[Site] = []
    accumulators = {s.statement.accumulator for s in flow.of(Mma) if isinstance(s.statement, Mma)}
    at = store
    while fragment not in accumulators:
        found = flow.filled_by(at, fragment)
        if found is None or not isinstance(found.statement, Reorder):
            break
        reorders.append(found)
        at, fragment = found, found.statement.source
    return fragment, tuple(reorders)
