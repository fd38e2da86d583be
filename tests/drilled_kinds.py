"""Kinds of statements that tests enter into the readers' tables, and what every reader says.

A drill is a kind of another class that declares the effect of kinds that there are. Each of its
entries is that of such a kind; only its line of the listing is its own. What a kernel of it is, its
twin of the known kinds says: every reader answers of both alike, or refuses the kind by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, get_args

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.checking.kernels import JUDGED
from pycute_xe.emitting import Language
from pycute_xe.errors import CuteError, KernelError
from pycute_xe.executing.reference import DOES
from pycute_xe.holding.following import HOLDS
from pycute_xe.kernel import Kernel, Meanings, Statement
from pycute_xe.kernel.ir.checks import FITS
from pycute_xe.kernel.ir.listing import LINES
from pycute_xe.kernel.ir.statements import If, Loop

TABLES: dict[str, Meanings[Any]] = {
    "FITS": FITS,
    "LINES": LINES,
    "JUDGED": JUDGED,
    "HOLDS": HOLDS,
    "DOES": DOES,
}
"""The tables that know every kind, as `ARCHITECTURE.md` lists them."""

Entries: TypeAlias = Mapping[str, Any]
Kinds: TypeAlias = "Mapping[type[Any], Entries]"
Change: TypeAlias = "Callable[[Any], Statement | tuple[Statement, ...] | None]"


# ------------------------------------------------------------ entries


def entry(table: str, kind: type[Statement]) -> Any:
    """Return what a kind means to a reader."""
    meaning = TABLES[table].without(kind)
    TABLES[table].of(kind)(meaning)
    return meaning


def entries_like(kind: type[Statement], line: Callable[[Any], str]) -> Entries:
    """Return the entries of a kind that does what another one does; its line is its own."""
    return {name: entry(name, kind) for name in TABLES} | {"LINES": line}


@contextmanager
def entered(kinds: Kinds, missing: str = "") -> Iterator[None]:
    """Enter kinds into the tables, but for one table; they are taken out at the end."""
    with ExitStack() as tables:
        for kind, entries in kinds.items():
            for name, meaning in entries.items():
                if name != missing:
                    TABLES[name].of(kind)(meaning)
                    tables.callback(TABLES[name].without, kind)
        yield


# ------------------------------------------------------------ kernels


def changed(kernel: Kernel, change: Change) -> Kernel:
    """Return a kernel with every statement changed: to another, to several, or to none."""
    return replace(kernel, body=_changed(kernel.body, change))


def _changed(body: tuple[Statement, ...], change: Change) -> tuple[Statement, ...]:
    out: list[Statement] = []
    for statement in body:
        new = change(statement)
        if new is statement and isinstance(statement, (If, Loop)):
            new = replace(statement, body=_changed(statement.body, change))
        out += new if isinstance(new, tuple) else () if new is None else (new,)
    return tuple(out)


def exchanged(kernel: Kernel, new: Mapping[type[Any], Callable[[Any], Statement]]) -> Kernel:
    """Return a kernel with statements of some kinds exchanged for those of others."""

    def change(statement: Any) -> Statement:
        make = new.get(type(statement))
        return statement if make is None else make(statement)

    return changed(kernel, change)


def kinds_in(kernel: Kernel) -> set[str]:
    """Return the names of the kinds of which a kernel has statements."""
    return {type(statement).__name__ for statement in kernel.statements()}


# ------------------------------------------------------------ readers


@dataclass(frozen=True)
class Drill:
    """A kind under drill: how twins are written with it, and what runs of a twin are given."""

    kinds: Kinds
    write: Callable[[Kernel], Kernel]
    inputs: tuple[Any, ...]
    sizes: Mapping[str, int]

    @property
    def names(self) -> str:
        """A pattern of the names of the kinds."""
        return "|".join(kind.__name__ for kind in self.kinds)


def answers(kernel: Kernel) -> dict[str, str]:
    """Return what is said of each property."""
    return {proof.property: proof.answer for proof in cx.verify(kernel).proofs}


def judged(kernel: Kernel) -> object:
    """Return what `check` says but for names of kinds: the rules, and what is in use."""
    report = cx.check(kernel, "bmg")
    broken = sorted((finding.subject, finding.broken.rule) for finding in report.findings)
    rules = [rule for _, rule in broken]
    return bool(report), rules, sorted(held.rule for held in report.held), report.resources


def ran(kernel: Kernel, executor: Any, inputs: tuple[Any, ...]) -> object:
    """Return the outputs of a run, and what it counts; or which fault stops it."""
    try:
        out, report = cx.run(kernel, *inputs, executor=executor, report=True)
    except cx.MachineError as error:
        return type(error).__name__
    every = out if isinstance(out, tuple) else (out,)
    counted = dict(report.messages), dict(report.bytes), report.dpas, report.barriers
    return [str(np.asarray(x).tolist()) for x in every], counted  # nan where nothing is written


READERS: dict[str, Callable[[Kernel, Drill], object]] = {
    "check": lambda kernel, _: judged(kernel),
    "verify": lambda kernel, _: answers(kernel),
    "reference": lambda kernel, drill: ran(kernel, "reference", drill.inputs),
    "fast": lambda kernel, drill: ran(kernel, "fast", drill.inputs),
    "cost": lambda kernel, drill: cx.cost(kernel, "bmg", **drill.sizes).facts,
    "draw": lambda kernel, drill: drawn(kernel, drill),
}
"""Each reader's answer of a kernel; `str` and `emit` are asked apart."""


