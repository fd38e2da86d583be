"""Makes the gallery of docs/gallery.toml: worked layouts, each at an address that stays."""

from __future__ import annotations

import tomllib
from pathlib import Path
from urllib.parse import urlencode

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from pycute_xe.playground import answer

ROWS = Path(__file__).resolve().parents[1] / "gallery.toml"


def page() -> str:
    """Return the page as Markdown."""
    listed = tomllib.loads(ROWS.read_text(encoding="utf-8"))["layout"]
    lines = [
        "# Gallery: layouts worth knowing",
        "",
        (
            f"{len(listed)} layouts, each with an address of its own and a link to its steps. "
            "The library worked them out when the page was built."
        ),
        "",
    ]
    for row in listed:
        lines += _section(row)
    return "\n".join(lines)


def _section(row: dict[str, str]) -> list[str]:
    expression = row["expression"]
    worked = answer({"kind": "expression", "text": expression})
    if "error" in worked:
        raise ValueError(f"{row['id']}: {worked['error']}")
    value = worked["parts"][0][1]
    asked = urlencode({"kind": "expression", "text": expression})
    shown = f"`{expression}` = `{value}`" if value != expression else f"`{value}`"
    figure = [f'<figure markdown="0">{worked["svg"]}</figure>', ""] if worked["svg"] else []
    return [
        f"## {row['title']} {{ #{row['id']} }}",
        "",
        f"{shown}. {row['shows']} [Its steps](playground.md?{asked}).",
        "",
        *figure,
    ]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Create the page in memory."""
    files.append(File.generated(config, "gallery.md", content=page()))
    return files
