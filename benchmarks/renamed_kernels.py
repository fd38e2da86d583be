"""Kernels of every kind with all their names changed: no verdict changes with them.

Each seed makes a kernel (`every_kernel`), changes it in up to two ways (`kernel_changes`), gives
every variable, size, operand, fragment and array another name, and compares the verdicts: the
answer of each property, counterexamples and conditions, up to the renaming:
    python benchmarks/renamed_kernels.py --count 5000 --seed 0
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from multiprocessing import Pool
from typing import Any, TypeAlias

from every_kernel import KINDS, SLOW
from kernel_changes import CHANGES

import pycute_xe as cx
from pycute_xe.errors import CuteError
from pycute_xe.identifiers import name_fault
from pycute_xe.kernel import Claim, Counterexample, Index, Kernel, Loop, Operand, Specification
from pycute_xe.kernel.index import Looked, Quotient
from pycute_xe.kernel.ir.planned import Planned
from pycute_xe.kernel.spec.expression import Element, Slot, Total
from pycute_xe.verifying.verdict import Verdict

Table: TypeAlias = dict[str, str]

# ---------------------------------------------------------------- what is renamed

THINGS = frozenset(
    "operand fragment source destination accumulator a b array output".split()  # noqa: SIM905
)
"""Fields that name an operand, a fragment or a shared array."""
WORDS = frozenset({"how", "role", "function"})
"""Fields of text that do not name anything of the kernel's."""
BUILT_IN = frozenset({"subgroup", "element"})


@dataclass(frozen=True)
class Names:
    """New names: of sizes, of operands and registers, and of the variables in scope."""

    sizes: Table
    things: Table
    variables: Table

    def index(self, index: Index) -> Index:
        """The index of the new names; nothing is collected anew, as all names stay apart."""
        terms = {self.atom(atom): scale for atom, scale in index.terms}
        return Index.of(terms, index.offset)

    def atom(self, atom: Any) -> Any:
        """A part of an index of the new names."""
        if isinstance(atom, Quotient):
            return Quotient(self.index(atom.index), atom.divisor)
        if isinstance(atom, Looked):
            return Looked(self.things[atom.operand], tuple(map(self.index, atom.at)))
        return atom if atom in BUILT_IN else self.variables.get(atom) or self.sizes[atom]

    def of(self, value: Any) -> Any:
        """Anything of a kernel's, renamed."""
        if isinstance(value, Index):
            return self.index(value)
        if isinstance(value, tuple):
            return tuple(map(self.of, value))
        if isinstance(value, Element):
            return Element(self.things[value.operand], self.of(value.at))
        if isinstance(value, Slot):
            return Slot(self.things[value.fragment])
        ours = type(value).__module__.startswith("pycute_xe.kernel")
        return self._fields(value) if ours and dataclasses.is_dataclass(value) else value

    def _fields(self, value: Any) -> Any:
        changed = {f.name: self._field(value, f.name) for f in dataclasses.fields(value) if f.init}
        return dataclasses.replace(value, **changed)

    def _field(self, value: Any, name: str) -> Any:
        held = getattr(value, name)
        if name in ("gathers", "holds"):
            return tuple((self.things[n], self.of(x)) for n, x in held)
        if name == "over":
            return tuple((self.variables[n], self.of(x)) for n, x in held)
        if name == "copy" or name == "mma":
            return held
        if not isinstance(held, str) or name in WORDS:
            return self.of(held)
        if name in THINGS:
            return self.things[held]
        if name == "var":
            return self.variables[held]
        raise TypeError(f"{type(value).__name__}.{name} is text that nothing is said of")


def renamed(kernel: Kernel, names: Names, claims: Mapping[str, Table]) -> Kernel:
    """Return a kernel of other names; ``claims`` has those of each claim's own variables."""
    operands = tuple(
        Operand(names.things[o.name], o.value_type, names.of(o.modes), o.contiguous, o.role)
        for o in kernel.operands
    )
    return Kernel(
        kernel.name,
        kernel.subgroups,
        operands,
        _called(kernel.fragments, names),
        tuple((names.variables[var], names.index(count)) for var, count in kernel.grid),
        names.of(kernel.body),
        None if kernel.computes is None else _claimed(kernel.computes, names, claims),
        _called(kernel.shared, names),
        None if kernel.plan is None else _planned(kernel.plan, names),
    )


