"""Sizes that a kind is given as numbers, refused by its own name where there is nothing of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, partial, wraps
from typing import ParamSpec, TypeVar, get_type_hints

from pycute_xe.arch.target import grf_bytes
from pycute_xe.errors import InputError, KernelError, quoted
from pycute_xe.numeric import as_numeric
from pycute_xe.signatures import conforms, shortly, type_words
from pycute_xe.typing import is_tuple

__all__ = ["demand_multiples", "in_dword", "in_register", "sized"]

P = ParamSpec("P")
R = TypeVar("R")
MOST = 1 << 24
"""The largest size of a kind: more elements than this do not fit what one kernel holds."""
USUAL = 64
"""What is proposed for a size that has no default."""


def sized(**least: int | None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that refuses integers below 1, or below ``least``, and above `MOST`.

    None leaves the lower limit out.

    A text that is not one of those that an argument may be is refused, too. Raises `KernelError`
    and `InputError` in the name of the function; what is proposed is the default.

    >>> @sized(rest=0)
    ... def turned(half: int = 64, *, rest: int = 0) -> int:
    ...     return half + rest
    >>> turned(rest=-1)
    Traceback (most recent call last):
        ...
    pycute_xe.errors.KernelError: turned(rest=-1): rest is -1, and must be 0 or more. Way out: use \
rest=0
    """

    def of(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        usual = {name: p.default for name, p in signature.parameters.items()}
        hints = cache(partial(get_type_hints, function))

        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            for name, value in signature.bind(*args, **kwargs).arguments.items():
                if isinstance(value, str) and not conforms(value, hints()[name]):
                    wrong = f"{name} is {quoted(value)}"
                    fix = f"give {name} as {type_words(hints()[name])}"
                    raise InputError(function.__name__, {name: value}, wrong, fix)
                low = least.get(name, 1)
                numbers = value if is_tuple(value) else (value,)
                if low is not None and any(type(x) is int and x < low for x in numbers):
                    proposed = usual[name]
                    if type(proposed) is not int and not is_tuple(proposed):
                        proposed = USUAL
                    wrong = f"{name} is {value}, and must be {low} or more"
                    raise KernelError(
                        function.__name__, {name: value}, wrong, f"use {name}={proposed}"
                    )
                if any(type(x) is int and x > MOST for x in numbers):
                    wrong = f"{name} is above 2**{MOST.bit_length() - 1}"
                    fix = f"use {name}={usual[name] if type(usual[name]) is int else USUAL}"
                    raise KernelError(function.__name__, {name: shortly(value)}, wrong, fix)
            return function(*args, **kwargs)

        return checked

    return of


def demand_multiples(name: str, each: int, **counts: int) -> None:
    """Refuse counts that are not multiples of a number, such as that of lanes.

    >>> demand_multiples("rope", 2, half=64)
    """
    for argument, count in counts.items():
        if count % each:
            wrong = f"{argument} is {count}, not a multiple of {each}"
            fix = f"use {argument}={-(-count // each) * each}"
            raise KernelError(name, {argument: count}, wrong, fix)


def in_dword(kind: str) -> int:
    """Return how many numbers of a type fill a dword, of which messages are."""
    return max(1, 32 // as_numeric(kind).bits)


def in_register(kind: str) -> int:
    """Return how many numbers of a type fill a register, as one row of a message does."""
    return 8 * grf_bytes() // as_numeric(kind).bits
