"""``pycute-xe design``: the GEMM that costs least for a problem, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pycute_xe.cli.files import figures_option
from pycute_xe.errors import InputError, KernelError, TargetError, quoted

if TYPE_CHECKING:
    from pycute_xe.costing import Cost, Device
    from pycute_xe.exploring import Explored, Priced, Space
    from pycute_xe.kernel import Kernel

__all__ = ["design_command", "refused", "space_of"]

MOST_SHOWN = 1000
"""Candidates that are listed at most."""

COMPARED = 10
"""Candidates that are held against each other at least."""

Progress = Callable[[int, "tuple[Priced, ...]"], object]


@click.command("design")
@click.option("--m", type=int, required=True, help="Rows of A and D.")
@click.option("--n", type=int, required=True, help="Columns of B and D.")
@click.option("--k", type=int, required=True, help="Columns of A, rows of B.")
@click.option(
    "--types",
    default="bf16,bf16,f32",
    show_default=True,
    metavar="A,B,ACC[,D]",
    help="Of A, B, the accumulator and D: the accumulator's, if left out.",
)
@click.option("--target", default="bmg", show_default=True, help="Whose rules apply.")
@click.option("--device", help="A product of the target; the first, if left out.")
@figures_option()
@click.option("--top", type=int, default=10, show_default=True, help="Candidates that are listed.")
@click.option("--timed", default=0, help="Rank so many by the machine code that is made of them.")
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Prove the first, then write its document and its program.",
)
def design_command(
    m: int,
    n: int,
    k: int,
    types: str,
    target: str,
    device: str | None,
    figures: Path | None,
    top: int,
    timed: int,
    save: Path | None,
) -> None:
    """Choose tile, subgroups and stages of a GEMM by what each candidate costs.

    Every tile, grid of subgroups, number of stages and DPAS of a space is listed; rules refuse, and
    cost ranks the others by the most time they take. Estimates: nothing is measured. Exit status 1
    if --save is given and the first is not proved.

    \b
      pycute-xe design --m 4096 --n 4096 --k 4096 --device b70
      pycute-xe design --m 8 --n 4096 --k 4096 --types s8,s8,s32 --top 3 --save chosen
    """  # noqa: D301 - the backspace keeps click from joining the lines
    from pycute_xe.costing.own import with_own

    sizes = {"M": m, "N": n, "K": k}
    chosen = with_own(_device(target, device), figures)
    if not 1 <= top <= MOST_SHOWN:
        wrong = f"{top} is not from 1 to {MOST_SHOWN}"
        raise InputError("design", {"top": top}, wrong, "write --top 10")
    if not 0 <= timed <= MOST_SHOWN:
        wrong = f"{timed} is not from 0 to {MOST_SHOWN}"
        raise InputError("design", {"timed": timed}, wrong, "write --timed 10")
    if save is not None and save.exists() and not save.is_dir():
        wrong = f"{save} is not a folder"
        raise InputError("design", {"save": save}, wrong, "name a folder")
    space = space_of(_types(types))
    _demand_sizes(sizes, space, chosen)
    from pycute_xe.exploring import explore

    with _progress() as progress:
        explored = explore(
            space, chosen, [sizes], best=max(top, timed, COMPARED), progress=progress
        )
    if not explored.best:
        wrong = f"rules refuse all {explored.listed:,} candidates: {refused(explored)}"
        raise InputError("design", {"types": types}, wrong, "use other types or another target")
    click.echo("\n".join(_lines(explored, sizes, top)))
    if timed:
        from pycute_xe import ranking

        ranked = ranking.timed(explored, timed)
        click.echo(str(ranked))
        explored = ranked.reordered()
    if save is not None:
        _save(explored.kernel(), save)


def space_of(types: tuple[str, str, str, str]) -> Space:
    """Return the candidates of some types."""
    from pycute_xe.exploring import Space

    return Space(types=types)


# ------------------------------------------------------------ what is asked


def _device(target: str, device: str | None) -> Device:
    from pycute_xe.arch import get_target
    from pycute_xe.costing.device import get_device

    wanted = get_target(target)
    chosen = get_device(device or wanted)
    if chosen.target != wanted:
        wrong = f"{chosen.name} is a device of {chosen.target.name}, not of {wanted.name}"
        fix = f"write --target {chosen.target.name}"
        raise TargetError("design", {"device": device}, wrong, fix)
    return chosen


def _types(text: str) -> tuple[str, str, str, str]:
    from pycute_xe.atom import XE_DPAS_TT
    from pycute_xe.numeric import as_numeric

    names = [name.strip() for name in text.split(",")]
    if len(names) not in (3, 4):
        wrong = f"{quoted(text)} names {len(names)} of 3 or 4 types"
        raise InputError("design", {"types": quoted(text)}, wrong, "write bf16,bf16,f32")
    a, b, acc, d = (as_numeric(name).name for name in [*names, names[2]][:4])
    XE_DPAS_TT(8, acc, a, b)
    return a, b, acc, d


def _demand_sizes(sizes: dict[str, int], space: Space, device: Device) -> None:
    """Refuse sizes below 1, types that no kernel has, and operands that no message reaches."""
    from pycute_xe.checking import check
    from pycute_xe.exploring import Candidate

    for name, size in sizes.items():
        if size < 1:
            wrong = f"{name} is {quoted(size)}, not a positive integer"
            raise InputError("design", {name: quoted(size)}, wrong, f"write --{name.lower()} 4096")
    kernel = Candidate((256, 256, 64), (8, 4), 2, 8, space.types).kernel()
    extents = {"A": ("M", "K"), "B": ("K", "N"), "D": ("M", "N")}
    types = {operand.name: operand.value_type for operand in kernel.operands}
    for demand in check(kernel, device.target).demands:
        operand, most = demand.subject.partition(" ")[0], demand.must.at_most
        if operand not in extents or most is None or demand.quantity not in ("height", "width"):
            continue
        name = extents[operand][demand.quantity == "width"]
        limit = most
        if demand.quantity == "width":
            limit = most * 8 // types[operand].bits
        if sizes[name] > limit:
            wrong = f"{name} is {quoted(sizes[name])}, more than the {limit} of {demand.subject}"
            fix = f"write --{name.lower()} {limit} or less"
            raise InputError("design", {name: quoted(sizes[name])}, wrong, fix)


@contextmanager
def _progress() -> Generator[Progress | None]:
    """Give what shows how far it is: a line on standard error, where that is a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with console.status("listing candidates") as status:
        yield lambda built, best: status.update(f"{built:,} candidates built, {len(best)} ranked")


