"""What a reader does on pages other than the playground: hover, step, answer, copy, save, go back.

Called by site_browser.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from odd_requests import REQUESTS, STATES
from site_pages import go, resized

if TYPE_CHECKING:
    from site_browser import Chromium

FIGURE = "document.querySelector('svg[id^=cx-][data-equipped]')"
WORDS = "document.querySelector('.drawing-owner').textContent"
ATOM = "atoms/names/XE_2D_U16x8x16_LD_N/"


def doings(page: Chromium, address: str, site: Path) -> Iterator[str]:
    """Yield what was seen to work; raise where something does not."""
    resized(page, 1300)
    yield from _figures(page, address)
    yield from _sizes(page, address)
    yield from _gallery(page, address)
    yield from _kernel(page, address)
    yield from _exercises(page, address)
    yield from _odd(page, address)
    yield from _copies(page, address)
    yield from _moves(page, address)
    yield from _media(page, address)
    yield from _without(page, address, site)


def _expect(page: Chromium, script: str, what: str) -> str:
    if not page.value(f"Boolean({script})"):
        raise RuntimeError(f"{what}: {script} is false")
    return what


def _figures(page: Chromium, address: str) -> Iterator[str]:
    for path, words in ((ATOM, "work-item T3: 16 cells"), ("paths/ownership/", "T3: 8 cells")):
        go(page, f"{address}/{path}")
        page.until(FIGURE)
        page.value(f"{FIGURE}.scrollIntoView({{block: 'center'}})")
        spot = page.value(
            f"(() => {{ const r = {FIGURE}.querySelector('.c.t3 :is(rect, path)')"
            ".getBoundingClientRect(); return [r.x + 3, r.y + 3]; })()"
        )
        page("Input.dispatchMouseEvent", type="mouseMoved", x=spot[0], y=spot[1])
        page.until(f"{WORDS}.includes({json.dumps(words)})")
        yield _expect(page, f"{FIGURE}.classList.contains('cx-lit')", f"hover on {path}")
        page("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
        page.until(f"!{FIGURE}.classList.contains('cx-lit')")
        page.value(f"{FIGURE}.focus({{focusVisible: true}})")
        for _ in range(2):
            page.key("ArrowRight")
        yield _expect(page, f"{FIGURE}.dataset.owner === 't1'", f"arrow keys on {path}")
        lit = f"[...{FIGURE}.querySelectorAll('.c.cx-on')]"
        yield _expect(page, f"{lit}.every(c => c.matches('.t1'))", f"all of T1 on {path}")
        page.key("ArrowDown")
        page.key("ArrowDown")
        framed = f"{FIGURE}.querySelectorAll('.cx-value, .cx-mark').length > 0"
        yield _expect(page, framed, f"a value is framed on {path}")
        yield _expect(page, f"/V1/.test({WORDS})", f"the value is told on {path}")
        page.key("Escape")
        yield _expect(page, f"!{FIGURE}.classList.contains('cx-lit')", f"escape on {path}")
    go(page, f"{address}/atoms/names/XE_2D_U16x16x16_LD_N/")
    page.until(FIGURE)
    page.value(f"{FIGURE}.focus()")
    page.key("ArrowRight")
    for mode in ("V", "T", "N"):
        page.value(
            "[...document.querySelectorAll('.drawing-switch button')]"
            f".find(b => b.textContent === '{mode}').click()"
        )
        shown = f"{FIGURE}.getAttribute('aria-label').endsWith('_{mode}')"
        yield _expect(page, f"{shown} && {FIGURE}.dataset.owner === 't0'", f"switch to {mode}")


def _sizes(page: Chromium, address: str) -> Iterator[str]:
    """Pages of templates: sizes chosen there are answered, refused, and kept in the address."""
    box = "document.querySelector('.sizes')"
    go(page, f"{address}/atoms/sizes/XE_LOAD_2D_TRANSPOSE/")
    for rows, part in (("8", "<32,8,8> on bmg"), ("1", "Way out")):
        page.value(
            f"(() => {{ delete {box}.dataset.answered; "
            f"const f = {box}.querySelector('[name=rows]'); f.value = '{rows}'; "
            "f.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )
        page.until(f"{box}.dataset.answered")
        words = f"{box}.querySelector('[data-results]').textContent"
        yield _expect(page, f"{words}.includes({json.dumps(part)})", f"{rows} rows chosen")
    yield _expect(page, "location.search.includes('rows=1')", "sizes in the address")
    go(page, f"{address}/atoms/sizes/XE_DPAS_TT-8-bit/?M=4&D=s32&A=u8&B=s8&C=s32&target=pvc")
    page.until(f"{box}.dataset.answered")
    words = f"{box}.querySelector('[data-results]').textContent"
    yield _expect(page, f"{words}.includes('XE_DPAS_TT<4,s32,u8,s8,s32> on pvc')", "sizes given")


def _gallery(page: Chromium, address: str) -> Iterator[str]:
    """The gallery finds by words, operation, atom, type and target; the address keeps it."""
    shown = "[...document.querySelectorAll('.gallery > li:not([hidden])')].map(li => li.id)"
    for asked, wanted in (
        ("q=fused+bias", "kernel-bias-relu"), ("operation=coalesce", "coalesced"),
        ("atom=XE_LOAD_2D_TRANSPOSE", "kernel-gemm-a-column"), ("type=s8", "kernel-int8"),
        ("target=pvc", "kernel-attention"),
    ):  # fmt: skip
        go(page, f"{address}/gallery/?{asked}")
        found = page.value(shown)
        if wanted not in found or "row-major" in found:
            raise RuntimeError(f"gallery, {asked}: {found}")
        yield f"gallery, {asked}"
    go(page, f"{address}/gallery/kernel-bias-relu/")
    fold = "document.querySelector('.beside details')"
    page.value(f"{fold}.querySelector('summary').click()")
    yield _expect(page, f"{fold}.open && /r\\d/.test({fold}.innerText)", "code beside a statement")


def _kernel(page: Chromium, address: str) -> Iterator[str]:
    """The page of a kernel lights what a subgroup holds, shared or its own, and a work-item."""
    go(page, f"{address}/gallery/kernel-bias-relu/")
    page.until(FIGURE)
    figures = "[...document.querySelectorAll('svg.small[data-equipped]')]"
    for at, words in ((0, "subgroup 1: 2048 cells"), (1, "work-item T1: 128 cells")):
        figure = f"{figures}[{at}]"
        page.value(f"{figure}.scrollIntoView({{block: 'center'}}); {figure}.focus()")
        for _ in range(2):
            page.key("ArrowRight")
        said = f"{figure}.closest('figure').querySelector('.drawing-owner').textContent"
        yield _expect(page, f"{said}.includes({json.dumps(words)})", words)
    lit = f"{figures}[0].querySelectorAll('.c.cx-on').length"
    yield _expect(page, f"{lit} === 3", "a part of A, of B and of the result")


def _odd(page: Chromium, address: str) -> Iterator[str]:
    """Odd inputs are answered, injected ones shown as text, and what takes too long is stopped."""
    go(page, f"{address}/playground/")
    root = "document.querySelector('#playground')"
    page.until(f"{root}.dataset.answered")
    seen = "document.querySelector('[data-results]').innerText"
    each = ", ".join(["image(Sw<3,3,4> o 0 o 1000000:2)"] * 9)
    stopped = {"kind": "expression", "text": f"make_layout({each})"}
    asked = [f"?{urlencode(request)}" for request in (*REQUESTS, stopped, REQUESTS[-1])]
    for state in (*STATES, *asked):
        page.value(
            f"delete {root}.dataset.answered; history.pushState(null, '', {json.dumps(state)}); "
            "dispatchEvent(new PopStateEvent('popstate'))"
        )
        page.until(f"{root}.dataset.answered")
        if state in asked:
            words = f"/Way out:|no answer within|Python/.test({seen})"
            _expect(page, words, f"an answer to {state[:80]}")
        if state == asked[-2]:
            yield _expect(page, f"{seen}.includes('no answer within')", "what takes too long")
    injected = "document.querySelectorAll('#playground :is(script, img)').length"
    yield _expect(page, f"{injected} === 0", f"{len(STATES) + len(asked)} odd inputs")


def _exercises(page: Chromium, address: str) -> Iterator[str]:
    for path in ("paths/ownership/", "paths/kernel/"):
        go(page, f"{address}/{path}")
        yield from _answered(page, path)
    go(page, f"{address}/paths/layouts/")
    box = "document.querySelector('.exercise')"
    for text, verdict in (("(3,4):(1,3)", "wrong"), ("(3,4:", "refused"), ("(3,4):(4,1)", "right")):
        page.value(f"delete {box}.dataset.verdict; {box}.querySelector('input').focus()")
        page.value(f"{box}.querySelector('input').value = {json.dumps(text)}")
        page.key("Enter", "\r")
        page.until(f"{box}.dataset.verdict")
        yield _expect(
            page, f"{box}.dataset.verdict === '{verdict}'", f"an answer that is {verdict}"
        )
    yield from _answered(page, "paths/layouts/")


def _answered(page: Chromium, path: str) -> Iterator[str]:
    boxes = "[...document.querySelectorAll('.exercise')]"
    page.value(
        f"{boxes}.forEach(b => {{ b.querySelector('input').value = "
        "b.querySelector('details code').textContent; b.querySelector('button').click(); })"
    )
    page.until(f"{boxes}.every(b => b.dataset.verdict)")
    yield _expect(
        page, f"{boxes}.every(b => b.dataset.verdict === 'right')", f"every answer of {path}"
    )


def _copies(page: Chromium, address: str) -> Iterator[str]:
    page("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    go(page, f"{address}/algebra/coalesce/")
    button = "document.querySelector('.md-code__button, .md-clipboard')"
    page.until(button)
    page.value(f"{button}.click()")
    page.until("document.querySelector('.md-dialog')?.textContent.includes('Copied')")
    yield "copy of code"
    go(page, f"{address}/playground/")
    page.until("document.querySelector('#playground')?.dataset.answered")
    page.value(
        "URL.createObjectURL = (blob) => { window.saved = blob.type; return 'data:,'; };"
        "document.querySelector('[data-do=svg]').click()"
    )
    yield _expect(page, "window.saved === 'image/svg+xml'", "save SVG")
    page.value("document.querySelector('[data-do=link]').click()")
    page.until("/copied/.test(document.querySelector('[data-status]').textContent)")
    yield "copy of the link"


def _moves(page: Chromium, address: str) -> Iterator[str]:
    go(page, f"{address}/gallery/row-major/")
    page.value("document.querySelector('article a[href*=playground]').click()")
    page.until("location.pathname.endsWith('/playground/')")
    page.until("document.querySelector('[data-results]')?.innerText.includes('(4,6):(6,1)')")
    yield "from the gallery to the playground"
    page.value("history.back()")
    page.until("location.pathname.endsWith('/gallery/row-major/')")
    yield "back to the gallery"
    page.until("document.querySelector('[data-md-component=palette] label:not([hidden])')")
    page.value("document.querySelector('[data-md-component=palette] label:not([hidden])').click()")
    page.until("document.body.dataset.mdColorScheme === 'slate'")
    yield "dark by the switch"
    go(page, f"{address}/design/")
    yield _expect(page, "document.body.dataset.mdColorScheme === 'slate'", "dark on the next page")
    resized(page, 400)
    go(page, f"{address}/{ATOM}")
    page.value("document.querySelector('label.md-header__button[for=__drawer]').click()")
    page.until("document.querySelector('.md-sidebar--primary').getBoundingClientRect().x === 0")
    yield "the list of pages on a phone"
    resized(page, 1300)


def _media(page: Chromium, address: str) -> Iterator[str]:
    go(page, f"{address}/paths/ownership/")
    page.until(FIGURE)
    page.value(f"{FIGURE}.focus()")
    page.key("ArrowRight")
    page("Emulation.setEmulatedMedia", media="print")
    faded = f"[...{FIGURE}.querySelectorAll('.o')].filter(c => getComputedStyle(c).opacity < 1)"
    page.until(f"{faded}.length === 0")  # colours fade in
    yield "paper shows all work-items"
    reduced = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    page("Emulation.setEmulatedMedia", media="", features=reduced)
    cell = f"getComputedStyle({FIGURE}.querySelector('.c'))"
    still = f"!parseFloat({cell}.transitionDuration)"
    yield _expect(page, still, "no motion where none is wanted")
    page("Emulation.setEmulatedMedia", media="", features=[])


def _without(page: Chromium, address: str, site: Path) -> Iterator[str]:
    """Without scripts the answers are in the folds and figures stay; figures work from a file."""
    page("Emulation.setScriptExecutionDisabled", value=True)
    page("Page.navigate", url=f"{address}/paths/layouts/")
    page.until("document.querySelectorAll('.exercise details code').length === 10")
    forms = "[...document.querySelectorAll('.exercise-form')]"
    yield _expect(page, f"{forms}.every(f => f.hidden)", "answers without scripts")
    figure = "document.querySelector('svg[id^=cx-]').getBoundingClientRect().height > 100"
    yield _expect(page, figure, "figures without scripts")
    page("Emulation.setScriptExecutionDisabled", value=False)
    errors = len(page.errors)
    page("Page.navigate", url=(site / ATOM / "index.html").resolve().as_uri())
    page.until("location.protocol === 'file:'")
    page.until(FIGURE)
    page.value(f"{FIGURE}.focus()")
    page.key("ArrowLeft")
    yield _expect(page, f"{FIGURE}.dataset.owner === 't15'", "figures from a file")
    del page.errors[errors:]  # the theme's search wants a server
