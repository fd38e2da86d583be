"""`explore`: the candidates of a space that cost least, without building all of them."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future
from contextlib import closing
from dataclasses import astuple, dataclass
from hashlib import sha256
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias, get_args

from pycute_xe.arch.target import Target
from pycute_xe.costing import Device
from pycute_xe.costing.device import get_device
from pycute_xe.drawing.scene import Scene
from pycute_xe.emitting import Language, emit
from pycute_xe.errors import CuteError, InputError, quoted, with_article
from pycute_xe.exploring.picture import scene_of
from pycute_xe.exploring.pricing import Objective, Outcome, lower_bound, price_all, ranked
from pycute_xe.exploring.rules import refusal
from pycute_xe.exploring.space import Candidate, Space
from pycute_xe.kernel import Kernel
from pycute_xe.signatures import typed
from pycute_xe.trials import verify
from pycute_xe.verifying.verdict import Verdict

__all__ = ["Explored", "Priced", "explore"]

Bounded: TypeAlias = "tuple[tuple[float, float], Candidate]"
Each: TypeAlias = "list[tuple[Candidate, Outcome]]"
Given: TypeAlias = "tuple[list[Bounded], list[Candidate], Future[list[Outcome]] | None]"

BATCH = 32
"""Candidates that are priced at once: a worker's task."""
TRIES = 3
"""How often a batch is given out whose worker dies."""
AHEAD = 8
"""Batches that an executor has at a time."""


@dataclass(frozen=True, slots=True)
class Priced:
    """A candidate and its seconds, and how many DPAS, messages and barriers, over the problems."""

    candidate: Candidate
    least: float
    most: float
    instructions: int

    def __str__(self) -> str:
        return f"{self.least * 1e3:8.4g} to {self.most * 1e3:8.4g} ms  {self.candidate}"


@dataclass(frozen=True, slots=True)
class Explored:
    """The best candidates, how many were listed and built, and refusals by rule.

    Estimates of `cost`; nothing was measured. ``refused`` were refused by arithmetic, ``built``
    were built and priced or refused by a reader, as ``refused_built`` says; ``passed_over`` were
    not built, since even their lower bound is above the last of ``best``. Where the first of
    ``best`` are in the order of their machine code, ``clocks`` are their seconds by it, the least
    and the most, and ``notes`` say which were refused and why.
    """

    device: Device
    problems: tuple[tuple[tuple[str, int], ...], ...]
    objective: Objective
    best: tuple[Priced, ...]
    listed: int
    refused: tuple[tuple[str, int], ...]
    built: int
    refused_built: tuple[tuple[str, int], ...]
    passed_over: int
    clocks: tuple[tuple[float, float], ...] = ()
    notes: tuple[str, ...] = ()

    def kernel(self, rank: int = 1) -> Kernel:
        """Build the candidate of a rank. Raises `InputError` for a rank that is not listed."""
        if type(rank) is not int or not 1 <= rank <= len(self.best):
            wrong = f"rank is {quoted(rank)}, the best are 1 to {len(self.best)}"
            raise InputError("kernel", {"rank": quoted(rank)}, wrong, "use a larger best=")
        return self.best[rank - 1].candidate.kernel()

    def proved(self, rank: int = 1) -> Verdict:
        """Return the verdict of `verify` on the candidate of a rank. Raises as `kernel`."""
        verdict: Verdict = verify(self.kernel(rank))
        return verdict

    def emitted(self, language: Language = "opencl", rank: int = 1) -> str:
        """Return the text that `emit` writes of the candidate of a rank. Raises as both.

        >>> few = Space((256,), (256,), (32,), ((8, 4),), (2,), (8,))
        >>> explored = explore(few, "b580", [{"M": 4096, "N": 4096, "K": 4096}])
        >>> bool(explored.proved()), "__kernel" in explored.emitted()
        (True, True)
        """
        return emit(self.kernel(rank), language)

    @property
    def scene(self) -> Scene:
        """The best by time and registers, as `draw` shows them. Raises `InputError` for none."""
        _ = self.kernel(1)
        sizes = "; ".join(" ".join(f"{n}={x}" for n, x in one) for one in self.problems)
        ranked_by = [(_of(one, self.objective)[0], one.candidate) for one in self.best]
        return scene_of(f"The best for {sizes} on {self.device}", self.device.target, ranked_by)

    def __str__(self) -> str:
        """The best, then what was refused, then what is assumed."""
        sizes = "; ".join(" ".join(f"{n}={x}" for n, x in one) for one in self.problems)
        every = Counter(dict(self.refused)) + Counter(dict(self.refused_built))
        rules = ", ".join(f"{rule} {count:,}" for rule, count in sorted(every.items()))
        lines = [f"{self.listed:,} candidates for {sizes} on {self.device}, by {self.objective}"]
        lines += [f"  {one}" for one in self.best]
        if self.clocks:
            lines.append(f"  the first {len(self.clocks)} by machine code:")
        lines += [f"  {least * 1e3:8.4g} to {most * 1e3:8.4g} ms" for least, most in self.clocks]
        lines += [f"  {note}" for note in self.notes]
        lines.append(f"  built {self.built:,}, passed over {self.passed_over:,}")
        lines.append(f"  refused: {rules or 'none'}")
        named = [one for one in self.device.figures if one.file or one.kind == "assumed"]
        lines += [f"  {one.origin}: {one}" for one in named]
        return "\n".join(
            [*lines, "  estimates by cost, not measured; see cost for what is unknown"]
        )


