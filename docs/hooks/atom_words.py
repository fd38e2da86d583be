"""Says in words which rows and columns of a block a work-item owns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from pycute_xe.atom.copy_answers import RegisterPicture

Place = tuple[int, int]
# How a number depends on the work-item t: its name, and the function.
Form = tuple[str, Callable[[int], int]]


def _forms() -> Iterator[Form]:
    yield "t", lambda t: t
    for n in (2, 4, 8):
        yield f"t mod {n}", lambda t, n=n: t % n
        yield f"t div {n}", lambda t, n=n: t // n


def ownership(owned: Sequence[Sequence[Place]], shape: Place) -> str:
    """Say what work-item ``t`` owns, or list what the first two own where no words fit."""
    rows = [sorted({y for y, _ in held}) for held in owned]
    cols = [sorted({x for _, x in held}) for held in owned]
    whole = all(
        len(set(held)) == len(y) * len(x) for held, y, x in zip(owned, rows, cols, strict=True)
    )
    down, right = _said("row", rows, shape[0]), _said("column", cols, shape[1])
    if whole and down and right:
        if down == "every row":
            return right
        return f"{right}; {down}"
    return f"work-item 0: {listed(owned[0], 4)}; work-item 1: {listed(owned[1], 4)}"


def listed(held: Sequence[Place], most: int) -> str:
    """List the first elements of a work-item, as ``(row, column)``."""
    some = " ".join(f"({y},{x})" for y, x in held[:most])
    return f"{some} …" if len(held) > most else some


def found(picture: RegisterPicture, work_item: int, unit: int, most: int) -> str:
    """List what a work-item finds in registers that it reads in units of some bits."""
    per = unit // picture.bits
    firsts = range(work_item * per, len(picture.slots), 16 * per)
    held = [place for at in firsts for place in picture.slots[at : at + per]]
    some = " ".join("·" if place is None else f"({place[0]},{place[1]})" for place in held[:most])
    return f"{some} …" if len(held) > most else some


def _said(what: str, found: list[list[int]], extent: int) -> str | None:
    """Say where the work-items are, e.g. ``columns t, t + 16``."""
    if all(held == list(range(extent)) for held in found):
        return f"every {what}"
    if all(held == found[0] for held in found):
        return _plural(what, [str(at) for at in found[0]], found[0])
    for name, form in _forms():
        step = _step(found, form)
        if step is not None:
            letter = name if len(name) == 1 or len(found[0]) == 1 else what[0]
            term = letter if step == 1 else f"{step}{letter}"
            if step > 1 and letter != "t" and len(letter) > 1:
                term = f"{step}({name})"
            told = [f"{term} + {at}" if at else term for at in found[0]]
            text = _plural(what, told, found[0])
            return text if letter == name else f"{text} with {letter} = {name}"
    return None


def _step(found: list[list[int]], form: Callable[[int], int]) -> int | None:
    """By how much all numbers of a work-item grow with the form, if they do."""
    first = next((t for t in range(len(found)) if form(t) == 1), None)
    if first is None:
        return None
    step = found[first][0] - found[0][0]
    grown = all(held == [at + step * form(t) for at in found[0]] for t, held in enumerate(found))
    return step if step > 0 and grown else None


def _plural(what: str, told: list[str], numbers: list[int]) -> str:
    if len(told) == 1:
        return f"{what} {told[0]}"
    if len(told) <= 4:
        return f"{what}s {', '.join(told)}"
    if numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{what}s {told[0]} to {told[-1]}"
    steps = {b - a for a, b in pairwise(numbers)}
    shown = told[: 2 if len(steps) == 1 else 3]
    return f"{what}s {', '.join(shown)}, … {told[-1]}"
