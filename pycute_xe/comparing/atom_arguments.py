"""Atoms as users give them: as values, as operations, by name."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from pycute_xe.arch.dpas import Dpas
from pycute_xe.arch.target import targets
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_answers import PlacedMessage
from pycute_xe.atom.copy_atom import CopyAtom, make_copy_atom
from pycute_xe.atom.mma_atom import MmaAtom
from pycute_xe.cutlass.known_names import parse_template_name
from pycute_xe.cutlass.legacy_copy import LegacyCopyAtom
from pycute_xe.cutlass.legacy_lowering import op_of
from pycute_xe.cutlass.names import get_atom
from pycute_xe.errors import CuteError, DTypeError, LegalityError
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["Copy", "as_copy_atom", "as_mma_atom", "direction", "first_messages", "name_of"]

Copy = CopyAtom | LegacyCopyAtom


def as_mma_atom(given: object, operation: str) -> MmaAtom:
    """Return the MMA atom of an atom, a DPAS or a name; raise `CuteError` for anything else.

    >>> as_mma_atom("XE_DPAS_TT<8,f32,bf16>", "feeds").shape_mnk
    (8, 16, 16)
    """
    atom = get_atom(given) if isinstance(given, str) else given
    if isinstance(atom, Dpas):
        return MmaAtom(atom)
    if isinstance(atom, MmaAtom):
        return atom
    raise CuteError(
        operation,
        {"mma": given},
        f"{type(atom).__name__} is not an MMA atom",
        "give the copy first, then the MMA: XE_DPAS_TT<8,f32,bf16>",
    )


def as_copy_atom(given: object, operation: str, wanted: Numeric | None = None) -> Copy:
    """Return the block-2D copy atom of an atom, an operation or a name.

    Law: all spellings of one copy give one atom. What carries no type of its own, a name, an
    operation or an atom of the type that `get_atom` takes where none is given, carries values of
    the ``wanted`` type where it may.
    Raises `CuteError` for anything else.

    >>> from pycute_xe.atom import XE_LOAD_2D_TRANSPOSE
    >>> from pycute_xe.numeric import as_numeric
    >>> as_copy_atom("XE_2D_U16x8x16_LD_N", "feeds", as_numeric("s8")).shape
    (8, 32)
    >>> bf16, op = as_numeric("bf16"), XE_LOAD_2D_TRANSPOSE(32, 16, 8)
    >>> as_copy_atom(op, "feeds", bf16) == as_copy_atom(str(op), "feeds", bf16)
    True
    """
    atom = (parse_template_name(given) or get_atom(given)) if isinstance(given, str) else given
    if isinstance(atom, Block2DOp):
        return _of_operation(atom, wanted)
    if isinstance(atom, CopyAtom | LegacyCopyAtom):
        return atom if wanted is None else _carrying(atom, wanted)
    raise CuteError(
        operation,
        {"copy": given},
        f"{type(atom).__name__} is not a block-2D copy atom",
        "write a name such as XE_2D_U16x32x16_LD_N, or make_copy_atom(XE_LOAD_2D(16, 32, 16), "
        "'bf16')",
    )


def _of_operation(op: Block2DOp, wanted: Numeric | None) -> CopyAtom:
    """The atom of an operation, of the type that is wanted if it tiles its elements."""
    carries = wanted is not None and op.bits % wanted.bits == 0
    return make_copy_atom(op, wanted if wanted and carries else f"u{op.bits}")


def _carrying(copy: Copy, wanted: Numeric) -> Copy:
    """The copy with values of a type, if it may carry them and has no type of its own."""
    legacy = isinstance(copy, LegacyCopyAtom)
    if copy.value_type != (copy.name.value_type if legacy else as_numeric(f"u{copy.op.bits}")):
        return copy
    with suppress(DTypeError):
        return replace(copy, value_type=wanted)
    return copy


def direction(copy: Copy) -> str:
    """Return "load", "store" or "prefetch"."""
    return op_of(copy.name) if isinstance(copy, LegacyCopyAtom) else copy.op.message.op


def first_messages(copy: Copy) -> tuple[tuple[PlacedMessage, ...], str]:
    """Return the messages on the first target that takes them, else the rule that forbids them.

    >>> first_messages(as_copy_atom("XE_2D_U32x16x16_LD_V", "feeds"))[1].split(":")[0]
    'vnni-bits'
    """
    why = ""
    for target in targets().values():
        try:
            return copy.messages(target), ""
        except LegalityError as error:
            why = why or error.condition
    return (), why


def name_of(copy: Copy) -> str:
    """Return the name CUTLASS has for the operation."""
    return str(copy.name if isinstance(copy, LegacyCopyAtom) else copy.op)
