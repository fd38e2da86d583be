"""What the site's hooks make: pages per name, exercises, the gallery, small pictures, weights."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from urllib.parse import parse_qsl
from xml.etree import ElementTree

import api_pages
import atom_names
import atom_sizes
import drawings
import executed
import exercises
import figure_modes
import gallery_kernels
import gallery_page
import gallery_records
import kernel_pictures
import operation_pictures
import page_looks
import pytest
import repository
import search_weights
import social_pictures

import pycute_xe as cx
from pycute_xe.cutlass import catalogue, shipped_names
from pycute_xe.playground import answer

DOCS = Path(__file__).resolve().parents[1] / "docs"
PATHS = sorted((DOCS / "paths").glob("*.md"))


def _value(expression: str) -> str:
    shown = answer({"kind": "expression", "text": expression})
    return "refused" if "error" in shown else shown["parts"][0][1]


def _is_shown(condition: str, given: str) -> bool:
    """Whether the playground answers a request, with the answer put in, by some words."""
    fields, _, words = condition.partition(" => ")
    request = {key: value.replace("?", given) for key, value in parse_qsl(fields)}
    shown = answer(request)
    return "error" not in shown and all(w in shown["parts"][0][1] for w in words.split(" & "))


def _asked(page: Path) -> list[exercises.Exercise]:
    return exercises.exercises(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PATHS, ids=lambda page: page.stem)
def test_the_answers_of_exercises_are_right_and_others_are_wrong(page: Path) -> None:
    for asked in _asked(page):
        for given, right in ((asked.answer, True), ("7:3", False)):
            if asked.kind == "asks":
                assert _is_shown(asked.condition, given) == right, asked
            elif asked.kind == "holds":
                holds = _value(asked.condition.replace("?", given, 1)) == "True"
                assert holds == right, asked
            else:
                assert (_value(given) == _value(asked.condition)) == right, asked


def test_each_of_the_ten_steps_has_an_exercise() -> None:
    text = (DOCS / "paths" / "layouts.md").read_text(encoding="utf-8")
    steps = re.split(r"^## \d+\. ", text, flags=re.MULTILINE)[1:]
    assert [len(exercises.exercises(step)) for step in steps] == [1] * 10


@pytest.mark.parametrize("page", PATHS, ids=lambda page: page.stem)
def test_a_path_says_how_long_it_takes_and_counts_its_steps(page: Path) -> None:
    title, text = page.read_text(encoding="utf-8").split("\n", 1)
    steps = re.findall(r"^## (\d+)\. ", text, re.MULTILINE)
    assert re.search(r"About \d+ minutes\.", text)
    assert steps == [str(number + 1) for number in range(len(steps))]
    assert title.endswith(f"in {['eight', 'ten'][len(steps) == 10]} steps")


def test_an_exercise_shows_its_question_a_field_and_the_answer_in_a_fold() -> None:
    shown = exercises.on_page_markdown("<!-- exercise: How many? | same | 4:1 | So many. -->")
    assert 'data-kind="same" data-condition="4:1"' in shown
    assert "<details><summary>Answer</summary><p><code>4:1</code>. So many.</p>" in shown
    with pytest.raises(ValueError, match="an exercise is a question"):
        exercises.on_page_markdown("<!-- exercise: How many? | about | 4 | So many. -->")


@pytest.mark.long
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


@pytest.mark.long
def test_the_gallery_has_sixty_layouts_and_twenty_kernels_each_at_an_address() -> None:
    rows = tomllib.loads((DOCS / "gallery.toml").read_text(encoding="utf-8"))["layout"]
    entries = gallery_page.entries()
    names = [one.name for one in entries]
    assert len(set(names)) == len(names)
    assert len(rows) >= 60
    assert len(entries) - len(rows) >= 20
    page = gallery_page.page()
    for one in entries:
        assert f'<li id="{one.name}"' in page
        assert one.small.startswith(("<svg ", "<span "))
    for row in rows:
        shown = gallery_page.entry_page(names.index(row["id"]))
        assert "| claim | " in shown
        assert "| proof | " in shown
        assert "```python" in shown


def test_the_gallery_refuses_a_layout_that_is_not_what_it_claims() -> None:
    row = {"id": "x", "title": "x", "shows": "x", "expression": "(2,3):(3,1)"}
    gallery_page._claimed({**row, "formula": "3*i + j"})
    with pytest.raises(ValueError, match="is taken to"):
        gallery_page._claimed({**row, "formula": "i + 2*j"})


@pytest.mark.long
def test_the_gallery_finds_by_operation_atom_type_and_target() -> None:
    page = gallery_page.page()
    for facet, value in (
        ("operation", "composition"), ("operation", "mma"), ("atom", "XE_LOAD_2D_VNNI"),
        ("type", "bf16"), ("target", "bmg"),
    ):  # fmt: skip
        assert f'name="{facet}"' in page
        assert re.search(rf'data-{facet}="[^"]*\b{value}\b', page), value


def test_a_kernel_s_page_shows_its_subgroups_and_the_work_items_of_one() -> None:
    page = gallery_kernels.GalleryKernel("gemm").body
    groups, items = (
        ElementTree.fromstring(svg)
        for svg in re.findall(r'<svg [^>]*class="small".*?</svg>', page, re.DOTALL)
    )
    assert groups.get("data-owners") == "subgroup"
    shared, places = "{http://www.w3.org/2000/svg}g", [32 * 32, 32 * 64, 32 * 64]
    counts = [int(str(part.get("data-cells"))) for part in groups.iter(shared)]
    assert sum(counts) == sum(places)
    # Rows of A are shared by the subgroups side by side, columns of B by those below each other.
    owners = [str(part.get("class")).split()[2:] for part in groups.iter(shared)]
    assert owners[:4] == [["t0", "t1"], ["t2", "t3"], ["t0", "t2"], ["t1", "t3"]]
    held = [int(str(part.get("data-cells"))) for part in items.iter(shared)]
    assert held == [32] * 16 + [64] * 16 + [32] * 16


@pytest.mark.long
@pytest.mark.parametrize("name", gallery_records.names())
def test_a_kernel_is_pictured_as_its_statements_fill_registers(name: str) -> None:
    """The picture is of what the MMA multiplies; `draw` of the kernel follows its statements."""
    kernel = gallery_records.kernel_of(name)
    shown = list(kernel_pictures.panels(kernel))
    assert shown
    if "of the MMA" in shown[0].name:
        for mine, whole in zip(shown, cx.draw(kernel).scene.panels, strict=False):
            seen = [
                {(c.row, c.col, c.colour, dict(c.data).get("value")) for c in panel.cells}
                for panel in (mine, whole)
            ]
            assert seen[0] == seen[1], mine.name


@pytest.mark.whole
@pytest.mark.parametrize("name", gallery_records.names())
def test_what_is_recorded_of_a_kernel_is_the_kernel(name: str) -> None:
    record = gallery_kernels.GalleryKernel(name).record
    assert record["listing"] == str(gallery_records.kernel_of(name)), "make the record anew"
    assert record["verdict"]["answer"] == "proved"
    assert record["made"]["scratch"] == 0
    statements = [title for _, title, _ in record["made"]["parts"]]
    assert len(statements) > 4


@pytest.mark.long
def test_a_recorded_proof_and_machine_code_are_what_the_library_and_the_compiler_say() -> None:
    record = gallery_kernels.GalleryKernel("relu").record
    kernel = gallery_records.kernel_of("relu")
    assert gallery_records.verdict_of(kernel) == record["verdict"]
    there = [tool for tool in cx.native.toolchains() if gallery_records.COMPILER in str(tool)]
    if not there:
        pytest.skip("the compiler of the records is not unpacked (make compilers)")
    assert gallery_records.code_of(kernel) == record["made"]


def test_a_copy_exchanges_the_names_of_its_block_by_mode() -> None:
    assert figure_modes.modes("XE_2D_U16x16x16_LD_N") == {
        "N": "XE_2D_U16x16x16_LD_N",
        "T": "XE_2D_U16x16x16_LD_T",
        "V": "XE_2D_U16x16x16_LD_V",
    }
    assert figure_modes.modes("XE_2D_U32x8x16_ST_N") == {}
    html = drawings.on_page_markdown(atom_names.page("XE_2D_U16x16x16_LD_N"))
    html = drawings.on_post_page(html)
    assert re.findall(r'<template data-mode="(\w+)"', html) == ["V", "T"]


def test_pages_of_templates_and_families_show_a_member_and_its_fields() -> None:
    pages = {family.page: atom_sizes.page(family) for family in atom_sizes.FAMILIES[:2]}
    shown = pages["XE_LOAD_2D_VNNI"]
    for part in ("What it does", "Formula", "Registers", "XE_LOAD_2D_VNNI<16,16,16,16>"):
        assert part in shown.replace("&lt;", "<").replace("&gt;", ">")
    assert shown.count("<select ") == 5
    named = {family.name.partition("<")[0] for family in atom_sizes.FAMILIES}
    assert {name.partition("<")[0] for name in catalogue() if "<" in name} == named


def test_prefetches_weigh_less_than_their_loads() -> None:
    load = search_weights.weight("atoms/names/XE_2D_U16x8x16_LD_N.md")
    assert search_weights.weight("atoms/names/XE_2D_U16x8x16_LD_N-PREFETCH.md") < load


def test_all_of_a_page_but_listings_and_scripts_is_closed_up() -> None:
    kept = "<pre>a\n\n<b>\n </b></pre>", "<script>a\n  b</script>", "<textarea> \n</textarea>"
    for listing in kept:
        page = f"<ul>\n <li>a  b\n\n</li>\n</ul>\n\n{listing}\n\n"
        assert page_looks.on_post_page(page) == f"<ul> <li>a b </li> </ul> {listing} "


EXAMPLE = """Before.