def _planned(plan: Planned, names: Names) -> Planned:
    """Operands are things, the others variables or extents; what a plan does not have is empty."""
    operands = ("work", "count", "scratch", "locks", "a", "b", "d")
    others = names.variables | names.sizes
    new: dict[str, str] = {}
    for part, name in asdict(plan).items():
        new[part] = str((names.things if part in operands else others).get(name, name))
    return Planned(**new)


def _called(things: Iterable[Any], names: Names) -> tuple[Any, ...]:
    return tuple(dataclasses.replace(x, name=names.things[x.name]) for x in things)


def _claimed(computes: Specification, names: Names, claims: Mapping[str, Table]) -> Specification:
    out: list[Claim] = []
    for claim in computes.claims:
        if not isinstance(claim, Claim):
            raise TypeError(f"claims that scatter are not renamed: {claim}")
        own = dataclasses.replace(names, variables=claims[claim.output])
        index = tuple(own.variables[name] for name in claim.indices)
        out.append(Claim(names.things[claim.output], index, own.of(claim.value)))
    return dataclasses.replace(computes, claims=tuple(out))


def summed(value: Any) -> tuple[str, ...]:
    """Return the variables that sums in an expression bind, each once."""
    if isinstance(value, tuple):
        return tuple(dict.fromkeys(n for part in value for n in summed(part)))
    if not dataclasses.is_dataclass(value) or isinstance(value, Index):
        return ()
    own = tuple(name for name, _ in value.over) if isinstance(value, Total) else ()
    inner = tuple(getattr(value, f.name) for f in dataclasses.fields(value))
    return tuple(dict.fromkeys((*own, *summed(inner))))


# ---------------------------------------------------------------- new names

COMPOSED = ("e\u0301t\u00e9", "a\u0308", "\u0928\u093f")
POOLS: dict[str, tuple[str, ...]] = {
    "digits": tuple(f"{x}_{i}" for x in "kpjqrfmnvotuw" for i in range(4)),
    "suffixes": tuple(f"{x}{s}" for x in "mnkqlji" for s in ("_w", "_y", "x", "_", "_0_w", "_w_w")),
    "underscores": ("_", "__", "___", "_k", "_0", "__0", "_m_", "__k__", "_S", "_e0", "_1", "_x_"),
    "sets": (
        *("S_M", "S_N", "S_K", "S_", "v_m", "v_n", "u_0", "p_s", "p_e", "w_k", "b0_0", "c0", "c1"),
        *("t1_k", "a_1", "s", "e", "exists", "floor", "floord", "mod", "and", "or", "not", "max"),
        *("min", "true", "false", "T", "n_0", "v_3", "o_2", "f_1", "lane", "k_claimed", "ceild"),
        *("i0", "i1", "e0", "e1", "o0", "infty", "infinity", "NaN", "implies", "rat", "x", "y"),
        *("value", "values", "place", "work_group", "v0", "n0", "N0", "p", "q", "step", "trip"),
    ),
    "functions": (
        *("relu", "exp2", "exp", "bf16", "f32", "sum", "where", "add", "mul", "div", "below"),
        *("clamp", "acc", "total", "None", "True", "lambda", "if", "in", "is", "for", "def"),
        *("numpy", "np", "self", "Index", "Tiles", "ceil_div", "inf", "nan", "e1", "E5", "j"),
    ),
    "greek": ("α", "β", "γ", "Σ", "σ", "ς", "τ", "μ", "λ", "Ω", "ω", "π", "ε", "η", "φ"),
    "unicode": (
        *("行", "列", "深さ", "大小", "변수", "ﬁ", "fi", "ﬀ", "\u212a", "K", "k", "ſ", "s", "ª"),
        *("İ", "ı", "ß", "SS", "ẞ", "ĳ", "x\u0327", *COMPOSED, "été", "ä", "𝐀", "A", "ⅳ", "iv"),
        *("a·b", "℘", "م٠", "_٣", "k٠", "k_0", "𝔪", "m", "ℕ", "N", "L", "D"),
    ),
    "long": (*("x" * 200 + str(i) for i in range(8)), *("k" * n for n in (199, 200, 201, 64, 65))),
    "plain": (*"ABCDLMNKmnklxyz", "tCrC", "tCrA", "tCrB", "rows", "work", "count", "scale"),
}
"""Names to choose from, by what may go wrong with them."""

