"""Kernels in other languages: `emit`.

Each language has a table of what every kind of statement becomes: vISA in `emitter`, `opencl` and
`portable` (C for CPUs), `cute` (with `cute_parts`) and `xegpu` (with `xegpu_values`). A `writer`
grows the text. For languages of registers `lowering` first makes `instructions` of straight
statements, with `elementwise`, `masks` and `shared` for maps, conditions, and shared memory and
atomics. `program` writes the Python that launches: `launching`, `valuing` and `figures` are pasted
into it as they stand, `specifying` says the claim; `measurement` is what it reports. `sycl` does
so in C++ around what `cute` writes; both run the `problem` that a kernel makes. `names` keeps names
of kernels apart from words of languages. A kernel comes in, text comes out, or a refusal by name.
"""

from __future__ import annotations

from pycute_xe.emitting.emitter import Language, emit
from pycute_xe.emitting.measurement import Measurement

__all__ = ["Language", "Measurement", "emit"]
