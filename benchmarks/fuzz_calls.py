"""Call everything public with junk: does every refusal say what is wrong?

Call number N of a seed is the same every time: ``--only N`` repeats it, traceback and all.
Allowed are results, `CuteError`, and a `TypeError` of the call itself (too many arguments) or one
that names an argument and a type. Each call may take 5 seconds of processor time and 2 GB more
than there was; one that Python cannot interrupt ends its process after 10, and is reported.
"""

from __future__ import annotations

import inspect
import io
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
import traceback
import warnings
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Any

from fuzz_values import Subject, arguments, subjects

from pycute_xe.errors import CuteError, quoted

SECONDS = 5.0
BYTES = 2 << 30
CHUNK = 2_000
# What Python itself says of operators and of calls that do not bind.
OWN_WORDS = re.compile(r"unsupported operand|not supported between|unhashable type|has no len")


class TooSlow(BaseException):
    """Raised by the clock; no handler of the library may swallow it."""


def stop(*_: object) -> None:
    """End the call that took too long."""
    raise TooSlow


def allowed(error: BaseException, subject: Subject, given: tuple[Any, ...], named: Any) -> bool:
    """Tell whether a user could act on an error.

    >>> allowed(CuteError("f", {}, "no"), Subject("f", abs, None), (), {})
    True
    >>> allowed(KeyError("D"), Subject("f", abs, None), ("D",), {})
    False
    """
    if isinstance(error, CuteError):
        return True
    if isinstance(error, OSError):
        return ".save" in subject.name or ".load" in subject.name or "write" in subject.name
    if not isinstance(error, TypeError):
        return False
    if subject.signature is None:
        return True
    try:
        subject.signature.bind(*given, **named)
    except TypeError:
        return True
    message = str(error)
    names = any(
        re.search(rf"\b{re.escape(name)}\b", message) for name in subject.signature.parameters
    )
    kinds = any(type(value).__name__ in message for value in (*given, *named.values()))
    is_operator = subject.name.rpartition(".")[2].startswith("__")
    return (is_operator and bool(OWN_WORDS.search(message))) or (names and kinds)


def attempt(
    subject: Subject, given: tuple[Any, ...], named: dict[str, Any], hard: bool = False
) -> BaseException | None:
    """Make one call and look at its result; return what went wrong, if it did.

    ``hard`` ends the process where the call cannot be interrupted.
    """
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    if hard:
        # No handler runs while C computes, as in a power of large integers.
        signal.setitimer(signal.ITIMER_VIRTUAL, 2 * SECONDS)
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            result = subject.call(*given, **named)
            with suppress(RecursionError):  # of Python's own, for values that hold deep tuples
                repr(result)
                str(result)
            if inspect.isgenerator(result):
                next(result, None)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is what we look for
        return error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return None


def drawn(seed: int, number: int) -> tuple[Subject, tuple[Any, ...], dict[str, Any]]:
    """Return call ``number`` of a seed."""
    rng = random.Random(f"{seed}:{number}")
    every = subjects()
    # Each subject in turn, so that none is left out.
    subject = every[number % len(every)]
    return subject, *arguments(rng, subject)


def failures(seed: int, start: int, end: int) -> list[tuple[int, str]]:
    """Make a run of calls; return the numbers of those that failed, and how."""
    return list(found(seed, start, end))


def found(
    seed: int, start: int, end: int, begin: Callable[[int], object] | None = None
) -> Iterator[tuple[int, str]]:
    """Make a run of calls; yield the numbers of those that fail, and how.

    ``begin`` is told the number of each call before it is made, which may end the process.
    """
    signal.signal(signal.SIGPROF, stop)
    for number in range(start, end):
        if begin is not None:
            begin(number)
        subject, given, named = drawn(seed, number)
        error = attempt(subject, given, named, begin is not None)
        if error is not None and not allowed(error, subject, given, named):
            yield number, _told(error, subject)


