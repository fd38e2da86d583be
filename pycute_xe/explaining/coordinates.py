"""How inverses and complements of layouts of coordinates come to their results, axis by axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycute_xe.algebra.axes import axes_of
from pycute_xe.basis import Basis
from pycute_xe.errors import CuteError
from pycute_xe.explaining.explanation import Script, mode_text
from pycute_xe.layout import Layout
from pycute_xe.layout.core import moves

__all__ = ["along_axes"]


def along_axes(
    operation: Callable[..., Layout], explainer: Callable[..., Any]
) -> Callable[..., Any]:
    """Return an explainer that lists the modes of each axis where a layout maps to coordinates.

    >>> from pycute_xe.algebra import right_inverse
    >>> from pycute_xe.basis import E
    >>> script = Script()
    >>> told = along_axes(right_inverse, lambda script, layout: None)
    >>> print(told(script, Layout((4, 5), (E(1), E(0)))), len(script.steps))
    (5,4):(4,1) 3
    """

    def explained(script: Script, layout: Any, *more: Any) -> Any:
        if not isinstance(layout, Layout) or not moves(layout.stride):
            return explainer(script, layout, *more)
        try:
            axes = axes_of(operation.__name__, layout)
            result = operation(layout, *more)
        except CuteError as error:
            script.stop(error.condition)
        for path, placed in sorted(axes.items()):
            listed = ", ".join(
                f"{mode_text((s, Basis(d, path)))} from index {at}" for s, d, at in placed
            )
            script.say(f"along {Basis(1, path)}: {listed}")
        script.say("each axis by itself, a mode for each", result)
        return result

    return explained
