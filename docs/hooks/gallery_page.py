"""Makes the gallery: a page that is searched, and one for each layout and kernel, which stays.

Layouts are rows of docs/gallery.toml, worked out and held against what is claimed when the site is
built. Kernels are files of examples/gallery/, shown with what docs/gallery/ records of them.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache, reduce
from html import escape
from itertools import product
from operator import xor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import gallery_kernels
import small_pictures
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from pycute_xe import Layout, draw, size
from pycute_xe.algebra import laws
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import CuteError
from pycute_xe.expressions import evaluate, outermost
from pycute_xe.kernel.spec.equations import read_index
from pycute_xe.playground import answer

ROWS = Path(__file__).resolve().parents[1] / "gallery.toml"
FACETS = ("operation", "atom", "type", "target")


@dataclass(frozen=True)
class Shown:
    """An entry of the gallery: address, words, a thumbnail, its page, and what finds it."""

    name: str
    title: str
    shows: str
    small: str
    body: str
    found_by: dict[str, tuple[str, ...]] = field(default_factory=dict)


@cache
def entries() -> tuple[Shown, ...]:
    """Everything in the gallery: layouts, then kernels."""
    listed = tomllib.loads(ROWS.read_text(encoding="utf-8"))["layout"]
    kernels = [
        Shown(k.address, k.title, k.shows, k.thumbnail, k.body, k.found_by)
        for k in gallery_kernels.kernels()
    ]
    return (*map(_layout, listed), *kernels)


# ------------------------------------------------------------ layouts


def _layout(row: dict[str, str]) -> Shown:
    expression = row["expression"]
    worked = answer({"kind": "expression", "text": expression})
    if "error" in worked:
        raise ValueError(f"{row['id']}: {worked['error']}")
    claim, proof, operation = _claimed(row)
    found = {"operation": (operation,), "atom": row.get("atoms", ()), "type": row.get("types", ())}
    return Shown(
        row["id"], row["title"], row["shows"], _thumbnail(expression),
        _body(row, worked, claim, proof), {k: tuple(v) for k, v in found.items()},
    )  # fmt: skip


def _claimed(row: dict[str, str]) -> tuple[str, str, str]:
    """What is claimed of a layout, how it was shown, and the operation that makes it.

    A row with a formula claims that; else the law of the operation is judged at every coordinate.
    """
    expression, value = row["expression"], evaluate(row["expression"])
    if "formula" in row and isinstance(value, (Layout, ComposedLayout)):
        names = _agrees(row["id"], value, row["formula"])
        operation = expression.partition("(")[0] or "layout"
        if not operation.isidentifier():
            operation = "swizzle" if operation.startswith("Sw") else "layout"
        count = size(value)
        shown = f"the formula and the layout were compared at each of the {count} coordinates"
        return f"takes the coordinate `({names})` to `{row['formula']}`", shown, operation
    function, operands = outermost(expression)
    operation = function.__name__
    broken = getattr(laws, operation)(*operands, value)
    if broken is not None:
        raise ValueError(f"{row['id']}: {broken}")
    steps = dict(answer({"kind": "expression", "text": expression})["parts"])
    told = (getattr(laws, operation).__doc__ or "").partition("\n\n")[0]
    rule = steps.get("Law") or " ".join(told.partition("``: ")[2].split())
    count = f" of {size(value)}" if isinstance(value, Layout) else ""
    proof = f"`algebra.laws.{operation}` judges each{count} coordinates, by the meaning alone"
    return f"the law of `{operation}`: {rule}", proof.replace("each of", "each of the"), operation


def _agrees(name: str, value: Layout | ComposedLayout, formula: str) -> str:
    """Compare a layout with a formula of its coordinates; return their names."""
    shape = value.shape if isinstance(value.shape, tuple) else (value.shape,)
    names: tuple[str, ...] = ("i", "j", "k")[: len(shape)]
    parts = [read_index(part, names, "gallery") for part in formula.split("^")]
    for at in product(*(range(size(mode)) for mode in shape)):
        coordinate = dict(zip(names, at, strict=True))
        said = reduce(xor, (part.at(coordinate) for part in parts))
        if value(*at) != said:
            raise ValueError(f"{name}: {at} is taken to {value(*at)}, not to {said}")
    return ", ".join(names)


def _thumbnail(expression: str) -> str:
    try:
        return small_pictures.thumbnail(draw(evaluate(expression)).scene.panels[0])
    except CuteError:
        return small_pictures.words(str(evaluate(expression)))


def _body(row: dict[str, str], worked: dict[str, Any], claim: str, proof: str) -> str:
    expression, value = row["expression"], worked["parts"][0][1]
    asked = urlencode({"kind": "expression", "text": expression})
    shown = f"`{expression}` = `{value}`" if value != expression else f"`{value}`"
    lines = [
        f"{shown}. {row['shows']}",
        "",
        "| | |",
        "| --- | --- |",
        f"| claim | {claim.replace('|', '&#124;')} |",
        f"| proof | {proof} |",
        "",
        f"[Try it in the playground](../playground.md?{asked}), with its steps.",
        "",
    ]
    if worked["svg"]:
        lines += [f'<figure markdown="0">{worked["svg"]}</figure>', ""]
    for language, key in (("python", "python"), ("cpp", "cpp")):
        if worked[key]:
            lines += [f"```{language}", str(worked[key]).rstrip(), "```", ""]
    return "\n".join(lines)


# ------------------------------------------------------------ pages


def page() -> str:
    """Return the page that lists everything, as Markdown."""
    layouts = sum(1 for one in entries() if "target" not in one.found_by)
    kernels = len(entries()) - layouts
    return "\n".join(
        [
            "---",
            "title: Gallery of layouts and kernels",
            "hide: [toc]",
            "---",
            "",
            "# Gallery: layouts and kernels worth knowing",
            "",
            (
                f"{layouts} layouts and {kernels} kernels, each at an address that stays, with "
                "what is claimed of it, its proof, a picture and code; kernels with the machine "
                "code beside their statements."
            ),
            "",
            _search(),
            "",
            f'<ul class="gallery" markdown="0">{"".join(map(_card, entries()))}</ul>',
            "",
        ]
    )


def _search() -> str:
    fields = "".join(
        f'<label>{facet} <select name="{facet}"><option value="">any</option>'
        + "".join(f"<option>{escape(value)}</option>" for value in _values(facet))
        + "</select></label>"
        for facet in FACETS
    )
    return (
        '<form class="gallery-search" hidden markdown="0">'
        '<label>words <input name="q" type="search" autocomplete="off" spellcheck="false"></label>'
        f'{fields}<span role="status" aria-live="polite"></span></form>'
    )


def _values(facet: str) -> list[str]:
    return sorted({value for one in entries() for value in one.found_by.get(facet, ())})


def _card(one: Shown) -> str:
    found = "".join(
        f' data-{facet}="{escape(" ".join(values))}"' for facet, values in one.found_by.items()
    )
    return (
        f'<li id="{one.name}"{found}><a href="{one.name}/">{one.small}'
        f"<strong>{escape(one.title)}</strong></a><span>{escape(one.shows)}</span></li>"
    )


def entry_page(index: int) -> str:
    """Return the page of one entry, with links to its neighbours, as Markdown."""
    one, listed = entries()[index], entries()
    before, after = listed[index - 1], listed[(index + 1) % len(listed)]
    return "\n".join(
        [
            f"# {one.title}",
            "",
            one.body,
            "",
            (
                f"[← {before.title}]({before.name}.md) · [Gallery](../gallery.md#{one.name}) · "
                f"[{after.title} →]({after.name}.md)"
            ),
            "",
        ]
    )


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Create the pages in memory."""
    files.append(File.generated(config, "gallery.md", content=page()))
    for index, one in enumerate(entries()):
        files.append(File.generated(config, f"gallery/{one.name}.md", content=entry_page(index)))
    return files
