"""The site's search: sixty terms, each with the page that it must list first.

Called by site_browser.py. Each term is typed into the page's own field, and the first link that
the page then lists is compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from site_browser import Chromium

FIRST: tuple[tuple[str, str], ...] = (
    ("composition", "algebra/composition/"),
    ("coalesce", "algebra/coalesce/"),
    ("complement", "algebra/complement/"),
    ("logical_divide", "algebra/divide/"),
    ("zipped_divide", "algebra/divide/"),
    ("logical_product", "algebra/product/"),
    ("blocked_product", "algebra/blocked_raked/"),
    ("tile_to_shape", "algebra/tile_to_shape/"),
    ("right_inverse", "algebra/inverses/"),
    ("swizzle", "algebra/swizzle/"),
    ("Layout", "algebra/layouts/"),
    ("make_tiled_mma", "api/atom/make_tiled_mma/"),
    ("make_block_2d_copy", "api/atom/make_block_2d_copy/"),
    ("make_tiled_copy", "api/atom/make_tiled_copy/"),
    ("TiledMma", "api/atom/TiledMma-type/"),
    ("KernelBuilder", "api/kernel/KernelBuilder-type/"),
    ("MmaAtom", "api/atom/MmaAtom-type/"),
    ("verify", "api/trials/verify/"),
    ("dpas", "dpas/"),
    ("register", "dpas/"),
    ("prefetch", "api/atom/XE_PREFETCH_2D-type/"),
    ("transpose", "api/atom/XE_LOAD_2D_TRANSPOSE-type/"),
    ("attention", "attention/"),
    ("epilogue", "epilogues/"),
    ("playground", "playground/"),
    ("mixed input", "mixed/"),
    ("bank conflict", "layout_cost/"),
    ("shared local memory", "slm/"),
    ("XE_2D_U16x32x16_LD_N", "atoms/names/XE_2D_U16x32x16_LD_N/"),
    ("XE_DPAS_TT", "api/atom/XE_DPAS_TT-type/"),
    ("run on GPU", "run_on_gpu/"),
    ("who holds element", "wanted/"),
    ("tile refused", "wanted/"),
    ("why is my tile refused", "wanted/"),
    ("who owns", "atoms/ownership/"),
    ("packed", "atoms/ownership/"),
    ("vnni", "api/atom/XE_LOAD_2D_VNNI-type/"),
    ("spill", "made/"),
    ("slm", "slm/"),
    ("barrier", "slm/"),
    ("stream-k", "schedules/"),
    ("split-k", "schedules/"),
    ("persistent", "schedules/"),
    ("softmax", "gallery/kernel-row-softmax/"),
    ("flash attention", "attention/"),
    ("paged attention", "lengths_and_pages/"),
    ("varlen", "lengths_and_pages/"),
    ("kv cache", "lengths_and_pages/"),
    ("moe", "mixture_of_experts/"),
    ("bf16", "gemm/"),
    ("int4", "mixed/"),
    ("fp8", "mixed/"),
    ("scales", "mixed/"),
    ("relu", "epilogues/"),
    ("atomic", "atoms/linear/"),
    ("timing", "machine_code/"),
    ("roofline", "cost/"),
    ("counterexample", "proofs/"),
    ("proof", "proofs/"),
    ("triton", "from_triton_and_xegpu/"),
    ("xegpu", "xegpu/"),
    ("reorder", "api/atom/reorder/"),
)
"""Terms, and the address that each must list first."""

FIELD = "document.querySelector('[data-md-component=search-query]')"
LISTED = "[...document.querySelectorAll('.md-search-result__link')].map(a => a.href)"


def search(page: Chromium, term: str) -> tuple[list[str], float]:
    """Type a term; return the links that are listed, and the seconds until they are."""
    page.value(f"{FIELD}.value = ''; {FIELD}.dispatchEvent(new Event('keyup'))")
    page.until("document.querySelectorAll('.md-search-result__link').length === 0")
    begin = monotonic()
    page.value(f"{FIELD}.value = {json.dumps(term)}; {FIELD}.dispatchEvent(new Event('keyup'))")
    page.until("document.querySelectorAll('.md-search-result__link').length")
    return page.value(LISTED), monotonic() - begin


def searches(page: Chromium, address: str) -> Iterator[tuple[str, str, list[str], float]]:
    """Yield each term, the address it must list first, the addresses listed, and the seconds."""
    page("Page.navigate", url=f"{address}/design/")
    page.until(f"document.readyState === 'complete' && {FIELD}")
    page.value(f"{FIELD}.focus()")
    search(page, "layout")  # the index is read before the first answer
    for term, wanted in FIRST:
        links, seconds = search(page, term)
        pages = [link.removeprefix(f"{address}/").split("?")[0].split("#")[0] for link in links]
        yield term, wanted, pages, seconds


def check(page: Chromium, address: str) -> Iterator[str]:
    """Yield each term that lists its page first, with its seconds; raise with those that do not."""
    wrong: list[str] = []
    for term, wanted, pages, seconds in searches(page, address):
        if pages[0] != wanted:
            wrong.append(f"{term}: {wanted} is not first of {pages[:3]}")
        else:
            yield f"{seconds:.2f} s: {term}"
    if wrong:
        raise RuntimeError("; ".join(wrong))
