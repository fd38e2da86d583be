"""Who owns what in registers.

Registers belong to the subgroup: element i of a subgroup array belongs to work-item i mod 16, as
its value i div 16. Elements narrower than a byte are owned byte by byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import cast

from pycute_xe.algebra import composition, right_inverse
from pycute_xe.arch.target import Target, get_target
from pycute_xe.errors import CoordError, CuteError, ShapeError, TargetError
from pycute_xe.facts import rows_for
from pycute_xe.layout import Layout, cosize, size
from pycute_xe.signatures import checked_fields, typed, typed_fields

__all__ = ["RegisterMap", "Occupancy", "occupancy"]

# ------------------------------------------------------------ occupancy
# How many work-groups an Xe core keeps at once, by shared local memory and by threads.

_MANY = 1 << 16
"""Where no source gives a limit."""


@dataclass(frozen=True, slots=True)
class Room:
    """Work-groups of an Xe core at once, by one limit, and who says so."""

    groups: int
    by: str
    source: str

    def __str__(self) -> str:
        """One line."""
        return f"{self.groups} by {self.by} [{self.source}]"


@checked_fields
@dataclass(frozen=True, slots=True)
class Occupancy:
    """Work-groups that an Xe core keeps at once, by every limit that a source gives.

    ``reserved`` are the bytes that the hardware sets aside for a work-group. `groups` is what the
    tightest limit leaves, `most` what remains where sources disagree and the larger one is right.
    """

    reserved: int
    slm: tuple[Room, ...]
    threads: Room | None

    @property
    def groups(self) -> int:
        """Work-groups by the tightest limit of all sources.

        >>> occupancy(32 * 1024, 16, "bmg").groups
        2
        """
        return min((room.groups for room in self._rooms()), default=_MANY)

    @property
    def most(self) -> int:
        """Work-groups where the most generous source on shared local memory is right.

        >>> occupancy(32 * 1024, 8, "bmg").most
        4
        """
        by_slm = [max((room.groups for room in self.slm), default=_MANY)]
        return min(*by_slm, _MANY if self.threads is None else self.threads.groups)

    def _rooms(self) -> tuple[Room, ...]:
        return self.slm if self.threads is None else (*self.slm, self.threads)

    def __str__(self) -> str:
        """One line for each limit."""
        first = f"{self.groups} work-groups on an Xe core, {self.reserved:,} bytes set aside each"
        return "\n  ".join([first, *map(str, self._rooms())])


@typed
def occupancy(
    slm_bytes: int, threads: int, target: str | Target = "bmg", grf_mode: int | None = None
) -> Occupancy:
    """Return how many work-groups of so many threads and bytes an Xe core keeps at once.

    ``grf_mode``: the registers of a thread, which `check` counts (`Checked.grf_mode`); the largest
    mode if left out.

    Law: by shared local memory ``core bytes div reserved``, where reserved is the next size that
    the hardware can set aside; by threads ``threads of the core div threads``. 0 is a work-group
    that does not fit. Where no source gives the vector engines of a core, threads do not limit.
    Raises `TargetError` for negative sizes, no threads, and a register mode that does not exist.
    Document: Intel ESIMD LSC SLM guide, SLM size limits.

    >>> found = occupancy(40_000, 8, "pvc", 256)
    >>> found.reserved, found.groups
    (49152, 2)
    >>> occupancy(0, 8, "pvc").groups, occupancy(0, 8, "pvc", 128).groups
    (4, 8)
    """
    known = get_target(target)
    if slm_bytes < 0 or threads < 1:
        given = {"slm_bytes": slm_bytes, "threads": threads}
        raise TargetError(
            "occupancy", given, "a work-group must have at least one thread and 0 bytes", "use more"
        )
    reserved = _reserved(known, slm_bytes)
    by_slm = tuple(
        Room(limit.bytes // reserved, f"{limit.bytes:,} bytes of SLM", limit.source)
        for limit in known.slm
        if reserved
    )
    mode = max(known.grf_modes) if grf_mode is None else grf_mode
    return Occupancy(reserved, by_slm, _by_threads(known, threads, mode))


def _reserved(target: Target, slm_bytes: int) -> int:
    """The bytes set aside; what no size holds is kept as it is."""
    row = next(iter(rows_for("arch", "slm_sizes", target.name)), None)
    if row is None:
        condition = "no row says in which sizes shared local memory is handed out"
        fix = "add the target to rows of `slm_sizes` in atoms/arch.toml"
        raise TargetError("occupancy", {"target": target}, condition, fix)
    sizes = (0, *cast("tuple[int, ...]", row["bytes"]))
    return next((size for size in sizes if size >= slm_bytes), slm_bytes)


def _by_threads(target: Target, threads: int, grf_mode: int) -> Room | None:
    _ = target.threads_per_engine(grf_mode)  # refuses a mode that the target does not have
    if target.vector_engines is None:
        return None
    in_all = target.threads_per_core(grf_mode)
    (row,) = rows_for("arch", "threads", target.name)
    by = f"{in_all} threads of {grf_mode} registers"
    return Room(in_all // threads, by, f"{row['source']}; {target.source}")


# ------------------------------------------------------------ registers


@typed_fields
@dataclass(frozen=True, slots=True)
class RegisterMap:
    """Ownership of a register image by work-items.

    ``position`` maps a coordinate to a register element index; ``offset`` below is the linear
    coordinate, first mode fastest. ``bits`` is the element width, ``elements`` the size of the
    image, padding included (0: no more than the position needs).
    Law: ``element(*owner(offset)) == offset``. C++: cute/atom/copy_traits_xe_2d.hpp divides the
    registers of its block-2D atoms among work-items in the same way.
    Raises `ShapeError` for sizes that cannot be.

    >>> map = RegisterMap(Layout((16, 8)), bits=16)
    >>> map.owner(17), map.element(1, 1), map.values
    ((1, 1), 17, 8)
    """

    position: Layout
    bits: int
    lanes: int = 16
    elements: int = 0

    def __post_init__(self) -> None:
        """Count the elements of the image, whole rows of lanes."""
        whole = self.bits % 8 == 0 or (self.bits > 0 and 8 % self.bits == 0)
        if self.bits < 1 or not whole or self.lanes < 1 or self.elements < 0:
            raise ShapeError(
                "RegisterMap",
                {"bits": self.bits, "lanes": self.lanes, "elements": self.elements},
                "bits must divide a byte or be a multiple of 8, and lanes be positive",
                "use 2, 4, 8, 16, 32 or 64 bits",
            )
        least = max(self.elements, cosize(self.position))
        row = self.lanes * self.packed
        object.__setattr__(self, "elements", -(-least // row) * row)

    @property
    def packed(self) -> int:
        """Elements that share one byte and therefore one owner; 1 from 8 bits on.

        >>> RegisterMap(Layout(64), bits=4).packed
        2
        """
        return max(1, 8 // self.bits)

    @property
    def values(self) -> int:
        """Value slots of one work-item, padding included.

        >>> RegisterMap(Layout((8, 2), (1, 16)), bits=32).values
        2
        """
        return self.elements // self.lanes

    def owner(self, offset: int) -> tuple[int, int]:
        """Return the (lane, value) that owns the element at a linear coordinate.

        Raises `CoordError` outside the domain of the position.

        >>> RegisterMap(Layout(64), bits=4).owner(35)
        (1, 3)
        """
        if not 0 <= offset < size(self.position):
            raise CoordError(
                "owner", {"offset": offset}, f"the domain has {size(self.position)} elements", ""
            )
        unit, rest = divmod(self.position(offset), self.packed)
        return unit % self.lanes, unit // self.lanes * self.packed + rest

    def element(self, lane: int, value: int) -> int | None:
        """Return the linear coordinate that a lane's value holds, ``None`` for padding.

        Raises `CoordError` for a lane or value out of range.

        >>> RegisterMap(Layout((8, 2), (1, 16)), bits=32).element(9, 0) is None
        True
        """
        if not (0 <= lane < self.lanes and 0 <= value < self.values):
            raise CoordError(
                "element",
                {"lane": lane, "value": value},
                f"there are {self.lanes} lanes of {self.values} values",
                "",
            )
        unit = value // self.packed * self.lanes + lane
        return _inverse(self.position).get(unit * self.packed + value % self.packed)

    def tv(self) -> Layout:
        """Return the layout (lane, value) → linear coordinate.

        Law: ``tv()(lane, value) == element(lane, value)`` for all of them.
        Raises `CuteError` when some slots are padding, which no layout can say.

        >>> print(RegisterMap(Layout((16, 8), (1, 16)), bits=16).tv())
        (16,8):(1,16)
        """
        if size(self.position) != self.elements or len(_inverse(self.position)) != self.elements:
            raise CuteError(
                "tv",
                {"position": self.position, "elements": self.elements},
                f"{self.elements - size(self.position)} of {self.elements} slots hold no element",
                "use owner and element, or a width that is a power of two",
            )
        if self.packed == 1:
            slots = Layout((self.lanes, self.values), (1, self.lanes))
        else:
            shape = (self.lanes, (self.packed, self.values // self.packed))
            slots = Layout(shape, (self.packed, (1, self.packed * self.lanes)))
        return composition(right_inverse(self.position), slots)


@cache
def _inverse(position: Layout) -> dict[int, int]:
    return {position(offset): offset for offset in range(size(position))}
