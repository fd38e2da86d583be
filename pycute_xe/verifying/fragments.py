"""Floor 9: the registers an MMA reads hold the elements it takes them for."""

from __future__ import annotations

from pycute_xe.kernel import Load, Mma, Reorder
from pycute_xe.verifying.contents import (
    Held,
    operand_elements,
    subgroup_corner,
)
from pycute_xe.verifying.flow import Site
from pycute_xe.verifying.messages import loaded_elements
from pycute_xe.verifying.regions import Names, Region
from pycute_xe.verifying.scope import AXES, MEMORY, Failure, Point, Scope, mma_of, smallest
from pycute_xe.verifying.space import Base, place_text

__all__ = ["fragment_failure"]

REGISTER: Names = ("s", "l", "v")
Found = tuple[Region, Base] | None
"""What registers hold in a tile, and which tile; ``None`` where nothing of the operand is."""


def fragment_failure(scope: Scope, role: str) -> Failure | None:
    """Return the smallest failure of any MMA to find its operand in its registers."""
    failures = [_of_site(scope, site, role) for site in scope.products]
    return min((f for f in failures if f is not None), key=lambda f: f.key, default=None)


def _of_site(scope: Scope, site: Site, role: str) -> Failure | None:
    base = scope.base(site, role)
    expected = operand_elements(mma_of(site), role).region()
    found = _found(scope, site, role)
    placed = _placed(scope, found)
    if found is not None and found[1] == base:
        # The same tile: what differs, differs inside it, whatever the sizes.
        wrong = scope.space.lifted(expected - found[0], base, REGISTER)
    else:
        wrong = scope.space.lifted(expected, base, REGISTER) - placed
    if wrong.is_empty:
        return None
    point = smallest(_that_matter(scope, site, role, wrong), (*scope.space.names, *REGISTER))
    return None if point is None else _failure(scope, role, point, placed)


def _found(scope: Scope, site: Site, role: str) -> Found:
    """Trace a fragment back to the messages that filled it."""
    statement = site.statement
    if not isinstance(statement, Mma):
        return None
    chain = scope.flow.chain(site, statement.a if role == "A" else statement.b)
    load = chain[-1].statement if chain else None
    if not isinstance(load, Load) or load.operand != MEMORY[role]:
        return None
    operand = scope.kernel.operand(load.operand)
    held: Held = loaded_elements(load.copy, operand.x_mode)
    for moved in reversed(chain[:-1]):
        if isinstance(moved.statement, Reorder):
            held = held.reordered(moved.statement.slots)
    return held.region(), scope.copy_base(load.copy, operand, load.at)


def _placed(scope: Scope, found: Found) -> Region:
    if found is None:
        return Region.nothing((*scope.space.names, *REGISTER, "R", "C"))
    return scope.space.lifted(found[0], found[1], REGISTER)


def _that_matter(scope: Scope, site: Site, role: str, wrong: Region) -> Region:
    """Keep the elements inside the matrix that go into some element of D: ``O`` along the other."""
    rows, columns = scope.sizes(role)
    inside = wrong.within(f"{scope.space.domain(site)} and 0 <= R < {rows} and 0 <= C < {columns}")
    other = "B" if role == "A" else "A"
    (tile, number), _ = scope.base(site, other)
    names = (*inside.names, "O")
    output = place_text(tile, scope.space.index(number), "r")
    reached = subgroup_corner(mma_of(site), other).to(names, f"O = {output}")
    return (inside.to(names) & reached).within(f"0 <= O < {scope.extents[AXES[other][0]]}")


def _failure(scope: Scope, role: str, point: Point, placed: Region) -> Failure:
    fixed = " and ".join(f"{n} = {point[n]}" for n in (*scope.space.names, *REGISTER))
    here = placed.within(fixed).least()
    rows, columns = scope.sizes(role)
    element, found, where = (point["R"], point["C"]), None, "holds nothing of it: zero"
    if here is not None:
        place = here["R"], here["C"]
        if 0 <= place[0] < point[rows] and 0 <= place[1] < point[columns]:
            found, where = place, f"holds {role}{place}"
        else:
            where = f"holds {role}{place}, outside the matrix: zero"
    name = f"{role} fragment"
    output = element[0], point["O"]
    return scope.failure(
        point,
        claim=name,
        message=f"the register that DPAS reads as {role}{element} {where}",
        operand=role,
        element=element,
        found=found,
        output=output if role == "A" else (point["O"], element[0]),
    )
