"""Pictures for links to the front, the paths and the gallery, where a page is shared.

Drawn as SVG and made pixels by resvg; without it the pages have their words alone. The address is
complete where SITE_URL says where the site is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from html import escape

import gallery_kernels
import small_pictures
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from pycute_xe import XE_DPAS_TT, Layout, draw, get_atom, make_tiled_mma
from pycute_xe.drawing.png import as_png
from pycute_xe.drawing.style import SANS_FAMILY
from pycute_xe.errors import ToolError

FOLDER = "assets/social"
WIDE, HIGH = 600, 315
log = logging.getLogger("mkdocs.plugins.social")


def _layout() -> str:
    return small_pictures.thumbnail(draw(Layout((8, 8), (8, 1))).scene.panels[0])


def _owners() -> str:
    atom = get_atom("XE_2D_U16x16x16_LD_V")
    return small_pictures.thumbnail(draw(atom, "registers").scene.panels[0])


def _operand() -> str:
    mma = make_tiled_mma(XE_DPAS_TT(8, "f32", "bf16"))
    return small_pictures.thumbnail(draw(mma, "B").scene.panels[0])


def _code() -> str:
    return gallery_kernels.mosaic(gallery_kernels.GalleryKernel("bias_relu").kinds, 18, 7)


PICTURES: dict[str, tuple[str, tuple[str, ...], Callable[[], str]]] = {
    "index.md": (
        "pycute_xe",
        ("CuTe's layout algebra for Intel Xe,", "in Python, on a CPU"),
        _operand,
    ),
    "paths/layouts.md": (
        "CuTe layouts in ten steps",
        ("with exercises that the", "library checks"),
        _layout,
    ),
    "paths/ownership.md": (
        "Who owns what",
        ("from the name of an atom", "to a proof, in eight steps"),
        _owners,
    ),
    "paths/kernel.md": (
        "Design a kernel",
        ("from nothing to attention,", "proved, in ten steps"),
        _code,
    ),
    "gallery.md": (
        "Gallery",
        ("layouts and kernels, each with", "claim, proof and code"),
        _layout,
    ),
}
"""The pages: title, words, and what is drawn beside them."""


def picture(title: str, words: tuple[str, ...], drawn: str) -> str:
    """Return the picture of a page as SVG."""
    inside = drawn.replace("<svg ", '<svg x="340" y="52" preserveAspectRatio="xMidYMid" ', 1)
    wide, high = (inside.split(f'{side}="')[1].split('"')[0] for side in ("width", "height"))
    inside = inside.replace(f'width="{wide}" height="{high}"', 'width="220" height="220"', 1)
    lines = "".join(
        f'<text x="36" y="{190 + 26 * at}" font-size="17" fill="#dfe6ee">{escape(line)}</text>'
        for at, line in enumerate(words)
    )
    parts = [title] if len(title) < 18 else _halves(title)
    heads = "".join(
        f'<text x="36" y="{150 - 36 * (len(parts) - 1 - at)}" font-size="30" font-weight="700" '
        f'fill="#fff">{escape(part)}</text>'
        for at, part in enumerate(parts)
    )
    name = '<text x="36" y="48" font-size="15" fill="#afe3ea">pycute_xe</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDE}" height="{HIGH}" '
        f'viewBox="0 0 {WIDE} {HIGH}"><rect width="{WIDE}" height="{HIGH}" fill="#1b2733"/>'
        f"<g font-family='{SANS_FAMILY}'>{name}{heads}{lines}</g>{inside}</svg>"
    )


def _halves(title: str) -> list[str]:
    words = title.split()
    half = -(-len(words) // 2)
    return [" ".join(words[:half]), " ".join(words[half:])]


def file_of(page: str) -> str:
    """The picture of a page."""
    return f"{FOLDER}/{page.removesuffix('.md').replace('/', '-')}.png"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Draw them."""
    try:
        for page, (title, words, drawn) in PICTURES.items():
            pixels = as_png(picture(title, words, drawn()))
            files.append(File.generated(config, file_of(page), content=pixels))
    except ToolError as error:
        log.info(f"no social pictures: {error}")
    return files


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Name a page's picture, and its words, for those that show links to it."""
    if page.file.src_uri not in PICTURES:
        return output
    title, words, _ = PICTURES[page.file.src_uri]
    path = file_of(page.file.src_uri)
    base = (config.site_url or "").rstrip("/")
    address = f"{base}/{path}" if base else get_relative_url(path, page.url)
    meta = {
        "og:type": "website",
        "og:title": title,
        "og:description": " ".join(words),
        "og:image": address,
        "og:image:width": str(2 * WIDE),
        "og:image:height": str(2 * HIGH),
        "twitter:card": "summary_large_image",
    }
    tags = "".join(
        f'<meta property="{key}" content="{escape(text)}">' for key, text in meta.items()
    )
    return output.replace("</head>", f"{tags}</head>", 1)
