"""Tilings of copy and MMA atoms over the subgroups of a work-group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from pycute_xe.algebra import (
    coalesce,
    composition,
    logical_divide,
    right_inverse,
    tiled_product,
    zipped_divide,
)
from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.atom.copy_atom import SUBGROUP, Block2DOp, CopyAtom, as_copy
from pycute_xe.atom.cpp_text import block2d_traits, tile_cpp, tiler_cpp
from pycute_xe.atom.mma_atom import MmaAtom
from pycute_xe.atom.subgroup_tensor import (
    Owner,
    SubgroupTensor,
    demand_thread,
    owners_in,
    retile_layout,
)
from pycute_xe.atom.thr_mma import OPERAND_MODES, ThrMma, demand_extents
from pycute_xe.errors import CuteError, DivisibilityError, RankError, ShapeError, quoted
from pycute_xe.int_tuple import flatten_tuple, idx2crd, product_each
from pycute_xe.layout import Layout, make_identity_layout, make_layout, rank, size
from pycute_xe.numeric import Numeric
from pycute_xe.signatures import typed, typed_fields
from pycute_xe.tensor import Tensor, make_tensor
from pycute_xe.typing import built, is_tuple, shown

__all__ = ["TiledCopy", "ThrCopy", "TiledMma"]


@typed_fields
@dataclass(frozen=True)
class TiledCopy:
    """A copy atom repeated over work-items and values so that it covers a tile.

    ``layout_tv_tiled`` maps (work-item, value) to an offset in the tile ``tiler_mn``, first mode
    fastest: what each work-item is meant to hold, values of one atom first. Of a block-2D template
    ``x_mode`` and ``y_mode`` name the tile's modes that run along rows of memory and across them;
    ``gmem_stride`` and ``gmem_shape`` are the tensor's, in values, as far as they were given.
    Kernels take tilings of templates (`CopyAtom`); those of other atoms say who owns what.
    Raises `DivisibilityError` when work-items or values do not make whole atoms, `CuteError` for
    what is not a copy atom. C++: ``TiledCopy``.

    >>> from pycute_xe.atom import (XE_LOAD_2D, make_block_2d_copy)
    >>> print(make_block_2d_copy(XE_LOAD_2D(16, 32, 16), ("ld", 1), "bf16").layout_tv_tiled)
    (16,32):(32,1)
    """

    atom: CopyAnswers
    layout_tv_tiled: Layout
    tiler_mn: tuple[int, ...]
    x_mode: int = 1
    y_mode: int = 0
    gmem_stride: tuple[Any, ...] | None = None
    gmem_shape: tuple[Any, ...] | None = None

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Check that whole atoms tile the layout, and that the modes exist."""
        object.__setattr__(self, "atom", as_copy(self.atom))
        if rank(self.layout_tv_tiled) != 2:
            given = {"layout_tv": self.layout_tv_tiled}
            fix = "give a layout (work-item, value)"
            raise RankError("make_tiled_copy", given, "the layout does not have two modes", fix)
        threads, values = (size(mode) for mode in self.layout_tv_tiled)
        lanes = size(self.atom.thr_id)
        if threads % lanes or values % self.atom.values:
            raise DivisibilityError(
                "make_tiled_copy",
                {"atom": self.atom, "layout_tv": self.layout_tv_tiled},
                f"{threads} work-items with {values} values each are not whole atoms of {lanes} "
                f"work-items with {self.atom.values} values each",
                "use multiples of both",
            )
        if not isinstance(self.atom, CopyAtom):
            return
        modes = range(len(self.tiler_mn))
        if self.x_mode == self.y_mode or not {self.x_mode, self.y_mode} <= set(modes):
            raise RankError(
                "make_tiled_copy",
                {"x_mode": self.x_mode, "y_mode": self.y_mode, "tiler": self.tiler_mn},
                "x and y must be two different modes of the tile",
                "use 0 and 1",
            )

    @property
    def block(self) -> CopyAtom:
        """The atom of a block-2D template, which kernels ask for.

        Raises `CuteError` for a tiling of another atom.
        """
        if isinstance(self.atom, CopyAtom):
            return self.atom
        raise CuteError(
            "TiledCopy.block",
            {"atom": self.atom},
            f"{self.atom} is not a block-2D template, which kernels move tiles by",
            _way_out(self.atom),
        )

    @property
    def op(self) -> Block2DOp:
        """The operation of the template: see `block`."""
        return self.block.op

    @property
    def name(self) -> str:
        """The name of the atom's operation."""
        return str(self.atom.op if isinstance(self.atom, CopyAtom) else self.atom)

    @property
    def value_type(self) -> Numeric:
        """The type of the values."""
        return self.atom.value_type

    @property
    def num_subgroups(self) -> int:
        """Subgroups that take part."""
        return size(self.layout_tv_tiled[0]) // SUBGROUP

    @property
    def messages(self) -> int:
        """Messages each subgroup issues for one tile of ``tiler_mn``."""
        return size(self.layout_tv_tiled[1]) // self.atom.values

    @cached_property
    def anchors(self) -> Layout:
        """(subgroup, message) → coordinate in the tile of the message's first element.

        Messages count in register order: message ``j`` fills values ``j * atom.values`` on.
        """
        threads, values = self.layout_tv_tiled
        subgroups = composition(threads, Layout(self.num_subgroups, SUBGROUP))
        messages = composition(values, Layout(self.messages, self.atom.values))
        place = make_identity_layout(self.tiler_mn)
        return make_layout(composition(place, subgroups), composition(place, messages))

    @cached_property
    def fragment(self) -> Layout:
        """((lane, subgroup), value) → coordinate in the tile that CuTe says the value has."""
        place = make_identity_layout(self.tiler_mn)
        threads, values = self.layout_tv_tiled
        lanes = composition(threads, Layout(SUBGROUP))
        subgroups = composition(threads, Layout(self.num_subgroups, SUBGROUP))
        return make_layout(
            make_layout(composition(place, lanes), composition(place, subgroups)),
            composition(place, values),
        )

    def _tidfrg(self, layout: Layout, side: Layout) -> Layout:
        """(work-item, (FrgV, FrgX), rest) of a layout the tile divides, on a side of the atom."""
        tile, rest = zipped_divide(layout, self.tiler_mn)
        reference, lanes = self.atom.layout_ref_tv, size(self.atom.thr_id)
        one, many = zipped_divide(self.layout_tv_tiled, (lanes, self.atom.values))
        if side != reference:
            one = composition(one, composition(right_inverse(reference), side))
        by_mode = make_layout(make_layout(one[0], many[0]), make_layout(one[1], many[1]))
        threads, values = composition(tile, coalesce(by_mode, (1, (1, 1))))
        return make_layout(threads, values, rest)

    @typed
    def tidfrg_S(self, layout: Layout) -> Layout:
        """Partition a source layout. C++: ``tidfrg_S``."""
        return self._tidfrg(layout, self.atom.layout_src_tv)

    @typed
    def tidfrg_D(self, layout: Layout) -> Layout:
        """Partition a destination layout. C++: ``tidfrg_D``."""
        return self._tidfrg(layout, self.atom.layout_dst_tv)

    @property
    def layout_src_tv_tiled(self) -> Layout:
        """(work-item, value) → offset in the tile, of the source. C++: ``get_layoutS_TV``."""
        threads, values, _ = self.tidfrg_S(Layout(self.tiler_mn))
        return make_layout(threads, values)

    @property
    def layout_dst_tv_tiled(self) -> Layout:
        """(work-item, value) → offset in the tile, of the destination. C++: ``get_layoutD_TV``."""
        threads, values, _ = self.tidfrg_D(Layout(self.tiler_mn))
        return make_layout(threads, values)

    @typed
    def owner_of(self, *place: int) -> tuple[Owner, ...]:
        """Return who is meant to hold an element of the tile, by its coordinate in the tile.

        Law: ``layout_tv_tiled`` maps them to it. Raises `CoordError` outside the tile.

        >>> from pycute_xe.atom import (XE_LOAD_2D, make_block_2d_copy)
        >>> make_block_2d_copy(XE_LOAD_2D(16, 32, 16), ("ld", 1), "bf16").owner_of(3, 5)
        (Owner(subgroup=0, work_item=5, value=3),)
        """
        return owners_in(self.layout_tv_tiled, self.tiler_mn, place, self)

    @typed
    def get_slice(self, thread: int) -> ThrCopy:
        """Return the part of one work-item. C++: ``get_slice``.

        Raises `RankError` for anything but the number of a work-item.
        """
        demand_thread(thread, size(self.layout_tv_tiled[0]))
        return ThrCopy(self, thread)

    def to_cpp(self) -> str:
        """Return the C++ type, which holds neither the tensor's shape nor its pitch.

        >>> from pycute_xe.atom import (XE_LOAD_2D, make_block_2d_copy)
        >>> make_block_2d_copy(XE_LOAD_2D(16, 8, 16), ("ld", 1), "f16").to_cpp()
        'TiledCopy<Copy_Atom<Copy_Traits<XE_LOAD_2D<16,8,16>,_1,_0,half_t,Stride<_0,_0>>,half_t>,\
Layout<Shape<_16,_8>,Stride<_8,_1>>,Shape<_8,_16>>'
        """
        atom = self.atom.to_cpp()
        if isinstance(self.atom, CopyAtom):
            kind, strides = self.value_type.to_cpp(), self.gmem_stride or (0,) * len(self.tiler_mn)
            traits = block2d_traits(self.op.to_cpp(), self.x_mode, self.y_mode, kind, strides)
            atom = f"Copy_Atom<{traits},{kind}>"
        parts = (atom, self.layout_tv_tiled.to_cpp())
        return f"TiledCopy<{','.join((*parts, tiler_cpp(self.tiler_mn)))}>"

    def __repr__(self) -> str:
        """The call that builds it."""
        return built(self)

    def __str__(self) -> str:
        """The operation, its repetition and its tile."""
        tile = "x".join(map(str, self.tiler_mn))
        return (
            f"{self.name} of {self.value_type}, {self.messages} per subgroup × "
            f"{self.num_subgroups} subgroups, tile {tile}"
        )


