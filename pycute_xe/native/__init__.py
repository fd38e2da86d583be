"""Intel's graphics compiler: what it makes of a kernel, executed on the machine.

``compile`` gives the machine code as data, ``run`` executes it, ``compare`` holds both against what
`check` and `run` say. Emitted text goes to ``ocloc`` (`compiler`) and comes back as instructions
with typed `operands` (`assembly`); `arithmetic` computes on registers, `messages` hands messages to
`pycute_xe.machine`, and `comparison` drives the threads and holds the results side by side.
"""

from __future__ import annotations

from pycute_xe.native.comparison import Comparison, compare, run
from pycute_xe.native.compiler import Binary, compile, compile_text, missing

__all__ = ["Binary", "Comparison", "compare", "compile", "compile_text", "missing", "run"]
