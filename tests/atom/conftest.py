from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from executed_images import executed, executed_bytes, in_values

from pycute_xe.atom import CopyAtom
from pycute_xe.atom.placed_message import PlacedMessage


@pytest.fixture
def image() -> Callable[[CopyAtom], np.ndarray]:
    """The register image of an atom's message, found by executing it."""
    return executed


def executed_slots(parts: tuple[PlacedMessage, ...], cols: int, rows: int, bits: int) -> np.ndarray:
    """The number of the value in memory that each slot of several messages' registers holds."""
    held = [executed_bytes(part.message, cols * bits // 8, rows, part.x, part.y) for part in parts]
    return in_values(np.concatenate(held), bits)


@pytest.fixture
def slots_of() -> Callable[..., np.ndarray]:
    """What registers hold after messages, found by executing them."""
    return executed_slots