def drawn(kernel: Kernel, drill: Drill) -> object:
    """Return the picture of a kernel: of its product, or of its rows."""
    multiplies = any(s.touched.product is not None for s in kernel.statements())
    picture = cx.draw(kernel, "A") if multiplies else cx.draw(kernel, tables=drill.sizes)
    return picture.text()


def agrees(reader: str, twin: Kernel, drill: Drill) -> None:
    """Demand that a reader answers of a kernel as of its twin, or refuses the kind by name.

    What is refused of the twin may be refused in the same way.
    """
    expected, refused = _read(reader, twin, drill)
    with entered(drill.kinds):
        kernel = drill.write(twin)
        assert kinds_in(kernel) & {kind.__name__ for kind in drill.kinds}
        found, refusal = _read(reader, kernel, drill)
    if refusal:
        assert refused or any(kind.__name__ in refusal for kind in drill.kinds), refusal
    else:
        assert not refused
        assert found == expected


def _read(reader: str, kernel: Kernel, drill: Drill) -> tuple[object, str]:
    """Return what a reader answers, and why it refuses a kernel."""
    try:
        return READERS[reader](kernel, drill), ""
    except CuteError as error:
        return None, str(error)


def is_proved(twin: Kernel, drill: Drill, *properties: str) -> None:
    """Demand that a kernel is proved, all of it or some properties."""
    with entered(drill.kinds):
        verdict = cx.verify(drill.write(twin))
        found = {proof.property: proof.answer for proof in verdict.proofs}
        named = properties or tuple(found)
        assert {name: found[name] for name in named} == dict.fromkeys(named, "proved"), verdict


def is_never_proved(twin: Kernel, drill: Drill) -> None:
    """Demand that a wrong kernel is disproved as its twin is, or left open, and never proved."""
    expected = cx.verify(twin)
    assert expected.answer != "proved"
    with entered(drill.kinds):
        kernel = drill.write(twin)
        found = cx.verify(kernel)
        assert found.answer in ("disproved", "undecided")
        if expected.answer == "disproved":
            assert found.answer == "disproved", found
            assert found.counterexample is not None
            assert cx.replay(kernel, found.counterexample).shows


def emission_is_refused(twin: Kernel, drill: Drill, effect: str = "") -> None:
    """Demand that no language is written for a kind without an entry, or for its effect at all."""
    words = rf"no meaning for ({drill.names})" + (f"|{effect}" if effect else "")
    with entered(drill.kinds):
        kernel = drill.write(twin)
        for language in set(get_args(Language)) - {"host"}:  # which launches a kernel alone
            with pytest.raises(KernelError, match=words):
                cx.emit(kernel, language)


def each_entry_is_needed(twin: Kernel, drill: Drill, missing: str) -> None:
    """Demand that the reader whose entry is missing refuses the kind by name, and no other does."""
    readers: dict[str, Callable[[Kernel], object]] = {
        "FITS": lambda kernel: kernel,
        "LINES": str,
        "JUDGED": lambda kernel: cx.check(kernel, "bmg"),
        "HOLDS": cx.verify,
        "DOES": lambda kernel: cx.run(kernel, *drill.inputs, executor="reference"),
    }
    with (
        entered(drill.kinds, missing),
        pytest.raises(KernelError, match=rf"no meaning for ({drill.names})"),
    ):
        readers[missing](drill.write(twin))
