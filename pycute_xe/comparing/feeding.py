"""Whether the registers of a copy are the registers of an MMA operand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import product
from operator import itemgetter
from textwrap import wrap
from typing import Literal, cast, overload

from pycute_xe.arch.dpas import Dpas, DpasMessage, Register
from pycute_xe.arch.dpas.types import precisions, register_types
from pycute_xe.arch.rules import Broken, errors, judge, rules
from pycute_xe.arch.target import targets
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_atom import CopyAtom
from pycute_xe.atom.mma_atom import MmaAtom, Operand
from pycute_xe.atom.register_picture import SUBGROUP, Place
from pycute_xe.atom.reordering import classify_reorder
from pycute_xe.bulk import layout_of
from pycute_xe.comparing.atom_arguments import (
    Copy,
    as_copy_atom,
    as_mma_atom,
    direction,
    first_messages,
    name_of,
)
from pycute_xe.comparing.tensor_feeding import TensorFeed, tensor_feeds
from pycute_xe.cutlass.legacy_copy import LegacyCopyAtom
from pycute_xe.dialects.tensors import Distributed
from pycute_xe.errors import KernelError, ShapeError
from pycute_xe.layout import Layout
from pycute_xe.signatures import checked_fields, typed
from pycute_xe.typing import asked_of, shown

__all__ = ["Feed", "feeds", "Kind", "cost_of", "judged", "quantities_of"]

# ------------------------------------------------------------ operand places
# Whether DPAS may take an operand at a byte of the registers.

FIELDS = {"A": "src2", "B": "src1", "C": "src0", "D": "dst"}


def broken_in(op: Dpas, operand: Operand, places: Iterable[tuple[int, ...]]) -> tuple[Broken, ...]:
    """Return the rules that tiles break where their elements stand, each at the first such tile.

    Level "error" is the looser limit, "warning" the tighter one of another document.
    Document: vISA manual, DPAS.md, alignment.

    >>> from pycute_xe.atom import XE_DPAS_TT
    >>> [b.rule for b in broken_in(XE_DPAS_TT(1, "bf16", "bf16", "bf16", "bf16"), "D", [(16,)])]
    ['dst-grf']
    """
    bits, by_rule = getattr(op, operand).bits, dict[str, Broken]()
    for slots in places:
        for broken in _broken_at(op, operand, slots[0] * bits // 8):
            by_rule.setdefault(broken.rule, broken)
    return tuple(by_rule.values())


@lru_cache(maxsize=1 << 10)
def _broken_at(op: Dpas, operand: Operand, offset: int) -> tuple[Broken, ...]:
    """The rules that an operand breaks at a byte, on any target."""
    quantities = quantities_of(op) | {FIELDS[operand]: offset}
    breaches = (b for t in targets() for b in judge(rules("dpas", "rule", t), quantities))
    return tuple({broken.rule: broken for broken in breaches}.values())


def quantities_of(op: Dpas) -> dict[str, int]:
    """Return what the rules of a DPAS speak about, with every operand at the start of a register.

    >>> from pycute_xe.atom import XE_DPAS_TT
    >>> quantities_of(XE_DPAS_TT(4, "f32", "bf16"))["repeat"]
    4
    """
    a, b = (precisions()[t.name] for t in (op.A, op.B))
    dst, src0 = (register_types()[t.name] for t in (op.D, op.C))
    at, at0, at1, at2 = map(Register, ("V1", "V2", "V3", "V4"))
    shape = (op.M, op.depth, op.exec_size, "M1")
    return DpasMessage(b, a, at, at0, at1, at2, *shape, dst, src0).quantities


def words_of_rules(operand: Operand, broken: Iterable[Broken]) -> str:
    """Return the rules in words, with the looser ones that hold; empty for none."""
    breaches = tuple(broken)
    table = rules("dpas", "rule", next(iter(targets())))
    refused = {b.rule for b in errors(breaches)}
    looser = [r.id for r in table if r.level == "error" and r.quantity == FIELDS[operand]]
    legal = ", ".join(rule for rule in looser if rule not in refused)
    text = "; ".join(f"{b.level} {b.rule}: {b.condition} [{b.source}]" for b in breaches)
    return f"{f'legal by {legal}, but ' if legal else ''}{text}" if text else ""


# ------------------------------------------------------------ feeding reasons
# Why a copy cannot serve an operand, which is told before any register is looked at.


def no_such_way(copy: Copy, operand: Operand) -> str:
    """Why values do not go between such a copy and such an operand at all."""
    way = direction(copy)
    if way == "prefetch":
        return "a prefetch brings the block into the cache and reaches no register"
    if way == "store" and operand != "D":
        return f"a store takes values out of registers: it can follow D, and fill no {operand}"
    if way == "load" and operand == "D":
        return "a load fills registers, and D comes out of them: it needs a store"
    return ""


def other_width(copy: Copy, mma: MmaAtom, operand: Operand) -> str:
    """Why values of the copy's width are not those of the operand."""
    kind, wanted = copy.value_type.bits, mma.operand_type(operand)
    if kind == wanted.bits:
        return ""
    if operand == "D":
        return f"{wanted} results must be converted to {kind} bits to be stored"
    return f"its {kind}-bit values must be converted to {wanted} first"


