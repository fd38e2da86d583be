"""Floor 7: an operand of an MMA on its way from memory to the registers that are multiplied.

It is loaded, perhaps passed through shared memory, converted, reordered and transformed, each where
it has to be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pycute_xe.atom.block2d_copy import make_block_2d_prefetch
from pycute_xe.atom.reordering import is_identity, layout_of
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.bulk import table
from pycute_xe.composed import ComposedLayout
from pycute_xe.exactness import is_exact
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Fragment, Operand, Shared
from pycute_xe.kernel.ir.statements import (
    Convert,
    Load,
    Prefetch,
    Reorder,
    SharedLoad,
    SharedStore,
    Statement,
)
from pycute_xe.kernel.kinds.parts import reordered
from pycute_xe.kernel.kinds.shared_tiles import (
    check_swizzle,
    copy_places,
    fragment_places,
    operand_places,
)
from pycute_xe.kernel.kinds.transforming import Transform
from pycute_xe.kernel.spec.expression import Element, Expression, Slot, rebuilt, rounded_to
from pycute_xe.kernel.tiles.slots import copy_slots, mma_slots, separated
from pycute_xe.layout import Layout, make_layout, size
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.swizzle import Swizzle

__all__ = ["Side", "transformed_operands"]

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

    def load(self, k: Index) -> tuple[Statement, ...]:
        """Return what brings a tile into registers, on its way to shared memory in its order."""
        load = Load(self.copy, self.name, self.at(k), self.loaded, self.modes)
        if not self.stages:
            return (load,)
        return load, Reorder(self.loaded, f"t{self.name}s{self.name}", self._sorted()[0])

    def prefetch(self, k: Index) -> Prefetch:
        """Return the prefetch of a tile."""
        return Prefetch(make_block_2d_prefetch(self.copy), self.name, self.at(k), self.modes)

    @property
    def groups(self) -> frozenset[int]:
        """The sizes of the groups along K that share a scale: none, where nothing is scaled."""
        return self.transform.groups if self.transform else frozenset()

    def before_loop(self, group: int | None, k: Index) -> tuple[Statement, ...]:
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

    def store(self, k: Index) -> SharedStore:
        """Return what puts a subgroup's part into the stage of trip ``k``."""
        places = self._swizzled(self._sorted()[1])
        return SharedStore(f"t{self.name}s{self.name}", self.array, places, self._at(k))

    def take(self, k: Index) -> SharedLoad:
        """Return what takes a subgroup's share of trip ``k`` out of its stage."""
        places = self._swizzled(fragment_places(self.mma, self.role, self._place))
        taken = self.read if self.is_plain else f"t{self.name}m{self.name}"
        return SharedLoad(self.array, taken, places, self._at(k))

    def _taken(self) -> tuple[Statement, ...]:
        return (self.take(Index()),) if self.stages else ()

    @property
    def _place(self) -> Layout:
        """Coordinate in the tile → element of a stage, before the swizzle."""
        tile = self.mma.operand_tile(self.role)
        return operand_places(self.role, tile, self.copy.value_type)

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

    def ready(self) -> tuple[Statement, ...]:
        """Return the conversion, the reorder, and the transform in the order of the MMA."""
        x, slots = self.name, self._moves()
        if self.is_plain:
            return () if slots is None else (Reorder(self.loaded, self.read, slots),)
        out = list[Statement]()
        held = f"t{x}m{x}" if self.stages else self.loaded
        turned = slots if slots is not None and not is_identity(slots) else None
        in_place = self.transform is None or self.carrier == self.compute
        ready = self.read if in_place else f"tCv{x}"
        if self.carrier != self.copy.value_type:
            name = ready if turned is None else self.names[0].format(x)
            out.append(Convert(held, name))
            held = name
        if turned is not None:
            out.append(Reorder(held, ready, turned))
            held = ready
        if self.transform is not None:
            integers = self.compute.kind != "float"
            name = f"tCf{x}" if integers else self.read
            out.append(self.transform.into(held, name))
            out += [Convert(name, self.read)] if integers else []
        return tuple(out)

    def _moves(self) -> Layout | None:
        """Return the reorder behind the load; None where the registers are read as they are."""
        if self.stages or not self.reorders:
            return None
        held, wanted = copy_slots(self.copy), mma_slots(self.mma, self.role)
        return reordered(self.name, self.copy, self.mma, held, wanted)


def transformed_operands(sides: tuple[Side, ...]) -> tuple[Operand, ...]:
    """Return the operands that transforms read, one that several read once."""
    found = (side.transform for side in sides if side.transform is not None)
    return tuple(dict.fromkeys(o for transform in found for o in transform.operands))
