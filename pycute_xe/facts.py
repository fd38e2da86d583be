"""The sole reader of ``atoms/``, the hardware facts kept as TOML rows.

A row is a read-only mapping with a non-empty ``source``. The files travel in the wheel as
``pycute_xe/_atoms``; a checkout or an editable install reads them beside the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import cast

from pycute_xe.errors import CuteError

__all__ = ["Row", "rows", "rows_for"]

Row = Mapping[str, object]

_PACKAGE = Path(__file__).resolve().parent


@cache
def rows(file: str, table: str) -> tuple[Row, ...]:
    """Return every row of one table of ``atoms/<file>.toml``, in the order of the file.

    Law: every row has a non-empty string under ``source``; arrays are tuples, tables mappings.
    Raises `CuteError` when the file or the table is missing, or a row has no source.

    >>> rows("arch", "target")[0]["name"]
    'pvc'
    """
    document = _document(file)
    if table not in document:
        known = ", ".join(sorted(document))
        raise _bad(file, table, "unknown table", f"one of {known}")
    found = cast("tuple[Row, ...]", document[table])
    for number, row in enumerate(found):
        source = row.get("source")
        if not isinstance(source, str) or not source.strip():
            raise _bad(file, table, f"row {number} names no source", "give it a source")
    return found


def rows_for(file: str, table: str, target: str) -> tuple[Row, ...]:
    """Return the rows of a table that speak about a target: those without ``targets`` or with it.

    Raises `CuteError` as `rows` does.

    >>> len(rows_for("arch", "threads", "bmg"))
    1
    """
    return tuple(
        row
        for row in rows(file, table)
        if "targets" not in row or target in cast("tuple[str, ...]", row["targets"])
    )


@cache
def _document(file: str) -> Mapping[str, object]:
    import tomllib

    for folder in (_PACKAGE / "_atoms", _PACKAGE.parent / "atoms"):
        path = folder / f"{file}.toml"
        if path.is_file():
            try:
                return cast("Mapping[str, object]", _frozen(tomllib.loads(path.read_text("utf-8"))))
            except tomllib.TOMLDecodeError as error:
                raise _bad(file, None, f"not TOML: {error}", "correct the file") from error
    raise _bad(file, None, "the file of facts is missing", "reinstall pycute-xe")


def _frozen(value: object) -> object:
    """Tables become read-only mappings and arrays tuples, so that facts cannot be changed."""
    if isinstance(value, dict):
        table = cast("dict[str, object]", value)
        return MappingProxyType({key: _frozen(item) for key, item in table.items()})
    if isinstance(value, list):
        return tuple(_frozen(item) for item in cast("list[object]", value))
    return value


def _bad(file: str, table: str | None, condition: str, fix: str) -> CuteError:
    operands = {"file": f"{file}.toml", "table": table}
    return CuteError("rows", operands, condition, fix)
