"""Floor 9: errors inside a run, told as what they are: no argument of the user's explains them."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from pycute_xe.errors import CuteError, InputError
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.binding import shape_of
from pycute_xe.signatures import STUMBLES

__all__ = ["amount", "surfaced", "weight"]


@contextmanager
def surfaced(operation: str, kernel: Kernel, sizes: Mapping[str, int]) -> Generator[None]:
    """Raise errors that are not a `CuteError` as one that says what happened.

    `InputError` where memory does not suffice, and `CuteError` for what is a defect of the library.
    """
    try:
        yield
    except CuteError:
        raise
    except MemoryError as error:
        raise InputError(
            operation,
            {"kernel": kernel.name, **sizes},
            f"the operands take {amount(weight(kernel, sizes))}, and memory does not suffice",
            "use smaller sizes",
        ) from error
    except STUMBLES as error:
        raise CuteError(
            operation,
            {"kernel": kernel.name, **sizes},
            f"the run stopped at an inner error, {type(error).__name__}: {error}",
            "report it, with the kernel, as a defect of pycute_xe",
        ) from error


def weight(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """Return the bytes of all operands of a kernel, 1 at least for each element."""
    total = 0
    for operand in kernel.operands:
        elements = 1
        for extent in shape_of(operand, sizes):
            elements *= extent
        total += elements * max(1, operand.value_type.bits // 8)
    return total


def amount(nbytes: int) -> str:
    """Return a number of bytes as it is read.

    >>> amount(512), amount(3 * 2**30)
    ('512 bytes', '3 GiB')
    """
    for exponent, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB")):
        if nbytes >= 1 << exponent:
            return f"{nbytes / (1 << exponent):.3g} {unit}"
    return f"{nbytes} bytes"
