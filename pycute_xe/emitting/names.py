"""Names of a kernel as names of the texts that hold it: each an identifier that nothing else has.

What users call operands, sizes, variables and fragments may be a word of C, a macro, a function
that the text calls, or an instruction of vISA. Such a name gets an underscore behind it, or ``n_``
before it, in the text alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass, replace
from functools import cache
from keyword import kwlist
from pathlib import Path
from typing import Any

from pycute_xe.facts import rows
from pycute_xe.kernel import Kernel, Loop, Operand
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index, Looked, Quotient
from pycute_xe.kernel.spec.expression import Element, Slot
from pycute_xe.typing import is_tuple

__all__ = ["called", "spelled"]

# ------------------------------------------------------------ words

_VIEW = r"_(ud?|d|f|u?w|hf|bf|u?b|\d+)_*"


@cache
def _words() -> frozenset[str]:
    """What the preludes call, and what no row of ``atoms/words.toml`` says."""
    preludes = (
        Path(__file__).with_name(name).read_text("utf-8") for name in ("prelude.cl", "portable.cl")
    )
    code = re.sub(r"//.*", "", "\n".join(preludes))
    return frozenset({*re.findall(r"([a-z]\w*)\(", code), *kwlist, SUBGROUP_INDEX, "thread"})


@cache
def _pattern(place: str) -> re.Pattern[str]:
    """What is read as something else than a name at a place: rows of ``atoms/words.toml``."""
    mine = [row for row in rows("words", "words") if row["place"] == place]
    words = [word for row in mine if "words" in row for word in str(row["words"]).split()]
    patterns = ["".join(str(row["pattern"]).split()) for row in mine if "pattern" in row]
    return re.compile("|".join(words + patterns))


def _is_word(name: str) -> bool:
    """Whether a name would be read as something else anywhere."""
    return name in _words() or _pattern("text").fullmatch(name) is not None


def _is_local(name: str) -> bool:
    """Whether a name in a function's text would be read as something else."""
    return _is_word(name) or _pattern("inside").fullmatch(name) is not None


def _is_call(name: str) -> bool:
    """Whether a name beside the text's functions would be read as something else."""
    return _is_word(name) or _pattern("beside").fullmatch(name) is not None


def _is_visa(name: str) -> bool:
    """Whether a variable of vISA cannot have a name."""
    return _is_local(name) or _pattern("visa").fullmatch(name) is not None


# ------------------------------------------------------------ spelling


