"""What is added to scores: ALiBi's slopes, a matrix, a mask of tokens that were drafted."""

from __future__ import annotations

from pycute_xe.atom.block2d_copy import make_block_2d_copy_C
from pycute_xe.atom.reordering import is_identity, reorder
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Fragment
from pycute_xe.kernel.ir.statements import Load, Reorder, Statement
from pycute_xe.kernel.kinds.attention_form import F32, LOG2E, Form, Keys
from pycute_xe.kernel.kinds.parts import gmem_stride
from pycute_xe.kernel.kinds.vectors import one_copy, vector_copy, vector_gather
from pycute_xe.kernel.spec.expression import Const, Element, Expression, Slot, Where
from pycute_xe.kernel.tiles.slots import copy_slots, mma_slots
from pycute_xe.layout import Layout, size

__all__ = ["Biases", "biased"]


def biased(form: Form, score: Expression, keys: Keys, query: Index, key: Index) -> Expression:
    """Return what a score, to base 2, is claimed to be with what is added to it."""
    place, lead = keys.first + key, () if form.packed else (Index("b"),)
    match form.bias:
        case None:
            return score
        case "alibi":
            slope = Element("slopes", (Index("h"),))
            return score + slope * Element("numbers", (place,)) * LOG2E
        case "matrix":
            return score + Element("bias", (*lead, Index("h"), query, place)) * LOG2E
        case "drafts":
            begun, own = form.context, form.drafts
            draft: Expression = Element("tree", (*lead, query, place - begun))
            draft = Where(place, begun + own, draft, Const(0.0))
            return score + Where(place, begun, Const(0.0), draft) * LOG2E


class Biases:
    """The statements that bring what is added to a tile of scores."""

    def __init__(self, form: Form) -> None:
        """Build the copies."""
        self.form, self.count = form, 16 * size(form.qk.fragment("C")[1])
        if form.bias == "alibi":
            self.copy = vector_copy(form.qk, "n", F32)
            self.gather = vector_gather(form.qk, "n")
        else:
            self.copy = make_block_2d_copy_C(form.qk, gmem_stride("C", "row"), F32)
            self.slots = reorder(copy_slots(self.copy), mma_slots(form.qk, "C"))

    @property
    def moves(self) -> bool:
        """Whether a tile is loaded in another order than scores have."""
        return self.form.bias != "alibi" and not is_identity(self.slots)

    def fragments(self) -> tuple[Fragment, ...]:
        """Return the registers."""
        slots = self.copy.messages * self.copy.atom.values
        match self.form.bias:
            case None:
                return ()
            case "alibi":
                return Fragment("tSlope", F32, 1), Fragment("tSrN", F32, slots)
            case "matrix" | "drafts":
                moved = (Fragment("tSsB", F32, slots),) if self.moves else ()
                return (*moved, Fragment("tSrB", F32, slots))

    def begin(self) -> tuple[Statement, ...]:
        """Return what is brought once."""
        if self.form.bias != "alibi":
            return ()
        return (Load(one_copy(self.form.qk), "slopes", (Index("h"),), "tSlope", (None, 0)),)

    def brought(self, keys: Keys) -> tuple[Statement, ...]:
        """Return what is brought for a tile of keys."""
        form = self.form
        row, key = Index("q") * form.tile[0], keys.first + form.tile_of(keys) * form.tile[1]
        if form.packed:
            row = Index.element("starts", Index("b")) + row
        lead = () if form.packed else (Index("b"),)
        match form.bias:
            case None:
                return ()
            case "alibi":
                return (Load(self.copy, "numbers", (key,), "tSrN", (None, 0)),)
            case "matrix":
                name, at = "bias", (*lead, Index("h"), row, key)
            case "drafts":
                name, at = "tree", (*lead, row, key - form.context)
        load = Load(
            self.copy, name, at, "tSsB" if self.moves else "tSrB", (len(at) - 2, len(at) - 1)
        )
        return (load, Reorder("tSsB", "tSrB", self.slots)) if self.moves else (load,)

    def added(self, score: Expression) -> Expression:
        """Return a score of the tile at hand with what is added to it."""
        match self.form.bias:
            case None:
                return score
            case "alibi":
                return score + Slot("tSlope") * Slot("tSrN") * LOG2E
            case "matrix" | "drafts":
                return score + Slot("tSrB") * LOG2E

    def gathers(self) -> tuple[tuple[str, Layout], ...]:
        """Return how elements of the scores take what is the same for several."""
        if self.form.bias != "alibi":
            return ()
        return ("tSlope", Layout(self.count, 0)), ("tSrN", self.gather)
