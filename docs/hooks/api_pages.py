"""Adds one reference page per module to the site, from the lowest floor to the highest.

The order is that of the floors contract in pyproject.toml, which names every module: a new
module is documented without touching the site's configuration.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "pycute_xe"


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


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the reference pages in the navigation."""
    pages = [{name: f"api/{name}.md"} for name in modules()]
    config.nav = [*(config.nav or []), {"Reference": pages}]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Create the reference pages in memory."""
    for name in modules():
        content = f"# {PACKAGE}.{name}\n\n::: {PACKAGE}.{name}\n"
        files.append(File.generated(config, f"api/{name}.md", content=content))
    return files
