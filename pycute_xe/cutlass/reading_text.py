"""C++ text as tokens with their places, and how a slip in it is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from math import prod
from typing import Any, NoReturn

from pycute_xe.atom.copy_atom import CopyAtom
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.atom.spelling import nearest_spelling
from pycute_xe.bulk import entries
from pycute_xe.cutlass.legacy_name import parse_block2d_name
from pycute_xe.cutlass.names import get_atom
from pycute_xe.errors import CuteError, InputError
from pycute_xe.layout import Layout, size
from pycute_xe.numeric import Numeric, as_numeric, numerics

__all__ = [
    "Reader",
    "Token",
    "at_place",
    "refuse",
    "modes_of",
    "cpp_names",
    "meaning_of_name",
    "nearest_name",
    "Type",
    "parse_types",
]

# ------------------------------------------------------------ reading names
# What a C++ name without arguments stands for: numbers, element types, operations.

STATIC = re.compile(r"_([0-9]{1,18})")
_OLDER_MMA = re.compile(r"XE_[0-9]+x[0-9]+x[0-9]+_[A-Z0-9]+_TT")


@cache
def cpp_names() -> dict[str, Numeric]:
    """Return the element types by their names in C++, and by those of the library.

    >>> cpp_names()["bfloat16_t"], cpp_names()["unsigned char"]
    (as_numeric('bf16'), as_numeric('u8'))
    """
    packs = ("u128", "u256", "u512")
    own = {name: as_numeric(name) for name in numerics()}
    own |= {kind.to_cpp(): kind for kind in map(as_numeric, (*numerics(), *packs)) if kind.row.cpp}
    every = tuple(own.values())
    return own | {spelling: numeric for numeric in every for spelling in numeric.row.spellings}


def meaning_of_name(name: str, member: str) -> Any:
    """Return what a name stands for, and `NotImplemented` for an unknown one.

    ``_8`` is 8, ``_`` and ``Underscore`` are ``None``, a type of elements is a `Numeric`, an older
    operation its name or atom. Raises as `parse_block2d_name` does.

    >>> meaning_of_name("_8", ""), meaning_of_name("half_t", "")
    (8, as_numeric('f16'))
    """
    static = STATIC.fullmatch(name)
    if static and not member:
        return int(static[1])
    if name in ("_", "Underscore") and not member:
        return None
    if name.startswith("XE_2D_") and member in ("", "PREFETCH"):
        return parse_block2d_name(f"{name}::{member}" if member else name)
    if _OLDER_MMA.fullmatch(name) and not member:
        return get_atom(name)
    return NotImplemented if member else cpp_names().get(name, NotImplemented)


def nearest_name(name: str, others: tuple[str, ...]) -> str:
    """Return a tip for an unknown name: those most like it.

    >>> nearest_name("bfloat_t", ())
    'did you mean bfloat16_t, ...?'
    """
    known = (*others, *cpp_names(), "Underscore")
    near = nearest_spelling(name, known)
    return f"did you mean {', '.join(near)}?" if near else "write the type in full"


# ------------------------------------------------------------ reading modes
# Along which modes of a tile the rows of a copy's messages run, told by its layout.


def modes_of(atom: CopyAtom, layout: Layout, tile: tuple[int, ...]) -> tuple[int, int] | None:
    """Return (x, y): the tile's modes along the rows of a block and across them.

    Law: the first values of the first 16 work-items of the tiled layout are the atom's, placed in
    the tile. ``None`` where no two modes are so.

    >>> from pycute_xe.atom import XE_LOAD_2D, make_block_2d_copy
    >>> copy = make_block_2d_copy(XE_LOAD_2D(16, 8, 16), (1, "ld"), "f16")
    >>> modes_of(copy.atom, copy.layout_tv_tiled, copy.tiler_mn)
    (0, 1)
    """
    threads, values = (size(mode) for mode in layout)
    if threads < SUBGROUP or values < atom.values:
        return None
    every = entries(layout)
    first: list[int] = [every[v * threads + t] for v in range(atom.values) for t in range(SUBGROUP)]
    places = [divmod(offset, atom.width) for offset in entries(atom.layout_ref_tv)]
    for y, x in permutations(range(len(tile)), 2):
        if tile[x] < atom.width or tile[y] < atom.height:
            continue
        across, down = prod(tile[:x]), prod(tile[:y])
        if first == [column * across + row * down for row, column in places]:
            return x, y
    return None


# ------------------------------------------------------------ reading text

_TOKEN = re.compile(
    r"(?P<blank>(?:\s|//[^\n]*|/\*.*?\*/)+)"
    r"|(?P<flag>smem_ptr\[\d{1,4}b\]\(unset\))"
    r"|(?P<number>-?\d+)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<mark>::|[<>,;:=(){}@&*/])",
    re.DOTALL,
)
_COMPUTED = "write what the compiler makes of it, a type or a number"
_DECLARATIONS = "give the declarations alone, as they stand before using Gemm = …"
_MOST_DIGITS = 18
MOST_LEVELS = 60
"""How deep brackets may nest."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the text: what kind it is, what it says and where it begins."""

    kind: str
    text: str
    at: int


