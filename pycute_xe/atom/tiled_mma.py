"""MMA atoms repeated over the subgroups of a work-group, and the part of one work-item."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

from pycute_xe.algebra import (
    composition,
    logical_divide,
    right_inverse,
    tiled_product,
    zipped_divide,
)
from pycute_xe.algebra.compose import flat_modes
from pycute_xe.atom.cpp_text import tile_cpp
from pycute_xe.atom.mma_atom import MmaAtom
from pycute_xe.atom.subgroup_tensor import (
    Owner,
    SubgroupTensor,
    demand_thread,
    fragment_layout,
    in_order,
    owners_in,
)
from pycute_xe.errors import (
    DivisibilityError,
    InputError,
    RankError,
    ShapeError,
    quoted,
    with_article,
)
from pycute_xe.int_tuple import flatten_tuple, idx2crd, product_each
from pycute_xe.layout import Layout, make_identity_layout, make_layout, size
from pycute_xe.signatures import typed, typed_fields
from pycute_xe.tensor import Tensor, make_tensor
from pycute_xe.typing import built, is_integer, is_tuple, shown

__all__ = ["OPERAND_MODES", "ThrMma", "TiledMma"]

# The modes of (M, N, K) that each operand has.
OPERAND_MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}


# ------------------------------------------------------------ permutations
# What the modes of a permutation of a tiled MMA may be.


def demand_extents(permutation: tuple[object, ...]) -> None:
    """Refuse what is neither an extent nor a layout, and a layout that repeats a place."""
    for mode in permutation:
        if isinstance(mode, Layout):
            if any(type(n) is int and n > 1 and d == 0 for n, d in flat_modes(mode)):
                raise ShapeError(
                    "make_tiled_mma",
                    {"permutation": permutation},
                    f"{mode} visits a place several times: it has a stride of 0",
                    f"use an extent, such as {size(mode)}, or strides that differ from 0",
                )
            continue
        if mode is None or (type(mode) is int and mode > 0):
            continue
        raise ShapeError(
            "make_tiled_mma",
            {"permutation": permutation},
            f"{quoted(mode)} is not an extent of the tile, nor a layout",
            "use None, a positive integer or a layout for each of M, N and K",
        )


# ------------------------------------------------------------ tiled mma


@typed_fields
@dataclass(frozen=True)
class TiledMma:
    """An MMA atom repeated over subgroups (``atom_layout_mnk``) and over values (permutation).

    ``permutation_mnk`` gives for M, N and K the tile the whole covers and the order it is visited
    in: ``None`` for one atom per subgroup, an extent, or a layout. Law: the subgroups together
    cover every element of C's tile once. Raises `RankError` when the atom layout is not (M, N, K),
    `ShapeError` for a permutation that visits a place several times.
    C++: ``TiledMMA``.

    >>> from pycute_xe.atom import (XE_DPAS_TT, make_tiled_mma)
    >>> mma = make_tiled_mma(XE_DPAS_TT(8, "f32", "bf16"), Layout((2, 2, 1)))
    >>> mma.tile_mnk, mma.size
    ((16, 32, 16), 64)
    """

    atom: MmaAtom
    atom_layout_mnk: Layout
    permutation_mnk: tuple[Layout | int | None, ...] = (None, None, None)

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Check the ranks, and that every subgroup has a number."""
        given = cast("object", self.permutation_mnk)
        if len(self.atom_layout_mnk) != 3 or not is_tuple(given) or len(given) != 3:
            raise RankError(
                "make_tiled_mma",
                {"atom_layout": self.atom_layout_mnk, "permutation": self.permutation_mnk},
                "the layout of atoms and the permutation must have the three modes M, N, K",
                "write an unused mode as 1",
            )
        demand_extents(self.permutation_mnk)
        count = size(self.atom_layout_mnk)
        if size(right_inverse(self.atom_layout_mnk)) != count:
            raise ShapeError(
                "make_tiled_mma",
                {"atom_layout": self.atom_layout_mnk},
                f"its {count} subgroups do not have the numbers 0 to {count - 1}, each once",
                "give strides that number every subgroup, such as ((8, 4, 1), (4, 1, 0))",
            )
        for name, tile, of in zip("MNK", self.tile_mnk, self._step_mnk, strict=True):
            if tile % of:
                near = max(of, tile // of * of)
                raise DivisibilityError(
                    "make_tiled_mma",
                    {f"tile_{name}": tile, "atom": self.atom, "subgroups": self.atom_layout_mnk},
                    f"{name} of the tile is {tile}, not a multiple of {of}, what the subgroups "
                    "multiply at a time",
                    f"use {near} or {near + of}",
                )

    @property
    def size(self) -> int:
        """Work-items of the work-group."""
        return size(self.thr_layout_vmnk)

    @property
    def num_subgroups(self) -> int:
        """Subgroups of the work-group."""
        return size(self.atom_layout_mnk)

    @cached_property
    def thr_layout_vmnk(self) -> Layout:
        """(lane, subgroup M, subgroup N, subgroup K) → work-item."""
        return tiled_product(self.atom.thr_id, self.atom_layout_mnk)

    @property
    def _step_mnk(self) -> tuple[int, ...]:
        """What the subgroups multiply at a time: the atom's extents times their number."""
        counts = product_each(self.atom_layout_mnk.shape)
        return tuple(n * count for n, count in zip(self.atom.shape_mnk, counts, strict=True))

    @cached_property
    def permutation(self) -> tuple[Layout, ...]:
        """The permutation of each of M, N, K as a layout."""
        pairs = zip(self._step_mnk, self.permutation_mnk, strict=True)
        tiles = (step if mode is None else mode for step, mode in pairs)
        return tuple(tile if isinstance(tile, Layout) else Layout(tile) for tile in tiles)

    @property
    def tile_mnk(self) -> tuple[int, int, int]:
        """Extents of the tile the work-group computes: (M, N, K)."""
        m, n, k = map(size, self.permutation)
        return m, n, k

    @typed
    def operand_tile(self, operand: str) -> tuple[int, int]:
        """Return the extents of the tile of A (M, K), B (N, K) or C (M, N).

        Raises `ShapeError` for another operand.

        >>> from pycute_xe.atom import (XE_DPAS_TT, workgroup_mma)
        >>> workgroup_mma(XE_DPAS_TT(8, "f32", "bf16")).operand_tile("B")
        (256, 32)
        """
        i, j = self._modes(operand)
        return self.tile_mnk[i], self.tile_mnk[j]

    @staticmethod
    def _modes(operand: str) -> tuple[int, int]:
        """The two of (M, N, K) that an operand has; `ShapeError` for anything else."""
        if type(operand) is str and operand in OPERAND_MODES:
            return OPERAND_MODES[operand]
        raise ShapeError(
            "TiledMma",
            {"operand": operand},
            f"{quoted(operand)} is not an operand of a tiled MMA",
            'use "A", "B" or "C"; D has the layout of C',
        )

    def _atoms(self, operand: str, layout: Layout) -> Layout:
        """((atom coordinates), ((subgroups), (rest))) of a layout of the operand's tile."""
        i, j = self._modes(operand)
        extents = self.atom.shape_mnk
        counts = product_each(self.atom_layout_mnk.shape)
        permuted = logical_divide(layout, (self.permutation[i], self.permutation[j]))
        atom, rest = zipped_divide(permuted, (extents[i], extents[j]))
        threads, values = zipped_divide(rest, (counts[i], counts[j]))
        return make_layout(atom, make_layout(threads, values))

    @typed
    def thrfrg(self, operand: str, layout: Layout) -> Layout:
        """((ThrV, (ThrI, ThrJ)), (FrgV, (RestI, RestJ))) of a layout of the operand's tile."""
        atom, (threads, values) = self._atoms(operand, layout)
        tv = composition(atom, getattr(self.atom, f"tv_layout_{operand}"))
        return make_layout(make_layout(tv[0], threads), make_layout(tv[1], values))

    @typed
    def thrfrg_A(self, layout: Layout) -> Layout:
        """Partition a layout of (M, K): ((ThrV, (ThrM, ThrK)), (FrgV, (RestM, RestK)))."""
        return self.thrfrg("A", layout)

    @typed
    def thrfrg_B(self, layout: Layout) -> Layout:
        """Partition a layout of (N, K): ((ThrV, (ThrN, ThrK)), (FrgV, (RestN, RestK)))."""
        return self.thrfrg("B", layout)

    @typed
    def thrfrg_C(self, layout: Layout) -> Layout:
        """Partition a layout of (M, N): ((ThrV, (ThrM, ThrN)), (FrgV, (RestM, RestN)))."""
        return self.thrfrg("C", layout)

    @typed
    def atoms(self, operand: str) -> Layout:
        """((AtomI, AtomJ), ((ThrI, ThrJ), (RestI, RestJ))) → coordinate in the operand's tile.

        The coordinate of each element of each instruction, by subgroup and repetition, before
        anything is dealt out to work-items.
        """
        return self._atoms(operand, make_identity_layout(self.operand_tile(operand)))

    @typed
    def repetitions(self, operand: str) -> tuple[int, int]:
        """How often each subgroup repeats the atom along the operand's two modes.

        >>> from pycute_xe.atom import (XE_DPAS_TT, workgroup_mma)
        >>> workgroup_mma(XE_DPAS_TT(8, "f32", "bf16")).repetitions("A")
        (4, 2)
        """
        _, (_, (first, second)) = self.atoms(operand)
        return size(first), size(second)

    @typed
    def fragment(self, operand: str) -> Layout:
        """((ThrV, (ThrI, ThrJ)), (FrgV, (RestI, RestJ))) → coordinate in the operand's tile."""
        # A kernel asks this dozens of times of the same MMA.
        if operand not in self._fragments:
            tile = make_identity_layout(self.operand_tile(operand))
            self._fragments[operand] = self.thrfrg(operand, tile)
        return self._fragments[operand]

    @cached_property
    def _fragments(self) -> dict[str, Layout]:
        """What `fragment` found, by operand."""
        return {}

    @cached_property
    def subgroups(self) -> Layout:
        """Subgroup → (ThrM, ThrN, ThrK) coordinate, with basis strides."""
        grid = make_identity_layout(product_each(self.atom_layout_mnk.shape))
        return composition(grid, right_inverse(self.atom_layout_mnk))

    @typed
    def operand_subgroups(self, operand: str) -> Layout:
        """Subgroup → index into the operand's (ThrI, ThrJ), first fastest."""
        return composition(self._projected(operand), right_inverse(self.atom_layout_mnk))

    def _projected(self, operand: str) -> Layout:
        """(ThrM, ThrN, ThrK) → index into the two modes the operand has."""
        counts = product_each(self.atom_layout_mnk.shape)
        i, j = self._modes(operand)
        strides = [0, 0, 0]
        strides[i], strides[j] = 1, counts[i]
        return Layout(counts, tuple(strides))

    def _tv_tiled(self, operand: str) -> Layout:
        """(work-item, value) → offset in the operand's tile, first mode fastest."""
        whole = self.thrfrg(operand, Layout(self.operand_tile(operand)))
        lanes = self.atom.thr_id
        work_items = make_layout(lanes, self.operand_subgroups(operand))
        (thr_v, thr_mn), values = whole[0], whole[1]
        by_subgroup = composition(thr_mn, work_items[1])
        return make_layout(make_layout(thr_v, by_subgroup), values)

    @property
    def tv_layout_A_tiled(self) -> Layout:
        """(work-item, value) → ``m + tile_M * k``. C++: ``get_layoutA_TV``."""
        return self._tv_tiled("A")

    @property
    def tv_layout_B_tiled(self) -> Layout:
        """(work-item, value) → ``n + tile_N * k``. C++: ``get_layoutB_TV``."""
        return self._tv_tiled("B")

    @property
    def tv_layout_C_tiled(self) -> Layout:
        """(work-item, value) → ``m + tile_M * n``. C++: ``get_layoutC_TV``."""
        return self._tv_tiled("C")

    @typed
    def owner_of(self, operand: str, row: int, col: int) -> tuple[Owner, ...]:
        """Return who holds an element of the tile: A (m, k), B (k, n), C and D (m, n).

        Several subgroups hold an element of A or B. Raises `CoordError` outside the tile.

        >>> from pycute_xe.atom import (XE_DPAS_TT, workgroup_mma)
        >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
        >>> mma.owner_of("C", 33, 70), len(mma.owner_of("B", 0, 70))
        ((Owner(subgroup=5, work_item=6, value=1),), 8)
        """
        part = "C" if operand == "D" else operand
        place = (col, row) if part == "B" else (row, col)
        return owners_in(self._tv_tiled(part), self.operand_tile(part), place, self)

    @typed
    def get_slice(self, thread: int) -> ThrMma:
        """Return the part of one work-item. C++: ``get_slice``.

        >>> from pycute_xe.atom import (XE_DPAS_TT, workgroup_mma)
        >>> workgroup_mma(XE_DPAS_TT(8, "f32", "bf16")).get_slice(17).thr_vmnk
        (1, 0, 1, 0)
        """
        demand_thread(thread, self.size)
        coord = idx2crd(thread, self.thr_layout_vmnk.shape, self.thr_layout_vmnk.stride)
        return ThrMma(self, flatten_tuple(coord))

    def to_cpp(self) -> str:
        """Return the C++ type: ``TiledMMA<MMA_Atom<…>,Layout<…>,Tile<…>>``."""
        atoms = f"{self.atom.to_cpp()},{self.atom_layout_mnk.to_cpp()}"
        return f"TiledMMA<{atoms},{tile_cpp(self.permutation_mnk)}>"

    def __repr__(self) -> str:
        """The call that builds it."""
        return built(self)

    def __str__(self) -> str:
        """The atom, its subgroups and its tile."""
        m, n, k = self.tile_mnk
        return f"{self.atom} over {self.atom_layout_mnk} subgroups, tile {m}x{n}x{k}"


# ------------------------------------------------------------ thr mma


@typed_fields
@dataclass(frozen=True)
class ThrMma:
    """The part of a tiled MMA that one work-item holds. C++: ``ThrMMA``."""

    mma: TiledMma
    thr_vmnk: tuple[int, ...]

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Refuse parts of what is not a tiled MMA."""
        if not isinstance(self.mma, TiledMma):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = with_article(type(self.mma).__name__)
            fix = "give a TiledMma, or call its get_slice(thr)"
            raise InputError("ThrMma", {"mma": self.mma}, f"mma is {kind}", fix)
        coordinate = self.thr_vmnk
        if not is_tuple(coordinate) or len(coordinate) != 4 or not all(map(is_integer, coordinate)):
            condition = f"{quoted(coordinate)} is not a coordinate (V, M, N, K)"
            raise InputError("ThrMma", {"thr_vmnk": coordinate}, condition, "write (0, 0, 0, 0)")

    def __repr__(self) -> str:
        """The call that builds it."""
        return f"{self.mma!r}.get_slice({self.mma.thr_layout_vmnk(*self.thr_vmnk)})"

    def _partition(self, operand: str, tensor: Tensor) -> Tensor:
        i, j = OPERAND_MODES[operand]
        split = self.mma.thrfrg(operand, tensor.beneath)
        v, thr = self.thr_vmnk[0], self.thr_vmnk[1:]
        place = split[0](v, (thr[i], thr[j]))
        frg, rest = split[1]
        return tensor.rearranged(make_layout(frg, *rest), place)

    @typed
    def partition_A(self, tensor: Tensor) -> Tensor:
        """Return this work-item's elements of an (M, K) tensor: (FrgV, RestM, RestK)."""
        return self._partition("A", tensor)

    @typed
    def partition_B(self, tensor: Tensor) -> Tensor:
        """Return this work-item's elements of an (N, K) tensor: (FrgV, RestN, RestK)."""
        return self._partition("B", tensor)

    @typed
    def partition_C(self, tensor: Tensor) -> Tensor:
        """Return this work-item's elements of an (M, N) tensor: (FrgV, RestM, RestN)."""
        return self._partition("C", tensor)

    @typed
    def partition_fragment_A(self, tensor: Tensor) -> Tensor:
        """Return registers for this work-item's part of A, (FrgV, RestM, RestK), without data.

        Law: as many as `partition_A` has elements, those of one instruction first. C++:
        ``partition_fragment_A``, ``make_fragment_A(partition_A(tensor))``.

        >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
        >>> from pycute_xe.tensor import make_identity_tensor
        >>> mine = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16")).get_slice(0)
        >>> print(mine.partition_fragment_A(make_identity_tensor((256, 32))))
        0 o (8,4,2):(1,8,32)
        """
        return self.make_fragment_A(self.partition_A(tensor))

    @typed
    def partition_fragment_B(self, tensor: Tensor) -> Tensor:
        """Return registers for this work-item's part of B: see `partition_fragment_A`."""
        return self.make_fragment_B(self.partition_B(tensor))

    @typed
    def partition_fragment_C(self, tensor: Tensor) -> Tensor:
        """Return registers for this work-item's part of C, colexicographic."""
        return self.make_fragment_C(self.partition_C(tensor))

    @typed
    def make_fragment_A(self, part: Tensor) -> Tensor:
        """Return registers for a part that `partition_A` gave: see `partition_fragment_A`."""
        return self._made("A", part)

    @typed
    def make_fragment_B(self, part: Tensor) -> Tensor:
        """Return registers for a part that `partition_B` gave: see `partition_fragment_A`."""
        return self._made("B", part)

    @typed
    def make_fragment_C(self, part: Tensor) -> Tensor:
        """Return registers for a part that `partition_C` gave, colexicographic."""
        return self._made("C", part)

    def _made(self, operand: str, part: Tensor) -> Tensor:
        """Return registers of a part's shape, refused where the part is not of one instruction."""
        values = size(getattr(self.mma.atom, f"tv_layout_{operand}")[1])
        if len(part) < 3 or size(part.beneath[0]) != values:
            raise ShapeError(
                f"make_fragment_{operand}",
                {"part": part, "mma": self.mma.atom},
                f"{part.shape} is not (values, repetitions, repetitions) with {values} values",
                f"give partition_{operand}(tensor)",
            )
        layout = Layout(part.shape) if operand == "C" else fragment_layout(part.beneath)
        return make_tensor(None, layout)

    @typed
    def partition_sg_fragment_A(self, tensor: Tensor) -> SubgroupTensor:
        """Return the registers that this work-item's subgroup holds of a tile of A.

        Law: `SubgroupTensor.tv_layout` says where in the subgroup's part of the tile the values of
        each of its work-items lie, in the order of the registers; `reorder` compares two of them.
        C++: ``partition_sg_fragment_A``.

        >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
        >>> from pycute_xe.tensor import make_identity_tensor
        >>> mine = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16")).get_slice(0)
        >>> print(mine.partition_sg_fragment_A(make_identity_tensor((256, 32))).tv_layout)
        (16,(8,4,2)):(1@1,(1@0,8@0,16@1))
        """
        return self._of_subgroup("A", tensor)

    @typed
    def partition_sg_fragment_B(self, tensor: Tensor) -> SubgroupTensor:
        """Return what the subgroup holds of a tile of B: see `partition_sg_fragment_A`."""
        return self._of_subgroup("B", tensor)

    @typed
    def partition_sg_fragment_C(self, tensor: Tensor) -> SubgroupTensor:
        """Return what the subgroup holds of a tile of C: see `partition_sg_fragment_A`."""
        return self._of_subgroup("C", tensor)

    def _of_subgroup(self, operand: str, tensor: Tensor) -> SubgroupTensor:
        registers = getattr(self, f"partition_fragment_{operand}")(tensor)
        places = make_identity_layout(product_each(tensor.shape))
        (lanes, _), (values, rest) = self.mma.thrfrg(operand, places)
        spread = make_layout(values, *rest)
        return SubgroupTensor(registers, make_layout(lanes, in_order(registers, spread)))