```python exec="true" source="above" result="text" session="a"
print(6 * 7)
```

<!-- prints
42
-->

After.
"""


def test_a_page_has_the_code_of_a_block_and_what_it_prints() -> None:
    printed = executed.outputs(executed.blocks(EXAMPLE))
    assert printed == ["42\n"]
    page = executed.replaced(EXAMPLE, printed)
    assert "```python\nprint(6 * 7)\n```\n\n````text\n42\n````\n" in page
    assert "<!--" not in page


def test_a_stale_page_and_a_failing_block_are_told() -> None:
    assert executed.stale(EXAMPLE, ["42\n"]) == []
    assert executed.stale(EXAMPLE, ["41\n"]) == [3]
    failed = executed._run(EXAMPLE.replace("6 * 7", "6 * x"))
    assert isinstance(failed, str)
    assert "NameError: name 'x' is not defined" in failed


def test_a_link_to_a_page_s_origin_is_that_of_the_remote() -> None:
    for remote in ("git@some.host:a/b.git", "https://some.host/a/b", "ssh://git@some.host/a/b.git"):
        assert repository.address(remote) == "https://some.host/a/b"
    assert repository.address("/srv/git/b") == ""


def test_each_operation_of_the_index_has_a_picture() -> None:
    text = (DOCS / "algebra" / "index.md").read_text()
    pictured = operation_pictures.with_pictures(text)
    drawn = re.findall(r'<span class="drawn".*?</span>(?= \|)', pictured)
    assert len(drawn) == len(re.findall(r"^\| `", text, re.MULTILINE))
    for one in drawn:
        assert len(one) < 8_000
        assert ElementTree.fromstring(one).findall(".//path")
    with pytest.raises(KeyError):
        operation_pictures.with_pictures(text + "\n| `new` | law | [page](x.md) |")


def test_social_pictures_are_of_pages_that_there_are_and_fit() -> None:
    for page, (title, words, drawn) in social_pictures.PICTURES.items():
        assert page == "gallery.md" or (DOCS / page).exists()
        svg = ElementTree.fromstring(social_pictures.picture(title, words, drawn()))
        assert (svg.get("width"), svg.get("height")) == ("600", "315")
