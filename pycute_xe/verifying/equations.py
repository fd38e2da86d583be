"""Floor 9: layouts as equations over the digits of a coordinate, one bounded integer per mode."""

from __future__ import annotations

from dataclasses import dataclass

from pycute_xe.algebra.simplify import flat_modes
from pycute_xe.basis import Basis
from pycute_xe.errors import KernelError
from pycute_xe.layout import Layout
from pycute_xe.verifying.regions import Names, Region

__all__ = ["Digits", "Equations", "scaled_text"]

Term = tuple[int, str]


def scaled_text(terms: list[Term]) -> str:
    """Return an affine expression as text.

    >>> scaled_text([(1, "a"), (16, "b"), (0, "c")])
    'a + 16*b'
    """
    kept = [name if weight == 1 else f"{weight}*{name}" for weight, name in terms if weight]
    return " + ".join(kept) or "0"


@dataclass(frozen=True, slots=True)
class Digits:
    """The coordinate of a layout, one digit per mode: extent, weight in the index, stride."""

    names: Names
    modes: tuple[tuple[int, object], ...]

    @property
    def index(self) -> str:
        """The coordinate as one number, first mode fastest."""
        weight = 1
        terms: list[Term] = []
        for name, (extent, _) in zip(self.names, self.modes, strict=True):
            terms.append((weight, name))
            weight *= extent
        return scaled_text(terms)

    @property
    def offset(self) -> str:
        """The layout's value, where strides are integers."""
        steps = (stride if isinstance(stride, int) else 0 for _, stride in self.modes)
        return scaled_text(list(zip(steps, self.names, strict=True)))

    def along(self, axis: int) -> str:
        """The layout's value along an axis, where strides are basis elements."""
        steps = (_step(stride, axis) for _, stride in self.modes)
        return scaled_text(list(zip(steps, self.names, strict=True)))


def _step(stride: object, axis: int) -> int:
    if isinstance(stride, Basis):
        if len(stride.modes) == 1:
            return int(stride.value) if stride.modes[0] == axis else 0
    elif stride == 0:
        return 0
    raise KernelError(
        "verify",
        {"stride": str(stride)},
        "the stride is no step along one mode of a tile",
        "use layouts of plain (row, column) tiles",
    )


class Equations:
    """Equations over named coordinates and the digits of layouts, collected one by one.

    >>> eq = Equations()
    >>> row = eq.digits(Layout((4, 2), (1, 8)))
    >>> eq.equal("at", row.offset)
    >>> eq.region(("at",)).within("at > 3").least()
    {'at': 8}
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.constraints: list[str] = []

    def digits(self, layout: Layout) -> Digits:
        """Introduce the digits of a layout's coordinate, each within its extent."""
        modes = tuple((int(s), d) for s, d in flat_modes(layout) if s != 1)
        names = tuple(f"d{len(self.names) + i}" for i in range(len(modes)))
        self.names += names
        for name, (extent, _) in zip(names, modes, strict=True):
            self.constraints.append(f"0 <= {name} < {extent}")
        return Digits(names, modes)

    def unknown(self) -> str:
        """Introduce an integer of any value."""
        self.names.append(f"d{len(self.names)}")
        return self.names[-1]

    def equal(self, left: str, right: str) -> None:
        """Demand that two expressions agree."""
        self.constraints.append(f"{left} = {right}")

    def demand(self, constraint: str) -> None:
        """Demand a constraint, as isl text."""
        self.constraints.append(f"({constraint})")

    def region(self, names: Names) -> Region:
        """Return the values of the names for which the digits can satisfy everything."""
        text = " and ".join(self.constraints) or "true"
        hidden = ",".join(self.names)
        return Region.where(names, f"exists ({hidden} : {text})" if hidden else text)
