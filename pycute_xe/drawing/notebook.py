"""Notebooks that show kernels, atoms and layouts by themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from pycute_xe.drawing.dispatch import draw
from pycute_xe.errors import CuteError

__all__ = ["atoms", "bundle", "checked", "report"]

# ------------------------------------------------------------ tables
# What readers found, as tables of HTML for notebooks.
#
# Colours are the page's own, light or dark; the chip of a verdict brings its background along.

MOST_ROWS = 200
"""Of a search that are shown."""

_SHORT = 30
_LINE = "1px solid rgba(128,128,128,.45)"
_CELL = f"border:0;border-top:{_LINE};padding:.25em .8em .25em 0;text-align:left;vertical-align:top"
_CHIP = "border-radius:.6em;color:#fff;font-weight:600;padding:.05em .6em"
_COLOURS = {"good": "#1a7f37", "bad": "#b42318", "open": "#8a5a00"}
_ANSWERS = {"proved": "good", "disproved": "bad"}


def as_text(value: Any) -> str:
    """Return lines as they are, which scroll where they are wider than the page.

    >>> as_text("a < b")[-14:]
    'a &lt; b</pre>'
    """
    style = "overflow-x:auto;white-space:pre;line-height:1.35"
    return f'<pre style="{style}">{escape(str(value))}</pre>'


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table, nothing without rows; a row of two lines keeps them."""
    lines = ["".join(_cell("td", value) for value in row) for row in rows]
    if not lines:
        return ""
    top = "".join(_cell("th", name) for name in head)
    body = "".join(f'<tr style="background:transparent">{line}</tr>' for line in lines)
    names = f"<thead><tr>{top}</tr></thead>" if any(head) else ""
    style = "border-collapse:collapse;margin:.3em 0;color:inherit"
    return f'<table style="{style}">{names}<tbody>{body}</tbody></table>'


def _cell(kind: str, value: object) -> str:
    """A cell: short words stay on a line, what lines up by spaces keeps them."""
    text, style = str(value), _CELL
    if "\n" in text or "  " in text:
        style += ";white-space:pre-wrap;font-family:monospace"
    elif len(text) <= _SHORT:
        style += ";white-space:nowrap"
    return f'<{kind} style="{style}">{escape(text)}</{kind}>'


def _page(title: str, chip: tuple[str, str] | None, *parts: str) -> str:
    """A title with the verdict behind it, and the parts below."""
    badge = ""
    if chip is not None:
        badge = f' <span style="{_CHIP};background:{_COLOURS[chip[1]]}">{escape(chip[0])}</span>'
    head = f"<div><strong>{escape(title)}</strong>{badge}</div>"
    style = "overflow-x:auto;line-height:1.35;color:inherit"
    return f'<div style="{style}">{head}{"".join(parts)}</div>'


def _remarks(lines: Iterable[object]) -> str:
    items = "".join(f"<li>{escape(str(line))}</li>" for line in lines)
    return f'<ul style="margin:.3em 0">{items}</ul>' if items else ""


def checked(value: Any) -> str:
    """Return the table of a `Checked`: rules, resources, and what it demands of memory."""
    rows = [
        ("✗" if f.is_error else "!", f.subject, *_rule_cells(f.broken), f.broken.fix)
        for f in value.findings
    ]
    rows += [("=", h.subject, h.condition, h.rule, h.source, "no room left") for h in value.binding]
    count = len(value.errors)
    badge = ("legal", "good") if value else (f"refused by {count} rule{'s'[: count > 1]}", "bad")
    used = [(r.name, r.used, r.available, f"{r.share:.0%}", r.detail) for r in value.resources]
    asked = [
        (d.subject, d.quantity, str(d).removeprefix(d.quantity).strip(), "; ".join(d.rules))
        for d in value.demands
    ]
    return _page(
        f"{value.subject} on {value.target.name} ({value.target.product})",
        badge,
        f"<div>{value.passed} rules hold</div>",
        _table(("", "of", "condition", "rule", "source", "way out"), rows),
        _table(("resource", "used", "of", "share", "made of"), used),
        _table(("memory of", "", "must be", "rules"), asked),
    )


def _rule_cells(broken: Any) -> tuple[str, str, str]:
    return broken.condition, broken.rule, broken.source


def verdict(value: Any) -> str:
    """Return the table of a `Verdict`, a row for each property.

    A proof that answers in words (``answer``) is shown by its answer, others by whether it holds.
    """
    rows: list[tuple[str, ...]] = []
    kinds: set[str] = set()
    for proof in value.proofs:
        answer = str(getattr(proof, "answer", "proved" if proof else "disproved"))
        kinds.add(_ANSWERS.get(answer, "open"))
        why = (getattr(proof, name, None) for name in ("condition", "reason", "counterexample"))
        reasons = "\n".join(str(words) for words in why if words)
        rows.append((answer, str(proof.property), str(proof.statement), reasons))
    chip = ("verified", "good") if value else ("not proved", "open")
    if "bad" in kinds:
        chip = ("disproved", "bad")
    scope = getattr(value, "scope", "")
    return _page(
        f"{value.kernel}: {scope}" if scope else str(value.kernel),
        chip,
        _table(("answer", "property", "statement", "why not"), rows),
        _remarks(f"assuming {words}" for words in getattr(value, "assumptions", ())),
    )


