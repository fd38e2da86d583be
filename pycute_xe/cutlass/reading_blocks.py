"""The kernel of a block of a C++ source: its declarations, among whatever else stands there."""

from __future__ import annotations

from pycute_xe.cutlass.configuration import CutlassType
from pycute_xe.cutlass.reading_text import Reader, Token, Type, declaration
from pycute_xe.cutlass.reading_values import Scope, unwrapped
from pycute_xe.errors import CuteError
from pycute_xe.signatures import typed

__all__ = ["kernel_in"]

_KERNELS = frozenset({"GemmUniversal", "GemmUniversalAdapter"})
"""What declares a kernel."""

_OTHERS = r"#[ \t]*(?:include|pragma)\b[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)+'|[^\s#]"
"""Tokens of statements. A condition (``#if``) is none: which branch is meant is not known."""


@typed
def kernel_in(text: str) -> CutlassType | None:
    """Return the last kernel that a text declares; None where it declares none.

    Around its declarations may stand includes, asserts, variables, calls, and the namespaces,
    classes and functions that they are in, whose names end with them. What the kernel does not use
    may be unknown or refused. Raises `InputError` for a kernel that is declared and refused.

    >>> print(kernel_in("using Tile = Shape<_8,_4>; Layout<Tile>"))
    None
    """
    try:
        reader = Reader(text, _OTHERS)
    except CuteError:
        return None
    scopes, kernel = [Scope(text, {})], None
    while reader.peek().kind != "end":
        start, level = reader.index, reader.level
        try:
            declared = declaration(reader)
        except CuteError as error:
            if _declares_a_kernel(reader.tokens[start:]):
                raise
            reader.index, reader.level = start, level
            _step_over(reader, scopes, error)
            continue
        if declared is not None:
            kernel = _declared(scopes[-1], *declared) or kernel
    return kernel


def _declared(scope: Scope, name: str, node: Type) -> CutlassType | None:
    """Keep what a name stands for; return it if it is a kernel."""
    try:
        value = scope.value(node)
    except CuteError as error:
        if node.name in _KERNELS:
            raise
        scope.names[name] = error  # what it stood for before is not meant any more
        return None
    scope.names[name] = value
    plain = unwrapped(value)
    return plain if isinstance(plain, CutlassType) and plain.kind == "kernel" else None


def _step_over(reader: Reader, scopes: list[Scope], error: CuteError) -> None:
    """Step over a statement that is not a declaration of a type, or to the block that it opens.

    What it gives a meaning is refused by ``error`` from then on.
    """
    before = Token("mark", ";", 0)
    while (token := reader.step()).kind != "end" and token.text not in (";", "{", "}"):
        after = reader.peek().text
        # `x = …` and `T x{…}` give x a meaning that cannot be read; `f(T{})` leaves T as it is.
        if after == "=" or (after == "{" and (before.kind == "name" or before.text == ">")):
            scopes[-1].names[token.text] = error
        before = token
    if token.text == "{":
        scopes.append(Scope(reader.text, dict(scopes[-1].names)))
    elif token.text == "}" and len(scopes) > 1:
        scopes.pop()


def _declares_a_kernel(tokens: list[Token]) -> bool:
    """Whether a statement is an alias whose type names a kernel."""
    texts = [token.text for token in tokens]
    statement = texts[: texts.index(";")] if ";" in texts else texts
    return statement[:1] == ["using"] and not _KERNELS.isdisjoint(statement)
