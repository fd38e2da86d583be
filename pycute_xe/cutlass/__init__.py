"""What CUTLASS calls its atoms: the older XE_2D_* names, the templates, the catalogue.

A name goes in, an atom of `pycute_xe.atom` comes out (`names`, for all in `known_names`). An older
copy is read (`legacy_name`), said by one formula (`legacy_copy`) and lowered to messages
(`legacy_lowering`). `reading` makes values of C++ types and of what CuTe prints: tokens in
`reading_text`, the table of templates in `reading_values`, the kernel of a whole source in
`reading_blocks`.
"""

from __future__ import annotations

from pycute_xe.cutlass.known_names import catalogue
from pycute_xe.cutlass.legacy_copy import LegacyCopyAtom
from pycute_xe.cutlass.legacy_lowering import template_of
from pycute_xe.cutlass.legacy_name import LegacyCopyName, parse_block2d_name, shipped_names
from pycute_xe.cutlass.names import as_atom, get_atom
from pycute_xe.cutlass.reading import from_cute

__all__ = [
    "LegacyCopyAtom",
    "LegacyCopyName",
    "as_atom",
    "catalogue",
    "from_cute",
    "get_atom",
    "parse_block2d_name",
    "shipped_names",
    "template_of",
]
