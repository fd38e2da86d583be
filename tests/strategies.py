"""Hypothesis strategies for layouts.

Each strategy builds what its operation accepts, so a test that draws from it catches nothing: a
refusal is a failure. Sizes stay small enough to check every coordinate in a loop.
"""

from __future__ import annotations

from math import prod
from typing import Any

from hypothesis import strategies as st

from pycute_xe.algebra import complement
from pycute_xe.algebra.compose import scaled
from pycute_xe.basis import E
from pycute_xe.int_tuple import flatten_tuple, product_each, unflatten_tuple
from pycute_xe.layout import Layout, cosize, make_identity_layout, make_layout, rank, size
from pycute_xe.typing import Mode

EXTENTS = st.sampled_from((1, 2, 3, 4, 5, 6, 7, 8, 9, 12))
COIN = st.booleans()
STRIDES = st.one_of(st.just(0), st.integers(1, 24), st.sampled_from((1, 2, 4, 8, 16, 32, 100)))
GAPS = st.sampled_from((1, 1, 2, 3, 5))
SIGNED = STRIDES | st.integers(-24, -1)


@st.composite
def extents(draw: st.DrawFn, max_leaves: int = 4, max_size: int = 64) -> list[int]:
    """Leaves of a shape, powers of two or not, 1 among them; their product is bounded."""
    return _extents(draw, max_size, max_leaves)


def _extents(draw: st.DrawFn, max_size: int, max_leaves: int = 4) -> list[int]:
    found: list[int] = []
    for _ in range(draw(st.integers(1, max_leaves))):
        extent = draw(EXTENTS)
        if prod(found) * extent <= max_size:
            found.append(extent)
    return found or [1]


@st.composite
def profiles(draw: st.DrawFn, leaves: int, depth: int = 3, leaf: bool = True) -> Any:
    """A nesting of so many leaves; all leaves are 0. A single one may stay an integer."""
    return _profile(draw, leaves, depth, leaf)


def _profile(draw: st.DrawFn, leaves: int, depth: int = 3, leaf: bool = True) -> Any:
    if leaves == 1 and (depth == 0 or (leaf and draw(COIN))):
        return 0 if leaf else (0,)
    if depth <= 1:
        return (0,) * leaves
    # One draw for all places between two leaves: a bit says whether to cut there.
    cuts = draw(st.integers(0, (1 << (leaves - 1)) - 1)) if leaves > 1 else 0
    groups = [1]
    for place in range(leaves - 1):
        if cuts >> place & 1:
            groups.append(1)
        else:
            groups[-1] += 1
    if len(groups) == 1 and leaves > 1:
        return (0,) * leaves
    return tuple(_profile(draw, n, depth - 1) for n in groups)


def shapes(max_leaves: int = 4, max_size: int = 64) -> st.SearchStrategy[Any]:
    """Nested shapes of bounded size."""
    return extents(max_leaves, max_size).flatmap(nested)


def nested(flat: list[int]) -> st.SearchStrategy[Any]:
    """The same leaves, nested somehow."""
    return profiles(len(flat)).map(lambda profile: unflatten_tuple(tuple(flat), profile))


def nest(draw: st.DrawFn, modes: list[Mode], as_tuple: bool = False) -> Layout:
    """A layout of these (extent, stride) leaves, nested somehow."""
    profile = _profile(draw, len(modes), leaf=not as_tuple)
    return Layout(
        unflatten_tuple(tuple(s for s, _ in modes), profile),
        unflatten_tuple(tuple(d for _, d in modes), profile),
    )


@st.composite
def layouts(draw: st.DrawFn, max_size: int = 64, negative: bool = False) -> Layout:
    """Any layout: compact leaves, gaps, overlaps, stride 0, extent 1."""
    strides = SIGNED if negative else STRIDES
    modes: list[Mode] = []
    reach = 1
    for extent in _extents(draw, max_size):
        # Half of the leaves continue the one before: what coalesce and inverses look for.
        stride = reach if draw(COIN) else draw(strides)
        modes.append((extent, stride))
        reach = extent * stride
    return nest(draw, modes)


@st.composite
def injective_layouts(
    draw: st.DrawFn, max_size: int = 64, gaps: bool = True, fill: bool = False
) -> Layout:
    """One offset for each coordinate, leaves in any order, with even gaps unless told otherwise.

    With ``fill``, stride-0 leaves are mixed in: then one coordinate once those are left out.
    """
    flat = _extents(draw, max_size)
    modes: list[Mode] = []
    reach = 1
    for extent in flat:
        reach *= draw(GAPS) if gaps else 1
        modes.append((extent, reach))
        reach *= extent
    if fill:
        modes += [(draw(st.integers(1, 4)), 0)] * draw(st.integers(0, 1))
    return nest(draw, draw(st.permutations(modes)))


