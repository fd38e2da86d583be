"""Floor 9: what all proofs about a kernel share: its flow, its space, its roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pycute_xe.atom import TiledCopy, TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.kernel import (
    Counterexample,
    Index,
    Kernel,
    Load,
    Loop,
    Mma,
    Operand,
    Store,
    Tiles,
)
from pycute_xe.verifying.contents import operand_elements
from pycute_xe.verifying.flow import Flow, Site, stored_from
from pycute_xe.verifying.regions import Region
from pycute_xe.verifying.space import Base, Space

__all__ = ["AXES", "MEMORY", "Failure", "Point", "Scope", "mma_of", "smallest"]

Point = Mapping[str, int]
AXES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}
"""Which of M, N and K the two modes of each operand of an MMA are."""
MEMORY = {"A": "A", "B": "B", "C": "D"}


@dataclass(frozen=True, slots=True)
class Failure:
    """A counterexample, and whether a run of the kernel is bound to show it.

    What two subgroups write to one place may come out right by luck.
    """

    counterexample: Counterexample
    shows: bool = True

    @property
    def key(self) -> tuple[object, ...]:
        """Order of counterexamples: sizes first, then place."""
        c = self.counterexample
        sizes = (c.M + c.N + c.K, c.M, c.N, c.K)
        return (not self.shows, sizes, c.work_group, c.k_tile, c.subgroup, c.lane, c.value)


class Scope:
    """A kernel under proof.

    Raises `KernelError` for operands that are no matrix product and for stores into an input.
    """

    def __init__(self, kernel: Kernel, params: Mapping[str, int] | None = None) -> None:
        self.kernel = kernel
        self.flow = Flow(kernel)
        self.space = Space(kernel, params)
        a, b, d = (kernel.operand(name) for name in "ABD")
        self.extents = (a.modes[0], b.modes[0], a.modes[1])
        product = b.modes[1] == a.modes[1] and d.modes == self.extents[:2]
        if not product or set(self.extents) != set("MNK"):
            raise KernelError(
                "verify",
                {"A": a, "B": b, "D": d},
                "the operands are no product of A (M,K) and B (N,K) into D (M,N)",
                "name their modes so",
            )
        self.products = self.flow.of(Mma)
        self.stores = tuple(
            site
            for site in self.flow.of(Store)
            if isinstance(site.statement, Store) and site.statement.operand == "D"
        )
        if len(self.stores) != len(self.flow.of(Store)):
            raise KernelError(
                "verify", {"kernel": kernel.name}, "it stores into an input", "store D only"
            )

    def base(self, site: Site, role: str) -> Base:
        """Return the tile an MMA means by an operand: extents, and numbers of tiles."""
        mma = mma_of(site)
        i, j = AXES[role]
        numbers = self._numbers(site)
        return (mma.tile_mnk[i], numbers[i]), (mma.tile_mnk[j], numbers[j])

    def _numbers(self, site: Site) -> tuple[Index, Index, Index]:
        """Return the numbers of the tiles along M, N and K that an MMA multiplies.

        They are what the statements that move its operands agree on.
        """
        statement = site.statement
        a = b = d = None
        if isinstance(statement, Mma):
            a, b = self._load_at(site, statement.a), self._load_at(site, statement.b)
            d = self._store_at(statement.accumulator)
        return (
            _agreed([at[0] for at in (a, d) if at], self._variable(site, 0)),
            _agreed([at[i] for at, i in ((b, 0), (d, 1)) if at], self._variable(site, 1)),
            _agreed([at[1] for at in (a, b) if at], self._variable(site, 2)),
        )

    def _load_at(self, site: Site, fragment: str) -> tuple[Index, Index] | None:
        chain = self.flow.chain(site, fragment)
        last = chain[-1].statement if chain else None
        return last.at if isinstance(last, Load) else None

    def _store_at(self, accumulator: str) -> tuple[Index, Index] | None:
        for site in self.stores:
            taken = stored_from(self.flow, site)[0]
            if isinstance(site.statement, Store) and taken == accumulator:
                return site.statement.at
        return None

    def _variable(self, site: Site, axis: int) -> Index:
        """Return the variable that counts tiles of an extent."""
        for loop in reversed(site.loops):
            match loop.statement:
                case Loop(var, _, Tiles(extent)) if extent == self.extents[axis]:
                    return Index(var)
                case _:
                    pass
        for var, count in self.kernel.grid:
            if count.extent == self.extents[axis]:
                return Index(var)
        return Index(None)

    def copy_base(self, copy: TiledCopy, operand: Operand, at: tuple[Index, Index]) -> Base:
        """Return the tile a copy means, in the order of the operand's modes."""
        base = (copy.tiler_mn[0], at[0]), (copy.tiler_mn[1], at[1])
        # The message's x runs along memory, whatever mode the copy takes it for.
        return base if copy.x_mode == operand.x_mode else (base[1], base[0])

    def sizes(self, role: str) -> tuple[str, str]:
        """Return the names of an operand's extents."""
        i, j = AXES[role]
        return self.extents[i], self.extents[j]

    def tile(self, extent: str, point: Point) -> int:
        """Return the number of a work-group along an extent."""
        for var, count in self.kernel.grid:
            if count.extent == extent:
                return point.get(self.space.variables[var], 0)
        return 0

    def holder(self, point: Point, m: int, n: int) -> Point:
        """Return the work-item whose accumulator is that of (m, n), in a problem."""
        for site in self.products:
            elements = operand_elements(mma_of(site), "C").region()
            placed = self.space.lifted(elements, self.base(site, "C"), ("s", "l", "v"))
            here = " and ".join(f"{name} = {point[name]}" for name in ("M", "N", "K"))
            grid = " and ".join(
                self.space.below(Index(var), count) for var, count in self.kernel.grid
            )
            bounds = " and ".join(f"{name} >= 0" for name in self.space.variables.values())
            places = placed.within(f"{here} and {bounds} and {grid} and R = {m} and C = {n}")
            found = places.least()
            if found is not None:
                return found
        return {}

    def failure(
        self,
        point: Point,
        *,
        claim: str,
        message: str,
        operand: str,
        element: tuple[int, int] | None,
        found: tuple[int, int] | None,
        output: tuple[int, int],
        k_tile: int | None = None,
        shows: bool = True,
    ) -> Failure:
        """Return a failure at a point."""
        if k_tile is None:
            k_tile = self._k_tile(point)
        return Failure(
            Counterexample(
                claim,
                message,
                point["M"],
                point["N"],
                point["K"],
                operand,
                (self.tile(self.extents[0], point), self.tile(self.extents[1], point)),
                k_tile,
                point.get("s", 0),
                point.get("l", 0),
                point.get("v", 0),
                element,
                found,
                output,
            ),
            shows,
        )

    def _k_tile(self, point: Point) -> int:
        for site in self.products:
            index = self._numbers(site)[2]
            if index.var is not None:
                return point.get(self.space.variables[index.var], 0)
        return 0


def mma_of(site: Site) -> TiledMma:
    """Return the tiled MMA of a multiplication's site."""
    if not isinstance(site.statement, Mma):
        raise KernelError("verify", {"statement": site.statement}, "it multiplies nothing", "")
    return site.statement.mma


def smallest(region: Region, order: tuple[str, ...]) -> dict[str, int] | None:
    """Return the least point of a region: by M+N+K, then in the order of the names."""
    return region.to(("T", *region.names), "T = M + N + K").least(("T", "M", "N", "K", *order))


def _agreed(numbers: list[Index], variable: Index) -> Index:
    """Return what two statements say, or the plain variable where they differ."""
    if len(set(numbers)) == 1:
        return numbers[0]
    return variable
