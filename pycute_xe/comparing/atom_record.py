"""An atom in one line, as a search finds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

from pycute_xe.arch.target import targets
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.atom.copy_atom import CopyAtom
from pycute_xe.atom.linear_copy import LinearCopyAtom
from pycute_xe.atom.mma_atom import MmaAtom
from pycute_xe.comparing.feeding import cost_of
from pycute_xe.cutlass.legacy_copy import LegacyCopyAtom
from pycute_xe.cutlass.legacy_name import LegacyCopyName
from pycute_xe.cutlass.names import get_atom
from pycute_xe.errors import InputError, LegalityError
from pycute_xe.signatures import checked_fields
from pycute_xe.typing import shown

__all__ = [
    "KIND_WORDS",
    "AtomHead",
    "AtomRecord",
    "AtomRecords",
    "describe_atom",
    "head_of",
    "head_of_copy",
    "record_of",
]

Kind = Literal["load", "store", "prefetch", "atomic", "mma"]
AnyAtom = MmaAtom | LegacyCopyAtom | CopyAtom | LinearCopyAtom
_TEMPLATE_MODES: dict[str, Any] = {"XE_LOAD_2D_VNNI": "V", "XE_LOAD_2D_TRANSPOSE": "T"}


@dataclass(frozen=True)
class AtomHead:
    """What the parts of a name say. ``rows`` and ``cols`` count the block in elements of ``bits``.

    They count as the ``shape`` of a copy does; of an MMA they are M and N, and ``bits`` those of A.
    ``mode`` is N, T or V of a block-2D copy, empty for others. ``shipped``: CUTLASS has the name.
    """

    name: str
    kind: Kind
    bits: int
    rows: int
    cols: int
    mode: Literal["N", "T", "V", ""]
    packed: bool
    shipped: bool

    def __str__(self) -> str:
        """The name, which `get_atom` takes."""
        return self.name


@checked_fields
@dataclass(frozen=True)
class AtomRecord(AtomHead):
    """One line about an atom, as `search_atoms` finds it.

    ``faithful``: its layouts say what registers hold. ``targets`` are those that have it, and
    ``messages`` the hardware messages, or instructions, on the first of them. ``feeds`` pairs each
    operand that was asked for with the verdict of `feeds`, and ``moves`` with `Feed.moves`: 0 is
    free, ``None`` impossible. ``is_artefact``: CUTLASS's traits of the name do not map onto the
    block, so layouts here are the document's and not those of C++.
    """

    faithful: bool
    targets: tuple[str, ...]
    messages: int
    feeds: tuple[tuple[str, str], ...] = ()
    moves: tuple[tuple[str, int | None], ...] = ()
    is_artefact: bool = False

    @property
    def costs(self) -> tuple[tuple[str, str], ...]:
        """Each operand with its moves in words: "free", "12 moves", "impossible".

        >>> from pycute_xe.comparing import search_atoms
        >>> mma = "XE_DPAS_TT<8,f32,bf16>"
        >>> search_atoms("XE_2D_U16x16x16_LD_N", feeds=mma, reorder=True)[0].costs
        (('A', 'free'), ('B', '16 moves'))
        """
        moves = dict(self.moves)
        return tuple((operand, cost_of(kind, moves[operand])) for operand, kind in self.feeds)

    def __str__(self) -> str:
        """The name, which `get_atom` takes."""
        return self.name


class AtomRecords(tuple[AtomRecord, ...]):
    """What `search_atoms` found: a tuple with a short ``repr``, a line each for ``print``."""

    __slots__ = ()

    _repr_mimebundle_ = shown

    def __repr__(self) -> str:
        """How many, and the first names.

        >>> AtomRecords([record_of("XE_2D_U16x16x16_LD_V")])
        <1 atom: XE_2D_U16x16x16_LD_V>
        """
        names = ", ".join(record.name for record in self[:3])
        more = ", …" if len(self) > 3 else ""
        count = f"{len(self)} atom{'s'[: len(self) != 1]}"
        return f"<{count}: {names}{more}>" if self else f"<{count}>"

    def __str__(self) -> str:
        """The names, a line each, or a line that says that the tuple is empty."""
        return "\n".join(map(str, self)) or "0 atoms"


KIND_WORDS: dict[str, Callable[[AtomHead], bool]] = {
    "load": lambda r: r.kind == "load",
    "store": lambda r: r.kind == "store",
    "prefetch": lambda r: r.kind == "prefetch",
    "atomic": lambda r: r.kind == "atomic",
    "copy": lambda r: r.kind in ("load", "store"),
    "block2d": lambda r: bool(r.mode),
    "linear": lambda r: not r.mode and r.kind != "mma",
    "transpose": lambda r: r.kind == "load" and r.mode == "T",
    "vnni": lambda r: r.kind == "load" and r.mode == "V",
    "packed": lambda r: r.packed,
    "mma": lambda r: r.kind == "mma",
    "dpas": lambda r: r.kind == "mma",
}
"""What ``kind`` may say, and which atoms it means."""


@cache
def head_of(name: str) -> AtomHead:
    """Return what the parts of a name say; cheap.

    >>> head_of("XE_2D_U16x16x8_LD_T").rows, head_of("XE_DPAS_TT<8,f32,bf16>").bits
    (8, 16)
    """
    atom = get_atom(name)
    if isinstance(atom, MmaAtom):
        shape = atom.operand_shape("D")
        return AtomHead(atom.name, "mma", atom.op.A.bits, *shape, "", False, atom.shipped)
    if isinstance(atom, LinearCopyAtom):
        way: Kind = "store" if atom.op.is_store else "load"
        way = "atomic" if "atomic" in atom.op.moves else way
        return AtomHead(str(atom), way, atom.value_type.bits, *atom.shape, "", False, True)
    return head_of_copy(atom.op if isinstance(atom, CopyAtom) else atom.name)


def head_of_copy(copy: LegacyCopyName | Block2DOp) -> AtomHead:
    """Return what `head_of` says of a block-2D copy, from its parts.

    >>> from pycute_xe.atom import XE_LOAD_2D
    >>> head_of_copy(XE_LOAD_2D(16, 8, 32, 16)) == head_of("XE_LOAD_2D<16,8,32,16>")
    True
    """
    if isinstance(copy, Block2DOp):
        mode = _TEMPLATE_MODES.get(copy.kind, "N")
        shape = copy.height, copy.width
        shipped = not copy.broken_assertions
        return AtomHead(str(copy), copy.message.op, copy.bits, *shape, mode, False, shipped)
    kind: Kind = "prefetch" if copy.is_prefetch else "store" if copy.is_store else "load"
    of_name = copy.mode, copy.packed, copy.shipped
    return AtomHead(str(copy), kind, copy.bits, *copy.logical_shape, *of_name)


def describe_atom(atom: str | AnyAtom) -> AtomRecord:
    """Return the line about an atom, or about any name that `get_atom` takes.

    ``bits``, ``rows`` and ``cols`` are those of the name; the rest is true of the atom as it is,
    its value type and strides included. An older name that no target can move has no targets, no
    messages, and is not faithful. Raises `InputError` for what is neither.

    >>> record = describe_atom("XE_2D_U16x16x16_LD_V")
    >>> record.kind, record.rows, record.cols, record.mode, record.faithful, record.messages
    ('load', 16, 16, 'V', False, 1)
    """
    if isinstance(atom, str):
        return record_of(atom)
    _demand_atom(atom)
    return _record(head_of(str(atom)), atom)


def _demand_atom(value: Any) -> None:
    if not isinstance(value, AnyAtom):
        raise InputError(
            "describe_atom",
            {"atom": value},
            "atom must be an atom or the name of one",
            "give a name, such as XE_2D_U16x32x16_LD_V",
        )


@cache
def record_of(name: str) -> AtomRecord:
    """Return what `describe_atom` says of a name, worked out once.

    >>> record_of("XE_2D_U16x16x16_LD_V").targets[0]
    'pvc'
    """
    return _record(head_of(name), get_atom(name))


def _record(head: AtomHead, atom: AnyAtom) -> AtomRecord:
    of_name = asdict(head)
    if isinstance(atom, MmaAtom):
        legal = tuple(target for target in targets() if not atom.op.broken_rules(target))
        return AtomRecord(**of_name, faithful=atom.faithful, targets=legal, messages=1)
    legal, count = _legal(atom)
    return AtomRecord(
        **of_name,
        faithful=bool(legal) and atom.faithful,
        targets=legal,
        messages=count,
        is_artefact=isinstance(atom, LegacyCopyAtom) and atom.is_artefact,
    )


def _legal(atom: CopyAnswers) -> tuple[tuple[str, ...], int]:
    """The targets that can move its block, and how many messages the first of them needs."""
    legal: list[str] = []
    count = 0
    for target in targets():
        try:
            messages = atom.messages(target)
        except LegalityError:
            continue
        legal.append(target)
        count = count or len(messages)
    return tuple(legal), count
