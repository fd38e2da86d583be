"""Floor 9: errors inside a run, told as what they are: no argument of the user's explains them."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from pycute_xe.errors import CuteError, InputError
from pycute_xe.kernel import Kernel
from pycute_xe.kernel.amounts import amount, weight
from pycute_xe.signatures import STUMBLES

__all__ = ["surfaced"]


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
