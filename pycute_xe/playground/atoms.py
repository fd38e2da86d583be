"""Atoms, two of a kind, what feeds an MMA, tiles and formulas of ownership."""

from __future__ import annotations

from typing import Any

from pycute_xe.arch.target import get_target, targets
from pycute_xe.atom import CopyAtom, MmaAtom, TiledCopy, TiledMma, workgroup_mma
from pycute_xe.checking import check
from pycute_xe.comparing import feeds
from pycute_xe.cutlass import LegacyCopyAtom, as_atom
from pycute_xe.cutlass.known_names import catalogue
from pycute_xe.differing import diff
from pycute_xe.drawing import draw
from pycute_xe.errors import InputError, quoted
from pycute_xe.explaining import explain
from pycute_xe.expressions import python_text
from pycute_xe.naming import is_expression, subject_of
from pycute_xe.playground.fields import (
    Request,
    Shown,
    drawn,
    field,
    integers,
    or_reason,
    script,
    subgroup_of,
)
from pycute_xe.playground.formulas import ownership_formula
from pycute_xe.playground.holders import (
    element_of,
    legal_neighbours,
    owner_text,
    owners_in_tile,
)
from pycute_xe.trials.enumerating import enumerated

__all__ = ["known_names"]


def known_names() -> dict[str, list[str]]:
    """Return the names that fields offer: ``copies``, ``mmas`` and ``targets``.

    >>> len(known_names()["copies"]) > 100, known_names()["targets"][:2]
    (True, ['bmg', 'lnl'])
    """
    every = [str(name) for name in catalogue()]
    older = [name for name in every if name.endswith("_TT")]
    copies = [name for name in every if "DPAS" not in name and name not in older]
    common = [f"XE_DPAS_TT<{m},{d},{a}>" for d, a in _TYPES for m in (8, 4, 2, 1)]
    return {"copies": copies, "mmas": [*common, *older], "targets": sorted(targets())}


_TYPES = (("f32", "bf16"), ("f32", "f16"), ("s32", "s8"), ("s32", "u8"), ("f32", "tf32"))


def of_atom(request: Request) -> Shown:
    name, target = field(request, "name"), get_target(request.get("target") or "bmg").name
    operand: Any = request.get("operand") or None
    atom: Any = _atom_of(name)
    is_mma = isinstance(atom, MmaAtom)
    explanation = explain(atom, target, operand) if operand else explain(atom, target)
    report = or_reason(lambda: check(atom, target))
    parts = [["What it does", str(explanation)], [f"On {target}", str(report)]]
    given = request.get("element")
    if given:
        parts.insert(0, ["Who holds it", owner_text(atom, element_of(given), operand)])
    picture = or_reason(lambda: atom.registers(operand or "A") if is_mma else atom.registers())
    parts.append(["Registers", str(picture)])
    if isinstance(atom, (CopyAtom, LegacyCopyAtom)):
        formula = ownership_formula(atom)
        if formula is not None:
            text = f"value v of work-item t: row {formula[0]}, column {formula[1]}"
            parts.append(["Formula", text])
    shown: Shown = {"parts": parts}
    shown = drawn(shown, lambda: draw(atom, operand) if is_mma else draw(atom))
    more = f", {target!r}" + (f", {operand!r}" if operand else "")
    shown["python"] = script(
        f"atom = cx.get_atom({name!r})\nprint(cx.explain(atom{more}))\n"
        f"print(cx.check(atom, {target!r}))"
    )
    shown["cpp"] = f"using namespace cute;\n\nusing Atom = {atom.to_cpp()};\n"
    return shown


def of_diff(request: Request) -> Shown:
    one, other = field(request, "one"), field(request, "other")
    operand: Any = request.get("operand") or None
    both = [subject_of("diff", text) for text in (one, other)]
    difference = diff(both[0], both[1], operand)
    code = ", ".join(_code(text) for text in (one, other)) + (f", {operand!r}" if operand else "")
    shown: Shown = {"parts": [["Verdict", difference.verdict], ["Difference", str(difference)]]}
    return {**shown, "python": script(f"print(cx.diff({code}))")}


