"""Draw kernels of the configurations that public sources have, check them, compile the legal ones.

A draw takes a configuration, and in one of two draws the tile and the subgroups of a second one of
its kind. `check` judges it for pvc and bmg: legal without a finding, legal with some, or rejected.
Those without a finding are compiled for both targets by each compiler that
`atoms/native.toml` names, in the order of the draws and until as many as asked for fit: their text
is accepted, and no thread spills. Without compilers only the first half is done.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import pycute_xe as cx
from pycute_xe.errors import CuteError
from pycute_xe.kernel import Kernel

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import family_attention  # pyright: ignore[reportMissingImports]
import family_forms  # pyright: ignore[reportMissingImports]
import family_gemms  # pyright: ignore[reportMissingImports]

TARGETS = ("pvc", "bmg")
SHARES = {"gemms": 5, "forms": 3, "attention": 2}
"""How many of ten draws are plain GEMMs, their other forms, attention."""


@dataclass(frozen=True)
class Drawn:
    """A kernel that was drawn: number, kind, the configuration in words, what `check` found."""

    number: int
    kind: str
    text: str
    findings: tuple[str, ...] = ()
    rejected: str = ""

    @property
    def clean(self) -> bool:
        """Whether the kernel is legal on every target, and `check` has nothing to note."""
        return not self.findings and not self.rejected


def _for_targets(rows: Sequence[Any]) -> list[Any]:
    return [row for row in rows if set(TARGETS) & set(row.targets) and row.targets != ("cri",)]


POOLS: dict[str, list[Any]] = {
    "gemms": _for_targets([*family_gemms.rows(), *family_gemms.twins()]),
    "forms": _for_targets(family_forms.rows()),
    "attention": _for_targets(family_attention.rows()),
}


def kind_of(number: int, seed: int) -> str:
    """Return of which kind a draw is."""
    r = random.Random(f"{seed} {number} kind")
    return r.choices([*SHARES], [*SHARES.values()])[0]


def configuration(number: int, seed: int) -> Any:
    """Return the configuration of a draw: a row, in half of all draws with another row's tile."""
    r = random.Random(f"{seed} {number}")
    pool = POOLS[kind_of(number, seed)]
    row = r.choice(pool)
    if r.random() < 0.5:
        return row
    alike = [x for x in pool if x.subgroups == row.subgroups] if "head" in dir(row) else pool
    second = r.choice(alike)
    return replace(row, tile=second.tile, subgroups=second.subgroups)


def kernel_of(row: Any) -> Kernel:
    """Return the kernel of a configuration, or raise what construction rejects."""
    if isinstance(row, family_attention.Row):
        return cx.kernel.attention(*row.mmas(), **row.options)
    return row.kernel()


def _words(row: Any) -> str:
    fields = ("group", "kind", "form", "A", "B", "acc", "C", "D", "type", "orders", "tile")
    fields += ("subgroups", "stages", "head")
    values = (str(getattr(row, name)) for name in fields if hasattr(row, name))
    return " ".join(value for value in values if value)


def judged(task: tuple[int, int]) -> Drawn:
    """Build and check a draw."""
    number, seed = task
    row, kind = configuration(number, seed), kind_of(*task)
    try:
        kernel = kernel_of(row)
    except CuteError as error:
        return Drawn(number, kind, _words(row), rejected=error.condition)
    found = {f.broken.rule for t in TARGETS for f in cx.check(kernel, t).findings}
    return Drawn(number, kind, _words(row), tuple(sorted(found)))


def drawn(count: int, seed: int, workers: int = 1) -> list[Drawn]:
    """Return so many draws that make a kernel, and those before them that do not."""
    out: list[Drawn] = []
    made, number, each = 0, 0, 8 * workers
    with Pool(workers) as pool:
        while made < count:
            tasks = [(n, seed) for n in range(number, number + each)]
            for one in pool.imap(judged, tasks):
                if made < count:
                    out.append(one)
                    made += not one.rejected
            number += each
    return out


