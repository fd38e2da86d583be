"""``pycute-xe atoms``."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from pycute_xe.arch.target import targets
from pycute_xe.cli.files import json_text, report
from pycute_xe.comparing import AtomRecord, search_atoms
from pycute_xe.errors import quoted

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["atoms_command"]

# ------------------------------------------------------------ atoms outcome
# The atoms that a search found, for people and for programs.

_HEADINGS = ("name", "kind", "block", "bits", "shipped", "faithful", "messages", "legal on")
_MARK = (
    "* the C++ map of the name is not a bijection onto its block: "
    "pycute-xe atom NAME tells what it is"
)


@dataclass(frozen=True)
class AtomsOutcome:
    """The filters, what met them, and how many would meet them all but one, or with reorders."""

    filters: dict[str, Any]
    records: tuple[AtomRecord, ...]
    without: tuple[tuple[str, int], ...] = ()
    reordered: int = 0

    def with_counts(self) -> AtomsOutcome:
        """Return it with what would be found without one filter: --shipped first, then by count."""
        counts: list[tuple[str, int]] = []
        for name in self.filters:
            fewer = {key: value for key, value in self.filters.items() if key != name}
            if name == "feeds":
                fewer = {k: v for k, v in fewer.items() if k not in ("operand", "reorder")}
            counts.append((name, len(search_atoms(**fewer))))
        counts.sort(key=lambda pair: (pair[0] != "shipped", -pair[1]))
        reordered = 0
        if "feeds" in self.filters and "reorder" not in self.filters:
            reordered = len(search_atoms(**self.filters, reorder=True))
        return replace(self, without=tuple(pair for pair in counts if pair[1]), reordered=reordered)

    def to_json(self) -> str:
        """Return everything, for programs."""
        atoms = [
            {**asdict(record), "feeds": dict(record.feeds), "moves": dict(record.moves)}
            for record in self.records
        ]
        without = [{"filter": name, "count": count} for name, count in self.without]
        counted = {"count": len(atoms), "atoms": atoms}
        return json_text({**counted, "without": without, "with_reorder": self.reordered})

    def show(self, limit: int) -> None:
        """Print a line for each, at most so many (0: all), and the count."""
        from rich.console import Console
        from rich.text import Text

        console = Console(highlight=False)
        shown = self.records[: limit or None]
        if shown:
            operands = [operand for operand, _ in shown[0].feeds]
            rows = [(*_HEADINGS, *operands), *(_cells(record) for record in shown)]
            if len(operands) > 1:  # what `pycute-xe atom` tells as well gives way, for 100 columns
                kept = [i for i, n in enumerate(rows[0]) if n not in ("faithful", "messages")]
                rows = [tuple(row[i] for i in kept) for row in rows]
            lines = _aligned(rows)
            console.print(Text(lines[0]), soft_wrap=True, style="bold")
            console.print(Text("\n".join(lines[1:])), soft_wrap=True)
        if any(record.is_artefact for record in shown):
            console.print(Text(_MARK), soft_wrap=True)
        console.print(Text(self._ending(len(shown))), soft_wrap=True)

    def _ending(self, shown: int) -> str:
        count = len(self.records)
        if not count:
            return f"no atoms{self._advice()}"
        if shown < count:
            return f"{count:,} atoms, the first {shown} shown: add filters, or --limit 0 for all"
        return f"{count:,} atom{'s'[: count != 1]}"

    def _advice(self) -> str:
        if self.reordered:
            needs = "need" if self.reordered > 1 else "needs"
            first = f": {self.reordered:,} {needs} a reorder: add --reorder"
            return f"{first}{self._fewer_filters() if self.without else ''}"
        if not self.without:
            return "; leave out more than one of the filters"
        return self._fewer_filters()

    def _fewer_filters(self) -> str:
        changes = (f"{count:,} {_changed(name)}" for name, count in self.without[:4])
        return f"; there would be {', '.join(changes)}"


def _changed(name: str) -> str:
    """What leaving out a filter takes."""
    ways = {"name": "without the pattern", "shipped": "with --all"}
    return ways.get(name, f"without --{name}")


def _cells(record: AtomRecord) -> tuple[str, ...]:
    everywhere = len(record.targets) == len(targets())
    legal = "all" if everywhere else " ".join(record.targets) or "none"
    kind = " ".join(filter(None, (record.kind, record.mode)))
    cells = (
        record.name,
        kind,
        f"{record.rows}x{record.cols}",
        str(record.bits),
        ("yes*" if record.is_artefact else "yes") if record.shipped else "no",
        "yes" if record.faithful else "no",
        str(record.messages),
        legal,
    )
    return (*cells, *("no" if cost == "impossible" else cost for _, cost in record.costs))


def _aligned(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


# ------------------------------------------------------------ atoms command


class Sizes(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]
    """A count, or a range of counts: 16 or 8-32, the latter as a tuple.

    >>> Sizes().convert("8-32", None, None)
    (8, 32)
    """

    name = "size"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | tuple[int, int]:
        """Read the text."""
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", str(value))
        if match is None:
            wanted = "a count such as 16 nor a range such as 8-32"
            self.fail(f"{quoted(value)} is neither {wanted}", param, ctx)
        return int(match[1]) if match[2] is None else (int(match[1]), int(match[2]))


@click.command("atoms")
@click.argument("name", metavar="[PATTERN]", required=False)
@click.option(
    "--kind",
    help="load, store, prefetch, atomic, copy, block2d, linear, transpose, vnni, packed or mma.",
)
@click.option("--bits", type=int, help="Bits of an element.")
@click.option(
    "--rows",
    type=Sizes(),
    metavar="N or N-N",
    help="Rows of the block as work-items get it; of templates: as in memory.",
)
@click.option(
    "--cols",
    type=Sizes(),
    metavar="N or N-N",
    help="Columns of the block, counted as its rows.",
)
@click.option("--mode", help="N, T or V of a copy.")
@click.option("--feeds", metavar="MMA", help="Copies that hold an operand as this MMA reads it.")
@click.option("--operand", help="Which operand of --feeds; A and B are judged without it.")
@click.option("--reorder", is_flag=True, help="With --feeds: those too that need a reorder.")
@click.option("--target", help="What a target can run.")
@click.option(
    "--shipped/--all",
    default=True,
    show_default=True,
    help="What CUTLASS has, or also the rest of its grammar of older copies.",
)
@click.option("--faithful/--unfaithful", default=None, help="Whether layouts say what is held.")
@click.option("--limit", type=click.IntRange(0), default=60, show_default=True, help="0: no limit.")
@click.option("--json", is_flag=True, help="Report all as JSON on standard output.")
def atoms_command(limit: int, json: bool, shipped: bool, **options: Any) -> None:
    """Find atoms: copies and MMAs by what they do.

    PATTERN is a part of the name or, with * or ?, the whole:

    \b
      pycute-xe atoms 'XE_2D_U16*_LD_V'
      pycute-xe atoms --kind load --bits 16 --rows 32 --cols 16
      pycute-xe atoms --feeds 'XE_DPAS_TT<8,f32,bf16>' --operand B
      pycute-xe atoms --kind store --bits 32 --rows 4-8 --json

    Rows and columns count elements of the name. `pycute-xe atom NAME` explains one.
    """  # noqa: D301 - the backspace keeps click from joining the lines
    # By identity: 0 is a value, and is refused as one.
    given = ((key, value) for key, value in options.items() if value is not None)
    filters = {key: value for key, value in given if value is not False}
    if options["faithful"] is False:
        filters["faithful"] = False
    if shipped:
        filters["shipped"] = True
    with _waiting():
        outcome = AtomsOutcome(filters, search_atoms(**filters))
        if not outcome.records:
            outcome = outcome.with_counts()
    report(outcome, json, limit)


@contextmanager
def _waiting() -> Generator[None]:
    """Say that there is work while a terminal is there to see it; gone when it is done."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status("looking through the atoms"):
        yield
