"""Damage files and read them: is every refusal one line that names the file?

Files of the kinds that the library reads, ``.npy``, ``.npz`` and the JSON of counterexamples, are
cut, flipped, patched and rewritten. File number N of a seed is the same every time: ``--only N``
repeats it. Reading one may take 5 seconds of processor time and 2 GB more than there was.
"""

from __future__ import annotations

import io
import random
import re
import signal
import sys
import time
import traceback
import zipfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from fuzz_calls import SECONDS, TooSlow, limit_memory, stop

from pycute_xe import CuteError
from pycute_xe.cli.files import read_matrix
from pycute_xe.kernel import Counterexample

PLACE = Counterexample(
    *("D values", "is wrong", {"M": 4, "N": 3, "K": 5}, "A", {"m": 0, "n": 0, "k": 0}),
    *(0, 1, 0, (0, 1), None, "D", (0, 0)),
)


@cache
def whole_files() -> tuple[tuple[str, bytes], ...]:
    """Return sound files, by their ending."""
    found: list[tuple[str, bytes]] = []
    arrays = (np.ones((5, 7), np.float32), np.zeros((3, 2), ">i4"), np.asfortranarray(np.eye(4)))
    for array in arrays:
        file = io.BytesIO()
        np.save(file, array)
        found.append((".npy", file.getvalue()))
    for save in (np.savez, np.savez_compressed):
        file = io.BytesIO()
        save(file, a=arrays[0])
        found.append((".npz", file.getvalue()))
    for method in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", method) as archive:
            archive.writestr("a.npy", found[0][1])
        found.append((".npz", file.getvalue()))
    return (*found, (".json", PLACE.to_json().encode()))


def _flip(rng: random.Random, data: bytearray) -> None:
    for _ in range(rng.choice((1, 1, 2, 8))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _cut(rng: random.Random, data: bytearray) -> None:
    del data[rng.randrange(len(data)) :]


def _drop(rng: random.Random, data: bytearray) -> None:
    at = rng.randrange(len(data))
    del data[at : at + rng.randrange(1, 20)]


def _insert(rng: random.Random, data: bytearray) -> None:
    at = rng.randrange(len(data))
    data[at:at] = rng.choice(
        (b"\0" * 9, b"9" * 12, b"(" * 3000, b"\xff\xfe", b"{[", b"'\n", b"1e999")
    )


def _patch(rng: random.Random, data: bytearray) -> None:
    """Overwrite a field of 1, 2 or 4 bytes, as a header's lengths and methods are."""
    width = rng.choice((1, 2, 4))
    at = rng.randrange(max(1, len(data) - width))
    data[at : at + width] = rng.choice((b"\0", b"\xff", b"\x7f", b"\x01"))[:1] * width


def _reword(rng: random.Random, data: bytearray) -> None:
    """Replace a number or a word of text, as with an editor."""
    found = list(re.finditer(rb"[0-9]+|<f4|'[a-z_]+'|null|True|False|[a-zA-Z_]+", bytes(data)))
    if found:
        one = rng.choice(found)
        words = (
            b"-1",
            b"0",
            b"10" * 20,
            b"1" * 5000,
            b"None",
            b"'|O'",
            b"'<f999'",
            b"NaN",
            b"[]",
            b"1.5",
        )
        data[one.start() : one.end()] = rng.choice(words)


DAMAGES: tuple[Callable[[random.Random, bytearray], None], ...] = (
    *(_flip, _cut, _drop, _insert, _patch, _reword),
)


def damaged(seed: int, number: int) -> tuple[str, bytes]:
    """Return the ending and the contents of file ``number`` of a seed."""
    rng = random.Random(f"{seed}:{number}")
    ending, whole = rng.choice(whole_files())
    data = bytearray(whole)
    for _ in range(rng.choice((1, 1, 2))):
        if data:
            rng.choice(DAMAGES)(rng, data)
    return ending, bytes(data)


def trouble(path: Path) -> BaseException | None:
    """Read a file; return what went wrong, other than one line that says so."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        if path.suffix == ".json":
            Counterexample.load(path)
        else:
            read_matrix("A", str(path))
    except CuteError as error:
        return (
            ValueError(f"lines: {error}") if "\n" in str(error) or len(str(error)) > 500 else None
        )
    except KeyboardInterrupt:
        raise
    except (Exception, TooSlow) as error:  # noqa: BLE001 - whatever it is, it is what we look for
        return error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def main() -> int:
    """Run from the command line; the status says whether all is well."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="repeat one file and show its traceback")
    options = parser.parse_args()
    signal.signal(signal.SIGPROF, stop)
    limit_memory()
    numbers = range(options.files) if options.only is None else (options.only,)
    kinds: Counter[str] = Counter()
    first: dict[str, int] = {}
    began = time.monotonic()
    with TemporaryDirectory() as folder:
        for number in numbers:
            ending, data = damaged(options.seed, number)
            path = Path(folder, f"a{ending}")
            path.write_bytes(data)
            error = trouble(path)
            if error is not None:
                kind = f"{type(error).__name__} from {ending}: {str(error)[:60]!r}"
                kinds[kind] += 1
                first.setdefault(kind, number)
            if error is not None and options.only is not None:
                traceback.print_exception(error)
    for kind, count in kinds.most_common():
        print(f"{count:6} {kind}, first: {first[kind]}")
    seconds = time.monotonic() - began
    print(f"{len(numbers):,} damaged files: {kinds.total()} fail ({seconds:.0f} s)")
    return int(bool(kinds))


if __name__ == "__main__":
    sys.exit(main())
