"""What the site's hooks make: pages per name, exercises, the gallery, small pictures, weights."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import api_pages
import atom_names
import exercises
import gallery_page
import page_looks
import pytest
import search_weights

import pycute_xe as cx
from pycute_xe.cutlass import shipped_names
from pycute_xe.playground import answer

DOCS = Path(__file__).resolve().parents[1] / "docs"
PATHS = sorted((DOCS / "paths").glob("*.md"))


def _value(expression: str) -> str:
    shown = answer({"kind": "expression", "text": expression})
    return "refused" if "error" in shown else shown["parts"][0][1]


def _asked(page: Path) -> list[exercises.Exercise]:
    return exercises.exercises(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PATHS, ids=lambda page: page.stem)
def test_the_answers_of_exercises_are_right_and_others_are_wrong(page: Path) -> None:
    for asked in _asked(page):
        for given, right in ((asked.answer, True), ("7:3", False)):
            if asked.kind == "holds":
                holds = _value(asked.condition.replace("?", given, 1)) == "True"
                assert holds == right, asked
            else:
                assert (_value(given) == _value(asked.condition)) == right, asked


def test_each_of_the_ten_steps_has_an_exercise() -> None:
    text = (DOCS / "paths" / "layouts.md").read_text(encoding="utf-8")
    steps = re.split(r"^## \d+\. ", text, flags=re.MULTILINE)[1:]
    assert [len(exercises.exercises(step)) for step in steps] == [1] * 10


def test_an_exercise_shows_its_question_a_field_and_the_answer_in_a_fold() -> None:
    shown = exercises.on_page_markdown("<!-- exercise: How many? | same | 4:1 | So many. -->")
    assert 'data-kind="same" data-condition="4:1"' in shown
    assert "<details><summary>Answer</summary><p><code>4:1</code>. So many.</p>" in shown
    with pytest.raises(ValueError, match="an exercise is a question"):
        exercises.on_page_markdown("<!-- exercise: How many? | about | 4 | So many. -->")


def test_every_public_name_has_a_page() -> None:
    paged = {name.name for name in api_pages._by_page().values() if name.top}
    public = {name for name in dir(cx) if not name.startswith("__")}
    folders = {"atom", "comparing", "cutlass", "dialects", "esimd", "files", "kernel", "native"}
    assert public - paged == folders


def test_no_two_pages_differ_in_capitals_alone() -> None:
    pages = [page.lower() for page in api_pages._by_page()]
    assert len(pages) == len(set(pages)) > 400


def test_a_name_is_listed_with_its_first_sentence() -> None:
    (coalesce,) = (n for n in api_pages.names("algebra") if n.name == "coalesce")
    listed = api_pages._module_page("algebra")
    assert f"| [`coalesce`](algebra/coalesce.md) | {api_pages.sentence(coalesce)}" in listed
    assert api_pages.sentence(coalesce).endswith((".", ":"))


def test_every_shipped_name_of_an_atom_has_a_page_with_a_picture() -> None:
    names = atom_names.names()
    assert set(shipped_names()) <= set(names)
    for name in ("XE_2D_U16x32x16_LD_V", "XE_2D_U8x32x16_LD_V::PREFETCH", "XE_2D_U32x8x16_ST_N"):
        page = atom_names.page(name)
        assert page.startswith(f"# {name}\n")
        for target in atom_names.TARGETS:
            assert f"| on {target} | " in page
        (drawn,) = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
        ElementTree.fromstring(drawn)


def test_a_small_picture_has_each_element_once_per_panel() -> None:
    page = atom_names.page("XE_2D_U16x8x16_LD_N")
    counts = re.findall(r'class="c o t(\d+)" data-cells="(\d+)"', page)
    assert len(counts) == 2 * 16
    assert {int(count) for _, count in counts} == {8}


def test_the_gallery_has_sixty_addresses_and_no_drawing_twice() -> None:
    rows = tomllib.loads((DOCS / "gallery.toml").read_text(encoding="utf-8"))["layout"]
    assert len({row["id"] for row in rows}) == len(rows) >= 60
    page = gallery_page.page()
    assert all(f"{{ #{row['id']} }}" in page for row in rows)
    drawn = re.findall(r'<svg [^>]*\bid="(cx-[^"]+)"', page)
    assert len(drawn) == len(set(drawn)) > 50


def test_prefetches_weigh_less_than_their_loads() -> None:
    load = search_weights.weight("atoms/names/XE_2D_U16x8x16_LD_N.md")
    assert search_weights.weight("atoms/names/XE_2D_U16x8x16_LD_N-PREFETCH.md") < load


def test_only_the_lists_beside_a_page_are_closed_up() -> None:
    lists = '<div class="md-sidebar md-sidebar--primary">\n <ul>\n </ul>\n'
    page = f'<pre>a\n\n<b>\n </b></pre>{lists}<div class="md-content"><pre><i>\n </i></pre>'
    shown = page_looks.on_post_page(page)
    assert "<b>\n </b>" in shown
    assert "<i>\n </i>" in shown
    assert "<ul></ul>" in shown
