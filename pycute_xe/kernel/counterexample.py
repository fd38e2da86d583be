"""Floor 7: a counterexample as data: a problem small enough to look at, and what goes wrong in it.

It names the property that fails, the problem size, the work-item, the value and the elements, and
carries inputs on which the kernel gives a wrong result. It can be saved, loaded and run.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, get_type_hints

from pycute_xe.errors import CuteError, InputError
from pycute_xe.signatures import conforms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Counterexample"]

MOST_ELEMENTS = 1 << 28
"""Of an operand that is read back: room for every counterexample that was ever least."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A problem size and a place where a kernel does the wrong thing.

    ``claim`` is the property that fails and ``message`` says how. ``element`` is the coordinate in
    ``operand`` that should be at the place, ``found`` the one that is (``None``: nothing, zero, or
    out of bounds). ``output`` is the (m, n) of D where running the kernel on `inputs` shows it.
    ``work_group`` counts tiles (m, n), ``k_tile`` trips of the loop.
    """

    claim: str
    message: str
    M: int
    N: int
    K: int
    operand: str
    work_group: tuple[int, int]
    k_tile: int
    subgroup: int
    lane: int
    value: int
    element: tuple[int, int] | None
    found: tuple[int, int] | None
    output: tuple[int, int]

    @property
    def work_item(self) -> int:
        """The work-item's number in its work-group."""
        return self.subgroup * 16 + self.lane

    def inputs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return A (M, K) and B (K, N) on which a wrong register gives a wrong element of D.

        For an element of A at (m, k) that is the only one of A that is not zero, and B is 1 in row
        k and larger elsewhere: D's row m is 1 if and only if the element meets its own k alone.
        B goes likewise. For an element of D all others are at least twice as large. Small
        integers: every entry is exact in bfloat16, every sum in float32.

        >>> place = Counterexample(
        ...     "A fragment", "", 1, 1, 3, "A", (0, 0), 0, 0, 1, 0, (0, 1), None, (0, 0)
        ... )
        >>> a, b = place.inputs()
        >>> a.tolist(), b.T.tolist()
        ([[0.0, 1.0, 0.0]], [[2.0, 1.0, 4.0]])
        """
        import numpy as np

        i, j = self.output if self.element is None else self.element
        if self.operand == "D" or self.element is None:
            rows, columns = _told_apart(self.M, i, 6), _told_apart(self.N, j, 6)
            return np.repeat(rows[:, None], self.K, 1), np.repeat(columns[None, :], self.K, 0)
        by_k = _told_apart(self.K, j, 126)
        if self.operand == "A":
            a, b = np.zeros((self.M, self.K)), np.repeat(by_k[:, None], self.N, 1)
            a[i, j] = 1
        else:
            a, b = np.repeat(by_k[None, :], self.M, 0), np.zeros((self.K, self.N))
            b[j, i] = 1
        return a, b

    def to_json(self) -> str:
        """Return the counterexample as JSON; `from_json` reads it back."""
        return json.dumps(asdict(self), indent=2)

    @classmethod
    def from_json(cls, text: str) -> Counterexample:
        """Read what `to_json` wrote. Raises `InputError` for anything else."""
        try:
            fields: dict[str, Any] = json.loads(text)
            for name in ("work_group", "element", "found", "output"):
                fields[name] = tuple(fields[name]) if fields[name] is not None else None
            found = cls(**fields)
            found._demand_sound()
            found.inputs()
        except CuteError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise InputError(
                "Counterexample",
                {"text": shorten(repr(text), 60, placeholder="…")},
                f"not a counterexample: {shorten(str(error), 100, placeholder='…')}",
                "read what Counterexample.save wrote",
            ) from error
        return found

    def _demand_sound(self) -> None:
        """Refuse fields of other types, and a problem that is no small one."""
        hints = get_type_hints(Counterexample)
        wrong = [name for name, kind in hints.items() if not conforms(getattr(self, name), kind)]
        if wrong:
            raise ValueError(f"its {wrong[0]} has the wrong type")
        m, n = self.output
        if not (0 <= m < self.M and 0 <= n < self.N):
            raise InputError(
                "Counterexample",
                {"output": self.output},
                f"D is {self.M} x {self.N} and does not have this element",
                "read what Counterexample.save wrote",
            )
        if max(self.M * self.K, self.K * self.N) > MOST_ELEMENTS:
            raise InputError(
                "Counterexample",
                {"M": self.M, "N": self.N, "K": self.K},
                f"an operand has more than {MOST_ELEMENTS:,} elements",
                "read what Counterexample.save wrote: a least counterexample is small",
            )

    def save(self, path: str | Path) -> None:
        """Write the JSON to a file."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Counterexample:
        """Read a file that `save` wrote. Raises `InputError` for any other."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                "Counterexample", {"path": path}, f"cannot be read: {error}", "name a saved file"
            ) from error
        return cls.from_json(text)

    def __str__(self) -> str:
        """The property, the place and the elements, on two lines."""
        m, n = self.work_group
        place = (
            f"M={self.M} N={self.N} K={self.K}: work-group ({m},{n}), K tile {self.k_tile}, "
            f"work-item {self.work_item} (subgroup {self.subgroup}, lane {self.lane}), "
            f"value {self.value}"
        )
        return f"{self.claim}: {self.message}\n  {place}"


def _told_apart(count: int, one: int, spread: int) -> NDArray[np.float64]:
    """Return 1 at one place and small integers from 2 on everywhere else."""
    import numpy as np

    out = (np.arange(count) % spread + 2).astype(np.float64)
    out[one] = 1
    return out
