"""`explain`, the verb."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from pycute_xe.algebra import inverse
from pycute_xe.algebra.compose import as_tiler
from pycute_xe.algebra.inverse import unpacked, zip_modes
from pycute_xe.algebra.laws.points import plain
from pycute_xe.algebra.product import logical_product
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import CuteError, InputError, ShapeError, quoted, with_article
from pycute_xe.explaining import compositions as composing
from pycute_xe.explaining.coordinates import along_axes
from pycute_xe.explaining.explanation import Explanation, Script, Stopped, times
from pycute_xe.int_tuple import compact_col_major, congruent, product
from pycute_xe.layout import Layout, cosize, make_layout, pair, size
from pycute_xe.layout.core import has_none, moves
from pycute_xe.signatures import typed
from pycute_xe.swizzle import Swizzle
from pycute_xe.typing import Coord, Shape, Stride, Tiler, is_tuple

if TYPE_CHECKING:
    from pycute_xe.arch.dpas import Dpas
    from pycute_xe.arch.lsc import Block2DMessage, Message
    from pycute_xe.atom import Block2DOp, LinearOp, TiledCopy
    from pycute_xe.dialects import Distributed
    from pycute_xe.kernel import Kernel
    from pycute_xe.naming.subjects import Named

    Operation = Block2DOp | LinearOp | Dpas
    from pycute_xe.explaining.atoms import Atom

__all__ = ["EXPLAINED", "explain"]

# ------------------------------------------------------------ gathering
# What divides and products share: mode by mode, then gathered or unpacked.

LogicalExplainer = Callable[[Script, Layout, Tiler], Layout]


@dataclass(frozen=True)
class Gathering:
    """The zipped, tiled and flat forms of an operation, told from its logical form.

    ``verb`` joins a mode and its tiler, ``whole`` is what is operated on; ``first`` and ``second``
    name the two modes of each result, ``kept`` says what ``_`` does.
    """

    name: str
    explain_logical: LogicalExplainer
    verb: str
    whole: str
    first: str
    second: str
    kept: str

    def by_mode(self, script: Script, layout: Layout, tiler: tuple[Any, ...]) -> Layout:
        """Write the logical form of each mode that the tiler has an entry for."""
        if len(tiler) > len(layout):
            script.stop(f"the tiler has {len(tiler)} entries, the {self.whole} {len(layout)} modes")
        parts: list[Layout] = []
        for i, entry in enumerate(tiler):
            entry_ = "_" if entry is None else entry
            with script.within(f"mode {i}, {layout[i]}, {self.verb} {entry_}"):
                parts.append(self.explain_logical(script, layout[i], entry))
        out = make_layout(*parts, *list(layout)[len(tiler) :])
        script.say("the modes together", out)
        return out

    def zipped(self, script: Script, layout: Layout, tiler: Tiler) -> Layout:
        """Write the logical form, and both halves of its modes gathered."""
        if tiler is None:
            out = make_layout(layout, Layout(1, 0))
            script.say(self.kept, out)
            return out
        with script.within(f"logical_{self.name}"):
            logical = self.explain_logical(script, layout, tiler)
        if not is_tuple(tiler):
            pair = f"({self.first}, {self.second})"
            script.say(f"one tiler for the whole {self.whole}: {pair} already", logical)
            return logical
        firsts, seconds = zip_modes(logical, tiler)
        several = _plural(self.first), _plural(self.second)
        script.say(f"the {several[0]} of the modes, gathered", make_layout(*firsts))
        script.say(f"the {several[1]} of the modes, gathered", make_layout(*seconds))
        out = make_layout(make_layout(*firsts), make_layout(*seconds))
        script.say(f"(({several[0]}), ({several[1]}))", out)
        return out

    def tiled(self, script: Script, layout: Layout, tiler: Tiler) -> Layout:
        """Write the zipped form, and its second half unpacked."""
        first, second = self._halves(script, layout, tiler)
        out = make_layout(first, *unpacked(second))
        script.say(f"the modes of the {self.second} stand by themselves", out)
        return out

    def flat(self, script: Script, layout: Layout, tiler: Tiler) -> Layout:
        """Write the zipped form, and both halves unpacked."""
        first, second = self._halves(script, layout, tiler)
        out = make_layout(*unpacked(first), *unpacked(second))
        script.say(f"the modes of {self.first} and {self.second} stand by themselves", out)
        return out

    def _halves(self, script: Script, layout: Layout, tiler: Tiler) -> Layout:
        with script.within(f"zipped_{self.name}"):
            return self.zipped(script, layout, tiler)


def _plural(word: str) -> str:
    return word if word.endswith("s") else f"{word}s"


# ------------------------------------------------------------ indexing
# How a coordinate becomes an offset.


def explain_call(script: Script, layout: Layout | ComposedLayout, *coord: Coord) -> Any:
    """Write how a layout, plain or swizzled, maps a coordinate."""
    crd: Coord = coord[0] if len(coord) == 1 else coord
    if isinstance(layout, Layout):
        explain_crd2idx(script, crd, layout.shape, layout.stride)
        # A coordinate of basis strides has every mode that a stride names.
        value: Any = layout(crd)
        if isinstance(layout(crd), tuple):
            script.say("as a coordinate", value)
        return value
    with script.within(f"beneath the swizzle, {layout.layout}"):
        inner = explain_crd2idx(script, crd, layout.layout.shape, layout.layout.stride)
    total = layout.offset + inner
    script.say(f"plus the offset {layout.offset}", total)
    swizzle = layout.swizzle
    read = total & swizzle.yyy_mask
    value = swizzle(total)
    script.say(
        f"{swizzle} reads the bits {swizzle.yyy_mask:#b} of {total:#b}, which are {read:#b}, and "
        f"XORs them onto the bits {swizzle.zzz_mask:#b}: {value:#b}",
        value,
    )
    return value


def explain_crd2idx(script: Script, coord: Coord, shape: Shape, stride: Stride = None) -> Any:
    """Write the coordinate of each leaf, its product with the stride, and their sum."""
    if stride is None:
        stride = compact_col_major(shape)
        script.say("without strides the shape is compact, first mode fastest", Layout(shape))
    elif not congruent(shape, stride):
        script.stop(f"the strides {plain(stride)} do not nest as the shape {plain(shape)} does")
    terms: list[Any] = []
    _explain_terms(script, coord, shape, stride, terms)
    total = sum(terms)
    script.say(f"the sum {' + '.join(map(plain, terms)) or 0}", total)
    return total


def _explain_terms(
    script: Script, coord: Coord, shape: Shape, stride: Stride, terms: list[Any]
) -> None:
    if is_tuple(coord):
        if not is_tuple(shape) or len(coord) != len(shape):
            script.stop(f"the coordinate {plain(coord)} does not fit the shape {plain(shape)}")
        for c, s, d in zip(coord, shape, stride, strict=True):
            _explain_terms(script, c, s, d, terms)
        return
    if not is_tuple(shape):
        terms.append(coord * stride)
        script.say(
            f"coordinate {coord} in {shape}:{stride}: {times(coord, stride)}", coord * stride
        )
        return
    parts = _digits(coord, shape)
    script.say(f"{coord}, counted in {plain(shape)} first mode fastest, is {plain(parts)}")
    _explain_terms(script, parts, shape, stride, terms)


def _digits(index: Any, shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """Split an index over the modes of a shape; the last has no end."""
    parts: list[Any] = []
    for mode in shape[:-1]:
        extent = product(mode)
        parts.append(index % extent)
        index = index // extent
    return (*parts, index) if shape else ()


# ------------------------------------------------------------ multiplying
# How the products come to their results.


def explain_logical_product(script: Script, block: Layout, tiler: Tiler) -> Layout:
    """Write the complement of the block, and the copies in it; by mode for a tuple."""
    if tiler is None:
        script.say("_ keeps the mode", block)
        return block
    if is_tuple(tiler):
        return _PRODUCTS.by_mode(script, block, tiler)
    copies = as_tiler(tiler)
    if moves(block.stride) or moves(copies.stride):
        out = logical_product(block, copies)
        script.say(f"the block {block}, and the copies in its complement along each axis", out)
        return out
    room = size(block) * cosize(copies)
    with script.within(
        f"the free offsets: complement of the block {block} up to "
        f"size·cosize = {times(size(block), cosize(copies))} = {room}"
    ):
        free, hole = composing.explain_gaps(script, block, room)
        if hole is not None and size(free) < cosize(copies):
            room = 2 * cosize(block) * cosize(copies)
            script.say(
                f"{size(free)} places are free, {cosize(copies)} are needed: what the hole takes "
                f"up, copies have behind all that came before, up to {room}"
            )
            free, _ = composing.explain_gaps(script, block, room)
    with script.within(f"A = the free offsets {free}, composed with B = the copies {copies}"):
        placed = composing.explain_composition(script, free, copies)
    out = pair(block, placed)
    script.say("mode 0 is the block, mode 1 walks over the copies", out)
    return out


_PRODUCTS = Gathering(
    "product",
    explain_logical_product,
    verb="times",
    whole="block",
    first="block",
    second="copies",
    kept="_ keeps the block and makes one copy, 1:0",
)
explain_zipped_product = _PRODUCTS.zipped
explain_tiled_product = _PRODUCTS.tiled
explain_flat_product = _PRODUCTS.flat


def explain_blocked_product(script: Script, block: Layout, tiler: Layout) -> Layout:
    """Write the product of equal ranks, and each block's mode before its copies'."""
    blocks, copies = _ranked(script, block, tiler)
    out = make_layout(*(pair(b, c) for b, c in zip(blocks, copies, strict=True)))
    script.say("mode by mode (block, copies): each block stays in one piece", out)
    return out


def explain_raked_product(script: Script, block: Layout, tiler: Layout) -> Layout:
    """Write the product of equal ranks, and each block's mode after its copies'."""
    blocks, copies = _ranked(script, block, tiler)
    out = make_layout(*(pair(c, b) for b, c in zip(blocks, copies, strict=True)))
    script.say("mode by mode (copies, block): the blocks interleave", out)
    return out


def _ranked(script: Script, block: Layout, tiler: Layout) -> tuple[Layout, Layout]:
    rank = max(len(block), len(tiler))
    one = [Layout(1, 0)]
    wide = make_layout(*block, *one * (rank - len(block)))
    many = make_layout(*tiler, *one * (rank - len(tiler)))
    script.say(f"both with {rank} modes, filled up with 1:0: the block {wide}, the copies {many}")
    with script.within("logical_product"):
        first, second = explain_logical_product(script, wide, many)
    return first, second


# ------------------------------------------------------------ dividing
# How the divides come to their results.


def explain_logical_divide(script: Script, layout: Layout, tiler: Tiler) -> Layout:
    """Write the complement of the tiler and the composition with both; by mode for a tuple."""
    if tiler is None:
        script.say("_ keeps the mode", layout)
        return layout
    if is_tuple(tiler):
        return _DIVIDES.by_mode(script, layout, tiler)
    tile = as_tiler(tiler)
    if moves(tile.stride):
        out = inverse.logical_divide(layout, tile)
        script.say(f"the tile {tile} and its complement along each axis of {plain(layout.shape)}")
        script.say("composed with the layout: (tile, rest)", out)
        return out
    total = size(layout)
    with script.within(f"the rest: complement of the tile {tile} in the {total} indices of A"):
        rest, hole = composing.explain_gaps(script, tile, total)
        if hole is not None and hole < total:
            script.stop(f"the hole at {hole} is below {total}: no tile would hold that index")
    both = pair(tile, rest)
    with script.within(f"A = {layout}, composed with B = (tile, rest) = {both}"):
        out = composing.explain_composition(script, layout, both)
    script.say("mode 0 is the tile, mode 1 walks over the tiles", out)
    return out


_DIVIDES = Gathering(
    "divide",
    explain_logical_divide,
    verb="divided by",
    whole="layout",
    first="tile",
    second="rest",
    kept="_ takes the whole layout into the tile and leaves a rest of 1:0",
)
explain_zipped_divide = _DIVIDES.zipped
explain_tiled_divide = _DIVIDES.tiled
explain_flat_divide = _DIVIDES.flat


# ------------------------------------------------------------ dispatch

Explainer = Callable[..., Any]

_DIVIDE = "The tile picks elements of A; its complement picks where the tiles begin."
_PRODUCT = "The complement of the block holds the places for copies; the tiler picks among them."

EXPLAINED: dict[str, tuple[Explainer, str]] = {
    "coalesce": (
        composing.beneath(composing.explain_coalesce),
        "A mode joins the one before it where it goes on from its end; extent 1 drops out.",
    ),
    "composition": (
        composing.explain_any_composition,
        "R(c) = A(B(c)): each mode of B walks over the modes of A with its stride.",
    ),
    "complement": (
        along_axes(inverse.complement, composing.explain_complement),
        "What lies free between the steps of each mode, and above the last, up to the cotarget.",
    ),
    "right_inverse": (
        along_axes(
            inverse.right_inverse,
            composing.through_inverse(composing.explain_right_inverse, inverse.right_inverse),
        ),
        "L(R(i)) = i: follow the strides 1, 2, … as far as they join without a gap.",
    ),
    "left_inverse": (
        along_axes(
            inverse.left_inverse,
            composing.through_inverse(composing.explain_left_inverse, inverse.left_inverse),
        ),
        "R(L(i)) = i: each stride gives back the part of the index that it carries.",
    ),
    "logical_divide": (composing.beneath(explain_logical_divide), _DIVIDE),
    "zipped_divide": (composing.beneath(explain_zipped_divide), _DIVIDE),
    "tiled_divide": (composing.beneath(explain_tiled_divide), _DIVIDE),
    "flat_divide": (composing.beneath(explain_flat_divide), _DIVIDE),
    "logical_product": (composing.beneath(explain_logical_product), _PRODUCT),
    "zipped_product": (composing.beneath(explain_zipped_product), _PRODUCT),
    "tiled_product": (composing.beneath(explain_tiled_product), _PRODUCT),
    "flat_product": (composing.beneath(explain_flat_product), _PRODUCT),
    "blocked_product": (composing.beneath(explain_blocked_product), _PRODUCT),
    "raked_product": (composing.beneath(explain_raked_product), _PRODUCT),
    "crd2idx": (explain_crd2idx, "The coordinate of each leaf times its stride, summed."),
}
"""What can be explained: by the name of the operation, who tells it, and its rule in a sentence."""

_CALL = (explain_call, "The coordinate of each leaf times its stride, summed.")


@typed
def explain(
    operation: Callable[..., Any]
    | Atom
    | Message
    | Block2DMessage
    | TiledCopy
    | Operation
    | Distributed
    | Kernel
    | Named,
    *operands: Any,
    **named: Any,
) -> Explanation:
    """Return the steps by which an operation comes to its result on these operands.

    ``operation`` is one of the functions of the algebra in `EXPLAINED`, or a layout, whose call is
    then explained, or an atom or its operation, see `explain_atom`, or an LSC message
    with a target, or a tiled copy with its tiled MMA and operand, see `explain_copy`, or a tensor
    under another project's layout (`dialects.layout_of`), or a kernel, whose listing it is; or text
    that names one of these, or a file: "gemm", "XE_…", "composition(8:1, 4:2)".
    Law: the explanation ends in what ``operation(*operands)`` returns, or in the error that it
    raises; where the steps reach their end, the last of them has the result as its value.
    Raises `InputError` for an operation without an explanation and for operands that are too few or
    too many, `ShapeError` where the first operand is not a layout. CuTe has no counterpart.

    >>> import pycute_xe as cx
    >>> print(explain(cx.composition, Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))))
    composition((6,2):(8,2), (4,3):(3,1))
    R(c) = A(B(c)): each mode of B walks over the modes of A with its stride.
     1. the modes of A = (6,2):(8,2), coalesced; the last has no end → (6,2):(8,2)
     2. mode 4:3 of B takes 4 elements of A, 3 apart
        2.1. 6:8: takes 2 of 4, 3·8 apart → 2:24
        2.2. 2:2, which has no end: takes 2, 1·2 apart → 2:2
        2.3. together → (2,2):(24,2)
     3. mode 3:1 of B takes 3 elements of A, 1 apart
        3.1. 6:8: all 3 fit in here, 1·8 apart → 3:8
     4. in the mode 6:8 of A the modes of B together reach 5, below its end at 6
     5. the walks, nested as B = (4,3):(3,1) nests → ((2,2),3):((24,2),8)
    Result: ((2,2),3):((24,2),8)
    """
    if isinstance(operation, (str, PathLike)):
        # Loading what reads names takes a browser a second, and a function needs none of it.
        from pycute_xe.naming import applied_in, subject_of

        applied = applied_in(cast("object", operation)) if not operands and not named else None
        if applied is not None:
            operation, operands = applied
        else:
            operation = subject_of("explain", operation)
    if type(operation).__module__.startswith(_OF_ATOMS):
        return _explained_atom(operation, operands, named)
    name, (steps_of, rule) = _operation_named(operation)
    values = _bound(name, operation, operands, named)
    _check(name, values)
    target: Any = values[0] if operation is values[0] else operation
    arguments = values[1:] if target is values[0] else values
    result, refusal = None, None
    try:
        result = target(*arguments)
    except CuteError as error:
        refusal = error
    script = Script()
    try:
        steps_of(script, *values)
    except Stopped:
        pass
    except CuteError as error:
        script.say(f"this cannot go on: {error.condition}")
    except TypeError:
        # The steps compute with operands that the operation refuses to begin with.
        if refusal is None:
            raise
    if refusal is not None and script.steps and script.steps[-1].value is not None:
        script.say(f"the operation does not take this: {refusal.condition}")
    shown = arguments[0] if target is values[0] and len(arguments) == 1 else arguments
    shown = shown if is_tuple(shown) else (shown,)
    title = f"{name}({', '.join(map(_text, shown))})"
    steps = tuple(script.steps)
    asked = refusal is not None and name in _OF_TWO and _are_layouts(values)
    question = (target, *values) if asked else ()
    return Explanation(title, rule, steps, result, refusal, question)


_OF_TWO = {"composition", *(name for name in EXPLAINED if name.endswith(("divide", "product")))}


def _are_layouts(values: tuple[Any, ...]) -> bool:
    """Whether two operands are a plain layout and one, or an integer."""
    return (
        len(values) == 2 and isinstance(values[0], Layout) and isinstance(values[1], (int, Layout))
    )


_OF_ATOMS = (
    *("pycute_xe.atom.", "pycute_xe.cutlass.", "pycute_xe.arch.", "pycute_xe.dialects."),
    "pycute_xe.kernel.",
)


def _explained_atom(given: Any, operands: tuple[Any, ...], named: dict[str, Any]) -> Explanation:
    """What an atom, its tiling or a message does; imported only for these: it takes a while."""
    if type(given).__module__.startswith("pycute_xe.dialects."):
        return _explained_tensor(given, operands, named)
    if type(given).__name__ == "Kernel":
        return _explained_kernel(given, operands, named)
    from pycute_xe.atom import TiledCopy
    from pycute_xe.cutlass import as_atom
    from pycute_xe.explaining.atoms import demand_atom, explain_atom
    from pycute_xe.explaining.choices import explain_copy

    subject = as_atom(given)
    if isinstance(subject, TiledCopy):
        return explain_copy(subject, *operands, **named)
    if type(subject).__module__.startswith("pycute_xe.arch.lsc."):
        return _explained_message(subject, operands, named)
    if len(operands) > 2:
        fix = 'explain(atom, "bmg", "A")'
        count = {"operands": len(operands)}
        raise InputError("explain", count, "an atom takes a target and an operand", fix)
    return explain_atom(demand_atom(subject), *operands, **named)


def _explained_kernel(kernel: Any, operands: tuple[Any, ...], named: dict[str, Any]) -> Explanation:
    """What a kernel does, line by line; imported only for one."""
    from pycute_xe.explaining.kernels import explain_kernel

    if operands or named:
        count = {"operands": len(operands) + len(named)}
        raise InputError("explain", count, "a kernel is explained alone", "explain(kernel)")
    return explain_kernel(kernel)


def _explained_tensor(given: Any, operands: tuple[Any, ...], named: dict[str, Any]) -> Explanation:
    """Who owns what of a tensor, in another project's words; imported only for one."""
    from pycute_xe.dialects import Distributed
    from pycute_xe.explaining.tensors import explain_tensor

    if not isinstance(given, Distributed):
        condition = f"{with_article(type(given).__name__)} is explained with a tensor's shape"
        fix = "explain(dialects.layout_of(encoding, (32, 32)))"
        raise InputError("explain", {"value": given}, condition, fix)
    if operands or named:
        count = {"operands": len(operands) + len(named)}
        raise InputError("explain", count, "a tensor is explained alone", "explain(tensor)")
    return explain_tensor(given)


