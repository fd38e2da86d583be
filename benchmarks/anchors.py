"""Where a mutant is put: in what is named, at the code that is quoted, wherever a file has it.

A name is qualified (`CoordinateWalker.step`, `Target.grf`, `_stored`), and stands for a function,
a class or an assignment of a module or class; `holding: _stored` is the one in the package
`holding`. Code is compared as syntax, so that its formatting does not matter: an expression,
statements in a row, or the head of a statement or case, which ends with a colon.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import TypeAlias

BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
Code: TypeAlias = "ast.expr | ast.stmt"
Head: TypeAlias = "ast.stmt | ast.match_case"


@dataclass(frozen=True)
class Source:
    """A module of the package, by its path in the repository, with the bytes of its lines."""

    path: str
    lines: tuple[bytes, ...]

    def span(self, first: Code, last: Code) -> tuple[int, int]:
        """Where code begins, decorators included, and where it ends, in bytes."""
        decorated = getattr(first, "decorator_list", [])
        begun = decorated[0] if decorated else first
        start = self.offset(begun.lineno, begun.col_offset - bool(decorated))
        return start, self.offset(last.end_lineno or 0, last.end_col_offset or 0)

    def offset(self, line: int, column: int) -> int:
        """Bytes before a place."""
        return sum(map(len, self.lines[: line - 1])) + column

    def follows(self, start: int, text: bytes) -> bool:
        """Whether this text begins there."""
        return b"".join(self.lines).startswith(text, start)

    def changed(self, start: int, end: int, new: str) -> str:
        """Return the text with other code from one place to another."""
        text = b"".join(self.lines)
        return (text[:start] + new.encode() + text[end:]).decode()


@dataclass(frozen=True)
class Edit:
    """What a mutant makes of a module."""

    path: str
    text: str


@cache
def named(root: Path) -> dict[str, list[tuple[Source, ast.AST]]]:
    """Say which code each qualified name of the package stands for.

    >>> [source.path for source, _ in named(Path())["CuteError"]]
    ['pycute_xe/errors.py']
    """
    found: defaultdict[str, list[tuple[Source, ast.AST]]] = defaultdict(list)
    for file in sorted((root / "pycute_xe").rglob("*.py")):
        source = Source(
            file.relative_to(root).as_posix(), tuple(file.read_bytes().splitlines(True))
        )
        for name, node in _definitions(ast.parse(b"".join(source.lines)).body, ""):
            found[name].append((source, node))
    return dict(found)


def _definitions(
    body: list[ast.stmt], outer: str, assigned: bool = True
) -> Iterator[tuple[str, ast.AST]]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield outer + node.name, node
                inside = f"{outer}{node.name}."
                yield from _definitions(node.body, inside, isinstance(node, ast.ClassDef))
            case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
                if assigned:
                    names = (n.id for n in ast.walk(target) if isinstance(n, ast.Name))
                    yield from ((outer + name, node) for name in names)
            case _:
                nested = [s for block in BLOCKS[:3] for s in getattr(node, block, [])]
                yield from _definitions(nested, outer, assigned)


def edits(root: Path, name: str, old: str, new: str) -> list[Edit]:
    """Return what a change makes of each place where the old code occurs: one, if it is unique."""
    found = places(root, name)
    if is_head(old):
        head = written_head(old)
        return [e for s, node in found for e in _heads(s, node, head, new)]
    wanted, wished = expression(old), expression(new)
    if wanted is not None and wished is not None:
        return [e for s, node in found for e in _expressions(s, node, wanted, wished, new)]
    block = [ast.unparse(statement) for statement in ast.parse(old).body]
    return [e for s, node in found for e in _statements(s, node, block, new)]


def places(root: Path, name: str) -> list[tuple[Source, ast.AST]]:
    """Return what has a name, in the package before it or in all of them."""
    package, _, plain = name.rpartition(": ")
    return [
        (source, node)
        for source, node in named(root).get(plain, [])
        if not package or package in source.path.split("/")[:-1]
    ]


def expression(code: str) -> ast.expr | None:
    """Parse what is an expression, perhaps over several lines."""
    try:
        return ast.parse(f"({code}\n)", mode="eval").body
    except SyntaxError:
        return None


def is_head(code: str) -> bool:
    """Whether code is what stands before a block."""
    return code.endswith(":")


def written_head(code: str) -> str:
    """Return a head as `headed` writes it."""
    if not code.startswith("case "):
        return headed(ast.parse(f"{code} ...").body[0])
    match = ast.parse(f"match _:\n {code} ...").body[0]
    assert isinstance(match, ast.Match)
    return headed(match.cases[0])


def headed(node: Head) -> str:
    """Return a statement or case without its blocks.

    >>> headed(ast.parse("while  x < y : pass").body[0])
    'while x < y:'
    """
    bare = copy(node)
    for block in BLOCKS:
        if hasattr(bare, block):
            setattr(bare, block, [])
    return ast.unparse(bare).strip()


def _heads(source: Source, within: ast.AST, head: str, new: str) -> Iterator[Edit]:
    for node in ast.walk(within):
        if not isinstance(node, (ast.stmt, ast.match_case)) or headed(node) != head:
            continue
        if isinstance(node, ast.match_case):
            line = node.pattern.lineno
            start = source.offset(line, source.lines[line - 1].index(b"case "))
        else:
            start = source.span(node, node)[0]
        first: ast.stmt = getattr(node, "body", [node])[0]
        code = f"{new}\n{' ' * first.col_offset}"
        if source.follows(start, b"elif"):
            code = f"el{code}"
        yield Edit(source.path, source.changed(start, source.span(first, first)[0], code))


def _expressions(
    source: Source, within: ast.AST, old: ast.expr, new: ast.expr, text: str
) -> Iterator[Edit]:
    wanted = ast.unparse(old)
    for node in walked(within):
        if type(node) is type(old) and ast.unparse(node) == wanted:
            bare = isinstance(new, ast.Starred) or isinstance(node, ast.Slice)
            code = text if bare else f"({text}\n)" if "\n" in text else f"({text})"
            yield Edit(source.path, source.changed(*source.span(node, node), code))


def walked(node: ast.AST) -> Iterator[ast.AST]:
    """Walk through code, but not into texts with values: their places are not known."""
    yield node
    if not isinstance(node, ast.JoinedStr):
        for child in ast.iter_child_nodes(node):
            yield from walked(child)


def _statements(source: Source, within: ast.AST, old: list[str], new: str) -> Iterator[Edit]:
    alone = [within] if isinstance(within, ast.stmt) else []
    found = [getattr(node, block, None) for node in ast.walk(within) for block in BLOCKS[:3]]
    for block in (alone, *(statements for statements in found if isinstance(statements, list))):
        for i in range(len(block) - len(old) + 1):
            rows = block[i : i + len(old)]
            if [ast.unparse(row) for row in rows] != old:
                continue
            start, end = source.span(rows[0], rows[-1])
            code, margin = new, " " * rows[0].col_offset
            if source.follows(start, b"elif"):
                code = f"else:\n{indent(code, ' ' * 4)}"
            yield Edit(source.path, source.changed(start, end, indent(code, margin).lstrip()))
