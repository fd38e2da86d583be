"""Intel's graphics compiler: what it makes of a kernel, executed on the machine.

``compile`` gives the machine code as data, ``run`` executes it, ``compare`` holds both against what
`check` and `run` say, and ``explain`` says which statement each instruction belongs to;
``toolchains`` are the compilers found. Emitted text goes to ``ocloc`` (`toolchain`, `compiler`) and
comes back as instructions with typed `operands` (`assembly`); `arithmetic` computes on registers,
`messages` hands messages to `pycute_xe.machine`, `comparison` drives the threads, and `judging`
holds the results side by side. `origins` reads what the compiler says of each instruction, and
`explaining` makes an `explained` kernel of it. `timing` runs machine code of any maker clock by
clock (`clocks`).
"""

from __future__ import annotations

from pycute_xe.native.clocks.reading import timing
from pycute_xe.native.clocks.replaying import Hazard, Replay, replay, ways
from pycute_xe.native.clocks.report import Timing
from pycute_xe.native.comparison import run
from pycute_xe.native.compiler import (
    Binary,
    compile as compile,  # a name that Python has too
    compile_text,
)
from pycute_xe.native.explained import Explained
from pycute_xe.native.explaining import explain
from pycute_xe.native.judging import Comparison, compare
from pycute_xe.native.toolchain import Toolchain, missing, toolchains

__all__ = [
    "Binary",
    "Comparison",
    "Explained",
    "Hazard",
    "Replay",
    "Timing",
    "Toolchain",
    "compare",
    "compile_text",
    "explain",
    "missing",
    "replay",
    "run",
    "timing",
    "toolchains",
    "ways",
]
