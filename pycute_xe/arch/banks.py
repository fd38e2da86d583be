"""Bank conflicts of shared local memory, counted from the byte addresses of an access.

A bank serves one of its words at a time, to everyone who wants it: the same word twice is free, two
words of one bank take two turns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import cast

from pycute_xe.arch.target import Target, get_target
from pycute_xe.errors import ShapeError, plural
from pycute_xe.facts import rows_for
from pycute_xe.typing import glance, shown

__all__ = ["BankUse", "Banks", "banks", "least_padding"]


@dataclass(frozen=True, slots=True)
class Banks:
    """``count`` banks of ``width`` bytes that take turns with consecutive bytes.

    Law: byte ``a`` is in word ``a div width``, which is in bank ``word mod count``.
    Raises `ShapeError` for sizes below 1.

    >>> Banks(16, 4).bank(68)
    1
    """

    count: int
    width: int
    source: str = ""

    def __post_init__(self) -> None:
        """Refuse sizes below 1."""
        if min(self.count, self.width) < 1:
            operands = {"count": self.count, "width": self.width}
            raise ShapeError("Banks", operands, "sizes must be positive", "use 1 or more")

    def bank(self, address: int) -> int:
        """Return the bank of a byte address.

        >>> Banks(32, 4).bank(130)
        0
        """
        return address // self.width % self.count

    def use(self, addresses: Iterable[int], nbytes: int = 1) -> BankUse:
        """Return what an access to ``nbytes`` bytes from each address asks of the banks.

        Equal words count once (broadcast). Raises `ShapeError` for negative addresses and no bytes.

        >>> Banks(16, 4).use([0, 64, 128, 192], 4).turns
        4
        >>> Banks(16, 4).use([64] * 16, 4).turns
        1
        """
        if nbytes < 1:
            raise ShapeError(
                "Banks.use",
                {"nbytes": nbytes},
                "an access must move at least one byte",
                "use 1 or more",
            )
        words: set[int] = set()
        for address in addresses:
            if address < 0:
                operands = {"address": address}
                raise ShapeError(
                    "Banks.use", operands, "the address is negative", "count bytes from 0"
                )
            first, last = address // self.width, (address + nbytes - 1) // self.width
            if first == last:
                words.add(first)
            else:
                words.update(range(first, last + 1))
        words_of: list[list[int]] = [[] for _ in range(self.count)]
        for word in sorted(words):
            words_of[word % self.count].append(word)
        return BankUse(self, tuple(map(tuple, words_of)))


@dataclass(frozen=True, slots=True)
class BankUse:
    """Which words of each bank an access wants, each once, ascending.

    >>> use = Banks(16, 4).use(range(0, 2048, 128), 4)
    >>> use.turns, use.least, use.conflicts
    (16, 1, 15)
    """

    banks: Banks
    by_bank: tuple[tuple[int, ...], ...]

    _repr_mimebundle_ = shown

    def __repr__(self) -> str:
        """The kind and the first line of the text."""
        return glance(self)

    @property
    def words(self) -> tuple[int, ...]:
        """How many words of each bank are wanted."""
        return tuple(map(len, self.by_bank))

    @property
    def turns(self) -> int:
        """Turns that the busiest bank needs."""
        return max(self.words)

    @property
    def least(self) -> int:
        """Turns that so many words need when spread evenly over all banks."""
        return -(-sum(self.words) // self.banks.count)

    @property
    def conflicts(self) -> int:
        """Turns lost: 0 where no other place of the same words would be faster."""
        return self.turns - self.least

    def __str__(self) -> str:
        """One line: words, turns and how many are lost."""
        busy = [bank for bank, words in enumerate(self.words) if words == self.turns]
        where = f"bank {busy[0]}" if len(busy) == 1 else f"{len(busy)} banks"
        lost = f"{self.conflicts} lost, in {where}" if self.conflicts else "none lost"
        words, turns = plural(sum(self.words), "word"), plural(self.turns, "turn")
        return f"{words} in {turns} of {self.banks.count} banks, {lost}"


@cache
def banks(target: str | Target) -> tuple[Banks, ...]:
    """Return what each source says about the banks of a target, the one to count with first.

    Raises `TargetError` for an unknown target.

    >>> [(b.count, b.width) for b in banks("bmg")]
    [(16, 4), (32, 4)]
    """
    return tuple(
        Banks(cast("int", row["count"]), cast("int", row["width"]), cast("str", row["source"]))
        for row in rows_for("arch", "banks", get_target(target).name)
    )


def least_padding(
    model: Banks, pitch: int, lanes: int = 16, nbytes: int = 4, step: int = 4, limit: int = 256
) -> int | None:
    """Return the fewest bytes to add to a pitch so that ``lanes`` rows lose no turns.

    Lane i accesses ``nbytes`` bytes at ``i * (pitch + padding)``, as when a column is read from
    rows of ``pitch`` bytes. Padding grows in steps of ``step`` bytes; ``None`` if none below
    ``limit`` will do. Raises `ShapeError` for sizes below 1.

    >>> least_padding(Banks(16, 4), pitch=256)
    4
    >>> least_padding(Banks(16, 4), pitch=256, nbytes=2)
    4
    >>> least_padding(Banks(16, 4), pitch=36)
    0
    """
    if min(pitch, lanes, nbytes, step) < 1:
        operands = {"pitch": pitch, "lanes": lanes, "nbytes": nbytes, "step": step}
        raise ShapeError("least_padding", operands, "sizes must be positive", "use 1 or more")
    for padding in range(0, limit, step):
        apart = pitch + padding
        if not model.use(range(0, lanes * apart, apart), nbytes).conflicts:
            return padding
    return None
