"""Kernels in other languages: `emit`.

Each language has a table of what every kind of statement becomes: vISA, the host's Python and C for
CPUs in `emitter`, `opencl`, `cute` (with `cute_parts`) and `xegpu` (with `xegpu_values`). A
`writer` grows the text. For languages of registers `lowering` first makes `instructions` of
straight statements, with `elementwise`, `masks` and `shared` for maps, conditions, and shared
memory and atomics. A kernel comes in, text comes out, or a refusal that names what has no words.
"""

from __future__ import annotations

from pycute_xe.emitting.emitter import Language, emit

__all__ = ["Language", "emit"]
