"""Intel's graphics compiler: what it makes of a kernel, executed on the machine.

``compile`` gives the machine code as data, ``run`` executes it, ``compare`` holds both against what
`check` and `run` say.
"""

from __future__ import annotations

from pycute_xe.native.comparing import Comparison, compare, run
from pycute_xe.native.compiling import Binary, compile, compile_text, missing

__all__ = ["Binary", "Comparison", "compare", "compile", "compile_text", "missing", "run"]
