"""What a kernel does in one small problem, by walking it: every register element, every product.

Nothing here comes from the prover. Messages move tagged elements through the machine, registers are
indexed as the instruction manual says, and each product of two tags is a random number, so that
the sum that reaches an element of D tells which products went into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from pycute_xe.arch import Surface
from pycute_xe.kernel import (
    Fill,
    If,
    Kernel,
    Load,
    Loop,
    Mma,
    Reorder,
    Statement,
    Store,
)
from pycute_xe.machine import Memory, RegisterFile, block2d

LANES = 16


def wrong_elements(kernel: Kernel, M: int, N: int, K: int) -> set[tuple[int, int]]:
    """Return the (m, n) at which D is not the sum of exactly its own products."""
    walk = _Walk(kernel, {"M": M, "N": N, "K": K})
    actual = walk.run()
    a = np.arange(1, M * K + 1).reshape(M, K)
    b = np.arange(1, K * N + 1).reshape(K, N).T
    with np.errstate(over="ignore"):
        expected = _product(a[:, None, :], b[None, :, :]).sum(-1, dtype=np.uint64)
    return {(int(m), int(n)) for m, n in np.argwhere(actual != expected)}


def smaller(M: int, N: int, K: int) -> Iterator[tuple[int, int, int]]:
    """Yield the problems that come before one: by the sum of the sizes, then M, then N."""
    for total in range(3, M + N + K + 1):
        for m in range(1, total - 1):
            for n in range(1, total - m):
                if (total, m, n) < (M + N + K, M, N):
                    yield m, n, total - m - n


def _product(a: Any, b: Any) -> Any:
    """A random number for each pair of tags, 0 where either is."""
    x = a.astype(np.uint64) << np.uint64(32) | b.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return np.where((a == 0) | (b == 0), np.uint64(0), x)


class _Walk:
    def __init__(self, kernel: Kernel, sizes: dict[str, int]) -> None:
        self.kernel, self.sizes = kernel, sizes
        self.memory = Memory()
        self.surfaces: dict[str, Surface] = {}
        for operand in kernel.operands:
            shape = tuple(mode.at(sizes) for mode in operand.modes)
            bits = operand.value_type.bits
            tags = np.arange(1, shape[0] * shape[1] + 1).reshape(shape)
            if operand.name == "D":
                tags = np.zeros(shape, int)
            self.surfaces[operand.name] = self._place(
                tags if operand.contiguous == 1 else tags.T, bits
            )
        self.results: list[Any] = [np.zeros(1, np.uint64)]

    def _place(self, rows: Any, bits: int) -> Surface:
        wide = np.zeros((rows.shape[0], -(-rows.shape[1] // 32) * 32), f"u{bits // 8}")
        wide[:, : rows.shape[1]] = rows
        width = rows.shape[1] * bits // 8
        base = self.memory.place(wide.view(np.uint8))
        return Surface(base, width, rows.shape[0], wide.shape[1] * bits // 8)

    def run(self) -> Any:
        counts = [count.at(self.sizes) for _, count in self.kernel.grid]
        for group in product(*map(range, counts)):
            env = dict(zip((var for var, _ in self.kernel.grid), group, strict=True))
            for subgroup in range(self.kernel.mma.num_subgroups):
                self.fragments: dict[str, Any] = {}
                self._body(self.kernel.body, subgroup, env)
        operand, surface = self.kernel.operand("D"), self.surfaces["D"]
        ids = self.memory.array(surface.base, (surface.height, surface.pitch // 4), np.uint32)
        ids = ids[:, : surface.width // 4]
        ids = ids if operand.contiguous == 1 else ids.T
        return np.concatenate(self.results)[ids]

    def _body(self, body: tuple[Statement, ...], s: int, env: dict[str, int]) -> None:
        for statement in body:
            match statement:
                case Loop(var, start, stop, inner):
                    known = {**self.sizes, **env}
                    for value in range(start.at(known), stop.at(known)):
                        self._body(inner, s, {**env, var: value})
                case If(index, below, inner):
                    if index.at({**self.sizes, **env}) < below.at({**self.sizes, **env}):
                        self._body(inner, s, env)
                case Load():
                    self._load(statement, s, env)
                case Store():
                    self._store(statement, s, env)
                case _:
                    self._in_registers(statement)

    def _in_registers(self, statement: Statement) -> None:
        match statement:
            case Fill(name, value):
                slots = self.kernel.fragment(name).slots
                self.fragments[name] = np.full(LANES * slots, int(value), np.uint64)
            case Reorder(source, destination, slots):
                old = self.fragments[source]
                new = np.zeros_like(old)
                for i, element in enumerate(old):
                    new[slots(i)] = element
                self.fragments[destination] = new
            case Mma():
                self._multiply(statement)
            case _:
                # Prefetches and barriers change no value.
                pass

    def _messages(self, statement: Load | Store, s: int, env: dict[str, int]) -> Iterator[Any]:
        copy = statement.copy
        known = {**self.sizes, **env, "subgroup": s}
        at_modes = [index.at(known) for index in statement.at]
        tile = [at_modes[mode] for mode in statement.modes]
        for j in range(copy.messages):
            # Where every stride is 0 the layout has integer values.
            anchor = (*(copy.anchors(s, j) or ()), 0, 0)
            at = [anchor[0] + tile[0], anchor[1] + tile[1]]
            x = at[copy.x_mode] * copy.value_type.bits
            assert x % copy.op.bits == 0
            yield j * copy.atom.values * LANES, x // copy.op.bits, at[copy.y_mode]

    def _load(self, load: Load, s: int, env: dict[str, int]) -> None:
        message, bits = load.copy.op.message, load.copy.value_type.bits
        slots = self.kernel.fragment(load.fragment).slots
        image = np.zeros(LANES * slots, f"u{bits // 8}")
        for start, x, y in self._messages(load, s, env):
            nbytes = message.register_bytes("bmg")
            registers = RegisterFile(nbytes)
            block2d.load(self.memory, registers, message, self.surfaces[load.operand], x, y, 0)
            got = registers.read(0, nbytes, "test").view(image.dtype)
            image[start : start + got.size] = got[: image.size - start]
        self.fragments[load.fragment] = image

    def _store(self, store: Store, s: int, env: dict[str, int]) -> None:
        held = self.fragments[store.fragment]
        first = sum(part.size for part in self.results)
        self.results.append(held)
        ids = np.arange(first, first + held.size, dtype=np.uint32)
        for start, x, y in self._messages(store, s, env):
            registers = RegisterFile(64 * 64)
            registers.write(0, np.zeros(64 * 64, np.uint8))
            registers.write(0, ids[start : start + 64 * 16].view(np.uint8))
            surface = self.surfaces[store.operand]
            block2d.store(self.memory, registers, store.copy.op.message, surface, x, y, 0)

    def _multiply(self, mma: Mma) -> None:
        """DPAS by DPAS: src2 row by row, src1 with two k of a column in each dword."""
        tiled = mma.mma
        rows, columns, depth = tiled.atom.shape_mnk
        grid = [int(np.prod(n)) for n in tiled.atom_layout_mnk.shape]
        reps = [
            t // (n * g)
            for t, n, g in zip(tiled.tile_mnk, (rows, columns, depth), grid, strict=True)
        ]
        a = self.fragments[mma.a].reshape(reps[2], reps[0], rows, depth)
        b = self.fragments[mma.b].reshape(reps[2], reps[1], depth // 2, columns, 2)
        b = b.transpose(0, 1, 2, 4, 3).reshape(reps[2], reps[1], depth, columns)
        acc = self.fragments[mma.accumulator].reshape(reps[1], reps[0], rows, columns).copy()
        for k, n, m in product(range(reps[2]), range(reps[1]), range(reps[0])):
            pairs = _product(a[k, m][:, :, None], b[k, n][None, :, :])
            acc[n, m] += pairs.sum(1, dtype=np.uint64)
        self.fragments[mma.accumulator] = acc.reshape(-1)
