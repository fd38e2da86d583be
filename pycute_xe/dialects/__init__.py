"""Layouts of tensors as other projects write them, Triton and the XeGPU dialect of MLIR.

`parse` reads the text of an attribute (`text`, `reading`) into an encoding: a rule that says for a
tensor of any shape who owns what (`triton`, `dpas_encoding`, `growing`). With a shape it is a
`LinearLayout` (`linear`, and `elimination` below it): a coordinate for each bit of register, lane,
warp and block, of which all others are XORs. From there it is a layout of CuTe and back (`digits`).
XeGPU's layouts (`xegpu`) deal out by extents that need not be powers of two. `layout_of` joins an
encoding and a shape (`tensors`), which readers take; `convert` says what it takes to bring a tensor
from one layout into another (`conversion`).
"""

from __future__ import annotations

from pycute_xe.dialects.conversion import Conversion, convert
from pycute_xe.dialects.dpas_encoding import DpasEncoding
from pycute_xe.dialects.linear import LinearLayout
from pycute_xe.dialects.reading import parse
from pycute_xe.dialects.tensors import Distributed, layout_of
from pycute_xe.dialects.triton import Blocked, DotOperand, Linear, Sliced, Subgroup2DBlock
from pycute_xe.dialects.xegpu import XeGpuLayout, XeGpuSlice

__all__ = [
    "Blocked",
    "Conversion",
    "Distributed",
    "DotOperand",
    "DpasEncoding",
    "Linear",
    "LinearLayout",
    "Sliced",
    "Subgroup2DBlock",
    "XeGpuLayout",
    "XeGpuSlice",
    "convert",
    "layout_of",
    "parse",
]
