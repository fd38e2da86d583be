"""Machine code as instructions with typed operands, read from the disassembler's JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

__all__ = ["Assembly", "Immediate", "Instruction", "Reg", "Walk", "read_json"]


@dataclass(frozen=True, slots=True)
class Walk:
    """How lanes walk through registers: ``<vertical; width, horizontal>`` in elements."""

    vertical: int
    width: int
    horizontal: int


@dataclass(frozen=True, slots=True)
class Reg:
    """A register operand: file, number, element in it, walk, type and modifiers."""

    file: str
    number: int
    element: int
    walk: Walk | None
    kind: str
    modifier: str = ""
    length: int = 0


@dataclass(frozen=True, slots=True)
class Immediate:
    """A number in the instruction, as it is written, and its type."""

    text: str
    kind: str


Source = Reg | Immediate


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: operation, variant, lanes, condition, predicate, operands.

    ``flag`` is the number of the flag's first 16 bits; ``predicate`` is "", "+" or "-", or how
    lanes are combined; ``target`` is the label that a jump goes to.
    """

    number: int
    op: str
    sub: str
    size: int
    first: int
    unmasked: bool
    condition: str
    predicate: str
    flag: int
    saturate: bool
    to: Reg | None
    sources: tuple[Source, ...]
    target: str
    options: tuple[str, ...]

    def __str__(self) -> str:
        """Number, operation, variant and lanes."""
        name = f"{self.op}.{self.sub}" if self.sub else self.op
        return f"instruction {self.number}, {name} ({self.size}|M{self.first})"


@dataclass(frozen=True)
class Assembly:
    """The instructions of a kernel, and which one each label stands before."""

    instructions: tuple[Instruction, ...]
    labels: dict[str, int]


def read_json(text: str) -> Assembly:
    """Return the instructions that ``iga64 -d -Xprint-json`` printed; padding is left out."""
    out: list[Instruction] = []
    labels: dict[str, int] = {}
    for entry in json.loads(text)["insts"]:
        if entry["kind"] == "L":
            labels[entry["value"]] = len(out)
        elif entry["op"] != "illegal":
            out.append(_instruction(entry))
    return Assembly(tuple(out), labels)


def _instruction(entry: dict[str, Any]) -> Instruction:
    predicate, flag = entry["pred"], entry["freg"]
    sources: list[Source] = []
    target = ""
    for source in entry["srcs"]:
        if source["kind"] == "LB":
            target = source["target"]
        else:
            sources.append(_source(source))
    to = entry["dst"]
    return Instruction(
        number=entry["id"],
        op=entry["op"],
        sub=entry["subop"] or "",
        size=entry["es"],
        first=entry["eo"],
        unmasked=entry["wren"],
        condition=entry["fm"]["cond"] if entry["fm"] else "",
        predicate="" if predicate is None else predicate["func"] or "+-"[predicate["inv"]],
        flag=-1 if flag is None else 2 * flag["r"] + flag["sr"],
        saturate=bool(to and to.get("sat")),
        to=None if to is None else _register(to),
        sources=tuple(sources),
        target=target,
        options=tuple(entry["opts"]),
    )


def _source(source: dict[str, Any]) -> Source:
    if source["kind"] == "IM":
        return Immediate(source["value"], source["type"] or "")
    if source["kind"] == "AD":
        surface, moved = source["surf"], source["offset"] or source["scale"] != 1
        reg = _register({"kind": "DA", **source["addr"]})
        kind = f"{surface['type']}[{surface['offset']}]{' moved' if moved else ''}"
        return Reg(reg.file, reg.number, reg.element, None, kind, "", reg.length)
    return _register(source)


def _register(operand: dict[str, Any]) -> Reg:
    if operand["kind"] not in ("RD", "DA"):
        # Whoever executes the instruction refuses a file of this name.
        return Reg(f"operand of form {operand['kind']} ", 0, 0, None, "")
    register, walk = operand["reg"], operand.get("rgn")
    region = None
    if walk is not None:
        region = Walk(walk.get("Vt", -1), walk.get("Wi", 1), walk["Hz"])
    return Reg(
        register["rn"],
        register["r"],
        register["sr"],
        region,
        operand.get("type") or "",
        operand.get("mods") or "",
        operand.get("len", 0),
    )
