"""Floor 9: notebooks that show kernels, atoms and layouts by themselves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from pycute_xe.drawing import tables
from pycute_xe.errors import InputError

__all__ = ["register_ipython"]

_SHOWN = {
    ("pycute_xe.layout.core", "Layout"),
    ("pycute_xe.composed", "ComposedLayout"),
    ("pycute_xe.atom.mma_atom", "MmaAtom"),
    ("pycute_xe.atom.copy_atom", "CopyAtom"),
    ("pycute_xe.cutlass.legacy_copy", "LegacyCopyAtom"),
    ("pycute_xe.atom.linear_copy", "LinearCopyAtom"),
    ("pycute_xe.atom.tiled_mma", "TiledMma"),
    ("pycute_xe.atom.tiled_copy", "TiledCopy"),
}
# What is a table, or lines, and how: kernels show their listing, the others what readers found.
_TOLD = {
    ("pycute_xe.kernel.ir.kernel", "Kernel"): tables.as_text,
    ("pycute_xe.checking.report", "Checked"): tables.checked,
    ("pycute_xe.verifying.verdict", "Verdict"): tables.verdict,
    ("pycute_xe.executing.report", "Report"): tables.report,
    ("pycute_xe.comparing.differing", "AtomDiff"): tables.diff,
    ("pycute_xe.comparing.feed", "Feed"): tables.feed,
    ("pycute_xe.comparing.atom_record", "FoundAtoms"): tables.atoms,
    ("pycute_xe.explaining.explanation", "Explanation"): tables.explanation,
}


def register_ipython(shell: Any = None) -> bool:
    """Teach IPython to show values as pictures or tables; tell whether there is an IPython.

    Without ``shell`` it is the running one; nothing happens outside IPython. What cannot be drawn
    keeps its text; what readers found becomes a table of HTML. Importing
    `pycute_xe.drawing` calls this.

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
    for (module, name), shown in sorted(_TOLD.items()):
        formatters["text/html"].for_type_by_name(module, name, shown)
        formatters["text/plain"].for_type_by_name(module, name, _plain)
    return True


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
