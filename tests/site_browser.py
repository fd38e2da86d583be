"""The site in Chromium: the playground, what a reader does, the search, and how pages look.

    python tests/site_browser.py SITE [--cold 5] [--pictures FOLDER]

SITE is the folder of a built site. Chromium is driven over a pipe, so that nothing but Chromium is
needed; where it is missing, or the site has no Pyodide, a line says so. Times are printed; only
those of the search are judged. See site_doings, site_search and site_pages.
"""

from __future__ import annotations

import argparse
import base64
import functools
import http.server
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import site_doings
import site_pages
import site_search

LONGEST = 60.0
"""Seconds that anything may take before a check fails."""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder without a log; scripts of modules need their type."""

    extensions_map = {  # noqa: RUF012 - the base class declares it so
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class UnansweredError(RuntimeError):
    """What a page does not answer, or answers with an error."""


class Chromium:
    """A browser with a fresh profile and one page, driven by its protocol over a pipe."""

    def __init__(self, command: str, profile: str) -> None:
        """Start it; its page is blank."""
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        def descriptors() -> None:
            # Copies first: one of the two may have the number that the other needs.
            first, second = os.dup(to_read), os.dup(to_write)
            os.dup2(first, 3)
            os.dup2(second, 4)

        flags = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--hide-scrollbars",
        ]
        self.process = subprocess.Popen(
            [
                command,
                *flags,
                f"--user-data-dir={profile}",
                "--remote-debugging-pipe",
                "about:blank",
            ],
            preexec_fn=descriptors,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._left, self._count, self.errors = b"", 0, list[str]()
        target = self("Target.createTarget", url="about:blank")["targetId"]
        attached = self("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self(f"{domain}.enable")

    _session = ""

    def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        """Do something and return its result."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise UnansweredError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._note(answer)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            more = os.read(self._read, 1 << 16)
            if not more:
                raise RuntimeError("Chromium ended")
            self._left += more
        message, _, self._left = self._left.partition(b"\0")
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"].get("text")))
        if event.get("method") == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.errors.append(str(params["args"]))
        if event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")

    def value(self, script: str) -> Any:
        """Return what a script comes to."""
        done = self("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise UnansweredError(f"{script}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def until(self, script: str) -> None:
        """Wait until a script is true."""
        end, why = monotonic() + LONGEST, ""
        while monotonic() < end:
            try:
                if self.value(f"Boolean({script})"):
                    return
            except UnansweredError as error:  # between two pages there may be no document
                why = str(error)
            sleep(0.02)
        raise RuntimeError(f"not within {LONGEST:.0f} s: {script}; {self.errors}; {why}")

    def key(self, name: str, text: str = "") -> None:
        """Press and release a key."""
        code = {"Enter": 13, "Tab": 9, "ArrowRight": 39}.get(name, 0)
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self(
                "Input.dispatchKeyEvent",
                type=kind, key=name, code=name, windowsVirtualKeyCode=code, **more,
            )  # fmt: skip

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(timeout=20)
        os.close(self._write)
        os.close(self._read)


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a folder; yield its address."""
    handler = functools.partial(Quiet, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


@contextmanager
def browser(command: str) -> Iterator[Chromium]:
    """Start Chromium with a fresh profile; end it, and remove the profile."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        started = Chromium(command, profile)
        try:
            yield started
        finally:
            started.close()


ANSWERED = "document.querySelector('#playground')?.dataset.answered"
RESULTS = "document.querySelector('[data-results]').innerText"


def cold(command: str, address: str) -> float:
    """Return the seconds from a fresh profile to the first answer."""
    with browser(command) as page:
        begin = monotonic()
        page("Page.navigate", url=f"{address}/playground/")
        page.until(ANSWERED)
        return monotonic() - begin


def _submit(page: Chromium, fields: dict[str, str]) -> str:
    """Fill in fields of the chosen kind, press Enter in the first, and return the text shown."""
    before = page.value(ANSWERED)
    for name, text in fields.items():
        page.value(
            "(() => { const f = document.querySelector(`[data-kind]:not([hidden]) "
            f"[name={name}]`); f.focus(); f.value = {json.dumps(text)}; }})()"
        )
    first = next(iter(fields))
    page.value(f"document.querySelector('[data-kind]:not([hidden]) [name={first}]').focus()")
    page.key("Enter", "\r")
    page.until(f"{ANSWERED} !== {json.dumps(before)}")
    return page.value(RESULTS)


ASKED: tuple[tuple[str, dict[str, str], str], ...] = (
    ("expression", {"text": "coalesce((2,4):(1,2))"}, "8:1"),
    ("expression", {"text": "logical_divide((4,8):(8,1), (2,4))"}, "mode 0"),
    ("expression", {"text": "complement((2,4):(1,8), 64)"}, "complement"),
    ("expression", {"text": "Sw<2,0,3> o 0 o (8,8):(8,1)"}, "Sw<2,0,3>"),
    ("expression", {"text": "size(4:2"}, "close the bracket of column 5"),
    ("expression", {"text": "().__class__"}, "cannot stand in an expression"),
    ("expression", {"text": ""}, "text is empty"),
    ("atom", {"name": "XE_2D_U16x32x16_LD_V"}, "Loads 32 rows x 16 columns"),
    ("atom", {"name": "XE_2D_U16x32x16_LD_V", "target": "pvc"}, "on pvc"),
    ("atom", {"name": "XE_DPAS_TT<8,f32,bf16>", "operand": "B"}, "Registers"),
    ("atom", {"name": "XE_2D_U16x32x16_LD_Q"}, "Way out"),
    ("diff", {"one": "XE_2D_U16x16x16_LD_N", "other": "XE_2D_U16x16x16_LD_V"}, "240 of 256"),
    ("diff", {"one": "(4,8):(8,1)", "other": "(4,8):(1,4)"}, "another offset"),
    ("diff", {"one": "XE_2D_U16x16x16_LD_N", "other": "4:1"}, "cannot be compared"),
    ("feeds", {"copy": "XE_2D_U16x16x16_LD_N", "mma": "XE_DPAS_TT<8,f32,bf16>"}, "16 moves"),
    ("feeds", {"copy": "XE_2D_U16x16x16_LD_V", "mma": "XE_DPAS_TT<8,f32,bf16>"}, "free"),
    ("tile", {"mma": "XE_DPAS_TT<8,f32,bf16>", "tile": "64,128,32", "subgroups": "2,4,1"}, "A: "),
    ("tile", {"mma": "XE_DPAS_TT<8,f32,bf16>", "tile": "60,128,32"}, "Way out"),
    ("verify", {"name": "XE_2D_U16x16x16_LD_N", "row": "v", "column": "t"}, "proved"),
    ("verify", {"name": "XE_2D_U16x16x16_LD_N", "row": "v", "column": "(t+1)%16"}, "disproved"),
)
"""Kinds, fields, and a part of what is then shown."""


def interactions(page: Chromium, address: str) -> Iterator[str]:
    """Yield what was seen to work; raise where something does not."""
    page("Page.navigate", url=f"{address}/playground/")
    page.until(ANSWERED)
    links: list[str] = []
    for kind, fields, part in ASKED:
        before = page.value(ANSWERED)
        radio = f"document.querySelector('input[name=kind][value={kind}]')"
        if not page.value(f"{radio}.checked"):
            page.value(f"{radio}.click()")
            page.until(f"{ANSWERED} !== {json.dumps(before)}")
        shown = _submit(page, fields)
        if part not in shown:
            raise RuntimeError(f"{kind} {fields}: {part!r} is not in {shown[:400]!r}")
        links.append(page.value("location.search"))
        yield f"{kind} {' '.join(fields.values())}"
    yield from _states(page, address, links)
    yield from _looks(page)


def _states(page: Chromium, address: str, links: list[str]) -> Iterator[str]:
    for link, (kind, fields, part) in zip(links, ASKED, strict=True):
        page("Page.navigate", url=f"{address}/playground/{link}")
        page.until(f"location.search === {json.dumps(link)} && {ANSWERED}")
        if part not in page.value(RESULTS) and all(fields.values()):
            raise RuntimeError(f"{link}: {part!r} is not shown")
        yield f"address of {kind}"
    page("Page.navigate", url=f"{address}/playground/")
    page.until(ANSWERED)
    _submit(page, {"text": "coalesce((2,4):(1,2))"})
    _submit(page, {"text": "coalesce((2,8):(1,2))"})
    page.value("history.back()")
    page.until(f"{RESULTS}.includes('8:1') && !{RESULTS}.includes('16:1')")
    yield "back"
    focus = "document.activeElement?.closest('#playground') && document.activeElement.tagName"
    page.value("document.querySelector('input[name=kind]:checked').focus()")
    reached = set[str]()
    for _ in range(12):
        page.key("Tab")
        reached.add(page.value(f"({focus}) || ''"))
    if not {"INPUT", "BUTTON"} <= reached:
        raise RuntimeError(f"the keyboard reaches {reached}")
    yield "keyboard"


def _looks(page: Chromium) -> Iterator[str]:
    """Widths and themes: the page never scrolls sideways, listings and drawings do."""
    for width in (400, 1300):
        page(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=width < 500,
        )  # fmt: skip
        page.value("window.before = true")
        page("Page.reload")
        page.until(f"!window.before && {ANSWERED}")
        for scheme in ("light", "dark"):
            # As the switch in the header does.
            theme = {"light": "default", "dark": "slate"}[scheme]
            page.value(f"document.body.dataset.mdColorScheme = '{theme}'")
            wide = page.value("document.documentElement.scrollWidth")
            if wide > width:
                raise RuntimeError(f"at {width} the page is {wide} wide")
            if PICTURES is not None:
                picture = page("Page.captureScreenshot", captureBeyondViewport=False)
                path = PICTURES / f"playground-{width}-{scheme}.png"
                path.write_bytes(base64.b64decode(picture["data"]))
            yield f"{width} pixels, {scheme}"


PICTURES: Path | None = None


def main() -> int:
    """Run everything; return 1 where something does not work."""
    global PICTURES
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("--cold", type=int, default=1, help="fresh starts that are timed")
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of the page")
    given = parser.parse_args()
    PICTURES = given.pictures
    command = shutil.which("chromium") or shutil.which("chromium-browser")
    assets = given.site / "assets" / "playground" / "assets.json"
    if command is None or not json.loads(assets.read_text())["pyodide"]:
        print("playground: Chromium or Pyodide is missing, the page is not tried")
        return 0
    with served(given.site) as address:
        times = [cold(command, address) for _ in range(given.cold)]
        print(f"playground: first answer after {statistics.median(times):.1f} s, fresh profile")
        # The search is timed, so nothing runs beside it.
        terms, errors = _alone(command, lambda page: site_search.check(page, address))
        tasks: tuple[Callable[[Chromium], Iterator[str]], ...] = (
            lambda page: interactions(page, address),
            lambda page: site_pages.accessible(page, address, "default"),
            lambda page: site_pages.measured(page, address, given.site, 1300),
            lambda page: site_pages.accessible(page, address, "slate"),
            lambda page: site_pages.measured(page, address, given.site, 400),
            lambda page: site_doings.doings(page, address, given.site),
        )
        site_pages.axe()  # installed once, before two ask for it
        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(lambda task: _alone(command, task), tasks))
    tried, light, wide, dark, narrow, more = (seen for seen, _ in done)
    errors += [error for _, some in done for error in some]
    print(
        f"site: {len(tried) + len(more)} interactions, {len(terms)} terms, "
        f"{len(errors)} errors on the console; slowest search: {max(terms)}"
    )
    views = len(light) + len(dark)
    print(f"site: {', '.join([*narrow, *wide])}; {views} views without violations")
    print("\n".join(errors[:5]))
    return int(bool(errors))


def _alone(command: str, task: Callable[[Chromium], Iterator[str]]) -> tuple[list[str], list[str]]:
    """Do something in a browser of its own: what was seen, and the errors of its console."""
    with browser(command) as page:
        return list(task(page)), page.errors


if __name__ == "__main__":
    sys.exit(main())