@typed
def explore(
    space: Space,
    target: str | Target | Device,
    problems: Iterable[Mapping[str, int]],
    *,
    objective: Objective = "most",
    best: int = 10,
    log: str | Path | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, tuple[Priced, ...]], object] | None = None,
) -> Explored:
    """Return the candidates of a space that cost least on a device, summed over problems.

    It is what `pycute_xe.explore` does before machine code counts, and takes what that takes.
    Raises `InputError` for problems without M, N and K and for a log of another exploration or with
    a damaged line, named, `TargetError` for an unknown device.

    >>> few = Space((128, 256), (128, 256), (32,), ((4, 4), (8, 4)), (2,), (8,))
    >>> found = explore(few, "b580", [{"M": 4096, "N": 4096, "K": 4096}], best=1)
    >>> found.best[0].candidate.tile, dict(found.refused)
    ((256, 256, 32), {'register-file': 1})
    """
    device, sizes = get_device(target), _sizes(problems)
    _demand_use(objective, best, executor)
    refused, queue = Counter[str](), list[Bounded]()
    for candidate in space:
        rule = refusal(candidate, device.target)
        if rule:
            refused[rule] += 1
        else:
            queue.append((lower_bound(candidate, device, sizes, objective), candidate))
    queue.sort(key=lambda entry: (entry[0], entry[1].key))
    book = _Book(log, space, device, sizes)
    top, broken, built = list[Priced](), Counter[str](), 0

    def wanted(bound: tuple[float, float]) -> bool:
        return len(top) < best or bound <= _of(top[-1], objective)[:2]

    with closing(book.priced(_batches(queue), executor, wanted)) as priced:
        for outcomes in priced:
            for candidate, outcome in outcomes:
                built += 1
                if isinstance(outcome, str):
                    broken[outcome] += 1
                else:
                    top.append(Priced(candidate, *outcome))
            top = sorted(top, key=lambda one: (_of(one, objective), one.candidate.key))[:best]
            if progress is not None:
                progress(built, tuple(top))
    of = tuple(tuple(one.items()) for one in sizes)
    counts = (tuple(sorted(counter.items())) for counter in (refused, broken))
    before, after = counts
    left = len(queue) - built
    return Explored(device, of, objective, tuple(top), len(space), before, built, after, left)


def _demand_use(objective: str, best: object, executor: object) -> None:
    if executor is not None and not callable(getattr(executor, "submit", None)):
        kind = with_article(type(executor).__name__)
        wrong = f"executor is {kind}, which has no submit"
        raise InputError("explore", {"executor": kind}, wrong, "give a concurrent.futures.Executor")
    if objective not in get_args(Objective):
        wrong = f'objective must be "least" or "most", not {objective!r}'
        raise InputError("explore", {"objective": objective}, wrong, 'write objective="most"')
    if type(best) is not int or best < 1:
        raise InputError(
            "explore", {"best": best}, f"best is {best!r}, must be 1 or more", "use 10"
        )


def _of(one: Priced, objective: Objective) -> tuple[float, float, int]:
    return *ranked(one.least, one.most, objective), one.instructions


def _sizes(problems: Iterable[Mapping[str, int]]) -> tuple[dict[str, int], ...]:
    given, alone = f"{problems!r}", isinstance(problems, (str, Mapping))
    every: list[Any] = [] if alone else list(problems)
    if alone or not all(isinstance(one, Mapping) for one in every):
        wrong, fix = "problems must be a list of sizes", 'write [{"M": 4096, "N": 4096, "K": 4096}]'
        raise InputError("explore", {"problems": given[:60]}, wrong, fix)
    out = tuple({name: one[name] for name in "MNK" if name in one} for one in every)
    for one in out:
        if len(one) < 3 or any(type(size) is not int or size < 1 for size in one.values()):
            wrong = "a problem must give M, N and K, positive integers"
            fix = 'write {"M": 4096, "N": 4096, "K": 4096}'
            raise InputError("explore", {"problem": one}, wrong, fix)
    if not out:
        wrong, fix = "no problem is given", 'write [{"M": 4096, "N": 4096, "K": 4096}]'
        raise InputError("explore", {"problems": out}, wrong, fix)
    return out


