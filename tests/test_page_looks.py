"""What the site changes on its pages: the theme of drawings, and the wrapping of refusals."""

from __future__ import annotations

from pathlib import Path

import drawings
import page_looks
import pytest

import pycute_xe as cx

DOCS = Path(__file__).resolve().parent.parent / "docs"


def test_drawings_on_the_site_follow_its_theme_switch() -> None:
    drawing = cx.draw(cx.Layout((2, 4), (4, 1))).svg
    assert "prefers-color-scheme" in drawing  # elsewhere they follow the system
    shown = drawings.shown(drawing)
    assert "prefers-color-scheme" not in shown
    assert shown.count("[data-md-color-scheme=slate]{") == 1


def test_a_drawing_that_is_wider_than_its_page_scrolls_in_a_box_wherever_it_stands() -> None:
    drawing = cx.draw(cx.Layout((4, 200))).svg
    for before, after in (("", ""), ("<p>", "</p>"), ("<figure>", "</figure>")):
        marked = drawings.on_page_markdown(before + drawing + after)
        assert "<svg" not in marked
        shown = drawings.on_post_page(marked)
        assert shown.startswith(f"{before}{drawings.BOX}<svg ")
        assert shown.endswith(f"</svg></span>{after}")
    style = (DOCS / "assets" / "site.css").read_text()
    assert "overflow-x: auto" in style.partition(".md-typeset .drawing {")[2].partition("}")[0]


def test_only_the_line_of_a_refusal_may_wrap() -> None:
    before, after = "<pre><span></span><code>", "\nnext line\n</code></pre>"
    line = "RankError: get_slice(thread=9): 9 is wrong. Way out: use 0"
    shown = page_looks.on_page_content(f"<p>{line}</p>{before}{line}{after}")
    assert shown == f'<p>{line}</p>{before}<span class="refusal">{line}</span>{after}'


@pytest.mark.parametrize(
    "line",
    ["✗ XE_LOAD_2D&lt;16,32&gt;: pitch is 66. Way out: make pitch 68", "f(x): no. Way out: f(y)"],
)
def test_the_line_of_a_finding_may_wrap_too(line: str) -> None:
    before, after = "<pre><span></span><code>", "\n</code></pre>"
    shown = page_looks.on_page_content(f"{before}first\n{line}{after}")
    assert shown == f'{before}first\n<span class="refusal">{line}</span>{after}'


def test_the_figure_of_the_readme_is_drawn_by_this_version() -> None:
    mma = cx.make_tiled_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    saved = (DOCS / "assets" / "dpas_A.svg").read_text(encoding="utf-8")
    assert saved.strip() == cx.draw(mma, "A").svg.strip()
