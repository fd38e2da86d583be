"""The check of `make lint` for branches on classes of statements sees them in every form."""

from __future__ import annotations

from pathlib import Path

import pytest
import statement_branches

import pycute_xe.kernel.ir.named
import pycute_xe.kernel.ir.statements as ir

PACKAGE = {
    "kernel/__init__.py": "from pycute_xe.kernel.ir.statements import Load, Loop, Store, Fence\n",
    "kernel/ir/effects.py": """
class Touched:
    reads: tuple = ()
    waits: bool = False
    sends: bool = False
""",
    "kernel/ir/statement.py": """
class Statement: ...
""",
    "kernel/ir/statements.py": """
from pycute_xe.kernel.ir.statement import Statement
class _Moving(Statement):
    fragment: str
class Load(_Moving):
    touches = touching(waits="yes", sends="yes")
class Store(_Moving):
    touches = touching(sends="yes")
class Fence(Statement):
    is_fence = True
class Loop(Statement):
    body: tuple
COPIES = (Load, Store)
""",
    "holding/sets.py": """
from pycute_xe.kernel import Load, Store
from pycute_xe.kernel.ir import statements
EVERY = (*statements.COPIES, statements.Fence)
Moving = Load | Store
""",
    "holding/own.py": """
from pycute_xe.kernel.ir.statements import Statement
class Own(Statement): ...
""",
}
"""A package of a few kinds, one of them in another file."""

HEAD = """
from typing import Any
import pycute_xe as cx
from functools import singledispatch
from pycute_xe.kernel import Load, Loop, Store, Fence
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.holding.sets import EVERY, Moving
from pycute_xe.holding.own import Own
"""

WRONG = {
    "isinstance": "x = isinstance(s, Load)",
    "through a module": "x = isinstance(s, ir.Load)",
    "through the package": "x = isinstance(s, cx.kernel.Load)",
    "a kind of another file": "x = isinstance(s, Own)",
    "a class that kinds share": "x = isinstance(s, ir._Moving)",
    "issubclass": "x = issubclass(kind, (Load, Store))",
    "a tuple of kinds": "x = isinstance(s, EVERY)",
    "a part of a tuple": "x = isinstance(s, EVERY[1:])",
    "a union": "x = isinstance(s, Moving)",
    "a tuple of a function": "def f(s):\n    kinds = (Load,)\n    return isinstance(s, kinds)",
    "with structure": "x = isinstance(s, (Loop, Load))",
    "match": "match s:\n    case Loop(): pass\n    case Load() | Store(): pass",
    "match inside": "match s, t:\n    case _, [Load(copy)]: pass",
    "match of values": "match type(s):\n    case ir.Load: pass",
    "type": "x = type(s) is Load",
    "types": "x = type(s) in (Load, Store)",
    "class": "x = s.__class__ == Load",
    "a kind that is kept": "x = event.kind in EVERY",
    "a value without parts": "x = s == Fence()",
    "a name": 'x = type(s).__name__ == "Load"',
    "names": 'x = type(s).__name__ in ("Load", "Store")',
    "the start of a name": 'x = type(s).__name__.startswith("Sha")',
    "match of a name": 'match type(s).__name__:\n    case "Load": pass',
    "keys": "x = {Load: 1, Store: 2}",
    "keys by name": 'x = {"Load": 1, "Store": 2}',
    "keys of a set": "x = dict.fromkeys(EVERY)",
    "a loop over kinds": "for kind in EVERY: pass",
    "a loop over rows": "x = [f for kind, f in ((Load, 1), (Store, 2)) if type(s) is kind]",
    "register": "@f.register(Load)\ndef _(s): pass",
    "register by an annotation": "@f.register\ndef _(s: Load): pass",
    "hasattr": 'x = hasattr(s, "fragment")',
    "getattr": 'x = getattr(s, "fragment", "")',
    "a boolean that one kind declares": "x = s.touched.waits",
    "an attribute of one kind": "x = s.is_fence",
}
RIGHT = {
    "structure": "x = isinstance(s, (Loop, ir.Loop))",
    "another class": "class Tile: ...\nx = isinstance(s, Tile)",
    "another class of the name": "import ast\nx = isinstance(s, ast.Load)",
    "every statement": "x = isinstance(s, ir.Statement)",
    "a table": "@TABLE.of(Load, Store)\ndef _(s: Load | Store): pass",
    "a table of several": "TABLE.of(*EVERY)(f)",
    "an annotation": "def f(s: Load, t: Moving) -> Store: ...",
    "a statement that is made": "x = (Load(a, b), Fence())",
    "an effect": "x = s.touched.reads",
    "a boolean of two kinds": "x = s.touched.sends",
    "a statement": "x = s == Load(a)",
    "a name in a message": 'x = f"{type(s).__name__} is a Load"',
    "a field of structure": 'x = getattr(s, "body", ())',
    "other keys": 'x = {"Load": 1, "left": 2}',
}


def found_in(text: str, folder: Path) -> list[statement_branches.Branch]:
    for name, content in {**PACKAGE, "cli/asking.py": HEAD + text}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return statement_branches.every(folder)


@pytest.mark.parametrize("name", WRONG)
def test_a_branch_on_a_class_is_counted_once(name: str, tmp_path: Path) -> None:
    (one,) = found_in(WRONG[name], tmp_path)
    assert (one.room, one.path) == ("cli", "cli/asking.py")


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_no_branch_is_not(name: str, tmp_path: Path) -> None:
    assert found_in(RIGHT[name], tmp_path) == []


def test_more_than_the_limit_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found_in("x = isinstance(s, Load)\ny = isinstance(s, Store)", tmp_path)
    assert statement_branches.main(tmp_path, 2) == 0
    assert capsys.readouterr().out.endswith("2 of 2 at most (cli 2)\n")
    assert statement_branches.main(tmp_path, 1) == 1
    assert "cli/asking.py:9: isinstance Load\n" in capsys.readouterr().out


@pytest.mark.long
def test_the_package_is_within_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert statement_branches.main() == 0, capsys.readouterr().out


@pytest.mark.long
def test_the_kinds_are_those_of_the_package() -> None:
    files = (ir, pycute_xe.kernel.ir.named)
    kinds = {
        name
        for file in files
        for name, value in vars(file).items()
        if isinstance(value, type) and issubclass(value, ir.Statement)
    }
    known = statement_branches.Package(statement_branches.ROOT).names
    assert known == kinds - {"Statement", "Loop", "If"}
