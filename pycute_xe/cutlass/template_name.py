"""Floor 6: block-2D operations by the text of their C++ templates."""

from __future__ import annotations

import re
from typing import cast, get_args

from pycute_xe.atom.block2d_op import Block2DOp, Kind
from pycute_xe.atom.spelling import as_name
from pycute_xe.errors import CuteError

__all__ = ["KINDS", "WITH_BLOCKS", "form_of", "parse_template_name"]

KINDS = cast("tuple[Kind, ...]", get_args(Kind))
"""The templates by name."""

WITH_BLOCKS = ("XE_LOAD_2D", "XE_LOAD_2D_VNNI")
"""Those that take a block width, for several blocks side by side."""

_EXAMPLES: dict[str, str] = {
    "XE_LOAD_2D": "16,32,32,16",
    "XE_LOAD_2D_VNNI": "16,32,32,16",
    "XE_LOAD_2D_TRANSPOSE": "32,16,8",
    "XE_STORE_2D": "32,8,16",
    "XE_PREFETCH_2D": "16,8,32",
}
_NUMBERS = r"[1-9][0-9]{0,8}"
_GRAMMAR = re.compile(rf"({'|'.join(KINDS)})\s*[<(]\s*({_NUMBERS}(?:\s*,\s*{_NUMBERS})*)\s*[>)]")


def form_of(kind: str) -> str:
    """Return how a template is written, with an example; "" for other names.

    >>> form_of("XE_STORE_2D")
    'XE_STORE_2D<bits,height,width>, such as XE_STORE_2D<32,8,16>'
    """
    if kind not in _EXAMPLES:
        return ""
    block = "[,block_width]" if kind in WITH_BLOCKS else ""
    return f"{kind}<bits,height,width{block}>, such as {kind}<{_EXAMPLES[kind]}>"


def parse_template_name(text: str) -> Block2DOp | None:
    """Return the operation of a text such as ``XE_LOAD_2D<16,32,32,16>``; ``None`` for others.

    Law: ``parse_template_name(str(op)) == op``, and so for ``repr(op)``. Raises `CuteError` for a
    wrong count of numbers, and what `Block2DOp` raises for sizes that no message has.

    >>> parse_template_name("XE_LOAD_2D<16, 32, 32, 16>")
    XE_LOAD_2D(16, 32, 32, 16)
    """
    found = _GRAMMAR.fullmatch(as_name(text).strip())
    if found is None:
        return None
    kind = cast("Kind", found[1])
    numbers = [int(part) for part in found[2].split(",")]
    most = 4 if kind in WITH_BLOCKS else 3
    if not 3 <= len(numbers) <= most:
        raise CuteError(
            "get_atom",
            {"name": text},
            f"{kind} does not take {len(numbers)} numbers",
            f"write {form_of(kind)}",
        )
    bits, height, width = numbers[:3]
    return Block2DOp(kind, bits, height, width, numbers[3] if len(numbers) > 3 else width)