def refuse(text: str, at: int, condition: str, fix: str) -> NoReturn:
    """Raise `InputError` with the line and the column, both counted from 1.

    >>> refuse("Layout<8>", 7, "8 is a value", "write _8")
    Traceback (most recent call last):
    pycute_xe.errors.InputError: from_cute(text='8>'): line 1, column 8: 8 is a value...
    """
    raise InputError("from_cute", _given(text, at), f"{_place(text, at)}: {condition}", fix)


def at_place(text: str, at: int, error: CuteError) -> CuteError:
    """Return an error of the library with the place in the text where it arose."""
    if error.operation == "from_cute":
        return error
    kind = type(error)
    condition = f"{_place(text, at)}: {error.condition}"
    return kind("from_cute", _given(text, at), condition, error.fix)


def _given(text: str, at: int) -> dict[str, object]:
    line = text[at:].split("\n", 1)[0]
    return {"text": repr(line if len(line) < 40 else line[:40] + "…")}


def _place(text: str, at: int) -> str:
    before = text[:at]
    return f"line {before.count(chr(10)) + 1}, column {at - before.rfind(chr(10))}"


def _tokens(text: str, others: str) -> list[Token]:
    tokens: list[Token] = []
    at = 0
    other = re.compile(others or "(?!)")
    while at < len(text):
        match = _TOKEN.match(text, at) or other.match(text, at)
        if match is None:
            fix = _DECLARATIONS if text[at] == "#" else _COMPUTED
            if "ptr[" in text[: at + 1]:
                fix = "print the layout alone: print(tensor.layout())"
            refuse(text, at, f"{text[at]!r} is not a part of a C++ type", fix)
        kind = match.lastgroup or ""
        if kind == "number" and len(match[0]) > _MOST_DIGITS:
            refuse(text, at, f"the number has more than {_MOST_DIGITS} digits", "use a smaller one")
        if kind != "blank":
            tokens.append(Token(kind, match[0], at))
        at = match.end()
    return [*tokens, Token("end", "", len(text.rstrip()))]


class Reader:
    """A position in the tokens of a text; ``others`` match tokens that are in no type."""

    def __init__(self, text: str, others: str = "") -> None:
        self.text = text
        self.tokens = _tokens(text, others)
        self.index = 0
        self.level = 0

    def peek(self, ahead: int = 0) -> Token:
        """Return the token that comes next or later, of kind "end" behind the last."""
        return self.tokens[min(self.index + ahead, len(self.tokens) - 1)]

    def follows(self, *texts: str) -> bool:
        """Whether the next tokens read so."""
        ahead = self.tokens[self.index : self.index + len(texts)]
        return [token.text for token in ahead] == list(texts)

    def step(self) -> Token:
        """Return the next token and step over it."""
        token = self.peek()
        if token.kind != "end":
            self.index += 1
        return token

    def skip(self, text: str) -> bool:
        """Step over a token if it comes next."""
        follows = self.peek().kind != "end" and self.peek().text == text
        if follows:
            self.index += 1
        return follows

    def take(self, text: str, wanted: str = "", fix: str = "") -> None:
        """Step over a token, or refuse what stands there."""
        if not self.skip(text):
            self.expected(wanted or repr(text), fix)

    def deeper(self) -> None:
        """Enter a bracket."""
        self.level += 1
        if self.level > MOST_LEVELS:
            self.refuse(f"brackets nest more than {MOST_LEVELS} levels deep", "nest fewer levels")

    def expected(self, wanted: str, fix: str = "") -> NoReturn:
        """Refuse the next token, saying what should stand there."""
        token = repr(self.peek().text) if self.peek().text else "the end"
        usual = "write a type, as in Layout<Shape<_8,_4>,Stride<_4,_1>>"
        fix = fix or (_COMPUTED if self.peek().text in ("=", "(", "{") else usual)
        self.refuse(f"{wanted} expected, not {token}", fix)

    def refuse(self, condition: str, fix: str) -> NoReturn:
        """Refuse at the next token."""
        refuse(self.text, self.peek().at, condition, fix)


# ------------------------------------------------------------ reading types
# C++ types as trees of names and arguments.

_SPACES = frozenset(
    (
        *("cute", "cutlass", "std", "sycl", "detail", "dpas_type", "intel", "platform"),
        *("gemm", "collective", "kernel", "device", "epilogue", "fusion", "thread", "layout"),
        "arch",
    )
)
"""Namespaces: what they hold is known by its own name."""

