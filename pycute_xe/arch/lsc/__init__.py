"""LSC messages as values: vISA text both ways, legality on a target, register counts.

The load/store cache (LSC) units move everything between registers and memory. Text goes through
`parsing` to a `message` made of `fields`, and back by `parts`; `legality` lists the rules it breaks
on a target; `decoding` and `descriptor` turn it into the numbers of a binary and of a send, and
back. What a message does is executed by `pycute_xe.machine`.
"""

from __future__ import annotations

from pycute_xe.arch.lsc.decoding import Encoding, Field, Tables, decode, encode
from pycute_xe.arch.lsc.descriptor import (
    Descriptor,
    Words,
    decode_descriptor,
    descriptor_of,
    encode_descriptor,
    sub_operations,
)
from pycute_xe.arch.lsc.fields import Address, DataType, Operation, get_operation, operations
from pycute_xe.arch.lsc.message import Block2DMessage, Message
from pycute_xe.arch.lsc.parsing import parse

__all__ = [
    "Address",
    "Block2DMessage",
    "DataType",
    "Descriptor",
    "Encoding",
    "Field",
    "Message",
    "Operation",
    "Tables",
    "Words",
    "decode",
    "decode_descriptor",
    "descriptor_of",
    "encode",
    "encode_descriptor",
    "get_operation",
    "operations",
    "parse",
    "sub_operations",
]