def needed(value: Any) -> str:
    """Return the table of `NeededAssumptions`: for each, what goes wrong without it."""
    count = sum(map(bool, value.rows))
    badge = f"{count} of {len(value.rows)} needed"
    rows = [(row.answer, str(row.assumption), row.why) for row in value.rows]
    return _page(
        f"{value.kernel}: assumptions on tables",
        (badge, "good" if value else "open"),
        _table(("answer", "assumption", "without it"), rows),
    )


def diff(value: Any) -> str:
    """Return the table of an `AtomDiff`, before and after side by side."""
    rows = [*value.parameters]
    rows.append(("messages", *("\n".join(texts) for texts in value.messages)))
    rows.append((f"block, {value.bits}-bit values", *("{}x{}".format(*s) for s in value.shapes)))
    changes = [("said by layouts", value.said), ("held in registers", value.held)]
    owners = [(what, str(change)) for what, change in changes if change is not None]
    return _page(
        f"{value.before} → {value.after}",
        (value.verdict, "good" if value.equal else "open"),
        _table(("", value.before, value.after), rows),
        _table(("", "change"), owners),
        _remarks(value.meaning),
    )


def difference(value: Any) -> str:
    """Return the table of a `Difference`: what differs, before and after, and the listing."""
    moved = [(what, str(change)) for what, change in value.owners if change.moved]
    rows = [(row.section, row.what, *row.texts) for row in value.changed]
    return _page(
        f"{value.kind}: {value.before} → {value.after}",
        (value.verdict, "good" if value.equal else "open"),
        _table(("owners of", "change"), moved),
        _table(("", "", value.before, value.after), rows),
        _remarks(value.notes),
        as_text("\n".join(value.listing)) if "statements" in value.sections else "",
    )


def feed(value: Any) -> str:
    """Return the table of a `Feed`: the verdict, why, and how values move."""
    colours = {"free": "good", "reorder": "open", "impossible": "bad"}
    units = " → ".join(f"{unit} bits" for unit in value.units or ())
    tiles = ", ".join(f"({row}, {col})" for row, col in value.tiles)
    rows = [
        ("copy", str(value.copy)),
        ("MMA", str(value.mma)),
        ("operand", f"{value.operand}, {value.order}-major in memory"),
        ("why", value.reason),
        ("values move", value.movement),
        ("units", units),
        ("reorder", value.pattern),
        ("tiles at", tiles),
    ]
    verb = "takes" if value.operand == "D" else "feeds"
    return _page(
        f"{value.copy} {verb} {value.operand} of {value.mma}",
        (value.kind, colours[value.kind]),
        _table(("", ""), [row for row in rows if row[1]]),
    )


def explanation(value: Any) -> str:
    """Return the table of an `Explanation`: its steps with their values, or its sections."""
    if hasattr(value, "sections"):
        rows = [(heading, "\n".join(lines)) for heading, lines in value.sections()]
        return _page(value.title, None, f"<div>{escape(value.rule)}</div>", _table(("", ""), rows))
    steps = [
        (number, "\u2003" * step.depth + step.text, "" if step.value is None else str(step.value))
        for number, step in value.numbered()
    ]
    ending = f"<div>{escape(value.ending)}</div>"
    rule = f"<div>{escape(value.rule)}</div>"
    chip = ("refused", "bad") if value.refusal is not None else None
    return _page(value.title, chip, rule, _table(("step", "", "value"), steps), ending)


def report(value: Any) -> str:
    """Return the table of a `Report`: messages and bytes by kind, instructions, barriers."""
    rows = [
        (kind, f"{count:,} messages", f"{value.bytes.get(kind, 0):,} bytes")
        for kind, count in value.messages.items()
    ]
    rows.append(("dpas", f"{value.dpas:,} instructions", ""))
    rows.append(("barriers", f"{value.barriers:,}", ""))
    if value.copies:
        rows.append(("copied onto a legal surface", ", ".join(value.copies), ""))
    sizes = " ".join(f"{name}={extent}" for name, extent in value.sizes.items())
    title = f"{sizes} by the {value.executor} executor"
    return _page(title, None, _table(("", "", ""), rows))


