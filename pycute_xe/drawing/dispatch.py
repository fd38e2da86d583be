"""Floor 9: `draw`, the verb."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pycute_xe.arch import Block2D
from pycute_xe.arch.banks import BankUse
from pycute_xe.arch.lsc import Block2DMessage, Message
from pycute_xe.atom import MmaAtom, TiledCopy, TiledMma
from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.composed import ComposedLayout
from pycute_xe.drawing.drawing import Drawing
from pycute_xe.drawing.of_banks import of_banks
from pycute_xe.drawing.of_block2d import of_block2d
from pycute_xe.drawing.of_copy import of_copy_atom, of_tiled_copy
from pycute_xe.drawing.of_lsc import of_lsc
from pycute_xe.drawing.of_mma import of_kernel, of_mma_atom, of_tiled_mma
from pycute_xe.drawing.of_reorder import of_reorder
from pycute_xe.drawing.of_schedule import of_schedule
from pycute_xe.drawing.of_zooms import of_permutation, of_zooms
from pycute_xe.drawing.scene import Scene
from pycute_xe.drawing.side_by_side import Colours, coloured, of_layouts
from pycute_xe.errors import ShapeError, quoted
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.schedules import Plan, Timeline
from pycute_xe.layout import Layout
from pycute_xe.signatures import typed

__all__ = ["Drawable", "draw"]

AnyLayout = Layout | ComposedLayout
Drawable = (
    Kernel
    | TiledMma
    | MmaAtom
    | TiledCopy
    | CopyAnswers
    | Block2D
    | Message
    | Block2DMessage
    | BankUse
    | Plan
    | Timeline
    | AnyLayout
    | Mapping[str, AnyLayout]
)


@typed
def draw(
    x: Drawable,
    what: str | None = None,
    *,
    subgroup: int = 0,
    colour: Colours | None = None,
    view: str | None = None,
) -> Drawing:
    """Return a drawing of who owns what: work-item T, value V, and the register byte.

    A `Kernel` is drawn as its registers stand when the MMA reads them (A, B) or has written them
    (D, or C): ``what`` names the operand, all three without it. The same for a `TiledMma` and an
    `MmaAtom`, of A, B and C; one operand of an atom also in registers and in work-items. So is
    every copy atom, ``what`` one of "memory", "registers" and "work-items", or all three: colours
    are those of the work-item that its layouts say, registers show what its messages do, and red
    corners mark where the two differ. A `TiledCopy` is drawn as it lies in memory, a `Block2D`
    message also as it lies in registers, padding included, an LSC `Message` at the addresses of its
    channels and in registers, a `BankUse` bank by bank. A `Plan` of work-groups is drawn in time,
    a `Timeline` with as many places as it has. A `Layout` or
    `ComposedLayout` of rank 1 or 2 is a grid of offsets; several, in a mapping by name, stand side
    by side. ``colour`` is a function of an offset: equal numbers modulo 16, equal colours; or
    such functions by name.
    ``subgroup`` selects one of a work-group's subgroups. ``view`` shows something else of it:
    "zooms" of a tiled MMA or copy the tile by subgroups, a subgroup's share by instructions, one
    of them by work-items; "permutation" of a tiled MMA its parts without and with it; "reorder" of
    a kernel's A or B the registers before and after it, with arrows.
    Law: of an MMA or a faithful copy, cell (row, col) carries the lane and value whose register
    byte holds that element. Rows and columns are coordinates in the tile: A (m, k), B (k, n), D
    (m, n).
    Raises `ShapeError` for an operand that does not exist, a thing that cannot be drawn or one with
    too many cells, `CoordError` for a subgroup that does not exist, `RankError` for layouts of
    other ranks than 1 and 2. C++: ``print_latex``.

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
    if view is not None:
        return Drawing(_viewed(x, what, subgroup, view))
    return Drawing(_scene(x, what, subgroup) if colour is None else _coloured(x, what, colour))


def _viewed(x: object, what: str | None, subgroup: int, view: str) -> Scene:
    match view, x:
        case "zooms", TiledMma() | TiledCopy():
            return of_zooms(x, what, subgroup)
        case "permutation", TiledMma():
            return of_permutation(x, what)
        case "reorder", Kernel():
            return of_reorder(x, what, subgroup)
        case _:
            raise ShapeError(
                "draw",
                {"x": type(x).__name__, "view": view},
                f"a {type(x).__name__} cannot be drawn as {quoted(view)}",
                'use "zooms" of a TiledMma or TiledCopy, "permutation" of a TiledMma, '
                '"reorder" of a Kernel',
            )


def _coloured(x: object, what: str | None, colour: Colours) -> Scene:
    match x:
        case Layout() | ComposedLayout() if what is None and callable(colour):
            return coloured(x, colour)
        case Mapping() if what is None:
            return of_layouts(cast("Mapping[Any, Any]", x), colour)
        case _:
            raise ShapeError(
                "draw",
                {"x": type(x).__name__, "what": what},
                "only layouts take colours: one function, or one by name for layouts by name",
                "draw(layout, colour=lambda offset: offset // 16), or leave colour out",
            )


def _scene(x: object, what: str | None, subgroup: int) -> Scene:
    match x:
        case Kernel():
            return of_kernel(x, what, subgroup)
        case TiledMma():
            return of_tiled_mma(x, what, subgroup)
        case MmaAtom():
            return of_mma_atom(x, what)
        case CopyAnswers():
            return of_copy_atom(x, what)
        case _ if what is not None:
            raise ShapeError(
                "draw",
                {"x": type(x).__name__, "what": what},
                "only kernels, MMAs and copy atoms have parts to choose",
                "leave what out",
            )
        case TiledCopy():
            return of_tiled_copy(x, subgroup)
        case Plan() | Timeline() | BankUse() | Block2D() | Message() | Block2DMessage():
            return _instruction(x)
        case Layout() | ComposedLayout():
            return coloured(x)
        case Mapping():
            return of_layouts(cast("Mapping[Any, Any]", x))
        case _:
            raise _refusal(x)


def _instruction(
    x: Plan | Timeline | BankUse | Block2D | Message | Block2DMessage,
) -> Scene:
    if isinstance(x, (Plan, Timeline)):
        return of_schedule(x)
    if isinstance(x, BankUse):
        return of_banks(x)
    return of_block2d(x) if isinstance(x, Block2D) else of_lsc(x)


def _refusal(x: object) -> ShapeError:
    if isinstance(x, str) and x.lstrip().startswith("lsc_"):
        condition = "text cannot be drawn, the message that it says can"
        return ShapeError("draw", {"x": x}, condition, "draw(pycute_xe.arch.lsc.parse(text))")
    if isinstance(x, str):
        return ShapeError(
            "draw",
            {"x": x},
            "a name cannot be drawn, the atom of that name can",
            f'draw(get_atom("{x}"))',
        )
    return ShapeError(
        "draw",
        {"x": type(x).__name__},
        f"a {type(x).__name__} cannot be drawn",
        "give a Kernel, TiledMma, MmaAtom, TiledCopy, copy atom, Block2D, LSC message, BankUse, "
        "plan or layout, or layouts by name",
    )