def illegal(copy: Copy) -> str:
    """The rule that forbids the copy, where no target takes it."""
    placed, why = first_messages(copy)
    return "" if placed else f"no target takes its messages: {why}"


def other_block(block: Place, mma: MmaAtom, operand: Operand) -> str:
    """Why a block does not divide into tiles of the operand."""
    (high, wide), (rows, cols) = block, mma.operand_shape(operand)
    if high % rows == 0 and wide % cols == 0:
        return ""
    block_ = f"its block of {high}x{wide}"
    if high < rows or wide < cols:
        return f"{block_} is smaller than {operand} of {rows}x{cols}"
    return f"{block_} does not divide into {operand} tiles of {rows}x{cols}"


# ------------------------------------------------------------ feeding


@overload
def feeds(
    copy: Copy | Block2DOp | str,
    mma: MmaAtom | Dpas | str,
    operand: Operand,
    order: Order | None = None,
) -> Feed: ...


@overload
def feeds(copy: Distributed, mma: MmaAtom | Dpas | str, operand: Operand) -> TensorFeed: ...


@typed
def feeds(
    copy: Copy | Block2DOp | str | Distributed,
    mma: MmaAtom | Dpas | str,
    operand: Operand,
    order: Order | None = None,
) -> Feed | TensorFeed:
    """Tell whether the registers of a copy serve a DPAS as an operand, as they are or reordered.

    ``operand``: A, B or C for loads, D for stores. The block is one of the operand as a matrix,
    A (M, K), B (K, N), C and D (M, N), which lies in memory row by row (``order="row"``) or column
    by column (``"col"``; the default of transposing copies). What counts is what the messages do
    (``registers()``), not the ownership that CUTLASS's layouts claim. A name, an operation and an
    atom without a type of its own (`get_atom` of the name) are one copy with one answer: it carries
    values of the operand's type where it may. A tensor of another project's layout
    (`dialects.layout_of`) is asked as it lies in registers, without an order in memory.
    Raises `CuteError` unless given a copy and an MMA, `ShapeError` for another operand or order.

    >>> feeds("XE_2D_U16x8x16_LD_N", "XE_8x16x16_F32BF16BF16F32_TT", "A").kind
    'free'
    >>> feeds("XE_2D_U16x16x16_LD_N", "XE_8x16x16_F32BF16BF16F32_TT", "B").kind
    'reorder'
    >>> print(feeds("XE_2D_U8x32x16_LD_V", "XE_8x16x16_F32BF16BF16F32_TT", "B").reason)
    its 8-bit values must be converted to bf16 first
    """
    copy = asked_of("feeds", copy)
    mma = as_mma_atom(asked_of("feeds", mma), "feeds")
    if type(operand) is not str or operand not in ("A", "B", "C", "D"):
        given = {"copy": str(copy), "mma": str(mma), "operand": operand}
        raise ShapeError("feeds", given, "unknown operand", 'use "A", "B", "C" or "D"')
    if isinstance(copy, Distributed):
        if order is not None:
            wrong = "a tensor in registers has no order in memory"
            raise ShapeError("feeds", {"order": order}, wrong, "leave order out")
        return tensor_feeds(copy, mma, operand)
    copy = as_copy_atom(copy, "feeds", mma.operand_type(operand))
    if order is None:
        order = default_order(copy)
    if order not in ("row", "col"):
        raise ShapeError("feeds", {"order": order}, "unknown order", 'use "row" or "col"')
    feed = _judged(copy, mma, operand, order)
    return feed if feed.reason else replace(feed, reason=words_of(feed))