def atoms(value: Any) -> str:
    """Return the table of what `search_atoms` found, an atom a row."""
    rows = [
        (
            *(r.name, r.kind, r.bits, f"{r.rows}x{r.cols}", r.mode),
            ", ".join(f"{operand} {cost}" for operand, cost in r.costs),
            "yes" if r.shipped else "no",
            "yes" if r.faithful else "no",
            *(r.messages, " ".join(r.targets)),
        )
        for r in value[:MOST_ROWS]
    ]
    head = ("name", "kind", "bits", "block", "mode", "feeds", "shipped", "faithful")
    rest = len(value) - MOST_ROWS
    count = f"{len(value)} atom{'s'[: len(value) != 1]}"
    more = [f"and {rest} more"] if rest > 0 else []
    return _page(count, None, _table((*head, "messages", "targets"), rows), _remarks(more))


def explained(value: Any) -> str:
    """Return the table of what `native.explain` says, the instructions of each statement folded."""
    rows = "".join(
        f"<tr>{''.join(_cell('td', cell) for cell in (_indented(part), *numbers))}</tr>"
        + (_unfolded(value.code_of(part), len(numbers) + 1) if numbers[0] else "")
        for part, numbers in value.rows()
    )
    head = "".join(_cell("th", name) for name in ("", "all", "loops", *value.columns))
    style = "border-collapse:collapse;margin:.3em 0;color:inherit"
    counted = f"{len(value.instructions)} instructions", "good" if not value.scratch else "bad"
    return _page(
        f"{value.kernel} for {value.target} by {value.compiler}",
        counted,
        f'<table style="{style}"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>',
        f"<div>{escape(value.coverage)}</div>",
        _remarks(value.notes),
    )


def _indented(part: Any) -> str:
    return "\u2003" * part.depth + " ".join(part.title.split())


def _unfolded(lines: Iterable[str], columns: int) -> str:
    code = "\n".join(lines)
    inside = f"<details><summary>code</summary>{as_text(code)}</details>"
    return f'<tr><td colspan="{columns}" style="{_CELL}">{inside}</td></tr>'


# ------------------------------------------------------------ notebook

_SHOWN = {
    ("pycute_xe.layout.core", "Layout"),
    ("pycute_xe.composed", "ComposedLayout"),
    ("pycute_xe.atom.mma_atom", "MmaAtom"),
    ("pycute_xe.atom.copy_atom", "CopyAtom"),
    ("pycute_xe.cutlass.legacy_copy", "LegacyCopyAtom"),
    ("pycute_xe.atom.linear_copy", "LinearCopyAtom"),
    ("pycute_xe.atom.tiled_mma", "TiledMma"),
    ("pycute_xe.atom.tiled_copy", "TiledCopy"),
    ("pycute_xe.atom.block2d_op", "Block2DOp"),
    ("pycute_xe.atom.linear_op", "LinearOp"),
    ("pycute_xe.arch.dpas.message", "Dpas"),
    ("pycute_xe.arch.block2d", "Block2D"),
    ("pycute_xe.arch.lsc.message", "Message"),
    ("pycute_xe.arch.lsc.message", "Block2DMessage"),
    ("pycute_xe.arch.banks", "BankUse"),
    ("pycute_xe.analysing.report", "Analysis"),
    ("pycute_xe.kernel.schedules.plan", "Plan"),
    ("pycute_xe.kernel.schedules.coverage", "Timeline"),
}
# What is a table, or lines, and how: kernels show their listing, the others what readers found.
_TABLES = {
    ("pycute_xe.kernel.ir.kernel", "Kernel"): as_text,
    ("pycute_xe.checking.report", "Checked"): checked,
    ("pycute_xe.verifying.verdict", "Verdict"): verdict,
    ("pycute_xe.trials.needed", "NeededAssumptions"): needed,
    ("pycute_xe.executing.problem", "Report"): report,
    ("pycute_xe.comparing.differences", "AtomDiff"): diff,
    ("pycute_xe.comparing.changes", "Difference"): difference,
    ("pycute_xe.comparing.feeding", "Feed"): feed,
    ("pycute_xe.comparing.atom_record", "AtomRecords"): atoms,
    ("pycute_xe.explaining.explanation", "Explanation"): explanation,
    ("pycute_xe.native.explained", "Explained"): explained,
}


def bundle(value: Any) -> dict[str, str]:
    """Return what a notebook shows of a value: its text, and its picture or table if it has one.

    >>> from pycute_xe.numeric import as_numeric
    >>> bundle(as_numeric("bf16"))
    {'text/plain': 'bf16'}
    """
    out = {"text/plain": str(value)}
    for kind in type(value).__mro__:
        place = kind.__module__, kind.__name__
        if place in _TABLES:
            return {**out, "text/html": _TABLES[place](value)}
        if place in _SHOWN:
            picture = _svg(value)
            return out if picture is None else {**out, "image/svg+xml": picture}
    return out


def _svg(value: Any) -> str | None:
    try:
        return draw(value).svg
    except CuteError:
        return None
