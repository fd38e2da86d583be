"""Names of a package that are imported when they are first used.

A package lists its names as a type checker reads them, imported under ``if TYPE_CHECKING:``, and
says ``__getattr__ = deferred(__name__, __file__)``. What imports one module of the package then
loads that module and what it needs, and nothing else of the package.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["deferred"]


def deferred(package: str, file: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package, by the imports under its ``if TYPE_CHECKING:``.

    >>> deferred("pycute_xe.kernel", "no file")("Kernel")
    Traceback (most recent call last):
        ...
    AttributeError: module 'pycute_xe.kernel' has no attribute 'Kernel'
    """
    homes: dict[str, str] = {}

    def get(name: str) -> Any:
        if not homes:
            homes.update(_homes(Path(file)))
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get


def _homes(file: Path) -> dict[str, str]:
    """The module of every name that a file imports under a condition."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    parts = (
        part for node in ast.parse(text).body if isinstance(node, ast.If) for part in node.body
    )
    imports = [part for part in parts if isinstance(part, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}
