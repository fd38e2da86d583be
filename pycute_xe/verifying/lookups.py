"""Elements of tables as integers: each lookup, at each argument, is a coordinate of a region.

In texts a lookup is written ``#2(v_b + 1)``: the number of an operand and its arguments, so that
renaming variables renames it. A region has a coordinate for each lookup that it mentions; what is
assumed of tables is said of every pair of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations, product
from typing import Any, TypeAlias

from pycute_xe.kernel.index import Index, Looked, Quotient
from pycute_xe.kernel.spec.tables import Law, Relation

__all__ = [
    "WORD",
    "Lookup",
    "Tables",
    "Texts",
    "arguments_in",
    "as_index",
    "between",
    "canonical",
    "current",
    "has_lookups",
    "is_lookup",
    "opened",
    "table_name",
    "text_of",
    "variables_of",
]

Texts: TypeAlias = "tuple[str, ...]"

_NAME = re.compile(r"l\d+_\d+")
WORD = re.compile(r"[A-Za-z_]\w*")


def table_name(number: int) -> str:
    """Return how texts call a table."""
    return f"#{number}"


def has_lookups(text: str) -> bool:
    """Whether a text looks anything up."""
    return "#" in text


def is_lookup(name: str) -> bool:
    """Whether a coordinate is that of a lookup."""
    return _NAME.fullmatch(name) is not None


# ------------------------------------------------------------ reading texts
# Texts of indices as values, in which sums are collected: equal ones then have one text.


@lru_cache(maxsize=1 << 16)
def as_index(text: str) -> Index | None:
    """Return the index that a text says; None for a form that is not an index.

    >>> print(as_index("2*v_b + #0(v_b + 1 + 0) - floor((v_b + 4)/4)"))
    2*v_b+#0[v_b+1]-v_b/4-1
    """
    form = text.replace("#", "_table_").replace(" mod ", " % ")
    try:
        return _index(ast.parse(form.strip(), mode="eval").body)
    except (SyntaxError, ValueError):
        return None


def _index(node: ast.expr) -> Index:
    match node:
        case ast.Constant(int(value)):
            return Index(None, value)
        case ast.Name(name):
            return Index(name)
        case ast.UnaryOp(ast.USub(), inner):
            return _index(inner) * -1
        case ast.BinOp(left, ast.Add(), right):
            return _index(left) + _index(right)
        case ast.BinOp(left, ast.Sub(), right):
            return _index(left) - _index(right)
        case ast.BinOp(left, ast.Mult(), right) if (scale := _index(left)).is_constant:
            return _index(right) * scale.offset
        case ast.BinOp(left, ast.Mod(), ast.Constant(int(divisor))):
            return _index(left) % divisor
        case ast.Call(ast.Name("floor"), [ast.BinOp(inner, ast.Div(), ast.Constant(int(by)))], []):
            return _index(inner) // by
        case ast.Call(ast.Name(name), arguments, []) if name.startswith("_table_"):
            return Index.element(f"#{name.removeprefix('_table_')}", *map(_index, arguments))
        case _:
            raise ValueError(ast.dump(node))


@lru_cache(maxsize=1 << 16)
def text_of(index: Index) -> str:
    """Return the text of an index whose tables are numbers."""
    parts: list[str] = []
    for atom, scale in index.terms:
        match atom:
            case str():
                inner = atom
            case Quotient(of, divisor):
                inner = f"floor(({text_of(of)})/{divisor})"
            case Looked(operand, at):
                inner = f"{operand}({', '.join(map(text_of, at))})"
        parts.append(inner if scale == 1 else f"{scale}*{inner}")
    if index.offset or not parts:
        parts.append(str(index.offset))
    return " + ".join(parts)


def _between_ends(given: tuple[Relation, ...]) -> Iterator[Relation]:
    """Yield what lies between ends of which each is one of an entry."""
    for (low, entry, one), (same, high, other) in product(given, given):
        if entry == same and entry.looked_up and not (low.looked_up or high.looked_up):
            yield low, high, "<" if "<" in (one, other) else "<="


def _is_positive(extent: Index) -> bool:
    """Whether an extent is 1 or more, as sizes are."""
    positive = all(isinstance(atom, str) and scale > 0 for atom, scale in extent.terms)
    return positive and extent.offset + sum(scale for _, scale in extent.terms) > 0


@lru_cache(maxsize=1 << 16)
def canonical(text: str) -> str:
    """Return the one text of all that say the same index; other texts stay.

    >>> canonical("(v_t + 1) + 0") == canonical("1 + v_t")
    True
    """
    index = as_index(text)
    return text.strip() if index is None else text_of(index)


# ------------------------------------------------------------ lookups


@dataclass(frozen=True)
class Lookup:
    """A coordinate: the element of a table at arguments, texts of variables and other coordinates.

    ``needs`` are the variables on which it depends.
    """

    name: str
    table: int
    arguments: tuple[str, ...]
    needs: frozenset[str]


@dataclass(frozen=True)
class _Family:
    """Lookups of one table whose arguments are constants apart: by how much beyond ``base``."""

    base: Index
    members: tuple[tuple[int, Lookup], ...]


def _families(lookups: list[Lookup]) -> list[_Family] | None:
    """Return lookups of a table with one argument, the least arguments first; None for others."""
    groups: dict[Index, list[tuple[int, Lookup]]] = {}
    for one in lookups:
        index = as_index(one.arguments[0]) if len(one.arguments) == 1 else None
        if index is None:
            return None
        groups.setdefault(index - index.offset, []).append((index.offset, one))
    members = ((base, sorted(group, key=lambda m: m[0])) for base, group in groups.items())
    return [_Family(base, tuple(group)) for base, group in members]


@dataclass(eq=False)
class Tables:
    """The tables of a kernel and all lookups in them, by name and by what they look up.

    ``operands`` are the names of tables by number, ``extents`` the extents of each as texts, and
    ``laws`` what is assumed, with names of operands that are numbers of tables; ``shared`` are the
    tables that share all rows out, by how many, as texts; ``made`` are tables
    that were made of points, ``ends`` the least and the greatest number of their types. ``used``
    are the assumptions, in words, of which something was said so far.
    """

    operands: dict[int, str] = field(default_factory=dict[int, str])
    extents: dict[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])
    laws: tuple[Law, ...] = ()
    shared: dict[int, str] = field(default_factory=dict[int, str])
    ends: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    by_name: dict[str, Lookup] = field(default_factory=dict[str, Lookup])
    answered: dict[tuple[Texts, Texts, bool], list[str]] = field(
        default_factory=dict["tuple[Texts, Texts, bool]", list[str]]
    )
    used: set[str] = field(default_factory=set[str])
    made: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    numbers: dict[object, int] = field(default_factory=dict[object, int])
    known: dict[tuple[int, tuple[str, ...]], Lookup] = field(
        default_factory=dict[tuple[int, tuple[str, ...]], Lookup]
    )

    def resolved(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Return a constraint with coordinates for its lookups, and their names, inner ones first.

        >>> Tables().resolved("#0(#1(v_b + 0)) + 1 < v_b")
        ('l0_1 + 1 < v_b', ('l1_0', 'l0_1'))
        """
        elements: dict[str, None] = {}
        while (start := text.rfind("#")) >= 0:  # the last one has none inside
            opens, end = between(text, start)
            number = int(text[start + 1 : opens])
            lookup = self.lookup(number, tuple(arguments_in(text[opens + 1 : end])))
            elements |= dict.fromkeys(self.all_of(lookup))
            text = f"{text[:start]}{lookup.name}{text[end + 1 :]}"
        return text, self.ordered(elements)

    def lookup(self, number: int, arguments: tuple[str, ...]) -> Lookup:
        """Return the coordinate of a lookup."""
        at = tuple(map(canonical, arguments))
        if (number, at) not in self.known:
            words = {w for text in at for w in WORD.findall(text)} - {"floor", "mod"}
            needs = frozenset[str]().union(
                *(self.by_name[w].needs if is_lookup(w) else {w} for w in words)
            )
            made = Lookup(f"l{number}_{len(self.by_name)}", number, at, needs)
            self.known[number, at] = self.by_name[made.name] = made
        return self.known[number, at]

    def all_of(self, lookup: Lookup) -> Iterator[str]:
        """Yield a lookup and those in its arguments, the inner ones first."""
        for text in lookup.arguments:
            for word in WORD.findall(text):
                if is_lookup(word):
                    yield from self.all_of(self.by_name[word])
        yield lookup.name

    def ordered(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return names of lookups in the order in which they were met: inner ones first."""
        return tuple(sorted(set(names), key=lambda name: int(name.partition("_")[2])))

    def needs(self, name: str) -> frozenset[str]:
        """Return the variables on which a lookup depends."""
        return self.by_name[name].needs

    def of_sizes(self) -> Iterator[str]:
        """Yield what follows for sizes: where a table has entries, there are numbers for them."""
        for law in self.laws:
            own = {name for name, _ in law.over}
            ends = [one for pair in law.then for one in pair[:2] if not one.looked_up]
            plain = law.joined and not law.when and not any(one.names & own for one in ends)
            for low, high, sign in _between_ends(law.then) if plain else ():
                empty = [f"{text_of(n)} <= 0" for _, n in law.over if not _is_positive(n)]
                if not _is_positive(high - low + int(sign == "<=")):  # as sizes are
                    self.used.update(law.source)
                yield f"({' or '.join([*empty, f'{text_of(low)} {sign} {text_of(high)}'])})"

    # ------------------------------------------------------------------ what is so of them

    def axioms(self, new: Iterable[str], old: Iterable[str], all_laws: bool = False) -> list[str]:
        """Return what is so of new coordinates beside others: equal arguments have equal values.

        ``all_laws`` asks for those that make points of tables, and that proofs do without.
        """
        key = (tuple(new), tuple(old), all_laws)
        if key not in self.answered:
            self.answered[key] = self._axioms(*key)
        return self.answered[key]

    def _axioms(self, new: Texts, old: Texts, all_laws: bool) -> list[str]:
        fresh, others = [self.by_name[n] for n in new], [self.by_name[n] for n in old]
        everyone = [*fresh, *others]
        mine = {one.name for one in fresh}
        out: list[str] = []
        for table in dict.fromkeys(one.table for one in fresh):
            own = [one for one in everyone if one.table == table]
            out += self._beside(table, own, mine)
        for law in self.laws:
            if (all_laws or not law.late) and not law.of_pairs:
                out += self._instances(law, everyone, mine)
        return list(dict.fromkeys(out))

    def _beside(self, table: int, own: list[Lookup], mine: set[str]) -> Iterator[str]:
        """Yield what is so of the elements of one table, of which some are new."""
        families = _families(own)
        if families is None:
            for one, other in combinations(own, 2):
                if {one.name, other.name} & mine:
                    yield from self._congruent(one, other)
            return
        laws = [law for law in self.laws if law.of_pairs == table_name(table)]
        for family in families:
            for (_, one), (_, other) in combinations(family.members, 2):
                if {one.name, other.name} & mine:
                    yield from self._in_order(laws, one, other)
        for first, second in combinations(families, 2):
            both = [*first.members, *second.members]
            if {one.name for _, one in both} & mine:
                yield self._by_cases(laws, first, second)

    def _by_cases(self, laws: list[Law], first: _Family, second: _Family) -> str:
        """Return what is so, by how far apart the arguments of two families are."""
        apart = text_of(first.base - second.base)
        steps = sorted({b - a for a, _ in first.members for b, _ in second.members})
        cases = [(f"{apart} < {steps[0]}", steps[0] - 1)]
        for step, after in zip(steps, [*steps[1:], None], strict=True):
            cases.append((f"{apart} = {step}", step))
            if after is None:
                cases.append((f"{apart} > {step}", step + 1))
            elif after > step + 1:
                cases.append((f"{step} < {apart} < {after}", step + 1))
        out: list[str] = []
        for condition, value in cases:
            parts = [condition]
            for a, one in first.members:
                for b, other in second.members:
                    if value + a == b:
                        parts.append(f"{one.name} = {other.name}")
                    else:
                        pair = (one, other) if value + a < b else (other, one)
                        parts += self._in_order(laws, *pair)
            out.append(" and ".join(f"({text})" for text in dict.fromkeys(parts)))
        return " or ".join(f"({text})" for text in out)

    def _in_order(self, laws: list[Law], one: Lookup, other: Lookup) -> Iterator[str]:
        """Yield what is so of an element and one behind it."""
        first, second = (as_index(x.arguments[0]) for x in (one, other))
        if first is None or second is None:
            return
        by_key = {(x.table, x.arguments): x for x in (one, other)}
        for law in laws:
            named = dict(zip((name for name, _ in law.over), (first, second), strict=True))
            text = self._instance(replace(law, when=law.when[1:]), named, by_key, set())
            if text:
                self.used.update(law.source)
                yield text

    def ordinary(self, names: Iterable[str]) -> str:
        """Return that elements are numbers as they are found in tables: -1 and small ones."""
        return " and ".join(f"-1 <= {name} < {LARGE}" for name in names) or "true"

    def possible(self, names: Iterable[str]) -> str:
        """Return that elements are numbers of their types."""
        texts: list[str] = []
        for name in names:
            low, high = self.ends[self.by_name[name].table]
            texts.append(f"{low} <= {name} <= {high}")
        return " and ".join(texts) or "true"

    def _congruent(self, one: Lookup, other: Lookup) -> Iterator[str]:
        apart: list[str] = []
        for a, b in zip(one.arguments, other.arguments, strict=True):
            first, second = as_index(a), as_index(b)
            rest = None if first is None or second is None else first - second
            if rest is not None and rest.is_constant:
                if rest.offset:
                    return
                continue
            apart.append(f"{a} != {b}")
        yield " or ".join([*apart, f"{one.name} = {other.name}"])

    def _instances(self, law: Law, everyone: list[Lookup], mine: set[str]) -> Iterator[str]:
        """Yield a law for all coordinates of which it speaks, new ones among them."""
        by_key = {(x.table, x.arguments): x for x in everyone}
        candidates = [self._candidates(law, name, everyone) for name, _ in law.over]
        for values in product(*candidates):
            named = dict(zip((name for name, _ in law.over), values, strict=True))
            used: set[str] = set()
            try:
                text = self._instance(law, named, by_key, used)
            except KeyError:
                continue
            if text and used & mine:
                self.used.update(law.source)
                yield text

    def beside(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return more elements: those that laws speak of together with some that are named."""
        known = [self.by_name[name] for name in names]
        by_key = {(x.table, x.arguments): x for x in known}
        out: dict[str, None] = {}
        for law in self.laws:
            for values in product(*(self._candidates(law, n, known) for n, _ in law.over)):
                named = dict(zip((n for n, _ in law.over), values, strict=True))
                every = [self._element(looked, named) for looked in law.looked]
                if any((x.table, x.arguments) in by_key for x in every):
                    self.used.update(law.source)
                    out |= dict.fromkeys(name for x in every for name in self.all_of(x))
        return tuple(name for name in out if self.by_name[name] not in known)[:MOST_BESIDE]

    def outside(self, name: str) -> str:
        """Return that an element lies outside of its table."""
        one = self.by_name[name]
        pairs = zip(one.arguments, self.extents[one.table], strict=True)
        return " or ".join(f"{at} < 0 or {at} >= {extent}" for at, extent in pairs) or "false"

    def _element(self, looked: Looked, named: Mapping[str, Index]) -> Lookup:
        """Return the coordinate of what a law looks up, at values of its variables."""
        texts: list[str] = []
        for index in looked.at:
            text, _ = self.resolved(text_of(index.substitute(named)))
            texts.append(text)
        return self.lookup(int(looked.operand[1:]), tuple(texts))

    def _candidates(self, law: Law, name: str, everyone: list[Lookup]) -> list[Index]:
        """Return the arguments at which a variable of a law makes it speak of some lookup."""
        out: dict[Index, None] = {}
        for looked in law.looked:
            for place, index in enumerate(looked.at):
                if (
                    index.names != frozenset({name})
                    or dict(index.terms).get(name) != 1
                    or index.looked_up
                ):
                    continue
                for one in everyone:
                    if table_name(one.table) == looked.operand:
                        given = as_index(one.arguments[place])
                        if given is not None:
                            out[given - index.offset] = None
        return list(out)

    def _instance(
        self,
        law: Law,
        named: Mapping[str, Index],
        by_key: Mapping[tuple[int, tuple[str, ...]], Lookup],
        used: set[str],
    ) -> str:
        """Return a law at values of its variables; empty where it says nothing there."""

        def text(index: Index) -> str:
            return text_of(_with_names(index.substitute(named), by_key, used))

        otherwise: list[str] = []
        for one, other, sign in (*law.ranges(named), *law.when):
            apart = one.substitute(named) - other.substitute(named)
            if apart.is_constant:
                if not _SO[sign](apart.offset):
                    return ""
                continue
            otherwise.append(f"{text(one)} {_CONTRARY[sign]} {text(other)}")
        then = [f"{text(one)} {sign} {text(other)}" for one, other, sign in law.then]
        if not law.joined:
            return " or ".join([*otherwise, *then])
        both = " and ".join(f"({t})" for t in then)
        return " or ".join([*otherwise, f"({both})"]) if otherwise else both


MOST_BESIDE = 8
"""More elements of tables than those are not asked for at once."""
LARGE = 1 << 16
"""Beyond the elements of the tables that are made where it does not matter."""

_CONTRARY = {"<": ">=", "!=": "=", "=": "!="}
_SO: dict[str, Callable[[int], bool]] = {
    "<": lambda apart: apart < 0,
    "!=": lambda apart: apart != 0,
    "=": lambda apart: apart == 0,
}
"""What signs say of how far one side lies behind the other."""


def _with_names(
    index: Index, by_key: Mapping[tuple[int, tuple[str, ...]], Lookup], used: set[str]
) -> Index:
    """Return an index with coordinates for lookups. Raises `KeyError` for one that has none."""
    out = Index(None, index.offset)
    for atom, scale in index.terms:
        match atom:
            case str():
                part = Index(atom)
            case Quotient(inner, divisor):
                part = _with_names(inner, by_key, used) // divisor
            case Looked(operand, at):
                texts = tuple(text_of(_with_names(i, by_key, used)) for i in at)
                name = by_key[int(operand[1:]), texts].name
                used.add(name)
                part = Index(name)
        out = out + part * scale
    return out


def variables_of(text: str) -> frozenset[str]:
    """Return the variables in a text, those inside lookups too."""
    return frozenset(WORD.findall(text)) - {"floor", "mod", "and", "or", "not", "true", "false"}


def between(text: str, start: int) -> tuple[int, int]:
    """Return where the parentheses behind a place open and close."""
    opens = text.index("(", start)
    depth = 0
    for end in range(opens, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if not depth:
            return opens, end
    raise ValueError(text)


def arguments_in(text: str) -> Iterator[str]:
    """Yield the arguments between parentheses."""
    depth, start = 0, 0
    for i, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and not depth:
            yield text[start:i]
            start = i + 1
    if text[start:].strip():
        yield text[start:]


# ------------------------------------------------------------ the tables of a proof

_NONE = Tables()
_tables: ContextVar[Tables | None] = ContextVar("_tables", default=None)


def opened(tables: Tables) -> None:
    """Say which tables the regions of a proof speak of."""
    _tables.set(tables)


def current() -> Tables:
    """Return the tables of the proof, empty ones outside of a proof."""
    return _tables.get() or _NONE
