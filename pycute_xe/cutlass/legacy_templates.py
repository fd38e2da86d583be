"""Floor 6: the template operation that sends the message of an older name."""

from __future__ import annotations

from typing import Literal

from pycute_xe.arch.block2d import Block2D
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.cutlass.legacy_lowering import messages_of
from pycute_xe.cutlass.legacy_name import LegacyCopyName, parse_block2d_name
from pycute_xe.errors import CuteError
from pycute_xe.signatures import typed

__all__ = ["template_of"]

Kind = Literal[
    "XE_LOAD_2D", "XE_LOAD_2D_VNNI", "XE_LOAD_2D_TRANSPOSE", "XE_STORE_2D", "XE_PREFETCH_2D"
]


@typed
def template_of(name: str | LegacyCopyName) -> Block2DOp:
    """Return the template operation that sends the messages of an older block-2D name.

    Law: ``template_of(name).message`` is the message of the name, one of them where the name needs
    several alike; what lands in registers is what `LegacyCopyAtom.registers` shows. Older layouts
    that say otherwise are left behind. Sizes count elements of the message: dwords for LD_T of
    narrower ones, bytes for U4. Raises `CuteError` for other names and for a block that needs
    messages of several sizes. C++: ``XE_LOAD_2D<…>`` in place of ``XE_2D_…``.

    >>> template_of("XE_2D_U16x32x16_LD_V"), template_of("XE_2D_U16x16x16_LD_T")
    (XE_LOAD_2D_VNNI(16, 32, 16), XE_LOAD_2D_TRANSPOSE(32, 16, 8))
    """
    parsed = name if isinstance(name, LegacyCopyName) else parse_block2d_name(name)
    sent = {placed.message for placed in messages_of(parsed)}
    if len(sent) > 1:
        raise CuteError(
            "template_of",
            {"name": parsed},
            "its block needs messages of several sizes: " + ", ".join(sorted(map(str, sent))),
            "use a name of a smaller block",
        )
    (message,) = sent
    width = message.width * message.count
    return Block2DOp(_kind(message), message.bits, message.height, width, message.width)


def _kind(message: Block2D) -> Kind:
    if message.op == "store":
        return "XE_STORE_2D"
    if message.op == "prefetch":
        return "XE_PREFETCH_2D"
    if message.transpose:
        return "XE_LOAD_2D_TRANSPOSE"
    return "XE_LOAD_2D_VNNI" if message.vnni else "XE_LOAD_2D"
