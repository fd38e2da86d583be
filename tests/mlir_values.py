"""What the elementwise operations of a module of MLIR compute, told by MLIR's own definitions."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

F32 = np.float32
OPERATIONS: dict[str, Any] = {
    "arith.addf": np.add, "arith.mulf": np.multiply, "arith.divf": np.divide,
    "arith.maximumf": np.maximum, "arith.minimumf": np.minimum, "arith.negf": np.negative,
    "arith.cmpf olt": np.less, "arith.cmpf oge": np.greater_equal, "arith.select": np.where,
    "math.absf": np.abs, "math.exp": np.exp, "math.exp2": np.exp2, "math.log": np.log,
    "math.sqrt": np.sqrt, "math.rsqrt": lambda x: 1 / np.sqrt(x), "math.tanh": np.tanh,
    "math.cos": np.cos, "math.erf": np.vectorize(math.erf, otypes=[np.float64]),
}  # fmt: skip
LINE = re.compile(r"(%[\w.]+) = (arith\.cmpf \w+|[\w.]+),? (.*)")


def mapped(text: str, accumulator: np.ndarray) -> np.ndarray:
    """What the operations behind the last ``// map`` make of what the loop leaves, in f32."""
    body = text[text.rindex("// map") :].splitlines()[1:]
    values: dict[str, Any] = {}
    last = accumulator
    for found in filter(None, (LINE.fullmatch(line.strip()) for line in body)):
        name, operation, rest = found.groups()
        if operation == "arith.constant":
            number = re.search(r"dense<(.*?)>", rest)
            assert number
            bits = number[1].startswith("0x")
            one = np.uint32(int(number[1], 16)).view(F32) if bits else F32(number[1])
            values[name] = np.full(accumulator.shape, one)
        elif operation in OPERATIONS:
            names = re.findall(r"%[\w.]+", rest.split(" : ")[0])
            last = OPERATIONS[operation](*(values.get(n, accumulator) for n in names))
            last = last if last.dtype == bool else last.astype(F32)
            values[name] = last
        else:
            break
    return last
