"""All pages of the site in Chromium: none scrolls sideways, 100 columns fit, axe finds nothing.

Called by site_browser.py. A page is fetched and put in the place of another's content, which is
ten times as fast as going there and lays it out the same.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from site_browser import Chromium

ROOT = Path(__file__).resolve().parents[1]
AXE = "4.10.3"
"""The version of the package ``axe-core`` on npm."""
MADE = ROOT / "build" / "axe"
JUDGED = (
    "",
    "paths/layouts/",
    "paths/ownership/",
    "paths/kernel/",
    "playground/",
    "algebra/",
    "algebra/composition/",
    "algebra/swizzle/",
    "atoms/",
    "atoms/feeding/",
    "atoms/catalogue/u16/",
    "gemm/",
    "atoms/names/XE_2D_U16x32x16_LD_N/",
    "gallery/",
    "gallery/kernel-bias-relu/",
    "atoms/sizes/XE_LOAD_2D/",
    "pitfalls/",
    "api/kernel/",
    "api/atom/TiledMma-type/",
)
"""The pages that axe judges, light and dark."""
SCREEN = 1300

_MEASURE = """(async (paths) => {
  const wide = [];
  for (const path of paths) {
    const text = await (await fetch(path)).text();
    const made = new DOMParser().parseFromString(text, 'text/html').querySelector('article');
    const here = document.querySelector('article');
    if (!made) continue;
    here.replaceWith(made);
    const over = document.documentElement.scrollWidth - innerWidth;
    if (over > 0) wide.push([path, over]);
  }
  return wide;
})"""


def resized(page: Chromium, width: int) -> None:
    """Give the page a width, as a phone's or a screen's."""
    page(
        "Emulation.setDeviceMetricsOverride",
        width=width, height=900, deviceScaleFactor=1, mobile=width < 500,
    )  # fmt: skip


def go(page: Chromium, address: str) -> None:
    """Go to a page and wait until it is there."""
    page.value("window.before = true")
    page("Page.navigate", url=address)
    page.until("!window.before && document.readyState === 'complete'")


def measured(page: Chromium, address: str, site: Path, width: int) -> Iterator[str]:
    """Yield a line where no page scrolls sideways at a width; on a screen one on code."""
    paths = sorted("/" + str(p.parent.relative_to(site)) + "/" for p in site.rglob("index.html"))
    resized(page, width)
    wide = list[Any]()
    for at in range(0, len(paths), 40):
        if at % 200 == 0:  # a page of its own now and then, or memory grows
            go(page, f"{address}/design/")
        wide += page.value(f"{_MEASURE}({json.dumps(paths[at : at + 40])})")
    if wide:
        raise RuntimeError(f"at {width} {len(wide)} pages are too wide: {wide[:8]}")
    yield f"{len(paths)} pages at {width} pixels"
    if width < SCREEN:
        return
    go(page, f"{address}/algebra/coalesce/")
    columns = page.value(
        "(() => { const code = document.querySelector('pre > code'); code.textContent = "
        "'0'.repeat(100); return code.scrollWidth <= code.clientWidth; })()"
    )
    if not columns:
        raise RuntimeError("100 columns of code do not fit at 1,300 pixels")
    yield "100 columns of code"


def axe() -> str | None:
    """Return the script of axe-core, installed by its name; None where npm is missing."""
    script = MADE / "node_modules" / "axe-core" / "axe.min.js"
    npm = shutil.which("npm")
    if not script.exists() and npm is not None:
        MADE.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--no-save", "--no-audit", "--no-fund", "--silent"]
        subprocess.run([*command, f"axe-core@{AXE}"], cwd=MADE, capture_output=True, check=False)
    return script.read_text(encoding="utf-8") if script.exists() else None


_STILL = "<style>* { transition: none !important; }</style>"
_RUN = """axe.run(document, {resultTypes: ['violations']}).then(({violations}) => violations
  .filter(v => ['serious', 'critical'].includes(v.impact))
  .map(v => [v.id, v.nodes.length, v.nodes.slice(0, 3).map(n => [n.target.join(' '),
    (n.any.concat(n.all, n.none)[0] || {}).message, n.html.slice(0, 160)])]))"""


def accessible(page: Chromium, address: str, theme: str) -> Iterator[str]:
    """Yield each page without serious or critical violations in a theme; raise with the others."""
    script = axe()
    if script is None:
        print("axe-core: npm is missing or cannot install it; the pages are not judged")
        return
    wrong: list[str] = []
    for path in JUDGED:
        go(page, f"{address}/{path}")
        page.value(f"document.body.dataset.mdColorScheme = '{theme}'")
        page.value(f"document.head.insertAdjacentHTML('beforeend', {json.dumps(_STILL)})")
        page.value(script + "; 0")
        violations = page.value(_RUN)
        wrong += [f"{path} {theme}: {one}" for one in violations]
        if not violations:
            yield f"axe {path or 'start'} {theme}"
    if wrong:
        raise RuntimeError(f"{len(wrong)} violations:\n" + "\n".join(wrong))
