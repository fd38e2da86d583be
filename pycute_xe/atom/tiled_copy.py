"""Copy atoms repeated over the subgroups of a work-group, and the part of one work-item."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from pycute_xe.algebra import (
    coalesce,
    composition,
    right_inverse,
    zipped_divide,
)
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_answers import BlockAnswers, CopyAnswers
from pycute_xe.atom.copy_atom import CopyAtom, as_copy
from pycute_xe.atom.cpp_text import block2d_traits, tiler_cpp
from pycute_xe.atom.orienting import block_messages, parts_layout, reading_unit
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.atom.subgroup_tensor import (
    Owner,
    SubgroupTensor,
    demand_thread,
    owners_in,
    retile_layout,
)
from pycute_xe.errors import CuteError, DivisibilityError, RankError
from pycute_xe.int_tuple import product_each
from pycute_xe.layout import Layout, make_identity_layout, make_layout, rank, size
from pycute_xe.numeric import Numeric
from pycute_xe.signatures import typed, typed_fields
from pycute_xe.tensor import Tensor, make_tensor
from pycute_xe.typing import built, shown

__all__ = ["ThrCopy", "TiledCopy"]


@typed_fields
@dataclass(frozen=True)
class TiledCopy:
    """A copy atom repeated over work-items and values so that it covers a tile.

    ``layout_tv_tiled`` maps (work-item, value) to an offset in the tile ``tiler_mn``, first mode
    fastest: what each work-item is meant to hold, values of one atom first. Of a block-2D copy
    ``x_mode`` and ``y_mode`` name the tile's modes that run along rows of memory and across them;
    ``gmem_stride`` and ``gmem_shape`` are the tensor's, in values, as far as they were given.
    Kernels take tilings of block-2D copies and send their messages (`sent`); tilings of other
    atoms say who owns what.
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
        if not isinstance(self.atom, BlockAnswers) or len(self.tiler_mn) < 2:
            return
        modes = range(len(self.tiler_mn))
        if self.x_mode == self.y_mode or not {self.x_mode, self.y_mode} <= set(modes):
            raise RankError(
                "make_tiled_copy",
                {"x_mode": self.x_mode, "y_mode": self.y_mode, "tiler": self.tiler_mn},
                "x and y must be two different modes of the tile",
                "use 0 and 1",
            )

    @cached_property
    def sent(self) -> TiledCopy:
        """The tiling of block-2D templates that sends the same messages; itself if it is one.

        Law: message by message it moves the same elements of the tile into the same registers.
        ``layout_tv_tiled`` is then the one of the templates. Raises `CuteError` for an atom without
        block-2D messages of one size, `LegalityError` if no target has the messages.
        C++: ``XE_LOAD_2D<…>`` in place of ``XE_2D_…``.

        >>> from pycute_xe.atom import make_tiled_copy_tv
        >>> copy = make_tiled_copy_tv("XE_2D_U16x8x16_LD_N", Layout((1, 16)), Layout((8, 1)))
        >>> print(copy.sent.atom, copy.sent.owner_of(3, 5) == copy.owner_of(3, 5))
        XE_LOAD_2D<16,8,16> True
        """
        if isinstance(self.atom, CopyAtom):
            return self
        if not isinstance(self.atom, BlockAnswers) or len(self.tiler_mn) < 2:
            raise CuteError(
                "TiledCopy.sent",
                {"atom": self.atom, "tile": self.tiler_mn},
                f"{self.atom} is not a block-2D template, which kernels move tiles by",
                _way_out(self.atom),
            )
        parts, template = block_messages(self.atom), CopyAtom(self.atom.template, self.value_type)
        steps = Layout(self.tiler_mn).stride
        right, down = steps[self.x_mode], steps[self.y_mode]
        turned = Layout((template.width, template.height), (right, down))
        lanes, block = (composition(turned, mode) for mode in template.layout_ref_tv)
        threads, values = self.layout_tv_tiled
        subgroups = composition(threads, Layout(self.num_subgroups, SUBGROUP))
        atoms = composition(values, Layout(self.messages, self.atom.values))
        places = make_layout(block, parts_layout(self.atom, parts, right, down), atoms)
        tv = make_layout(make_layout(lanes, subgroups), places)
        return replace(self, atom=template, layout_tv_tiled=tv)

    @property
    def block(self) -> CopyAtom:
        """The atom of the block-2D template whose messages are sent: see `sent`."""
        return cast("CopyAtom", self.sent.atom)

    @property
    def op(self) -> Block2DOp:
        """The operation of the template that sends its messages.

        Raises `CuteError` for an atom of which no block-2D operation does.
        """
        return self.atom.template

    @cached_property
    def unit_bits(self) -> int:
        """The width in bits in which work-items read their registers.

        One in which they find what the tiling says, if there is one: that of the atom, or another.

        >>> import pycute_xe as cx
        >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
        >>> copy = cx.make_tiled_copy_B("XE_2D_U16x16x16_LD_V", mma)
        >>> copy.atom.unit_bits, copy.unit_bits
        (32, 16)
        """
        modes = self.x_mode, self.y_mode
        return reading_unit(self.atom, self.layout_tv_tiled, self.tiler_mn, modes)

    @property
    def name(self) -> str:
        """The name of the atom's operation."""
        return str(self.atom)

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
