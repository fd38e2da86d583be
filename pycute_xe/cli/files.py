"""What commands take and give: documents, C++ text, and arrays in ``.npy`` and ``.npz`` files."""

from __future__ import annotations

import io
import json
import lzma
import os
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from math import prod
from pathlib import Path
from textwrap import shorten
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Literal, TypeVar, cast

import click

from pycute_xe.errors import InputError, quoted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "demand_folder",
    "demand_writable",
    "figures_option",
    "is_same_file",
    "read_array",
    "read_matrix",
    "write_array",
    "json_text",
    "picked",
    "report",
    "saved_drawing",
    "svg_option",
    "read_document",
    "read_value",
    "save_option",
    "saved_document",
    "Extents",
    "Order",
    "tiling",
]

# ------------------------------------------------------------ options
# Options that commands share, and option values with a form of their own.

Order = Literal["row", "col"]
Command = TypeVar("Command", bound=Callable[..., Any])


class Extents(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """Positive integers joined by ``x``, such as 256x256x32, as a tuple.

    >>> Extents("M", "N", "K").convert("256x256x32", None, None)
    (256, 256, 32)
    """

    def __init__(self, *names: str) -> None:
        """Name the extents, which says how many there are."""
        self.names = names
        self.name = "x".join(names)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        """Read the text."""
        if isinstance(value, tuple):
            return cast("tuple[int, ...]", value)
        parts = str(value).lower().split("x")
        if len(parts) != len(self.names) or not all(re.fullmatch("[0-9]{1,9}", p) for p in parts):
            usual = "256x256x32" if len(self.names) == 3 else "8x4"
            self.fail(
                f"{quoted(value)} is not of the form {self.name}, such as {usual}", param, ctx
            )
        if "0" in {part.lstrip("0") or "0" for part in parts}:
            self.fail(f"{quoted(value)}: extents must be positive", param, ctx)
        return tuple(map(int, parts))


def tiling(command: Command) -> Command:
    """Return a command with the options that say how a GEMM is stored and cut.

    They are ``a`` and ``b`` (`Order`), ``tile`` and ``subgroups``, in this order.
    """
    orders = click.Choice(["row", "col"])
    options = (
        click.option("--a", type=orders, default="row", help="Storage order of A."),
        click.option("--b", type=orders, default="row", help="Storage order of B."),
        click.option(
            "--tile",
            type=Extents("M", "N", "K"),
            metavar="MxNxK",
            default="256x256x32",
            show_default=True,
            help="Elements that a work-group multiplies at a time.",
        ),
        click.option(
            "--subgroups",
            type=Extents("M", "N"),
            metavar="MxN",
            default="8x4",
            show_default=True,
            help="Subgroups of a work-group.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def svg_option(*short: str) -> Callable[[Command], Command]:
    """Return the option that names the file of a drawing."""
    file = click.Path(path_type=Path, dir_okay=False)
    return click.option(
        *short,
        "--svg",
        type=file,
        metavar="FILE",
        help="Write the drawing as SVG, or PNG by its name.",
    )


def figures_option() -> Callable[[Command], Command]:
    """Return the option that names a file of one's own figures."""
    file = click.Path(path_type=Path)
    words = "Figures of one's own: what calibrate --write wrote."
    return click.option("--figures", type=file, metavar="FILE", help=words)


def report(outcome: Any, as_json: bool, *how: Any) -> None:
    """Print an outcome, as JSON or as it shows itself."""
    if as_json:
        click.echo(outcome.to_json())
    else:
        outcome.show(*how)


# ------------------------------------------------------------ values
# Arguments that are documents, or C++ text or files: types, prints of CuTe, configurations.

_DOCUMENT = re.compile(r".*\.json", re.IGNORECASE)
_SOURCE = re.compile(r".*\.(?:cpp|hpp|cc|h|inl|txt)", re.IGNORECASE)
_SPACE = r"\s*(?:typename\s+)?(?:::)?(?:cute::)?"
_HEADS = {
    "atom": "TiledMMA|TiledMMAHelper|TiledCopy|MMA_Atom|Copy_Atom|using",
    "layout": "Layout|ComposedLayout|Swizzle",
}


def read_value(text: str, kind: str, op: str | None = None, value_type: str | None = None) -> Any:
    """Return the value of a file (see `read_document`), or of C++ text; ``None`` for other texts.

    ``kind`` is "atom" (tilings too) or "layout". Raises as `read_document` and `from_cute` do.

    >>> print(read_value("Layout<_8>", "layout"), read_value("(4,8):(8,1)", "layout"))
    8:1 None
    """
    if text == "-" or _DOCUMENT.fullmatch(text) or _SOURCE.fullmatch(text):
        return read_document(text, op, value_type)
    if re.fullmatch(r"[\w./-]+\.[A-Za-z]\w*", text):
        wrong = f"{text} is the name of a file, and not of a document"
        way_out = "give FILE.json, FILE.hpp or a name such as XE_…"
        raise InputError("read", {"file": text}, wrong, way_out)
    if re.match(rf"{_SPACE}(?:{_HEADS[kind]})\b(?!\()", text) is None:
        return None
    return _of_cpp(text, op, value_type)


def read_document(where: str, op: str | None = None, value_type: str | None = None) -> Any:
    """Return the value of a document in a file, or of one on standard input where it is -.

    A file of C++ (.hpp, .cpp, .txt) holds a type, what CuTe prints, or a configuration of CUTLASS,
    which is its kernel. Raises `InputError` as `from_json`, `from_cute` and `from_cutlass` do,
    `OSError` for a file that cannot be read.
    """
    from pycute_xe.files import MOST_CHARACTERS, from_json

    with click.open_file(where, "rb") as file:
        data = file.read(MOST_CHARACTERS + 1)  # one more than is read, which is refused
    if _SOURCE.fullmatch(where):
        return _of_cpp(data.decode("utf-8", "replace"), op, value_type)
    if op is not None or value_type is not None:
        option, given = ("op", op) if op is not None else ("type", value_type)
        condition = "a document says its operation and its types"
        raise InputError("read", {option: given}, condition, f"leave --{option} out")
    return from_json(data)


def _of_cpp(text: str, op: str | None, value_type: str | None) -> Any:
    from pycute_xe.cutlass import from_cute
    from pycute_xe.cutlass.configuration import CutlassType
    from pycute_xe.cutlass.reading_values import kernel_in

    kernel = kernel_in(text) if op is None and value_type is None else None
    value = kernel or from_cute(text, op=op, value_type=value_type)
    if not isinstance(value, CutlassType):
        return value
    from pycute_xe.kernel import from_cutlass

    return from_cutlass(value)


def save_option(command: Command) -> Command:
    """Return a command with the option that names the file of a document."""
    text = "Write what was built as a document; - is standard output, and nothing else goes there."
    return click.option("--save", metavar="FILE", help=text)(command)


def saved_document(where: str | None, value: Any) -> bool:
    """Write a document where that is asked for; whether it went to standard output."""
    if where is None:
        return False
    from pycute_xe.drawing.saving import write_files
    from pycute_xe.files import to_json

    text = to_json(value) + "\n"
    if where == "-":
        click.echo(text, nl=False)
        return True
    demand_folder("write", Path(where), "save")
    write_files({Path(where): text.encode()})
    return False


# ------------------------------------------------------------ json text
# JSON that people can read too.


def picked(value: Any, *names: str) -> dict[str, Any]:
    """Return some attributes of a value by their names."""
    return {name: getattr(value, name) for name in names}


def json_text(value: Any, indent: str = "") -> str:
    """Return JSON of two spaces a level, with lists of numbers or of places on one line each.

    >>> print(json_text({"owners": [[[0, 1], [2, 3]], [[4, 5]]], "notes": []}))
    {
      "owners": [
        [[0, 1], [2, 3]],
        [[4, 5]]
      ],
      "notes": []
    }
    """
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        pairs = cast("dict[str, Any]", value).items()
        parts = [f"{json.dumps(str(key))}: {json_text(item, deeper)}" for key, item in pairs]
        opening, closing = "{}"
    elif isinstance(value, list | tuple) and _height(value) > 2:
        parts = [json_text(item, deeper) for item in cast("list[Any]", value)]
        opening, closing = "[]"
    else:
        return json.dumps(value)
    lines = ",\n".join(f"{deeper}{part}" for part in parts)
    return f"{opening}\n{lines}\n{indent}{closing}"


def _height(value: Any) -> int:
    """How deep lists lie in lists; a dictionary is deeper than what fits a line."""
    if isinstance(value, dict):
        return 3
    if not isinstance(value, list | tuple):
        return 0
    return 1 + max(map(_height, cast("list[Any]", value)), default=0)


# ------------------------------------------------------------ files

MOST_UNPACKED = 1 << 32
"""Bytes that an array of an archive may unpack to; a file of its own may be larger."""
REWRITE = "write it again with numpy.save or numpy.savez"
_BAD_HEADER = (
    *(ValueError, TypeError, LookupError, SyntaxError, TokenError, AttributeError),
    *(ArithmeticError, EOFError, RecursionError, NotImplementedError),
)
_BAD_ARCHIVE = (
    *(
        zipfile.BadZipFile,
        zlib.error,
        lzma.LZMAError,
        struct.error,
        OSError,
        RuntimeError,
        MemoryError,
    ),
    *_BAD_HEADER,
)
NPY_MAGIC = b"\x93NUMPY"
ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")


def read_matrix(operand: str, where: str) -> NDArray[Any]:
    """Return the matrix in a file, as `read_array` does; `InputError` for another rank."""
    array = read_array(operand, where)
    if array.ndim != 2:
        raise _refused(
            operand,
            where,
            f"its shape is {array.shape}: {array.ndim} dimensions, a matrix has 2",
            "reshape it",
        )
    return array


def read_array(operand: str, where: str) -> NDArray[Any]:
    """Return the array in a file: ``a.npy``, ``b.npz`` with one array, or ``b.npz:name``.

    Records of two raw bytes are bfloat16, as NumPy stores ml_dtypes' arrays. Nothing is ever
    unpickled. Raises `InputError` for anything but an array of numbers, naming the file, and
    `OSError` for a file that cannot be read.
    """
    path, name = _split(where)
    file = _opened(path)
    with file:
        start = file.read(6)
        file.seek(0)
        if start[:4] in ZIP_MAGICS:
            array = _from_npz(file, operand, path, name)
        elif start == NPY_MAGIC:
            if name is not None:
                raise _refused(operand, where, "a .npy file has no names", "leave the name out")
            array = _from_npy(file, operand, where)
        else:
            raise _refused(operand, where, "not an .npy or .npz file", "write it with numpy.save")
    return _as_numbers(array, operand, where)


def _split(where: str) -> tuple[Path, str | None]:
    """Take the array's name off ``file.npz:name``; a file that has the whole name wins."""
    path, colon, name = where.rpartition(":")
    if colon and path.lower().endswith(".npz") and not Path(where).exists():
        return Path(path), name
    return Path(where), None


def _opened(path: Path) -> BinaryIO:
    if path.exists() and not path.is_file() and not path.is_dir():
        # Pipes cannot be rewound, and NumPy needs to.
        return io.BytesIO(path.read_bytes())
    return path.open("rb")


def _from_npz(file: BinaryIO, operand: str, path: Path, name: str | None) -> NDArray[Any]:
    try:
        with zipfile.ZipFile(file) as archive:
            names = [n.removesuffix(".npy") for n in archive.namelist() if n.endswith(".npy")]
            chosen = _choose(names, operand, path, name)
            with archive.open(f"{chosen}.npy") as member:
                return _unpacked(member, operand, f"{path}:{chosen}")
    except InputError:
        raise
    except _BAD_ARCHIVE as error:
        raise _refused(operand, path, f"not a readable .npz file: {error}", REWRITE) from error


def _unpacked(member: IO[bytes], operand: str, where: str) -> NDArray[Any]:
    """Unpack as much of a member as its header declares, after asking how much that is."""
    import numpy as np

    shape, fortran_order, dtype, promised = _header(member, operand, where)
    if promised > MOST_UNPACKED:
        condition = f"it unpacks to {promised:,} bytes, more than {MOST_UNPACKED:,}"
        raise _refused(operand, where, condition, "save the array alone, with numpy.save")
    data = bytearray(member.read(promised))
    if len(data) < promised:
        raise _cut_short(operand, where, promised, len(data))
    if member.read(1):
        condition = f"it unpacks to more than the {promised:,} bytes that its header declares"
        raise _refused(operand, where, condition, REWRITE)
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran_order else "C")


def _choose(names: list[str], operand: str, path: Path, name: str | None) -> str:
    listed = ", ".join(names) or "none"
    if name is None:
        if len(names) == 1:
            return names[0]
        raise _refused(
            operand,
            path,
            f"it holds {len(names)} arrays: {listed}",
            f"name one, such as {path}:{names[0]}" if names else "write it with numpy.savez",
        )
    if name not in names:
        raise _refused(operand, path, f"the archive has no array {name!r}", f"one of {listed}")
    return name


def _from_npy(file: BinaryIO, operand: str, where: object) -> NDArray[Any]:
    import numpy as np

    promised = _header(file, operand, where)[-1]
    start = file.tell()
    present = file.seek(0, os.SEEK_END) - start
    if present < promised:  # refused before room is made for what is missing
        raise _cut_short(operand, where, promised, present)
    file.seek(0)
    try:
        return np.lib.format.read_array(file, allow_pickle=False)
    except ValueError as error:  # such as more dimensions than arrays may have
        raise _refused(operand, where, f"NumPy cannot hold it: {error}", REWRITE) from error


def _header(
    file: IO[bytes], operand: str, where: object
) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Read a header: shape, order, type, and the bytes of data that it promises."""
    import numpy as np

    fmt = np.lib.format
    try:
        with warnings.catch_warnings():
            # What NumPy says of headers of old is nothing that a user could act on.
            warnings.simplefilter("ignore")
            version = fmt.read_magic(file)
            read = fmt.read_array_header_1_0 if version == (1, 0) else fmt.read_array_header_2_0
            shape, fortran_order, dtype = read(file)
    except _BAD_HEADER as error:
        raise _refused(operand, where, f"not a readable .npy file: {error}", REWRITE) from error
    if dtype.hasobject:
        condition = "it holds Python objects, which would have to be unpickled"
        raise _refused(operand, where, condition, "save an array of numbers")
    if any(extent < 0 for extent in shape):
        raise _refused(operand, where, f"its shape is {shape}: extents must be 0 or more", REWRITE)
    return shape, fortran_order, dtype, prod((dtype.itemsize, *shape))


def _cut_short(operand: str, where: object, promised: int, present: int) -> InputError:
    condition = f"cut short: its header declares {promised:,} bytes of data, it holds {present:,}"
    return _refused(operand, where, condition, REWRITE)


def _as_numbers(array: NDArray[Any], operand: str, where: str) -> NDArray[Any]:
    import ml_dtypes

    if array.dtype.kind == "V" and array.dtype.itemsize == 2 and array.dtype.names is None:
        array = array.view(ml_dtypes.bfloat16)
    if array.dtype.kind not in "fiub" and array.dtype.name != "bfloat16":
        raise _refused(
            operand, where, f"it holds {array.dtype}, not real numbers", "save an array of numbers"
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def _refused(operand: str, where: object, condition: str, fix: str) -> InputError:
    """Return the refusal in one line, whatever a damaged file makes others say of it."""
    line = " ".join("".join(c if c.isprintable() else " " for c in condition).split())
    return InputError("gemm", {operand: where}, shorten(line, 200, placeholder=" …"), fix)


def demand_writable(path: Path) -> None:
    """Raise `InputError` where a result could not be written, before any work is done."""
    parent = path.resolve().parent
    problem, fix = "", "name a file ending in .npy"
    if path.is_dir():
        problem = "it is a folder"
    elif not parent.is_dir():
        problem = f"{parent} is not a folder"
        fix = "create the folder first, or name another"
    elif not os.access(path if path.exists() else parent, os.W_OK):
        problem = "writing it is not permitted"
        fix = "name a file in a folder of your own"
    elif path.suffix.lower() == ".npz":
        problem = "the result is one array, in .npy format"
    if problem:
        raise InputError("gemm", {"output": path}, problem, fix)


def is_same_file(path: Path, where: str) -> bool:
    """Tell whether a path is the file that ``file.npy`` or ``file.npz:name`` reads."""
    read = _split(where)[0]
    return path.exists() and read.exists() and path.samefile(read)


def demand_folder(command: str, path: Path, option: str = "svg") -> None:
    """Raise `InputError` for a file in a folder that does not exist, probably misspelled."""
    parent = path.resolve().parent
    if not parent.is_dir():
        fix = "create the folder first, or name another"
        raise InputError(command, {option: path}, f"{parent} is not a folder", fix)


def saved_drawing(command: str, path: Path | None, x: Any, what: Any = None) -> tuple[str, ...]:
    """Save the drawing of a value, if a file is named; return the names of the files written."""
    if path is None:
        return ()
    from pycute_xe.drawing import draw

    demand_folder(command, path)
    return (str(draw(x, what).save(path)),)


def write_array(file: BinaryIO, array: NDArray[np.float32]) -> None:
    """Write an array in .npy format to an open file."""
    import numpy as np

    np.lib.format.write_array(file, array, allow_pickle=False)
