"""A small picture of each operation in the index of the algebra: operands, an arrow, the result.

The pictures are colours of the library's own drawings, a cell for each coordinate and a colour for
each offset; `PICTURES` says what is drawn beside which row, by the first name of the row.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape

import small_pictures
from mkdocs.structure.pages import Page

from pycute_xe.algebra.swizzled import group
from pycute_xe.drawing import draw
from pycute_xe.expressions import evaluate

PAGE = "algebra/index.md"
ARROW = "→"

# What is drawn for a row, by its first name: expressions, and arrows between operands and results.
PICTURES: dict[str, str] = {
    "Layout": "(4,4):(4,1)",
    "crd2idx": "(4,4):(1@0,1@1) → (4,4):(4,1)",
    "size": "(4,6):(1,5)",
    "slice_": "(4,4):(4,1) → slice_((2, _), (4,4):(4,1))",
    "get": "((2,2),8):((1,16),2) → get(((2,2),8):((1,16),2), 0)",
    "coalesce": "((2,2),(3,2)):((1,2),(4,20)) → coalesce(((2,2),(3,2)):((1,2),(4,20)))",
    "filter_zeros": "(4,(2,4)):(0,(1,2)) → filter((4,(2,4)):(0,(1,2)))",
    "composition": "(4,4):(4,1); (2,4):(1,4) → composition((4,4):(4,1), (2,4):(1,4))",
    "with_shape": "(4,4):(4,1) → with_shape((4,4):(4,1), (2, 8))",
    "complement": "(2,4):(1,4) → complement((2,4):(1,4), 32)",
    "right_inverse": "(4,4):(4,1) → right_inverse((4,4):(4,1))",
    "left_inverse": "(2,4):(1,4) → left_inverse((2,4):(1,4))",
    "nullspace": "(2,4,2):(1,0,2) → nullspace((2,4,2):(1,0,2))",
    "logical_divide": "16:1 → logical_divide(16:1, 4:2)",
    "zipped_divide": "(4,4):(4,1) → zipped_divide((4,4):(4,1), (2, 2))",
    "logical_product": "(2,2):(2,1) → logical_product((2,2):(2,1), (2,3):(1,2))",
    "zipped_product": "(2,2):(2,1) → tiled_product((2,2):(2,1), (2,3):(1,2))",
    "blocked_product": "(2,3):(3,1) → blocked_product((2,3):(3,1), (2,2):(1,2))",
    "raked_product": "(2,3):(3,1) → raked_product((2,3):(3,1), (2,2):(1,2))",
    "tile_to_shape": "(2,2):(2,1) → tile_to_shape((2,2):(2,1), (4, 6))",
    "make_ordered_layout": "make_ordered_layout((4, 4), (1, 0))",
    "make_layout_like": "(4,4):(10,2) → make_layout_like((4,4):(10,2))",
    "sort": "(4,4):(4,1) → sort((4,4):(4,1))",
    "upcast": "(4,4):(4,1) → upcast((4,4):(4,1), 2)",
    "recast_layout": "(4,4):(4,1) → recast_layout((4,4):(4,1), 32, 16)",
    "max_common_vector": "(4,4):(1,4); (2,4):(1,4) → max_common_layout((4,4):(1,4), (2,4):(1,4))",
    "layout_add": "(4,4):(1,0); (4,4):(0,4) → layout_add((4,4):(1,0), (4,4):(0,4))",
    "greatest_common_domain": "(4,6):(1,4); (8,3):(1,8) → greatest_common_domain((4,6), (8,3))",
    "common_refinement": "(4,6):(1,4) → ((2,2),6):((1,2),4)",
    "coalesce_z": "(2,4,1):(1,2,0) → coalesce_z((2,4,1):(1,2,0))",
    "hier_unzip": "(4,4):(4,1) → zipped_divide((4,4):(4,1), (2, 2))",
    "E": "make_identity_layout((4, 4))",
    "Swizzle": "(8,8):(8,1) → composition(Swizzle(3, 0, 3), (8,8):(8,1))",
    "ComposedLayout": "ComposedLayout(Swizzle(2, 0, 3), 0, (4,4):(4,1))",
    "F2": "(4,4):(1,4) → composition(Swizzle(2, 0, 2), (4,4):(1,4))",
    "BitMatrix": "(4,4):(1,4) → composition(Swizzle(1, 0, 3), (4,4):(1,4))",
    "Chained": "(4,4):(4,1) → composition((4,4):(1,4), (4,4):(4,1))",
    "analysis": "(4,4):(4,1) → composition(Swizzle(2, 0, 3), (4,4):(4,1))",
    "congruent": "(4,6):(1,4) → (4,(2,3)):(1,(4,8))",
    "is_injective": "(4,4):(1,2); (4,4):(1,5); (4,4):(4,1)",
    "functionally_equal": "(2,8):(1,2); (4,4):(1,4)",
    "image": "(4,4):(1,2) → image((4,4):(1,2))",
    "make_tensor": "make_identity_layout((4, 4)) → (4,4):(4,1)",
    "local_tile": "(4,4):(4,1) → composition((4,4):(4,1), (2, 2))",
    "local_partition": "(4,4):(4,1) → composition((4,4):(4,1), (2:2, 4:2))",
    "symbol": "(4,4):(4,1); (4,4):(4,1)",
    "table": "(4,4):(4,1) → coalesce((4,4):(1,4))",
    "leading_dim": "(4,4):(1,4); (4,4):(4,1)",
    "domain_offset": "(4,4):(4,1) → composition((4,4):(4,1), (2, 4))",
    "make_layout_tv": "(2,4):(4,1); (2,2):(2,1) → raked_product((2,4):(4,1), (2,2):(2,1))",
    "make_layout_image_mask": "(4,4):(4,1) → composition((4,4):(4,1), (4:1, 1:0))",
    "product": "(2,3):(1,2) → 6:1",
    "shape_div": "(4,4):(1,4) → composition((4,4):(1,4), (2, 4))",
    "elem_less": "(4,4):(1,4) → composition((4,4):(1,4), (2, 3))",
    "explain": "(4,4):(4,1) → composition((4,4):(4,1), 8:2)",
}

_ROW = re.compile(r"^(\| `(\w+)`.*)( \| \[[^|]*\|)$", re.MULTILINE)


def picture(text: str) -> str:
    """Return the drawings of a row side by side; the text is what a screen reader says."""
    sides = [
        "".join(_drawn(part.strip()) for part in side.split(";")) for side in text.split(ARROW)
    ]
    said = escape(text, quote=True)
    arrow = f"<b>{ARROW}</b>"
    return (
        f'<span class="drawn" role="img" aria-label="{said}" title="{said}">'
        f"{arrow.join(sides)}</span>"
    )


@cache
def _drawn(expression: str) -> str:
    value = evaluate(expression)
    value = group(value, 0, len(value) - 1) if len(value) > 2 else value  # a grid has two modes
    return small_pictures.thumbnail(draw(value).scene.panels[0], 64)


def with_pictures(markdown: str) -> str:
    """Return the index with a picture below the law of each row; every row has one, or it fails."""
    left = dict(PICTURES)

    def row(match: re.Match[str]) -> str:
        return f"{match[1]}<br>{picture(left.pop(match[2]))}{match[3]}"

    markdown = _ROW.sub(row, markdown)
    if left:
        raise ValueError(f"{PAGE}: no row for {sorted(left)}")
    return markdown


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Put the pictures into the index."""
    return with_pictures(markdown) if page.file.src_uri == PAGE else markdown
