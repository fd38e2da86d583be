"""Floor 9: `draw`, the verb."""

from __future__ import annotations

from pycute_xe.atom import CopyAtom, MmaAtom, TiledCopy, TiledMma
from pycute_xe.drawing.drawing import Drawing
from pycute_xe.drawing.of_copy import of_copy_atom, of_tiled_copy
from pycute_xe.drawing.of_layout import of_layout
from pycute_xe.drawing.of_mma import of_kernel, of_mma_atom, of_tiled_mma
from pycute_xe.drawing.scene import Scene
from pycute_xe.errors import ShapeError
from pycute_xe.kernel import Kernel
from pycute_xe.layout import Layout

__all__ = ["Drawable", "draw"]

Drawable = Kernel | TiledMma | MmaAtom | TiledCopy | CopyAtom | Layout


def draw(x: Drawable, what: str | None = None, *, subgroup: int = 0) -> Drawing:
    """Return a drawing of who owns what: work-item T, value V, and the register byte.

    A `Kernel` is drawn as its registers stand when the MMA reads them (A, B) or has written them
    (D, or C): ``what`` names the operand, all three without it. The same for a `TiledMma` and an
    `MmaAtom`, of A, B and C. A `TiledCopy` or `CopyAtom` is drawn as it lies in memory. A `Layout`
    of rank 1 or 2 is a grid of offsets. ``subgroup`` selects one of a work-group's subgroups.
    Law: of an MMA or a faithful copy, cell (row, col) carries the lane and value whose register
    byte holds that element. Rows and columns are coordinates in the tile: A (m, k), B (k, n), D
    (m, n).
    Raises `ShapeError` for an operand that does not exist, a thing that cannot be drawn or one with
    too many cells, `CoordError` for a subgroup that does not exist, `RankError` for layouts of more
    than two modes. C++: ``print_latex``.

    >>> import pycute_xe as cx
    >>> drawing = draw(cx.make_mma_atom(cx.XE_DPAS_TT(8, "f32", "bf16")), "A")
    >>> drawing.title
    'Who holds A of XE_DPAS_TT<8,f32,bf16,bf16,f32>'
    >>> print(draw(cx.Layout((2, 4), (4, 1))).text(width=80, colour=False))
    Layout (2,4):(4,1)
    8 coordinates to offsets below 8.
    <BLANKLINE>
    mode 0 ↓ mode 1 →
      0 1 2 3
    0 0 1 2 3
    1 4 5 6 7
    """
    return Drawing(_scene(x, what, subgroup))


def _scene(x: object, what: str | None, subgroup: int) -> Scene:
    match x:
        case Kernel():
            return of_kernel(x, what, subgroup)
        case TiledMma():
            return of_tiled_mma(x, what, subgroup)
        case MmaAtom():
            return of_mma_atom(x, what)
        case _ if what is not None:
            raise ShapeError(
                "draw", {"x": type(x).__name__, "what": what}, "it has no operands", "leave it out"
            )
        case TiledCopy():
            return of_tiled_copy(x, subgroup)
        case CopyAtom():
            return of_copy_atom(x)
        case Layout():
            return of_layout(x)
        case _:
            raise ShapeError(
                "draw",
                {"x": type(x).__name__},
                "there is no drawing of such a value",
                "a Kernel, TiledMma, MmaAtom, TiledCopy, CopyAtom or Layout",
            )
