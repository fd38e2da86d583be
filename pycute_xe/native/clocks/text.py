"""Machine code as its disassembler prints it, with the dependences that stand in braces."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import cast

from pycute_xe.errors import InputError, quoted
from pycute_xe.facts import rows

__all__ = ["Line", "Listing", "Waits", "read_text"]

_OPTIONS = re.compile(r"\{([^{}]*)\}\s*$")
_HEAD = re.compile(
    r"(?:\((?P<predicate>[^()]*)\)\s*)?(?P<op>[a-z]\w*)(?:\.(?P<sub>[^\s(]+(?:\(\S*\))?|\(\S*\)))?"
    r"(?:\s+\((?P<size>\d+)\|M(?P<first>\d+)\))?(?P<rest>(?:\s.*)?)"
)
_CONDITION = re.compile(r"\((\w+)\)(f\d+(?:\.\d+)?)$")
_DISTANCE = re.compile(r"([FILMSA]?)@(\d+)$")
_TOKEN = re.compile(r"\$(\d+)(?:\.(dst|src))?$")
_LABEL = re.compile(r"([A-Za-z_]\w*):$")
MOST_BACK = 32
"""How many instructions back a distance may reach; the code has three bits for it."""
TOKENS = 32
"""Tokens of a thread in the mode of 256 registers; 16 in the other."""


@dataclass(frozen=True, slots=True)
class Waits:
    """What an instruction waits for, and the token it sets, -1 for none.

    ``distances`` are pairs of a pipe, "" for its own and "A" for all, and how many back (one
    without a pipe is of those of its sources' types);
    ``tokens`` pairs of a token and "dst" or "src".
    """

    distances: tuple[tuple[str, int], ...] = ()
    tokens: tuple[tuple[int, str], ...] = ()
    sets: int = -1


@dataclass(frozen=True, slots=True)
class Line:
    """An instruction: operation, variant, lanes, operands as they are written, dependences.

    ``target`` is the label of a jump, ``kind`` that of `atoms/timing.toml`.
    """

    number: int
    kind: str
    op: str
    sub: str
    size: int
    predicate: str
    condition: str
    operands: tuple[str, ...]
    target: str
    options: frozenset[str]
    waits: Waits
    text: str

    @property
    def to(self) -> str:
        """The destination as it is written, empty without one."""
        return self.operands[0] if self.operands else ""

    @property
    def descriptor(self) -> int | None:
        """The descriptor of a message; None where it is in a register."""
        word = self.operands[-1] if self.operands else ""
        return int(word, 16) if re.fullmatch(r"0x[0-9A-Fa-f]+", word) else None


@dataclass(frozen=True)
class Listing:
    """The instructions of machine code, and which one each label stands before."""

    lines: tuple[Line, ...]
    labels: dict[str, int]


@cache
def _kinds() -> dict[str, str]:
    return {
        name: str(row["kind"])
        for row in rows("timing", "operation")
        for name in cast("tuple[str, ...]", row["names"])
    }


def read_text(text: str) -> Listing:
    """Return the instructions of a text that ``iga64 -d`` or ``ocloc disasm`` printed.

    Padding behind the end is left out. Raises `InputError` naming the first line that is not an
    instruction, and the first instruction without a row in `atoms/timing.toml`.

    >>> code = read_text("(W) add (1|M0) r1.0<1>:d r1.0<0;1,0>:d 1:w {I@2,$3.src}")
    >>> code.lines[0].waits
    Waits(distances=(('I', 2),), tokens=((3, 'src'),), sets=-1)
    """
    lines: list[Line] = []
    labels: dict[str, int] = {}
    for at, raw in enumerate(text.splitlines(), 1):
        written = raw.partition("//")[0].strip()
        if not written or written.startswith((".", "/*")):
            continue
        if label := _LABEL.match(written):
            labels[label[1]] = len(lines)
        elif not re.match(r"(\([^()]*\)\s*)?illegal\b", written):
            lines.append(_line(written, len(lines), at))
    if not lines:
        raise InputError("timing", {}, "the text has no instruction", "give what iga64 -d prints")
    _check_targets(lines, labels)
    return Listing(tuple(lines), labels)


def _line(written: str, number: int, at: int) -> Line:
    options: list[str] = []
    if braces := _OPTIONS.search(written):
        options = [each.strip() for each in braces[1].split(",") if each.strip()]
    head = _HEAD.fullmatch(written[: braces.start()].strip() if braces else written)
    if head is None:
        wrong = f"line {at} is not an instruction: {quoted(written)}"
        raise InputError("timing", {"line": at}, wrong, "give what iga64 -d prints")
    kind = _kinds().get(head["op"])
    if kind is None:
        wrong = f"the instruction {head['op'][:60]} of line {at} is unknown"
        raise InputError("timing", {"line": at}, wrong, "add it to atoms/timing.toml")
    _demand_form(head, kind, at)
    words = head["rest"].split()
    condition = ""
    if words and (match := _CONDITION.match(words[0])):
        condition, words = match[2], words[1:]
    if words and words[0].startswith("(sat)"):
        words = [words[0].removeprefix("(sat)") or words[1], *words[1:]]
    jumps = kind == "jump" and words
    return Line(
        number=number,
        kind=kind,
        op=head["op"],
        sub=head["sub"] or "",
        size=int(head["size"] or 1),
        predicate=head["predicate"] or "",
        condition=condition,
        operands=tuple(words),
        target=words[-1] if jumps else "",
        options=frozenset(o for o in options if _is_option(o)),
        waits=_waits(options, kind, at, words[1:]),
        text=" ".join(written.split()),
    )


def _demand_form(head: re.Match[str], kind: str, at: int) -> None:
    """Refuse what no disassembler prints: lanes, a DPAS without rows, a message without parts."""
    lanes, words = int(head["size"] or 1), head["rest"].split()
    wrong = ""
    if lanes not in (1, 2, 4, 8, 16, 32):
        wrong = f"{head['op']} of line {at} has {lanes} lanes"
    if kind == "dpas" and not re.fullmatch(r"\d{1,2}x[1-8]", head["sub"] or ""):
        wrong = f"{head['op']} of line {at} does not say its depth and rows"
    if kind == "send" and not (words and (head["sub"] or len(words) > 3)):
        wrong = f"{head['op']} of line {at} does not say where it goes"
    if wrong:
        raise InputError("timing", {"line": at}, wrong, "give what iga64 -d prints")


def _is_option(option: str) -> bool:
    return "$" not in option and "@" not in option


_PIPE = {"f": "F", "hf": "F", "bf": "F", "bf8": "F", "hf8": "F", "tf32": "F", "df": "L"}
"""The pipe that a distance without one means, by the type of a source; else that of integers, also
where they have 64 bits: compilers write ``I`` behind ``add r65.4<1>:q``, for pvc and for bmg."""


def _pipes(sources: list[str]) -> list[str]:
    """Return the pipes that a distance beside a token is of: the code has no bits for its name.

    It is that of the sources: compilers write ``mov r71.0<1>:d r92.0<1;1,0>:f {@3,$5.src}`` three
    instructions of floats behind the one that wrote r92.
    """
    types = [word.rpartition(":")[2] for word in sources if ":" in word]
    return list(dict.fromkeys(_PIPE.get(kind, "I") for kind in types)) or [""]


def _waits(options: list[str], kind: str, at: int, sources: list[str]) -> Waits:
    distances: list[tuple[str, int]] = []
    tokens: list[tuple[int, str]] = []
    sets = -1
    for option in filter(lambda o: not _is_option(o), options):
        if (match := _DISTANCE.match(option)) and 0 < int(match[2]) <= MOST_BACK:
            pipes = [match[1]] if match[1] or kind in ("send", "dpas") else _pipes(sources)
            distances += [(pipe, int(match[2])) for pipe in pipes]
        elif (match := _TOKEN.match(option)) and int(match[1]) < TOKENS:
            if match[2]:
                tokens.append((int(match[1]), match[2]))
            elif kind in ("send", "dpas", "math"):
                sets = int(match[1])
            else:
                tokens.append((int(match[1]), "dst"))
        else:
            wrong = f"the dependence {quoted(option)} of line {at} is unknown"
            raise InputError("timing", {"line": at}, wrong, "use {$n}, {$n.dst}, {$n.src} or {I@n}")
    return Waits(tuple(distances), tuple(tokens), sets)


def _check_targets(lines: list[Line], labels: dict[str, int]) -> None:
    """Refuse a jump to a label that does not stand in the text."""
    for line in lines:
        if line.target and line.op in ("jmpi", "goto", "while") and line.target not in labels:
            wrong = f"the label {quoted(line.target)} of instruction {line.number} is missing"
            raise InputError("timing", {"at": line.text}, wrong, "give the whole listing")
