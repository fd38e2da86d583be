"""What a text is: by its form alone, so that every verb reads the same value."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pycute_xe.errors import CuteError, InputError, quoted
from pycute_xe.naming.kinds import KINDS, names_kind, read_kind
from pycute_xe.signatures import typed
from pycute_xe.typing import read_document

__all__ = ["applied_in", "is_expression", "read_content", "read_file", "read_text"]

OPERATION = "read"
"""The operation of refusals, until a verb is named."""
MOST_CHARACTERS = 1 << 20
"""Characters of a file that is read."""

_DOCUMENT, _SOURCE = (".json",), (".cpp", ".hpp", ".cc", ".h", ".inl", ".txt")
_ARRAY = (".npy", ".npz")
_FILE = re.compile(r"[^\s<>()\[\]{}:;,]*[^\s<>()\[\]{}:;,./]\.[A-Za-z]\w*")
_SPACE = r"\s*(?:typename\s+)?(?:::)?(?:cute::)?"
_CPP = re.compile(
    rf"(?:{_SPACE}(?:TiledMMA|TiledMMAHelper|TiledCopy|MMA_Atom|Copy_Atom|using|"
    rf"Layout|ComposedLayout|Swizzle)\b(?!\s*\())|\s*#\s*(?:include|pragma|define|if)\b|\s*//|"
    rf"\s*(?:template|struct|namespace)\b|.*\bGemmUniversal(?:Adapter)?\s*<|.*;\s*$",
    re.DOTALL,
)
_TENSOR = re.compile(
    r"\s*(?:tensor|vector|!xegpu\.tensor_desc)\s*<\s*([0-9]{1,9}(?:x[0-9]{1,9})*)x[A-Za-z]\w*\s*,"
    r"\s*(#.*)>\s*",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"#[A-Za-z_]\w*[.<]")
_MESSAGE = re.compile(r"\s*(?:\([^()]*\)\s*)?lsc_", re.DOTALL)
_BYTES = re.compile(r"(?:0[xX])?89[0-9a-fA-F\s]{2,}")
_EXPRESSION = re.compile(r"\s*(?:[-(_0-9]|Sw<)|[\s\w]*[(:]", re.DOTALL)
_ATOM = re.compile(r"\s*(?:cute::)?XE", re.IGNORECASE)


@typed
def read_text(text: str, op: Any = None, value_type: Any = None) -> Any:
    """Return what a text names: a kernel, an atom, a message, a tensor, a layout, an operation.

    By its form it is, in this order: a document (``{…``), a message of vISA or its bytes, a
    configuration, a type or a print of C++, a tensor of MLIR (``tensor<8x16xf16, #…>``), a kind of
    kernel with its defaults (``gemm``, ``rms_norm(columns=64)``), an operation of the algebra, the
    name of an atom, a file (``kernel.json``, ``gemm.hpp``), or an expression of the algebra.
    ``op`` and ``value_type`` tell what a print of C++ leaves out; ``value_type`` also types a copy.
    Raises `InputError` for text of no form, naming what it was tried as and the nearest names,
    and what the reader of its form raises.

    >>> read_text("gemm").name, type(read_text("XE_LOAD_2D<16,8,16>")).__name__
    ('gemm', 'Block2DOp')
    >>> print(read_text("(4,8):(8,1)"), read_text("Layout<_8>"))
    (4,8):(8,1) 8:1
    >>> read_text("gem")
    Traceback (most recent call last):
    pycute_xe.errors.InputError: read(text='gem'): the text is not the name of an atom, a kind \
of kernel, an operation, a file or a layout. Way out: did you mean gemm, get, sgmv?
    """
    words = text.strip()
    if words in ("", "-"):
        wrong = "the text is empty" if not words else "only the command line has standard input"
        raise InputError(OPERATION, {"text": quoted(words)}, wrong, "write gemm, XE_… or FILE.json")
    if _is_cpp(words):
        return _of_cpp(text, op, value_type)
    for fits, read in _FORMS:
        if fits(words):
            _demand_plain(words, op)
            return read(words)
    if not is_expression(words):
        return _named_atom(words, op, value_type)
    _demand_plain(words, op, value_type)
    from pycute_xe.expressions import evaluate

    return evaluate(words)


@typed
def read_file(where: str, op: Any = None, value_type: Any = None) -> Any:
    """Return the value of a file: a document, or C++. Raises `InputError` for one that is neither.

    Raises as `read_content` does, and `InputError` for a file that cannot be read.
    """
    if where.lower().endswith(_ARRAY):
        wrong = "the file has an array, which a kernel is run on"
        raise InputError(OPERATION, {"file": where}, wrong, f"write run gemm A={where}")
    try:
        with Path(where).open("rb") as file:
            data = file.read(MOST_CHARACTERS + 1)  # one more than is read, which is refused
    except (OSError, ValueError) as error:
        wrong = getattr(error, "strerror", None) or str(error)
        raise InputError(OPERATION, {"file": where}, wrong, _nearest_file(where)) from error
    return read_content(data, where, op, value_type)


@typed
def read_content(data: bytes, where: str, op: Any = None, value_type: Any = None) -> Any:
    """Return the value of what a file or standard input has: a document, C++ or any other text.

    Raises `InputError` for bytes that are not text, and as `read_text` does.

    >>> print(read_content(b"(4,8):(8,1)", "-"))
    (4,8):(8,1)
    """
    start = data.lstrip()[:1]
    if where.lower().endswith(_SOURCE) and start != b"{":
        return _of_cpp(data.decode("utf-8", "replace"), op, value_type)
    if start == b"{" or where.lower().endswith(_DOCUMENT) or len(data) > MOST_CHARACTERS:
        _demand_untyped(op, value_type)
        return read_document(data)
    try:
        text = data.decode().strip()
    except UnicodeDecodeError:
        return read_document(data)  # which says what is wrong with it
    if "\n" in text and not _is_cpp(text) and not _ATTRIBUTE.match(text):
        wrong = "the file is neither a document nor C++"
        raise InputError(OPERATION, {"file": where}, wrong, "give FILE.json or FILE.hpp")
    return read_text(text, op, value_type)


# ------------------------------------------------------------ forms


@typed
def is_expression(text: str) -> bool:
    """Tell whether a text is read as an expression of the algebra, and as nothing else.

    >>> is_expression("coalesce(4:1)"), is_expression("gemm()"), is_expression("XE_2D_U16x8x16")
    (True, False, False)
    """
    words = text.strip()
    if _is_cpp(words) or any(fits(words) for fits, _ in _FORMS) or _ATOM.match(words):
        return False
    return _EXPRESSION.match(words) is not None


def applied_in(text: object) -> tuple[Any, tuple[Any, ...]] | None:
    """Return the outermost operation of an expression and its operands; None for other values.

    A value that is written by its class, as a composed layout is, is not an operation.

    >>> applied_in("size(4:1)")[1], applied_in("4:1"), applied_in("Layout(4,1)")
    ((Layout(4, 1),), None, None)
    """
    if not isinstance(text, str) or not is_expression(text):
        return None
    from pycute_xe.expressions import ExpressionError, outermost

    try:
        applied = outermost(text)
    except ExpressionError:
        return None  # a layout by itself, or what is refused as text
    return None if isinstance(applied[0], type) else applied


def _is_cpp(text: str) -> bool:
    return _CPP.match(text) is not None and not text.startswith("{")


def _of_cpp(text: str, op: Any, value_type: Any) -> Any:
    from pycute_xe.cutlass import from_cute
    from pycute_xe.cutlass.configuration import CutlassType
    from pycute_xe.cutlass.reading_blocks import kernel_in

    kernel = kernel_in(text) if op is None and value_type is None else None
    value = kernel or from_cute(text, op=op, value_type=value_type)
    if not isinstance(value, CutlassType):
        return value
    from pycute_xe.kernel import from_cutlass

    return from_cutlass(value)


def _read_message(text: str) -> Any:
    from pycute_xe.arch import lsc

    digits = re.sub(r"\s", "", text).removeprefix("0x").removeprefix("0X")
    if _BYTES.fullmatch(text) and len(digits) % 2 == 0:
        return lsc.decode(bytes.fromhex(digits))
    return lsc.parse(text)


def _read_dpas(text: str) -> Any:
    from pycute_xe.arch import dpas

    return dpas.parse(text)


def _read_tensor(text: str) -> Any:
    from pycute_xe.dialects import layout_of

    match = _TENSOR.fullmatch(text)
    if match is None:
        wrong = "a layout of Triton or XeGPU is of a tensor, whose shape is missing"
        example = f"write tensor<32x32xf16, {text[:60]}>"
        raise InputError(OPERATION, {"text": quoted(text)}, wrong, example)
    return layout_of(match[2], tuple(map(int, match[1].split("x"))))


def _read_operation(text: str) -> Any:
    from pycute_xe.expressions import OPERATIONS

    return OPERATIONS[text].function


def _is_operation(text: str) -> bool:
    if not text.isidentifier() or not text.islower():
        return False  # classes are called, and not asked about
    from pycute_xe.expressions import OPERATIONS

    return text in OPERATIONS


def _is_file(text: str) -> bool:
    return _FILE.fullmatch(text) is not None and _ATOM.match(text) is None


_FORMS: tuple[tuple[Callable[[str], bool], Callable[[str], Any]], ...] = (
    (lambda text: text.startswith("{"), lambda text: read_document(text)),
    (lambda text: bool(_MESSAGE.match(text) or _BYTES.fullmatch(text)), _read_message),
    (lambda text: text.startswith("dpas"), _read_dpas),
    (
        lambda text: bool(_ATTRIBUTE.match(text)) or _TENSOR.fullmatch(text) is not None,
        _read_tensor,
    ),
    (names_kind, read_kind),
    (_is_operation, _read_operation),
)
"""Forms that say themselves what they are, and who reads them."""


def _demand_plain(text: str, op: Any, value_type: Any = None) -> None:
    if op is not None:
        wrong = f"{quoted(text)} is not a pasted print"
        raise InputError(OPERATION, {"op": op}, wrong, "leave op out")
    if value_type is not None:
        wrong = f"{quoted(text)} is not a copy, whose values have a type"
        raise InputError(OPERATION, {"type": value_type}, wrong, "leave the type out")


def _demand_untyped(op: Any, value_type: Any) -> None:
    if op is not None or value_type is not None:
        option, given = ("op", op) if op is not None else ("type", value_type)
        condition = "a document says its operation and its types"
        raise InputError(OPERATION, {option: given}, condition, f"leave {option} out")


# ------------------------------------------------------------ names


def _named_atom(text: str, op: Any, value_type: Any) -> Any:
    """Return the operation or the atom of a name, or what a file of that name has."""
    from pycute_xe.cutlass import get_atom
    from pycute_xe.cutlass.known_names import parse_template_name

    if _is_file(text) or (_ATOM.match(text) is None and _exists(text)):
        return read_file(text, op, value_type)
    _demand_plain(text, op)
    if value_type is None and (operation := parse_template_name(text)) is not None:
        return operation
    try:
        return get_atom(text, value_type)
    except CuteError as error:
        if _ATOM.match(text) or type(error) is not CuteError:
            raise
        raise _unknown(text) from error


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except (OSError, ValueError):
        return False


def _unknown(text: str) -> InputError:
    """Return the refusal of a text of no form, with the nearest names of every form."""
    from pycute_xe.arch.target import is_target
    from pycute_xe.atom.spelling import nearest_spelling
    from pycute_xe.cutlass.known_names import catalogue
    from pycute_xe.expressions import OPERATIONS

    given = {"text": quoted(text)}
    if is_target(text):
        wrong = f"{text} is a target, which is asked about a value"
        return InputError(OPERATION, given, wrong, f'write check("gemm", "{text}")')
    tried = "the name of an atom, a kind of kernel, an operation, a file or a layout"
    known = (*KINDS, *filter(str.islower, OPERATIONS))
    near = nearest_spelling(text, known) or nearest_spelling(text, catalogue())
    fix = (
        f"did you mean {', '.join(near)}?" if near else "write gemm, XE_…, FILE.json or (4,8):(8,1)"
    )
    return InputError(OPERATION, given, f"the text is not {tried}", fix)


def _nearest_file(where: str) -> str:
    from difflib import get_close_matches

    folder = Path(where).parent
    try:
        if Path(where).is_dir():
            return "name a file in it"
        names = [one.name for one in folder.iterdir()] if folder.is_dir() else []
    except OSError:
        names = []
    near = get_close_matches(Path(where).name, names, 1)
    return f"did you mean {folder / near[0]}?" if near else "name a file, a kind or an atom"
