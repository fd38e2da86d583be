"""Floor 6: finding an atom by what it does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import translate
from functools import cache
from typing import Any, cast

from pycute_xe.arch.dpas import Dpas
from pycute_xe.arch.target import Target, get_target
from pycute_xe.atom.atom_record import KIND_WORDS, AtomHead, AtomRecord, describe_atom, head_of
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_atom import CopyAtom
from pycute_xe.atom.feeding import feeds as feed_of
from pycute_xe.atom.known_names import catalogue, grammar_names
from pycute_xe.atom.mma_atom import MmaAtom
from pycute_xe.atom.names import get_atom
from pycute_xe.errors import InputError

__all__ = ["forget_verdicts", "search_atoms"]

Sizes = int | tuple[int, int] | None


def search_atoms(
    *,
    kind: str | None = None,
    bits: int | None = None,
    rows: Sizes = None,
    cols: Sizes = None,
    mode: str | None = None,
    feeds: MmaAtom | Dpas | str | None = None,
    operand: str | None = None,
    reorder: bool = False,
    target: str | Target | None = None,
    shipped: bool | None = None,
    faithful: bool | None = None,
    name: str | None = None,
) -> tuple[AtomRecord, ...]:
    """Return the atoms that meet every filter given, in the order of `catalogue`.

    Searched are the names of `catalogue` and, after them, those of the grammar of older copies
    that CUTLASS does not ship (``shipped=True`` leaves these out, ``False`` the others).
    ``kind``: load, store, prefetch, atomic, copy (loads and stores), block2d, linear, transpose,
    vnni, packed, mma or dpas.
    ``rows`` and ``cols`` count elements of ``bits``: an integer, or (least, most). ``mode``: N, T
    or V. ``feeds``: an MMA; keeps the copies that hold its ``operand`` (by default A or B) as it
    reads it, with ``reorder=True`` those too that hold it otherwise. ``target`` keeps what it can
    run, ``faithful`` what the layouts say truly. ``name``: a part of the name or, with ``*`` or
    ``?``, a pattern for the whole. Law: a filter left out excludes nothing.
    Raises `InputError` for a value that a filter cannot have, with those it can, `TargetError` for
    an unknown target.

    >>> found = search_atoms(rows=(16, 32), cols=16, feeds="XE_DPAS_TT<8,f32,bf16>", operand="B")
    >>> [atom.name for atom in found][:3]
    ['XE_2D_U16x16x16_LD_V', 'XE_2D_U16x32x16_LD_V', 'XE_2D_U16x16x16_LD_T']
    >>> search_atoms(bits=16, mode="T", rows=32, cols=16)[0].shipped
    False
    """
    _check(kind, mode, bits, rows, cols)
    machine = None if target is None else get_target(target).name
    mma, operands = _asked(feeds, operand)
    spelled = _pattern(name)

    def named(head: AtomHead) -> bool:
        return all(
            (
                kind is None or KIND_WORDS[kind](head),
                bits is None or head.bits == bits,
                _within(head.rows, rows),
                _within(head.cols, cols),
                mode is None or head.mode == mode,
                shipped is None or head.shipped == shipped,
            )
        )

    def able(record: AtomRecord) -> bool:
        runs = machine is None or machine in record.targets
        return runs and (faithful is None or record.faithful == faithful)

    names = (text for text in _names(shipped) if spelled is None or spelled.search(text))
    # What costs more comes last.
    found = (describe_atom(head.name) for head in map(head_of, names) if named(head))
    found = filter(able, found)
    if mma is None:
        return tuple(found)
    allowed = ("free", "reorder") if reorder else ("free",)
    return tuple(_feeding(found, mma, operands, allowed))


def _names(shipped: bool | None) -> Iterator[str]:
    if shipped is not False:
        yield from catalogue()
    if not shipped:
        yield from grammar_names()


def _feeding(
    found: Iterable[AtomRecord], mma: MmaAtom, operands: tuple[str, ...], allowed: tuple[str, ...]
) -> Iterator[AtomRecord]:
    """Keep what serves one of the operands, with the verdict on each."""
    for record in found:
        if record.kind not in ("load", "store") or not record.mode:
            continue  # no block-2D copy
        verdicts = tuple((operand, _verdict(record.name, mma, operand)) for operand in operands)
        if any(verdict in allowed for _, verdict in verdicts):
            yield replace(record, feeds=verdicts)


@cache
def _verdict(name: str, mma: MmaAtom, operand: Any) -> str:
    atom = get_atom(name)
    copy: Block2DOp | str = atom.op if isinstance(atom, CopyAtom) else name
    return feed_of(copy, mma, operand).kind


def forget_verdicts() -> None:
    """Forget which copies were judged for which MMA, as a fresh process has not judged them."""
    _verdict.cache_clear()


def _asked(mma: Any, operand: str | None) -> tuple[MmaAtom | None, tuple[str, ...]]:
    operands = ("A", "B") if operand is None else (operand,)
    if operand not in (None, "A", "B", "C", "D"):
        raise _no_such("operand", operand, "A, B, C or D")
    if mma is None:
        if operand is not None:
            raise InputError(
                "search_atoms",
                {"operand": operand},
                "of which MMA is not said",
                "give feeds, such as feeds='XE_DPAS_TT<8,f32,bf16>'",
            )
        return None, operands
    atom = get_atom(mma) if isinstance(mma, str) else mma
    atom = MmaAtom(atom) if isinstance(atom, Dpas) else atom
    if not isinstance(atom, MmaAtom):
        raise InputError(
            "search_atoms",
            {"feeds": mma},
            "it is no MMA",
            "give an MMA atom or its name, such as XE_DPAS_TT<8,f32,bf16>",
        )
    return atom, operands


def _check(kind: object, mode: object, bits: object, rows: Any, cols: Any) -> None:
    if kind is not None and kind not in KIND_WORDS:
        near = get_close_matches(str(kind), KIND_WORDS, 1)
        tip = f"{near[0]}? One of " if near else ""
        raise _no_such("kind", kind, tip + ", ".join(KIND_WORDS))
    if mode not in (None, "N", "T", "V"):
        raise _no_such("mode", mode, "N, T or V")
    if bits is not None and not _are_positive((bits,)):
        raise _no_such("bits", bits, "a positive integer")
    asked: tuple[tuple[str, Any], ...] = (("rows", rows), ("cols", cols))
    for name, sizes in asked:
        ends = cast("tuple[Any, ...]", sizes if isinstance(sizes, tuple) else (sizes, sizes))
        legal = len(ends) == 2 and _are_positive(ends) and ends[0] <= ends[1]
        if sizes is not None and not legal:
            raise _no_such(name, sizes, "a positive integer, or (least, most)")


def _are_positive(numbers: tuple[object, ...]) -> bool:
    return all(isinstance(n, int) and type(n) is int and n > 0 for n in numbers)


def _no_such(name: str, value: Any, possible: str) -> InputError:
    return InputError("search_atoms", {name: value}, f"there is no such {name}", possible)


def _within(count: int, wanted: Sizes) -> bool:
    if wanted is None:
        return True
    least, most = wanted if isinstance(wanted, tuple) else (wanted, wanted)
    return least <= count <= most


def _pattern(name: str | None) -> re.Pattern[str] | None:
    if name is None:
        return None
    if type(name) is not str or not name.strip():
        raise _no_such("name", name, "a part of a name, or a pattern such as XE_2D_U16*_LD_V")
    text = name.strip()
    return re.compile(translate(text) if set("*?") & set(text) else re.escape(text), re.IGNORECASE)
