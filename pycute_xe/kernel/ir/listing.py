"""Floor 7: a kernel as text that a person reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pycute_xe.atom.reordering import is_identity
from pycute_xe.kernel.ir.meanings import Meanings
from pycute_xe.kernel.ir.named import ROLES
from pycute_xe.kernel.ir.program import Program
from pycute_xe.kernel.ir.renaming import renamings
from pycute_xe.kernel.ir.statements import (
    AtomicStore,
    Await,
    BarrierArrive,
    BarrierWait,
    Convert,
    Fence,
    Fill,
    If,
    Load,
    Loop,
    Map,
    Mma,
    NamedArrive,
    NamedWait,
    Part,
    Prefetch,
    Reduce,
    Reorder,
    SharedLoad,
    SharedStore,
    Signal,
    Statement,
    Store,
)
from pycute_xe.kernel.ir.walking import walk

__all__ = ["LINES", "line", "listing"]

LINES: Meanings[Callable[[Statement], str]] = Meanings("listing")


def listing(kernel: Program) -> str:
    """Return the listing of a kernel: operands, what it computes, registers, statements."""
    over = ", ".join(f"{var} < {count}" for var, count in kernel.grid)
    head = [f"{kernel.name}({', '.join(map(str, kernel.operands))})"]
    if kernel.computes is not None:
        head += [f"  computes   {text}" for text in str(kernel.computes).splitlines()]
    mmas = dict.fromkeys(s.mma for s in walk(kernel.body) if isinstance(s, Mma))
    head += [f"  mma        {mma}" for mma in mmas]
    head.append(f"  registers  {', '.join(map(str, kernel.fragments))} per work-item")
    if kernel.shared:
        head.append(f"  shared     {', '.join(map(str, kernel.shared))}")
    head.append(f"  for each work-group {over}; for each of {kernel.subgroups} subgroups")
    return "\n".join([*head, *_lines(kernel.body, 2, frozenset(renamings(kernel)))])


def _lines(body: tuple[Statement, ...], level: int, renamed: frozenset[str]) -> Iterator[str]:
    for statement in body:
        text = line(statement)
        if isinstance(statement, Reorder) and statement.destination in renamed:
            text = text.replace("  by ", "  renames registers by ")
        yield "  " * level + text
        if isinstance(statement, (Loop, If)):
            yield from _lines(statement.body, level + 1, renamed)


def line(statement: Statement) -> str:
    """Return one statement as a line, without what it contains.

    >>> line(Fill("tCrC"))
    'fill      tCrC = 0'
    """
    return LINES[statement](statement)


def _place(statement: Prefetch | Load | Store | AtomicStore | Await | Signal) -> str:
    return f"{statement.operand}[{', '.join(map(str, statement.at))}]"


def _messages(statement: Prefetch | Load | Store | AtomicStore) -> str:
    return f"by {statement.copy.messages} × {statement.copy.op}"


@LINES.of(Prefetch)
def _(statement: Prefetch) -> str:
    return f"prefetch  {_place(statement)}  {_messages(statement)}"


@LINES.of(Load)
def _(statement: Load) -> str:
    return f"copy      {_place(statement)} → {statement.fragment}  {_messages(statement)}"


@LINES.of(Store)
def _(statement: Store) -> str:
    return f"copy      {statement.fragment} → {_place(statement)}  {_messages(statement)}"


@LINES.of(AtomicStore)
def _(statement: AtomicStore) -> str:
    return f"add       {statement.fragment} → {_place(statement)}  {_messages(statement)}"


@LINES.of(Fill)
def _(statement: Fill) -> str:
    return f"fill      {statement.fragment} = {statement.value:g}"


@LINES.of(Reorder)
def _(statement: Reorder) -> str:
    how = "moves nothing" if is_identity(statement.slots) else f"by {statement.slots}"
    return f"reorder   {statement.source} → {statement.destination}  {how}"


@LINES.of(Part)
def _(statement: Part) -> str:
    of = f"{statement.source} from {statement.first}"
    return f"part      {of} → {statement.destination}  by {statement.slots}"


@LINES.of(Convert)
def _(statement: Convert) -> str:
    return f"convert   {statement.source} → {statement.destination}"


@LINES.of(Map)
def _(statement: Map) -> str:
    by = ", ".join(f"{name} by {layout}" for name, layout in statement.gathers)
    return f"map       {statement.destination} = {statement.value}" + (f"  {by}" if by else "")


@LINES.of(Reduce)
def _(statement: Reduce) -> str:
    return (
        f"reduce    {statement.how} of {statement.source} → {statement.destination}  "
        f"by {statement.slots}"
    )


@LINES.of(Mma)
def _(statement: Mma) -> str:
    return (
        f"mma       {statement.accumulator} += {statement.a} · {statement.b}  "
        f"by {statement.mma.atom}"
    )


@LINES.of(BarrierArrive)
def _(_: Statement) -> str:
    return "barrier   arrive"


@LINES.of(BarrierWait)
def _(_: Statement) -> str:
    return "barrier   wait"


@LINES.of(NamedArrive)
def _(statement: NamedArrive) -> str:
    return f"barrier   arrive at {statement.barrier} as {ROLES[statement.role].words}"


@LINES.of(NamedWait)
def _(statement: NamedWait) -> str:
    return f"barrier   wait for {statement.barrier}"


@LINES.of(Fence)
def _(_: Statement) -> str:
    return "fence     shared memory"


@LINES.of(Await)
def _(statement: Await) -> str:
    return f"await     {_place(statement)} >= {statement.least}"


@LINES.of(Signal)
def _(statement: Signal) -> str:
    return f"signal    {_place(statement)} += {statement.by}"


@LINES.of(SharedStore)
def _(statement: SharedStore) -> str:
    at = "" if statement.at.is_constant and not statement.at.offset else f"{statement.at} + "
    return f"share     {statement.fragment} → {statement.array}[{at}{statement.places}]"


@LINES.of(SharedLoad)
def _(statement: SharedLoad) -> str:
    at = "" if statement.at.is_constant and not statement.at.offset else f"{statement.at} + "
    return f"share     {statement.array}[{at}{statement.places}] → {statement.fragment}"


@LINES.of(Loop)
def _(statement: Loop) -> str:
    claims = "; ".join(f"{name} holds {value}" for name, value in statement.holds)
    head = f"for {statement.start} <= {statement.var} < {statement.stop}"
    return head + (f" where {claims}:" if claims else ":")


@LINES.of(If)
def _(statement: If) -> str:
    return f"when {statement.index} < {statement.below}:"
