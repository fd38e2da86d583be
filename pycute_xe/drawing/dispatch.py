"""`draw`, the verb."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from pycute_xe.composed import ComposedLayout
from pycute_xe.drawing.drawing import Drawing
from pycute_xe.drawing.scene import Scene, marked, no_parts
from pycute_xe.drawing.side_by_side import Colours, coloured, of_layouts, of_slice
from pycute_xe.errors import ShapeError
from pycute_xe.layout import Layout
from pycute_xe.signatures import typed
from pycute_xe.typing import Coord

if TYPE_CHECKING:
    from pycute_xe.analysing import Analysis
    from pycute_xe.arch import Block2D
    from pycute_xe.arch.banks import BankUse
    from pycute_xe.arch.dpas import Dpas
    from pycute_xe.arch.lsc import Block2DMessage, Message
    from pycute_xe.atom import Block2DOp, LinearOp, MmaAtom, TiledCopy, TiledMma
    from pycute_xe.atom.copy_answers import CopyAnswers
    from pycute_xe.dialects import Distributed
    from pycute_xe.kernel import Counterexample, Kernel
    from pycute_xe.kernel.schedules import Plan, Timeline
    from pycute_xe.naming.subjects import Named

    AnyLayout = Layout | ComposedLayout
    Drawable = (
        Kernel
        | TiledMma
        | MmaAtom
        | TiledCopy
        | CopyAnswers
        | Block2DOp
        | LinearOp
        | Dpas
        | Named
        | Block2D
        | Message
        | Block2DMessage
        | BankUse
        | Analysis
        | Plan
        | Timeline
        | Distributed
        | AnyLayout
        | Mapping[str, AnyLayout]
    )

__all__ = ["Drawable", "draw"]


@typed
def draw(
    x: Drawable,
    what: str | None = None,
    *,
    subgroup: int = 0,
    colour: Colours | None = None,
    view: str | None = None,
    mark: Counterexample | None = None,
    tables: Mapping[str, Any] | None = None,
    coord: Coord = None,
) -> Drawing:
    """Return a drawing of who owns what: work-item T, value V, and the register byte.

    A `Kernel` is drawn as its registers stand when the MMA reads them (A, B) or has written them
    (D, or C): ``what`` names the operand, all three without it. The same for a `TiledMma` and an
    `MmaAtom`, of A, B and C; one operand of an atom also in registers and in work-items. So is
    every copy atom, ``what`` one of "memory", "registers" and "work-items", or all three: colours
    are those of the work-item that its layouts say, registers show what its messages do, and red
    corners mark where the two differ. Operations stand for their atoms, and text for what it names:
    "gemm", "XE_…", "kernel.json". A `TiledCopy` is
    drawn as it lies in memory, a `Block2D` message also as it lies in registers, padding included,
    an LSC `Message` at the addresses of its channels and in registers, a `BankUse` bank by bank,
    an `Analysis` access by access. A `Plan` of work-groups is drawn in time, a `Timeline` with as
    many places as it has, and what ``native.explain`` says of machine code instruction by
    instruction. A tensor of another project's layout (`dialects.layout_of`) is drawn whole,
    subgroups framed. A `Layout` or `ComposedLayout` of rank 1 or 2 is a grid of offsets; several,
    in a mapping by name, stand side by side. ``colour`` is a function of an offset: equal numbers
    modulo 16, equal colours; or such functions by name. With ``coord``, a coordinate that holds
    ``None``, the slice of a layout there is coloured and all else is not.
    ``subgroup`` selects one of a work-group's subgroups. ``view`` shows something else of it:
    "zooms" of a tiled MMA or copy the whole work-group at one glance, its subgroups, their
    instructions or messages, and the work-items of one; "permutation" of a tiled MMA its parts
    without and with it; "reorder" of a kernel's A or B the registers before and after it, with
    arrows. What a divide leaves has thick frames around its tiles. Of a layout ``view`` says how
    its modes are read: "tiles" as (tile, which tile), drawn in place in the matrix, "columns" so,
    each tile a column, "blocks" each mode as (inside, which tile), "grid" without tiles. Swizzles
    of more than 32 columns are folded, but for "grid".
    ``tables`` of a kernel with lengths, and sizes, by name as `run` takes them, show which
    work-group stores which rows of which request, ragged edges too, and whose each row of an
    output is; ``what`` names it, or an input, of which is shown which request loads which rows.
    ``mark`` is a counterexample of `verify`, of this thing: red corners mark what should be at the
    place, and what is, and the caption says what is wrong.
    Law: of an MMA or a faithful copy, cell (row, col) carries the lane and value whose register
    byte holds that element. Rows and columns are coordinates in the tile: A (m, k), B (k, n), D
    (m, n).
    Raises `ShapeError` for an operand that does not exist, a thing that cannot be drawn or one with
    too many cells, `CoordError` for a subgroup that does not exist and a ``coord`` that does not
    fit, `RankError` for layouts of other ranks than 1 and 2. C++: ``print_latex``.

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
    if not isinstance(what, (str, type(None))):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError("what is a name")  # which `typed` names
    if not isinstance(x, (Layout, ComposedLayout)):
        # A layout is drawn without what reads names.
        from pycute_xe.naming.subjects import subject_of

        x = subject_of("draw", x)
    if coord is not None:
        scene = _sliced(cast("object", x), what, colour, view, coord)
    elif isinstance(x, Layout | ComposedLayout | Mapping) or colour is not None:
        if tables is not None:
            from pycute_xe.drawing.of_rows import no_tables

            raise no_tables(cast("object", x))
        scene = _coloured(cast("object", x), what, colour, view)
    else:
        # Loading atoms and kernels takes a browser a second, and a layout needs none of them.
        from pycute_xe.drawing.values import scene_of

        scene = scene_of(x, what, subgroup, view, tables)
    return Drawing(scene if mark is None else marked(scene, mark.message, mark.element, mark.found))


def _sliced(
    x: object, what: str | None, colour: Colours | None, view: str | None, coord: Coord
) -> Scene:
    if isinstance(x, (Layout, ComposedLayout)) and what is None and colour is None and view is None:
        return of_slice(x, coord)
    raise ShapeError(
        "draw",
        {"x": type(x).__name__, "coord": coord},
        "only one layout is drawn with a slice, without colours or a view",
        "draw(layout, coord=(2, None))",
    )


def _coloured(x: object, what: str | None, colour: Colours | None, view: str | None) -> Scene:
    match x:
        case Layout() | ComposedLayout() if what is None and not isinstance(colour, Mapping):
            return coloured(x, colour, view)
        case Mapping() if what is None:
            by_name = cast("Mapping[Any, Any]", x)
            return of_layouts(by_name, cast("Colours | None", colour), view)
        case _ if colour is None:
            raise no_parts(x, what)
        case _:
            raise ShapeError(
                "draw",
                {"x": type(x).__name__, "what": what},
                "only layouts take colours: one function, or one by name for layouts by name",
                "draw(layout, colour=lambda offset: offset // 16), or leave colour out",
            )
