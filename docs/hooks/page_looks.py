"""Fits what pages show to the site: refusals wrap, the search has a name, tags stand close."""

from __future__ import annotations

import re

# The theme leaves the search's dialog without a name.
DIALOG = 'data-md-component="search" role="dialog"'
_KEPT = re.compile(r"(<pre\b.*?</pre>|<script\b.*?</script>|<textarea\b.*?</textarea>)", re.DOTALL)
_PLAIN = re.compile(r"<pre><span></span><code>.*?</code></pre>", re.DOTALL)
_REFUSAL = re.compile(
    r"(?:(?<=<code>)|^)(?:\w+Error: [^\n<]+|[^\n<]*Way out: [^\n<]+)", re.MULTILINE
)


def closed_up(html: str) -> str:
    """Return a page whose runs of space are one, but for those of listings and scripts."""
    parts = _KEPT.split(html)
    parts[::2] = (re.sub(r"\s+", " ", part) for part in parts[::2])
    return "".join(parts)


def wrapped(html: str) -> str:
    """Return a page on which the one line of a refusal may wrap, since its end is the way out."""
    span = r'<span class="refusal">\g<0></span>'
    return _PLAIN.sub(lambda found: _REFUSAL.sub(span, found[0]), html)


def on_page_content(html: str, **_: object) -> str:
    """Change a page after Markdown has become HTML."""
    return wrapped(html)


def on_post_page(output: str, **_: object) -> str:
    """Change a page as it is written."""
    return closed_up(output).replace(DIALOG, f'{DIALOG} aria-label="Search"')
