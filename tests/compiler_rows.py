"""The rows that Intel's graphics compiler judged (tests/data), as LSC messages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from golden import rows

from pycute_xe.arch import Block2D, Broken
from pycute_xe.arch.lsc import Address, Block2DMessage, DataType, Message, get_operation

RULES_OF_A_REASON = {
    "vector-of-narrow": {"vector-size"},
    "vector-of-conversion": {"vector-size", "transpose-size"},
    "transpose-exec": {"transpose-exec"},
    "vector-ugm-slm": {"vector-ugm-slm"},
    "registers": {"data-registers"},
    "a16": {"address-a16"},
    "slm-flat": {"address-slm-flat"},
    "quad-store": {"quad-store-mask"},
    "vector-ugml": {"vector-ugml"},
    "slm-a64": {"address-a64-slm"},
    "offset-a16": {"offset-a16-max", "offset-a16-min"},
    "pitch": {"pitch-max"},
    "atomic-size": {"atomic-size"},
    "src2-given": {"atomic-no-second"},
    "src1-missing": {"atomic-data"},
    "atomic-vector": {"vector-atomic"},
    "slm-d64": {"atomic-slm-d64"},
    "src1-given": {"atomic-no-data"},
    "atomic-transpose": {"transpose-atomic"},
    "src2-missing": {"atomic-second"},
    "float-add": {"atomic-float-slm"},
    "caching-load": {"caching-load"},
    "caching-store": {"caching-store"},
    "caching-ugml": {"caching-ugml"},
    "caching-atomic-l1": {"caching-atomic"},
    "caching-atomic": {"caching-atomic"},
}


@dataclass(frozen=True)
class Row:
    """A message and what the compiler said: verdict, reasons, registers in the order of the text.

    Verdicts: a (accepted and compiled), r (rejected by the verifier), v (passed the verifier, not
    compiled), - (the compiler crashed).
    """

    message: Message | Block2DMessage
    verdict: str
    reasons: tuple[str, ...] = ()
    registers: tuple[int, ...] = ()

    @cached_property
    def broken(self) -> tuple[Broken, ...]:
        """The rules that the message breaks on the compiler's device."""
        return self.message.check("pvc")


def table(name: str) -> dict[str, list[Any]]:
    """The columns of a table of igc_lsc.json.gz."""
    found: dict[str, list[Any]] = rows("igc_lsc")[name]
    return found


@cache
def compared(name: str) -> list[Row]:
    """The rows of a table, as messages."""
    if name.startswith("block2d"):
        return _blocks(name.removeprefix("block2d_"))
    make = {"load_store": _load_store, "atomics": _atomic, "cache_hints": _hinted}[name]
    reasons = rows("igc_lsc")["reasons"]
    return [
        Row(
            make(row),
            row["verdict"],
            tuple(reasons[i] for i in row["reasons"]),
            tuple(row["registers"]),
        )
        for row in _rows_of(table(name))
    ]


def _rows_of(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    values = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in values]


def _blocks(op: Any) -> list[Row]:
    found = []
    for row in _rows_of(rows("igc_block2d")[op]):
        order = (letter == "t" for letter in row["suffix"])
        block = Block2D(op, row["bits"], row["height"], row["width"], row["count"], *order)
        names = {"src1": "V7"} if op == "store" else {"dst": "V7"}
        found.append(Row(Block2DMessage(block, **names), row["verdict"], (), _dst_regs(row)))
    return found


def _dst_regs(row: dict[str, Any]) -> tuple[int, ...]:
    return (row["dst_regs"],) if "dst_regs" in row and row["verdict"] == "a" else ()


def _data(row: dict[str, Any]) -> DataType:
    return DataType(row["data"], row["vec"] or 1, bool(row["transpose"]), row.get("mask"))


def _address(row: dict[str, Any]) -> Address:
    surface = {"flat": 0, "bti": 4}.get(row["model"], "V9")
    return Address(
        row["model"],
        int(row["addr"][1:]),
        "V12",
        surface,
        row.get("scale") or 1,
        row.get("offset") or 0,
        row.get("pitch"),
    )


def _load_store(row: dict[str, Any]) -> Message:
    stores = get_operation(row["op"]).kind == "store"
    names = {"src1": "V14"} if stores else {"dst": "V13"}
    return Message(row["op"], row["sfid"], row["exec"], _data(row), _address(row), **names)


def _atomic(row: dict[str, Any]) -> Message:
    given = str(row["given"])
    return Message(
        f"atomic_{row['op']}",
        row["sfid"],
        row["exec"],
        _data(row),
        _address(row),
        "V13" if row["dst"] else None,
        "V14" if given in ("1", "2") else None,
        "V15" if given in ("2", "2only") else None,
    )


def _hinted(row: dict[str, Any]) -> Message | Block2DMessage:
    """A message of some caching, else as legal as can be."""
    op, what = row["op"].split("_")[0], row["op"]
    hints = {"l1": row["l1"] or "df", "l3": row["l3"] or "df"}
    dst = None if op in ("store", "prefetch") or what == "atomic_noret" else "V13"
    src1 = "V14" if op in ("store", "atomic") else None
    if "block2d" in what:
        return Block2DMessage(Block2D(op, 16, 8, 16), row["sfid"], dst, src1, **hints)
    name = {"atomic": "atomic_iadd", "prefetch": "load"}.get(op, op)
    transposed = what.endswith("transposed")
    data = DataType("d32", 16, transpose=True) if transposed else DataType("d32")
    address = Address("flat", 32 if row["sfid"] == "slm" else 64, "V12")
    exec_size = 1 if transposed else 16
    return Message(name, row["sfid"], exec_size, data, address, dst, src1, **hints)
