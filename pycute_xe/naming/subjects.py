"""What each verb takes, and the one function that reads a text for all of them."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any, cast

from pycute_xe.errors import InputError, quoted, with_article
from pycute_xe.naming.texts import OPERATION, read_file, read_text
from pycute_xe.signatures import shortly, typed

if TYPE_CHECKING:
    from pycute_xe.kernel import Kernel

__all__ = [
    "TAKES",
    "Named",
    "called",
    "kernel_of",
    "kind_of",
    "named_subject",
    "subject_of",
    "takes",
]

Named = str | PathLike[str]
"""How a value is named: by text, or by the path of a file."""

_KINDS: dict[str, str] = {
    "Kernel": "kernel",
    "TiledMma": "tiled MMA",
    "TiledCopy": "tiled copy",
    **dict.fromkeys(("MmaAtom", "Dpas"), "MMA"),
    **dict.fromkeys(("CopyAnswers", "Block2DOp", "LinearOp", "LegacyCopyName"), "copy"),
    **dict.fromkeys(("Message", "Block2DMessage", "Block2D"), "LSC message"),
    "DpasMessage": "DPAS message",
    **dict.fromkeys(("Layout", "ComposedLayout", "F2Layout"), "layout"),
    "Swizzle": "swizzle",
    "Distributed": "tensor",
}
"""What values of a class are called, by the name of the class: none of them is imported for it."""

_WORDS = {*_KINDS.values(), "operation", "integer", "tuple"}
_HOME = "pycute_xe."
_ATOMS = ("MMA", "copy")
_TILED = ("tiled MMA", "tiled copy")
TAKES: dict[str, tuple[str, ...]] = {
    "atom": (*_ATOMS, *_TILED),
    "calibrate": ("kernel",),
    "check": ("kernel", *_TILED, *_ATOMS, "LSC message", "DPAS message"),
    "compare": ("kernel",),
    "compile": ("kernel",),
    "cost": ("kernel",),
    "diff": ("kernel", *_TILED, *_ATOMS, "layout", "tensor"),
    "draw": ("kernel", *_TILED, *_ATOMS, "LSC message", "layout", "tensor"),
    "element_at": (*_ATOMS, *_TILED),
    "emit": ("kernel",),
    "explain": ("kernel", "tiled copy", *_ATOMS, "LSC message", "layout", "tensor", "operation"),
    "feeds": (*_ATOMS, "tensor"),
    "layout": ("layout", "swizzle", "tensor", "basis", "integer", "tuple"),
    "lsc": ("LSC message",),
    "needed_assumptions": ("kernel",),
    "owner": (*_ATOMS, *_TILED),
    "run": ("kernel", "tiled copy", "copy"),
    "verify": ("kernel", *_TILED, *_ATOMS, "tensor"),
}
"""What a verb takes, of the values that a text can name."""

_WRITTEN = {
    "kernel": "gemm, kernel.json or kernel.hpp",
    "tiled MMA": "a document of one",
    "tiled copy": "a document of one",
    "MMA": "XE_DPAS_TT<8,f32,bf16>",
    "copy": "XE_2D_U16x32x16_LD_V",
    "LSC message": "'lsc_load.ugm (M1,16) V13:d32 flat[V12]:a64'",
    "DPAS message": "'dpas.bf.bf.8.8 (M1,16) V1.0 V1.0 V2.0 V3(0,0)'",
    "layout": "'(4,8):(8,1)'",
    "swizzle": "'Sw<3,3,3>'",
    "tensor": "'tensor<8x16xf16, #xegpu.layout<…>>'",
    "operation": "'coalesce((4,8):(1,4))'",
}
"""How a value of a kind is written."""


def kind_of(value: object) -> str:
    """Return what a value is called, as a kernel or a layout; the name of any other class.

    >>> from pycute_xe.layout import Layout
    >>> kind_of(Layout(4)), kind_of((4, 8)), kind_of(len), kind_of(2.5)
    ('layout', 'tuple', 'operation', 'float')
    """
    if isinstance(value, (FunctionType, BuiltinFunctionType)):
        return "operation"
    for kind in cast("type[Any]", type(value)).__mro__:
        if kind.__module__.startswith(_HOME) and kind.__name__ in _KINDS:
            return _KINDS[kind.__name__]
    named = {int: "integer", tuple: "tuple"}
    return named.get(cast("type[Any]", type(value)), type(value).__name__)


@typed
def called(kind: str) -> str:
    """Return the word of a kind with its article.

    >>> called("MMA"), called("kernel"), called("integer")
    ('an MMA', 'a kernel', 'an integer')
    """
    return f"an {kind}" if kind.startswith(("MMA", "LSC")) else with_article(kind)


@typed
def takes(verb: str) -> str:
    """Return what a verb takes, in words.

    >>> takes("run")
    'a kernel, a tiled copy or a copy'
    """
    words = list(map(called, _taken_by(verb)))
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


@typed
def subject_of(verb: str, given: Any) -> Any:
    """Return what a verb is asked about: what a text or a path names, any other value as it is.

    Law: the value of a text does not depend on the verb; only whether it is taken does. Raises
    `InputError` for text of a kind that the verb does not take, with those that it takes, and as
    `read_text` does.

    >>> print(subject_of("draw", "coalesce((4,8):(1,4))"))
    32:1
    >>> subject_of("cost", "(4,8):(8,1)")
    Traceback (most recent call last):
    pycute_xe.errors.InputError: cost(subject='(4,8):(8,1)'): the subject is a layout; cost takes \
