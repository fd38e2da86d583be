"""Damage documents and read them: is each refused by the place of the damage, and soon?

Documents of all sorts of values are changed as trees (a value of another type or size, another
class, a key too few, too many or misspelled, a part of another place) and as bytes. What
`from_json` makes of one is either a value, whose own document reads as the same value, or an
`InputError` in one line that names a place. Document number N of a seed is the same every time:
``--only N`` repeats it. Reading may take 1 second of processor time and 2 GB more than there was.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import time
import traceback
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from fuzz_calls import TooSlow, limit_memory, stop

import pycute_xe as cx
from pycute_xe.errors import CuteError, InputError
from pycute_xe.files import kinds

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from small_kernels import everything  # pyright: ignore[reportMissingImports]

SECONDS = 1.0
Place: TypeAlias = tuple[Any, Any]
"""A container of a tree, and a key or a number in it."""


@cache
def whole_values() -> tuple[Any, ...]:
    """Return values of many kinds, each small."""
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    gemm = cx.kernel.gemm(mma, epilogue="relu(acc + bias[n])")
    loop = gemm.loop("k")
    tiles = cx.symbol("M", multiple_of=32), cx.symbol("N", at_most=4096)
    short = gemm.replace(loop, replace(loop, stop=loop.stop - 1))
    return (
        cx.Layout((4, (2, 8)), (1, (8, 4))),
        cx.Layout((*tiles, 8), (1, tiles[0], (tiles[1] + 3) // 5 * tiles[0])),
        cx.make_identity_layout((4, 8)),
        cx.ComposedLayout(cx.Swizzle(2, 4, 3), 8, cx.Layout((8, 64), (64, 1))),
        (cx.Layout(4, 2), None, (8, 2)),
        cx.get_atom("XE_2D_U16x32x16_LD_V"),
        cx.get_atom("XE_LOAD_2D<16,32,32,16>", "bf16"),
        cx.get_atom("XE_1D_LDSM<u32,u128>"),
        mma,
        cx.make_block_2d_copy_A(mma, ("ld", 1)),
        gemm,
        everything(named=True),
        cx.verify(short),
        cx.check(gemm, "bmg"),
    )


@cache
def whole_documents() -> tuple[str, ...]:
    """Return sound documents."""
    return tuple(map(cx.to_json, whole_values()))


# ------------------------------------------------------------ damage to trees


def _places(tree: Any) -> list[Place]:
    """Every entry of every object and list of a tree."""
    out: list[Place] = []
    pending = [tree]
    while pending:
        one = pending.pop()
        entries = one.items() if isinstance(one, dict) else enumerate(one)
        for key, value in entries:
            out.append((one, key))
            if isinstance(value, dict | list):
                pending.append(value)
    return out


def _nested(levels: int) -> Any:
    tree: Any = 1
    for _ in range(levels):
        tree = [tree]
    return tree


JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3, 1.5, -0.0, 1e308, "", "nan", "inf", "k", "M", "bf16"),
    *([], {}, [[]], [1, 2], {"class": "Layout"}, {"class": "os"}, {"$ref": "#"}, "__import__"),
    *(10**6, 10**9, 2**31, 2**63, 2**64, -(2**63), 10**40, 10**300, 10**999, 10**1001),
    *("x" * 1000, "x" * 70_000, "a\nb", "é", "\x00", _nested(50), _nested(240), _nested(300)),
    *([0] * 1000, [[1, 1]] * 200, {"class": "Index", "terms": [], "offset": 10**12}),
    {"class": "Layout", "shape": [2**40, 2**40], "stride": [1, 0]},
    {"class": "Layout", "shape": 2**62, "stride": 1},
    {"class": "Layout", "shape": _nested(99), "stride": _nested(99)},
)


def _junk(rng: random.Random, tree: Any) -> None:
    one, key = rng.choice(_places(tree))
    one[key] = rng.choice(JUNK)


def _number(rng: random.Random, tree: Any) -> None:
    """Change a number, as far as it goes."""
    found = [p for p in _places(tree) if type(p[0][p[1]]) in (int, float)]
    if not found:
        _junk(rng, tree)
        return
    one, key = rng.choice(found)
    changes = (1, -1, 7, 2**20, -(2**20), 10**30)
    one[key] = rng.choice((one[key] + rng.choice(changes), -one[key], one[key] * 2, 0))


def _other_class(rng: random.Random, tree: Any) -> None:
    found = [p for p in _places(tree) if p[1] in ("class", "kind")]
    one, key = rng.choice(found)
    one[key] = rng.choice((*kinds(), "object", "Proof", "builtins.eval", "Loop "))


def _key(rng: random.Random, tree: Any) -> None:
    found = [p for p in _places(tree) if isinstance(p[0], dict)]
    one, key = rng.choice(found)
    what = rng.randrange(3)
    value = one[key] if what == 2 else one.pop(key)
    if what:
        one[rng.choice((key + "s", "extra", "__class__", "class", "", "x" * 99, "é"))] = value


def _moved(rng: random.Random, tree: Any) -> None:
    """Put a part of the document in another place."""
    places = _places(tree)
    (one, key), (other, name) = rng.choice(places), rng.choice(places)
    one[key] = json.loads(json.dumps(other[name]))


def _length(rng: random.Random, tree: Any) -> None:
    found = [p for p in _places(tree) if isinstance(p[0][p[1]], list)]
    if found:
        one, key = rng.choice(found)
        held = one[key]
        one[key] = rng.choice((held[1:], held[:-1], held * 2, held[::-1], [held], [*held, 1]))


TREES: tuple[Callable[[random.Random, Any], None], ...] = (
    *(_junk, _junk, _number, _other_class, _key, _moved, _length),
)


# ------------------------------------------------------------ damage to bytes


def _bytes(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    inserts = (b"\xff\xfe", b"\x00", b"NaN", b"Infinity", b"1e999", b"9" * 5000, b"[" * 100_000)
    inserts = (*inserts, b'{"a":' * 5000, b'"a": 1, "a": 2, ', b"//", b"'", b"\\ud800", b"-", b"0")
    found = rng.randrange(5)
    if found == 0:
        return data[:at]
    if found == 1:
        return data[:at] + data[at + rng.randrange(1, 20) :]
    if found == 2:
        changed = bytearray(data)
        changed[at] ^= 1 << rng.randrange(8)
        return bytes(changed)
    if found == 3:
        return data.decode().encode(rng.choice(("utf-16", "utf-32", "utf-8-sig", "utf-16-le")))
    return data[:at] + rng.choice(inserts) + data[at:]


def damaged(seed: int, number: int) -> bytes:
    """Return document ``number`` of a seed."""
    rng = random.Random(f"{seed}:{number}")
    text = rng.choice(whole_documents())
    if not rng.randrange(4):
        return _bytes(rng, text.encode())
    tree = json.loads(text)
    for _ in range(rng.choice((1, 1, 1, 2))):
        rng.choice(TREES)(rng, tree)
    return json.dumps(tree).encode()


# ------------------------------------------------------------ judging


def outcome(data: bytes) -> tuple[str, BaseException | None]:
    """Read a document: "refused", "stumbled", "same" or "wrong", and the error that it raised."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        value = cx.from_json(data)
    except InputError as error:
        return _refusal(error), error
    except KeyboardInterrupt:
        raise
    except (Exception, TooSlow) as error:  # noqa: BLE001 - whatever it is, it is what we look for
        return "wrong", error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return _read_again(value)


