"""Every kind of drawing can be read: labels in their cells, fonts, contrast, nothing cut.

Labels are as wide as `MONO` says, an upper bound for the fonts in use; prose is measured.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from dejavu import dejavu_width
from pictures import PICTURES
from svg_cells import SVG, root_of

from pycute_xe.drawing.scene import MONO

LEAST_FONT, LEAST_CONTRAST = 9, 4.5
Rules = dict[str, dict[str, str]]
Box = tuple[float, float, float, float]


def rules_of(svg: str) -> tuple[Rules, Rules]:
    """The style sheet by selectors without the drawing's id: of light pages, and of dark ones."""
    sheet = svg.split("<style>")[1].split("</style>")[0]
    light: Rules = defaultdict(dict)
    dark: Rules = defaultdict(dict)
    is_dark = False
    for line in sheet.splitlines():
        is_dark = is_dark or line.startswith("@media")
        found = re.match(r"(#[^{]+)\{(.*)\}$", line)
        for selector in found[1].split(",") if found else ():
            body = dict(part.split(":", 1) for part in found[2].split(";")) if found else {}
            for rules in (dark,) if is_dark else (light, dark):
                rules[selector.split(" ", 1)[-1]].update(body)
    return light, dark


@dataclass(frozen=True)
class Text:
    """A line of text: its selectors, the most specific last; its ends; its background; its box."""

    words: str
    selectors: tuple[str, ...]
    x: float
    y: float
    anchor: str
    ground: str
    box: Box | None

    def width(self, rules: Rules) -> float:
        prose = self.selectors[-1] in (".h", ".p", ".k0", ".bad")
        font = self.style(rules, "font-size")
        if prose:
            return dejavu_width(self.words, font, self.selectors[-1] in (".h", ".bad"))
        return len(self.words) * font * MONO

    def style(self, rules: Rules, name: str) -> float:
        return float(self.get(rules, name).removesuffix("px"))

    def get(self, rules: Rules, name: str) -> str:
        return [rules[s][name] for s in self.selectors if name in rules[s]][-1]

    def ends(self, rules: Rules) -> tuple[float, float]:
        wide = self.width(rules)
        left = self.x - {"start": 0, "middle": wide / 2, "end": wide}[self.anchor]
        return left, left + wide


def texts_of(svg: str) -> Iterator[Text]:
    """Every line of text; a label of two lines is two of them."""
    root = root_of(svg)
    yield from _texts(root, ())


def _texts(parent: ElementTree.Element, outside: tuple[str, ...]) -> Iterator[Text]:
    classes = (*outside, *parent.get("class", "").split())
    for element in parent:
        if element.tag == f"{SVG}text":
            yield from _lines(element, parent, classes)
        else:
            yield from _texts(element, classes)


def _lines(
    text: ElementTree.Element, parent: ElementTree.Element, classes: tuple[str, ...]
) -> Iterator[Text]:
    own = text.get("class", "").split()
    place = next((c for c in ("c", "k", "a") if c in classes[-4:]), "")
    names: dict[str, tuple[str, ...]] = {
        "c": (".c text", *([".s .c text"] if "s" in classes else [])),
        "k": (".k text",),
        "a": (".a text",),
        "": (),
    }
    selectors = ("text", *names[place])
    selectors += tuple(f".{c} text" for c in classes if c in ("none", "pad"))
    selectors += tuple(f".a .{c}" if place == "a" else f".{c}" for c in own)
    ends = {"w": "end", "l": "start"} if place == "a" else dict.fromkeys(("h", "p", "k0"), "start")
    anchor = next((ends[c] for c in own if c in ends), "middle")
    rect = parent.find(f"{SVG}rect") if place in ("c", "k") else None
    box = None
    ground = ".card"
    if rect is not None:
        x, y, w, h = (float(rect.get(name, "")) for name in ("x", "y", "width", "height"))
        box = x, y, w, h
        number = next((c for c in classes[::-1] if re.fullmatch(r"t\d+", c)), "")
        ground = f".{number} rect" if number else ".card"
    x, y = float(text.get("x", "")), float(text.get("y", ""))
    yield Text(text.text or "", selectors, x, y, anchor, ground, box)
    for part in text:
        if part.get("class") != "d":
            y += float(part.get("dy", ""))
            yield Text(part.text or "", selectors, x, y, anchor, ground, box)


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    channels = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.whole
@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.long
def test_each_picture_can_be_read(name: str) -> None:
    svg = PICTURES[name]().svg
    light, dark = rules_of(svg)
    width, height = map(float, root_of(svg).get("viewBox", "").split()[2:])
    beside: dict[float, list[tuple[float, float, str]]] = defaultdict(list)
    count = 0
    for text in texts_of(svg):
        if not text.words.strip():
            continue
        count += 1
        font, (left, right) = text.style(light, "font-size"), text.ends(light)
        assert font >= LEAST_FONT, text
        assert left >= 0, text
        assert right <= width, text
        assert 0.8 * font <= text.y <= height, text
        for rules in (light, dark):
            found = contrast(text.get(rules, "fill"), rules[text.ground]["fill"])
            assert found >= LEAST_CONTRAST, (text, found)
        if text.box is None:
            beside[text.y].append((left, right, text.words))
            continue
        x, y, w, h = text.box
        assert x - 0.5 <= left, text
        assert right <= x + w + 0.5, text
        # Digits and capitals are 0.75 of a font high.
        assert y <= text.y - 0.75 * font, text
        assert text.y <= y + h, text
    assert count > 20
    for arrow in root_of(svg).iter(f"{SVG}path"):
        if "arrow" in arrow.get("class", ""):
            top, bottom = (float(y) for y in re.findall(r"[\d.]+ ([\d.]+)", arrow.get("d", ""))[:2])
            assert not any(y - 8 < bottom and top < y for y in beside), "an arrow crosses text"
    boxes = {text.box for text in texts_of(svg) if text.box}
    for baseline, line in beside.items():
        for before, after in pairwise(sorted(line)):
            assert before[1] + 2 <= after[0], (before, after)
        # What stands beside cells is not on them.
        level = [b for b in boxes if b[1] < baseline and baseline - 7 < b[1] + b[3]]
        for left, right, words in line:
            assert not any(b[0] < right and left < b[0] + b[2] for b in level), words