def judged(copy: Copy | Block2DOp | str, mma: MmaAtom, operand: Operand) -> Feed:
    """Return what `feeds` does without the words for it, which cost more.

    >>> from pycute_xe.atom.mma_atom import XE_DPAS_TT, make_mma_atom
    >>> judged("XE_2D_U16x16x16_LD_N", make_mma_atom(XE_DPAS_TT(8, "f32", "bf16")), "B").kind
    'reorder'
    """
    copy = as_copy_atom(copy, "feeds", mma.operand_type(operand))
    return _judged(copy, mma, operand, default_order(copy))


def _judged(copy: Copy, mma: MmaAtom, operand: Operand, order: Order) -> Feed:
    """Return the verdict, with a reason only where it is impossible."""
    turned, (rows, cols) = _is_turned(copy, order), copy.shape
    # What needs no picture of the registers comes first.
    why = (
        no_such_way(copy, operand)
        or other_width(copy, mma, operand)
        or illegal(copy)
        or other_block((cols, rows) if turned else (rows, cols), mma, operand)
    )
    if why:
        return Feed(copy, mma, operand, order, "impossible", why)
    where = _where(copy, turned)
    tiles, places = _tiles(where, mma, operand)
    # Neighbours in order, in every tile.
    runs_on = all(slots == tuple(range(slots[0], slots[0] + len(slots))) for slots in places)
    broken = broken_in(mma.op, operand, places) if runs_on else None
    kind: Kind = "reorder" if broken is None or errors(broken) else "free"
    return Feed(copy, mma, operand, order, kind, "", tiles, places, broken or ())


def _is_turned(copy: Copy, order: Order) -> bool:
    """Whether rows of the operand are columns of the copy."""
    if isinstance(copy, CopyAtom):  # rows and columns of templates are those of memory
        return order == "col"
    return order != default_order(copy)


def _where(copy: Copy, turned: bool) -> list[list[int]]:
    """The slot of the copy's registers that holds each element of the operand, by rows."""
    rows, cols = copy.shape
    where = [[-1] * cols for _ in range(rows)]
    for slot, (row, col) in enumerate(copy.places_held):
        if row >= 0:
            where[row][col] = slot
    return list(map(list, zip(*where, strict=True))) if turned else where


def _tiles(
    where: list[list[int]], mma: MmaAtom, operand: Operand
) -> tuple[tuple[Place, ...], tuple[tuple[int, ...], ...]]:
    """Origin of each operand tile of the block, and where its elements are, in register order."""
    high, wide, (rows, cols) = len(where), len(where[0]), mma.operand_shape(operand)
    wanted, tiles = _wanted(mma, operand), list[tuple[tuple[int, ...], Place]]()
    for down in range(0, high, rows):
        for right in range(0, wide, cols):
            tile = [slot for row in where[down : down + rows] for slot in row[right : right + cols]]
            tiles.append((wanted(tile), (down, right)))
    tiles.sort(key=lambda pair: pair[0][0])  # no two tiles share a slot
    return tuple(origin for _, origin in tiles), tuple(slots for slots, _ in tiles)


