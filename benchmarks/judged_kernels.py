"""Hold `native.compare` to 200 right kernels and 140 wrong texts of 14 kinds.

Right: small kernels of every kind that `emit` takes, those of compiled_kernels.py and every_kind.py
with forms of mixed inputs, and random ones. None may be called different, none refused. Wrong: an
edit of an emitted text (`text_changes`), which `compare` must notice, and name by its kind. Where
it notices nothing, the binary is run on other sizes and data (`shows`): only an edit that changes a
result there counts as missed. Both are drawn from a seed; ``--first`` and ``--count`` take a part.
Needs ocloc 22.43 and iga64 (`native.missing`); with --newest, what `make compilers` unpacked, for
pvc and bmg.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from compiled_kernels import drawn
from random_kernels import made
from random_parts import KINDS as PARTS
from text_changes import DECISIONS, KINDS, Change, changed, emitted

import pycute_xe as cx
from pycute_xe.converting import bounds, convert
from pycute_xe.errors import CuteError, InputError
from pycute_xe.kernel import Kernel, Operand
from pycute_xe.native.allowing import allowances

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from compiled_cases import asked_compilers, outputs  # pyright: ignore[reportMissingImports]
from compiled_kinds import CASES  # pyright: ignore[reportMissingImports]
from mixed_forms import FORMS, made as mixed  # pyright: ignore[reportMissingImports]

Named = tuple[str, Callable[[], Kernel]]
RIGHT, WRONG, SEED = 200, 140, 7


@cache
def kernels(count: int, seed: int) -> list[Named]:
    """So many kernels, each with a name: of every kind, of the field, of mixed inputs, random."""
    listed: list[Named] = [(name, partial(_of_kind, name)) for name in CASES]
    listed += [(f"mixed inputs {i}", partial(mixed, form)) for i, form in enumerate(FORMS)]
    listed += [(str(case), case.kernel) for case in drawn(40)]
    random.Random(seed).shuffle(listed)
    return listed + [(f"random {at}", partial(_random, at)) for at in range(count - len(listed))]


def different(count: int, seed: int) -> list[Named]:
    """So many kernels whose texts all differ: small random ones come more than once."""
    out: dict[str, Named] = {}
    for name, make in kernels(3 * count, seed):
        if len(out) < count:
            out.setdefault(cx.emit(make()), (name, make))
    return [*out.values()]


def _of_kind(name: str) -> Kernel:
    return CASES[name].make()[0]


def _random(seed: int) -> Kernel:
    """A random kernel that the target and the emitter take: the next one that they do."""
    for more in range(100):
        r = random.Random(1000 * seed + more)
        with suppress(CuteError):
            kernel = (made(r) if r.random() < 0.7 else r.choice(PARTS)(r)).kernel
            cx.emit(kernel)
            checked = cx.check(kernel, "pvc")
            # The compiler of Debian 12 takes no transposed block of more than 16 rows.
            warned = {f.broken.rule for f in checked.findings}
            if checked and not warned & {"transpose-column-bytes", "spills"}:
                return kernel
    raise SystemExit("no random kernel is taken")


def shows(kernel: Kernel, target: str, version: str, seed: int, draws: int = 12) -> str:
    """Run what a text compiles to beside the kernel, on sizes and data of its own.

    Returns the first problem whose results differ; empty where none does. Raises `CuteError` where
    the kernel takes no problem that is drawn: nothing is decided then.
    """
    rng = np.random.default_rng(seed)
    names = sorted({name for o in kernel.operands for mode in o.modes for name in mode.names})
    share = 4 * sum(allowances(kernel).values())
    taken = 0
    for _draw in range(4 * draws):
        sizes = {name: int(rng.choice([1, 3, 15, 16, 17, 33, 47, 70, 100])) for name in names}
        by, around = rng.choice([1, 1e-3, 0, 40]), rng.choice([0, 0, -300, 300, -np.inf])
        inputs: dict[str, Any] = {o.name: _given(rng, o, sizes, by, around) for o in kernel.inputs}
        inputs |= {name: size for name, size in sizes.items() if name in kernel.sizes}
        try:
            said = cx.run(kernel, **inputs, executor="reference", target=target)
        except CuteError:
            continue
        taken += 1
        with np.errstate(all="ignore"):
            try:
                found = cx.native.run(kernel, **inputs, target=target, compiler=version)
            except CuteError as error:
                return f"{sizes}: {error}"
            pairs = zip(outputs(found), outputs(said), strict=True)
            if any(_far(x, y, share) for x, y in pairs):
                return f"{sizes}, numbers of {by} around {around}"
        if taken == draws:
            break
    if not taken:
        raise InputError("shows", {"kernel": kernel.name}, "the kernel takes no drawn problem", "")
    return ""


def _given(
    rng: np.random.Generator, operand: Operand, sizes: dict[str, int], by: float, around: float
) -> np.ndarray:
    shape, kind = tuple(mode.at(sizes) for mode in operand.modes), operand.value_type
    if kind.kind == "float":
        far = around if rng.random() < 0.6 else 0
        return convert(by * rng.standard_normal(shape) + far, kind)
    low, high = bounds(kind)
    return convert(rng.integers(max(low, -128), min(high, 127) + 1, shape), kind)


def _far(found: np.ndarray, said: np.ndarray, share: float) -> bool:
    """Whether results differ: in a bit, or beyond the share of the largest that is allowed."""
    same = (found == said) | ((found != found) & (said != said))
    if same.all() or not share:
        return not same.all()
    wide, other = (x[~same].astype(np.float64) for x in (found, said))
    largest = np.abs(said[np.isfinite(said)].astype(np.float64)).max(initial=0)
    return bool((~(np.abs(wide - other) <= share * largest + 0.02 * np.abs(other))).any())


Task = tuple[str, Callable[[], Kernel], tuple[str, str]]


def right(task: Task) -> tuple[str, str, float]:
    """Compare a right kernel: what is wrong with the answer, if anything."""
    start, (name, make, (target, version)) = time.perf_counter(), task
    kernel = make()
    try:
        answer = cx.native.compare(kernel, target=target, compiler=version)
        spills = "spills: it is not executed" if answer.scratch else ""
        wrong = spills if answer or spills else f"FALSE ALARM {answer}"
    except CuteError as error:
        wrong = f"REFUSED {type(error).__name__}: {error}"
    return f"{target} {name}", wrong, time.perf_counter() - start


def wrong(
    task: tuple[int, int, tuple[str, ...], tuple[str, str]],
) -> tuple[str, str, str, float]:
    """Compare a wrong text: its kind, a verdict, what was changed and the answer."""
    start, (number, seed, kinds, (target, version)) = time.perf_counter(), task
    kind, r = kinds[number % len(kinds)], random.Random(seed * 1000 + number)
    pool = kernels(RIGHT, SEED)
    if kind in DECISIONS:  # random kernels have few of these
        pool = [named for named in pool if named[0] in CASES]
    verdict, shown = "no kernel", ""
    for _ in range(60):
        name, make = r.choice(pool)
        kernel = make()
        change = None if _large(kernel) else changed(r, kernel, kind)
        if change is None:
            continue
        try:
            verdict, answer = _judged(kernel, change, target, version)
        except CuteError as error:  # the compiler, or what is not executed here
            shown = f"{type(error).__name__}: {error}"
            continue
        if not verdict.startswith("the same"):
            shown = f"{name}: {change.lines}\n      {answer}"
            break
    return kind, verdict, shown, time.perf_counter() - start


def _large(kernel: Kernel) -> bool:
    return bool(cx.emit(kernel).count("\n") > 700)


def _judged(kernel: Kernel, change: Change, target: str, version: str) -> tuple[str, str]:
    right = cx.native.compile(kernel, target, compiler=version).code
    with emitted(change.text):
        if cx.native.compile(kernel, target, compiler=version).code == right:
            return "the same code", ""
        answer = cx.native.compare(kernel, target=target, compiler=version)
        where = shows(kernel, target, version, len(change.text)) if answer else ""
    named = ", ".join(answer.kinds)
    shown = f"[{named}] " + "; ".join(map(str, answer.differences[:2]))
    if answer.scratch:
        return "the same code", "it spills"
    if answer:
        return ("MISSED", f"{where}\n{answer}") if where else ("the same results", "")
    # A kind may be two words.
    is_named = not change.named or any(f" {k} " in f" {change.named} " for k in answer.kinds)
    return ("named" if is_named else "MISNAMED"), shown


def main() -> None:
    """Judge the judge; exit with 1 where it is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=0, help="so many of each, all if left out")
    parser.add_argument("--only", choices=("right", "wrong"))
    parser.add_argument("--kinds", nargs="+", choices=[*KINDS], help="of wrong texts")
    parser.add_argument("--seed", type=int, default=SEED)
    asked, compilers = asked_compilers(parser)
    start, bad = time.perf_counter(), 0
    verdicts: Counter[str] = Counter()
    with Pool(asked.workers) as pool:
        if asked.only != "wrong":
            part = slice(asked.first, asked.first + (asked.count or RIGHT), asked.every)
            tasks = [(*named, made) for made in compilers for named in different(RIGHT, SEED)[part]]
            for name, said, seconds in pool.imap(right, tasks):
                verdicts[said.split(" ")[0] or "right"] += 1
                bad += bool(said) and not said.startswith("spills")
                print(f"{seconds:5.1f} s  {name}  {said or 'right'}", flush=True)
        if asked.only != "right":
            numbers = range(asked.first, asked.first + (asked.count or WRONG), asked.every)
            kinds = tuple(asked.kinds or KINDS)
            given = [(number, asked.seed, kinds, made) for made in compilers for number in numbers]
            for kind, verdict, shown, seconds in pool.imap(wrong, given):
                verdicts[f"{kind} {verdict}"] += 1
                bad += verdict not in ("named", "the same results")  # the latter is not wrong
                print(f"{seconds:5.1f} s  {kind:10} {verdict:8} {shown}", flush=True)
    print(f"{time.perf_counter() - start:.0f} s: {dict(verdicts)}")
    raise SystemExit(bad > 0)


if __name__ == "__main__":
    main()
