from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from executed_images import executed

from pycute_xe.atom import CopyAtom


@pytest.fixture
def image() -> Callable[[CopyAtom], np.ndarray]:
    """The register image of an atom's message, found by executing it."""
    return executed