def bijections(max_size: int = 64) -> st.SearchStrategy[Layout]:
    """Compact layouts: every offset below the size is hit once."""
    return injective_layouts(max_size, gaps=False)


@st.composite
def coordinate_layouts(draw: st.DrawFn, shape: Any) -> Layout:
    """A layout into coordinates of a shape: its modes in any order, with some steps and repeats."""
    rank = len(shape) if isinstance(shape, tuple) else 1
    modes: list[Mode] = []
    for i in draw(st.permutations(range(rank))):
        modes.append((draw(st.integers(1, 4)), draw(st.integers(1, 3)) * E(i)))
    if draw(COIN):
        modes.insert(draw(st.integers(0, len(modes))), (draw(st.integers(1, 3)), 0))
    return nest(draw, modes)


def _factors(n: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.sampled_from([(f, n // f) for f in range(1, n + 1) if n % f == 0])


def _digits(draw: st.DrawFn, layout: Layout) -> list[Mode]:
    """The domain of a layout as digits (extent, weight); some digits are split in two."""
    digits: list[Mode] = []
    weight = 1
    for extent in flatten_tuple(layout.shape):
        for factor in draw(_factors(extent)):
            if factor > 1:
                digits.append((factor, weight))
            weight *= factor
    if flatten_tuple(layout.shape)[-1] == 1:
        # The last mode has no end, even when only its first element is inside.
        digits.append((1, weight))
    return digits


def _runs(draw: st.DrawFn, digits: list[Mode]) -> list[list[Mode]]:
    """Neighbouring digits gathered into walks."""
    runs: list[list[Mode]] = []
    for digit in digits:
        if runs and draw(COIN):
            runs[-1].append(digit)
        else:
            runs.append([digit])
    return runs


@st.composite
def walks(draw: st.DrawFn, layout: Layout) -> Layout:
    """A layout that composes with ``layout``: each leaf walks over neighbouring digits.

    The last digit of a walk may be walked in part and the last of all beyond its end; leaves come
    in any order, some are missing, and repeats (stride 0) and single elements are mixed in.
    """
    digits = _digits(draw, layout)
    modes: list[Mode] = []
    for run in _runs(draw, digits):
        if draw(st.integers(0, 3)) == 0:
            continue
        top = run[-1]
        steps = draw(st.integers(1, top[0]))
        if top == digits[-1] and draw(COIN):
            steps += draw(st.integers(0, 2)) * top[0]
        modes.append((prod(s for s, _ in run[:-1]) * steps, run[0][1]))
    if draw(COIN):
        modes.append((draw(st.integers(1, 3)), 0))
    if draw(COIN):
        modes.append((1, draw(st.integers(0, 9))))
    return nest(draw, draw(st.permutations(modes or [(1, 0)])))


@st.composite
def tilers(draw: st.DrawFn, layout: Layout, repeats: bool = False) -> Layout:
    """A layout that divides ``layout`` evenly: whole digits of its domain, in any order."""
    runs = [run for run in _runs(draw, _digits(draw, layout)) if draw(COIN)]
    modes: list[Mode] = [(prod(s for s, _ in run), run[0][1]) for run in runs]
    if repeats and draw(COIN):
        modes.append((draw(st.integers(2, 3)), 0))
    return nest(draw, draw(st.permutations(modes or [(1, 0)])))


@st.composite
def mode_tilers(draw: st.DrawFn, layout: Layout) -> Any:
    """A tuple of tilers for the first modes of a layout: integers, layouts, ``None``, tuples."""
    parts: list[Any] = []
    for mode in list(layout)[: draw(st.integers(1, len(layout)))]:
        kind = draw(st.sampled_from(("layout", "integer", "keep", "tuple")))
        if kind == "layout":
            parts.append(draw(tilers(mode)))
        elif kind == "integer":
            # An integer n walks the first n elements: whole leading digits.
            parts.append(prod(s for s, _ in _digits(draw, mode)[: draw(st.integers(0, 3))]))
        elif kind == "tuple" and isinstance(mode.shape, tuple):
            parts.append(draw(mode_tilers(mode)))
        else:
            parts.append(None)
    return tuple(parts)


@st.composite
def layout_and(draw: st.DrawFn, part: Any, whole: st.SearchStrategy[Layout]) -> tuple[Layout, Any]:
    """A layout, and something that is drawn for it."""
    layout = draw(whole)
    return layout, draw(part(layout))


def ranked(whole: st.SearchStrategy[Layout]) -> st.SearchStrategy[Layout]:
    """The same layouts, their shapes tuples."""
    return whole.map(lambda a: a if isinstance(a.shape, tuple) else make_layout(a))


@st.composite
def cut_coordinates(draw: st.DrawFn, shape: Any) -> Any:
    """A coordinate of a shape where some modes, at any depth, hold ``None``."""
    if not isinstance(shape, tuple):
        return None if draw(COIN) else draw(st.integers(0, shape - 1))
    kind = draw(st.sampled_from(("modes", "modes", "keep", "index")))
    if kind == "modes":
        return tuple(draw(cut_coordinates(mode)) for mode in shape)
    return None if kind == "keep" else draw(st.integers(0, prod(flatten_tuple(shape)) - 1))


@st.composite
def tilings(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The extents of a tensor and a tile that divides them, mode by mode."""
    pairs = draw(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=3))
    return tuple(tile * count for tile, count in pairs), tuple(tile for tile, _ in pairs)


def identities(max_size: int = 64) -> st.SearchStrategy[Layout]:
    """Identity layouts of nested shapes."""
    return shapes(max_size=max_size).map(make_identity_layout)


@st.composite
def mode_walks(draw: st.DrawFn, max_size: int = 64) -> tuple[Layout, Layout]:
    """A layout, and a walk in coordinates over some of its modes."""
    a = draw(ranked(layouts(max_size)))
    order = draw(st.permutations(range(rank(a))))
    chosen = order[: draw(st.integers(1, rank(a)))]
    return a, make_layout(*(scaled(draw(walks(a[i])), E(i)) for i in chosen))


@st.composite
def blocks_and_copies(draw: st.DrawFn, repeats: bool = False) -> tuple[Layout, Layout]:
    """A block, and places for copies of it that its gaps and what follows it can hold."""
    block = draw(injective_layouts(max_size=12, fill=repeats))
    free = complement(block, cosize(block) * 6)
    return block, draw(walks(free))


@st.composite
def blocks_and_mode_copies(draw: st.DrawFn) -> tuple[Layout, tuple[Any, ...]]:
    """A block, and for its first modes ``None``, places or a tuple of those."""
    block = draw(ranked(injective_layouts(max_size=12, gaps=False)))
    return block, draw(_mode_copies(block))


@st.composite
def _mode_copies(draw: st.DrawFn, block: Layout) -> tuple[Any, ...]:
    parts: list[Any] = []
    for mode in list(block)[: draw(st.integers(1, rank(block)))]:
        kind = draw(st.sampled_from(("places", "places", "integer", "keep", "tuple")))
        if kind == "tuple" and isinstance(mode.shape, tuple):
            parts.append(draw(_mode_copies(mode)))
        elif kind == "integer":
            parts.append(draw(st.integers(1, 3)) if cosize(mode) == size(mode) else 1)
        else:
            parts.append(
                None if kind == "keep" else draw(walks(complement(mode, cosize(mode) * 4)))
            )
    return tuple(parts)


@st.composite
def filled_shapes(draw: st.DrawFn) -> tuple[Layout, tuple[Any, ...], tuple[int, ...]]:
    """A compact block, a shape that copies of it fill, and an order of the shape's modes."""
    block = draw(bijections(12))
    extents_ = [*product_each(block.shape), *([1] * draw(st.integers(0, 1)))]
    target = []
    for extent in extents_:
        factors = draw(st.lists(st.integers(1, 3), max_size=1))
        target.append(draw(nested([extent, *factors])))
    return block, tuple(target), draw(st.permutations(range(len(target))).map(tuple))


@st.composite
def packed_layouts(draw: st.DrawFn) -> tuple[Layout, int]:
    """A layout and a count, such that no element of one unit lies in another."""
    n = draw(st.sampled_from((1, 2, 3, 4, 6, 8)))
    modes: list[Mode] = []
    used = 1
    for _ in range(draw(st.integers(1, 3))):
        inside = [d for d in range(used, n) if n % d == 0]
        stride = draw(st.sampled_from([0, *inside, *(n * k for k in (1, -1, 3, -5))]))
        extent = draw(st.integers(1, 9))
        if stride in inside:
            used = stride * extent
        modes.append((extent, stride))
    return nest(draw, modes), n


@st.composite
def contiguous_layouts(draw: st.DrawFn, max_size: int = 24, negative: bool = True) -> Layout:
    """Any layout with a leaf of stride 1 somewhere."""
    other = draw(layouts(max_size // 4, negative=negative))
    modes = list(zip(flatten_tuple(other.shape), flatten_tuple(other.stride), strict=True))
    modes.insert(draw(st.integers(0, len(modes))), (draw(st.integers(1, 4)), 1))
    return nest(draw, modes)


@st.composite
def strides_for(draw: st.DrawFn, shape: Any, strides: st.SearchStrategy[Any]) -> Any:
    """A tuple that nests as a shape does, its leaves drawn."""
    flat = tuple(draw(strides) for _ in flatten_tuple(shape))
    return unflatten_tuple(flat, shape)
