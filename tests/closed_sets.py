"""A check of `make lint`: no alternative of a closed set is left to an ``else`` or a default.

Types, reductions, functions, kinds, roles and orders are closed sets. What asks which member it has
says what it does for each: rows of a table, or ``match`` with ``assert_never``. Refused are

- ``a if x == "sum" else b`` and ``if x == "sum": … else: …`` over such a set, unless the ``else``
  raises: another member would be taken for the last one;
- ``table.get(x, default)`` where the keys are of such a set: a member without a row would pass.

What ``# closed: why`` stands above, or beside, is let through, with its reason.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent / "pycute_xe"
SETS = {
    "reductions": {"sum", "max", "min"},
    "laws": {"sum", "greatest", "least"},
    "types": {
        "f64", "f32", "f16", "tf32", "bf16", "f8e4m3", "f8e5m2", "ue8m0", "f4e2m1",
        *(f"{sign}{bits}" for sign in "su" for bits in (2, 4, 8, 16, 32, 64, 128, 256, 512)),
    },
    "what floats end in": {"infinity", "nan", "number"},
    "roles": {"in", "out", "inout", "scratch"},
    "roles at barriers": {"producer", "consumer", "both"},
    "orders": {"ordered", "unordered", "first", "atomic"},
}  # fmt: skip
"""The members of each set; one of two members, as that of row and column, has no last one."""

SUBJECTS = {"how", "law", "name", "role", "fixup", "numeric", "top", "kind", "type", "function"}
"""What a member is asked of: the last word of a name or an attribute."""


def member_of(node: ast.expr) -> str:
    """The set that a constant, or all of several, belong to; empty for any other."""
    parts = node.elts if isinstance(node, (ast.Tuple, ast.Set, ast.List)) else [node]
    values = {p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)}
    if len(values) < len(parts) or not values:
        return ""
    return next((name for name, members in SETS.items() if values <= members), "")


def asks(test: ast.expr) -> str:
    """The set of which a condition asks for a member; empty for any other."""
    if isinstance(test, ast.BoolOp):
        return next(filter(None, map(asks, test.values)), "")
    if isinstance(test, ast.UnaryOp):
        return asks(test.operand)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return ""
    if not isinstance(test.ops[0], (ast.Eq, ast.NotEq, ast.In, ast.NotIn)):
        return ""
    sides = (test.left, test.comparators[0])
    if not any(subject(side) in SUBJECTS for side in sides):
        return ""
    return next(filter(None, map(member_of, sides)), "")


def subject(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def refuses(body: list[ast.stmt]) -> bool:
    """Whether statements end in an exception."""
    return bool(body) and isinstance(body[-1], ast.Raise)


def findings(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the reason of every place that leaves a member to a default."""
    lines, tree = text.splitlines(), ast.parse(text)
    tables = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Dict)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        said = _said(node, tables)
        if said and isinstance(node, (ast.expr, ast.stmt)):
            own = lines[
                max(node.lineno - 2, 0) : node.end_lineno
                if isinstance(node, ast.expr)
                else node.lineno
            ]
            if not any("# closed: " in line for line in own):
                yield node.lineno, said


def _said(node: ast.AST, tables: dict[str, ast.Dict]) -> str:
    match node:
        case ast.IfExp(test):
            found = asks(test)
            return found and f"the else of a conditional expression stands for more {found}"
        case ast.If(test, body, orelse) if orelse and not isinstance(orelse[0], ast.If):
            found = asks(test)
            if refuses(body) or refuses(orelse):
                return ""
            return found and f"an else stands for more {found}"
        case ast.Call(ast.Attribute(table, "get"), [_, default], []):
            if isinstance(default, ast.Constant) and default.value is None:
                return ""
            table = tables.get(table.id, table) if isinstance(table, ast.Name) else table
            keys = table.keys if isinstance(table, ast.Dict) else []
            known = [member_of(key) for key in keys if key is not None]
            if known and all(known):
                return f"a default stands for the {known[0]} that have no row"
        case _:
            pass
    return ""


def main() -> int:
    """Print every finding; 1 if there are any."""
    count = 0
    for path in sorted(ROOT.rglob("*.py")):
        for line, said in findings(path.read_text(encoding="utf-8")):
            print(f"{path.relative_to(ROOT.parent)}:{line}: {said}")
            count += 1
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main())
