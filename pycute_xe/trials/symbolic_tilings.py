"""`verify` of tilings with symbols in their tile: proved where the algebra decides it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod
from typing import Any

from pycute_xe.algebra import coalesce, composition
from pycute_xe.algebra.compose import flat_modes
from pycute_xe.atom import CopyAtom, TiledCopy, TiledMma
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.clock import stopwatch
from pycute_xe.errors import CuteError
from pycute_xe.layout import Layout, make_layout
from pycute_xe.symbolic.adoption import names_in, substitute
from pycute_xe.verifying.verdict import Answer, Proof, Tried, Verdict

__all__ = ["symbols_of", "verify_symbolic"]

Tiling = TiledCopy | TiledMma
Numeric = Callable[[Tiling], Verdict]
"""What answers for a tiling of numbers."""

TRIED = 128
"""The largest number that is put in the place of a symbol."""


def symbols_of(tiling: Tiling) -> tuple[str, ...]:
    """Return the names of the symbols in what a tiling says of its tile, in order.

    >>> from pycute_xe.atom import XE_DPAS_TT, make_tiled_mma
    >>> from pycute_xe.symbolic import symbol
    >>> rows = Layout(8 * symbol("M"))
    >>> symbols_of(make_tiled_mma(XE_DPAS_TT(8, "f32", "bf16"), Layout((1, 1, 1)), (rows, 16, 16)))
    ('M',)
    """
    return tuple(sorted(set[str]().union(*map(names_in, _fields(tiling).values()))))


def _fields(tiling: Tiling) -> dict[str, Any]:
    names = ("layout_tv_tiled", "tiler_mn")
    if isinstance(tiling, TiledMma):
        names = ("atom_layout_mnk", "permutation_mnk")
    return {name: getattr(tiling, name) for name in names}


def verify_symbolic(tiling: Tiling, numeric: Numeric) -> Verdict:
    """Prove who owns what of a tiling for all numbers in place of its symbols.

    What the algebra does not decide is asked with small numbers, one of which may refute it; else
    it is undecided. ``numeric`` answers for these, and for the atom of a copy.
    """
    elapsed, names = stopwatch(), symbols_of(tiling)
    proofs = list(_proofs(tiling, numeric))
    tried, shown = Tried((), "no small numbers meet the assumptions on its symbols"), None
    for numbers, made in _samples(tiling, names):
        verdict = numeric(made)
        tried = verdict.tried
        if verdict.answer == "disproved":
            failed = [_at(p, numbers) for p in verdict.proofs if p.answer == "disproved"]
            others = {p.property for p in failed}
            proofs = [*failed, *(p for p in proofs if p.property not in others)]
            shown = verdict.counterexample and replace(verdict.counterexample, sizes=numbers)
            break
    scope = f"for all values of {', '.join(names)}"
    return Verdict(str(tiling), scope, tuple(proofs), shown, elapsed(), tried)


def _at(proof: Proof, numbers: dict[str, int]) -> Proof:
    """Return a proof that fails for these numbers."""
    wrong = proof.counterexample
    return proof if wrong is None else replace(proof, counterexample=replace(wrong, sizes=numbers))


def _samples(tiling: Tiling, names: tuple[str, ...]) -> Iterator[tuple[dict[str, int], Tiling]]:
    """Yield two tilings of the least numbers that the assumptions on symbols allow."""
    count = 0
    for number in range(1, TRIED + 1):
        numbers = dict.fromkeys(names, number)
        try:
            fields = {name: substitute(x, numbers) for name, x in _fields(tiling).items()}
            made = replace(tiling, **fields)
        except CuteError:  # an assumption excludes the number
            continue
        yield numbers, made
        count += 1
        if count == 2:
            return


def _proofs(tiling: Tiling, numeric: Numeric) -> Iterator[Proof]:
    if isinstance(tiling, TiledCopy):
        yield _decided("owners", lambda: _owners(tiling.layout_tv_tiled, tiling.tiler_mn))
        yield _decided("values", lambda: _values(tiling, numeric))
        return
    for part in "ABC":
        layout = getattr(tiling, f"tv_layout_{part}_tiled")
        tile = tiling.operand_tile(part)
        yield _decided(f"{part} owners", lambda: _owners(layout, tile))  # noqa: B023
    yield _proof("product", "undecided", "D is the sum of products that the layouts pair", _NUMBERS)


_NUMBERS = "the algebra does not say it; put numbers in by substitute(layout, M=…), and ask again"

Outcome = tuple[str, str]
"""What is proved, and why it is not."""


def _decided(name: str, ask: Callable[[], Outcome]) -> Proof:
    """Return what the algebra says; undecided where it cannot tell."""
    try:
        statement, reason = ask()
    except CuteError as error:
        statement, reason = f"{name} for all values", error.condition
    return _proof(name, "undecided" if reason else "proved", statement, reason)


def _proof(name: str, answer: Answer, statement: str, reason: str) -> Proof:
    return Proof(name, answer, statement, (), 0.0, reason=reason)


def _owners(tv: Layout, tile: tuple[Any, ...]) -> Outcome:
    """Each element has as many owners: the modes that move follow each other through the tile."""
    moving = [(extent, stride) for extent, stride in flat_modes(coalesce(tv)) if stride != 0]
    many = prod(extent for extent, stride in flat_modes(coalesce(tv)) if stride == 0)
    shape = "x".join(map(str, tile))
    owners = "one owner" if many == 1 else f"{many} owners"
    statement = f"each of {shape} elements has {owners}, and nothing else is owned"
    reach: Any = 1
    while moving:
        mode = next((mode for mode in moving if mode[1] == reach), None)
        if mode is None:
            steps = ", ".join(str(stride) for _, stride in moving)
            return statement, f"no stride of {steps} is {reach}, where the other modes end"
        moving.remove(mode)
        reach = reach * mode[0]
    whole: Any = prod(tile)
    return statement, "" if reach == whole else f"{reach} elements are owned of {whole}"


def _values(copy: TiledCopy, numeric: Numeric) -> Outcome:
    """Lanes and values of one message are those of its atom, which is proved alone."""
    statement = "value v of work-item t is the v-th that it owns, message by message"
    atom = copy.atom
    if not isinstance(atom, CopyAtom):
        return statement, f"{atom} is not a template of a block-2D message"
    threads, values = copy.layout_tv_tiled
    lanes = composition(threads, Layout(SUBGROUP))
    first = composition(values, Layout(atom.values))
    steps: tuple[Any, Any] = (
        prod(copy.tiler_mn[: copy.x_mode]),
        prod(copy.tiler_mn[: copy.y_mode]),
    )
    wanted = composition(Layout((atom.width, atom.height), steps), atom.layout_ref_tv)
    if coalesce(make_layout(lanes, first), (1, 1)) != coalesce(wanted, (1, 1)):
        return statement, f"a message of {atom} deals {wanted}, the tiling {lanes} and {first}"
    verdict: Any = numeric(atom)  # pyright: ignore[reportArgumentType]
    return statement, "" if verdict.answer == "proved" else f"{atom} is {verdict.answer}"
