"""Wrong texts: edits of what `emit` writes, each with the kind of difference that it is.

An edit changes one place, drawn from all that fit. Places where a program would do the same are
left out: one row has no pitch, temporaries may hold the same number already, a constant is the same
in all lanes, and what was rounded to 16 bits has no more. An edit after which the machine code
is the same does not count. Values are changed behind the last product and the last sum:
what goes through one is mixed with others, and differs without a name.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pycute_xe as cx
from pycute_xe.kernel import Kernel
from pycute_xe.native import compiler

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "// ---- The kernel."
ANY = ""
"""Stands for any kind of difference: which one depends on what the slip does."""
Edit = Callable[[random.Random, str], "tuple[str, str] | None"]
"""A body of a text to another, and the kind that must be named; None where nothing fits."""


@dataclass(frozen=True)
class Change:
    """What is wrong: the kind of edit, the kinds of which `compare` must name one, text, lines."""

    kind: str
    named: str
    text: str
    lines: str


def _one(
    r: random.Random, body: str, pattern: str, by: str | Callable[[re.Match[str]], str]
) -> str:
    """Replace one match of a pattern, drawn from all; the body as it is where nothing matches."""
    found = [*re.finditer(pattern, body, re.MULTILINE)]
    if not found:
        return body
    match = r.choice(found)
    new = match.expand(by) if isinstance(by, str) else by(match)
    return body[: match.start()] + new + body[match.end() :]


def _tried(
    r: random.Random, body: str, named: str, *edits: tuple[str, object]
) -> tuple[str, str] | None:
    """Return the first of the edits, in an order that is drawn, which changes the body."""
    for pattern, by in r.sample(edits, len(edits)):
        changed = _one(r, body, pattern, by)  # pyright: ignore[reportArgumentType]
        if changed != body:
            return changed, named
    return None


def _behind(body: str) -> int:
    """Where the last product and the last sum of an element with itself are over."""
    mixed = r"^ *XE_DPAS\(.*\n|^ *XE_ALU\(add \(\S+ \d+\) (t\S+)<1> \1<.*\n"
    return max((m.end() for m in re.finditer(mixed, body, re.MULTILINE)), default=0)


def _cut(view: str, mask: str) -> str:
    """An instruction that clears bits of a register of f32, which has a view of its dwords."""
    name, place = re.fullmatch(r"(\w+)_f(\(\d+,0\))", view).groups()  # pyright: ignore[reportOptionalMemberAccess]
    return f"  XE_ALU(and (M1_NM, 16) {name}{place}<1> {name}{place}<1;1,0> {mask}:ud);\n"


def _first_register(body: str, stored: str) -> str:
    """The register of f32 where a message begins, named by its fragment and its number."""
    name, _, number = re.fullmatch(r"(t\w+?)(_(\d+))?", stored).groups()  # pyright: ignore[reportOptionalMemberAccess]
    return f"{name}_f({number or 0},0)" if f"XE_VIEW({name}_f, f," in body else ""


NARROWING = (
    r"^ *XE_ALU\(mov \(M1_NM, 16\) \w+_(bf|hf)\w*\(\d+,\d+\)<\d> (t\w+_f\(\d+,0\))<1;1,0>\);\n"
)
# What was narrowed is computed with again: the result may show fewer bits, not where they went.
WIDENED = r"shl \(M1_NM, 16\) .* 0x10:uw|mov \(M1_NM, 16\) \w+_f\(.* \w+_hf\("
# Fragments whose view of f32 is stored: the registers of a message.
STORED = r"^ *XE_STORE_2D\(.*, (t\w+), d32\.[^;]*;\n"


def rounding(r: random.Random, body: str) -> tuple[str, str] | None:
    """Round towards zero before a conversion, or to an integer in another direction."""

    def cut(match: re.Match[str]) -> str:
        masks = {"bf": "0xffff0000", "hf": "0xffffe000"}
        return _cut(match[2], masks[match[1]]) + match[0]

    named = "precision rounding" if re.search(WIDENED, body) else "rounding"
    return _tried(r, body, named, (NARROWING, cut), (r"\brnde\b", r.choice(["rndz", "rndd"])))


def precision(r: random.Random, body: str) -> tuple[str, str] | None:
    """Store numbers of f32 with fewer bits, or multiply bits as those of another type."""
    mask = r.choice(["0xffff0000", "0xffffe000", "0xfffff800"])
    short = re.search(r"mov \(M1_NM, 16\) \w+_(?:bf|hf)", body)

    def cut(match: re.Match[str]) -> str:
        view = _first_register(body, match[1])
        return match[0] if short or not view else _cut(view, mask) + match[0]

    return _tried(
        r,
        body,
        "precision",
        (STORED, cut),
        (STORED, cut),
        (r"XE_DPAS\(bf\.bf\.", "XE_DPAS(hf.hf."),
        (r"XE_DPAS\(hf\.hf\.", "XE_DPAS(bf.bf."),
    )


def remainders(r: random.Random, body: str) -> tuple[str, str] | None:
    """Leave out what lies beyond the last whole tile, or the last row of an operand."""
    return _tried(
        r,
        body,
        "remainder",
        (r"(for \(int \w+ = \w+; \w+ < )\(\((\w+) \+ \d+\) >> (\d+)\)", r"\1(\2 >> \3)"),
        (r"(for \(int \w+ = \w+; \w+ < )\(\((\w+) \+ 31\) >> 5\)", r"\1((\2 + 30) >> 5)"),
        (r"(const xe_surface \w+ = XE_SURFACE\(\w+, \w+), ([MNK]),", r"\1, \2 - 1,"),
        (r"(const xe_surface \w+ = XE_SURFACE\(\w+, )(\w+_width), ([MNK]),", r"\1\2 - 4, \3,"),
    )


HINTS = {
    "XE_LOAD_2D": (".ca.ca", ".uc.uc", ".st.ca", ".uc.ca"),
    "XE_PREFETCH_2D": (".uc.uc", ".uc.ca", ".ca.uc"),
    "XE_STORE_2D": (".wb.wb", ".uc.uc", ".wt.wb", ".uc.wb"),
    "XE_ADD": (".uc.wb", ".uc.uc"),
}


def hints(r: random.Random, body: str) -> tuple[str, str] | None:
    """Ask the caches for something; the macro is copied by `_with_hints`."""
    names = [name for name in HINTS if f" {name}(" in body]
    if not names:
        return None
    name = r.choice(names)
    asked = r.choice(HINTS[name]).replace(".", "_")
    return _one(r, body, rf"( ){name}\(", rf"\1{name}{asked}("), "cache hint"


def _with_hints(head: str, body: str) -> str:
    """Add the macros with hints that a body uses."""
    for name, l1, l3 in set(re.findall(r" (XE_[A-Z0-9_]+?)_(\w\w)_(\w\w)\(", body)):
        match = re.search(rf"#define {name}\((?:.*\\\n)*.*\n", head)
        if match is not None:
            macro = match[0].replace(f"define {name}", f"define {name}_{l1}_{l3}")
            head += re.sub(r"\.ugm(\.\w\w\.\w\w)?", f".ugm.{l1}.{l3}", macro)
    return head


BARRIER = r"^ *XE_BARRIER\((signal|wait)\);\n"


def barriers(r: random.Random, body: str) -> tuple[str, str] | None:
    """Leave out a half of a barrier or all of it, or add one."""
    both = "  XE_BARRIER(signal);\n  XE_BARRIER(wait);\n"
    if not re.search(BARRIER, body, re.MULTILINE):
        return _tried(r, body, "barriers", (r"^(  XE_STORE_2D)", both + r"\1"))
    kind = r.choice(["one", "pair", "more"])
    if kind == "one":
        return _one(r, body, BARRIER, ""), "barriers"
    if kind == "pair":
        pair = r"^ *XE_BARRIER\(signal\);\n((?:(?! *XE_BARRIER).*\n)*) *XE_BARRIER\(wait\);\n"
        return _tried(r, body, "barriers", (pair, r"\1"))
    return _tried(r, body, "barriers", (r"^( *)XE_BARRIER\(wait\);\n", r"\g<0>" + both))


def strides(r: random.Random, body: str) -> tuple[str, str] | None:
    """Take rows of an operand another pitch apart."""
    more = r.choice(["{} + 16", "{} + 64", "2 * {}", "{} - 16"])

    def other(match: re.Match[str]) -> str:
        return match[1] + more.format(match[2]) + ")"

    surface = r"(const xe_surface \w+ = XE_SURFACE\(\w+, \w+, \w+, )(\w+_pitch\w*)\)"
    return _tried(r, body, "stride", (surface, other))


def signs(r: random.Random, body: str) -> tuple[str, str] | None:
    """Change the sign of a term, of a constant, of what is stored, or of integers."""

    def stored(match: re.Match[str]) -> str:
        view = _first_register(body, match[1])
        if not view:
            return match[0]
        return f"  XE_ALU(mov (M1_NM, 16) {view}<1> (-){view}<1;1,0>);\n" + match[0]

    def constant(match: re.Match[str]) -> str:
        return f"{match[1]}0x{int(match[2], 16) ^ 0x80000000:08x}:f"

    source = r"(XE_ALU\w*\([^;]*(?:add|mul) \(M1_NM, 16\) \S+ \S+) (t\w+_f\(\d+,\d+\)<1;1,0>\))"
    number = r"(XE_ALU\((?:add|mul) \(M1_NM, 16\) [^;]* )0x([0-9a-f]{8}):f"
    return _tried(
        r,
        body,
        "sign",
        (source, r"\1 (-)\2"),
        (number, constant),
        (STORED, stored),
    )


def offsets(r: random.Random, body: str) -> tuple[str, str] | None:
    """Send a block elsewhere, or take other bytes of shared memory."""
    by = r.choice([" + 1", " + 8", " - 1", " + 16"])
    found = _tried(
        r,
        body,
        "offset",
        (r"^( *XE_LOAD_2D\(\w+, [^,]*, s\w+, [^,;]*, [^,;]*)\);", rf"\1{by});"),
        (r"^( *XE_PREFETCH_2D\([^,]*, s\w+, [^,;]*, [^,;]*)\);", rf"\1{by});"),
        (r"^( *XE_STORE_2D\(s\w+, [^,;]*, [^,;]*)(, \w+, [^,;]*\);)", rf"\1{by}\2"),
        (r"^( *XE_PREFETCH_2D\([^,]*, s\w+, [^,;]*)(, [^,;]*\);)", r"\1 + 32\2"),
    )
    shared = r"^( *XE_SHARED_(?:LOAD|STORE)\(\w+, \w+, \d+, .*)\);"
    if found is None or (" XE_SHARED_LOAD(" in body and r.random() < 0.3):
        return _tried(r, body, "shared memory", (shared, r"\1 + 64);")) or found
    return found


def counts(r: random.Random, body: str) -> tuple[str, str] | None:
    """Leave out a message or a DPAS, do it twice, or go through a loop more or less often."""
    sent = r"^ *XE_(?:LOAD_2D|STORE_2D|PREFETCH_2D|DPAS)\(.*\n"
    return _tried(
        r,
        body,
        "count",
        (sent, r"\g<0>\g<0>"),
        (r"^ *XE_(?:PREFETCH_2D|DPAS)\(.*\n", ""),
        (r"(for \(int p = 0; p < )(\d+);", r"\1 1 + \2;"),
        # Beyond a surface of the whole operand; else the machine refuses the address instead.
        *([(r"(for \(int k = \w+; k < )([^;]*);", r"\1\2 + 1;")] if " sA," in body else ()),
    )


def lanes(r: random.Random, body: str) -> tuple[str, str] | None:
    """Compute half of the lanes, or take one lane for all."""
    half = r"(XE_ALU\w*\((?:\w+, )?[\w.]+) \(M1_NM, (16|32)\) (t\w+\()"

    def halved(match: re.Match[str]) -> str:
        return f"{match[1]} (M1_NM, {int(match[2]) // 2}) {match[3]}"

    one = r"(XE_ALU\((?:mov|add|mul) \(M1_NM, 16\) t\S+ t\w+_f\(\d+,\d+\))<1;1,0>"
    return _tried(r, body, "lanes", (half, halved), (one, r"\1<0;1,0>"))


def groups(r: random.Random, body: str) -> tuple[str, str] | None:
    """Exchange two axes of the grid, or take one for the other."""
    axes = [*re.finditer(r"get_group_id\((\d)\)", body)]
    if len({match[1] for match in axes}) < 2:
        return None
    if r.random() < 0.5:
        swapped = {"0": "1", "1": "0"}
        exchanged = re.sub(
            r"get_group_id\(([01])\)", lambda m: f"get_group_id({swapped[m[1]]})", body
        )
        return exchanged, ANY
    match, other = r.sample(axes, 2)
    return body[: match.start(1)] + other[1] + body[match.end(1) :], ANY


COMPARISONS = {"lt": ("le", "gt"), "le": ("lt",), "ge": ("gt",), "gt": ("ge",), "eq": ("ne",)}
COMPARED = r"(\bcmp\.)(lt|le|ge|gt|eq)\b"


def comparisons(r: random.Random, body: str) -> tuple[str, str] | None:
    """Bend a comparison, in one instruction or in all that are the same."""

    def bent(match: re.Match[str]) -> str:
        return match[1] + r.choice(COMPARISONS[match[2]])

    if r.random() < 0.5:
        return _tried(r, body, ANY, (COMPARED, bent))
    found = sorted({match[2] for match in re.finditer(COMPARED, body)})
    if not found:
        return None
    sign = r.choice(found)
    return re.sub(rf"\bcmp\.{sign}\b", f"cmp.{r.choice(COMPARISONS[sign])}", body), ANY


NUMBER = r"\b0x([0-9a-f]{1,8}):(f|ud)\b(?= *\))"


def constants(r: random.Random, body: str) -> tuple[str, str] | None:
    """Write 0 for a constant of an instruction, or let a mask leave another number."""
    found = [m for m in re.finditer(NUMBER, body) if int(m[1], 16)]
    if not found:
        return None
    match = r.choice(found)
    if r.random() < 0.5:
        text = match[0]
        return body.replace(text, f"0x0:{match[2]}"), ANY
    return body[: match.start()] + f"0x0:{match[2]}" + body[match.end() :], ANY


def choices(r: random.Random, body: str) -> tuple[str, str] | None:
    """Select the other of two values, or the least for the greatest."""
    return _tried(
        r,
        body,
        ANY,
        (r"\((\w+)\) sel \(", r"(!\1) sel ("),
        (r"\b(max|min) \(M1", lambda m: ("min" if m[1] == "max" else "max") + " (M1"),
        (r"\bsel\.(ge|lt) ", lambda m: f"sel.{'lt' if m[1] == 'ge' else 'ge'} "),
    )


def _late(edit: Edit) -> Edit:
    """Edit what is behind the last product and sum; declarations stand before."""

    def edited(r: random.Random, body: str) -> tuple[str, str] | None:
        at = _behind(body)
        views = "".join(re.findall(r"^ *XE_VIEW\(.*\n", body[:at], re.MULTILINE))
        changed = edit(r, views + body[at:])
        if changed is None:
            return None
        return body[:at] + changed[0].removeprefix(views), changed[1]

    return edited


KINDS: dict[str, Edit] = {
    "rounding": _late(rounding),
    "precision": precision,
    "remainders": remainders,
    "hints": hints,
    "barriers": barriers,
    "strides": strides,
    "signs": _late(signs),
    "offsets": offsets,
    "counts": counts,
    "lanes": _late(lanes),
    "groups": groups,
    "comparisons": comparisons,
    "constants": constants,
    "choices": choices,
}
DECISIONS = ("groups", "comparisons", "constants", "choices")
"""Kinds that sizes and data must be chosen to show."""


def changed(r: random.Random, kernel: Kernel, kind: str) -> Change | None:
    """Return a wrong text of a kernel, None where nothing of it can be wrong in this way."""
    text = cx.emit(kernel)
    head, mark, body = text.partition(MARK)
    edited = KINDS[kind](r, body)
    if edited is None or edited[0] == body:
        return None
    new, named = edited
    before, after = ({*lines.splitlines()} for lines in (body, new))
    lines = [line.strip() for line in new.splitlines() if line not in before]
    lines += [f"without {line.strip()}" for line in body.splitlines() if line not in after]
    shown = "; ".join(lines[:2]) or "a line twice or once less"
    return Change(kind, named, _with_hints(head, new) + mark + new, shown)


@contextmanager
def emitted(text: str) -> Iterator[None]:
    """Let the compiler be given a text for whatever kernel."""
    emit = compiler.emit
    compiler._compiled.cache_clear()  # pyright: ignore[reportPrivateUsage]
    compiler.emit = lambda *_: text  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        compiler.emit = emit  # pyright: ignore[reportAttributeAccessIssue]
        compiler._compiled.cache_clear()  # pyright: ignore[reportPrivateUsage]
