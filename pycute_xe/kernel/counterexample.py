"""A counterexample as data: a problem small enough to look at, and what goes wrong in it.

It names the property that fails, the sizes, the work-item and the elements. It can be saved, loaded
and run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from pycute_xe.errors import InputError, quoted
from pycute_xe.signatures import checked_fields, typed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pycute_xe.kernel.ir.kernel import Kernel

__all__ = ["Counterexample"]

Entries: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]
"""A table: its shape, and its entries row by row."""


def entries_of(array: Any) -> Entries:
    """Return a table's shape and entries.

    >>> import numpy as np
    >>> entries_of(np.array([[1, 2], [3, 4]]))
    ((2, 2), (1, 2, 3, 4))
    """
    return tuple(array.shape), tuple(array.ravel().tolist())


def array_of(entries: Entries) -> NDArray[np.int64]:
    """Return a table as an array."""
    import numpy as np

    return np.array(entries[1], np.int64).reshape(entries[0])


# What files of versions before 0.2 call the sizes, and the work-group's place.
_OLD_SIZES = ("M", "N", "K")


@checked_fields
@dataclass(frozen=True)
class Counterexample:
    """A problem size and a place where a kernel does the wrong thing.

    ``claim`` is the property that fails and ``message`` says how. ``sizes`` are the extents by
    name, ``where`` the variables of the grid and of loops at the place, by name. ``element`` is the
    index in ``operand`` of what should be at the place, ``found`` of what is (``None``: not one
    element, zero, or outside). ``output`` and ``index`` name the element of an output that comes
    out wrong. ``faults`` tells that the machine stops instead. ``filled`` are the inputs that must
    be one number everywhere for it to show, ``tables`` those that are looked up, entry by entry.

    >>> place = Counterexample("D values", "wrong", {"M": 1, "N": 2}, output="D", index=(0, 1))
    >>> Counterexample.from_json(place.to_json()) == place
    True
    """

    claim: str
    message: str
    sizes: Mapping[str, int]
    operand: str = ""
    where: Mapping[str, int] = field(default_factory=dict[str, int])
    subgroup: int = 0
    lane: int = 0
    value: int = 0
    element: tuple[int, ...] | None = None
    found: tuple[int, ...] | None = None
    output: str = ""
    index: tuple[int, ...] = ()
    faults: bool = False
    filled: Mapping[str, float] = field(default_factory=dict[str, float])
    tables: Mapping[str, Entries] = field(
        default_factory=dict[str, Entries], metadata={"later": True}
    )

    def __post_init__(self) -> None:
        """Check that all numbers are counts and that the place lies in the problem."""
        wrong = _wrong(self) or _unfilled(self.filled)
        if wrong:
            raise InputError(
                "Counterexample",
                {"claim": self.claim},
                wrong,
                "read what Counterexample.save wrote",
            )

    def __hash__(self) -> int:
        """Hash the parts that tell counterexamples apart."""
        return hash((self.claim, tuple(self.sizes.items()), self.output, self.index))

    @property
    def work_item(self) -> int:
        """The work-item's number in its work-group."""
        return self.subgroup * 16 + self.lane

    @overload
    def inputs(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...

    @overload
    def inputs(self, kernel: Kernel, variant: int = 0) -> dict[str, NDArray[Any]]: ...

    @typed
    def inputs(self, kernel: Kernel | None = None, variant: int = 0) -> Any:
        """Return inputs of a kernel by name on which a wrong register gives a wrong element.

        In a product, for an element of A at (m, k) that is the only one of A that is not zero, and
        B is 1 in row k and other numbers elsewhere: D's row m is 1 if and only if the element meets
        its own k alone. B goes likewise. For an element of an output, all others differ. Small
        integers, exact in the operands' types, but for those that are ``filled``. Other ``variant``
        are pseudo-random small integers, the last ones edges of types. Where tables are assumed to
        say how far something reaches, what no claim names is NaN, but where the machine stops.
        Without a kernel: A (M, K) and B (K, N) of ``D[m,n] = sum(k, A[m,k] * B[k,n])``.
        Raises `InputError` for a negative variant.

        >>> sizes = {"M": 1, "N": 1, "K": 3}
        >>> place = Counterexample("A", "", sizes, "A", element=(0, 1), output="D", index=(0, 0))
        >>> a, b = place.inputs()
        >>> a.tolist(), b.T.tolist()
        ([[0.0, 1.0, 0.0]], [[2.0, 1.0, 4.0]])
        """
        from pycute_xe.kernel.probes import matrices, telling_fields
        from pycute_xe.kernel.spec.given import as_given
        from pycute_xe.kernel.spec.unnamed import with_nan_behind

        if variant < 0:
            condition = f"{variant} is not the number of a variant"
            raise InputError("inputs", {"variant": variant}, condition, "use 0 or more")
        if kernel is None:
            extents = (self.sizes["M"], self.sizes["N"], self.sizes["K"])
            return matrices(extents, self.operand, self.element, self.index)
        place = self.operand, self.element, self.index
        given = {**self.filled, **{name: array_of(of) for name, of in self.tables.items()}}
        fields = telling_fields(kernel, self.sizes, *place, variant, given)
        fields = as_given(kernel, fields, self.sizes)
        if not self.faults:  # two that store NaN to one place store the same
            fields = with_nan_behind(kernel, fields, self.sizes)
        return {name: field.whole() for name, field in fields.items()}

    def to_json(self) -> str:
        """Return the counterexample as JSON; `from_json` reads it back."""
        return json.dumps(asdict(self), indent=2)

    @classmethod
    @typed
    def from_json(cls, text: str) -> Counterexample:
        """Read what `to_json` of any version wrote. Raises `InputError` for other texts."""
        try:
            fields: dict[str, Any] = json.loads(text)
            if "M" in fields:
                fields = _modern(fields)
            for name in ("element", "found", "index"):
                values = fields.get(name)
                fields[name] = tuple(values) if values is not None else None
            fields["index"] = fields["index"] or ()
            tables: dict[str, Any] = fields.get("tables") or {}
            fields["tables"] = {n: (tuple(of[0]), tuple(of[1])) for n, of in tables.items()}
            return cls(**fields)
        except (
            ValueError,
            TypeError,
            KeyError,
            IndexError,
            AttributeError,
            RecursionError,
        ) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                "Counterexample",
                {"text": quoted(text)},
                f"it is not a counterexample: {str(error)[:200]}",
                "read what Counterexample.save wrote",
            ) from error

    @typed
    def save(self, path: str | Path) -> None:
        """Write the JSON to a file."""
        try:
            Path(path).write_text(self.to_json() + "\n", encoding="utf-8")
        except ValueError as error:
            raise InputError(
                "Counterexample", {"path": path}, f"cannot be written: {error}", "name a file"
            ) from error

    @classmethod
    @typed
    def load(cls, path: str | Path) -> Counterexample:
        """Read a file that `save` wrote. Raises `InputError` for any other."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:  # a file that is not text, a name that is not one
            raise InputError(
                "Counterexample", {"path": path}, f"cannot be read: {error}", "name a saved file"
            ) from error
        return cls.from_json(text)

    def __str__(self) -> str:
        """The property, the place and the elements, on two lines."""
        sizes = " ".join(f"{name}={size}" for name, size in self.sizes.items())
        where = ", ".join(f"{name} = {number}" for name, number in self.where.items())
        place = f"{sizes + ': ' if sizes else ''}{where + ', ' if where else ''}"
        place += f"work-item {self.work_item}"
        owner = f" (subgroup {self.subgroup}, lane {self.lane}), value {self.value}"
        listed = ((name, array_of(of).tolist()) for name, of in self.tables.items())
        tables = "".join(f"\n  {name} = {entries}" for name, entries in listed)
        return f"{self.claim}: {self.message}\n  {place}{owner}{tables}"


def _modern(old: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a counterexample of a GEMM as earlier versions wrote them."""
    fields = dict(old)
    sizes = {name: fields.pop(name) for name in _OLD_SIZES}
    m, n = fields.pop("work_group")
    where = {"m": m, "n": n, "k": fields.pop("k_tile")}
    index = fields.pop("output")
    return {**fields, "sizes": sizes, "where": where, "output": "D", "index": index}


