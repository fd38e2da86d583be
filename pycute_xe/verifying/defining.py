"""Floor 9: whether every element that a claim names lies inside its operand, for all sizes."""

from __future__ import annotations

from pycute_xe.errors import UndecidableError
from pycute_xe.kernel import Claim
from pycute_xe.kernel.spec.inside import Situated, is_inside, situated_elements
from pycute_xe.verifying.failures import smallest
from pycute_xe.verifying.points import Space
from pycute_xe.verifying.regions import Region

__all__ = ["undefined_claim"]


def undefined_claim(space: Space, claim: Claim) -> tuple[dict[str, int], str, Region] | None:
    """Return where a claim names an element outside its operand: a point, in words, all points.

    Raises `UndecidableError` for indices known only in a run, and where conditions are around the
    element, or a sum as long as another index says: then the value is computed as if it lay inside.
    """
    modes = space.kernel.operand(claim.output).modes
    ranges = tuple(zip(claim.indices, modes, strict=True))
    for one in situated_elements(claim.value, ranges):
        if is_inside(one, space.kernel.operand(one.element.operand).modes):
            continue
        region = _outside(space, one)
        point = smallest(region, space.naming)
        if point is None:
            continue
        words = f"{one} is claimed, and lies outside {one.element.operand}"
        variables = {name for name, _ in one.ranges}
        if one.guards or any(extent.names & variables for _, extent in one.ranges):
            sizes = ", ".join(f"{n} = {point[text]}" for n, text in space.naming.size_of.items())
            raise UndecidableError(
                "verify", {"claim": claim}, f"{words} at {sizes}", "tighten the condition around it"
            )
        return point, words, region
    return None


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
