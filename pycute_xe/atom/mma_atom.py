"""Floor 6: an MMA atom, one DPAS instruction with the work-items that own its operands."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pycute_xe.algebra import coalesce, composition, right_inverse
from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom.copy_atom import SUBGROUP
from pycute_xe.errors import CuteError, ShapeError
from pycute_xe.layout import Layout, size
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["XE_DPAS_TT", "MmaAtom", "make_mma_atom"]


def XE_DPAS_TT(
    M: int,
    D: Numeric | str,
    A: Numeric | str,
    B: Numeric | str | None = None,
    C: Numeric | str | None = None,
) -> Dpas:
    """Return the DPAS operation ``D[M,16] = A[M,K] B[K,16] + C[M,16]``.

    M is 1 to 8; K follows from the wider operand: 8 for tf32, 16 for 16-bit types, 32 for 8-bit
    ones, 64 below. B defaults to A's type and C to D's. Raises `DTypeError` for types no DPAS
    takes, `ShapeError` for other M.
    C++: ``XE_DPAS_TT<M, D, A, B, C>``.

    >>> XE_DPAS_TT(8, "f32", "bf16").K
    16
    """
    if type(M) is not int:
        raise ShapeError("XE_DPAS_TT", {"M": M}, f"{M!r} is no integer", "use 1 to 8")
    a, d = as_numeric(A), as_numeric(D)
    return Dpas(
        M, d, a, as_numeric(B) if B is not None else a, as_numeric(C) if C is not None else d
    )


@dataclass(frozen=True)
class MmaAtom:
    """A DPAS with the (work-item, value) layouts of its operands.

    ``tv_layout_A`` maps to ``m + M * k``, ``tv_layout_B`` to ``n + N * k`` and ``tv_layout_C`` to
    ``m + M * n``, in elements: element ``i`` of an operand's registers belongs to work-item ``i mod
    16``, or byte ``i`` below 8 bits. A ``legacy`` atom has the layouts of CUTLASS's older atoms,
    where the VNNI packing of B hides inside the value order. C++: ``MMA_Atom``, ``MMA_Traits``.

    >>> atom = make_mma_atom(XE_DPAS_TT(8, "f32", "bf16"))
    >>> print(atom.tv_layout_A, atom.tv_layout_B)
    (16,8):(8,1) ((2,8),(2,8)):((16,1),(8,32))
    """

    op: Dpas
    legacy: bool = False

    def __post_init__(self) -> None:
        """Refuse what is no DPAS, such as a copy atom."""
        if type(self.op) is not Dpas:
            raise CuteError(
                "make_mma_atom",
                {"op": self.op},
                f"{type(self.op).__name__} is no MMA operation",
                "use XE_DPAS_TT(8, 'f32', 'bf16') or its atom",
            )

    @property
    def shape_mnk(self) -> tuple[int, int, int]:
        """Extents of one instruction: (M, N, K)."""
        return self.op.M, self.op.exec_size, self.op.K

    @property
    def thr_id(self) -> Layout:
        """The 16 work-items of a subgroup."""
        return Layout(SUBGROUP, 1)

    @cached_property
    def tv_layout_A(self) -> Layout:
        """(work-item, value) → ``m + M * k``."""
        return _dealt(self.op.position_A, self.op.A.bits)

    @cached_property
    def tv_layout_B(self) -> Layout:
        """(work-item, value) → ``n + N * k``."""
        if self.legacy:
            _, n, k = self.shape_mnk
            return Layout((n, k))
        return _dealt(self.op.position_B, self.op.B.bits)

    @cached_property
    def tv_layout_C(self) -> Layout:
        """(work-item, value) → ``m + M * n``, of both C and D."""
        return _dealt(self.op.position_C, self.op.C.bits)

    @property
    def faithful(self) -> bool:
        """Whether the layouts say where the instruction finds its operands.

        >>> make_mma_atom(XE_DPAS_TT(3, "f32", "tf32")).faithful
        False
        """
        return not self.notes

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user of this atom should know, in words: where the layouts are not the registers.

        >>> make_mma_atom(XE_DPAS_TT(8, "f32", "bf16")).notes
        ()
        """
        notes: list[str] = []
        if self.legacy and self.tv_layout_B != _dealt(self.op.position_B, self.op.B.bits):
            notes.append(
                "its layout of B hides the VNNI packing: work-items hold other values than it says"
            )
        if size(self.tv_layout_A) != size(self.op.position_A):
            notes.append(
                f"{self.op.M} rows of {self.op.A} do not fill the last register of 16 work-items: "
                "CuTe's layout of A goes on past them"
            )
        return tuple(notes)

    def __repr__(self) -> str:
        """The call that builds it."""
        op = self.op
        types = ", ".join(repr(t.name) for t in (op.D, op.A, op.B, op.C))
        call = f"make_mma_atom(XE_DPAS_TT({op.M}, {types}))"
        return call if not self.legacy else f"get_atom({self.name!r})"

    @property
    def name(self) -> str:
        """The name CUTLASS gives it."""
        op = self.op
        if self.legacy:
            types = "".join(t.name.upper() for t in (op.D, op.A, op.B, op.C))
            return f"XE_{op.M}x{op.exec_size}x{op.K}_{types}_TT"
        return f"XE_DPAS_TT<{op.M},{op.D},{op.A},{op.B},{op.C}>"

    def __str__(self) -> str:
        """The name CUTLASS gives it."""
        return self.name


def _dealt(position: Layout, bits: int) -> Layout:
    """Invert coordinate → register element and deal the elements, or bytes, to 16 work-items.

    A last round that not every work-item takes part in is dealt whole, as C++ does.
    """
    packed = max(1, 8 // bits)
    values = -(-size(position) // SUBGROUP)
    rounds = -(-values // packed)
    shape = (SUBGROUP, (packed, rounds))
    slots = Layout(shape, (packed, (1, packed * SUBGROUP)))
    return coalesce(composition(right_inverse(position), slots), (1, 1))


def make_mma_atom(op: Dpas | MmaAtom) -> MmaAtom:
    """Return the atom of a DPAS operation; an atom is returned as it is. C++: ``MMA_Atom<Op>``.

    >>> make_mma_atom(XE_DPAS_TT(4, "f32", "f16")).shape_mnk
    (4, 16, 16)
    """
    return op if isinstance(op, MmaAtom) else MmaAtom(op)
