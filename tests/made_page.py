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
from pycute_xe.kernel import Kernel
from pycute_xe.native import Binary, Explained, compile_text

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = (DOCS / "made.md", DOCS / "binary.md")
MADE = re.compile(r"(<!-- made: made_page (\w+) -->\n).*?(<!-- end of made -->\n)", re.DOTALL)
_CODE = re.compile(r"(\(.*?\))?\s*([a-z]\w*)(\.\S+)?(?: +\((\d+)\|M0\))?(.*)")
_LOADED = {"d32t": "tArA", "d16v": "tBrB", "d32": "tErbias"}
PICTURE = DOCS / "assets" / "made_code.svg"
MMA = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
LETTERS = {"tCrC": "C", "tArA": "a", "tCrA": "A", "tBrB": "B", "tErbias": "b", "tErD": "D"}


@dataclass(frozen=True)
class Line:
    """An instruction as the disassembler prints it: operation, registers by number, comment."""

    op: str
    registers: tuple[int, ...]
    into: int | None
    comment: str


def kernel() -> Kernel:
    """The kernel of both pages."""
    return cx.kernel.gemm(MMA, a="col", epilogue="relu(acc + bias[n])", d_type="bf16")


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
        operands = found[5].split()
        numbers = tuple(int(n) for n in re.findall(r"\br(\d+)", found[5]))
        into = numbers[0] if operands and operands[0].startswith("r") else None
        yield Line(found[2], numbers, into, comment.strip())


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


@cache
def explained() -> Explained:
    """Which statement each instruction belongs to."""
    return cx.native.explain(kernel())


def counts() -> str:
    """The statements and how many instructions each has."""
    return f"```text\n{explained()}\n```\n"


def annotated() -> str:
    """The main loop: each statement of the listing, and the instructions that serve it."""
    return f"```text\n{explained().code('for 0 <= k')}\n```\n"


def refilled() -> str:
    """What is said of payloads that each trip fills anew."""
    notes = cx.native.explain(cx.kernel.slm_gemm(MMA)).notes
    lines = [f"note: {words}" for words in notes] or ["no notes"]
    return "\n".join(["```text", *lines, "```", ""])


def picture() -> str:
    """The code, drawn."""
    return cx.draw(explained()).svg + "\n"


USES = {
    "barrier arrive": "–",
    "copy A": "→ {tArA}",
    "copy B": "→ {tBrB}",
    "prefetch A[32*m, 32*k": "–",
    "prefetch B[32*k": "–",
    "reorder tArA": "{tArA} → {tCrA}",
    "mma": "{tCrA} · {tBrB} → {tCrC}",
    "barrier wait": "–",
}


def beside() -> str:
    """A line for each statement of the main loop: listing, OpenCL C, machine code, registers."""
    text = cx.emit(kernel())
    spans = {name: f"r{first}–r{first + n - 1}" for name, (first, n) in held().items()}
    out = ["| listing | OpenCL C | machine code | registers |", "| --- | --- | --- | --- |"]
    for head, uses in USES.items():
        part = next(p for p in explained().parts if " ".join(p.title.split()).startswith(head))
        after = text[text.index("for 0 <= k") :]
        call = after[after.index(f"// {part.title}") :].splitlines()[1].strip(" ;")
        listed = " ".join(re.sub(r"\[.*?\]| +by .*", "", part.title).split())
        acts = ("wait",) if head == "barrier wait" else ("send", "dpas", "move")
        code = next(each.text for each in explained().of(part) if each.kind in acts)
        cells = [f"`{cell}`" for cell in (listed, _short(call), code.removeprefix("(W) "))]
        out.append(f"| {' | '.join(cells)} | {uses.format(**spans)} |")
    return "\n".join(out) + "\n"


def _short(call: str) -> str:
    """A call without its block; of instructions, what the macro is given."""
    call = call.partition(";  //")[0]
    return re.sub(r"XE_ALU\((.*)\)", r"\1", call).replace(" (M1_NM, 16)", "")


def fits(extra: int, mode: int) -> bool:
    """Whether a kernel of 80 registers and so many more, all live at once, leaves no scratch."""
    text = cx.emit(cx.kernel.gemm(MMA, stages=0))
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
    made = {
        "registers": registers,
        "counts": counts,
        "loop": annotated,
        "refilled": refilled,
        "beside": beside,
    }
    return MADE.sub(lambda m: f"{m[1]}{made[m[2]]()}{m[3]}", text)


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    for path in PAGES:
        path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
