"""Writes what docs/made.md and docs/binary.md record of the compiler: registers, code by statement.

`PYTHONPATH=tests python tests/made_page.py` writes it anew, by the compiler of Debian 12 (ocloc
22.43); a test holds the pages against what the compiler makes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pycute_xe as cx
from pycute_xe.kernel import Kernel, Loop, walk
from pycute_xe.kernel.ir.listing import line
from pycute_xe.native import Binary, compile_text

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = (DOCS / "made.md", DOCS / "binary.md")
MADE = re.compile(r"(<!-- made: made_page (\w+) -->\n).*?(<!-- end of made -->\n)", re.DOTALL)
_CODE = re.compile(r"(\(.*?\))?\s*([a-z]\w*)(\.\S+)?(?: +\((\d+)\|M0\))?(.*)")
_LOADED = {"d32t": "tArA", "d16v": "tBrB", "d32": "tErbias"}
LETTERS = {"tCrC": "C", "tArA": "a", "tCrA": "A", "tBrB": "B", "tErbias": "b", "tErD": "D"}


@dataclass(frozen=True)
class Line:
    """An instruction as the disassembler prints it: operation, registers by number, all of it."""

    op: str
    unit: str
    registers: tuple[int, ...]
    into: int | None
    text: str
    comment: str


def kernel() -> Kernel:
    """The kernel of both pages."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    return cx.kernel.gemm(mma, a="col", epilogue="relu(acc + bias[n])", d_type="bf16")


@cache
def binary() -> Binary:
    """What the compiler makes of it."""
    return cx.native.compile(kernel())


def lines() -> Iterator[Line]:
    """The instructions of the disassembly."""
    for text in binary().disassembly.splitlines():
        code, _, comment = text.partition("//")
        found = _CODE.fullmatch(code.strip())
        if found is None or text.startswith("L"):
            continue
        operands = re.sub(r"\{.*", "", found[5]).split()
        numbers = tuple(int(n) for n in re.findall(r"\br(\d+)", found[5]))
        into = numbers[0] if operands and operands[0].startswith("r") else None
        shown = " ".join([*filter(None, (found[2] + (found[3] or ""),)), *operands])
        yield Line(found[2], found[3] or "", numbers, into, shown, comment.strip())


def held() -> dict[str, tuple[int, int]]:
    """Fragment → its first register and how many it has, told by who loads, multiplies, stores."""
    rows: dict[str, set[int]] = {}

    def add(name: str, first: int, count: int) -> None:
        rows.setdefault(name, set()).update(range(first, first + count))

    for one in lines():
        if one.op == "dpas":
            c, _, _, a = one.registers
            add("tCrC", c, 8)
            add("tCrA", a, 4)
        elif "load_block2d" in one.comment and one.into is not None:
            count = re.search(r"rd:(\d+)", one.comment)
            data = one.comment.split(".")[2]
            assert count is not None
            add(_LOADED[data], one.into, int(count[1]))
        elif "store_block2d" in one.comment:
            add("tErD", one.registers[1], 4)
    out = {name: (min(found), len(found)) for name, found in rows.items()}
    for name, (first, count) in out.items():
        assert rows[name] == {*range(first, first + count)}, name
        fragment = kernel().fragment(name)
        assert count * 64 == fragment.elements * fragment.value_type.bits // 8, name
    return dict(sorted(out.items(), key=lambda item: item[1]))


def registers() -> str:
    """The fragments' registers: a map of the file and a table."""
    cells = ["·"] * binary().registers
    for name, (first, count) in held().items():
        cells[first : first + count] = LETTERS[name] * count
    out = ["```text"]
    for first in range(0, len(cells), 32):
        row = "".join(cells[first : first + 32])
        out.append(f"r{first:<4}{row[:8]} {row[8:16]} {row[16:24]} {row[24:]}")
    out += ["```", "", "| | fragment | registers | each holds |", "| --- | --- | --- | --- |"]
    for name, (first, count) in held().items():
        fragment = kernel().fragment(name)
        each = 64 * 8 // fragment.value_type.bits
        span = f"`r{first}` to `r{first + count - 1}`"
        out.append(f"| {LETTERS[name]} | `{name}` | {span} | {each} × {fragment.value_type} |")
    return "\n".join(out) + "\n"


def loop() -> tuple[Loop, list[Line]]:
    """The main loop as a statement, and its instructions from arrival to the jump back."""
    every = list(lines())
    start = next(i for i, one in enumerate(every) if "signal barrier" in one.comment)
    waits = next(i for i in range(start, len(every)) if every[i].unit == ".bar")
    stop = next(i for i in range(waits, len(every)) if every[i].op == "jmpi")
    while every[start - 1].op == "mov" and every[start - 1].into == every[start].registers[0]:
        start -= 1
    statement = next(s for s in kernel().statements() if isinstance(s, Loop) and s.var == "k")
    return statement, every[start : stop + 1]


def parts() -> dict[str, list[Line]]:
    """The instructions of the main loop by what they serve."""
    _, code = loop()
    where = {r: name for name, (first, n) in held().items() for r in range(first, first + n)}
    sends = [one for one in code if one.op == "send"]
    payloads = {_payload(one): _served(one) for one in sends}
    out: dict[str, list[Line]] = {}
    for one in code:
        if one.op == "send":
            name = _served(one)
        elif one.op == "dpas":
            name = "mma"
        elif one.op == "sync":
            name = "barrier wait" if one.unit == ".bar" else "order"
        elif one.into is not None and where.get(one.into) == "tCrA":
            name = "reorder tArA"
        elif one.into is not None and one.into in payloads:
            name = payloads[one.into]
        else:
            name = "index"
        out.setdefault(name, []).append(one)
    return out


