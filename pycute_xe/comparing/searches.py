"""Finding an atom by what it does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import translate
from functools import cache, lru_cache
from math import inf
from typing import Any, cast

from pycute_xe.arch.dpas import Dpas
from pycute_xe.arch.target import Target, get_target
from pycute_xe.atom.mma_atom import MmaAtom, Operand
from pycute_xe.comparing.atom_record import (
    KIND_WORDS,
    AtomHead,
    AtomRecord,
    AtomRecords,
    head_of,
    head_of_copy,
    record_of,
)
from pycute_xe.comparing.feeding import Feed, judged
from pycute_xe.cutlass.known_names import catalogue, copies_of_blocks, grammar_names
from pycute_xe.cutlass.names import get_atom
from pycute_xe.errors import InputError, quoted
from pycute_xe.signatures import typed

__all__ = ["forget_verdicts", "search_atoms"]

# ------------------------------------------------------------ search filters
# What the filters of a search may be, and which go together.

# Of what `feeds` judges, block-2D copies that fill registers or empty them, these are never one.
_FEED_NOTHING = {
    "prefetch": "a prefetch fills no register",
    "atomic": "feeds judges block-2D copies only, not atomics",
    "linear": "feeds judges block-2D copies only, not linear ones",
    "mma": "an MMA is not a copy",
    "dpas": "an MMA is not a copy",
}


def check_filters(
    kind: object, mode: object, bits: object, sizes: Mapping[str, Any], target: object
) -> None:
    """Raise `InputError` for a value that a filter of `search_atoms` cannot have.

    >>> check_filters("load", "N", 16, {"rows": (8, 32)}, None)
    """
    if kind is not None and not (isinstance(kind, str) and kind in KIND_WORDS):
        near = get_close_matches(str(kind), KIND_WORDS, 1)
        tip = f"{near[0]}, or one of " if near else "one of "
        raise no_such("kind", kind, tip + ", ".join(KIND_WORDS))
    if mode is not None and mode not in ("N", "T", "V"):
        raise no_such("mode", mode, "N, T or V")
    if bits is not None and not _are_positive((bits,)):
        raise no_such("bits", bits, "a positive integer")
    for name, wanted in sizes.items():
        _check_sizes(name, wanted)
    if target is not None and not isinstance(target, str | Target):
        raise no_such("target", target, "a name, such as bmg, or a Target")


def _check_sizes(name: str, sizes: Any) -> None:
    if sizes is None:
        return
    ends = _ends(sizes)
    if len(ends) != 2 or not _are_positive(ends):
        possible = "write 16, or (least, most), such as (8, 32)"
        raise InputError(
            "search_atoms",
            {name: sizes},
            f"{name} must be a positive integer or a pair of them",
            possible,
        )
    if ends[0] > ends[1]:
        condition = f"the pair is (least, most), but {ends[0]} is more than {ends[1]}"
        raise InputError("search_atoms", {name: sizes}, condition, f"write {ends[::-1]}")


def _ends(sizes: Any) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", sizes) if isinstance(sizes, tuple) else (sizes, sizes)


def _are_positive(numbers: tuple[object, ...]) -> bool:
    return all(isinstance(n, int) and type(n) is int and n > 0 for n in numbers)


def check_switches(switches: Mapping[str, object]) -> None:
    """Raise `InputError` for a switch that is neither on, off nor left out.

    >>> check_switches({"shipped": None, "reorder": True})
    """
    for name, value in switches.items():
        if value is not None and type(value) is not bool:
            raise no_such(name, value, "True or False")


def check_feeding(feeds: object, kind: str | None, operand: object, reorder: bool) -> None:
    """Raise `InputError` for an unknown operand, and for filters that contradict each other.

    >>> check_feeding("XE_DPAS_TT<8,f32,bf16>", "load", "B", True)
    """
    if operand is not None and operand not in ("A", "B", "C", "D"):
        raise no_such("operand", operand, "A, B, C or D")
    asked: dict[str, object] = {"operand": operand, "reorder": reorder or None}
    alone = {name: value for name, value in asked.items() if value is not None}
    if feeds is None and alone:
        raise InputError(
            "search_atoms",
            alone,
            "this filter needs an MMA",
            "give feeds, such as feeds='XE_DPAS_TT<8,f32,bf16>'",
        )
    if feeds is not None and kind in _FEED_NOTHING:
        raise InputError(
            "search_atoms",
            {"kind": kind, "feeds": feeds},
            f"kind={kind} cannot feed an MMA: {_FEED_NOTHING[kind]}",
            "leave one of them out",
        )


def no_such(name: str, value: object, possible: str) -> InputError:
    """Return the error for a filter that cannot have a value, with those it can.

    >>> no_such("mode", "X", "N, T or V").fix
    'use N, T or V'
    """
    return InputError(
        "search_atoms", {name: value}, f"{name} cannot be {quoted(value)}", f"use {possible}"
    )


# ------------------------------------------------------------ searching

Sizes = int | tuple[int, int] | None


@typed
def search_atoms(
    name: str | None = None,
    *,
    kind: str | None = None,
    bits: int | None = None,
    rows: Sizes = None,
    cols: Sizes = None,
    mode: str | None = None,
    feeds: MmaAtom | Dpas | str | None = None,
    operand: Operand | None = None,
    reorder: bool = False,
    target: str | Target | None = None,
    shipped: bool | None = None,
    faithful: bool | None = None,
) -> AtomRecords:
    """Return the atoms that meet every filter given, in the order of `catalogue`.

    With ``feeds`` those come first whose elements are as wide as the operand's, and of these those
    of the fewest moves (`Feed.moves`, in ``moves`` of a record). Searched are the
    names of `catalogue` and, after them, those of the grammar of older copies that CUTLASS does not
    ship (``shipped=True`` leaves these out, ``False`` the others).
    ``name``: a part of the name or, with ``*`` or ``?``, a pattern for the whole. ``kind``: load,
    store, prefetch, atomic, copy (loads and stores), block2d, linear, transpose, vnni, packed, mma
    or dpas.
    ``rows`` and ``cols`` count elements of ``bits``: an integer, or (least, most). ``mode``: N, T
    or V. ``feeds``: an MMA; keeps the copies that hold its ``operand`` (by default A or B) as it
    reads it, with ``reorder=True`` those too that hold it otherwise. ``target`` keeps what it can
    run, ``faithful`` what the layouts say truly. Law: a filter left out excludes nothing.
    Raises `InputError` for a value that a filter cannot have, with those it can, and for filters
    that nothing can meet together; `TargetError` for an unknown target.

    >>> found = search_atoms(rows=(16, 32), cols=16, feeds="XE_DPAS_TT<8,f32,bf16>", operand="B")
    >>> [atom.name for atom in found][:3]
    ['XE_2D_U16x16x16_LD_V', 'XE_2D_U16x32x16_LD_V', 'XE_2D_U16x16x16_LD_T']
    >>> search_atoms(bits=16, mode="T", rows=32, cols=16)[0].shipped
    False
    >>> mma = "XE_DPAS_TT<8,f32,bf16>"
    >>> found = search_atoms("XE_2D_U16x16x*", feeds=mma, operand="B", reorder=True, shipped=True)
    >>> [dict(atom.moves)["B"] for atom in found]
    [0, 0, 0, 16, 32]
    """
    check_filters(kind, mode, bits, {"rows": rows, "cols": cols}, target)
    check_switches({"reorder": reorder, "shipped": shipped, "faithful": faithful})
    check_feeding(feeds, kind, operand, reorder)
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

    def spelt(names: Iterable[Any]) -> Iterator[Any]:
        return (one for one in names if spelled is None or spelled.search(str(one)))

    # What costs more comes last: a verdict on a copy, then what `AtomRecord` adds to a head.
    if mma is None:
        heads = filter(named, map(head_of, spelt(_names(shipped))))
        records: Iterable[AtomRecord] = (record_of(head.name) for head in heads)
    else:
        copies = spelt(copies_of_blocks(_whole_tiles(mma, operands), shipped))
        records = _serving(filter(named, map(head_of_copy, copies)), mma, operands, reorder)
    atoms = AtomRecords(filter(able, records))
    return atoms or _demand_met({"bits": bits, "rows": rows, "cols": cols})


def _serving(
    heads: Iterable[AtomHead], mma: MmaAtom, operands: tuple[Operand, ...], reorder: bool
) -> list[AtomRecord]:
    """Return the copies that hold one of the operands, those first that cost least."""
    allowed = ("free", "reorder") if reorder else ("free",)
    widths = {mma.operand_type(read).bits for read in operands}

    def cost(record: AtomRecord) -> tuple[bool, float]:
        return record.bits not in widths, min(inf if n is None else n for _, n in record.moves)

    serving = (
        replace(record_of(head.name), feeds=verdicts, moves=moves)
        for head, verdicts, moves in _feeding(heads, mma, operands, allowed)
    )
    # A stable sort: of one cost the order of the catalogue stays.
    return sorted(serving, key=cost)


def _names(shipped: bool | None) -> Iterator[str]:
    if shipped is not False:
        yield from catalogue()
    if not shipped:
        yield from grammar_names()


def _whole_tiles(mma: MmaAtom, operands: tuple[Operand, ...]) -> Callable[[bool, int], bool]:
    """Whether the block of a copy, of so many bits, can be whole tiles of one of the operands."""
    tiles = [(operand == "D", _tile_bits(mma, operand)) for operand in operands]

    def whole(is_store: bool, bits: int) -> bool:
        return any(store == is_store and bits % tile == 0 for store, tile in tiles)

    return whole


def _tile_bits(mma: MmaAtom, operand: Operand) -> int:
    rows, cols = mma.operand_shape(operand)
    return rows * cols * mma.operand_type(operand).bits


def _feeding(
    heads: Iterable[AtomHead],
    mma: MmaAtom,
    operands: tuple[Operand, ...],
    allowed: tuple[str, ...],
) -> Iterator[tuple[AtomHead, tuple[tuple[str, str], ...], tuple[tuple[str, int | None], ...]]]:
    """Keep the block-2D copies that serve an operand, with the verdict on each and the moves."""
    for head in heads:
        verdicts = tuple((operand, _verdict(head, mma, operand)) for operand in operands)
        if any(verdict in allowed for _, verdict in verdicts):
            yield head, verdicts, tuple((o, _moves(head, mma, o)) for o in operands)


@cache
def _verdict(head: AtomHead, mma: MmaAtom, operand: Operand) -> str:
    if (head.kind == "store") != (operand == "D"):
        return "impossible"  # a load fills registers, a store empties them: D is what comes out
    if head.rows * head.cols * head.bits % _tile_bits(mma, operand):
        return "impossible"  # the block is not made of whole tiles
    return _feed(head.name, mma, operand).kind


@cache
def _moves(head: AtomHead, mma: MmaAtom, operand: Operand) -> int | None:
    if _verdict(head, mma, operand) == "impossible":
        return None
    return _feed(head.name, mma, operand).moves


@lru_cache(maxsize=4)
def _feed(name: str, mma: MmaAtom, operand: Operand) -> Feed:
    """Return the answer to the last questions, which hold every place of a block."""
    return judged(name, mma, operand)


def forget_verdicts() -> None:
    """Forget which copies were judged for which MMA, as a fresh process has not judged them."""
    _verdict.cache_clear()
    _moves.cache_clear()
    _feed.cache_clear()


def _asked(mma: Any, operand: Operand | None) -> tuple[MmaAtom | None, tuple[Operand, ...]]:
    operands: tuple[Operand, ...] = ("A", "B") if operand is None else (operand,)
    if mma is None:
        return None, operands
    atom = get_atom(mma) if isinstance(mma, str) else mma
    atom = MmaAtom(atom) if isinstance(atom, Dpas) else atom
    if not isinstance(atom, MmaAtom):
        raise InputError(
            "search_atoms",
            {"feeds": mma},
            "feeds must be an MMA",
            "give an MMA atom or its name, such as XE_DPAS_TT<8,f32,bf16>",
        )
    return atom, operands


def _within(count: int, wanted: Sizes) -> bool:
    if wanted is None:
        return True
    least, most = wanted if isinstance(wanted, tuple) else (wanted, wanted)
    return least <= count <= most


def _demand_met(wanted: Mapping[str, Sizes]) -> AtomRecords:
    """Return no atoms; refuse a number that no atom has, whatever else is asked."""
    for name, sizes in wanted.items():
        known = _numbers(name)
        if not any(_within(number, sizes) for number in known):
            raise no_such(name, sizes, f"{', '.join(map(str, known[:-1]))} or {known[-1]}")
    return AtomRecords()


@cache
def _numbers(name: str) -> tuple[int, ...]:
    """Return the numbers that atoms have of bits, rows or columns."""
    return tuple(sorted({getattr(head_of(text), name) for text in _names(None)}))


def _pattern(name: str | None) -> re.Pattern[str] | None:
    if name is None:
        return None
    if type(name) is not str or not name.strip():
        raise no_such("name", name, "a part of a name, or a pattern such as XE_2D_U16*_LD_V")
    text = name.strip()
    return re.compile(translate(text) if set("*?") & set(text) else re.escape(text), re.IGNORECASE)
