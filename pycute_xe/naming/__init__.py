"""What a user names: one reading of text for every verb, the command line and the playground.

`texts` decides by its form what a text is: a document, a file, C++, a message of vISA, a tensor of
MLIR, the name of an atom, a kind of kernel, an operation or an expression of the algebra. `kinds`
has the kernel that stands for a kind, and `subjects` the table of what each verb takes:
`subject_of` reads a text for a verb, and refuses by name a value that the verb does not take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycute_xe.deferring import deferred

if TYPE_CHECKING:
    from pycute_xe.naming.kinds import KINDS, default_kernel, default_mma
    from pycute_xe.naming.subjects import (
        TAKES,
        kernel_of,
        kind_of,
        subject_of,
        takes,
    )
    from pycute_xe.naming.texts import applied_in, is_expression, read_content, read_text

__getattr__ = deferred(__name__, __file__)

__all__ = [
    "KINDS",
    "TAKES",
    "applied_in",
    "default_kernel",
    "default_mma",
    "is_expression",
    "kernel_of",
    "kind_of",
    "read_content",
    "read_text",
    "subject_of",
    "takes",
]
