"""Floor 6: C++ types as trees of names and arguments."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.cutlass.reading_text import Reader

__all__ = ["Type", "parse_types"]

_SPACES = frozenset({"cute", "cutlass", "std", "sycl", "detail", "dpas_type", "intel"})
"""Namespaces: what they hold is known by its own name."""

_AHEAD = frozenset({"typename", "class", "struct", "const", "static", "constexpr"})
_BUILT_IN = frozenset({"unsigned", "signed", "long", "short", "int", "char"})


@dataclass(frozen=True, slots=True)
class Type:
    """A name with arguments and the member that is taken of it, or a number.

    ``arguments`` is ``None`` where no ``<>`` follow the name.
    """

    name: str
    at: int
    arguments: tuple[Type, ...] | None = None
    member: str = ""
    is_number: bool = False


def parse_types(reader: Reader) -> tuple[list[tuple[str, Type]], Type]:
    """Return the declarations ``using name = type;`` of a text, in order, and the type meant last.

    >>> named, last = parse_types(Reader("using T = Shape<_8,_4>; Layout<T>"))
    >>> named[0][0], last.name
    ('T', 'Layout')
    """
    named: list[tuple[str, Type]] = []
    last: Type | None = None
    while reader.peek().kind != "end":
        alias = ""
        if reader.skip("using"):
            if reader.peek().kind != "name":
                reader.expected("a name", "write using Name = Type;")
            alias = reader.step().text
            reader.take("=", fix="write using Name = Type;")
        last = _type(reader)
        if alias:
            named.append((alias, last))
        if reader.skip("{"):
            reader.take("}")
        if not reader.skip(";") and reader.peek().kind != "end":
            reader.expected("the end or ';'")
    if last is None:
        reader.expected("a type")
    return named, last


def _type(reader: Reader) -> Type:
    while reader.peek().text in _AHEAD:
        reader.step()
    found = _name(reader)
    while reader.peek().text in ("const", "&", "*"):
        if reader.peek().text == "*":
            reader.refuse("a pointer is not a layout, an atom or a type of values", "leave * out")
        reader.step()
    return found


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
    return Type(" ".join(words), token.at, arguments, "::".join(members))


def _arguments(reader: Reader) -> tuple[Type, ...]:
    reader.take("<")
    reader.deeper()
    found: list[Type] = []
    while not reader.skip(">"):
        found.append(_type(reader))
        if reader.peek().text not in (",", ">"):
            reader.expected("',' or '>'")
        if reader.skip(",") and reader.peek().text == ">":
            reader.expected("a type")
    reader.level -= 1
    return tuple(found)
