"""An epilogue in pieces, as CUTLASS cuts it: a tile of the accumulator after the other.

A whole matrix C beside the accumulators fills the registers; a piece of it does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import gcd

from pycute_xe.algebra import composition
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_atom import make_copy_atom
from pycute_xe.atom.reordering import is_identity, reorder
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.bulk import layout_of, table
from pycute_xe.errors import CuteError, KernelError
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Operand, Order, matrix
from pycute_xe.kernel.ir.statements import Convert, Load, Part, Reorder, Store
from pycute_xe.kernel.kinds.epilogue import Frame, Tail
from pycute_xe.kernel.kinds.parts import in_one_pass, operand_copy, subgroup_share
from pycute_xe.kernel.kinds.vectors import vector_copy
from pycute_xe.kernel.spec.expression import Expression, Slot
from pycute_xe.kernel.tiles.slots import copy_slots, mma_slots
from pycute_xe.layout import Layout, make_layout
from pycute_xe.numeric import Numeric

__all__ = ["TiledTail", "default_epilogue_tile"]

Cut = tuple[int, int]


def default_epilogue_tile(mma: TiledMma) -> Cut:
    """Return the epilogue tile that CUTLASS cuts: what one DPAS accumulates.

    C++: ``DefaultEpilogueTile`` of ``collective/xe_epilogue.hpp``.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> default_epilogue_tile(workgroup_mma(XE_DPAS_TT(8, "f32", "bf16")))
    (8, 16)
    """
    rows, columns, _ = mma.atom.shape_mnk
    return gcd(8, rows), columns


@dataclass
class TiledTail(Tail):
    """An epilogue that loads, computes and stores one tile of each subgroup's share at a time."""

    cut: Cut = (8, 16)
    wanted: list[tuple[Operand, tuple[str, ...]]] = field(
        default_factory=list["tuple[Operand, tuple[str, ...]]"]
    )
    copies: dict[str, TiledCopy] = field(default_factory=dict[str, TiledCopy])
    texts: list[tuple[str, Expression, Numeric]] = field(
        default_factory=list["tuple[str, Expression, Numeric]"]
    )

    @classmethod
    def read_in_tiles(
        cls, frame: Frame, text: str | None, also: dict[str, str], out_type: Numeric, cut: Cut
    ) -> TiledTail:
        """Return the epilogue of D and of other outputs, cut into tiles."""
        out = cls(frame, cut=_checked(frame.mma, cut))
        for name, words in also.items():
            out.want(name, words, frame.type_of(name), frame.order_of(name))
        out.want("D", text or "acc", out_type, frame.outputs["D"])
        share = subgroup_share(frame.mma, "C")
        for m in range(0, share[0], out.cut[0]):
            for n in range(0, share[1], out.cut[1]):
                out.tile((m, n))
        return out

    def want(self, name: str, text: str, numeric: Numeric, order: Order) -> None:
        """Declare an output."""
        if "[" in name:
            raise KernelError(
                "epilogue",
                {"also": name},
                "sums are taken of a whole tile, not of a part of it",
                "leave epilogue_tile out",
            )
        value = self.declared(self.parsed(text))
        self.values.append((name, self.claimed(text, numeric)))
        self.texts.append((name, value, numeric))
        modes = (*self.frame.lead, *self.frame.extents)
        self.outs.append(matrix(name, numeric, modes, order, role="out"))
        self.copies[name] = self._cut(operand_copy(self.frame.mma, "D", order, numeric, name))

    def _load(self, operand: Operand, names: tuple[str, ...]) -> None:
        """Remember what every tile loads a part of."""
        self.wanted.append((operand, names))
        name, mma = operand.name, self.frame.mma
        if names[-2:] == ("m", "n"):
            order = self.frame.order_of(name)
            copy = self._cut(operand_copy(mma, "C", order, operand.value_type, name))
        else:
            extent = self.cut["mn".index(names[-1])]
            copy = vector_copy(mma, names[-1], operand.value_type, extent)
        self.copies[name] = copy
        slots = copy.messages * copy.atom.values
        self.slots[name] = self.fragment(f"tEr{name}", operand.value_type, slots)

    def _cut(self, copy: TiledCopy) -> TiledCopy:
        """Return the copy of one tile of each subgroup's share, in messages as large as fit."""
        x, y, cut, op = copy.x_mode, copy.y_mode, self.cut, copy.op
        ratio = op.bits // copy.value_type.bits
        width = gcd(op.block_width, cut[x] // max(1, ratio))
        height, bits = gcd(op.height, cut[y]), copy.value_type.bits
        steps = (1, copy.tiler_mn[0])
        try:
            small = replace(op, height=height, width=width, block_width=width)
            atom = make_copy_atom(small, copy.value_type)
            place = Layout((atom.width, atom.height), (steps[x], steps[y]))
            lanes, values = composition(place, atom.layout_ref_tv)
        except CuteError as error:
            raise _unmoved(cut, op, bits, error.condition) from error
        block = (atom.width, atom.height) if x == 0 else (atom.height, atom.width)
        if cut[0] % block[0] or cut[1] % block[1]:
            raise _unmoved(cut, op, bits, f"the smallest block is {block[0]} x {block[1]}")
        counts = (cut[0] // block[0], cut[1] // block[1])
        messages = Layout(counts, (block[0] * steps[0], block[1] * steps[1]))
        subgroups = copy.layout_tv_tiled[0][1]
        tv = make_layout(make_layout(lanes, subgroups), make_layout(values, messages))
        return replace(copy, atom=atom, layout_tv_tiled=tv)

    # ------------------------------------------------------------------ one tile

    def tile(self, shift: Cut) -> None:
        """Append what loads, computes and stores the tile that begins at a place of the share."""
        order = copy_slots(self.copies["D"])
        accumulator = self._declared("tEp", self.frame.mma.atom.op.D)
        slots, first = self._taken(order, shift)
        fragments: dict[str, str] = {}
        for operand, names in self.wanted:
            fragments[operand.name] = self._loaded(operand, names, order, shift)
        self.stores.append(Part("tCrC", accumulator, slots, first))
        for name, value, numeric in self.texts:
            self._stored_part(name, value, numeric, fragments, order, shift)

    def _taken(self, order: Layout, shift: Cut) -> tuple[Layout, int]:
        """Return where in the accumulator each element of a tile is."""
        mma = self.frame.mma
        rows = _elements(mma_slots(mma, "C"))
        elements = [rows[m + shift[0], n + shift[1]] for m, n in _pairs(order)]
        layout = layout_of([e - elements[0] for e in elements])
        if layout is None:
            raise KernelError(
                "epilogue",
                {"epilogue_tile": self.cut, "mma": mma},
                "no layout takes the tile out of the accumulator",
                "use the shape of one DPAS, or leave it out",
            )
        return Layout(layout.shape, layout.stride), elements[0]

    def _loaded(self, operand: Operand, names: tuple[str, ...], order: Layout, shift: Cut) -> str:
        frame, name, rank = self.frame, operand.name, len(names)
        copy, fragment = self.copies[name], self.slots[name]
        pairs = zip(frame.first, frame.indices, strict=False)
        first = tuple(index for index, letter in pairs if letter in names)
        if names[-2:] == ("m", "n"):
            at = (*first, *self._corner(shift))
            self.stores.append(Load(copy, name, at, fragment, (rank - 2, rank - 1)))
            moved = reorder(copy_slots(copy), order)
            if is_identity(moved):
                return fragment
            source, fragment = fragment, self._declared(f"tEa{name}", operand.value_type)
            self.stores.append(Reorder(source, fragment, moved))
            return fragment
        axis = "mn".index(names[-1])
        at = (*first, self._corner(shift)[axis])
        self.stores.append(Load(copy, name, at, fragment, (None, rank - 1)))
        by = layout_of([pair[axis] for pair in _pairs(order)])
        if by is None:
            raise KernelError("epilogue", {"operand": name}, "no layout broadcasts it", "")
        self.gathers[fragment] = by
        return fragment

    def _corner(self, shift: Cut) -> tuple[Index, Index]:
        m, n = self.frame.corner
        return m + shift[0], n + shift[1]

    def _stored_part(
        self,
        name: str,
        value: Expression,
        numeric: Numeric,
        fragments: dict[str, str],
        order: Layout,
        shift: Cut,
    ) -> None:
        result, compute = "tEp", self._compute(value)
        if value != Slot("acc"):
            result = self._declared(f"tEf{name}", compute)
            self.stores.append(self.mapped(result, value, "tEp", fragments))
        copy = self.copies[name]
        moved = reorder(order, copy_slots(copy))
        if numeric != compute and not in_one_pass(moved, compute, numeric):
            source, result = result, self._declared(f"tEr{name}", numeric)
            self.stores.append(Convert(source, result))
        if not is_identity(moved):
            source, result = result, self._declared(f"t{name}r{name}", numeric)
            self.stores.append(Reorder(source, result, moved))
        rank = len(self.frame.lead)
        at = (*self.frame.first, *self._corner(shift))
        self.stores.append(Store(copy, name, at, result, (rank, rank + 1)))

    def _declared(self, name: str, numeric: Numeric) -> str:
        """Declare a fragment of one tile, once."""
        if all(fragment.name != name for fragment in self.fragments):
            self.fragment(name, numeric, self.cut[0] * self.cut[1] // 16)
        return name


def _unmoved(cut: Cut, op: Block2DOp, bits: int, why: str) -> KernelError:
    return KernelError(
        "epilogue",
        {"epilogue_tile": cut, "op": op},
        f"no message of {bits}-bit values moves a part of {cut[0]} x {cut[1]}: {why}",
        "use a larger tile",
    )


@lru_cache(maxsize=64)
def _pairs(layout: Layout) -> tuple[tuple[int, int], ...]:
    return tuple((int(m), int(n)) for m, n in table(layout)[:, :2])


@lru_cache(maxsize=16)
def _elements(layout: Layout) -> dict[tuple[int, int], int]:
    """Return which element lies at each place: every tile of an epilogue asks."""
    return {at: element for element, at in enumerate(_pairs(layout))}


def _checked(mma: TiledMma, cut: Cut) -> Cut:
    share, atom = subgroup_share(mma, "C"), mma.atom.shape_mnk[:2]
    each = zip(share, cut, atom, strict=True)
    if any(part < 1 or part % step or whole % part for whole, part, step in each):
        raise KernelError(
            "gemm",
            {"epilogue_tile": cut, "share": share},
            f"{cut[0]} x {cut[1]} does not cut a subgroup's {share[0]} x {share[1]} along its "
            f"instructions of {atom[0]} x {atom[1]}",
            f"use {default_epilogue_tile(mma)}",
        )
    return cut
