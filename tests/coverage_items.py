"""Runs the examples of the items of the source documents, and says in a word what came out.

An example is Python whose last line is an expression; "⏎" ends a line, and what follows " then "
is asked when a kernel has ended. Where the item names threads, it is the body of an ESIMD kernel
of so many threads, of number ``lid``, over the pointers ``x`` and ``y``: arrays X and Y of 64 rows
of 256 halves, Y zeros at first; ``xb``, ``xu`` and ``xq`` are x as words of 8, 32 and 64 bits.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

import pycute_xe as cx
from pycute_xe import arch, cutlass, esimd
from pycute_xe.arch import lsc
from pycute_xe.arch.rules import Broken
from pycute_xe.errors import CuteError
from pycute_xe.machine import Memory, RegisterFile, Slm
from pycute_xe.machine.lsc import SurfaceState, execute

__all__ = ["Outcome", "outcome"]

DATA = np.arange(1024, dtype=np.uint32)


def lsc_run(
    text: str, where: Iterable[int], src1: Any = None, on: Any = (), register: int = 0
) -> Any:
    """What one message leaves in a register of its destination, or a store in memory: 8 dwords.

    Memory holds the dwords 0, 1, 2, …; ``where`` are addresses, counted from their first byte,
    ``on`` the channels that P1 enables. Registers hold zeros before.
    """
    memory, registers, slm = Memory(), RegisterFile(256 * 64), Slm(4096)
    base = memory.place(DATA.copy())
    slm.write(0, DATA.view(np.uint8))
    message = lsc.parse(text)
    shared = message.sfid == "slm" or "flat" not in text
    names: dict[str, Any] = {"V12": 0, "V13": 16 * 64, "V10": 48 * 64, "V0": 0, "base": base}
    names["P1"] = list(on)
    if isinstance(message, lsc.Message):
        size = {16: "u2", 32: "u4", 64: "u8"}[message.address.bits]
        given = np.array([at + (0 if shared else base) for at in where], dtype=size)
        registers.write(0, given.view(np.uint8))
    registers.write(names["V13"], np.zeros(4 * 64, dtype=np.uint8))
    if src1 is not None:
        registers.write(names["V10"], np.asarray(src1).astype("u4").view(np.uint8))
    surfaces: dict[int | str, SurfaceState] = {4: SurfaceState(base, 4096, base + 400)}
    execute(message, memory=memory, registers=registers, operands=names, surfaces=surfaces, slm=slm)
    if message.operation.kind != "store":
        return registers.read(names["V13"] + 64 * register, 32, "example").view("u4").tolist()
    found = slm.read(0, 32) if message.sfid == "slm" else memory.read(base, 32)
    return found.view("u4").tolist()


def atomic(op: str, old: Any, *given: Any) -> tuple[Any, Any]:
    """What one atomic returns, and leaves in memory, which held ``old``."""
    kind = "f4" if op[0] == "f" else "i4" if op in ("smin", "smax") else "u4"
    memory, registers = Memory(), RegisterFile(256 * 64)
    base = memory.place(np.array([old], dtype=kind))
    operands = {"V12": 0, "V13": 1024, "V10": 2048, "V11": 3072}
    registers.write(0, np.array([base], dtype="u8").view(np.uint8))
    for at, value in zip(("V10", "V11"), given, strict=False):
        registers.write(operands[at], np.array([value], dtype=kind).view(np.uint8))
    sources = " ".join([*("V10", "V11")[: len(given)], "%null", "%null"][:2])
    text = f"lsc_atomic_{op}.ugm (M1,1) V13:d32 flat[V12]:a64 {sources}"
    execute(lsc.parse(text), memory=memory, registers=registers, operands=operands)
    found = registers.read(1024, 4, "example"), memory.read(base, 4)
    return tuple(value.view(kind)[0].item() for value in found)  # pyright: ignore[reportReturnType]


def encoded(text: str, field: str) -> int:
    """The number that a field of the binary form holds."""
    return int.from_bytes(lsc.encode(lsc.parse(text))[field].code, "little")


NAMES: dict[str, Any] = {
    **{name: getattr(esimd, name) for name in (*esimd.__all__, "max", "min", "sum")},
    **{name: getattr(lsc, name) for name in lsc.__all__},
    "cx": cx,
    "np": np,
    "arch": arch,
    "cutlass": cutlass,
    "esimd": esimd,
    "Block2D": arch.Block2D,
    "hint": esimd.cache_hint,
    "lsc_run": lsc_run,
    "atomic": atomic,
    "encoded": encoded,
}


def _compiled(code: str, keep: str, head: str = "") -> Any:
    """The code as a module; the value of its last line goes to ``keep``."""
    tree = ast.parse(head + code.replace("⏎", "\n" + "    " * bool(head)))
    body: list[ast.stmt] = tree.body
    if head:
        function = body[0]
        assert isinstance(function, ast.FunctionDef)
        body = function.body
    last = body[-1]
    if isinstance(last, ast.Expr):
        call = ast.Call(ast.Name(keep, ast.Load()), [last.value], [])
        body[-1] = ast.copy_location(ast.Expr(call), last)
    return compile(ast.fix_missing_locations(tree), "example", "exec")


def _plain(code: str, names: dict[str, Any]) -> Any:
    found: list[Any] = []
    exec(_compiled(code, "keep"), names | {"keep": found.append})
    return found[0] if found else None


_HEAD = """def kernel(item, x, y):
    lid = item.get_local_id(0)
    xb, xu, xq = (reinterpret_cast(kind, x) for kind in (uint8_t, uint32_t, uint64_t))
    """


def _kernel(code: str, threads: int) -> tuple[Any, tuple[str, ...]]:
    """What the last line of a kernel is on all threads, and what was recorded."""
    X = (np.arange(64 * 256) % 2039).astype(np.float16).reshape(64, 256)
    Y = np.zeros_like(X)
    body, _, after = code.partition(" then ")
    found: list[Any] = []
    names: dict[str, Any] = NAMES | {"X": X, "Y": Y, "keep": found.append}
    exec(_compiled(body, "keep", _HEAD), names)
    run = esimd.launch(names["kernel"], X, Y, threads=threads)
    if after:
        return _plain(after, names | {"run": run}), run.codes
    same = all(repr(value) == repr(found[0]) for value in found)
    return (found[0] if same else found) if found else None, run.codes


@dataclass(frozen=True)
class Outcome:
    """What an example comes to: a value, "refuses: " or "warns: " with rules; and their sources."""

    text: str
    sources: str = ""


def outcome(code: str, threads: str = "") -> Outcome:
    """Run an example, as plain Python or as a kernel of so many threads."""
    try:
        value, codes = _kernel(code, int(threads)) if threads else (_plain(code, dict(NAMES)), ())
    except CuteError as error:
        return Outcome(f"refuses: {_rule(error)}", str(error))
    if isinstance(value, tuple) and value and all(isinstance(one, Broken) for one in value):
        wrong = [one for one in value if one.level == "error"]
        told = ", ".join(dict.fromkeys(one.rule for one in wrong or value))
        sources = "; ".join(one.source for one in wrong or value)
        return Outcome(f"{'refuses' if wrong else 'warns'}: {told}", sources)
    shown = "legal" if type(value) is tuple and not value else _shown(value)
    if codes:
        told = f"warns: {', '.join(codes)}"
        return Outcome(told if shown == "None" else f"{shown}; {told}")
    return Outcome(shown)


def _shown(value: Any) -> str:
    """A value as Python writes it, numbers of NumPy as plain ones."""
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) in (list, tuple):
        ends = "[]" if type(value) is list else "()"
        return f"{ends[0]}{', '.join(map(_shown, value))}{ends[1]}"
    return repr(value)


def _rule(error: CuteError) -> str:
    name = type(error).__name__
    if isinstance(error, esimd.EsimdError):
        return f"{name} {error.code}"
    rule = re.match(r".*?: ([a-z0-9]+(?:-[a-z0-9]+)+):", str(error))
    if rule:
        return f"{name} {rule[1]}"
    why = error.condition.splitlines()[0]
    return f"{name}: {why if len(why) < 100 else why[:99] + '…'}"
