"""Says what the search lists first: pages that explain before the reference and before lists."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.pages import Page

# The first row whose beginning fits a page's path counts. A page may say otherwise at its head.
WEIGHTS: tuple[tuple[str, float], ...] = (
    ("algebra/index", 0.5),
    ("algebra/relations", 1.0),
    ("algebra/f2", 0.5),
    ("algebra/symbolic", 0.5),
    ("algebra/layouts", 8.0),
    ("algebra/basis", 2.0),
    ("algebra/ordered", 1.0),
    ("algebra/product", 6.0),
    ("algebra/divide", 6.0),
    ("algebra/blocked_raked", 3.0),
    ("algebra/", 4.0),
    ("paths/", 0.5),
    ("playground", 4.0),
    ("api/verifying/", 0.3),
    ("api/", 4.0),
    ("pitfalls", 0.3),
    ("coverage", 0.2),
    ("releases/", 0.2),
    ("atoms/catalogue/names", 0.1),
    ("atoms/catalogue/", 0.6),
    ("atoms/names/XE_2D_Packed", 1.0),
    ("atoms/names/XE_2D", 2.5),
    ("atoms/names/", 0.3),
    ("atoms/sizes/", 0.3),
    ("gallery", 0.5),
    ("design", 0.5),
    ("wanted", 0.5),
    ("xegpu", 1.3),
    ("from_triton", 1.0),
    ("slm.md", 3.0),
    ("esimd2d", 0.5),
    ("lsc_manual", 0.5),
    ("lsc_binary", 0.5),
    ("", 2.0),
)

# Sections that answer what is asked most, on pages that are not about it alone.
SECTIONS: dict[str, float] = {
    "wanted/#see-who-holds-what-after-a-load": 6.0,
    "wanted/#know-which-rule-refuses-my-tile": 6.0,
}


def weight(path: str) -> float:
    """Return by how much the search raises a page; prefetches come after their loads."""
    if path.endswith("-PREFETCH.md"):
        return 0.3
    return next(raised for start, raised in WEIGHTS if path.startswith(start))


def on_page_context(*_: object, config: MkDocsConfig, page: Page, **__: object) -> None:
    """Raise sections, which the search has listed with their page."""
    search = config.plugins.get("material/search")
    if not getattr(search, "config", {}).get("enabled"):
        return
    for entry in search.search_index.entries:
        if entry["location"].startswith(f"{page.url}#"):
            entry["boost"] = SECTIONS.get(entry["location"], entry.get("boost", 1.0))


def on_page_markdown(*_: object, page: Page, **__: object) -> None:
    """Write a page's weight at its head, where it has none."""
    search = page.meta.setdefault("search", {})
    search.setdefault("boost", weight(page.file.src_uri))
