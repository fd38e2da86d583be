"""Tiles of global memory: the payload that describes one, block-2D loads, stores, prefetches."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pycute_xe.arch import Block2D, Surface
from pycute_xe.arch.lsc import Block2DMessage
from pycute_xe.bulk import table
from pycute_xe.errors import InputError, MachineError
from pycute_xe.esimd.blocks import elements_of
from pycute_xe.esimd.columns import advise_2d
from pycute_xe.esimd.lint import lint_of
from pycute_xe.esimd.messages import DATA, Hints, send
from pycute_xe.esimd.props import Pointer, pointer_of
from pycute_xe.esimd.threads import Thread, current
from pycute_xe.esimd.types import Type, cache_hint, dtype_of, tokens, whole
from pycute_xe.esimd.vectors import Vector, simd

__all__ = ["config_2d_mem_access", "lsc_load_2d", "lsc_prefetch_2d", "lsc_store_2d"]

_NONE = cache_hint.none


class config_2d_mem_access:
    """A tile of W × H elements (``nblk`` of them side by side) on a surface.

    ``width`` and ``pitch`` are bytes *minus 1*, ``height`` rows *minus 1*; ``x`` counts elements,
    ``y`` rows. C++: ``config_2d_mem_access<T, W, H, NBlk>``. Document: Intel ESIMD LSC 2D guide.

    >>> p = config_2d_mem_access("f16", 16, 8, Pointer(np.dtype("f2"), 4096), 511, 1023, 511, 32, 8)
    >>> p.set_x(p.get_x() + 16)
    >>> p.surface, (p.get_x(), p.get_y())
    (Surface(base=4096, width=512, height=1024, pitch=512), (48, 8))
    """

    __slots__ = ("_ptr", "_sizes", "_xy", "dtype", "height", "nblk", "width")

    def __init__(
        self,
        T: Type,
        W: int,
        H: int,
        ptr: Pointer,
        width: int,
        height: int,
        pitch: int,
        x: int = 0,
        y: int = 0,
        *,
        nblk: int = 1,
    ) -> None:
        """Keep the numbers as they are given."""
        made = "config_2d_mem_access"
        self.dtype, self._ptr = dtype_of(T), pointer_of(made, ptr, T)
        self.width, self.height, self.nblk = whole(made, W=W, H=H, nblk=nblk)
        self._sizes = [*whole(made, width=width, height=height, pitch=pitch)]
        self._xy = [*whole(made, x=x, y=y)]

    @property
    def surface(self) -> Surface:
        """The surface in true sizes: the minus 1 is undone."""
        width, height, pitch = (value + 1 for value in self._sizes)
        return Surface(self._ptr.address, width, height, pitch)

    def block(
        self,
        op: Literal["load", "store", "prefetch"],
        transposed: bool = False,
        transformed: bool = False,
    ) -> Block2D:
        """The block that one access to the tile moves.

        >>> tile = config_2d_mem_access("u8", 4, 2, Pointer(np.dtype("u1"), 64), 63, 1, 63)
        >>> tile.block("load").bits
        8
        """
        bits = 8 * self.dtype.itemsize
        return Block2D(op, bits, self.height, self.width, self.nblk, transposed, transformed)

    def get_x(self) -> int:
        """The x of the tile, in elements."""
        return self._xy[0]

    def get_y(self) -> int:
        """The y of the tile, in rows."""
        return self._xy[1]

    def set_x(self, x: int) -> None:
        """Move the tile to a column, in elements."""
        (self._xy[0],) = whole("set_x", x=x)

    def set_y(self, y: int) -> None:
        """Move the tile to a row."""
        (self._xy[1],) = whole("set_y", y=y)

    def set_data_pointer(self, ptr: Pointer) -> None:
        """Put the surface elsewhere."""
        self._ptr = pointer_of("set_data_pointer", ptr, self.dtype)

    def set_surface_width(self, width: int) -> None:
        """Set the width of the surface, in bytes minus 1."""
        (self._sizes[0],) = whole("set_surface_width", width=width)

    def set_surface_height(self, height: int) -> None:
        """Set the height of the surface, in rows minus 1."""
        (self._sizes[1],) = whole("set_surface_height", height=height)

    def set_surface_pitch(self, pitch: int) -> None:
        """Set the pitch of the surface, in bytes minus 1."""
        (self._sizes[2],) = whole("set_surface_pitch", pitch=pitch)


Where = config_2d_mem_access | Pointer | int


def lsc_load_2d(
    T: Type,
    W: int,
    H: int,
    *where: Where,
    nblk: int = 1,
    transposed: bool = False,
    transformed: bool = False,
    l1: cache_hint = _NONE,
    l2: cache_hint = _NONE,
    l3: cache_hint = _NONE,
) -> simd:
    """Return the ``nblk`` tiles of W × H elements that a payload describes, as registers hold them.

    Rows of a tile follow each other, and tiles; ``transposed`` makes columns of them,
    ``transformed`` packs the elements of 2 (or 4) rows into dwords. Elements outside the surface
    are 0. ``where`` is a payload, or pointer, width, height, pitch, x and y as a payload has them.
    Lints PX101 to PX111.
    C++: ``lsc_load_2d<T, W, H, NBlk, Transposed, Transformed, L1, L3>(payload)``.
    Document: Intel ESIMD LSC 2D guide.

    >>> from pycute_xe import esimd
    >>> def kernel(item, x, y):
    ...     payload = esimd.config_2d_mem_access("u32", 4, 2, x, 63, 1, 63, 8, 0)
    ...     columns = esimd.lsc_load_2d("u32", 4, 2, payload, transposed=True)
    ...     esimd.block_store("u32", 8, y, columns)
    >>> x, y = np.arange(32, dtype=np.uint32), np.zeros(8, dtype=np.uint32)
    >>> run = esimd.launch(kernel, x, y)
    >>> y.tolist()
    [8, 24, 9, 25, 10, 26, 11, 27]
    """
    thread, tile = current("lsc_load_2d"), _payload("lsc_load_2d", T, W, H, nblk, where)
    block = tile.block("load", transposed, transformed)
    _send(thread, "lsc_load_2d", tile, block, tokens("lsc_load_2d", l1, l3, l2))
    nbytes = block.register_bytes(thread.machine.target)
    content = thread.registers.read(DATA, nbytes, "lsc_load_2d").view(tile.dtype)
    result = simd.wrap(content[_places(block)])
    result.record.plain_tile = tile.dtype.itemsize < 4 and not transformed
    result.record.origin = "load"
    down, across = _extents(tile)
    result.record.extents = (across, down) if transposed else (down, across)
    return result


def lsc_store_2d(
    T: Type,
    W: int,
    H: int,
    *where: Any,
    nblk: int = 1,
    l1: cache_hint = _NONE,
    l2: cache_hint = _NONE,
    l3: cache_hint = _NONE,
) -> None:
    """Store W × H elements, row after row, to the tile that a payload describes.

    The last argument is the data; elements outside the surface are dropped. The C++ template takes
    ``nblk`` as well, and a store moves one tile: more are refused. Lints as of `lsc_load_2d`.
    C++: ``lsc_store_2d<T, W, H, NBlk, L1, L3>(payload, data)``, or
    ``lsc_store_2d<T, W, H, L1, L3>`` with pointer, width, height, pitch, x, y and data.
    Document: Intel ESIMD LSC 2D guide.

    >>> from pycute_xe import esimd
    >>> def kernel(item, y):
    ...     tile = esimd.simd("u32", 4, [1, 2, 3, 4])
    ...     esimd.lsc_store_2d("u32", 2, 2, y, 63, 1, 63, 4, 0, tile)
    >>> y = np.zeros((2, 16), dtype=np.uint32)
    >>> run = esimd.launch(kernel, y)
    >>> y[:, 4:6].tolist()
    [[1, 2], [3, 4]]
    """
    if not where:
        condition = "the call needs a payload, or its six numbers, and the data"
        raise InputError("lsc_store_2d", {"given": 0}, condition, "give the data last")
    thread, tile = current("lsc_store_2d"), _payload("lsc_store_2d", T, W, H, nblk, where[:-1])
    block, count = tile.block("store"), tile.width * tile.height * tile.nblk
    data = elements_of("lsc_store_2d", tile.dtype, count, where[-1]).view(tile.dtype)
    places = _places(block)
    _advise_product(thread, tile, where[-1])
    padded = np.zeros(int(places.max()) + 1, dtype=tile.dtype)
    padded[places] = data
    thread.registers.write(DATA, padded.view(np.uint8), "lsc_store_2d")
    _send(thread, "lsc_store_2d", tile, block, tokens("lsc_store_2d", l1, l3, l2))


def _extents(tile: config_2d_mem_access) -> tuple[int, int]:
    """The rows of a surface, and its columns in elements."""
    return tile.surface.height, tile.surface.width // tile.dtype.itemsize


def _advise_product(thread: Thread, tile: config_2d_mem_access, data: Any) -> None:
    """PX304 where the operands of a stored product are those of the transposed matrix."""
    if not isinstance(data, Vector):
        return
    history, (rows, columns) = data.history(), _extents(tile)
    known = [
        (extent, direct, swapped)
        for extent, direct, swapped in zip(
            history.extents, (rows, columns), (columns, rows), strict=True
        )
        if extent is not None
    ]
    turned = all(extent == swapped for extent, _, swapped in known)
    if history.origin == "product" and turned and any(e != direct for e, direct, _ in known):
        a, b = ("?" if extent is None else extent for extent in history.extents)
        condition = f"a_tile is of {a} rows and b_tile of {b} columns, C has {rows} by {columns}"
        thread.record("PX304", "lsc_store_2d", condition)


def lsc_prefetch_2d(
    T: Type,
    W: int,
    H: int,
    *where: Where,
    nblk: int = 1,
    l1: cache_hint = _NONE,
    l2: cache_hint = _NONE,
    l3: cache_hint = _NONE,
) -> None:
    """Ask the caches for what `lsc_load_2d` would load.

    C++: ``lsc_prefetch_2d<T, W, H, NBlk, L1, L3>(payload)``. Document: Intel ESIMD LSC 2D guide.

    >>> from pycute_xe import esimd
    >>> def kernel(item, x):
    ...     esimd.lsc_prefetch_2d("f16", 16, 8, x, 63, 7, 63, 0, 0)
    >>> esimd.launch(kernel, np.zeros((8, 32), dtype=np.float16)).nbytes["prefetch"]
    256
    """
    thread, tile = current("lsc_prefetch_2d"), _payload("lsc_prefetch_2d", T, W, H, nblk, where)
    block = tile.block("prefetch")
    _send(thread, "lsc_prefetch_2d", tile, block, tokens("lsc_prefetch_2d", l1, l3, l2))


def _payload(
    operation: str, T: Type, W: int, H: int, nblk: int, where: tuple[Any, ...]
) -> config_2d_mem_access:
    """The payload that was given, or the one of its numbers."""
    sizes = whole(operation, W=W, H=H, nblk=nblk)
    if len(where) == 6:
        return config_2d_mem_access(T, W, H, *where, nblk=nblk)
    if len(where) != 1 or not isinstance(where[0], config_2d_mem_access):
        condition = "the call needs a payload, or pointer, width, height, pitch, x and y"
        raise InputError(operation, {"given": len(where)}, condition, "config_2d_mem_access(…)")
    tile: config_2d_mem_access = where[0]
    given, wanted = (dtype_of(T), *sizes), (tile.dtype, tile.width, tile.height, tile.nblk)
    if given != wanted:
        operands = {"given": given, "payload": wanted}
        condition = "type, width, height or number of tiles differ from those of the payload"
        raise InputError(operation, operands, condition, "use the payload's")
    return tile


def _send(
    thread: Thread,
    operation: str,
    tile: config_2d_mem_access,
    block: Block2D,
    hints: Hints,
) -> None:
    surface = tile.surface
    numbers = (surface.base, surface.width - 1, surface.height - 1, surface.pitch - 1)
    store, load = block.op == "store", block.op == "load"
    message = Block2DMessage(
        block,
        dst="V2" if load else None,
        src1="V2" if store else None,
        surface=numbers,
        x=tile.get_x(),
        y=tile.get_y(),
        l1=hints[0],
        l3=hints[1],
    )
    broken = [breach for breach in message.check(thread.machine.target) if breach.level == "error"]
    if not any(lint_of(breach).code == "PX104" for breach in broken):
        _inside(thread, operation, surface)
    if not broken:
        advise_2d(thread, operation, block, surface, tile.get_x(), tile.get_y())
    send(thread, message)


def _inside(thread: Thread, operation: str, surface: Surface) -> None:
    """PX104 where the surface is larger than the array behind it."""
    nbytes = (surface.height - 1) * surface.pitch + surface.width
    try:
        thread.machine.memory.span(surface.base, nbytes)
    except MachineError as fault:
        condition = f"the surface of {nbytes} bytes ends beyond its array"
        raise thread.error("PX104", operation, {"surface": surface}, condition) from fault


@lru_cache(maxsize=1024)
def _places(block: Block2D) -> NDArray[np.int64]:
    """Where the elements lie among those of the registers, padding left out."""
    return np.sort(table(block.position))