def _explained_message(
    message: Any, operands: tuple[Any, ...], named: dict[str, Any]
) -> Explanation:
    """What an LSC message does; imported only for one."""
    from pycute_xe.arch.lsc import Block2DMessage, Message
    from pycute_xe.explaining.lsc_messages import explain_lsc

    if not isinstance(message, (Message, Block2DMessage)):
        condition = f"{with_article(type(message).__name__)} cannot be explained alone"
        fix = "explain the message that it belongs to"
        raise InputError("explain", {"value": message}, condition, fix)
    if len(operands) + len(named) > 1 or named.keys() - {"target"}:
        given = {"operands": len(operands) + len(named)}
        raise InputError("explain", given, "a message takes a target", 'explain(message, "bmg")')
    return explain_lsc(message, *operands, **named)


def _operation_named(operation: Any) -> tuple[str, tuple[Explainer, str]]:
    """Return the name of an operation, who tells it, and its rule."""
    if isinstance(operation, (Layout, ComposedLayout)):
        return f"({operation})", _CALL
    name = str(getattr(operation, "__name__", operation))
    home = str(getattr(operation, "__module__", ""))
    if callable(operation) and name in EXPLAINED and home.startswith("pycute_xe."):
        return name, EXPLAINED[name]
    if not isinstance(operation, str) and not callable(operation):
        kind = type(operation).__name__
        fix = "print, check, verify or draw it; explain takes what it is made of: atoms and layouts"
        condition = f"{with_article(kind)} has no steps of its own"
        raise InputError("explain", {"operation": kind}, condition, fix)
    near = get_close_matches(name, EXPLAINED, n=1)
    fix = (
        f"write explain({near[0]}, …), without quotes"
        if near
        else f"explain a layout, or one of {', '.join(EXPLAINED)}"
    )
    condition = f"{quoted(name)} cannot be explained"
    raise InputError("explain", {"operation": name}, condition, fix)


