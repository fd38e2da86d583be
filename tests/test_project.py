"""The promises made by the packaging: what an import costs, and that versions agree."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from importlib import metadata
from pathlib import Path

import pytest

import pycute_xe

ROOT = Path(__file__).resolve().parent.parent
THIRD_PARTY = {"numpy", "sympy", "islpy", "ml_dtypes", "click", "rich"}


def loaded_modules(code: str, *options: str) -> set[str]:
    """Names in sys.modules after running code in a fresh interpreter, its folder on sys.path."""
    prelude = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
    report = "\nimport json; print(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, *options, "-c", prelude + code + report]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def test_importing_the_package_loads_no_third_party() -> None:
    assert not THIRD_PARTY & loaded_modules("import pycute_xe")


def test_using_the_algebra_loads_no_third_party() -> None:
    code = "import pycute_xe as cx; cx.composition(cx.Layout((4, 8)), cx.Layout(8, 2))"
    assert not THIRD_PARTY & loaded_modules(code)


def test_the_algebra_runs_on_the_standard_library_alone() -> None:
    # -I and -S: no environment, no user folder, no site-packages.
    code = (
        "from pycute_xe.layout import Layout\n"
        "from pycute_xe.algebra import composition\n"
        "assert str(composition(Layout((4, 8), (8, 1)), Layout(4))) == '4:8'"
    )
    loaded = loaded_modules(code, "-I", "-S")
    assert "pycute_xe.algebra" in loaded
    assert not THIRD_PARTY & loaded


def test_every_public_name_resolves() -> None:
    missing = [name for name in pycute_xe.__all__ if not hasattr(pycute_xe, name)]
    assert missing == []
    assert set(pycute_xe.__all__) <= set(dir(pycute_xe))


IMPORT_ALL = """
import importlib, pkgutil, pycute_xe
for module in pkgutil.walk_packages(pycute_xe.__path__, "pycute_xe."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""
PRINT_KINDS = """
import json, sys, pycute_xe
kinds = {name: type(getattr(pycute_xe, name)).__name__ for name in pycute_xe.__all__}
print(json.dumps(kinds))
"""


# The packages of others are imported once; each code then runs in a copy of the process.
IN_COPIES = f"""
import json, os, sys, {", ".join(sorted(THIRD_PARTY))}
for code in json.loads(sys.argv[1]):
    copy = os.fork()
    if copy == 0:
        exec(code)
        sys.exit()
    assert os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 0
"""


def kinds(*ways: list[str]) -> list[dict[str, str]]:
    """The types of public names printed by the steps of all ways, each in a process of its own."""
    codes = list(map("\n".join, ways))
    command = [sys.executable, "-c", IN_COPIES, json.dumps(codes)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(map(json.loads, done.stdout.splitlines()))


@pytest.mark.long
def test_importing_a_module_never_replaces_a_public_name() -> None:
    # Importing a module binds it to an attribute of the package, over a function of that name.
    expected, later, first = kinds(
        [PRINT_KINDS, IMPORT_ALL, PRINT_KINDS], [IMPORT_ALL, PRINT_KINDS]
    )
    assert "function" in expected.values()
    assert first == expected
    assert later == expected


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert pycute_xe.__version__ == project["version"] == metadata.version("pycute-xe")
    headings = re.findall(r"^## \[([^\]]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert project["version"] in headings


def test_every_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    page = (ROOT / "docs" / "dependencies.md").read_text()
    for requirement in project["dependencies"]:
        name, _, bound = requirement.partition(">=")
        assert f"| `{name}` ≥ {bound} |" in page


def test_the_floors_are_documented_as_they_are_enforced() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    floors = next(item for item in linter["contracts"] if item["id"] == "floors")
    page = (ROOT / "docs" / "design.md").read_text()
    rows = re.findall(r"^\| (\d+) \| ([^|]+)\|", page, re.MULTILINE)
    written = {int(floor): set(re.findall(r"`(\w+)`", names)) for floor, names in rows}
    enforced = {
        floor: set(re.findall(r"\w+", names)) for floor, names in enumerate(floors["layers"][::-1])
    }
    assert written == enforced


def test_a_module_fits_a_few_screens() -> None:
    lines = {f: f.read_text().count("\n") for f in (ROOT / "pycute_xe").rglob("*.py")}
    assert {str(f.name): n for f, n in lines.items() if n > 600} == {}


@pytest.mark.long
def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions and for types alone count too: a circle of those is one idea."""
    root = Path(pycute_xe.__file__).parent
    modules = {
        ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for path in root.rglob("*.py")
    }
    imports: dict[str, set[str]] = {}
    for module, path in modules.items():
        nodes = (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom))
        pairs = ((str(node.module), alias.name) for node in nodes for alias in node.names)
        named = (f"{a}.{b}" if f"{a}.{b}" in modules else a for a, b in pairs)
        imports[module] = {name for name in named if name in modules} - {module}
    assert len(imports) > 100
    TopologicalSorter(imports).prepare()


def test_the_paths_that_contributors_read_exist() -> None:
    pages = [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "docs/design.md")]
    homes = (ROOT, ROOT / "pycute_xe", ROOT / "pycute_xe" / "kernel")
    named = {
        path for page in pages for path in re.findall(r"\w+(?:/\w+)+/?(?:\.\w+)?", page.read_text())
    }
    files = {path for path in named if path.endswith((".py", ".toml", ".svg", ".patch", "/"))}
    assert len(files) > 30
    assert {path for path in files if not any((home / path).exists() for home in homes)} == set()
