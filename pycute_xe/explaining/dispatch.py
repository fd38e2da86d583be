"""Floor 9: `explain`, the verb."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from pycute_xe.algebra import inverse
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import CuteError, InputError, ShapeError, quoted
from pycute_xe.explaining.dividing import (
    tell_flat_divide,
    tell_logical_divide,
    tell_tiled_divide,
    tell_zipped_divide,
)
from pycute_xe.explaining.explanation import Explanation
from pycute_xe.explaining.indexing import tell_call, tell_crd2idx
from pycute_xe.explaining.inverting import (
    tell_complement,
    tell_left_inverse,
    tell_right_inverse,
)
from pycute_xe.explaining.multiplying import (
    tell_blocked_product,
    tell_flat_product,
    tell_logical_product,
    tell_raked_product,
    tell_tiled_product,
    tell_zipped_product,
)
from pycute_xe.explaining.script import Script, Stopped
from pycute_xe.explaining.simplifying import tell_coalesce
from pycute_xe.explaining.swizzling import beneath, tell_any_composition, through_inverse
from pycute_xe.layout import Layout
from pycute_xe.signatures import typed
from pycute_xe.swizzle import Swizzle
from pycute_xe.typing import is_tuple

if TYPE_CHECKING:
    from pycute_xe.arch.lsc import Block2DMessage, Message
    from pycute_xe.atom import TiledCopy
    from pycute_xe.explaining.atoms import Atom

__all__ = ["EXPLAINED", "explain"]

Teller = Callable[..., Any]

_DIVIDE = "The tile picks elements of A; its complement picks where the tiles begin."
_PRODUCT = "The complement of the block holds the places for copies; the tiler picks among them."

EXPLAINED: dict[str, tuple[Teller, str]] = {
    "coalesce": (
        beneath(tell_coalesce),
        "A mode joins the one before it where it goes on from its end; extent 1 drops out.",
    ),
    "composition": (
        tell_any_composition,
        "R(c) = A(B(c)): each mode of B walks over the modes of A with its stride.",
    ),
    "complement": (
        tell_complement,
        "What lies free between the steps of each mode, and above the last, up to the cotarget.",
    ),
    "right_inverse": (
        through_inverse(tell_right_inverse, inverse.right_inverse),
        "L(R(i)) = i: follow the strides 1, 2, … as far as they join without a gap.",
    ),
    "left_inverse": (
        through_inverse(tell_left_inverse, inverse.left_inverse),
        "R(L(i)) = i: each stride gives back the part of the index that it carries.",
    ),
    "logical_divide": (beneath(tell_logical_divide), _DIVIDE),
    "zipped_divide": (beneath(tell_zipped_divide), _DIVIDE),
    "tiled_divide": (beneath(tell_tiled_divide), _DIVIDE),
    "flat_divide": (beneath(tell_flat_divide), _DIVIDE),
    "logical_product": (beneath(tell_logical_product), _PRODUCT),
    "zipped_product": (beneath(tell_zipped_product), _PRODUCT),
    "tiled_product": (beneath(tell_tiled_product), _PRODUCT),
    "flat_product": (beneath(tell_flat_product), _PRODUCT),
    "blocked_product": (beneath(tell_blocked_product), _PRODUCT),
    "raked_product": (beneath(tell_raked_product), _PRODUCT),
    "crd2idx": (tell_crd2idx, "The coordinate of each leaf times its stride, summed."),
}
"""What can be explained: by the name of the operation, who tells it, and its rule in a sentence."""

_CALL = (tell_call, "The coordinate of each leaf times its stride, summed.")


@typed
def explain(
    operation: Callable[..., Any] | Atom | Message | Block2DMessage | TiledCopy,
    *operands: Any,
    **named: Any,
) -> Explanation:
    """Return the steps by which an operation comes to its result on these operands.

    ``operation`` is one of the functions of the algebra in `EXPLAINED`, or a layout, whose call is
    then explained, or an atom, see `explain_atom`, or an LSC message with a target, or a tiled copy
    with its tiled MMA and operand, see `explain_copy`.
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
    if type(operation).__module__ == "pycute_xe.atom.tiled_copy":
        from pycute_xe.explaining.telling_choices import explain_copy

        return explain_copy(operation, *operands, **named)  # pyright: ignore[reportArgumentType]
    if type(operation).__module__.startswith(("pycute_xe.atom.", "pycute_xe.cutlass.")):
        # Imported only for an atom: it takes a while.
        from pycute_xe.explaining.atoms import as_atom, explain_atom

        if len(operands) > 2:
            fix = 'explain(atom, "bmg", "A")'
            given = {"operands": len(operands)}
            raise InputError("explain", given, "an atom takes a target and an operand", fix)
        return explain_atom(as_atom(operation), *operands, **named)
    if type(operation).__module__.startswith("pycute_xe.arch.lsc."):
        return _explained_message(operation, operands, named)
    name, (tell, rule) = _found(operation)
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
        tell(script, *values)
    except Stopped:
        pass
    except CuteError as error:
        script.say(f"this cannot go on: {error.condition}")
    except TypeError:
        # The steps compute with operands that the operation refuses to begin with.
        if refusal is None:
            raise
    shown = arguments[0] if target is values[0] and len(arguments) == 1 else arguments
    shown = shown if is_tuple(shown) else (shown,)
    title = f"{name}({', '.join(map(_text, shown))})"
    return Explanation(title, rule, tuple(script.steps), result, refusal=refusal)