def _way_out(atom: CopyAnswers) -> str:
    """The call that makes a copy for kernels which moves as much, or any."""
    try:
        op, kind = atom.template, atom.value_type.name
    except CuteError:
        op, kind = Block2DOp("XE_LOAD_2D", 16, 8, 16, 16), "u16"
    return f'use make_block_2d_copy({op!r}, ("ld", 1), "{kind}")'


# ------------------------------------------------------------ thr copy
# The part of a tiled copy that one work-item takes.


@typed_fields
@dataclass(frozen=True)
class ThrCopy:
    """The part of a tiled copy that one work-item takes. C++: ``ThrCopy``."""

    copy: TiledCopy
    thread: int

    _repr_mimebundle_ = shown

    def __repr__(self) -> str:
        """The call that builds it."""
        return f"{self.copy!r}.get_slice({self.thread})"

    def _partition(self, tensor: Tensor, split: Layout) -> Tensor:
        threads, values, rest = split
        return tensor.rearranged(make_layout(values, *rest), threads(self.thread))

    def _retile(self, tensor: Tensor) -> Tensor:
        copy = self.copy
        layout = retile_layout(
            tensor.beneath, copy.layout_tv_tiled, copy.tiler_mn, copy.atom.values
        )
        return tensor.rearranged(layout)

    @typed
    def retile_S(self, tensor: Tensor) -> Tensor:
        """Return a fragment that an MMA partitioned, seen as this copy's source: (CpyV, rest…)."""
        return self._retile(tensor)

    @typed
    def retile_D(self, tensor: Tensor) -> Tensor:
        """Return a fragment that an MMA partitioned, seen as this copy's destination."""
        return self._retile(tensor)

    @typed
    def partition_S(self, tensor: Tensor) -> Tensor:
        """Return the source elements of this work-item: ((FrgV, FrgX), RestM, RestN)."""
        return self._partition(tensor, self.copy.tidfrg_S(tensor.beneath))

    @typed
    def partition_D(self, tensor: Tensor) -> Tensor:
        """Return the destination elements of this work-item: ((FrgV, FrgX), RestM, RestN)."""
        return self._partition(tensor, self.copy.tidfrg_D(tensor.beneath))

    @typed
    def partition_sg_fragment_S(self, tensor: Tensor) -> SubgroupTensor:
        """Return the registers that a subgroup copies a tile from, as a store does.

        Law as of `ThrMma.partition_sg_fragment_A`. C++: ``partition_sg_fragment_S``.
        """
        return self._of_subgroup(tensor, "S")

    @typed
    def partition_sg_fragment_D(self, tensor: Tensor) -> SubgroupTensor:
        """Return the registers that a subgroup copies a tile into, as a load does.

        >>> from pycute_xe.atom import XE_DPAS_TT, make_block_2d_copy_A, workgroup_mma
        >>> from pycute_xe.tensor import make_identity_tensor
        >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
        >>> mine = make_block_2d_copy_A(mma, ("ld", 1)).get_slice(0)
        >>> print(mine.partition_sg_fragment_D(make_identity_tensor((256, 32))).tv_layout)
        (16,(((32,2),1),1,1)):(1@1,(((1@0,16@1),0),0,0))
        """
        return self._of_subgroup(tensor, "D")

    def _of_subgroup(self, tensor: Tensor, side: str) -> SubgroupTensor:
        places = make_identity_layout(product_each(tensor.shape))
        threads, values, rest = getattr(self.copy, f"tidfrg_{side}")(places)
        spread = make_layout(values, *rest)
        lanes = composition(threads, Layout(size(self.copy.atom.thr_id)))
        registers = make_tensor(None, Layout(spread.shape))
        return SubgroupTensor(registers, make_layout(lanes, spread))


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

    @cached_property
    def permutation(self) -> tuple[Layout, ...]:
        """The permutation of each of M, N, K as a layout."""
        counts = product_each(self.atom_layout_mnk.shape)
        out: list[Layout] = []
        for extent, count, perm in zip(
            self.atom.shape_mnk, counts, self.permutation_mnk, strict=True
        ):
            tile = extent * count if perm is None else perm
            out.append(tile if isinstance(tile, Layout) else Layout(tile))
        return tuple(out)

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