def _refusal(error: InputError) -> str:
    text = str(error)
    told = (
        "\n" not in text and len(text) < 900 and str(error.operands.get("at", "")).startswith("$")
    )
    if not told:
        return "wrong"
    # What a constructor refuses is a `CuteError`; Python's own error is a check that is missing.
    cause = error.__cause__
    reading = (json.JSONDecodeError, UnicodeDecodeError, RecursionError)
    return "refused" if cause is None or isinstance(cause, (CuteError, *reading)) else "stumbled"


def _read_again(value: Any) -> tuple[str, BaseException | None]:
    try:
        text = cx.to_json(value)
        same = cx.to_json(cx.from_json(text)) == text
    except Exception as error:  # noqa: BLE001 - as above
        return "wrong", error
    return ("same", None) if same else ("wrong", ValueError("it reads as another value"))


def main() -> int:
    """Run from the command line; the status says whether all is well."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="documents that are refused")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="repeat one document and show its traceback")
    options = parser.parse_args()
    signal.signal(signal.SIGPROF, stop)
    limit_memory()
    whole_documents()
    found: Counter[str] = Counter()
    first: dict[str, int] = {}
    longest, began, number = (0.0, -1), time.monotonic(), options.only or 0
    while found["refused"] + found["stumbled"] < options.count:
        data, start = damaged(options.seed, number), time.process_time()
        said, error = outcome(data)
        longest = max(longest, (time.process_time() - start, number))
        found[said] += 1
        if said in ("wrong", "stumbled"):
            source = error.__cause__ or error if error is not None else error
            first.setdefault(f"{said}: {type(source).__name__}: {str(source)[:90]!r}", number)
        if options.only is not None:
            print(said, str(error)[:900])
            traceback.print_exception(error)
            break
        number += 1
    for kind, where in first.items():
        print(f"{kind}, first: {where}")
    seconds = time.monotonic() - began
    counts = ", ".join(f"{count:,} {kind}" for kind, count in found.items())
    print(f"{number:,} damaged documents: {counts} ({seconds:.0f} s)")
    print(f"the longest took {longest[0]:.2f} s: {longest[1]}")
    return int(bool(found["wrong"] + found["stumbled"]))


if __name__ == "__main__":
    sys.exit(main())