def _unfilled(filled: Mapping[str, float]) -> str:
    for name, value in filled.items():
        if type(value) not in (int, float) or not isfinite(value):
            return f"{name} is {value!r}, not a finite number"
    return ""


def _wrong(place: Counterexample) -> str:
    """Say what is not a number of its kind, or outside; empty where all is well."""
    gemm = place.output == "D" and set(_OLD_SIZES) == set(place.sizes) and len(place.index) == 2
    m, n = place.sizes.get("M", 0), place.sizes.get("N", 0)
    wrong = _uncounted(place)
    if not wrong and gemm and not (place.index[0] < m and place.index[1] < n):
        return f"D is {m} x {n} and does not have element {quoted(place.index)}"
    return wrong


def _uncounted(place: Counterexample) -> str:
    for name, size in place.sizes.items():
        if type(size) is not int or size < 1:
            return f"the size {name} is {size!r}, not 1 or more"
    for name, number in place.where.items():
        if type(number) is not int:
            return f"{name} is {number!r}, not an integer"
    numbers = (place.subgroup, place.lane, place.value, *place.index)
    for number in (*numbers, *(place.element or ()), *(place.found or ())):
        if type(number) is not int:
            return f"{number!r} is not an integer"
    if any(number < 0 for number in numbers):
        return "an index is negative"
    return ""
