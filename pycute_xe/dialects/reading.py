"""Encodings from their text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from pycute_xe.dialects.dpas_encoding import DpasEncoding
from pycute_xe.dialects.linear import PLACES, LinearLayout
from pycute_xe.dialects.text import OPERATION, Attribute, Fields, read_attribute
from pycute_xe.dialects.triton import Blocked, DotOperand, Linear, Sliced, Subgroup2DBlock
from pycute_xe.dialects.xegpu import XeGpuLayout, XeGpuSlice
from pycute_xe.errors import InputError, quoted
from pycute_xe.signatures import typed

__all__ = ["AnyEncoding", "parse"]

AnyEncoding = (
    Blocked
    | DotOperand
    | DpasEncoding
    | Linear
    | Sliced
    | Subgroup2DBlock
    | XeGpuLayout
    | XeGpuSlice
)

# How a cluster of work-groups shares a tensor, which work-groups of Xe do not.
_BLOCKS = ("CTAsPerCGA", "CTASplitNum", "CTAOrder", "CGALayout")

_MOST = 1 << 12


@typed
def parse(text: str, aliases: Mapping[str, str] | None = None) -> AnyEncoding:
    """Return the encoding of a tensor from its text in MLIR.

    Triton's ``#ttg.linear``, ``#ttg.blocked``, ``#ttg.dot_op``, ``#ttg.slice``, ``#ttig.dpas`` and
    ``#ttig.subgroup_2d_block``, also by the older names ``#triton_gpu`` and ``#triton_intel_gpu``;
    the XeGPU dialect's ``#xegpu.layout`` and ``#xegpu.slice``.
    Lines above it, or ``aliases`` by name, define what it names. Fields that follow from others
    are checked. Raises `InputError` naming the attribute and the field, or line and column.

    >>> print(parse("#ttg.linear<{register = [[1]], lane = [[2], [4]], warp = [], block = []}>"))
    #ttg.linear<{register = [[1]], lane = [[2], [4]], warp = [], block = []}>
    >>> parse("#ttg.slice<{dim = 0, parent = #b}>", {
    ...     "b": "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 4], "
    ...          "warpsPerCTA = [1, 1], order = [1, 0]}>"}).parent.order
    (1, 0)
    """
    return encoding_of(read_attribute(text, aliases))


def encoding_of(attribute: Attribute) -> AnyEncoding:
    """Return the encoding that an attribute describes."""
    name = _NEWER.get(attribute.name, attribute.name)
    reader = _READERS.get(name)
    if reader is None:
        close = get_close_matches(name, _READERS, 1)
        known = f"#{close[0]}" if close else ", ".join(f"#{one}" for one in _READERS)
        wrong = f"#{attribute.name} is not a layout that can be read"
        raise InputError(OPERATION, {"text": quoted(f"#{attribute.name}")}, wrong, f"use {known}")
    return reader(attribute)


def _demand_one_block(fields: Fields) -> None:
    for key in _BLOCKS:
        value = fields.items(key, [])
        if key != "CTAOrder" and value and any(one != 1 for one in value):
            wrong = f"{key} = {quoted(value)} shares the tensor among work-groups, which Xe has not"
            raise fields.refusal(wrong, "describe one work-group")


def _linear(attribute: Attribute) -> Linear:
    fields = Fields(attribute, PLACES[:3], PLACES[3:])
    bases = {place: [fields.row(row) for row in fields.items(place, [])] for place in PLACES}
    if any(len(basis) > 12 for basis in bases.values()):
        raise fields.refusal("a dimension has more than 12 bases", "describe a smaller tensor")
    ranks = {len(row) for basis in bases.values() for row in basis}
    if len(ranks) > 1:
        wrong = f"its coordinates have {' and '.join(map(str, sorted(ranks)))} entries"
        raise fields.refusal(wrong, "give every basis one entry for each dimension")
    if bases["block"] and any(any(row) for row in bases["block"]):
        raise fields.refusal("block shares the tensor, which Xe has not", "write block = []")
    return Linear(LinearLayout(bases))


def _blocked(attribute: Attribute) -> Blocked:
    keys = ("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order")
    fields = Fields(attribute, keys, _BLOCKS)
    _demand_one_block(fields)
    return Blocked(*(fields.numbers(key) for key in keys))


def _dot_op(attribute: Attribute) -> DotOperand:
    fields = Fields(attribute, ("opIdx", "parent"), ("kWidth",))
    parent = encoding_of(fields.attribute_at("parent"))
    if not isinstance(parent, (Blocked, DpasEncoding)):
        raise fields.refusal(
            f"its parent is {type(parent).__name__}", "give #ttig.dpas or #ttg.blocked"
        )
    return DotOperand(fields.number("opIdx", 0, 1), parent, fields.number("kWidth", 0, 8, 0))


def _slice(attribute: Attribute) -> Sliced:
    fields = Fields(attribute, ("dim", "parent"))
    return Sliced(fields.number("dim", 0, 8), encoding_of(fields.attribute_at("parent")))


def _dpas(attribute: Attribute) -> DpasEncoding:
    keys = ("repeatCount", "systolicDepth", "executionSize", "opsPerChan", "threadsPerWarp")
    fields = Fields(attribute, (*keys, "warpsPerCTA", "repCluster"), ("A", "B", "C", "fp4KPack"))
    if "fp4KPack" in attribute.fields:
        raise fields.refusal("fp4KPack packs operands in a way without a document", "leave it out")
    repeat, depth, size, ops, lanes = (fields.number(key, 1, 32) for key in keys)
    grid, cluster = fields.numbers("warpsPerCTA"), fields.numbers("repCluster")
    dpas = DpasEncoding(repeat, depth, size, ops, lanes, grid, cluster)
    for part in ("A", "B", "C"):
        if part in attribute.fields:
            given, follows = fields.numbers(part), dpas.tile(part)
            if given != follows and given != (1,) * (dpas.rank - 2) + follows:
                wrong = f"{part} = {list(given)}, but the other fields make it {list(follows)}"
                raise fields.refusal(wrong, f"leave {part} out, or correct the other fields")
    return dpas


def _subgroup_2d_block(attribute: Attribute) -> Subgroup2DBlock:
    keys = ("warpsPerCTA", "instrShape", "numBlocks", "order", "kWidth", "threadsPerWarp")
    fields = Fields(attribute, keys, _BLOCKS)
    _demand_one_block(fields)
    return Subgroup2DBlock(
        fields.numbers("instrShape"),
        fields.number("numBlocks", 1, _MOST),
        fields.numbers("order"),
        fields.number("kWidth", 1, 4),
        fields.number("threadsPerWarp", 1, 32),
        fields.numbers("warpsPerCTA"),
    )


def _xegpu_layout(attribute: Attribute) -> XeGpuLayout:
    keys = ("sg_layout", "sg_data", "inst_data", "lane_layout", "lane_data", "order")
    fields = Fields(attribute, (), keys)
    given = {key: fields.numbers(key) for key in keys if key in attribute.fields}
    return XeGpuLayout(**given)


def _xegpu_slice(attribute: Attribute) -> XeGpuSlice:
    fields = Fields(attribute, ("parent", "dims"))
    parent = encoding_of(fields.attribute_at("parent"))
    return XeGpuSlice(parent, fields.numbers("dims"))


_READERS: dict[str, Callable[[Attribute], Any]] = {
    "ttg.linear": _linear,
    "ttg.blocked": _blocked,
    "ttg.dot_op": _dot_op,
    "ttg.slice": _slice,
    "ttig.dpas": _dpas,
    "ttig.subgroup_2d_block": _subgroup_2d_block,
    "xegpu.layout": _xegpu_layout,
    "xegpu.slice": _xegpu_slice,
}

_NEWER = {
    "triton_gpu.linear": "ttg.linear",
    "triton_gpu.blocked": "ttg.blocked",
    "triton_gpu.dot_op": "ttg.dot_op",
    "triton_gpu.slice": "ttg.slice",
    "triton_intel_gpu.dpas": "ttig.dpas",
    "triton_intel_gpu.subgroup_2d_block": "ttig.subgroup_2d_block",
}
