"""Adds the reference to the site: a page per module, from the lowest floor up, and one per name.

The order of the modules is that of the floors contract in pyproject.toml, which names every module:
a new module is documented without touching the site's configuration. The page of a module lists its
public names; each of these has a page of its own, which the navigation leaves out. In the search's
index a name is its title, its first sentence and the names of its members: no more.
"""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from functools import cache
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from search_weights import weight

import pycute_xe

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "pycute_xe"
SECTION = "What is known, and from where?"
SEARCH = "material/search"


class Name(NamedTuple):
    """A public name: its module, where it is defined, and whether the package has it on top."""

    module: str
    name: str
    home: str
    top: bool

    @property
    def title(self) -> str:
        """The name as a user writes it behind ``pycute_xe.``."""
        return self.name if self.top else f"{self.module}.{self.name}"

    @property
    def page(self) -> str:
        """Its page. Some systems do not tell ``Layout.md`` from ``layout.md``."""
        capital = "-type" if self.name != self.name.lower() else ""
        return f"api/{self.module}/{self.name}{capital}.md"

    @property
    def paged(self) -> bool:
        """Whether it has a page: names that are made when a module runs stand on the module's."""
        return _definition(self.home, self.name) is not None

    @property
    def value(self) -> Any:
        """What it names."""
        return getattr(import_module(self.home), self.name)


def modules() -> list[str]:
    """Names of the package's modules that exist, lowest floor first."""
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    floors = next(item for item in linter["contracts"] if item["id"] == "floors")["layers"]
    names = [name for floor in reversed(floors) for name in re.findall(r"\w+", floor)]
    package = ROOT / PACKAGE
    return [
        name
        for name in names
        if (package / f"{name}.py").exists() or (package / name / "__init__.py").exists()
    ]


@cache
def names(module: str) -> tuple[Name, ...]:
    """Return the public names of a module: its own, and those that the package has of its parts."""
    path = f"{PACKAGE}.{module}"
    own = [n for n in getattr(import_module(path), "__all__", ()) if n not in _parts(path)]
    tops = {n: home for n, home in pycute_xe._HOME.items() if home != PACKAGE}
    more = [n for n, home in tops.items() if home.startswith(f"{path}.") and n not in own]
    here = [Name(module, n, path, tops.get(n) == path) for n in own]
    return (*here, *(Name(module, n, tops[n], True) for n in more))


def _parts(path: str) -> set[str]:
    """The submodules of a package, which list their names themselves."""
    listed = vars(import_module(path))
    return {name for name, value in listed.items() if inspect.ismodule(value)}


class Source(NamedTuple):
    """What the text of a module defines, with the docstrings of constants, and what it imports."""

    defined: dict[str, str]
    imported: dict[str, str]


@cache
def _source(path: str) -> Source:
    """Read the text of a module, as the reference does."""
    file = import_module(path).__file__
    source = Source({}, {})
    body = ast.parse(Path(str(file)).read_text(encoding="utf-8")).body
    for node in [n for part in body for n in (part.body if isinstance(part, ast.If) else [part])]:
        match node:
            case ast.ImportFrom(module=str() as home, names=imports):
                source.imported.update({n.asname or n.name: home for n in imports})
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                source.defined[name] = ""
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                source.defined[name] = ""
            case ast.Expr(value=ast.Constant(value=str() as text)) if source.defined:
                source.defined[list(source.defined)[-1]] = text
            case _:
                pass
    return source


@cache
def _definition(path: str, name: str) -> str | None:
    """The module whose text defines a name; None where a name is made when its module runs."""
    source = _source(path)
    if name in source.defined:
        return path
    home = source.imported.get(name)
    return _definition(home, name) if home and home.startswith(f"{PACKAGE}.") else None


def sentence(name: Name) -> str:
    """The first sentence of what a name's docstring says."""
    value = name.value
    if inspect.isclass(value) or inspect.isroutine(value):
        text = inspect.getdoc(value) or ""
    else:
        defined = _definition(name.home, name.name)
        text = _source(defined).defined[name.name] if defined else ""
    first = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=[.!?]) (?=[A-Z`])", first)[0]


def _module_page(module: str) -> str:
    """The page of a module: what it is, and its names."""
    rows = [f"| {_link(n)} | {_cell(sentence(n))} |" for n in names(module)]
    table = ["| name | |", "| --- | --- |", *rows] if rows else []
    options = ["    options:", "      members: false", "      show_submodules: false"]
    return "\n".join(
        [f"# {PACKAGE}.{module}", "", f"::: {PACKAGE}.{module}", *options, "", *table, ""]
    )


def _link(name: Name) -> str:
    """A name in the table of its module: a link where it has a page."""
    return f"[`{name.name}`]({name.page.removeprefix('api/')})" if name.paged else f"`{name.name}`"


def _cell(text: str) -> str:
    """A sentence as the cell of a table."""
    return re.sub(r"``(.+?)``", r"`\1`", text).replace("|", "\\|")


def _name_page(name: Name) -> str:
    """The page of a name: how it is imported, and all of its docstring."""
    home_page = f"{PACKAGE}.{name.module}"
    home = PACKAGE if name.top else home_page
    return "\n".join(
        [
            "---",
            f'title: "{name.title}"',
            "---",
            "",
            f"::: {name.home}.{name.name}",
            "    options:",
            "      heading_level: 1",
            f'      heading: "{name.title}"',
            "      show_root_heading: true",
            "      show_root_toc_entry: true",
            "",
            f"`from {home} import {name.name}` · a name of [{home_page}](../{name.module}.md)",
            "",
        ]
    )


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages of modules in the navigation."""
    pages = [{name: f"api/{name}.md"} for name in modules()]
    for item in config.nav or []:
        if isinstance(item, dict) and SECTION in item:
            item[SECTION].append({"What does a name of the library do? Reference": pages})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Create the reference pages in memory."""
    for module in modules():
        files.append(File.generated(config, f"api/{module}.md", content=_module_page(module)))
    for page, name in _by_page().items():
        files.append(File.generated(config, page, content=_name_page(name)))
    return files


@cache
def _by_page() -> dict[str, Name]:
    listed = [name for module in modules() for name in names(module)]
    return {name.page: name for name in listed if name.paged}


def on_page_markdown(*_: object, page: Page, **__: object) -> None:
    """Leave the text of the reference out of the search: titles and sentences are put in below."""
    if page.file.src_uri.startswith("api/"):
        page.meta["search"] = {"exclude": True}


def on_page_context(*_: object, page: Page, config: MkDocsConfig, **__: object) -> None:
    """Put a name's title, first sentence and members into the search's index."""
    name = _by_page().get(page.file.src_uri)
    search = config.plugins.get(SEARCH)
    if name is None or not getattr(search, "config", {}).get("enabled"):
        return
    inside = vars(name.value) if inspect.isclass(name.value) else ()
    members = " ".join(member for member in inside if member[0] != "_")
    text = f"<p>{escape(sentence(name), quote=False)}</p><p>{members}</p>"
    # What users import comes before what the library has for itself, and short names before long.
    raised = (2.0 if name.top else 0.5) - 0.1 * max(3, len(name.name.split("_")))
    entry = {
        "location": page.url,
        "title": name.title,
        "text": text,
        "boost": min(raised, weight(name.page)),
    }
    search.search_index.entries.append(entry)
