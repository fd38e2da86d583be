"""Machine code as instructions with typed operands, read from the disassembler's JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pycute_xe.errors import ToolError

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
    """The instructions of a kernel, which one each label stands before, and whose code it is."""

    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
    target: str = "pvc"


# The JSON has two versions, which name things otherwise; the second leaves defaults out.
Entry = dict[str, Any]


def read_json(text: str, target: str = "pvc") -> Assembly:
    """Return the instructions that ``iga64 -d -Xprint-json`` printed; padding is left out.

    Raises `ToolError` for what is not a listing of instructions.
    Document: intel/intel-graphics-compiler, visa/iga/IGAJSONv1.md and IGAJSONv2.md.
    """
    out: list[Instruction] = []
    labels: dict[str, int] = {}
    try:
        document = json.loads(text)
        for entry in _either(document, "insts", "elems"):
            if entry["kind"] == "L":
                labels[_either(entry, "value", "symbol")] = len(out)
            elif entry["op"] != "illegal":
                out.append(_instruction(entry))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ToolError(
            "compile",
            {"instructions": len(out)},
            f"what iga64 printed is not understood: {type(error).__name__} {error}",
            "use a version of atoms/native.toml",
        ) from error
    return Assembly(tuple(out), labels, target)


def _either(entry: Entry, first: str, second: str) -> Any:
    return entry[first] if first in entry else entry[second]


def _instruction(entry: Entry) -> Instruction:
    predicate, flag = entry.get("pred"), entry.get("freg")
    sources: list[Source] = []
    target = ""
    for source in entry["srcs"]:
        if source["kind"] == "LB":
            target = source["target"]
        else:
            sources.append(_source(source))
    to = entry.get("dst")
    condition = entry.get("fm")
    return Instruction(
        number=entry["id"],
        op=entry["op"],
        sub=entry.get("subop") or "",
        size=entry["es"],
        first=entry.get("eo", 0),
        unmasked=entry.get("wren", False),
        condition=condition["cond"] if condition else "",
        predicate=_predicate(predicate) if predicate else "",
        flag=2 * flag.get("r", 0) + flag.get("sr", 0) if flag else -1,
        saturate=bool(to and to.get("sat")),
        to=None if to is None else _register(to),
        sources=tuple(sources),
        target=target,
        options=tuple(entry.get("opts", ())),
    )


def _predicate(entry: Entry) -> str:
    return entry["func"].lstrip(".") or ("-" if entry.get("inv") else "+")


def _source(source: Entry) -> Source:
    if source["kind"] == "IM":
        return Immediate(source["value"], source.get("type") or "")
    return _address(source) if source["kind"] == "AD" else _register(source)


def _address(source: Entry) -> Reg:
    """The address of a send, and as its kind the surface; offsets are in the descriptor, too."""
    if "addr" in source:
        surface, scale, address = source["surf"], source["scale"], source["addr"]
        kind, number = surface["type"], surface["offset"]
    else:
        scale, address = source.get("ascale", 1), {"reg": source["areg"], "len": source["alen"]}
        kind, number = source.get("stype", "unknown"), source.get("soff", 0)
    register = _register({"kind": "DA", **address})
    surface = f"{kind}[{number}]{' scaled' if scale != 1 else ''}"
    return Reg(register.file, register.number, register.element, None, surface, "", register.length)


def _register(operand: Entry) -> Reg:
    if operand["kind"] not in ("RD", "DA"):
        # Whoever executes the instruction refuses a file of this name.
        return Reg(f"operand of form {operand['kind']} ", 0, 0, None, "")
    register, walk = operand["reg"], operand.get("rgn")
    region = None
    if walk is not None:
        vertical, width = (walk.get(one, walk.get(two)) for one, two in (("Vt", "v"), ("Wi", "w")))
        region = Walk(
            -1 if vertical is None else vertical,
            1 if width is None else width,
            _either(walk, "Hz", "h"),
        )
    return Reg(
        register["rn"],
        register.get("r", 0),
        register.get("sr", 0),
        region,
        operand.get("type") or "",
        operand.get("mods") or "",
        operand.get("len", 0),
    )