def _bound(
    name: str, operation: Any, operands: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, ...]:
    """Return all operands by place; of a layout's call, the layout first."""
    if isinstance(operation, (Layout, ComposedLayout)):
        if operands and not named and not any(map(has_none, operands)):
            return (operation, *operands)
        condition = "a layout is explained at one coordinate, without None"
        raise InputError("explain", {"layout": operation}, condition, f"({operation})(0)")
    try:
        bound = inspect.signature(operation).bind(*operands, **named)
    except TypeError as error:
        condition = f"the operands do not fit: {error}"
        signature = f"{name}{inspect.signature(operation)}"
        raise InputError("explain", {"operation": name}, condition, signature) from error
    return bound.args if not bound.kwargs else (*bound.args, *bound.kwargs.values())


def _check(name: str, values: tuple[Any, ...]) -> None:
    """Refuse operands that are not layouts, before their modes are asked for."""
    if name == "crd2idx" and has_none(values[0]):
        condition = "a coordinate with None has no offset"
        raise InputError("explain", {"coord": values[0]}, condition, "give every entry")
    if name in ("blocked_product", "raked_product") and not isinstance(values[1], Layout):
        raise _no_layout(name, values[1], "second")
    wanted: tuple[type, ...] = (Layout, ComposedLayout)
    if name == "composition":
        wanted = (*wanted, Swizzle)
    elif name == "complement":
        wanted = (Layout,)
    if name != "crd2idx" and not isinstance(values[0], wanted):
        raise _no_layout(name, values[0], "first")


def _no_layout(name: str, value: object, place: str) -> ShapeError:
    return ShapeError(
        "explain",
        {"operation": name, "operand": value},
        f"the {place} operand is a {type(value).__name__}, not a layout",
        "make_layout(shape, stride)",
    )


def _text(value: Any) -> str:
    if is_tuple(value):
        return f"({', '.join(map(_text, value))}{',' if len(value) == 1 else ''})"
    return "_" if value is None else str(value)