@dataclass(frozen=True)
class Compiled:
    """What compilers made of a draw: why there is no text, which spill, which reject the text."""

    number: int
    unwritten: str = ""
    spilled: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether every compiler takes the text, and no thread spills."""
        return not (self.unwritten or self.spilled or self.rejected)


def compiled(task: tuple[int, int]) -> Compiled:
    """Compile a draw for both targets by every version that is here."""
    number, seed = task
    kernel = kernel_of(configuration(number, seed))
    try:
        cx.emit(kernel, "opencl")
    except CuteError as error:
        return Compiled(number, unwritten=error.condition)
    spilled: list[str] = []
    rejected: list[str] = []
    for target, version in compilers():
        try:
            binary = cx.native.compile(kernel, target, compiler=version)
        except CuteError as error:
            rejected.append(f"{target} {version}: {error.condition}")
            continue
        if binary.scratch:
            fits = cx.check(kernel, target).registers
            spilled.append(f"{target} {version}: {binary.scratch} bytes, check {fits}")
    return Compiled(number, "", tuple(spilled), tuple(rejected))


def compilers() -> list[tuple[str, str]]:
    """Return each target with each version of `atoms/native.toml` that is here and knows it."""
    found = [tool for tool in cx.native.toolchains() if tool.tried]
    return [(t, tool.version) for tool in found for t in TARGETS if t in tool.targets]


def _listed(title: str, counts: Counter[str], most: int = 12) -> None:
    if counts:
        print(title)
        for text, times in counts.most_common(most):
            print(f"  {times:4}  {text}")


def _wanted_compiled(clean: list[Drawn], seed: int, wanted: int, workers: int) -> bool:
    """Compile draws in their order until so many fit; print what does not; whether they do."""
    made: list[Compiled] = []
    texts, number = {one.number: one.text for one in clean}, 0
    with Pool(workers) as pool:
        while sum(one.fits for one in made) < wanted and number < len(clean):
            part = clean[number : number + 4 * workers]
            number += len(part)
            for one in pool.imap(compiled, [(x.number, seed) for x in part]):
                made.append(one)
                for line in (*one.spilled, *one.rejected):
                    print(f"{one.number} {texts[one.number]}\n      {line}", flush=True)
            print(f"{sum(one.fits for one in made)} of {len(made)} fit", flush=True)
    _listed("without a text:", Counter(one.unwritten for one in made if one.unwritten))
    fits, spills = sum(one.fits for one in made), sum(bool(one.spilled) for one in made)
    rejected = sum(bool(one.rejected) for one in made)
    by = ", ".join(f"{target} {version}" for target, version in compilers())
    print(f"{fits} of {len(made)} fit by each of {by}; {spills} spill, {rejected} are rejected")
    return fits >= wanted and not rejected


def main() -> None:
    """Draw, check and compile; exit with 1 where too few are legal or fit, or one is rejected."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=400, help="kernels that are drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--binaries", type=int, default=200, help="kernels that must compile")
    parser.add_argument("--share", type=float, default=0.6, help="legal without a finding")
    parser.add_argument("--kinds", default=",".join(SHARES), help="what is compiled of")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    start = time.perf_counter()
    found = drawn(asked.count, asked.seed, asked.workers)
    kernels = [one for one in found if not one.rejected]
    clean = [one for one in kernels if one.clean]
    _listed("rejected when built:", Counter(x.rejected for x in found if x.rejected))
    _listed("found by check:", Counter(rule for x in kernels for rule in x.findings))
    print(f"{len(clean)} of {len(kernels)} kernels are legal without a finding", flush=True)
    few = len(clean) < asked.share * len(kernels)
    if asked.binaries and compilers():
        chosen = [one for one in clean if one.kind in asked.kinds.split(",")]
        few |= not _wanted_compiled(chosen, asked.seed, asked.binaries, asked.workers)
    print(f"{time.perf_counter() - start:.0f} s")
    raise SystemExit(few)


if __name__ == "__main__":
    main()