def _payload(send: Line) -> int:
    return send.registers[1] if send.into is not None else send.registers[0]


def _served(send: Line) -> str:
    if "barrier" in send.comment:
        return "barrier arrive"
    if send.into is None:
        ahead = [s for s in loop()[1] if s.into is None and "load_block2d" in s.comment]
        return f"prefetch {'AB'[ahead.index(send)]}"
    data = send.comment.split(".")[2]
    return f"copy {_LOADED[data]}"


HEADS = {
    "barrier arrive": "barrier   arrive",
    "copy tArA": "copy      A",
    "copy tBrB": "copy      B",
    "prefetch A": "prefetch  A",
    "prefetch B": "prefetch  B",
    "reorder tArA": "reorder   tArA",
    "mma": "mma       tCrC",
    "barrier wait": "barrier   wait",
}


def said() -> dict[str, str]:
    """The line of the listing of each statement of the main loop."""
    statement, _ = loop()
    texts = [line(one) for one in walk(statement.body)]
    return {name: next(t for t in texts if t.startswith(head)) for name, head in HEADS.items()}


def annotated() -> str:
    """The main loop: each statement of the listing, and the instructions that serve it."""
    found, texts = parts(), said()
    out = ["```text"]
    for name in (*HEADS, "index", "order"):
        code = found.get(name, [])
        title = (
            texts.get(name)
            or {
                "index": "the loop: its variable, where tiles start, how far it goes",
                "order": "waits for registers, which the interpreter does not need",
            }[name]
        )
        out += [f"{title}", *(f"    {text}" for text in _shortened(code)), ""]
    out[-1] = "```"
    return "\n".join(out) + "\n"


def _shortened(code: list[Line]) -> list[str]:
    """The instructions; of many alike, the first ones and how many follow."""
    out: list[str] = []
    at = 0
    while at < len(code):
        same = at
        while same < len(code) and code[same].op == code[at].op and code[at].op != "send":
            same += 1
        same = max(same, at + 1)
        shown = code[at:same] if same - at <= 3 else code[at : at + 2]
        out += [_text(one) for one in shown]
        if same - at > len(shown):
            out.append(f"… and {same - at - len(shown)} more {code[at].op}")
        at = same
    return out


def _text(one: Line) -> str:
    message = one.comment.rpartition("; ")[2]
    text = re.sub(r" null:0 \S+ \S+", "", one.text)
    return f"{text}  {message}" if message else text


USES = {
    "copy tArA": "→ {tArA}",
    "copy tBrB": "→ {tBrB}",
    "reorder tArA": "{tArA} → {tCrA}",
    "mma": "{tCrA} · {tBrB} → {tCrC}",
}


def beside() -> str:
    """A line for each statement of the main loop: listing, OpenCL C, machine code, registers."""
    found, texts, text = parts(), said(), cx.emit(kernel())
    spans = {name: f"r{first}–r{first + n - 1}" for name, (first, n) in held().items()}
    out = ["| listing | OpenCL C | machine code | registers |", "| --- | --- | --- | --- |"]
    for name in HEADS:
        after = text[text.index("for 0 <= k") :]
        call = after[after.index(f"// {texts[name]}") :].splitlines()[1].strip(" ;")
        listed = " ".join(re.sub(r"\[.*?\]| +by .*", "", texts[name]).split())
        acts = ("mov",) if name == "reorder tArA" else ("send", "dpas", "sync")
        code = next(one for one in found[name] if one.op in acts)
        cells = [f"`{cell}`" for cell in (listed, _short(call), _text(code))]
        out.append(f"| {' | '.join(cells)} | {USES.get(name, '–').format(**spans)} |")
    return "\n".join(out) + "\n"


def _short(call: str) -> str:
    """A message's call without its surface and place; of other calls, what the macro is given."""
    call = re.sub(r", s[A-Z], .*", ", …)", call)
    return re.sub(r"XE_ALU\((.*)\)", r"\1", call).replace(" (M1_NM, 16)", "")


def fits(extra: int, mode: int) -> bool:
    """Whether a kernel of 80 registers and so many more, all live at once, leaves no scratch."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    text = cx.emit(cx.kernel.gemm(mma, stages=0))
    first = f"  XE_DECLARE(more, {16 * extra});\n  XE_VIEW(more_f, f, {16 * extra}, more, 0);\n"
    into, back = "", ""
    for i in range(extra):
        into += f"  XE_ALU(mov (M1_NM, 16) more_f({i},0)<1> 0x3f800000:f);\n"
        sources = f"tCrC_f(0,0)<1;1,0> more_f({i},0)<1;1,0>"
        back += f"  XE_ALU(add (M1_NM, 16) tCrC_f(0,0)<1> {sources});\n"
    start, stop = text.index("  // fill "), text.index("  // copy      tCrC → D")
    whole = text[:start] + first + into + text[start:stop] + back + text[stop:]
    return compile_text(whole, "gemm", registers=mode).scratch == 0


def page(text: str) -> str:
    """A page with its records as the compiler makes them now."""
    made = {"registers": registers, "loop": annotated, "beside": beside}
    return MADE.sub(lambda m: f"{m[1]}{made[m[2]]()}{m[3]}", text)


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
