"""Draw kernels of the configurations that public sources have, check them, compile the legal ones.

A draw takes a configuration, and in one of two draws the tile and the subgroups of a second one of
its kind. Kernels are judged by `check` for pvc and bmg: legal without a finding, legal with some, or
rejected. Of those without a finding a sample is compiled for both targets by each compiler that
`atoms/native.toml` names: the text must be accepted, and no thread may spill. Needs what
`native.missing` names; without compilers only the first half is done.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
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
REGISTERS = 256
SHARES = {"gemms": 5, "forms": 3, "attention": 2}
"""How many of ten draws are plain GEMMs, their other forms, attention."""


@dataclass(frozen=True)
class Drawn:
    """A kernel that was drawn: its number, the configuration in words, what `check` found."""

    number: int
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


def configuration(number: int, seed: int) -> Any:
    """Return the configuration of a draw: a row, in half of all draws with another row's tile."""
    r = random.Random(f"{seed} {number}")
    pool = POOLS[r.choices([*SHARES], [*SHARES.values()])[0]]
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
    row = configuration(number, seed)
    try:
        kernel = kernel_of(row)
    except CuteError as error:
        return Drawn(number, _words(row), rejected=error.condition)
    found = {f"{f.broken.rule}" for t in TARGETS for f in cx.check(kernel, t).findings}
    return Drawn(number, _words(row), tuple(sorted(found)))


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


Build = tuple[int, int, str, str]
"""The number and the seed of a draw, the target, the version of the compiler."""


def compiled(build: Build) -> tuple[Build, str, float]:
    """Compile a draw; what is wrong with it, and how long it took."""
    number, seed, target, version = build
    start = time.perf_counter()
    try:
        kernel = kernel_of(configuration(number, seed))
        modes = (r.available for r in cx.check(kernel, target).resources if r.name == "registers")
        binary = cx.native.compile(kernel, target, min(next(modes), REGISTERS), version)
        wrong = f"{binary.scratch} bytes of scratch" if binary.scratch else ""
    except CuteError as error:
        wrong = f"{type(error).__name__}: {error.condition}"
    return build, wrong, time.perf_counter() - start


def _compilers() -> list[tuple[str, str]]:
    """Return each target with each tried version that is here and knows it."""
    found = [tool for tool in cx.native.toolchains() if tool.tried]
    return [(t, tool.version) for tool in found for t in TARGETS if t in tool.targets]


def _listed(title: str, counts: Counter[str], most: int = 12) -> None:
    if counts:
        print(title)
        for text, times in counts.most_common(most):
            print(f"  {times:4}  {text}")


def main() -> None:
    """Draw, check and compile; exit with 1 where the share or a binary is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=400, help="kernels that are drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--binaries", type=int, default=200, help="kernels that are compiled")
    parser.add_argument("--share", type=float, default=0.6, help="legal without a finding")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    found = drawn(asked.count, asked.seed, asked.workers)
    kernels = [one for one in found if not one.rejected]
    clean = [one for one in kernels if one.clean]
    _listed("rejected when built:", Counter(x.rejected for x in found if x.rejected))
    _listed("found by check:", Counter(rule for x in kernels for rule in x.findings))
    print(f"{len(clean)} of {len(kernels)} kernels are legal without a finding", flush=True)
    chosen = clean[: asked.binaries]
    tasks: list[Build] = [
        (one.number, asked.seed, *compiler) for one in chosen for compiler in _compilers()
    ]
    bad, texts, start = 0, {one.number: one.text for one in chosen}, time.perf_counter()
    with Pool(asked.workers) as pool:
        for (number, _, target, version), wrong, seconds in pool.imap_unordered(compiled, tasks):
            bad += bool(wrong)
            if wrong:
                print(f"{number} {target} {version} {seconds:.1f} s: {texts[number]}", flush=True)
                print(f"      {wrong}", flush=True)
    print(f"{len(tasks) - bad} of {len(tasks)} binaries without scratch, of {len(chosen)} kernels")
    print(f"{time.perf_counter() - start:.0f} s")
    raise SystemExit(bad > 0 or len(clean) < asked.share * len(kernels))


if __name__ == "__main__":
    main()
