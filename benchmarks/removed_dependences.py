"""Dependences that a binary needs, each taken out of it: the replay must notice.

Which are needed is found here from the text alone, by its own account of who reads and writes which
registers and what each dependence covers; it shares no code with the model of the core.
Usage: removed_dependences.py [--count 200] [--seed 1]
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from compiled_kinds import CASES
from rich.progress import track

import pycute_xe as cx

# ------------------------------------------------------------ text
# What a line of `iga64 -d` says.

WIDTH = {"ub": 1, "b": 1, "uw": 2, "w": 2, "hf": 2, "bf": 2, "ud": 4, "d": 4, "f": 4,
         "uq": 8, "q": 8, "df": 8}  # fmt: skip
OPERAND = re.compile(r"\(?(?:sat\))?[-~(]*(?:abs\))?r(\d+)(?:\.(\d+))?(?:<([^>]*)>)?\)?(?::(\w+))?")
LINE = re.compile(r"(?:\([^()]*\)\s*)?([a-z]\w*)(\.\S+)?\s+(?:\((\d+)\|M\d+\))?(.*)")


@dataclass(frozen=True)
class Read:
    """An instruction: pipe, bytes that it reads and writes, the token it sets, dependences."""

    text: str
    pipe: str
    reads: frozenset[int]
    writes: frozenset[int]
    sets: int
    notes: tuple[str, ...]
    every: tuple[tuple[int, str], ...] = ()


def parsed(text: str) -> list[Read]:
    """The instructions of a listing."""
    lines = (line.partition("//")[0].strip() for line in text.splitlines())
    kept = (x for x in lines if x and not x.startswith((".", "/*")) and not x.endswith(":"))
    return [one_of(line) for line in kept if "illegal" not in line]


def one_of(line: str) -> Read:
    """What an instruction is, by its kind."""
    braces = re.search(r"\{([^{}]*)\}\s*$", line)
    notes = [n.strip() for n in braces[1].split(",")] if braces else []
    notes = [n for n in notes if "$" in n or "@" in n]
    match = LINE.fullmatch(line[: braces.start()].strip() if braces else line)
    assert match, line
    op, size, words = match[1], int(match[3] or 1), match[4].split()
    if words and re.match(r"\(\w+\)f\d", words[0]):
        words = words[1:]
    sub = match[2] or ""
    own = [n for n in notes if re.fullmatch(r"\$\d+", n)]
    if op in ("send", "sendc"):
        desc = int(words[-1], 16)
        reads = whole(words[1], desc >> 25 & 15) | whole(words[2], 0)
        sets = int(own[0][1:]) if own else -1
        return Read(line, "S", reads, whole(words[0], desc >> 20 & 31), sets, tuple(notes))
    if op == "dpas":
        repeat = int(sub.rpartition("x")[2])
        to, c, b, a = words
        reads = whole(b, 8) | ranged(a, repeat * 32) | ranged(c, repeat * 16 * wide(c))
        sets = int(own[0][1:]) if own else -1
        return Read(line, "D", reads, ranged(to, repeat * 16 * wide(to)), sets, tuple(notes))
    if op in ("sync", "jmpi", "goto", "join", "nop"):
        kind = {"allrd": "src", "allwr": "dst"}.get(sub.lstrip("."), "")
        named = re.findall(r"\$(\d+)", match[4])
        every = tuple((int(n), kind) for n in (named or range(32))) if kind else ()
        return Read(line, "", frozenset(), frozenset(), -1, tuple(notes), every)
    if words[0].startswith("null") and op == "mov":
        return Read(line, "I", frozenset(), frozenset(), -1, tuple(notes))
    kind = words[0].rpartition(":")[2]
    pipe = (
        "M" if op == "math" else "L" if kind == "df" else "F" if kind in ("f", "hf", "bf") else "I"
    )
    reads = frozenset[int]().union(*(lanes(w, size) for w in words[1:]))
    return Read(line, pipe, reads, lanes(words[0], size), -1, tuple(notes))


def whole(word: str, count: int) -> frozenset[int]:
    """Bytes of whole registers, as many as the operand says, or else the descriptor."""
    match = re.match(r"r(\d+)(?::(\d+))?", word)
    if match is None:
        return frozenset()
    first, many = int(match[1]), int(match[2] or count)
    return frozenset(range(64 * first, 64 * (first + many)))


def wide(word: str) -> int:
    """Bytes of an element."""
    return WIDTH.get(word.rpartition(":")[2], 4)


def ranged(word: str, nbytes: int) -> frozenset[int]:
    """Bytes from an operand's first one on."""
    match = re.match(r"r(\d+)(?:\.(\d+))?", word)
    if match is None:
        return frozenset()
    first = 64 * int(match[1]) + int(match[2] or 0) * wide(word)
    return frozenset(range(first, first + nbytes))


