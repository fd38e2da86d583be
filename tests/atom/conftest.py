from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pycute_xe.arch import Surface
from pycute_xe.atom import CopyAtom
from pycute_xe.machine import Memory, RegisterFile, block2d


def executed(atom: CopyAtom) -> np.ndarray:
    """Move tagged values through the machine: what each register element is, -1 for padding.

    Element ``i`` of the result is the ``x + width * y`` that register element ``i`` comes from (or
    goes to). Shares no formula with the atoms: only bytes are compared.
    """
    dtype = np.dtype(f"u{atom.value_type.bits // 8}")
    shape = (atom.height, atom.width)
    tags = np.arange(1, atom.height * atom.width + 1, dtype=dtype).reshape(shape)
    memory, registers = Memory(), RegisterFile(1 << 14)
    pitch = atom.width * dtype.itemsize
    if not atom.op.is_store:
        surface = Surface(memory.place(tags), pitch, atom.height, pitch)
        block2d.load(memory, registers, atom.op.message, surface, 0, 0, 0)
        count = atom.register_tv.elements
        data = registers.read(0, count * dtype.itemsize, "the test").view(dtype)
        return data.astype(np.int64) - 1
    count = atom.register_tv.elements
    registers.write(0, np.arange(1, count + 1, dtype=dtype).view(np.uint8))
    surface = Surface(memory.place(np.zeros_like(tags)), pitch, atom.height, pitch)
    block2d.store(memory, registers, atom.op.message, surface, 0, 0, 0)
    stored = memory.array(surface.base, shape, dtype).reshape(-1).astype(np.int64) - 1
    out = np.full(count, -1, dtype=np.int64)
    out[stored] = np.arange(stored.size)
    return out


@pytest.fixture
def image() -> Callable[[CopyAtom], np.ndarray]:
    """The register image of an atom's message, found by executing it."""
    return executed