def _batches(queue: Sequence[Bounded]) -> Iterator[list[Bounded]]:
    rest = iter(queue)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _entry(line: bytes) -> dict[str, Any] | None:
    """Return what a line of a log says; nothing for one that no run wrote."""
    try:
        entry: Any = json.loads(line)
    except ValueError:
        return None
    match entry:
        case {"explore": str(), **rest} if not rest:
            return entry
        case {"of": str(), "cost": str(), **rest} if not rest:
            return entry
        case {"of": str(), "cost": [float(least), float(most), int(count)], **rest} if not rest:
            return entry if isfinite(most) and 0 <= least <= most and count >= 0 else None
        case _:
            return None


class _Book:
    """What was priced: in memory, and in a file of JSON lines."""

    def __init__(
        self,
        path: str | Path | None,
        space: Space,
        device: Device,
        problems: tuple[dict[str, int], ...],
    ) -> None:
        self.path = None if path is None else Path(path)
        self.device, self.problems = device, problems
        self.known: dict[str, Outcome] = {}
        words = repr((astuple(space), device.name, device.figures, problems))
        head = {"explore": sha256(words.encode()).hexdigest()}
        if self.path is None:
            return
        try:
            self._read(self.path, head)
        except OSError as error:
            wrong = f"the log cannot be used: {error.strerror}"
            raise InputError("explore", {"log": path}, wrong, "name another file") from error

    def _read(self, path: Path, head: dict[str, str]) -> None:
        """Take over whole lines; a line that a stopped run left unfinished is cut off."""
        data = path.read_bytes() if path.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            entry = _entry(line)
            if entry is None or (number > 1 and "explore" in entry):
                text = quoted(line.decode("utf-8", "replace"))
                wrong = f"line {number} of {path} is damaged: {text}"
                fix = "delete the line" if number > 1 else "delete the file"
                raise InputError("explore", {"log": str(path)}, wrong, fix)
            if number == 1 and entry != head:
                wrong = "the log is of another space, device or problem"
                raise InputError("explore", {"log": str(path)}, wrong, "name another file")
            if number > 1:
                outcome = entry["cost"]
                self.known[entry["of"]] = outcome if isinstance(outcome, str) else tuple(outcome)
        path.write_bytes(whole or json.dumps(head).encode() + b"\n")

    def priced(
        self,
        batches: Iterable[list[Bounded]],
        executor: Executor | None,
        wanted: Callable[[tuple[float, float]], bool],
    ) -> Generator[Each]:
        """Yield the candidates of each batch with what they cost, while its bound is wanted.

        An executor has some batches ahead; they are yielded in their order all the same, and of
        those that are wanted no more, what is ready is kept in the file.
        """
        ahead = 1 if executor is None else AHEAD
        waiting = deque[Given]()
        try:
            for batch in batches:
                waiting.append(self._given(batch, executor))
                if len(waiting) < ahead:
                    continue
                if not wanted(waiting[0][0][0][0]):
                    return
                yield self._answer(waiting.popleft(), executor)
            while waiting and wanted(waiting[0][0][0][0]):
                yield self._answer(waiting.popleft(), executor)
        finally:
            for _, new, future in waiting:
                if future is not None and not future.cancel() and future.done():
                    self._keep_ready(new, future)

    def _given(self, batch: list[Bounded], executor: Executor | None) -> Given:
        """Hand a batch to the executor: those of its candidates of which nothing is known."""
        new = [candidate for _, candidate in batch if str(candidate) not in self.known]
        if executor is None or not new:
            return batch, new, None
        try:
            return batch, new, executor.submit(price_all, new, self.device, self.problems)
        except Exception:  # noqa: BLE001 - its workers died; `_computed` tries again
            return batch, new, None

    def _answer(self, given: Given, executor: Executor | None) -> Each:
        batch, new, future = given
        if new:
            self._keep(new, self._computed(new, future, executor))
        return [(candidate, self.known[str(candidate)]) for _, candidate in batch]

    def _keep(self, new: list[Candidate], outcomes: list[Outcome]) -> None:
        lines: list[str] = []
        for candidate, outcome in zip(new, outcomes, strict=True):
            self.known[str(candidate)] = outcome
            lines.append(json.dumps({"of": str(candidate), "cost": outcome}) + "\n")
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write("".join(lines))

    def _keep_ready(self, new: list[Candidate], future: Future[list[Outcome]]) -> None:
        if not future.cancelled() and future.exception() is None:
            self._keep(new, future.result())

    def _computed(
        self, new: list[Candidate], future: Future[list[Outcome]] | None, executor: Executor | None
    ) -> list[Outcome]:
        work: tuple[Any, ...] = (new, self.device, self.problems)
        for _ in range(TRIES if executor is not None else 0):
            try:
                future = future or (executor and executor.submit(price_all, *work))
                return future.result() if future else []
            except CuteError:
                raise
            except (Exception, CancelledError):  # noqa: BLE001 - a worker died, in its own way
                future = None
        return price_all(*work)  # where no worker lives, here
