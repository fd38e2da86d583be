"""Floor 9: notebooks that show kernels, atoms and layouts by themselves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape
from typing import Any

from pycute_xe.errors import InputError

__all__ = ["register_ipython"]

_SHOWN = {
    ("pycute_xe.layout.core", "Layout"),
    ("pycute_xe.composed", "ComposedLayout"),
    ("pycute_xe.atom.mma_atom", "MmaAtom"),
    ("pycute_xe.atom.copy_atom", "CopyAtom"),
    ("pycute_xe.atom.legacy_copy", "LegacyCopyAtom"),
    ("pycute_xe.atom.linear_copy", "LinearCopyAtom"),
    ("pycute_xe.atom.tiled_mma", "TiledMma"),
    ("pycute_xe.atom.tiled_copy", "TiledCopy"),
}
# What tells itself as text: kernels by their listing, and what readers found, line by line.
_TOLD = {
    ("pycute_xe.kernel.ir.program", "Kernel"),
    ("pycute_xe.checking.report", "Checked"),
    ("pycute_xe.verifying.verdict", "Verdict"),
    ("pycute_xe.executing.report", "Report"),
    ("pycute_xe.atom.differing", "AtomDiff"),
    ("pycute_xe.atom.feeding", "Feed"),
    ("pycute_xe.explaining.explanation", "Explanation"),
}


def register_ipython(shell: Any = None) -> bool:
    """Teach IPython's SVG formatter the values that can be drawn; tell whether there is one.

    Without ``shell`` it is the running one; nothing happens outside IPython. What cannot be drawn
    keeps its text. Importing `pycute_xe.drawing` calls this.

    >>> register_ipython()
    False
    """
    shell = _running() if shell is None else shell
    if shell is None:
        return False
    formatters = getattr(getattr(shell, "display_formatter", None), "formatters", None)
    if formatters is None:
        raise InputError(
            "register_ipython",
            {"shell": type(shell).__name__},
            "it is not a shell of IPython",
            "leave it out to use the running one",
        )
    formatter = formatters["image/svg+xml"]
    for module, name in sorted(_SHOWN):
        formatter.for_type_by_name(module, name, _svg)
    for module, name in sorted(_TOLD):
        formatters["text/html"].for_type_by_name(module, name, _html)
        formatters["text/plain"].for_type_by_name(module, name, _plain)
    return True


def _html(value: Any) -> str:
    """Lines as they are, which scroll where they are wider than the page."""
    return (
        f'<pre style="overflow-x:auto;white-space:pre;line-height:1.35">{escape(str(value))}</pre>'
    )


def _plain(value: Any, printer: Any, cycle: bool) -> None:  # noqa: ARG001 - as IPython calls it
    """Print the text instead of the constructor's call."""
    printer.text(str(value))


def _running() -> Any:
    """The IPython shell of this process, if IPython was loaded at all."""
    get_ipython: Callable[[], Any] | None
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_ipython() if get_ipython else None


def _svg(value: Any) -> str | None:
    # Here, not above: the package calls register_ipython while it is being imported.
    from pycute_xe.drawing.dispatch import draw
    from pycute_xe.errors import CuteError

    try:
        return draw(value).svg
    except CuteError:
        return None
