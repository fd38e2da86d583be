"""What `draw` says when it refuses."""

from __future__ import annotations

from pycute_xe.errors import ShapeError, with_article

__all__ = ["no_parts", "undrawn"]


def no_parts(x: object, what: str | None) -> ShapeError:
    """Return the refusal of a part, of what has none."""
    return ShapeError(
        "draw",
        {"x": type(x).__name__, "what": what},
        "only kernels, MMAs and copy atoms have parts to choose",
        "leave what out",
    )


def undrawn(x: object) -> ShapeError:
    """Return the refusal of a value that cannot be drawn."""
    return ShapeError(
        "draw",
        {"x": type(x).__name__},
        f"{with_article(type(x).__name__)} cannot be drawn",
        "give a Kernel, TiledMma, MmaAtom, TiledCopy, copy atom, Block2D, LSC message, BankUse, "
        "plan, layout or tensor, or layouts by name",
    )