class _Spelling:
    """The names that are given so far, and those that are taken."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.views: list[str] = []

    def name(
        self, given: str, taken: Callable[[str], bool] = _is_local, *behind: str, before: str = ""
    ) -> str:
        """Return a name that is free, with what stands behind or before it in others."""
        plain = re.sub(r"[^A-Za-z0-9_]", lambda match: f"u{ord(match[0]):x}", given)
        if plain.startswith(("_", "xe_", "XE_")) or plain[0].isdigit():
            plain = f"n_{plain}"
        while True:
            forms = {plain, *(plain + end for end in behind), *({before + plain} if before else ())}
            if not any(taken(form) or form in self.used or self.is_view(form) for form in forms):
                self.used |= forms
                return plain
            longer = f"{plain}_"  # some families of words have every ending
            plain = f"n_{plain}" if taken(longer) or self.is_view(longer) else longer

    def is_view(self, name: str) -> bool:
        """Whether a view of a fragment may have this name."""
        return any(re.fullmatch(re.escape(f) + _VIEW, name) for f in self.views)


def called(kernel: Kernel) -> str:
    """Return the name of a kernel's function in the texts that hold it.

    >>> import dataclasses, pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> called(gemm), called(dataclasses.replace(gemm, name="sin"))
    ('gemm', 'sin_')
    """
    return _Spelling().name(kernel.name, _is_call)


def spelled(kernel: Kernel) -> tuple[Kernel, dict[str, str]]:
    """Return a kernel of the same meaning whose names every text takes, and the names that changed.

    It is the kernel itself where none did. What it claims is left out otherwise: no text says it.

    >>> import pycute_xe as cx
    >>> mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"))
    >>> spelled(cx.kernel.gemm(mma, epilogue="half*acc"))[1]
    {'half': 'half_'}
    """
    spelling = _Spelling()
    function = spelling.name(kernel.name, _is_call, "_device", "_xe")
    things: dict[str, str] = {}
    for part in (*kernel.fragments, *kernel.shared):
        things[part.name] = spelling.name(part.name, _is_visa)
        spelling.views.append(things[part.name])
    for operand in kernel.operands:
        things[operand.name] = spelling.name(operand.name, _is_local, *_behind(operand), before="s")
    loops = [s.var for s in kernel.statements() if isinstance(s, Loop)]
    variables = {
        name: spelling.name(name)
        for name in dict.fromkeys([*kernel.sizes, *(name for name, _ in kernel.grid), *loops])
    }
    every = {kernel.name: function} | things | variables
    changed = {old: new for old, new in every.items() if old != new}
    if not changed:
        return kernel, changed
    renaming = _Renaming(things, variables)
    renamed = Kernel(
        function,
        kernel.subgroups,
        tuple(renaming.operand(operand) for operand in kernel.operands),
        tuple(replace(f, name=things[f.name]) for f in kernel.fragments),
        tuple((variables[name], renaming.index(count)) for name, count in kernel.grid),
        renaming.of(kernel.body),
        None,
        tuple(replace(array, name=things[array.name]) for array in kernel.shared),
    )
    return renamed, changed


def _behind(operand: Operand) -> Iterable[str]:
    rank = len(operand.modes)
    of_modes = (f"_{what}{mode}" for what in ("pitch", "stride") for mode in range(rank))
    return ("_width", "_height", "_pitch", "_ld", *of_modes)


class _Renaming:
    """New names of operands, fragments and arrays, and of sizes and variables."""

    # Fields of statements that name an operand, a fragment or a shared array.
    THINGS = frozenset(
        (
            *("operand", "fragment", "source", "destination", "accumulator", "a", "b", "array"),
            *("output", "into"),
        )
    )

    def __init__(self, things: dict[str, str], variables: dict[str, str]) -> None:
        self.things, self.variables = things, variables

    def operand(self, operand: Operand) -> Operand:
        modes = tuple(map(self.index, operand.modes))
        return Operand(
            self.things[operand.name], operand.value_type, modes, operand.contiguous, operand.role
        )

    def index(self, index: Index) -> Index:
        return Index.of({self.atom(atom): scale for atom, scale in index.terms}, index.offset)

    def atom(self, atom: Any) -> Any:
        if isinstance(atom, Quotient):
            return Quotient(self.index(atom.index), atom.divisor)
        if isinstance(atom, Looked):
            return Looked(self.things[atom.operand], tuple(map(self.index, atom.at)))
        return self.variables.get(atom, atom)

    def of(self, value: Any) -> Any:
        """Return anything of a kernel's body, renamed."""
        if isinstance(value, Index):
            return self.index(value)
        if is_tuple(value):
            return tuple(map(self.of, value))
        if isinstance(value, Element):
            return Element(self.things[value.operand], self.of(value.at))
        if isinstance(value, Slot):
            return Slot(self.things.get(value.fragment, value.fragment))
        if is_dataclass(value) and type(value).__module__.startswith("pycute_xe.kernel"):
            one: Any = value
            return replace(
                one, **{f.name: self.field(f.name, getattr(one, f.name)) for f in fields(one)}
            )
        return value

    def field(self, name: str, value: Any) -> Any:
        if name == "holds":  # what loops claim is in no text
            return ()
        if name == "gathers":
            return tuple((self.things[fragment], layout) for fragment, layout in value)
        if not isinstance(value, str):
            return value if name in ("copy", "mma") else self.of(value)
        if name in self.THINGS:
            return self.things.get(value, value)
        return self.variables.get(value, value) if name == "var" else value
