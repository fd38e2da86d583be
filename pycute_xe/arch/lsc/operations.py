"""The sub-operations of LSC_UNTYPED, rows of ``atoms/lsc.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

from pycute_xe.errors import ShapeError
from pycute_xe.facts import rows

__all__ = ["Kind", "Operation", "get_operation", "operations"]

Kind = Literal["load", "store", "atomic", "counter"]


@dataclass(frozen=True, slots=True)
class Operation:
    """A sub-operation: name without ``lsc_``, encoding, kind and extra operands of atomics.

    ``extra`` counts the data operands beside the address; the old value is returned in ``dst``.

    >>> get_operation("atomic_icas")
    Operation(name='atomic_icas', code=18, kind='atomic', extra=2)
    """

    name: str
    code: int
    kind: Kind
    extra: int

    @property
    def strided(self) -> bool:
        """Whether one base address and a pitch give the addresses of all channels."""
        return self.name.endswith("_strided")

    @property
    def quad(self) -> bool:
        """Whether a channel mask picks among four elements at each address."""
        return self.name.endswith("_quad")


@cache
def operations() -> dict[str, Operation]:
    """Return every sub-operation but the block-2D ones, by name, in the order of their codes.

    >>> list(operations())[:3], len(operations())
    (['load', 'load_strided', 'load_quad'], 29)
    """
    return {
        op.name: op
        for op in (
            Operation(
                cast("str", row["name"]),
                cast("int", row["code"]),
                cast("Kind", row["kind"]),
                cast("int", row["extra"]),
            )
            for row in rows("lsc", "operation")
        )
    }


def get_operation(name: object) -> Operation:
    """Return the sub-operation of a name; `ShapeError` if it is unknown."""
    found = operations().get(name) if isinstance(name, str) else None
    if found is None:
        raise ShapeError(
            "Message",
            {"op": name},
            "unknown operation (block-2D ones are Block2DMessage)",
            f"one of {', '.join(operations())}",
        )
    return found
