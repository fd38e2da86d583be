"""Shows the doctests of a docstring as code.

Docstrings hold their examples as plain ``>>>`` lines, which Markdown would read as nested
quotations.
"""

from __future__ import annotations

import re

import griffe

EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).+)*(?:\n\n>>> .*(?:\n(?!\s*$).+)*)*", re.MULTILINE)


def fenced(text: str) -> str:
    """The docstring with each run of examples in a code fence."""
    return EXAMPLE.sub(lambda found: f"```pycon\n{found.group()}\n```", text)


class DoctestFences(griffe.Extension):
    """Rewrites each docstring as it is collected."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Fence the examples of one module, class, function or attribute."""
        if obj.docstring and ">>> " in obj.docstring.value:
            obj.docstring.value = fenced(obj.docstring.value)