# ------------------------------------------------------------ text


def _lines(explored: Explored, sizes: dict[str, int], top: int) -> list[str]:
    costs = [_cost(one, explored, sizes) for one in explored.best]
    extents = " ".join(f"{name}={size}" for name, size in sizes.items())
    a, b, acc, d = explored.best[0].candidate.types
    lines = [f"{a}·{b} → {acc} → {d} at {extents} on {explored.device}: estimates, not measured"]
    names = f"{'tile':12} {'grid':6} stages  DPAS rows"
    lines.append(f"  rank  {names}  {'ms':20} {'TFLOP/s':16} binds")
    for rank, (one, cost) in enumerate(zip(explored.best, costs, strict=True), 1):
        if rank <= top:
            lines.append(_row(rank, one, cost))
    if len(costs) > 1:
        lines += _why(explored, costs)
    lines.append(
        f"  {explored.listed:,} candidates: {explored.built:,} built and priced or refused, "
        f"{explored.passed_over:,} passed over by their lower bound"
    )
    lines.append(f"  refused: {refused(explored)}")
    lines += _unknown(costs[:top])
    figures = dict.fromkeys(figure for cost in costs for figure in cost.assumptions)
    named = [one for one in figures if one.file or one.kind == "assumed"]
    lines += [f"  {one.origin}: {one}" for one in named]
    return lines


