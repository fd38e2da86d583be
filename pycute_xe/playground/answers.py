"""Requests of the playground, and what is shown for each: parts of text, a drawing, code."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pycute_xe.arch.target import get_target, targets
from pycute_xe.atom import CopyAtom, MmaAtom, workgroup_mma
from pycute_xe.checking import check
from pycute_xe.comparing import feeds
from pycute_xe.composed import ComposedLayout
from pycute_xe.cutlass import LegacyCopyAtom, get_atom
from pycute_xe.cutlass.known_names import catalogue
from pycute_xe.differing import diff
from pycute_xe.drawing import Drawing, draw
from pycute_xe.errors import CuteError, InputError, quoted
from pycute_xe.explaining import explain
from pycute_xe.expressions import ExpressionError, evaluate, outermost, python_text
from pycute_xe.f2 import F2Layout
from pycute_xe.layout import Layout
from pycute_xe.playground.formulas import ownership_formula
from pycute_xe.playground.holders import (
    element_of,
    legal_neighbours,
    owner_text,
    owners_in_tile,
)
from pycute_xe.printing import layout_table
from pycute_xe.swizzle import Swizzle
from pycute_xe.trials.enumerating import enumerated
from pycute_xe.typing import is_tuple

__all__ = ["KINDS", "answer", "known_names"]

Request = Mapping[str, str]
Shown = dict[str, Any]
LONGEST = 2000
"""Characters of a field, at most."""


def answer(request: Request) -> Shown:
    """Return what is shown for a request: ``parts`` (heading, text), ``svg``, ``python``, ``cpp``.

    ``kind`` is one of `KINDS`; the other fields are texts, as a page gives them. What the library
    refuses comes back as ``error``, in its own words, with ``pointer`` under an expression.

    >>> answer({"kind": "expression", "text": "coalesce((2,4):(1,2))"})["parts"][0]
    ['Value', '8:1']
    >>> answer({"kind": "expression", "text": "4:x"})["error"]
    "layout(expression='4:x'): column 3: the name 'x' stands alone. Way out: ..."
    >>> answer({"kind": "feeds", "copy": "XE_2D_U16x16x16_LD_N", "mma": "XE_DPAS_TT<8,f32,bf16>",
    ...         "operand": "B"})["parts"][0][1].splitlines()[0]
    'XE_2D_U16x16x16_LD_N feeds B of XE_DPAS_TT<8,f32,bf16,bf16,f32>: reorder'
    """
    try:
        kind = request.get("kind", "")
        if kind not in KINDS:
            condition = f"unknown kind {quoted(kind)}"
            raise InputError("answer", {"kind": kind}, condition, f"one of {', '.join(KINDS)}")
        for name, text in request.items():
            if len(text) > LONGEST:
                condition = f"{name} has {len(text)} characters, at most {LONGEST} are read"
                raise InputError("answer", {"field": name}, condition, "write less")
        return {"parts": [], "svg": "", "python": "", "cpp": "", **KINDS[kind](request)}
    except ExpressionError as error:
        return {"error": str(error), "pointer": error.pointer}
    except CuteError as error:
        return {"error": str(error), "pointer": ""}


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

# ------------------------------------------------------------ layouts


def _expression(request: Request) -> Shown:
    text = _field(request, "text")
    value = evaluate(text)
    parts = [["Value", _text(value)]]
    steps = _steps(text)
    if steps is not None:
        parts += [["Law", steps.rule], ["Steps", str(steps)]] if steps.rule else []
    shown: Shown = {"parts": parts, "python": _python(f"print({python_text(text)})")}
    if isinstance(value, (Layout, ComposedLayout)):
        table = _or_reason(lambda: layout_table(value))
        parts.insert(1, ["Table", str(table)])
        shown = _drawn(shown, lambda: draw(value))
    if isinstance(value, (Layout, ComposedLayout, Swizzle)):
        cpp = _or_reason(value.to_cpp)
        shown["cpp"] = f"using namespace cute;\n\nusing L = {cpp};\nprint(L{{}});\n"
    return shown


def _steps(text: str) -> Any:
    """The steps of the outermost operation; nothing where none are written down."""
    try:
        operation, operands = outermost(text)
        return explain(operation, *operands)
    except CuteError:
        return None


def _text(value: Any) -> str:
    if is_tuple(value):
        return f"({','.join(map(_text, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, F2Layout):
        return str(value)
    return "_" if value is None else str(value)


# ------------------------------------------------------------ atoms


def _atom(request: Request) -> Shown:
    name, target = _field(request, "name"), get_target(request.get("target") or "bmg").name
    operand: Any = request.get("operand") or None
    atom: Any = get_atom(name)
    is_mma = isinstance(atom, MmaAtom)
    explanation = explain(atom, target, operand) if operand else explain(atom, target)
    report = _or_reason(lambda: check(atom, target))
    parts = [["What it does", str(explanation)], [f"On {target}", str(report)]]
    given = request.get("element")
    if given:
        parts.insert(0, ["Who holds it", owner_text(atom, element_of(given), operand)])
    picture = _or_reason(lambda: atom.registers(operand or "A") if is_mma else atom.registers())
    parts.append(["Registers", str(picture)])
    if isinstance(atom, (CopyAtom, LegacyCopyAtom)):
        formula = ownership_formula(atom)
        if formula is not None:
            text = f"value v of work-item t: row {formula[0]}, column {formula[1]}"
            parts.append(["Formula", text])
    shown: Shown = {"parts": parts}
    shown = _drawn(shown, lambda: draw(atom, operand) if is_mma else draw(atom))
    more = f", {target!r}" + (f", {operand!r}" if operand else "")
    shown["python"] = _python(
        f"atom = cx.get_atom({name!r})\nprint(cx.explain(atom{more}))\n"
        f"print(cx.check(atom, {target!r}))"
    )
    shown["cpp"] = f"using namespace cute;\n\nusing Atom = {atom.to_cpp()};\n"
    return shown


def _diff(request: Request) -> Shown:
    one, other = _field(request, "one"), _field(request, "other")
    operand: Any = request.get("operand") or None
    both = [_value_or_name(text) for text in (one, other)]
    difference = diff(both[0], both[1], operand)
    code = ", ".join(_code(text) for text in (one, other)) + (f", {operand!r}" if operand else "")
    shown: Shown = {"parts": [["Verdict", difference.verdict], ["Difference", str(difference)]]}
    return {**shown, "python": _python(f"print(cx.diff({code}))")}


def _value_or_name(text: str) -> Any:
    """A layout where the text is one, else a name."""
    return evaluate(text) if not text.startswith("XE_") else text


def _code(text: str) -> str:
    return python_text(text) if not text.startswith("XE_") else repr(text)


def _feeds(request: Request) -> Shown:
    copy, mma = _field(request, "copy"), _field(request, "mma")
    operand: Any = request.get("operand") or "A"
    feed = feeds(copy, mma, operand)
    parts = [["Verdict", str(feed)], ["Cost", feed.cost]]
    parts += [["Values move", feed.movement]] if feed.movement else []
    if feed.tiles:
        parts.append(["Map of registers", str(feed.slots)])
    code = f"print(cx.feeds({copy!r}, {mma!r}, {operand!r}))"
    return _drawn({"parts": parts, "python": _python(code)}, lambda: draw(get_atom(copy)))


# ------------------------------------------------------------ tilings


def _tile(request: Request) -> Shown:
    name, target = _field(request, "mma"), get_target(request.get("target") or "bmg").name
    operand: Any = request.get("operand") or "A"
    tile, grid = _integers(request, "tile"), _integers(request, "subgroups")
    if len(grid) != 3 or len(tile) != 3:
        condition = "a tile and its subgroups have three extents, M, N and K"
        raise InputError("tile", dict(request), condition, "write 256,256,32 and 8,4,1")
    # Subgroups are numbered along N first, as CUTLASS numbers those of a work-group.
    strides = (grid[1], 1, 0)
    atom = get_atom(name)
    if not isinstance(atom, MmaAtom):
        condition = f"{quoted(name)} is a copy, and an MMA is tiled"
        raise InputError("tile", {"mma": name}, condition, "name an MMA: XE_DPAS_TT<8,f32,bf16>")
    mma = workgroup_mma(atom.op, (tile[0], tile[1], tile[2]), (grid, strides))
    subgroup = _subgroup(request, mma.num_subgroups)
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
    shown: Shown = {"parts": parts, "python": _python(code)}
    shown["cpp"] = f"using namespace cute;\n\nusing Mma = {mma.to_cpp()};\n"
    return _drawn(shown, lambda: draw(mma, operand, subgroup=subgroup))


def _verify(request: Request) -> Shown:
    name, row, column = _field(request, "name"), request.get("row"), request.get("column")
    verdict = enumerated(get_atom(name), row or None, column or None)
    lines = [f"{name}: {verdict.answer}"]
    for proof in verdict.proofs:
        why = f": {proof.reason}" if proof.reason else ""
        lines.append(f"  {proof.answer:<10} {proof.property}: {proof.statement}{why}")
    parts = [["Verdict", "\n".join(lines)], ["How", str(verdict.tried)]]
    wrong = verdict.counterexample
    if wrong is not None:
        parts.insert(1, ["Counterexample", str(wrong)])
    given = f", row={row!r}, column={column!r}" if row else ""
    shown: Shown = {"parts": parts, "python": _python(f"print(cx.verify({name!r}{given}))")}
    return _drawn(shown, lambda: draw(get_atom(name), mark=wrong))


# ------------------------------------------------------------ fields

KINDS: dict[str, Callable[[Request], Shown]] = {
    "expression": _expression,
    "atom": _atom,
    "diff": _diff,
    "feeds": _feeds,
    "tile": _tile,
    "verify": _verify,
}
"""What can be asked, by name."""


def _field(request: Request, name: str) -> str:
    text = request.get(name, "").strip()
    if not text:
        raise InputError("answer", {"field": name}, f"{name} is empty", "write something into it")
    return text


def _integers(request: Request, name: str) -> tuple[int, ...]:
    text = _field(request, name)
    if not re.fullmatch(r"[( ]*[0-9]{1,6}([ ,x]+[0-9]{1,6})*[) ]*", text):
        condition = f"{quoted(text)} is not a list of integers"
        raise InputError("tile", {name: text}, condition, "write 256,256,32")
    return tuple(map(int, re.findall(r"[0-9]+", text)))


def _subgroup(request: Request, count: int) -> int:
    text = request.get("subgroup") or "0"
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) >= count:
        condition = f"{quoted(text)} is not one of {count} subgroups"
        raise InputError("tile", {"subgroup": text}, condition, f"use 0 to {count - 1}")
    return int(text)


def _or_reason(ask: Callable[[], Any]) -> Any:
    """Return an answer, or the condition on which it is refused."""
    try:
        return ask()
    except CuteError as error:
        return error.condition


def _drawn(shown: Shown, ask: Callable[[], Drawing]) -> Shown:
    """Add a drawing, or the condition on which it is refused: the rest is an answer without it."""
    drawing = _or_reason(ask)
    if isinstance(drawing, Drawing):
        return {**shown, "svg": drawing.svg}
    return {**shown, "parts": [*shown["parts"], ["Drawing", drawing]]}


def _python(code: str) -> str:
    return f"import pycute_xe as cx\n\n{code}\n"