def _atom_of(name: str) -> Any:
    """Return the atom that a text names. Raises as `subject_of` does."""
    atom = as_atom(subject_of("atom", name))
    return atom.atom if isinstance(atom, (TiledCopy, TiledMma)) else atom


def _code(text: str) -> str:
    return python_text(text) if is_expression(text) else repr(text)


def of_feeds(request: Request) -> Shown:
    copy, mma = field(request, "copy"), field(request, "mma")
    operand: Any = request.get("operand") or "A"
    feed = feeds(copy, mma, operand)
    parts = [["Verdict", str(feed)], ["Cost", feed.cost]]
    parts += [["Values move", feed.movement]] if feed.movement else []
    if feed.tiles:
        parts.append(["Map of registers", str(feed.slots)])
    code = f"print(cx.feeds({copy!r}, {mma!r}, {operand!r}))"
    return drawn({"parts": parts, "python": script(code)}, lambda: draw(copy))


def of_tile(request: Request) -> Shown:
    name, target = field(request, "mma"), get_target(request.get("target") or "bmg").name
    operand: Any = request.get("operand") or "A"
    tile, grid = integers(request, "tile"), integers(request, "subgroups")
    if len(grid) != 3 or len(tile) != 3:
        condition = "a tile and its subgroups have three extents, M, N and K"
        raise InputError("tile", dict(request), condition, "write 256,256,32 and 8,4,1")
    # Subgroups are numbered along N first, as CUTLASS numbers those of a work-group.
    strides = (grid[1], 1, 0)
    atom = _atom_of(name)
    if not isinstance(atom, MmaAtom):
        condition = f"{quoted(name)} is a copy, and an MMA is tiled"
        raise InputError("tile", {"mma": name}, condition, "name an MMA: XE_DPAS_TT<8,f32,bf16>")
    mma = workgroup_mma(atom.op, (tile[0], tile[1], tile[2]), (grid, strides))
    subgroup = subgroup_of(request, mma.num_subgroups)
    layouts = [f"{x}: {getattr(mma, f'tv_layout_{x}_tiled')}" for x in "ABC"]
    report = check(mma, target)
    parts = [["Thread-value layouts", "\n".join(layouts)], [f"On {target}", str(report)]]
    if not report:
        near = legal_neighbours(
            atom, (tile[0], tile[1], tile[2]), (grid[0], grid[1], grid[2]), get_target(target)
        )
        parts.insert(
            0, ["Refused", f"what {target} takes instead: " + ("; ".join(near) or "none near")]
        )
    given = request.get("element")
    if given:
        owners = owners_in_tile(mma, element_of(given), operand)
        parts.insert(0, ["Who holds it", owners])
    code = (
        f"mma = cx.workgroup_mma(cx.get_atom({name!r}).op, {tile}, ({grid}, {strides}))\n"
        f"print(mma.tv_layout_{operand}_tiled)\nprint(cx.check(mma, {target!r}))\n"
        f"cx.draw(mma, {operand!r}, subgroup={subgroup}).save('tile.svg')"
    )
    shown: Shown = {"parts": parts, "python": script(code)}
    shown["cpp"] = f"using namespace cute;\n\nusing Mma = {mma.to_cpp()};\n"
    return drawn(shown, lambda: draw(mma, operand, subgroup=subgroup))


def of_verify(request: Request) -> Shown:
    name, row, column = field(request, "name"), request.get("row"), request.get("column")
    verdict = enumerated(_atom_of(name), row or None, column or None)
    lines = [f"{name}: {verdict.answer}"]
    for proof in verdict.proofs:
        why = f": {proof.reason}" if proof.reason else ""
        lines.append(f"  {proof.answer:<10} {proof.property}: {proof.statement}{why}")
    parts = [["Verdict", "\n".join(lines)], ["How", str(verdict.tried)]]
    wrong = verdict.counterexample
    if wrong is not None:
        parts.insert(1, ["Counterexample", str(wrong)])
    given = f", row={row!r}, column={column!r}" if row else ""
    shown: Shown = {"parts": parts, "python": script(f"print(cx.verify({name!r}{given}))")}
    return drawn(shown, lambda: draw(name, mark=wrong))
