"""The tiled MMAs, the copies and the fragments of a kernel as C++ types with names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from pycute_xe.atom import (
    TiledCopy,
    TiledMma,
    make_block_2d_prefetch,
    workgroup_mma,
)
from pycute_xe.atom.block2d_copy import BLOCK_2D_COPIES
from pycute_xe.errors import CuteError, KernelError
from pycute_xe.facts import rows
from pycute_xe.kernel import Kernel, Touched
from pycute_xe.kernel.ir.effects import MemoryAccess, RegisterMove
from pycute_xe.layout import Layout
from pycute_xe.notation import cpp_tree
from pycute_xe.numeric import Numeric

__all__ = ["Parts", "Role"]

Side = Literal["A", "B", "C", "S", "D"]


@dataclass(frozen=True)
class Role:
    """What a fragment is to C++: an operand of a tiled MMA, or a side of a tiled copy."""

    of: str
    side: Side
    tile: tuple[int, ...]

    def fragment(self) -> str:
        """Return the C++ type of the fragment, with its (work-item, value) layout."""
        tile = f"make_identity_tensor({cpp_tree(self.tile, 'Shape')}{{}})"
        return f"decltype({self.of}{{}}.get_slice(0).partition_sg_fragment_{self.side}({tile}))"


class Parts:
    """The types of a kernel in the order of their first use, and the role of every fragment."""

    def __init__(self, kernel: Kernel) -> None:
        """Name the types and find the roles."""
        self.kernel = kernel
        self.mmas: dict[TiledMma, str] = {}
        self.copies: dict[tuple[TiledCopy, str], str] = {}
        self.roles: dict[str, Role] = {}
        effects = tuple(statement.touched for statement in kernel.statements())
        for touched in effects:
            if (product := touched.product) is not None:
                self.mmas.setdefault(product.mma, _free("Mma", self.mmas.values()))
        for touched in effects:
            if (memory := touched.memory) is not None:
                kind = "Prefetch" if memory.prefetches else "Copy"
                name = _free(f"{kind}{memory.operand}", self.copies.values())
                self.copies.setdefault((memory.copy, memory.operand), name)
        self._find_roles(effects)

    def of_mma(self, mma: TiledMma, operand: Literal["A", "B", "C"]) -> Role:
        """Return the role of an operand of a tiled MMA."""
        return Role(self.mmas[mma], operand, mma.operand_tile(operand))

    def of_copy(self, memory: MemoryAccess) -> Role:
        """Return the role of the registers of a tiled copy."""
        copy, name = memory.copy, self.copies[memory.copy, memory.operand]
        return Role(name, "S" if copy.op.is_store else "D", copy.tiler_mn)

    def type_of(self, role: Role) -> Numeric:
        """Return the type of a role's values: of an MMA's operand, or of a copy."""
        for mma, name in self.mmas.items():
            if name == role.of and role.side in ("A", "B", "C"):
                return mma.atom.operand_type(role.side)
        return next(c.value_type for (c, _), name in self.copies.items() if name == role.of)

    def _find_roles(self, effects: tuple[Touched, ...]) -> None:
        """Loads and MMAs give a fragment its role, then what is computed of such, then stores."""
        roles = [*self._loaded(effects), *self._multiplied(effects)]
        for fragment, role in roles:
            self.roles.setdefault(fragment, role)
        for _ in effects:
            for fragment, other in self._alike(effects):
                if other in self.roles:
                    self.roles.setdefault(fragment, self.roles[other])
        for touched in effects:
            if (memory := touched.memory) is not None and memory.stores:
                self.roles.setdefault(memory.fragment, self.of_copy(memory))
        for fragment in self.kernel.fragments:
            self._demand_role(fragment.name)

    def _demand_role(self, fragment: str) -> None:
        if fragment not in self.roles:
            raise KernelError(
                "emit",
                {"kernel": self.kernel.name, "fragment": fragment},
                f"no copy and no MMA gives {fragment} a layout that C++ could name",
                'load it, store it or multiply it, or emit(kernel, "opencl")',
            )

    def _loaded(self, effects: tuple[Touched, ...]) -> Iterator[tuple[str, Role]]:
        for touched in effects:
            if (memory := touched.memory) is not None and memory.fills:
                yield memory.fragment, self.of_copy(memory)

    def _multiplied(self, effects: tuple[Touched, ...]) -> Iterator[tuple[str, Role]]:
        for touched in effects:
            if (product := touched.product) is not None:
                yield product.accumulator, self.of_mma(product.mma, "C")
                yield product.a, self.of_mma(product.mma, "A")
                yield product.b, self.of_mma(product.mma, "B")

    def _alike(self, effects: tuple[Touched, ...]) -> Iterator[tuple[str, str]]:
        """Yield pairs of fragments whose elements have the same places, each pair both ways."""
        for touched in effects:
            if (move := touched.move) is not None and move.slots is None:
                yield move.destination, move.source
                yield move.source, move.destination
            if (elementwise := touched.elementwise) is not None:
                gathered = {name for name, _ in elementwise.gathers}
                for source in elementwise.sources:
                    if source not in gathered:
                        yield elementwise.destination, source
                        yield source, elementwise.destination

    def reorders(self) -> Iterator[tuple[RegisterMove, Layout]]:
        """Yield the moves to places of their own, each once, and where they go."""
        moves = dict.fromkeys(statement.touched.move for statement in self.kernel.statements())
        for move in moves:
            if move is not None and move.slots is not None and not move.how:
                yield move, move.slots

    def mma_cpp(self, mma: TiledMma) -> str:
        """Return the C++ type of a tiled MMA as users write it."""
        tile, grid = mma.tile_mnk, mma.atom_layout_mnk
        if mma == workgroup_mma(mma.atom, tile, grid):
            whole = Layout(tile).shape
            parts = (mma.atom.to_cpp(), f"Layout<{cpp_tree(whole, 'Shape')}>", grid.to_cpp())
            return f"typename TiledMMAHelper<{', '.join(parts)}>::TiledMMA"
        return mma.to_cpp()

    def copy_cpp(self, copy: TiledCopy) -> str:
        """Return the C++ type of a tiled copy: what makes it, where CUTLASS would make the same."""
        stride = _stride(copy)
        cpp = copy.value_type.to_cpp()
        if copy.op.kind == "XE_PREFETCH_2D":
            for loaded, _ in self.copies:
                if loaded.op.kind != copy.op.kind and make_block_2d_prefetch(loaded) == copy:
                    tile = f"{cpp_tree(loaded.tiler_mn, 'Shape')}{{}}"
                    made = f"make_block_2d_prefetch<{cpp}, {loaded.num_subgroups}>"
                    return f"decltype({made}({tile}, {stride}))"
            return copy.to_cpp()
        for mma, name in self.mmas.items():
            for operand, make in BLOCK_2D_COPIES.items():
                if (operand == "D") != copy.op.is_store or copy.gmem_stride is None:
                    continue
                for op in (None, copy.op):
                    try:
                        same = make(mma, copy.gmem_stride, copy.value_type, op) == copy
                    except CuteError:
                        continue
                    if same:
                        self._demand_whole(make.__name__, copy)
                        return _made(operand, cpp, name, stride, op and f"{op}{{}}")
        return copy.to_cpp()

    def _demand_whole(self, maker: str, copy: TiledCopy) -> None:
        """Refuse a copy of which CUTLASS's own function makes another one."""
        order = "col" if copy.x_mode == 0 else "row"
        for row in rows("block2d_names", "maker"):
            if (row["name"], row["order"]) == (maker, order):
                raise KernelError(
                    "emit",
                    {"kernel": self.kernel.name, "to": '"cute"'},
                    f"{maker} of CUTLASS moves {row['moves']} of a tensor stored by columns "
                    f"[{row['source']}]",
                    'store it by rows, or use emit(kernel, "opencl")',
                )


def _free(name: str, taken: Iterable[str]) -> str:
    """Return a name, with a number where it is taken."""
    used = set(taken)
    return next(n for n in (name, *(f"{name}{i}" for i in range(2, 999))) if n not in used)


def _made(operand: str, cpp: str, mma: str, stride: str, op: str | None) -> str:
    if op is None:
        return f"decltype(make_block_2d_copy_{operand}<{cpp}>({mma}{{}}, {stride}))"
    kind = "CD" if operand in "CD" else operand
    return f"decltype(make_block_2d_copy_{kind}<{cpp}>({op}, {mma}{{}}, {stride}))"


def _stride(copy: TiledCopy) -> str:
    """The strides of the tensor: 1 along the rows of a message, known at run time elsewhere."""
    modes = range(len(copy.tiler_mn))
    return f"Stride<{', '.join('_1' if i == copy.x_mode else 'int64_t' for i in modes)}>{{}}"
