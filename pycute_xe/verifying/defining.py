"""Whether every element that a claim names lies inside its operand, for all sizes."""

from __future__ import annotations

from dataclasses import replace

from pycute_xe.kernel.index import Index
from pycute_xe.kernel.spec.expression import Element
from pycute_xe.kernel.spec.places import Guard, Situated, is_inside, situated_elements
from pycute_xe.kernel.spec.scatters import Scatter
from pycute_xe.kernel.spec.specification import AnyClaim, Claim
from pycute_xe.verifying.least import smallest
from pycute_xe.verifying.points import Space
from pycute_xe.verifying.regions import Region

__all__ = ["undefined_claim"]


def undefined_claim(space: Space, claim: AnyClaim) -> tuple[dict[str, int], str, Region] | None:
    """Return where a claim names an element outside its operand: a point, in words, all points.

    Raises `UndecidableError` for indices known only in a run.
    """
    modes = space.kernel.operand(claim.output).modes
    match claim:
        case Claim(_, indices, value):
            every = situated_elements(value, tuple(zip(indices, modes, strict=True)))
        case Scatter():
            every = _scattered_elements(claim, modes)
    for one in every:
        if is_inside(one, space.kernel.operand(one.element.operand).modes):
            continue
        region = _outside(space, one)
        point = smallest(region, space.naming)
        if point is None:
            continue
        return point, f"{one} is claimed, and lies outside {one.element.operand}", region
    return None


def _scattered_elements(claim: Scatter, modes: tuple[Index, ...]) -> list[Situated]:
    """Return the elements that a scatter names: those that tell its places, and those of its value.

    The latter where the place lies inside of the output.
    """
    out = [_looked_up(e, claim.over[:i], ()) for i, (_, e) in enumerate(claim.over)]
    out += [
        _looked_up(index, claim.over, claim.when[:i])
        for i, pair in enumerate(claim.when)
        for index in pair
    ]
    out += [_looked_up(index, claim.over, claim.when) for index in claim.at]
    pairs = zip(claim.at, modes, strict=True)
    inside = tuple(g for at, n in pairs for g in ((Index(None, -1), at), (at, n)))
    values = situated_elements(claim.value, claim.over)
    inside = (*inside, *claim.when)
    values = [replace(one, guards=(*inside, *one.guards)) for one in values]
    return [*(one for some in out for one in some), *values]


def _looked_up(
    index: Index, ranges: tuple[tuple[str, Index], ...], guards: tuple[Guard, ...]
) -> list[Situated]:
    return [Situated(Element(x.operand, x.at), ranges, guards) for x in index.looked_up]


def _outside(space: Space, one: Situated) -> Region:
    """Return the sizes and variables at which an element lies outside."""
    own = {name: f"c_{number}" for number, (name, _) in enumerate(one.ranges)}
    texts = list(space.sizes)
    for name, extent in one.ranges:
        texts.append(f"0 <= {own[name]} < {space.naming.text(extent, own)}")
    for index, below in one.guards:
        texts.append(f"{space.naming.text(index, own)} < {space.naming.text(below, own)}")
    wrong: list[str] = []
    extents = space.extents(one.element.operand)
    for index, extent in zip(one.element.at, extents, strict=True):
        at = space.naming.text(index, own)
        wrong += [f"{at} < 0", f"{at} >= {extent}"]
    texts.append(" or ".join(wrong))
    names = (*space.naming.sizes, *own.values())
    return Region.where(names, " and ".join(f"({text})" for text in texts))