a kernel. Way out: write gemm, kernel.json or kernel.hpp; or ask diff, draw, explain or layout
    """
    if isinstance(given, str):
        return named_subject(verb, given, lambda: read_text(given))
    if isinstance(given, PathLike):
        path = fspath(cast("PathLike[str]", given))
        return named_subject(verb, path, lambda: read_file(path))
    return given  # which the verb itself judges


@typed
def named_subject(verb: str, given: str, read: Callable[[], Any]) -> Any:
    """Return what ``read`` makes of a text, where a verb takes values of its kind.

    Raises as `subject_of` does.
    """
    try:
        value = read()
    except InputError as error:
        if error.operation != OPERATION:
            raise
        operands = {"subject": quoted(given), **error.operands}
        operands.pop("text", None)
        raise InputError(verb, operands, error.condition, error.fix) from error
    kind = kind_of(value)
    # Values of classes without a word are known to some verbs alone, which judge them.
    if kind in _WORDS and kind not in _taken_by(verb):
        raise _not_taken(verb, given, kind)
    return value


@typed
def kernel_of(verb: str, given: Any) -> Kernel:
    """Return the kernel that a verb is asked about, which takes nothing else.

    Raises `InputError` for other values, and as `subject_of` does.

    >>> kernel_of("cost", "gemm").name
    'gemm'
    """
    _taken_by(verb)
    value = subject_of(verb, given)
    if kind_of(value) != "kernel":
        raise _not_taken(verb, given, kind_of(value))
    return value


def _taken_by(verb: str) -> tuple[str, ...]:
    if verb not in TAKES:
        wrong = f"unknown verb {quoted(verb)}"
        raise InputError("takes", {"verb": shortly(verb)}, wrong, f"use {', '.join(TAKES)}")
    return TAKES[verb]


def _not_taken(verb: str, given: Any, kind: str) -> InputError:
    is_named = isinstance(given, (str, PathLike))
    shown = quoted(cast("object", given)) if is_named else kind
    wrong = f"the subject is {called(kind)}; {verb} takes {takes(verb)}"
    first = _taken_by(verb)[0]
    others = [other for other, kinds in TAKES.items() if kind in kinds]
    listed = " or ".join(filter(None, (", ".join(others[:-1]), *others[-1:])))
    fix = f"write {_WRITTEN[first]}{'; or ask ' if others else ''}{listed}"
    return InputError(verb, {"subject": shown}, wrong, fix)