def lanes(word: str, size: int) -> frozenset[int]:
    """Bytes of a region: ``r3.2<8;8,1>:f``, ``<1>`` for a destination."""
    match = OPERAND.fullmatch(word)
    if match is None:
        return frozenset()
    unit = WIDTH.get(match[4] or "", 4)
    first = 64 * int(match[1]) + int(match[2] or 0) * unit
    steps = [int(n) for n in re.findall(r"\d+", match[3] or "1")]
    if len(steps) == 3:
        down, across, step = steps
        at = [lane // across * down + lane % across * step for lane in range(size)]
    elif len(steps) == 2 and ";" in (match[3] or ""):
        at = [lane * (steps[1] or steps[0]) for lane in range(size)]  # <vertical;horizontal>
    else:
        at = [lane * steps[0] for lane in range(size)]
    return frozenset(first + unit * a + i for a in at for i in range(unit))


# ------------------------------------------------------------ account
# What each dependence covers on a way through the code.


# After so many instructions the compiler counts a result as written: visa/LocalScheduler of
# intel/intel-graphics-compiler, the greatest distances of dependences on ALU and math.
REACH = {"I": 11, "F": 11, "L": 15, "M": 18}


@dataclass
class Account:
    """Who wrote and reads each byte last, and which of these are known to be over."""

    writer: dict[int, int] = field(default_factory=dict)
    reader: dict[int, int] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    read: set[int] = field(default_factory=set)
    pipes: dict[str, list[int]] = field(default_factory=lambda: {p: [] for p in "FILMA"})
    tokens: dict[int, int] = field(default_factory=dict)

    def wait(self, note: str, pipe: str, covers: str) -> None:
        """Take a dependence into account."""
        if "@" in note:
            name, _, back = note.partition("@")
            line = self.pipes[name or (pipe if pipe in "FILM" else "A")]
            self.done |= set(line[: len(line) - int(back) + 1])
            return
        token, _, kind = note[1:].partition(".")
        self.token(int(token), kind or covers)

    def enter(self, one: Read, at: int) -> None:
        """Remember what an instruction reads, writes and sets."""
        for byte in one.writes:
            self.writer[byte] = at
            self.reader.pop(byte, None)
        if one.pipe in ("S", "D"):
            self.reader.update(dict.fromkeys(one.reads, at))
        if one.pipe and one.pipe in "FILM":
            self.pipes[one.pipe].append(at)
            self.pipes["A"].append(at)
        if one.sets >= 0:
            self.tokens[one.sets] = at

    def token(self, token: int, kind: str) -> None:
        """Who set a token last has read, or is over."""
        at = self.tokens.get(token, -1)
        self.read.add(at)
        if kind == "dst":
            self.done.add(at)


def uncovered(
    code: Sequence[Read], way: Sequence[int], without: tuple[int, int]
) -> Iterator[tuple[int, int, str]]:
    """Yield pairs (earlier, later, kind) of which no dependence says that the first is over."""
    account = Account()
    for at, number in enumerate(way):
        one = code[number]
        for place, note in enumerate(one.notes):
            if (number, place) != without:
                account.wait(note, one.pipe, "dst")
        for token, kind in one.every:
            account.token(token, kind)
        if at and number != way[at - 1] + 1:  # behind a jump nothing of these pipes is waited for
            account.done.update(account.pipes["A"])
        old = [w for w in (at - n for n in set(REACH.values())) if w >= 0]
        account.done |= {w for w in old if at - w >= REACH.get(code[way[w]].pipe, 1 << 30)}
        for first, kind in conflicts(account, code, way, one):
            yield way[first], number, kind
        account.enter(one, at)


def conflicts(
    account: Account, code: Sequence[Read], way: Sequence[int], one: Read
) -> Iterator[tuple[int, str]]:
    """Yield the first place of a way of each kind that an instruction does not wait for."""
    written = [account.writer.get(byte, -1) for byte in one.writes]
    read = [account.writer.get(byte, -1) for byte in one.reads]
    readers = [account.reader.get(byte, -1) for byte in one.writes]

    def pipe(at: int) -> str:
        return code[way[at]].pipe

    kinds = {
        "read": [w for w in read if (pipe(w), one.pipe) != ("D", "D")],
        "written": [w for w in written if pipe(w) != one.pipe],
        "overwritten": [
            r for r in readers
            if r not in account.read and (one.pipe == "S" or pipe(r) != one.pipe)
        ],
    }  # fmt: skip
    for kind, every in kinds.items():
        for first in every:
            if first >= 0 and first not in account.done:
                yield first, kind
                break


def needed(
    text: str, way: Sequence[int], rng: random.Random
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield, by chance, (instruction, place) of dependences that cover something, and what."""
    code = parsed(text)
    before = set(uncovered(code, way, (-1, -1)))
    every = [
        (number, place)
        for number in sorted(set(way))
        for place, note in enumerate(code[number].notes)
        if note != f"${code[number].sets}"
    ]
    rng.shuffle(every)
    for one in every:
        if new := set(uncovered(code, way, one)) - before:
            yield *one, tuple(sorted({first for first, _, _ in new}))


def removed(text: str, number: int, place: int) -> str:
    """Return the text without a dependence of an instruction."""
    lines, at = text.splitlines(), -1
    for i, line in enumerate(lines):
        bare = line.partition("//")[0].strip()
        if not bare or bare.startswith((".", "/*")) or bare.endswith(":") or "illegal" in bare:
            continue
        at += 1
        if at == number:
            braces = re.search(r"\{([^{}]*)\}\s*$", bare)
            assert braces
            words = [w.strip() for w in braces[1].split(",")]
            notes = [w for w in words if "$" in w or "@" in w]
            words.remove(notes[place])
            lines[i] = (
                f"{bare[: braces.start()]}{{{','.join(words)}}}"
                if words
                else bare[: braces.start()]
            )
    return "\n".join(lines)


# ------------------------------------------------------------ measure


def noticed(
    binary: cx.native.Binary, given: dict[str, Any], text: str, first: tuple[int, ...]
) -> str:
    """Return how a replay noticed, empty where it did not: as usual, or with slow instructions."""
    for slower, only in ((1.0, ()), (40.0, first), *((40.0, (one,)) for one in first[:3])):
        got = cx.native.replay(binary, text=text, slower=slower, only=only, **given)
        if not got:
            values = "another result" if got.differs else "a hazard"
            return f"{values}, {'as usual' if slower == 1 else 'slower'}"
    return ""


def main() -> int:
    """Take needed dependences out, one at a time, over binaries of all kinds for two targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng, start = random.Random(asked.seed), time.perf_counter()
    jobs = [(name, target) for target in ("pvc", "bmg") for name in CASES]
    rng.shuffle(jobs)
    share, ways_of, missed = max(1, -(-asked.count // len(jobs))), Counter[str](), list[str]()
    tried = 0
    for name, target in track(jobs):
        kernel, given = CASES[name].make()
        binary = cx.native.compile(kernel, target)
        ways = cx.native.ways(binary, **given)
        way = max(ways, key=len)[:2000]
        for number, place, first in islice(needed(binary.disassembly, way, rng), share):
            if tried == asked.count:
                break
            tried += 1
            how = noticed(binary, given, removed(binary.disassembly, number, place), first)
            ways_of[how] += bool(how)
            if not how:
                line = parsed(binary.disassembly)[number]
                missed.append(f"{name} for {target}: {line.notes[place]} of {number}: {line.text}")
    caught = ways_of.total()
    print(f"{caught} of {tried} noticed in {time.perf_counter() - start:.0f} s: {dict(ways_of)}")
    print("\n".join(missed))
    return caught < 0.95 * tried


if __name__ == "__main__":
    sys.exit(main())