@cache
def _wanted(mma: MmaAtom, operand: Operand) -> Callable[[list[int]], tuple[int, ...]]:
    """Return what takes a tile, row by row, into the order of the registers of DPAS."""
    cols = mma.operand_shape(operand)[1]
    slots = mma.registers(operand).slots
    return itemgetter(*(row * cols + col for row, col in filter(None, slots)))


# ------------------------------------------------------------ feed
# The verdict on a copy that feeds an operand, and its words.

Order = Literal["row", "col"]

Kind = Literal["free", "reorder", "impossible"]

_UNITS = (8, 16, 32)

_COLUMNS = 100


@checked_fields
@dataclass(frozen=True, repr=False)
class Feed:
    """Whether a copy leaves in registers what a DPAS reads, or a DPAS what a store writes.

    ``tiles`` are the (row, column) origins in the block of the operand tiles it holds, in the order
    of their registers; ``places[t][i]`` is the slot of ``copy.registers()`` that holds element
    ``i`` of the operand's registers of tile ``t``. Both are empty where it is impossible.
    ``warnings``: the rules of alignment that tiles break where they are, in order; an error makes a
    reorder of it, which brings each tile to the beginning of a register.
    Law: ``kind`` is ``"free"`` exactly when every ``places[t]`` counts up by one, from a byte where
    DPAS may read.
    Counterpart: whether ``reorder`` of two subgroup tensors moves anything.

    >>> from pycute_xe.comparing.feeding import feeds
    >>> print(feeds("XE_2D_U16x32x16_LD_V", "XE_DPAS_TT<8,f32,bf16>", "B"))
    XE_2D_U16x32x16_LD_V feeds B of XE_DPAS_TT<8,f32,bf16,bf16,f32>: free
    2 tiles of 16x16, in the registers and the order that DPAS reads
    """

    copy: Copy
    mma: MmaAtom
    operand: Operand
    order: Order
    kind: Kind
    reason: str
    tiles: tuple[Place, ...] = ()
    places: tuple[tuple[int, ...], ...] = ()
    warnings: tuple[Broken, ...] = ()

    _repr_mimebundle_ = shown

    @cached_property
    def slots(self) -> Layout | tuple[int | None, ...]:
        """Source register element → destination register element, of the whole block.

        A load goes from the copy's registers to the operand's, a store from D's to the copy's; on
        the side of the operand, tiles follow each other in the order of ``tiles``, each from a
        register on where DPAS needs that. A layout where one says it, else the destinations one by
        one, ``None`` for padding. Empty where it is impossible.

        >>> from pycute_xe.comparing.feeding import feeds
        >>> print(feeds("XE_2D_U16x16x16_LD_N", "XE_DPAS_TT<8,f32,bf16>", "B").slots)
        (16,2,8):(2,1,32)
        """
        pairs = [*self._moved]
        if self.operand != "D":
            pairs = [(slot, element) for element, slot in pairs]
        moved: list[int | None] = [None] * (max(map(itemgetter(0), pairs), default=-1) + 1)
        for source, destination in pairs:
            moved[source] = destination
        if None in moved or not moved:
            return tuple(moved)
        return layout_of(cast("list[int]", moved)) or tuple(moved)

    @property
    def misplaced(self) -> bool:
        """Whether tiles are in order, and one begins where DPAS cannot find it.

        >>> from pycute_xe.comparing.feeding import feeds
        >>> feeds("XE_2D_U16x2x16_ST_N", "XE_DPAS_TT<1,bf16,bf16,bf16,bf16>", "D").misplaced
        True
        """
        return bool(errors(self.warnings))

    @property
    def _moved(self) -> Iterator[tuple[int, int]]:
        """Pairs of an element on the side of the operand and a slot of the copy's registers."""
        bits = self.mma.operand_type(self.operand).bits
        whole = quantities_of(self.mma.op)["grf_bytes"] * 8 // bits if self.misplaced else 1
        for number, places in enumerate(self.places):
            first = number * -(-len(places) // whole) * whole
            yield from enumerate(places, first)

    @cached_property
    def units(self) -> tuple[int, int] | None:
        """Widths in bits, of 8, 16 and 32, in which no value changes its work-item.

        Registers read in units of the first and written in units of the second: unit ``u`` of
        either belongs to work-item ``u mod 16``. Equal and narrow ones come first. ``None`` if
        there are no widths.

        >>> from pycute_xe.comparing.feeding import feeds
        >>> feeds("XE_2D_U16x16x16_LD_N", "XE_DPAS_TT<8,f32,bf16>", "B").units
        (16, 32)
        """
        bits = self.mma.operand_type(self.operand).bits
        widths = [unit for unit in _UNITS if unit % bits == 0]
        pairs = sorted(product(widths, repeat=2), key=lambda pair: (pair[0] != pair[1], pair))
        for source, destination in pairs if self.places else ():
            copy, mma = (destination, source) if self.operand == "D" else (source, destination)
            if all(_stays(slots, bits, copy, mma) for slots in self.places):
                return source, destination
        return None

    @property
    def movement(self) -> str:
        """Whether values leave their work-items: "none", "within work-items", "across work-items".

        Within: in some `units` every value stays with its work-item. Empty where it is impossible.
        """
        if self.kind != "reorder":
            return "none" if self.kind == "free" else ""
        return "within work-items" if self.units else "across work-items"

    @cached_property
    def moves(self) -> int | None:
        """How many moves bring the block where it is read: instructions from a region to a region.

        Law: the ``mov`` instructions of the compiled binary that carry the block; `emit` writes
        one for two of them where a region goes by way of dwords (`Move.instructions`). 0 is free,
        ``None`` impossible, also for values below a byte that no region parts.

        >>> from pycute_xe.comparing.feeding import feeds
        >>> mma = "XE_DPAS_TT<8,f32,bf16>"
        >>> [feeds(f"XE_2D_U16x{copy}", mma, "B").moves for copy in ("16x16_LD_V", "16x16_LD_N")]
        [0, 16]
        """
        if self.kind != "reorder":
            return 0 if self.kind == "free" else None
        bits = self.mma.operand_type(self.operand).bits
        if self.operand == "D":
            source, last = {slot: e for e, slot in self._moved}, max(map(max, self.places))
        else:
            source, last = dict(self._moved), max(element for element, _ in self._moved)
        return _instructions(tuple(source.get(i, -1) for i in range(last + 1)), bits)

    @property
    def cost(self) -> str:
        """The moves on one scale: "free", "1 move", "12 moves", … "impossible".

        A "reorder" without a number parts values that share a byte, which no move of a region does.

        >>> from pycute_xe.comparing.feeding import feeds
        >>> feeds("XE_2D_U16x16x16_LD_N", "XE_DPAS_TT<8,f32,bf16>", "B").cost
        '16 moves'
        """
        return cost_of(self.kind, self.moves)

    @property
    def pattern(self) -> str:
        """CUTLASS's name of the reorder, see `classify_reorder`; empty where no layout says it.

        >>> from pycute_xe.comparing.feeding import feeds
        >>> feeds("XE_2D_U16x16x16_LD_N", "XE_DPAS_TT<8,f32,bf16>", "B").pattern
        'UV'
        """
        if not isinstance(self.slots, Layout):
            return ""
        bits = self.mma.operand_type(self.operand).bits
        return classify_reorder(self.slots, bits, bits)

    def __repr__(self) -> str:
        """The verdict."""
        return f"<Feed {str(self).partition(chr(10))[0]}>"

    def __str__(self) -> str:
        """The verdict, then the reason, in lines of 100 columns."""
        verb = "takes" if self.operand == "D" else "feeds"
        order = "" if self.order == default_order(self.copy) else f" ({self.order}-major)"
        what = f"{name_of(self.copy)} {verb} {self.operand} of {self.mma}"
        return "\n".join(
            [f"{what}{order}: {self.kind}", *wrap(self.reason, _COLUMNS, break_on_hyphens=False)]
        )


def cost_of(kind: str, moves: int | None) -> str:
    """Return a verdict with its moves in words.

    >>> cost_of("free", 0), cost_of("reorder", 12), cost_of("impossible", None)
    ('free', '12 moves', 'impossible')
    """
    return f"{moves} move{'s'[: moves != 1]}" if moves else kind


@lru_cache(maxsize=1 << 10)
def _instructions(source: tuple[int, ...], bits: int) -> int | None:
    """Count the moves that bring each element from its source (-1: none), ``None`` for no way.

    Many copies hold a block alike, so that most are counted once.
    """
    from pycute_xe.arch.regions import moves_from

    try:
        moves = moves_from(source, bits)
    except KernelError:
        return None
    return sum(move.instructions for move in moves)


def _stays(places: tuple[int, ...], bits: int, copy_unit: int, mma_unit: int) -> bool:
    """Whether the elements of a tile have the same work-item on both sides."""
    copy, mma = copy_unit // bits, mma_unit // bits
    return all(slot // copy % SUBGROUP == i // mma % SUBGROUP for i, slot in enumerate(places))


def default_order(copy: Copy) -> Order:
    """Return the order in memory that a copy is asked about where none is given."""
    if isinstance(copy, LegacyCopyAtom):
        return "col" if copy.name.mode == "T" else "row"
    return "col" if copy.op.kind == "XE_LOAD_2D_TRANSPOSE" else "row"


_PATTERNS = {
    "UV": "rows lie one after the other and must be packed into dwords (VNNI)",
    "VU": "rows are packed into dwords (VNNI) and must lie one after the other",
    "UU": "runs of whole registers lie in another order",
    "UU_Universal": "runs of 16 elements lie in another order",
}


def words_of(feed: Feed) -> str:
    """Why it is free, or what is to be done."""
    rows, cols = feed.mma.operand_shape(feed.operand)
    count = len(feed.tiles)
    tiles = f"{count} tiles of {rows}x{cols}" if count > 1 else f"one tile of {rows}x{cols}"
    if feed.kind == "free":
        reads = "leaves" if feed.operand == "D" else "reads"
        words = words_of_rules(feed.operand, feed.warnings)
        free = f"{tiles}, in the registers and the order that DPAS {reads}{_read(feed)}"
        return f"{free}; {words}" if words else free
    what = _PATTERNS.get(feed.pattern, "elements lie in another order")
    if feed.misplaced:
        what = "; ".join(f"{b.condition} ({b.rule}) [{b.source}]" for b in errors(feed.warnings))
    how = feed.movement
    if feed.units and feed.units[0] != feed.units[1]:
        how += f", read in {feed.units[0]}-bit units and written in {feed.units[1]}-bit ones"
    elif feed.units:
        how += f", in units of {feed.units[0]} bits"
    cost = f", {feed.cost}" if feed.moves else ""
    return f"{tiles}, but {what}: a reorder {how}{cost}{_read(feed)}"


def _read(feed: Feed) -> str:
    """What becomes of values of another type of the same width."""
    kind, wanted = feed.copy.value_type, feed.mma.operand_type(feed.operand)
    if kind == wanted or kind.kind == "unsigned":  # unsigned stands for bits of any kind
        return ""
    if feed.operand == "D":
        kind, wanted = wanted, kind
    return f"; bits of {kind} are taken for {wanted}"
