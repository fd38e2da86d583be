"""Time the catalogue of atoms: every name on every target, one atom, searches and one screen.

Targets: all names, each built with its layouts and its messages or refusals, below 2 s in one
process; one atom below 1 ms. Each is the best of several rounds; caches of names are emptied before
every round, so that a round does what a fresh process would.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from pycute_xe.arch.target import targets
from pycute_xe.atom import MmaAtom
from pycute_xe.comparing import search_atoms
from pycute_xe.comparing.atom_record import head_of, record_of
from pycute_xe.comparing.searches import forget_verdicts
from pycute_xe.cutlass import catalogue, get_atom
from pycute_xe.cutlass.known_names import grammar_names
from pycute_xe.errors import LegalityError
from pycute_xe.explaining import explain

TARGETS = tuple(targets())
Work = Callable[[], object]


def seconds(work: Work, repeat: int, number: int = 1) -> float:
    """Seconds of one call: the fastest of several rounds of several calls."""
    best = float("inf")
    for _ in range(repeat):
        for cached in (catalogue, grammar_names, head_of, record_of):
            cached.cache_clear()
        forget_verdicts()
        start = time.perf_counter()
        for _ in range(number):
            work()
        best = min(best, (time.perf_counter() - start) / number)
    return best


def one(name: str) -> int:
    """Build an atom, its layouts, and its messages on every target; count the refusals."""
    atom = get_atom(name)
    if isinstance(atom, MmaAtom):
        _ = atom.tv_layout_A, atom.tv_layout_B, atom.tv_layout_C
        return sum(bool(atom.op.broken_rules(target)) for target in TARGETS)
    _ = atom.layout_src_tv, atom.layout_dst_tv
    refused = 0
    for target in TARGETS:
        try:
            atom.messages(target)
        except LegalityError:
            refused += 1
    return refused


def everything() -> int:
    """All names of the catalogue; the refusals of them together."""
    return sum(map(one, catalogue()))


def main() -> None:
    """Print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5, help="rounds, of which the best counts")
    repeat = parser.parse_args().repeat
    refused = everything()
    took = seconds(everything, repeat)
    what = f"{len(catalogue())} names x {len(TARGETS)} targets ({refused} refusals)"
    print(f"{what:52} {took:8.3f} s (best of {repeat})")
    for name in ("XE_2D_U16x32x16_LD_V", "XE_LOAD_2D<16,32,32,16>", "XE_DPAS_TT<8,f32,bf16>"):
        took = seconds(lambda name=name: one(name), repeat, 50)
        print(f"{name:52} {took * 1e3:8.3f} ms (best of {repeat} x 50)")
    searches: dict[str, Work] = {
        "search: everything, the rest of the grammar included": search_atoms,
        "search: what feeds B of XE_DPAS_TT<8,f32,bf16>": lambda: search_atoms(
            feeds="XE_DPAS_TT<8,f32,bf16>", operand="B", shipped=True
        ),
        "explain XE_2D_U16x32x16_LD_V": lambda: str(explain(get_atom("XE_2D_U16x32x16_LD_V"))),
    }
    for name, work in searches.items():
        print(f"{name:52} {seconds(work, repeat):8.3f} s (best of {repeat})")


if __name__ == "__main__":
    main()
