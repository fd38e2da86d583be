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
    Where ``targets`` lists a machine, it also lists those that the facts say are ``like`` it.
    Raises `CuteError` when the file or the table is missing, or a row has no source.

    >>> rows("arch", "target")[0]["name"]
    'pvc'
    """
    document = _document(file)
    if table not in document:
        known = ", ".join(sorted(document))
        raise _bad(file, table, "unknown table", f"one of {known}")
    listed_rows = cast("tuple[Row, ...]", document[table])
    for number, row in enumerate(listed_rows):
        source = row.get("source")
        if not isinstance(source, str) or not source.strip():
            raise _bad(file, table, f"row {number} names no source", "give it a source")
    if (file, table) == ("arch", "target"):
        return _completed(listed_rows)
    return _inherited(listed_rows) if any("targets" in row for row in listed_rows) else listed_rows


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


# What tells the rows of a table apart: a target's own row replaces the inherited one with the same.
_IDENTITY = ("id", "field", "kinds", "models", "shapes")


def _completed(targets: tuple[Row, ...]) -> tuple[Row, ...]:
    """The targets, each with what it has from the one that it is like."""
    likes = _likes()  # which refuses targets without a name
    named = {str(row["name"]): row for row in targets}
    for target, other in likes.items():
        if "product" not in named[target]:
            raise _bad("arch", "target", f"{target} names no product", "give it a product")
        named[target] = _read_only({**named[other], **named[target]})
    return tuple(named.values())


def _inherited(table: tuple[Row, ...]) -> tuple[Row, ...]:
    """The rows, where ``targets`` also lists the machines that are like one of them."""

    def listed(row: Row, target: str) -> bool:
        return target in cast("tuple[str, ...]", row.get("targets", ()))

    def identity(row: Row) -> tuple[object, ...]:
        return tuple(map(row.get, _IDENTITY))

    for target, other in _likes().items():
        own = {identity(row) for row in table if listed(row, target)}
        table = tuple(
            _read_only({**row, "targets": (*cast("tuple[str, ...]", row["targets"]), target)})
            if listed(row, other) and identity(row) not in own
            else row
            for row in table
        )
    return table


def _check_names(targets: tuple[Row, ...]) -> None:
    """Refuse targets without a name, and two of one name."""
    names = [row.get("name") for row in targets]
    for name in names:
        if not isinstance(name, str) or names.count(name) > 1:
            condition = f"{name} names {names.count(name)} rows" if name else "a row has no name"
            raise _bad("arch", "target", condition, "give each target a name of its own")


def _likes() -> dict[str, str]:
    """The targets that are like another, with its name; each comes after the one it is like."""
    targets = cast("tuple[Row, ...]", _document("arch")["target"])
    _check_names(targets)
    like = {str(row["name"]): str(row["like"]) for row in targets if "like" in row}
    out: dict[str, str] = {}
    for target in like:
        chain = [target]
        while (last := chain[-1]) in like and last not in out:
            other = like[last]
            if not any(row["name"] == other for row in targets):
                known = ", ".join(str(row["name"]) for row in targets)
                condition = f'the key "like" of {last} names the unknown target {other}'
                raise _bad("arch", "target", condition, f"one of {known}")
            if other in chain:
                condition = f'the key "like" leads from {other} back to {other}'
                raise _bad("arch", "target", condition, "name a target that has a row of its own")
            chain.append(other)
        out.update((name, like[name]) for name in reversed(chain) if name in like)
    return out


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
        return _read_only({key: _frozen(item) for key, item in table.items()})
    if isinstance(value, list):
        return tuple(_frozen(item) for item in cast("list[object]", value))
    return value


class _Columns(dict[str, object]):
    """The columns of a row; one that is asked for and missing is refused by name."""

    def __missing__(self, column: str) -> object:
        row = self.get("name", self.get("id", self.get("source")))
        condition = f"the row has no column {column}"
        raise CuteError("rows", {"row": row}, condition, f"add {column} to the row in atoms/")


def _read_only(columns: dict[str, object]) -> Row:
    return MappingProxyType(_Columns(columns))


def _bad(file: str, table: str | None, condition: str, fix: str) -> CuteError:
    operands = {"file": f"{file}.toml", "table": table}
    return CuteError("rows", operands, condition, fix)