def _unknown(shown: list[Cost]) -> list[str]:
    """What is not known of the candidates shown; the ranks, where it is not the same for all."""
    ranks: dict[str, list[int]] = {}
    for rank, cost in enumerate(shown, 1):
        for what in cost.unknown:
            ranks.setdefault(what, []).append(rank)
    return [
        f"  not known{'' if len(of) == len(shown) else f' of {_rank_words(of)}'}: {what}"
        for what, of in ranks.items()
    ]


def _rank_words(ranks: list[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"


def _cost(one: Priced, explored: Explored, sizes: dict[str, int]) -> Cost:
    from pycute_xe.costing import cost_of, facts_of

    candidate = one.candidate
    known = facts_of(candidate.kernel(), explored.device.target, candidate.mode)
    return cost_of(known, explored.device, sizes)


def _row(rank: int, one: Priced, cost: Cost) -> str:
    candidate = one.candidate
    tile, grid = ("x".join(map(str, part)) for part in (candidate.tile, candidate.grid))
    time = f"{one.least * 1e3:.4g} to {one.most * 1e3:.4g}"
    least, most = (cost.facts.operations / seconds / 1e12 for seconds in (one.most, one.least))
    rate = f"{least:.3g} to {most:.3g}"
    parts = f"{tile:12} {grid:6} {candidate.stages:6}  {candidate.rows:9}"
    return f"  {rank:4}  {parts}  {time:20} {rate:16} {cost.binds}"


def refused(explored: Explored) -> str:
    """Return the rules that refuse candidates, each with how many."""
    every = Counter(dict(explored.refused)) + Counter(dict(explored.refused_built))
    return ", ".join(f"{rule} {count:,}" for rule, count in sorted(every.items())) or "none"


def _why(explored: Explored, costs: list[Cost]) -> list[str]:
    """Hold the first against the next, and where these tie against the best that does not."""
    from pycute_xe.exploring import reasons

    every = [(one.most, one.least, one.instructions) for one in explored.best]
    differ = [rank for rank, ranked in enumerate(every, 1) if ranked != every[0]]
    lines: list[str] = []
    if every[1] == every[0]:
        count = differ[0] - 1 if differ else len(every)
        last = f"{count}" if differ else f"{count} (at least)"
        decides = "the order of tile, grid, stages and DPAS rows decides, not cost"
        lines.append(f"  1 to {last} tie in time and instructions: {decides}")
    if differ:
        pairs = zip(DECIDES, every[0], every[differ[0] - 1], strict=True)
        by = next(name for name, x, y in pairs if x != y)
        other = explored.best[differ[0] - 1].candidate
        lines.append(f"  1 over {differ[0]} by {by}; {differ[0]} is {other}:")
        lines += [f"    {one}" for one in reasons(costs[0], costs[differ[0] - 1])]
    return lines


DECIDES = ("the most time", "the least time", "fewer DPAS, messages and barriers")


# ------------------------------------------------------------ files


def _save(kernel: Kernel, folder: Path) -> None:
    """Write a kernel's document and its program, once it is proved."""
    from pycute_xe.drawing.saving import write_files
    from pycute_xe.emitting import emit
    from pycute_xe.files import to_json
    from pycute_xe.trials import verify

    verdict: Any = verify(kernel)
    click.echo(str(verdict))
    if not verdict:
        click.echo("  not proved: nothing is written", err=True)
        raise click.exceptions.Exit(1)
    try:
        program = emit(kernel, "program")
    except KernelError as error:
        click.echo(f"  no program: {error}", err=True)
        program = ""
    contents: dict[Path, Any] = {folder / "gemm.json": (to_json(kernel) + "\n").encode()}
    if program:
        contents[folder / "gemm.py"] = program.encode()
    write_files(contents)
    for path in contents:
        click.echo(f"wrote {path}")
