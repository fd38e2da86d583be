"""`explain`: each statement of a kernel with the instructions that the compiler made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import cast

from pycute_xe.arch import Target, get_target
from pycute_xe.emitting.names import called
from pycute_xe.emitting.opencl import BEFORE, statement_lines
from pycute_xe.errors import ToolError
from pycute_xe.kernel import If, Kernel, Loop, Statement
from pycute_xe.kernel.ir.listing import line, line_in
from pycute_xe.naming.subjects import Named, kernel_of
from pycute_xe.native.assembly import Assembly, Instruction
from pycute_xe.native.compiler import Binary, compile, options_of, read_binary
from pycute_xe.native.explained import Explained, Made, Part
from pycute_xe.native.loops import kind_of, spans
from pycute_xe.native.operands import GRF, bytes_read, bytes_written
from pycute_xe.native.origins import Coded, Visa, read_listing, read_visa
from pycute_xe.signatures import typed

__all__ = ["explain", "explained_of"]

# Parts of a kernel that are not statements, by numbers below those of statements.
_START, _END, _SHARED, _NONE = -4, -3, -2, -1
_AROUND = {
    _START: "the start: arguments, subgroup, work-group, surfaces",
    _END: "the end of the thread, and a mark behind it",
    _SHARED: "computed once for several statements",
    _NONE: "unattributed",
}


@typed
def explain(
    kernel: Kernel | Named, target: str | Target = "pvc", registers: int = 256, compiler: str = ""
) -> Explained:
    """Return each statement of a kernel with the instructions that the compiler made of it.

    An instruction belongs to the statement whose line of the emitted text the compiler names; where
    it names none, or one that does not use the result, to the statement that alone uses it. Which
    of the two it was is named, and so is what remains. Arguments, and what is raised, are those of
    `compile`; `ToolError` also where the compiler does not write down its steps.
    """
    return _explained(kernel_of("compile", kernel), get_target(target).name, registers, compiler)


@lru_cache(maxsize=32)
def _explained(kernel: Kernel, target: str, registers: int, compiler: str) -> Explained:
    plain = compile(kernel, target, registers, compiler)
    made_by, text = plain.toolchain, plain.text
    whole, visa, listings = made_by.followed(text, target, options_of(registers))
    binary = read_binary(whole, text, called(kernel), target, made_by, kernel)
    out = explained_of(kernel, binary, statement_lines(kernel, text), visa, listings)
    changed = _changed(plain.assembly, binary.assembly)
    notes = (f"with line records, {changed} instructions differ",) if changed else ()
    return out.noted(*notes)


def _changed(plain: Assembly, followed: Assembly) -> int:
    """How many instructions differ, up to the end of the thread: a hash of the input follows it."""
    a, b = (code.instructions[: _last(code) + 1] for code in (plain, followed))
    return abs(len(a) - len(b)) + sum(x != y for x, y in zip(a, b, strict=False))


def _last(assembly: Assembly) -> int:
    """The number of the instruction that ends the thread."""
    ends = [i for i, each in enumerate(assembly.instructions) if "EOT" in each.options]
    return max(ends, default=len(assembly.instructions) - 1)


# ------------------------------------------------------------ attributing


def explained_of(
    kernel: Kernel,
    binary: Binary,
    lines: Mapping[int, int],
    visa: str,
    listings: tuple[str, ...],
) -> Explained:
    """Return what a binary's instructions belong to, by what the compiler wrote down.

    ``lines`` are the statements of lines of the text, ``visa`` and ``listings`` its records.
    """
    assembly = binary.assembly
    coded = read_listing(listings, assembly)
    owners = _Owners(_lined(visa, binary), lines, kernel)
    around = spans(assembly)
    last = _last(assembly)
    made: list[Made] = []
    for i, (words, instruction) in enumerate(zip(coded, assembly.instructions, strict=True)):
        origin = owners.visa.get(words.visa)
        kind = "dead" if i > last else _kind(origin, instruction)
        owner, by = (_END, "place") if i > last else _owner(i, coded, owners, assembly)
        depth = sum(start <= i <= stop for start, stop in around)
        made.append(Made(i, owner, by, kind, depth, owners.line(words.visa), words.text))
    return Explained(
        kernel=kernel.name,
        compiler=binary.toolchain.name,
        target=binary.target,
        registers=binary.registers,
        scratch=binary.scratch,
        parts=tuple(_parts(kernel)),
        instructions=tuple(made),
        notes=tuple(_notes(kernel, made, coded, owners, assembly, around)),
    )


def _lined(visa: str, binary: Binary) -> dict[int, Visa]:
    """The instructions of vISA; `ToolError` where they name no lines."""
    out = read_visa(visa)
    if any(each.line for each in out.values()):
        return out
    raise ToolError(
        "explain",
        {"compiler": binary.toolchain.name, "target": binary.target},
        "the compiler's records name no line of the text",
        "use a version of atoms/native.toml",
    )


def _parts(kernel: Kernel) -> Iterator[Part]:
    """Yield what instructions may belong to: statements, and what is around them."""
    yield Part(_START, _AROUND[_START], 0, "")
    yield from (
        Part(i, line_in(kernel, s), depth, kind) for i, (s, depth, kind) in enumerate(_deep(kernel))
    )
    yield from (Part(number, _AROUND[number], 0, "") for number in (_END, _SHARED, _NONE))


def _deep(kernel: Kernel) -> Iterator[tuple[Statement, int, str]]:
    """Yield each statement, how deep it stands, and its kind."""

    def inside(body: tuple[Statement, ...], depth: int) -> Iterator[tuple[Statement, int, str]]:
        for statement in body:
            yield statement, depth, type(statement).__name__
            if isinstance(statement, (Loop, If)):
                yield from inside(statement.body, depth + 1)

    return inside(kernel.body, 0)


class _Owners:
    """What each instruction of vISA belongs to."""

    def __init__(self, visa: dict[int, Visa], lines: Mapping[int, int], kernel: Kernel) -> None:
        self.visa, self.lines = visa, lines
        self.inside: dict[int | None, set[int | None]] = {}
        around: list[int] = []
        for number, (_, depth, _) in enumerate(_deep(kernel)):
            around = [*around[:depth], number]
            for each in around[:depth]:
                self.inside.setdefault(each, set()).add(number)
        self.last = max(lines)
        self.readers: dict[str, list[int]] = {}
        for number, each in visa.items():
            for name in each.reads:
                self.readers.setdefault(name, []).append(number)

    def line(self, number: int) -> int:
        """The line of an instruction, 0 where it has none of its own."""
        each = self.visa.get(number)
        return each.line if each is not None and each.own else 0

    def named(self, number: int) -> int | None:
        """The part that the line of an instruction belongs to, None without one of its own."""
        each = self.visa[number]
        if not each.line:
            return _START  # the first instructions have no line
        if not each.own:
            return None
        if each.line > self.last:
            return _END
        part = self.lines.get(each.line)  # a line of the prelude has none
        return _START if part == BEFORE else part

    def users(self, number: int) -> set[int]:
        """The parts that use what an instruction computes, by way of those without a line."""
        seen, out, todo = {number}, set[int](), [number]
        while todo:
            each = self.visa[todo.pop()]
            for reader in self.readers.get(each.writes, ()) if each.writes else ():
                part = self.named(reader)
                if part is not None:
                    out.add(part)
                elif reader not in seen:
                    seen.add(reader)
                    todo.append(reader)
        return out

    def of(self, number: int) -> tuple[int, str]:
        """The part of an instruction, and how that is known."""
        named, users, each = self.named(number), self.users(number), self.visa[number]
        if each.payload:
            readers = (i for i in self.readers.get(each.writes, ()) if self.visa[i].message)
            senders = {self.named(i) for i in readers} & self.inside.get(named, set())
            if len(senders) == 1:
                return cast("int", senders.pop()), "use"
        whole = each.atom or named in (_START, _END)
        if named is not None and (whole or not users or named in users):
            return named, "line"
        if len(users) == 1:
            return users.pop(), "use"
        return (_SHARED, "use") if users else (_NONE, "")


def _owner(
    i: int, coded: tuple[Coded, ...], owners: _Owners, assembly: Assembly
) -> tuple[int, str]:
    words, instruction = coded[i], assembly.instructions[i]
    if words.prolog:
        return _START, "place"
    if words.visa in owners.visa:
        return owners.of(words.visa)
    if instruction.op == "sync" and i + 1 < len(coded):
        return _inferred(_owner(i + 1, coded, owners, assembly))  # what is waited for comes next
    if instruction.op == "mach":
        # The upper half of a product, of which the lower one was computed before it.
        halves = (j for j in reversed(range(i)) if assembly.instructions[j].op == "mul")
        return _inferred(_owner(next(halves, 0), coded, owners, assembly))
    return _NONE, ""


def _inferred(owner: tuple[int, str]) -> tuple[int, str]:
    return owner[0], "use" if owner[1] == "line" else owner[1]


_USUAL = {"scratch": "spill", "dpas": "dpas", "wait": "wait", "jump": "jump"}


def _kind(origin: Visa | None, instruction: Instruction) -> str:
    """What an instruction is there for."""
    usual = kind_of(instruction)
    if usual in _USUAL:
        return _USUAL[usual]
    if usual not in ("mov", "compute"):
        return "wait" if instruction.op == "sync" else "send"
    if origin is None or not origin.atom:
        return "index"
    if origin.payload or origin.message:
        return "fill"
    return "move" if usual == "mov" else "alu"


# ------------------------------------------------------------ loops


# The bytes of a block-2D payload, as `messages` reads them.
_FIELDS = (
    *((0, "base"), (8, "width"), (12, "height"), (16, "pitch"), (20, "x"), (24, "y")),
    (28, "block"),
)


def _notes(
    kernel: Kernel,
    made: list[Made],
    coded: tuple[Coded, ...],
    owners: _Owners,
    assembly: Assembly,
    around: list[tuple[int, int]],
) -> Iterator[str]:
    """Yield what stands out: payloads filled anew, loops written out."""
    titles = [" ".join(line(s).partition("  by ")[0].split()) for s in kernel.statements()]
    for number, title in enumerate(titles):
        mine = [each for each in made if each.part == number]
        yield from _refilled(title, mine, assembly, around)
        inline = {coded[e.number].visa: e.line for e in mine if e.kind in ("send", "dpas")}
        lines = Counter(at for i, at in inline.items() if i in owners.visa and owners.visa[i].atom)
        if (most := max(lines.values(), default=1)) > 1:
            yield f"{title}: written out {most} times"
    jumps = {made[stop].part for _, stop in around}
    for number, statement in enumerate(kernel.statements()):
        if isinstance(statement, Loop) and number not in jumps:
            yield f"{titles[number]} has no jump back: it is written out"


def _refilled(
    title: str, mine: list[Made], assembly: Assembly, around: list[tuple[int, int]]
) -> Iterator[str]:
    """Say where the payloads of block-2D messages are filled in each trip of a loop."""
    code = assembly.instructions
    filling = [e.number for e in mine if e.kind == "fill" and e.depth]
    sent = [e for e in mine if e.kind == "send" and e.depth and code[e.number].sub == "ugm"]
    if not sent or len(filling) <= len(sent):
        return
    inner = min((s for s in around if s[0] <= filling[0] <= s[1]), key=lambda s: s[1] - s[0])
    changed = {byte for each in code[inner[0] : inner[1] + 1] for byte in bytes_written(each)}
    idle = [i for i in filling if not any(byte in changed for byte in bytes_read(code[i]))]
    fields = {name: None for i in idle for name in _fields(code[i])}
    same = f", {len(idle)} with what no trip changes ({', '.join(fields)})" if idle else ""
    plural = "s" if len(sent) > 1 else ""
    yield (
        f"{title}: {len(filling)} instructions fill the payload{plural} of {len(sent)} "
        f"message{plural} in each trip{same}"
    )


def _fields(instruction: Instruction) -> Iterator[str]:
    """The fields of a block-2D payload that an instruction writes."""
    places = {byte % GRF for byte in bytes_written(instruction)}
    yield from (name for at, name in _FIELDS if at in places)
