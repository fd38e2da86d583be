"""Arguments of elements of tables, in the place of the elements, which are not known.

Two lookups in one table are of one element where their arguments are the same: what a sum looks up
by its own variables is told by the arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pycute_xe.kernel.index import Atom, Index, Looked, Quotient
from pycute_xe.verifying.lookups import WORD, Texts, arguments_in, as_index, between, text_of

__all__ = ["arguments_for", "looks_up_by", "replaced", "by_links"]


def arguments_for(texts: Sequence[str], bounds: Sequence[frozenset[str]]) -> list[Texts] | None:
    """Return texts in the place of each of some, which are equal where all of these are.

    Texts look nothing up any more by the variables that are bound there. None where they are not
    made alike.

    >>> arguments_for(("#0(x) + 16*y", "#0(z + 1) + y"), [frozenset("xy"), frozenset("zy")])
    [('x', 'z + 1'), ('16*y', 'y')]
    """
    indices = [as_index(text) for text in texts]
    known = [index for index in indices if index is not None]
    return _alike(known, bounds) if len(known) == len(indices) else None


def _alike(indices: Sequence[Index], bounds: Sequence[frozenset[str]]) -> list[Texts] | None:
    parts = [_parted(index, bound) for index, bound in zip(indices, bounds, strict=True)]
    if len({tuple(_shape(*atom) for atom in mine) for mine, _ in parts}) > 1:
        return None
    out: list[Texts] = []
    for number in range(len(parts[0][0])):
        inside = [_inside(mine[number][0]) for mine, _ in parts]
        for each in zip(*inside, strict=True):
            inner = _alike(each, bounds)
            if inner is None:
                return None
            out += inner
    rests = tuple(text_of(rest) for _, rest in parts)
    return out if out and set(rests) == {"0"} else [*out, rests]


def _parted(index: Index, bound: frozenset[str]) -> tuple[list[tuple[Atom, int]], Index]:
    """Part an index into what looks up by bound variables, and the rest."""
    mine = [(a, s) for a, s in index.terms if _looks_up(a, bound)]
    mine.sort(key=lambda pair: _shape(*pair))
    return mine, Index.of({a: s for a, s in index.terms if (a, s) not in mine}, index.offset)


def _looks_up(atom: Atom, bound: frozenset[str]) -> bool:
    match atom:
        case str():
            return False
        case Quotient(inner):
            return any(_looks_up(a, bound) for a, _ in inner.terms)
        case Looked(_, at):
            return any(index.names & bound for index in at)


def _shape(atom: Atom, scale: int) -> tuple[str, int]:
    match atom:
        case str():
            return atom, scale
        case Quotient(_, divisor):
            return f"/{divisor}", scale
        case Looked(operand, _):
            return operand, scale


def _inside(atom: Atom) -> tuple[Index, ...]:
    match atom:
        case str():
            return ()
        case Quotient(inner):
            return (inner,)
        case Looked(_, at):
            return at


def looks_up_by(text: str, bound: frozenset[str]) -> bool:
    """Whether a text looks something up at a place that bound variables tell."""
    starts = (i for i, letter in enumerate(text) if letter == "#")
    return any(bound & {*WORD.findall(text[slice(*between(text, i))])} for i in starts)


def replaced(text: str, same: Mapping[Index, str]) -> str:
    """Return a text with texts for some of the elements that it looks up, inner ones first.

    >>> replaced("#0(v_b + 1) - #0(v_b)", {Index.element("#0", Index("v_b")): "#0(c)"})
    '#0(v_b + 1) - #0(c)'
    """
    start = text.find("#")
    if start < 0:
        return text
    opens, end = between(text, start)
    whole = f"{text[start:opens]}({replaced(text[opens + 1 : end], same)})"
    index = as_index(whole)
    own = whole if index is None else same.get(index, whole)
    return f"{text[:start]}{own}{replaced(text[end + 1 :], same)}"


def by_links(text: str, links: Mapping[str, str], own: Sequence[str]) -> str:
    """Return a text whose lookups name what links tell, and no longer the variables in these.

    >>> by_links("#0(8*b + i + 1) < #0(n)", {"e": "8*b + i"}, ("b", "i"))
    '#0(e + 1) < #0(n)'
    """
    start = text.find("#")
    if start < 0:
        return text
    opens, end = between(text, start)
    inner = (
        _by_link(by_links(x, links, own), links, own) for x in arguments_in(text[opens + 1 : end])
    )
    return f"{text[:opens]}({', '.join(inner)}){by_links(text[end + 1 :], links, own)}"


def _by_link(argument: str, links: Mapping[str, str], own: Sequence[str]) -> str:
    index, free = as_index(argument), frozenset(own)
    for name, text in links.items() if index is not None and index.names & free else ():
        link = as_index(text)
        if index is None or link is None or not link.names & free:
            continue
        if not (rest := index - link).names & free:
            return text_of(Index(name) + rest)
        (var, *more), scales = sorted(link.names & free), dict(link.terms)
        beside = link - Index(var) * scales.get(var, 0)
        if not more and abs(scales.get(var, 0)) == 1 and var not in beside.names:
            return text_of(index.substitute({var: (Index(name) - beside) * scales[var]}))
    return argument