TAKEN = frozenset({"kernel", "executor", "target", "strict", "dtype", "report", "progress"})
"""What `run` takes for options."""


def everything_named(kernel: Kernel) -> tuple[list[str], list[str], list[str]]:
    """Return the names of sizes, of variables, and of operands, fragments and arrays."""
    loops = [s for s in kernel.statements() if isinstance(s, Loop)]
    variables = [name for name, _ in kernel.grid] + [loop.var for loop in loops]
    variables += summed(tuple(loop.holds for loop in loops))
    things = [x.name for group in (kernel.operands, kernel.fragments, kernel.shared) for x in group]
    return [*kernel.sizes], [*dict.fromkeys(variables)], things


def _fresh(r: random.Random, old: list[str], pool: list[str], taken: frozenset[str]) -> Table:
    """Give each name one of the pool's, or a longer one of them where they do not suffice."""
    free = [n for n in dict.fromkeys(pool) if n not in taken and name_fault(n) is None]
    r.shuffle(free)
    number = 0
    while len(free) < len(old):
        longer = f"{unicodedata.normalize('NFKC', r.choice(pool))}_{number}"
        number += 1
        if longer not in taken and longer not in free and name_fault(longer) is None:
            free.append(longer)
    return dict(zip(old, free, strict=False))


def _pool(r: random.Random, kernel: Kernel) -> tuple[str, list[str]]:
    """Return how names are chosen, and the names."""
    sizes, variables, things = everything_named(kernel)
    every = [*sizes, *variables, *things]
    bound = [n for c in kernel.computes.claims for n in c.variables] if kernel.computes else []
    own = {
        "permuted": every + bound,
        "prefixed": [r.choice(["S_", "v_", "_", "n_", "p_", "u_"]) + n for n in every],
        "numbered": [f"{n}_{r.randint(0, 3)}" for n in every + bound],
        "suffixed": [n + r.choice(["_w", "_y", "x", "_", "0", "_s"]) for n in every],
        "captured": [n + s for n in variables + bound for s in ("", "_w", "_y", "_0", "_1")],
    }
    how = r.choice([*own, *own, *POOLS])
    return how, own[how] if how in own else [*POOLS[how]]


@dataclass(frozen=True)
class Renaming:
    """A kernel, the same one of other names, and how the names were chosen."""

    plain: Kernel
    other: Kernel
    names: Names
    how: str


def anew(r: random.Random, kernel: Kernel) -> Renaming:
    """Return a kernel with new names for everything; `CuteError` where one is not allowed."""
    how, pool = _pool(r, kernel)
    if r.random() < 0.2:
        second, more = _pool(r, kernel)
        how, pool = f"{how}, {second}", [*pool, *more]
    sizes, variables, things = everything_named(kernel)
    held = BUILT_IN | TAKEN
    new_sizes = _fresh(r, sizes, pool, held)
    apart = held | frozenset(new_sizes.values())
    names = Names(new_sizes, _fresh(r, things, pool, apart), _fresh(r, variables, pool, apart))
    claims = kernel.computes.claims if kernel.computes is not None else ()
    own: dict[str, Table] = {}
    for claim in claims:
        bound = [*dict.fromkeys((*claim.variables, *summed(claim.value)))]
        again = pool if r.random() < 0.7 else [*new_sizes, *bound, *variables]
        own[claim.output] = _fresh(r, bound, again, apart)
    return Renaming(kernel, renamed(kernel, names, own), names, how)


# ---------------------------------------------------------------- the verdicts


def told(verdict: Verdict, names: Names | None) -> dict[str, Any]:
    """Return what a verdict says, in the new names where it is of the old ones."""
    sizes = names.sizes if names is not None else {}
    things = names.things if names is not None else {}
    found = verdict.counterexample
    return {
        "answer": verdict.answer,
        "properties": tuple((_property(p.property, things), p.answer) for p in verdict.proofs),
        "conditions": tuple(_words(p.condition, sizes) for p in verdict.proofs),
        "sizes": tuple(_sizes(p.counterexample, sizes) for p in verdict.proofs),
        "first": (_property(found.claim, things), _sizes(found, sizes)) if found else None,
    }