def _explained_message(
    message: Any, operands: tuple[Any, ...], named: dict[str, Any]
) -> Explanation:
    """What an LSC message does; imported only for one."""
    from pycute_xe.arch.lsc import Block2DMessage, Message
    from pycute_xe.explaining.telling_lsc import explain_lsc

    if not isinstance(message, (Message, Block2DMessage)):
        condition = f"a {type(message).__name__} cannot be explained alone"
        fix = "explain the message that it belongs to"
        raise InputError("explain", {"value": message}, condition, fix)
    if len(operands) + len(named) > 1 or named.keys() - {"target"}:
        given = {"operands": len(operands) + len(named)}
        raise InputError("explain", given, "a message takes a target", 'explain(message, "bmg")')
    return explain_lsc(message, *operands, **named)


def _found(operation: Any) -> tuple[str, tuple[Teller, str]]:
    """Return the name of an operation, who tells it, and its rule."""
    if isinstance(operation, (Layout, ComposedLayout)):
        return f"({operation})", _CALL
    name = str(getattr(operation, "__name__", operation))
    home = str(getattr(operation, "__module__", ""))
    if callable(operation) and name in EXPLAINED and home.startswith("pycute_xe."):
        return name, EXPLAINED[name]
    near = get_close_matches(name, EXPLAINED, n=1)
    fix = f"try {near[0]}" if near else f"explain a layout, or one of {', '.join(EXPLAINED)}"
    condition = f"{name} cannot be explained"
    if name.startswith("lsc_"):
        condition, fix = "text cannot be explained, the message can", "explain(lsc.parse(text))"
    elif isinstance(operation, str) and not near:
        condition, fix = (
            "a name cannot be explained, the atom of that name can",
            f"give the atom: explain(get_atom({quoted(operation)}))",
        )
    raise InputError("explain", {"operation": name}, condition, fix)


def _bound(
    name: str, operation: Any, operands: tuple[Any, ...], named: dict[str, Any]
) -> tuple[Any, ...]:
    """Return all operands by place; of a layout's call, the layout first."""
    if isinstance(operation, (Layout, ComposedLayout)):
        if operands and not named and not any(map(_has_none, operands)):
            return (operation, *operands)
        condition = "a layout is explained at one coordinate, without None"
        raise InputError("explain", {"layout": operation}, condition, "explain(L, (1, 2))")
    try:
        bound = inspect.signature(operation).bind(*operands, **named)
    except TypeError as error:
        condition = f"the operands do not fit: {error}"
        signature = f"{name}{inspect.signature(operation)}"
        raise InputError("explain", {"operation": name}, condition, signature) from error
    return bound.args if not bound.kwargs else (*bound.args, *bound.kwargs.values())


def _has_none(value: Any) -> bool:
    return any(map(_has_none, value)) if is_tuple(value) else value is None


def _check(name: str, values: tuple[Any, ...]) -> None:
    """Refuse operands that are not layouts, before their modes are asked for."""
    if name == "crd2idx" and _has_none(values[0]):
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
