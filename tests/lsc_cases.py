"""Random LSC messages, the machine they run on, and their meaning said in NumPy.

A `Case` (visa_lsc_pseudo_code) is drawn from what its channels mean (``where``), and the addresses
that registers hold are computed back from that. So three accounts meet: the machine, the
transcribed pseudo-code, and here array operations on ``where`` that know no address arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from visa_lsc_pseudo_code import DST, MEMORY_BYTES, REGISTER_BYTES, SRC0, SRC1, SRC2, Case, World

from pycute_xe.arch.lsc import Address, DataType, Message
from pycute_xe.machine import Memory, RegisterFile, Slm, Trace
from pycute_xe.machine.lsc import SurfaceState, execute

NBYTES, GRF = 4096, 160 * 64
SIZES = list(MEMORY_BYTES)


@dataclass
class Setting:
    """Where a case runs: the space, and the random bytes in memory and registers."""

    space: str
    enabled: list[bool] | None
    predicate: list[bool] | None
    inverted: bool
    mask: str
    seed: int


def draw_setting(draw: Any, exec_size: int, spaces: tuple[str, ...]) -> Setting:
    flags = st.none() | st.lists(st.booleans(), min_size=32, max_size=32)
    group = draw(st.integers(0, (32 - exec_size) // 4))
    return Setting(
        draw(st.sampled_from(spaces)),
        draw(flags),
        draw(flags),
        draw(st.booleans()),
        f"M{group + 1}{draw(st.sampled_from(['', '_NM']))}",
        draw(st.integers(0, 2**32 - 1)),
    )


def enabled_channels(s: Setting, exec_size: int) -> list[bool]:
    """What the document calls ChEn: predicate and channel enable."""
    first = 4 * (int(s.mask.split("_")[0][1:]) - 1)
    out = []
    for n in range(first, first + exec_size):
        on = s.enabled is None or s.mask.endswith("_NM") or s.enabled[n]
        out.append(on and (s.predicate is None or s.predicate[n] != s.inverted))
    return out


@st.composite
def cases(
    draw: Any, ops: tuple[str, ...], spaces: tuple[str, ...] = ("flat", "slm", "bti")
) -> tuple[Case, Setting]:
    """A message with colliding addresses, on memory that holds all it may touch."""
    op = draw(st.sampled_from(ops))
    atomic, quad, strided = op.startswith("atomic"), op.endswith("quad"), op.endswith("strided")
    sizes = ["d16u32", "d32", "d64"] if atomic else SIZES
    transposed = not atomic and not quad and draw(st.booleans())
    exec_size = 1 if transposed else draw(st.sampled_from([1, 2, 4, 8, 16, 32]))
    c = Case(op, exec_size, draw(st.sampled_from(sizes)), [], transposed=transposed)
    if quad:
        c.ChMask = draw(st.sampled_from([m for m in masks() if m]))
        c.vect_size = len(c.ChMask)
    elif not atomic:
        most = 9 if transposed else 5
        c.vect_size = draw(st.sampled_from([1, 2, 3, 4, 8, 16, 32, 64][: most - 1]))
    s = draw_setting(draw, exec_size, spaces)
    c.ChEn = enabled_channels(s, exec_size)
    c.null_dst = draw(st.integers(0, 9)) == 0
    c.AddrScale = draw(st.sampled_from([1, 1, 2, 8]))
    c.AddrImmOffset = 8 * draw(st.integers(-40, 40))
    draw_addresses(draw, c, s, strided)
    return c, s


def masks() -> list[str]:
    return ["".join(x for i, x in enumerate("xyzw") if bits >> i & 1) for bits in range(16)]


def draw_addresses(draw: Any, c: Case, s: Setting, strided: bool) -> None:
    """Byte offsets of few distinct places, so that channels collide and overlap."""
    size = MEMORY_BYTES[c.size]
    step = max(c.AddrScale, size if c.op.startswith("atomic") else 1)
    c.addr_bytes = {"flat": 8, "slm": draw(st.sampled_from([2, 4])), "bti": 4}[s.space]
    span = size * (4 if c.ChMask else c.vect_size)
    last = (NBYTES if s.space != "bti" else 1200) - span
    if strided:
        c.Pitch = draw(st.none() | st.integers(0, 64))
        reach = (span if c.Pitch is None else c.Pitch) * (c.ExecSize - 1)
        # On a surface the last channels may lie beyond its end.
        base = draw(st.integers(0, max(0, (last - reach) // step))) * step
        pitch = span if c.Pitch is None else c.Pitch
        c.where = [base + n * pitch for n in range(c.ExecSize)]
        return
    pool = draw(st.lists(st.integers(0, last // step), min_size=1, max_size=6))
    picks = st.lists(st.integers(0, len(pool) - 1), min_size=c.ExecSize, max_size=c.ExecSize)
    c.where = [pool[i] * step for i in draw(picks)]


class Bench:
    """The machine with a case's memory and registers, and the same bytes for the other accounts."""

    def __init__(self, c: Case, s: Setting, values: np.ndarray | None = None) -> None:
        rng = np.random.default_rng(s.seed)
        self.case, self.setting = c, s
        self.memory, self.trace, self.slm = Memory(), Trace(), Slm(NBYTES)
        self.data = rng.integers(0, 256, NBYTES, dtype=np.uint8)
        grf = rng.integers(0, 256, GRF, dtype=np.uint8)
        if values is not None:  # few values, so that compare and swap finds what it compares
            self.data = rng.choice(values, NBYTES // values.itemsize).view(np.uint8)
            self._fill(grf, rng, values)
        self.base = self.memory.place(self.data)
        self.slm.write(0, self.data)
        self.origin = self.base if s.space == "flat" else 0
        if s.space == "bti":
            c.Surface, c.Bounds = 64, 1000
        c.Counter = 2048
        self._address(grf)
        self.grf = grf
        self.registers = RegisterFile(GRF)
        self.registers.write(0, grf)

    def _fill(self, grf: np.ndarray, rng: np.random.Generator, values: np.ndarray) -> None:
        wide = REGISTER_BYTES[self.case.size] // values.itemsize
        for start in (SRC1, SRC2):
            count = 40 * 64 // values.itemsize
            part = rng.choice(values, count)
            part[np.arange(count) % wide != 0] = 0x5A5A if wide > 1 else 0
            if wide == 1:
                part = rng.choice(values, count)
            grf[start : start + 40 * 64] = part.view(np.uint8)

    def _address(self, grf: np.ndarray) -> None:
        c, width = self.case, self.case.addr_bytes
        for n, where in enumerate(c.where):
            value = (self.origin + where - c.AddrImmOffset) // c.AddrScale % (1 << 8 * width)
            if c.AddrScale * value + c.AddrImmOffset != self.origin + where:
                value = (self.origin + where - c.AddrImmOffset) % (1 << 8 * width) // c.AddrScale
            at = SRC0 + n * width
            grf[at : at + width] = np.frombuffer(value.to_bytes(width, "little"), dtype=np.uint8)

    def message(self) -> Message:
        c, s = self.case, self.setting
        counter = c.op.startswith("apndctr")
        data = DataType(c.size, 1 if c.ChMask else c.vect_size, c.transposed, c.ChMask or None)
        model = "bti" if s.space == "bti" else "flat"
        bits, surface = 8 * c.addr_bytes, 7 if s.space == "bti" else 0
        address = Address(model, bits, "V1", surface, c.AddrScale, c.AddrImmOffset, c.Pitch)
        if counter:
            address = Address("bti", 32, None, 7)
        store = c.op.startswith("store")
        extra = {"apndctr_atomic_add": 1, "apndctr_atomic_sub": 1}.get(c.op, int(store))
        if c.op.startswith("atomic"):
            from visa_lsc_pseudo_code import ATOMICS

            extra = ATOMICS[c.op.removeprefix("atomic_")][1]
        return Message(
            c.op,
            "slm" if s.space == "slm" else "ugm",
            c.ExecSize,
            data,
            address,
            None if store or c.null_dst else "V4",
            "V2" if extra else None,
            "V3" if extra > 1 else None,
            predicate=None if s.predicate is None else f"{'!' if s.inverted else ''}P1",
            exec_mask=s.mask,
        )

    def run(self) -> tuple[bytes, bytes]:
        """The machine: all of memory and all of the registers afterwards."""
        operands: dict[str, Any] = {"V1": SRC0, "V2": SRC1, "V3": SRC2, "V4": DST}
        operands["P1"] = self.setting.predicate
        execute(
            self.message(),
            memory=self.memory,
            registers=self.registers,
            operands=operands,
            enabled=self.setting.enabled,
            surfaces={7: SurfaceState(self.base + 64, 1000, self.base + 2048)},
            slm=self.slm,
            trace=self.trace,
        )
        space = self.slm.read(0, NBYTES) if self.setting.space == "slm" else self._memory()
        if self.setting.space == "slm":
            assert self._memory().tobytes() == self.data.tobytes()
        return space.tobytes(), self.registers.read(0, GRF, "the test").tobytes()

    def _memory(self) -> np.ndarray:
        return self.memory.read(self.base, NBYTES)

    def world(self) -> World:
        """The same for the pseudo-code."""
        return World(self.data.tobytes(), self.grf.tobytes(), self.origin)

    # ------------------------------------------------------------ the meaning, in NumPy

    def lanes(self) -> np.ndarray:
        return np.flatnonzero(self.case.ChEn)

    def bytes_at(self) -> tuple[np.ndarray, np.ndarray]:
        """Memory index of each byte, lanes × elements × bytes, and whether it is in bounds."""
        c, size = self.case, MEMORY_BYTES[self.case.size]
        picked = ["xyzw".index(x) for x in c.ChMask] or range(c.vect_size)
        starts = np.array(c.where, dtype=np.int64)[self.lanes(), None] + size * np.array(picked)
        inside = np.ones(starts.shape, dtype=bool)
        if c.Bounds is not None:
            inside = starts + size <= c.Bounds
            starts = np.where(inside, starts + c.Surface, 0)
        return starts[:, :, None] + np.arange(size), inside

    def operand(self, grf: np.ndarray, start: int) -> np.ndarray:
        """A view of an operand as unsigned integers, channel × element, of the register's width."""
        c = self.case
        kind = np.dtype(f"u{REGISTER_BYTES[c.size]}")
        if c.transposed:
            whole = grf[start : start + 8 * 64].view(kind)
            return whole[None, : c.vect_size]
        each = -(-max(c.ExecSize, 16) * kind.itemsize // 64) * 64
        whole = grf[start : start + c.vect_size * each].view(kind)
        return whole.reshape(c.vect_size, -1).T[: c.ExecSize]

    def narrow(self, values: np.ndarray) -> np.ndarray:
        """The integers that memory holds of those in registers, as bytes along a new axis."""
        size = MEMORY_BYTES[self.case.size]
        if self.case.size == "d16u32h":
            values = values >> 16
        return values.astype(f"u{size}")[..., None].view(np.uint8)

    def widened(self, data: np.ndarray) -> np.ndarray:
        """The inverse, of lanes × elements × bytes."""
        size = MEMORY_BYTES[self.case.size]
        values = np.ascontiguousarray(data).view(f"u{size}")[..., 0]
        values = values.astype(f"u{REGISTER_BYTES[self.case.size]}")
        return values << 16 if self.case.size == "d16u32h" else values