def _property(name: str, things: Table) -> str:
    first, space, rest = name.rpartition(" ")
    return f"{things.get(first, first)}{space}{rest}"


def _words(text: str, sizes: Table) -> str:
    """Return a condition in the new names; a factor stands before a name without a sign."""
    return re.sub(r"[A-Za-z_]\w*", lambda m: sizes.get(m[0], m[0]), text)


def _sizes(found: Counterexample | None, sizes: Table) -> dict[str, int] | None:
    return None if found is None else {sizes.get(n, n): x for n, x in found.sizes.items()}


BUDGET = 10.0


@cache
def _plain_verdict(kernel: Kernel) -> Verdict:
    return cx.verify(kernel, budget=BUDGET)


@dataclass(frozen=True)
class Outcome:
    """What a seed came to: a word that is counted, and what to look at if it is bad."""

    seed: int
    word: str
    how: str = ""
    told: str = ""
    names: dict[str, Table] = field(default_factory=dict[str, Table])

    @property
    def bad(self) -> bool:
        """Whether the names change the verdict."""
        return self.word.startswith("BAD")


def chosen(seed: int, kinds: Iterable[str] = KINDS) -> tuple[str, Kernel, random.Random]:
    """Return the kind and the kernel of a seed; `CuteError` where a change of it is refused."""
    r = random.Random(seed)
    weighted = [k for k in kinds for _ in range(1 if k in SLOW else 6 if k == "random" else 2)]
    kind = r.choice(weighted)
    kernel = KINDS[kind](r)
    for _ in range(r.choice([0, 0, 1, 1, 2])):
        kernel = r.choice(CHANGES)(r, kernel)
    return kind, kernel, r


def judged(seed: int, kinds: Iterable[str] = KINDS) -> Outcome:
    """Rename the kernel of a seed and compare the verdicts."""
    try:
        kind, kernel, r = chosen(seed, kinds)
    except CuteError:
        return Outcome(seed, "refused at construction")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _compared(seed, kind, anew(r, kernel))


def _compared(seed: int, kind: str, one: Renaming) -> Outcome:
    tables = {
        "sizes": one.names.sizes,
        "things": one.names.things,
        "variables": one.names.variables,
    }
    say: Callable[[str, str], Outcome] = lambda word, text: Outcome(  # noqa: E731
        seed, word, f"{kind}; {one.how}", text, tables
    )
    try:
        first = _plain_verdict(one.plain)
    except Exception as error:  # noqa: BLE001 - a crash is what is looked for
        return say("BAD: crashes as it is", f"{type(error).__name__}: {error}")
    try:
        second = cx.verify(one.other, budget=BUDGET)
    except Exception as error:  # noqa: BLE001
        return say("BAD: crashes when renamed", f"{type(error).__name__}: {error}")
    wanted, found = told(first, one.names), told(second, None)
    for what, value in wanted.items():
        if found[what] != value:
            return say(f"BAD: other {what}", f"{value} became {found[what]}")
    return say(first.answer, "")


def main() -> int:
    """Judge so many seeds; print the counts and what is bad."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", type=int, help="one seed, told in full")
    asked = parser.parse_args()
    if asked.only is not None:
        _, kernel, r = chosen(asked.only)
        one = anew(r, kernel)
        print(one.plain, one.other, judged(asked.only), sep="\n\n")
        return 0
    counts: Counter[str] = Counter()
    with Pool(asked.workers) as pool:
        todo = range(asked.seed, asked.seed + asked.count)
        for number, one in enumerate(pool.imap_unordered(judged, todo, chunksize=8), 1):
            counts[one.word] += 1
            if one.bad:
                print(one.seed, one.word, f"({one.how})", one.told[:300], flush=True)
            if number % 1000 == 0:
                print(f"{number}: {dict(counts)}", flush=True)
    for word, count in counts.most_common():
        print(f"{count:7} {word}")
    return int(any(word.startswith("BAD") for word in counts))


if __name__ == "__main__":
    raise SystemExit(main())
