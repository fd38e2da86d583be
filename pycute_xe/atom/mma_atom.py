"""An MMA atom, one DPAS instruction with the work-items that own its operands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, cast

from pycute_xe.algebra import coalesce, composition, right_inverse
from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom.register_picture import SUBGROUP, Place, RegisterPicture
from pycute_xe.bulk import entries
from pycute_xe.errors import CoordError, CuteError, InputError, ShapeError, meant, quoted
from pycute_xe.facts import Row, rows
from pycute_xe.layout import Layout, size
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed, typed_fields
from pycute_xe.typing import named, shown

__all__ = ["XE_DPAS_TT", "MmaAtom", "Operand", "make_mma_atom"]

Operand = Literal["A", "B", "C", "D"]


@typed
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
        fix = f"write {meant(M)}" if meant(M) else "give M, 1 to 8, before the types"
        raise ShapeError("XE_DPAS_TT", {"M": M}, f"{quoted(M)} is not an integer", fix)
    a, d = as_numeric(A), as_numeric(D)
    return Dpas(
        M, d, a, as_numeric(B) if B is not None else a, as_numeric(C) if C is not None else d
    )


@typed_fields
@dataclass(frozen=True)
class MmaAtom:
    """A DPAS with the (work-item, value) layouts of its operands.

    ``tv_layout_A`` maps to ``m + M * k``, ``tv_layout_B`` to ``n + N * k`` and ``tv_layout_C`` to
    ``m + M * n``, in elements: element ``i`` of an operand's registers belongs to work-item ``i mod
    16``, or byte ``i`` below 8 bits. A ``legacy`` atom has the layouts of CUTLASS's older atoms,
    where the VNNI packing of B hides inside the value order and 8-bit elements of A come in pairs.
    C++: ``MMA_Atom``, ``MMA_Traits``.

    >>> atom = make_mma_atom(XE_DPAS_TT(8, "f32", "bf16"))
    >>> print(atom.tv_layout_A, atom.tv_layout_B)
    (16,8):(8,1) ((2,8),(2,8)):((16,1),(8,32))
    """

    op: Dpas
    legacy: bool = False

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Refuse anything but a DPAS, such as a copy atom."""
        if type(self.op) is not Dpas:
            condition = f"{type(self.op).__name__} is not an MMA operation"
            fix = "use XE_DPAS_TT(8, 'f32', 'bf16') or its atom"
            raise CuteError("make_mma_atom", {"op": self.op}, condition, fix)
        if type(self.legacy) is not bool:
            kind = type(self.legacy).__name__
            raise InputError("MmaAtom", {"legacy": kind}, f"legacy is a {kind}", "give a bool")

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
        bits = self.op.A.bits
        if not self.legacy:
            return _dealt(self.op.position_A, bits)
        count = size(self.op.position_A)
        if count < SUBGROUP:  # the older atoms repeat elements in the other work-items
            return Layout(((count, SUBGROUP // count), 1), ((1, 0), 0))
        unit = cast("int", self.fact["unit_bits"]) if self.fact else bits
        return _dealt(self.op.position_A, bits, unit)

    @cached_property
    def fact(self) -> Row | None:
        """The row of ``atoms/dpas.toml`` for the types of an older name, ``None`` without one."""
        op = self.op
        types = tuple(t.name for t in (op.D, op.A, op.B, op.C))
        return next((row for row in rows("dpas", "older_name") if row["types"] == types), None)

    @property
    def shipped(self) -> bool:
        """Whether CUTLASS has an operation of this name.

        >>> from pycute_xe.cutlass import get_atom
        >>> get_atom("XE_3x16x16_F32BF16BF16F32_TT").shipped
        False
        """
        if not self.legacy:
            return True
        return self.fact is not None and self.op.M in cast("tuple[int, ...]", self.fact["m"])

    @cached_property
    def tv_layout_B(self) -> Layout:
        """(work-item, value) → ``n + N * k``."""
        if self.legacy:
            return Layout(self.shape_mnk[1:])
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
        return not self.differences

    def faithful_units(self, operand: Operand) -> tuple[int, ...]:
        """Return the widths in bits, of 8 to 64, in which registers show the layout of an operand.

        A work-item that reads its registers in elements of such a width finds the values that
        `ownership` says, in that order. Raises `ShapeError` for another operand.

        >>> from pycute_xe.cutlass import get_atom
        >>> older = get_atom("XE_8x16x32_S32S8S8S32_TT")
        >>> [older.faithful_units(operand) for operand in "ABC"]
        [(16,), (32,), (32,)]
        """
        return self.registers(operand).units_of(self.ownership(operand))

    def unit_bits(self, operand: Operand) -> int:
        """Return the width in bits in which work-items read the registers of an operand.

        The least of `faithful_units`; without one, an element, or a byte below 8 bits.

        >>> make_mma_atom(XE_DPAS_TT(8, "f32", "bf16")).unit_bits("B")
        16
        """
        units = self.faithful_units(operand)
        return units[0] if units else max(8, self.operand_type(operand).bits)

    @property
    def readable(self) -> bool:
        """Whether each operand has a width in which registers show its layout.

        >>> from pycute_xe.cutlass import get_atom
        >>> older = [get_atom(f"XE_{m}x16x8_F32TF32TF32F32_TT") for m in (1, 2)]
        >>> [atom.readable for atom in older]
        [False, True]
        """
        return all(self.faithful_units(operand) for operand in ("A", "B", "C", "D"))

    @property
    def by_registers(self) -> MmaAtom:
        """The same instruction, its layouts those of its registers: older ones hide B's packing."""
        return replace(self, legacy=False) if self.legacy else self

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user of this atom should know, in words, one thing each.

        >>> make_mma_atom(XE_DPAS_TT(8, "f32", "bf16")).notes
        ()
        """
        if self.shipped:
            return self.differences
        return ("CUTLASS ships no operation of this name", *self.differences)

    @cached_property
    def differences(self) -> tuple[str, ...]:
        """Where the layouts are not the registers, or are those in wider elements, in words.

        >>> make_mma_atom("XE_8x16x16_F32BF16BF16F32_TT").differences
        ('its layout of B is that of registers read in elements of 32 bits, each of 2 rows of a ...
        """
        notes: list[str] = []
        for operand in ("A", "B"):
            unit, bits = self.unit_bits(operand), self.operand_type(operand).bits
            if unit > max(8, bits):
                what = {"A": "adjacent columns", "B": "rows of a column (VNNI)"}[operand]
                notes.append(
                    f"its layout of {operand} is that of registers read in elements of {unit} "
                    f"bits, each of {unit // bits} {what}"
                )
        count = size(self.op.position_A)
        if self.legacy and count < SUBGROUP:
            notes.append(f"its layout of A gives each of {count} elements to two work-items")
        elif size(self.tv_layout_A) != count:
            notes.append(
                f"{self.op.M} rows of {self.op.A} do not fill the last register of 16 work-items: "
                "CuTe's layout of A goes on past them"
            )
        return tuple(notes)

    def operand_shape(self, operand: Operand) -> tuple[int, int]:
        """Return (rows, columns) of an operand as a matrix: A (M, K), B (K, N), C and D (M, N).

        Raises `ShapeError` for another operand.

        >>> make_mma_atom(XE_DPAS_TT(8, "f32", "bf16")).operand_shape("B")
        (16, 16)
        """
        m, n, k = self.shape_mnk
        shapes = {"A": (m, k), "B": (k, n), "C": (m, n), "D": (m, n)}
        if type(operand) is not str or operand not in shapes:
            raise ShapeError("operand_shape", {"operand": operand}, "unknown operand", "A, B, C, D")
        return shapes[operand]

    def operand_type(self, operand: Operand) -> Numeric:
        """Return the element type of an operand; raise `ShapeError` for another operand."""
        self.operand_shape(operand)
        return getattr(self.op, operand)

    def ownership(self, operand: Operand) -> tuple[tuple[Place, ...], ...]:
        """Return for each work-item the (row, column) of each value it is said to own, in order.

        Rows and columns count as in `operand_shape`. Law: agrees with ``tv_layout_*``.
        Raises `ShapeError` for another operand.

        >>> make_mma_atom(XE_DPAS_TT(8, "f32", "bf16")).ownership("B")[0][:3]
        ((0, 0), (0, 8), (2, 0))
        """
        rows_, cols = self.operand_shape(operand)
        layout = {"A": self.tv_layout_A, "B": self.tv_layout_B}.get(operand, self.tv_layout_C)
        offsets = entries(layout)
        if operand == "B":
            places = [divmod(offset, cols) for offset in offsets]
        else:
            places = [(offset % rows_, offset // rows_) for offset in offsets]
        return tuple(tuple(places[lane::SUBGROUP]) for lane in range(SUBGROUP))

    def owner_of(self, operand: Operand, row: int, col: int) -> tuple[int, int]:
        """Return (work-item, value) that an element of an operand is said to belong to.

        Law: ``ownership(operand)[work_item][value] == (row, col)``. Raises `CoordError` outside the
        operand, `ShapeError` for another operand.

        >>> make_mma_atom(XE_DPAS_TT(8, "f32", "bf16")).owner_of("B", 1, 0)
        (1, 0)
        """
        for work_item, places in enumerate(self.ownership(operand)):
            if (row, col) in places:
                return work_item, places.index((row, col))
        raise CoordError(
            "owner_of",
            {"atom": self.name, "operand": operand, "row": row, "col": col},
            "{} has {} rows and {} columns".format(operand, *self.operand_shape(operand)),
            "count from 0",
        )

    def registers(self, operand: Operand) -> RegisterPicture:
        """Return where the instruction finds or leaves the elements of an operand.

        Raises `ShapeError` for another operand.

        >>> atom = make_mma_atom(XE_DPAS_TT(8, "f32", "bf16"))
        >>> atom.registers("B").slots[:4], atom.registers("B").registers
        (((0, 0), (1, 0), (0, 1), (1, 1)), 8)
        """
        rows_, cols = self.operand_shape(operand)
        positions = {"A": self.op.position_A, "B": self.op.position_B}
        position = positions.get(operand, self.op.position_C)
        slots: list[Place | None] = [None] * size(position)
        for offset in range(size(position)):
            col, row = divmod(offset, rows_)
            if operand == "B":
                row, col = divmod(offset, cols)
            slots[position(offset)] = row, col
        return RegisterPicture(self.operand_type(operand).bits, tuple(slots))

    def to_cpp(self) -> str:
        """Return the C++ type: ``MMA_Atom`` of the operation.

        >>> make_mma_atom(XE_DPAS_TT(8, "f32", "f16")).to_cpp()
        'MMA_Atom<XE_DPAS_TT<8,float,half_t,half_t,float>>'
        """
        return f"MMA_Atom<{self.name if self.legacy else self.op.to_cpp()}>"

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


def _dealt(position: Layout, bits: int, unit_bits: int = 8) -> Layout:
    """Invert coordinate → register element and deal the elements, or bytes, to 16 work-items.

    ``unit_bits``: the least that is dealt as one. A last round that not every work-item takes part
    in is dealt whole, as C++ does.
    """
    packed = max(1, unit_bits // bits)
    values = -(-size(position) // SUBGROUP)
    rounds = -(-values // packed)
    shape = (SUBGROUP, (packed, rounds))
    slots = Layout(shape, (packed, (1, packed * SUBGROUP)))
    return coalesce(composition(right_inverse(position), slots), (1, 1))


@typed
def make_mma_atom(op: Dpas | MmaAtom | str) -> MmaAtom:
    """Return the atom of a DPAS operation or of a name; an atom is returned as it is.

    Raises `CuteError` for anything else. C++: ``MMA_Atom<Op>``.

    >>> make_mma_atom(XE_DPAS_TT(4, "f32", "f16")).shape_mnk
    (4, 16, 16)
    >>> make_mma_atom("XE_8x16x16_F32BF16BF16F32_TT").legacy
    True
    """
    operation = named(op)
    return operation if isinstance(operation, MmaAtom) else MmaAtom(operation)
