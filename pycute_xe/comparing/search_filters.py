"""Floor 6: what the filters of a search may be, and which go together."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, cast

from pycute_xe.arch.target import Target
from pycute_xe.comparing.atom_record import KIND_WORDS
from pycute_xe.errors import InputError, quoted

__all__ = ["check_feeding", "check_filters", "check_switches", "no_such"]

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
