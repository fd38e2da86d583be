"""Atoms as users give them: as values, as operations, by name."""

from __future__ import annotations

from contextlib import suppress

from pycute_xe.arch.dpas import Dpas
from pycute_xe.arch.target import targets
from pycute_xe.atom.copy_answers import PlacedMessage
from pycute_xe.atom.copy_atom import Block2DOp, CopyAtom, make_copy_atom
from pycute_xe.atom.mma_atom import MmaAtom
from pycute_xe.cutlass.legacy_copy import LegacyCopyAtom
from pycute_xe.cutlass.legacy_lowering import op_of
from pycute_xe.cutlass.names import get_atom
from pycute_xe.errors import CuteError, DTypeError, LegalityError
from pycute_xe.numeric import Numeric

__all__ = ["Copy", "as_copy_atom", "as_mma_atom", "direction", "first_messages", "name_of"]

Copy = CopyAtom | LegacyCopyAtom


def as_mma_atom(given: object, operation: str) -> MmaAtom:
    """Return the MMA atom of an atom, a DPAS or a name; raise `CuteError` for anything else.

    >>> as_mma_atom("XE_DPAS_TT<8,f32,bf16>", "feeds").shape_mnk
    (8, 16, 16)
    """
    found = get_atom(given) if isinstance(given, str) else given
    if isinstance(found, Dpas):
        return MmaAtom(found)
    if isinstance(found, MmaAtom):
        return found
    raise CuteError(
        operation,
        {"mma": given},
        f"{type(found).__name__} is not an MMA atom",
        "give the copy first, then the MMA: XE_DPAS_TT<8,f32,bf16>",
    )


def as_copy_atom(given: object, operation: str, wanted: Numeric | None = None) -> Copy:
    """Return the block-2D copy atom of an atom, an operation or a name.

    Names and operations carry values of the ``wanted`` type where they may, else unsigned ones of
    their own width. Raises `CuteError` for anything else.

    >>> from pycute_xe.numeric import as_numeric
    >>> as_copy_atom("XE_2D_U16x8x16_LD_N", "feeds", as_numeric("s8")).shape
    (8, 32)
    """
    found = given
    if isinstance(given, str):
        found = get_atom(given)
        if isinstance(found, LegacyCopyAtom) and wanted is not None:
            with suppress(DTypeError):  # it cannot carry the type
                found = get_atom(given, wanted)
    elif isinstance(given, Block2DOp):
        found = make_copy_atom(given, f"u{given.bits}")
        if wanted is not None and given.bits % wanted.bits == 0:
            found = make_copy_atom(given, wanted)
    if isinstance(found, CopyAtom | LegacyCopyAtom):
        return found
    raise CuteError(
        operation,
        {"copy": given},
        f"{type(found).__name__} is not a block-2D copy atom",
        "write a name such as XE_2D_U16x32x16_LD_N, or make_copy_atom(XE_LOAD_2D(16, 32, 16), "
        "'bf16')",
    )


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