def _told(error: BaseException, subject: Subject) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    inside = [f for f in frames if "pycute_xe" in f.filename and "benchmarks" not in f.filename]
    last = inside[-1] if inside else frames[-1]
    where = f"{last.filename.rpartition('pycute_xe/')[2]}:{last.lineno}"
    return f"{type(error).__name__}: {str(error)[:80]!r} at {where} by {subject.name}"


def limit_memory() -> None:
    """Allow 2 GB more than is in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _worker(options: Namespace) -> None:
    """Make one chunk of calls in this process and print what failed."""
    warnings.simplefilter("ignore")
    subjects()
    limit_memory()
    with TemporaryDirectory() as folder, Path(options.at).open("wb", buffering=0) as at:
        os.chdir(folder)

        def begin(number: int) -> None:
            at.seek(0)
            at.write(f"{number:20}".encode())

        for number, told in found(options.seed, options.start, options.stop, begin):
            told = told.replace("\n", " ").encode("ascii", "backslashreplace").decode()
            print(number, told, flush=True)
        os.chdir("/")


def _run(command: list[str]) -> tuple[str, str]:
    """Return what a process prints, and how it ends if not as it should."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1800
        )
    except subprocess.TimeoutExpired as error:  # what waits takes no time of a processor
        return (error.stdout or b"").decode(), "hangs"
    if not done.returncode:
        return done.stdout, ""
    last = done.stderr.strip().splitlines()[-1:] or [f"signal {-done.returncode}"]
    return done.stdout, f"ends with {last[0]}"


def _chunk(options: Namespace, start: int) -> list[str]:
    """Return what fails of a chunk; after a call that ends its process the rest is made in anew."""
    stop = min(start + CHUNK, options.start + options.calls)
    lines: list[str] = []
    while start < stop:
        with NamedTemporaryFile() as at:
            command = [sys.executable, __file__, "--worker", f"--seed={options.seed}"]
            command += [f"--start={start}", f"--stop={stop}", f"--at={at.name}"]
            output, ended = _run(command)
            reached = int(at.read().strip() or start)
        lines += output.splitlines()
        if not ended:
            break
        lines.append(f"{reached} the process {ended} by {drawn(options.seed, reached)[0].name}")
        start = reached + 1
    return lines


def _report(lines: list[str], calls: int, seconds: float) -> None:
    kinds: Counter[str] = Counter()
    first: dict[str, str] = {}
    for line in lines:
        number, _, told = line.partition(" ")
        kind = re.sub(r"'[^']*'|\"[^\"]*\"", "…", told.partition(" by ")[0])
        kinds[kind] += 1
        first.setdefault(kind, f"first: {number} {told}")
    for kind, count in kinds.most_common():
        print(f"{count:6} {kind}\n       {first[kind]}")
    print(f"{calls:,} calls of {len(subjects())} callables: {len(lines)} fail ({seconds:.0f} s)")


def main() -> int:
    """Run from the command line; the status says whether all is well."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--stop", type=int, default=0)
    parser.add_argument("--at", default=os.devnull, help="a file for the number of the call")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=int, help="repeat one call and show its traceback")
    parser.add_argument("--worker", action="store_true")
    options = parser.parse_args()
    if options.worker:
        _worker(options)
        return 0
    if options.only is not None:
        signal.signal(signal.SIGPROF, stop)
        subject, given, named = drawn(options.seed, options.only)
        print(f"{subject.name} with {', '.join(map(quoted, given))} {named}")
        error = attempt(subject, given, named)
        if error is not None:
            traceback.print_exception(error)
        return int(error is not None and not allowed(error, subject, given, named))
    began = time.monotonic()
    starts = range(options.start, options.start + options.calls, CHUNK)
    with ThreadPoolExecutor(options.jobs) as pool:
        lines = [line for chunk in pool.map(lambda s: _chunk(options, s), starts) for line in chunk]
    _report(lines, options.calls, time.monotonic() - began)
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
