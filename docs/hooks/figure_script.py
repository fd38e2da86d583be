"""Takes the script and the style of drawings from the package, which has them for notebooks too."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

import pycute_xe.drawing

FOLDER = Path(pycute_xe.drawing.__file__).parent
TAKEN = {"javascripts/figures.js": "figures.js", "assets/figures.css": "figures.css"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Put them beside those of the site."""
    for path, name in TAKEN.items():
        content = (FOLDER / name).read_text(encoding="utf-8")
        files.append(File.generated(config, path, content=content))
    return files
