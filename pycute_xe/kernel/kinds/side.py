"""An operand of an MMA on its way from memory to the registers that are multiplied.

It is loaded, perhaps passed through shared memory, converted, reordered and transformed, each where
it has to be.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np

from pycute_xe.algebra import zipped_divide
from pycute_xe.atom.block2d_copy import make_block_2d_copy, make_block_2d_prefetch
from pycute_xe.atom.block2d_op import XE_LOAD_2D, XE_LOAD_2D_VNNI
from pycute_xe.atom.reordering import is_identity
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.bulk import layout_of, table
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import KernelError
from pycute_xe.kernel.arrays import Ints
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.kernel.ir.operands import Fragment, Operand, Order, Shared
from pycute_xe.kernel.kinds.parts import gmem_stride, in_one_pass, reordered
from pycute_xe.kernel.kinds.transforms import Transform
from pycute_xe.kernel.spec.expression import Element, Expression, Slot, rebuilt, rounded_to
from pycute_xe.kernel.tiles.slots import copy_slots, mma_slots, separated
from pycute_xe.layout import Layout, make_layout, size
from pycute_xe.numeric import Numeric, as_numeric, is_exact
from pycute_xe.swizzle import Swizzle

__all__ = ["Side", "transformed_operands", "MEET", "cooperative_copy", "fragment_places"]

# ------------------------------------------------------------ shared tiles
# Tiles of an operand that a work-group loads together and keeps in shared memory.

MEET: tuple[ir.Statement, ...] = (ir.Fence(), ir.BarrierArrive(), ir.BarrierWait())
"""What lets every subgroup read what the others stored."""


def cooperative_copy(mma: TiledMma, name: str, order: Order, numeric: Numeric) -> TiledCopy:
    """Return the copy that loads a tile once, each subgroup an equal part of it.

    ``name`` is A for a tile of (M, K), B for one of (N, K). Messages are as wide as a cache line
    allows, and no higher than a part; they fill registers in the order of DPAS where one does.
    Raises `KernelError` where no message moves a part.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma, bf16 = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16")), as_numeric("bf16")
    >>> print(cooperative_copy(mma, "A", "row", bf16))
    XE_LOAD_2D<16,8,32,16> of bf16, 1 per subgroup × 32 subgroups, tile 256x32
    >>> print(cooperative_copy(mma, "B", "row", bf16))
    XE_LOAD_2D_VNNI<16,8,32,16> of bf16, 1 per subgroup × 32 subgroups, tile 256x32
    """
    tile, subgroups = mma.operand_tile(name), mma.num_subgroups
    strides = gmem_stride(name, order)
    x = strides.index(1)
    y = 1 - x
    width = gcd(tile[x], 512 // numeric.bits)
    while width * numeric.bits > 32 and tile[x] // width * tile[y] % subgroups:
        width //= 2
    across = gcd(subgroups, tile[x] // width)
    down = subgroups // across
    if width * numeric.bits % 32 or tile[y] % down:
        raise KernelError(
            "slm_gemm",
            {name: f"{numeric}, {order}", "tile": tile, "subgroups": subgroups},
            f"{subgroups} subgroups cannot load equal parts of a tile of {tile[0]} x {tile[1]}",
            "use a larger tile or fewer subgroups",
        )
    height = gcd(tile[y] // down, 32)
    counts, together = [0, 0], [0, 0]
    counts[x], counts[y] = tile[x] // width, tile[y] // height
    together[x], together[y] = across, down
    blocks = zipped_divide(Layout(tuple(counts)), tuple(together))
    _, n, k = mma.atom.shape_mnk
    rows = order == "row"
    block = gcd(width, (n if name == "B" else k) if rows else width)
    packs = rows and name == "B" and numeric.bits in (8, 16) and height * numeric.bits % 32 == 0
    op = (XE_LOAD_2D_VNNI if packs else XE_LOAD_2D)(numeric.bits, height, width, block)
    return make_block_2d_copy(op, strides, numeric, tuple(counts), blocks)


def operand_places(mma: TiledMma, role: str, numeric: Numeric) -> Layout:
    """Return (M or N, K) → element of a shared tile: operand of DPAS by operand, as registers go.

    So those that a subgroup multiplies lie side by side. A's lie by rows of K; of B as many k as
    fill a dword lie together, n by n. Operands follow each other along M or N, then along K.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> mma, bf16 = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16")), as_numeric("bf16")
    >>> print(operand_places(mma, "A", bf16), operand_places(mma, "B", bf16))
    ((8,32),(16,2)):((16,128),(1,4096)) ((16,16),((2,8),2)):((2,256),((1,32),4096))
    """
    rows, depth = mma.operand_tile(role)
    m, n, k = mma.atom.shape_mnk
    step, packed = rows * k, max(1, 32 // numeric.bits)
    if role == "A":
        return Layout(((m, rows // m), (k, depth // k)), ((k, m * k), (1, step)))
    inner = (packed, k // packed)
    return Layout(((n, rows // n), (inner, depth // k)), ((packed, n * k), ((1, packed * n), step)))


def fragment_places(mma: TiledMma, role: str, place: Layout) -> Layout:
    """Return (subgroup, register element) → place of what an MMA's fragment holds there.

    ``place`` maps a coordinate of the operand's tile to a number.
    """
    (_, threads), _ = mma.fragment(role)
    order = table(mma.operand_subgroups(role)).reshape(-1)
    return separated(_placed(place, threads)[order], _placed(place, mma_slots(mma, role)))


def copy_places(copy: TiledCopy, place: Layout) -> Layout:
    """Return (subgroup, register element) → place of what a copy brings there."""
    (_, subgroups), _ = copy.fragment
    return separated(_placed(place, subgroups), _placed(place, copy_slots(copy)))


def _placed(place: Layout, layout: Layout) -> Ints:
    """Return the place of each coordinate that a layout of coordinates goes through."""
    rows, columns = (size(mode) for mode in place)
    coordinates = table(layout).reshape(size(layout), -1)
    at = np.zeros((coordinates.shape[0], 2), dtype=np.int64)
    at[:, : coordinates.shape[1]] = coordinates
    if (at >= (rows, columns)).any():
        wrong = f"registers hold elements beyond the tile of {rows} x {columns}"
        raise KernelError("slm_gemm", {"tile": (rows, columns)}, wrong, "use a DPAS of 8 rows")
    return table(place).reshape(columns, rows)[at[:, 1], at[:, 0]]


def check_swizzle(swizzle: Swizzle | None, name: str, elements: int) -> None:
    """Refuse a swizzle that moves elements from one stage into another."""
    if swizzle is None:
        return
    period = 1 << (swizzle.bits + swizzle.base + abs(swizzle.shift))
    if elements % period:
        raise KernelError(
            "slm_gemm",
            {"swizzle": swizzle, name: f"{elements} elements a stage"},
            f"a stage of {elements} elements is not a multiple of the {period} that the "
            "swizzle permutes",
            "use a smaller swizzle or a larger tile",
        )


# ------------------------------------------------------------ side

F32 = as_numeric("f32")


@dataclass(frozen=True)
class Side:
    """One operand that is loaded: its copy, and its registers up to those that the MMA reads.

    ``name`` begins with the operand of the MMA, A or B, unless ``of`` says which. ``modes`` are
    the operand's modes that the copy's tile runs along; ``before`` are its indices without those
    along K. ``ahead`` tiles are prefetched; ``stages`` tiles lie in shared memory one behind the
    other, 0 where it is passed by, and ``swizzle`` permutes the elements of each. ``names`` are
    those of what is converted, of what the MMA reads, and of that where nothing is reordered.
    """

    name: str
    copy: TiledCopy
    mma: TiledMma
    modes: tuple[int, int]
    before: tuple[Index, ...]
    reorders: bool = True
    transform: Transform | None = None
    ahead: int = 0
    stages: int = 0
    swizzle: Swizzle | None = None
    of: str = ""
    names: tuple[str, str, str] = ("t{0}v{0}", "tCr{0}", "tCr{0}")

    @property
    def role(self) -> str:
        """The operand of the MMA that it is: A or B."""
        return self.of or self.name[0]

    @property
    def compute(self) -> Numeric:
        """The type that the MMA multiplies."""
        return as_numeric(getattr(self.mma.atom.op, self.role))

    @property
    def carrier(self) -> Numeric:
        """The type that is reordered: the MMA's, but f32 where a transform would round twice."""
        if self.transform is None:
            return self.compute
        whole = self.compute.kind == "float" and is_exact(self.copy.value_type, self.compute)
        return self.compute if whole else F32

    @property
    def is_plain(self) -> bool:
        """Whether memory holds what is multiplied."""
        return self.transform is None and self.copy.value_type == self.compute

    @property
    def loaded(self) -> str:
        """The fragment that the copy fills."""
        return f"t{self.name}r{self.name}"

    @property
    def read(self) -> str:
        """The fragment that the MMA reads."""
        if self.is_plain and not self.reorders and not self.stages:
            return self.loaded
        return self.names[1 if self.reorders else 2].format(self.name)

    def fragments(self) -> tuple[Fragment, ...]:
        """Return the registers on the way, and those of what a transform reads."""
        x, memory, mma = self.name, self.copy.value_type, self.mma
        copied: int = self.copy.messages * self.copy.atom.values
        whole: int = size(mma.fragment(self.role)[1])
        kinds = {self.loaded: memory, f"t{x}s{x}": memory, f"t{x}m{x}": memory}
        kinds |= {self.names[0].format(x): self.carrier, f"tCv{x}": self.carrier, f"tCf{x}": F32}
        kinds |= {self.read: self.compute}
        chain = (*self.load(Index()), *self._taken(), *self.ready())
        names = dict.fromkeys(statement.touched.writes[0] for statement in chain)
        slots = {self.loaded: copied, f"t{x}s{x}": copied}
        vectors = self.transform.vectors if self.transform else ()
        made = (Fragment(name, kinds[name], slots.get(name, whole)) for name in names)
        return (*made, *(fragment for vector in vectors for fragment in vector.fragments))

    def factor(self, at: tuple[Index, ...]) -> Expression:
        """Return what the MMA multiplies: converted, or transformed and rounded once."""
        element = Element(self.name, at)
        if self.transform is None:
            exact = is_exact(self.copy.value_type, self.compute)
            return element if exact else rounded_to(self.compute, element)
        value = rebuilt(self.transform.value, lambda x: element if isinstance(x, Slot) else x)
        return rounded_to(self.compute, value)

    # ------------------------------------------------------------------ from memory

    def at(self, k: Index) -> tuple[Index, ...]:
        """Return where the tile of a trip begins: element indices in the operand's order."""
        depth, mode = self.copy.tiler_mn[1], self.modes[1]
        return tuple(k * depth if i == mode else index for i, index in enumerate(self.before))

    def load(self, k: Index) -> tuple[ir.Statement, ...]:
        """Return what brings a tile into registers, on its way to shared memory in its order."""
        load = ir.Load(self.copy, self.name, self.at(k), self.loaded, self.modes)
        if not self.stages:
            return (load,)
        return load, ir.Reorder(self.loaded, f"t{self.name}s{self.name}", self._sorted()[0])

    def prefetch(self, k: Index) -> ir.Prefetch:
        """Return the prefetch of a tile."""
        return ir.Prefetch(make_block_2d_prefetch(self.copy), self.name, self.at(k), self.modes)

    @property
    def groups(self) -> frozenset[int]:
        """The sizes of the groups along K that share a scale: none, where nothing is scaled."""
        return self.transform.groups if self.transform else frozenset()

    def before_loop(self, group: int | None, k: Index) -> tuple[ir.Statement, ...]:
        """Return the loads of what all k share, or those of a group that begins at ``k``."""
        vectors = self.transform.vectors if self.transform else ()
        return tuple(s for vector in vectors if vector.group == group for s in vector.loaded(k))

    # ------------------------------------------------------------------ through shared memory

    @property
    def array(self) -> str:
        """The name of the shared array."""
        return f"s{self.name}"

    @property
    def elements(self) -> int:
        """Elements of one stage."""
        return self.copy.tiler_mn[0] * self.copy.tiler_mn[1]

    def shared(self) -> tuple[Shared, ...]:
        """Return the array, where there is one."""
        if not self.stages:
            return ()
        check_swizzle(self.swizzle, self.name, self.elements)
        return (Shared(self.array, self.copy.value_type, self.stages * self.elements),)

    def store(self, k: Index) -> ir.SharedStore:
        """Return what puts a subgroup's part into the stage of trip ``k``."""
        places = self._swizzled(self._sorted()[1])
        return ir.SharedStore(f"t{self.name}s{self.name}", self.array, places, self._at(k))

    def take(self, k: Index) -> ir.SharedLoad:
        """Return what takes a subgroup's share of trip ``k`` out of its stage."""
        places = self._swizzled(fragment_places(self.mma, self.role, self._place))
        taken = self.read if self.is_plain else f"t{self.name}m{self.name}"
        return ir.SharedLoad(self.array, taken, places, self._at(k))

    def _taken(self) -> tuple[ir.Statement, ...]:
        return (self.take(Index()),) if self.stages else ()

    @property
    def _place(self) -> Layout:
        """Coordinate in the tile → element of a stage, before the swizzle."""
        return operand_places(self.mma, self.role, self.copy.value_type)

    def _at(self, k: Index) -> Index:
        return k % self.stages * self.elements

    def _sorted(self) -> tuple[Layout, Layout]:
        """Return the reorder into the array's order, and the places of what is in that order."""
        starts, inside = copy_places(self.copy, self._place)
        where = table(inside).reshape(-1)
        order = np.argsort(where, kind="stable")
        to = np.empty_like(order)
        to[order] = np.arange(order.size)
        slots = layout_of(tuple(int(x) for x in to))
        if slots is None:
            return Layout(where.size), make_layout(starts, inside)
        return slots, separated(table(starts).reshape(-1), where[order])

    def _swizzled(self, places: Layout) -> Layout | ComposedLayout:
        return places if self.swizzle is None else ComposedLayout(self.swizzle, 0, places)

    # ------------------------------------------------------------------ in registers

    def ready(self) -> tuple[ir.Statement, ...]:
        """Return the conversion, the reorder, and the transform in the order of the MMA."""
        x, slots = self.name, self._moves()
        if self.is_plain:
            return () if slots is None else (ir.Reorder(self.loaded, self.read, slots),)
        out = list[ir.Statement]()
        fragment = f"t{x}m{x}" if self.stages else self.loaded
        turned = slots if slots is not None and not is_identity(slots) else None
        in_place = self.transform is None or self.carrier == self.compute
        ready = self.read if in_place else f"tCv{x}"
        at_once = in_one_pass(turned, self.copy.value_type, self.carrier)
        if self.carrier != self.copy.value_type and not at_once:
            name = ready if turned is None else self.names[0].format(x)
            out.append(ir.Convert(fragment, name))
            fragment = name
        if turned is not None:
            out.append(ir.Reorder(fragment, ready, turned))
            fragment = ready
        if self.transform is not None:
            integers = self.compute.kind != "float"
            name = f"tCf{x}" if integers else self.read
            out.append(self.transform.into(fragment, name))
            out += [ir.Convert(name, self.read)] if integers else []
        return tuple(out)

    def _moves(self) -> Layout | None:
        """Return the reorder behind the load; None where the registers are read as they are."""
        if self.stages or not self.reorders:
            return None
        slots, wanted = copy_slots(self.copy), mma_slots(self.mma, self.role)
        return reordered(self.name, self.copy, self.mma, slots, wanted)


def transformed_operands(sides: tuple[Side, ...]) -> tuple[Operand, ...]:
    """Return the operands that transforms read, one that several read once."""
    transforms = (side.transform for side in sides if side.transform is not None)
    return tuple(dict.fromkeys(o for transform in transforms for o in transform.operands))