_AHEAD = frozenset({"typename", "class", "struct", "const", "static", "constexpr"})
_BUILT_IN = frozenset({"unsigned", "signed", "long", "short", "int", "char"})


@dataclass(frozen=True, slots=True)
class Type:
    """A name with arguments and the member that is taken of it, or a number.

    ``arguments`` is ``None`` where no ``<>`` follow the name. Calls and operators have names of
    their own: ``decltype()``, ``*`` for a pointer, ``/`` for a quotient.
    """

    name: str
    at: int
    arguments: tuple[Type, ...] | None = None
    member: str = ""
    is_number: bool = False


def parse_types(reader: Reader) -> tuple[list[tuple[str, Type]], Type]:
    """Return the declarations of a text, in order, and the type meant last.

    Declarations are ``using name = type;`` and numbers, ``constexpr int name = 2;``.

    >>> named, last = parse_types(Reader("using T = Shape<_8,_4>; Layout<T>"))
    >>> named[0][0], last.name
    ('T', 'Layout')
    """
    named: list[tuple[str, Type]] = []
    last: Type | None = None
    while reader.peek().kind != "end":
        declared = declaration(reader)
        if declared is None:
            continue
        alias, last = declared
        if alias:
            named.append((alias, last))
    if last is None:
        reader.expected("a type")
    return named, last


def declaration(reader: Reader) -> tuple[str, Type] | None:
    """Step over one declaration: its name, empty for a type alone; None for a namespace.

    >>> declaration(Reader("using T = _8;"))[0], declaration(Reader("using namespace cute;"))
    ('T', None)
    """
    alias = ""
    if reader.skip("using"):
        if _names_a_namespace(reader):
            return None
        if reader.peek().kind != "name":
            reader.expected("a name", "write using Name = Type;")
        alias = reader.step().text
        reader.take("=", fix="write using Name = Type;")
    last = _type(reader)
    if not alias and reader.peek().kind == "name" and reader.peek(1).text == "=":
        alias = reader.step().text
        reader.step()
        last = _type(reader)
    if reader.skip("{"):
        reader.take("}")
    if not reader.skip(";") and reader.peek().kind != "end":
        reader.expected("the end or ';'")
    return alias, last


def _names_a_namespace(reader: Reader) -> bool:
    """Step over ``namespace cute;`` and ``cute::Name;``: names are known without their spaces."""
    if not (reader.skip("namespace") or reader.peek(1).text == "::"):
        return False
    while reader.peek().kind not in ("end",) and not reader.skip(";"):
        reader.step()
    return True


def _type(reader: Reader) -> Type:
    while reader.peek().text in _AHEAD:
        reader.step()
    tree = _name(reader)
    while reader.peek().text in ("const", "&", "*", "/"):
        mark = reader.step()
        if mark.text == "*":
            tree = Type("*", mark.at, (tree,))
        if mark.text == "/":
            tree = Type("/", mark.at, (tree, _name(reader)))
    return tree


def _name(reader: Reader) -> Type:
    reader.skip("::")
    while reader.peek().text in _SPACES and reader.peek(1).text == "::":
        reader.step()
        reader.step()
    token = reader.peek()
    if token.kind == "number":
        reader.step()
        while reader.peek().text in ("u", "U", "l", "L", "ul", "UL", "ull", "ULL"):
            reader.step()
        return Type(token.text, token.at, is_number=True)
    if token.kind != "name":
        reader.expected("a type")
    words = [reader.step().text]
    while words[-1] in _BUILT_IN and reader.peek().text in _BUILT_IN:
        words.append(reader.step().text)
    arguments = _arguments(reader) if reader.peek().text == "<" else None
    members: list[str] = []
    while reader.skip("::"):
        reader.skip("template")
        if reader.peek().kind != "name":
            reader.expected("a name")
        members.append(reader.step().text)
    tree = Type(" ".join(words), token.at, arguments, "::".join(members))
    if reader.follows("(", ")"):  # a value of the type, where types alone count
        reader.step()
        reader.step()
    elif reader.peek().text == "(" and arguments is None:
        tree = Type(f"{tree.name}()", token.at, _arguments(reader, "()"), tree.member)
    return tree


def _arguments(reader: Reader, brackets: str = "<>") -> tuple[Type, ...]:
    first, last = brackets
    reader.take(first)
    reader.deeper()
    arguments: list[Type] = []
    while not reader.skip(last):
        arguments.append(_type(reader))
        if reader.peek().text not in (",", last):
            reader.expected(f"',' or '{last}'")
        if reader.skip(",") and reader.peek().text == last:
            reader.expected("a type")
    reader.level -= 1
    return tuple(arguments)
