"""Where machine code comes from: the compiler's own records of it, read.

Asked for it, the graphics compiler writes down the vISA that it makes of a text, with the line of
the text before each instruction (``LOC``), and a listing of the machine code in which each
instruction names the one of vISA that it was made of (``$12``). Inline assembly keeps its line;
what the compiler computes beside it may have lost it, and stands after the line of another
instruction: such a line is not its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pycute_xe.errors import ToolError
from pycute_xe.native.assembly import Assembly

__all__ = ["Coded", "Visa", "read_listing", "read_visa"]

# ------------------------------------------------------------ visa

_DECLARED = re.compile(r"\.decl (\S+) .*?(?:alias=<(\S+?),.*)?$")
_NUMBERED = re.compile(r" {4}(.*?) +/// \$(\d+)")
_INSTRUCTION = re.compile(r"(?:\((\S+)\) +)?(\S+)(?: +\(.*?\))?(.*)", re.DOTALL)
_OWN = re.compile(r"%|[VP]\d+$")
_SENT = re.compile(r"raw_send\S* +\(.*?\) +\S+ +\S+ +(\w+)\.0")
_MESSAGES = ("lsc_", "raw_send", "sbarrier")
# What the compiler makes of no expression of C, so that the text must have it.
_INLINE = ("lsc_load_block2d", "lsc_store_block2d", "lsc_fence", "raw_send", "sbarrier")


@dataclass(frozen=True, slots=True)
class Visa:
    """An instruction of vISA: operation, the line of the text, what it writes and reads.

    ``own`` says whether the line is its own; ``atom`` whether the text has the instruction itself,
    as inline assembly, so that it is not computed beside it; ``message`` whether it sends one, and
    ``payload`` whether it fills a variable that messages are sent with. Names are those of whole
    variables.
    """

    op: str
    line: int
    own: bool
    atom: bool
    message: bool
    payload: bool
    writes: str
    reads: frozenset[str]


def read_visa(text: str) -> dict[int, Visa]:
    """Return the instructions of a kernel's vISA by number.

    Document: intel/intel-graphics-compiler, documentation/visa, LOC.
    """
    names = _Names(text)
    payloads = {names.whole(name) for name in _SENT.findall(text)}
    out: dict[int, Visa] = {}
    line, fresh = 0, False
    for row in text.splitlines():
        if row.startswith("    LOC "):
            line, fresh = int(row.split()[1]), True
            names.enter()
        elif match := _NUMBERED.match(row):
            op, writes, reads = _operands(match[1], names)
            message = op.startswith(_MESSAGES)
            atom = op.startswith(_INLINE) or any(
                not _OWN.match(name) for name in {writes, *reads} - {""}
            )
            filling = writes in payloads and not message
            own = fresh or atom
            out[int(match[2])] = Visa(op, line, own, atom, message, filling, writes, reads)
            fresh = fresh and not atom
    return out


class _Names:
    """The variables that names stand for; a name may be declared anew, for one line each time."""

    def __init__(self, text: str) -> None:
        self._of: dict[str, list[str]] = {}
        for match in filter(None, map(_DECLARED.match, text.splitlines())):
            self._of.setdefault(match[1], []).append(match[2] or match[1])
        self._used: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._of

    def enter(self) -> None:
        """Leave the declarations of a line that was read."""
        for name in self._used & self._of.keys():
            self._of[name] = self._of[name][1:] or self._of[name]
        self._used.clear()

    def whole(self, name: str) -> str:
        """Return the variable that a name is a part of."""
        self._used.add(name)
        part = self._of.get(name, [name])[0]
        return name if part == name else self.whole(part)


def _operands(text: str, names: _Names) -> tuple[str, str, frozenset[str]]:
    """Return the operation, the variable that is written, and those that are read."""
    predicate, op, rest = _INSTRUCTION.fullmatch(text).groups()  # pyright: ignore[reportOptionalMemberAccess]
    parts = [names.whole(name) for name in re.findall(r"%?[A-Za-z_]\w*", rest) if name in names]
    nowhere = "store" in op or op in ("goto", "jmp") or "%null" in rest or not parts
    writes = "" if nowhere else parts.pop(0)
    tested = [names.whole(predicate.strip("!"))] if predicate else []
    return op, writes, frozenset([*parts, *tested])


# ------------------------------------------------------------ listing

_LABEL = re.compile(r"\S+:\s*(//.*)?")


@dataclass(frozen=True, slots=True)
class Coded:
    """An instruction of the listing: its text, the vISA it was made of (-1 none), its place.

    ``prolog`` says whether it stands before the kernel, where arguments are loaded.
    """

    text: str
    visa: int
    prolog: bool


def read_listing(listings: tuple[str, ...], assembly: Assembly) -> tuple[Coded, ...]:
    """Return what the compiler's listing says of each instruction of machine code.

    Raises `ToolError` where none of the listings is of this code.
    """
    for text in reversed(listings):
        coded = tuple(_coded(text))
        if _same(coded, assembly):
            return coded
    raise ToolError(
        "explain",
        {"instructions": len(assembly.instructions), "listings": len(listings)},
        "the compiler's listing is not that of its machine code",
        "use a version of atoms/native.toml",
    )


def _coded(text: str) -> Iterator[Coded]:
    prolog = False
    for row in text[text.find("\n// B0") + 1 :].splitlines():
        if row.startswith("// B"):
            prolog = False
        elif re.match(r"(cross|per)_thread_prolog", row):
            prolog = True
        if not row.strip() or row.startswith("//") or _LABEL.fullmatch(row):
            continue
        code, _, comment = row.partition("//")
        number = re.search(r"\$(\d+)", comment)
        shown = " ".join(re.sub(r"\{[^{}]*\}\s*$", "", code.strip()).split())
        yield Coded(shown, int(number[1]) if number else -1, prolog)


def _same(coded: tuple[Coded, ...], assembly: Assembly) -> bool:
    """Whether a listing has the operations of machine code, one by one; sends by their message."""
    code = assembly.instructions
    ops = [re.sub(r"^\(.*?\) ", "", each.text).split(maxsplit=1)[0].split(".")[0] for each in coded]
    return len(ops) == len(code) and all(
        a == b.op or b.op.startswith("send") for a, b in zip(ops, code, strict=True)
    )
