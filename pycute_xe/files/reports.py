"""Reports of programs: what was measured, read back as a value."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from pycute_xe.emitting.measurement import Measurement
from pycute_xe.errors import InputError
from pycute_xe.files.documents import from_json
from pycute_xe.files.text import MOST_CHARACTERS
from pycute_xe.signatures import typed

__all__ = ["read_report"]


@typed
def read_report(path: str | PathLike[str]) -> Measurement:
    """Return what a program of `emit` measured, from the file that its ``--save`` wrote.

    Law: the report's document is ``to_json`` of the value. Raises `InputError` naming the file for
    one that cannot be read, and the place in it for anything but the document of a `Measurement`.

    >>> import pycute_xe as cx
    >>> try:
    ...     cx.read_report("nowhere.json")
    ... except cx.InputError as error:
    ...     print(error)
    read_report(path=nowhere.json): the file cannot be read: ...
    """
    given = {"path": str(path)}
    try:
        with Path(path).open("rb") as file:
            # One more than a document may have, so that `from_json` refuses what is longer.
            text = file.read(4 * MOST_CHARACTERS + 1)
    except (OSError, ValueError) as error:
        condition = f"the file cannot be read: {getattr(error, 'strerror', None) or error}"
        raise InputError("read_report", given, condition, "name what --save wrote") from error
    report = from_json(text)
    if not isinstance(report, Measurement):
        condition = f"it is a document of {type(report).__name__}, not of Measurement"
        raise InputError("read_report", given, condition, "name what --save wrote")
    return report
