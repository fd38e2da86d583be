"""Fits what pages show to the site: drawings follow its theme switch and scroll; refusals wrap."""

from __future__ import annotations

import re

import figure_modes

# A drawing follows the reader's system; on the site the switch in the header decides.
SYSTEM = "@media (prefers-color-scheme:dark){"
SITE = "[data-md-color-scheme=slate]{"
# Not a div: some drawings stand in a paragraph.
BOX = '<span class="drawing" data-search-exclude="numbers of cells">'
# The theme leaves the search's dialog without a name.
DIALOG = 'data-md-component="search" role="dialog"'
_DRAWING = re.compile(r'<svg [^>]*\bid="cx-.*?</svg>', re.DOTALL)
_PLAIN = re.compile(r"<pre><span></span><code>.*?</code></pre>", re.DOTALL)
_REFUSAL = re.compile(
    r"(?:(?<=<code>)|^)(?:\w+Error: [^\n<]+|[^\n<]*Way out: [^\n<]+)", re.MULTILINE
)


def themed(html: str) -> str:
    """Return a page whose drawings are dark where the site is, each in a box that scrolls."""
    return _DRAWING.sub(lambda found: _boxed(found[0]), html)


def _boxed(svg: str) -> str:
    return figure_modes.switched(svg, f"{BOX}{svg}</span>").replace(SYSTEM, SITE)


def closed_up(html: str) -> str:
    """Return a page without the space between the tags of its navigation: a third of a page."""
    head, start, rest = html.partition('<div class="md-sidebar md-sidebar--primary"')
    nav, end, tail = rest.partition('<div class="md-content"')
    return head + start + re.sub(r">\s+<", "><", nav) + end + tail


def wrapped(html: str) -> str:
    """Return a page on which the one line of a refusal may wrap, since its end is the way out."""
    span = r'<span class="refusal">\g<0></span>'
    return _PLAIN.sub(lambda found: _REFUSAL.sub(span, found[0]), html)


def on_page_content(html: str, **_: object) -> str:
    """Change a page after Markdown has become HTML."""
    return wrapped(themed(html))


def on_post_page(output: str, **_: object) -> str:
    """Change a page as it is written."""
    return closed_up(output).replace(DIALOG, f'{DIALOG} aria-label="Search"')
