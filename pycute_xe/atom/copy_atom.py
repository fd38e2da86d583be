"""Block-2D copies: operations, and atoms, which are operations with a type of values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from types import FunctionType
from typing import Any, TypeAlias, cast, overload

from pycute_xe.algebra import composition
from pycute_xe.algebra.compose import flat_modes, from_modes, merged, scaled
from pycute_xe.arch.registers import RegisterMap
from pycute_xe.arch.rules import errors
from pycute_xe.arch.target import Target, targets
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_answers import (
    BlockAnswers,
    CopyAnswers,
    PlacedMessage,
    recast_values,
    widened,
)
from pycute_xe.atom.cpp_text import block2d_traits
from pycute_xe.atom.linear_copy import LinearCopyAtom, make_linear_copy_atom
from pycute_xe.atom.linear_op import LinearOp
from pycute_xe.atom.register_picture import (
    ANY_TARGET,
    SUBGROUP,
    Place,
    RegisterPicture,
    places_in,
    slots_in,
)
from pycute_xe.bulk import entries
from pycute_xe.errors import (
    CuteError,
    DivisibilityError,
    DTypeError,
    LegalityError,
)
from pycute_xe.layout import Layout, make_layout, size
from pycute_xe.numeric import Numeric, as_numeric
from pycute_xe.signatures import typed, typed_fields
from pycute_xe.typing import Mode, named

__all__ = [
    "CopyAtom",
    "GivenAtom",
    "GivenBlock",
    "as_copy",
    "as_operation",
    "dealt",
    "make_copy_atom",
]


def dealt(order: Layout, count: int) -> Layout:
    """Deal register elements out, element ``i`` to work-item ``i mod 16`` as value ``i div 16``."""
    lanes = Layout((SUBGROUP, count // SUBGROUP))
    try:
        return composition(order, lanes)
    except DivisibilityError:
        # No layout deals this block out. CUTLASS's traits still have one, which reaches past the
        # block; it is kept, so that `faithful` and `notes` can tell.
        return make_layout(composition(order, lanes[0]), _overshooting(order, lanes[1]))


def _overshooting(order: Layout, values: Layout) -> Layout:
    """Walk ``order`` in steps as CuTe does where its divisibility checks are off."""
    left, step = values.shape, values.stride
    *inner, (_, last) = merged(flat_modes(order))
    out: list[Mode] = []
    for extent, stride in inner:
        reach = min(-(-extent // step), left) if step < extent else 1
        if left % reach:
            condition = f"{left} values in steps of {step} do not walk evenly through {extent}"
            raise DivisibilityError("make_copy_atom", {"order": order}, condition)
        if reach > 1:
            out.append((reach, step * stride))
            left //= reach
        step = -(-step // extent)
    return from_modes([*out, (left, step * last)])


# ------------------------------------------------------------ copy atom


@typed_fields
@dataclass(frozen=True)
class CopyAtom(BlockAnswers):
    """A block-2D operation that moves values of one type between memory and 16 work-items.

    The ``layout_*_tv`` map (work-item, value) to ``x + width * y`` in values of ``value_type``, as
    CUTLASS's traits define them: registers packed densely, element ``i`` with work-item ``i mod
    16``. `register_tv` is what the message does; `faithful` tells whether the two agree.
    Raises `DTypeError` when the type does not fit the operation's elements, `DivisibilityError`
    when the block does not fill 16 work-items. Counterpart: ``Copy_Atom`` and ``Copy_Traits``.

    >>> from pycute_xe.atom import XE_LOAD_2D
    >>> atom = make_copy_atom(XE_LOAD_2D(16, 32, 32, 16), "bf16")
    >>> print(atom.layout_dst_tv, atom.faithful)
    (16,(32,2)):(1,(32,16)) True
    """

    op: Block2DOp
    value_type: Numeric

    def __post_init__(self) -> None:
        """Check the operation, and that values tile its elements."""
        if type(self.op) is not Block2DOp:
            raise CuteError(
                "make_copy_atom",
                {"op": self.op},
                f"{type(self.op).__name__} is not a copy operation",
                "use XE_LOAD_2D(16, 32, 16) or a relative; get_atom(name) is an atom already",
            )
        object.__setattr__(self, "value_type", as_numeric(self.value_type))
        if self.op.bits % self.value_type.bits:
            raise DTypeError(
                "make_copy_atom",
                {"op": self.op, "value_type": self.value_type},
                f"{self.value_type.bits}-bit values do not tile {self.op.bits}-bit elements",
                "use a type whose width divides the operation's bits",
            )
        _ = self.layout_ref_tv

    @property
    def template(self) -> Block2DOp:
        """The operation."""
        return self.op

    @property
    def width(self) -> int:
        """Values per row of the whole block."""
        return self.op.width * self.op.bits // self.value_type.bits

    @property
    def height(self) -> int:
        """Rows of the block."""
        return self.op.height

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the block in memory, in values."""
        return self.height, self.width

    @cached_property
    def layout_ref_tv(self) -> Layout:
        """(work-item, value) → ``x + width * y``, in values."""
        bits = self.value_type.bits
        unit = max(bits, 8)
        order = widened(self.op.packed_order, self.op.bits // unit)
        count = size(order)
        if count % SUBGROUP:
            raise DivisibilityError(
                "make_copy_atom",
                {"op": self.op, "value_type": self.value_type},
                f"{count} register elements do not fill {SUBGROUP} work-items",
                "use a larger block",
            )
        try:
            tv = dealt(order, count)
        except DivisibilityError as error:
            raise DivisibilityError(
                "make_copy_atom",
                {"op": self.op, "value_type": self.value_type},
                f"no layout deals the block out to {SUBGROUP} work-items, nor has C++ one: "
                f"{error.condition}",
                "use a block whose sides are powers of two",
            ) from error
        return recast_values(tv, unit // bits)

    @property
    def is_store(self) -> bool:
        """Whether the operation stores."""
        return self.op.is_store

    @cached_property
    def register_tv(self) -> RegisterMap:
        """Where the message puts each value: ``x + width * y`` → register element, in values."""
        ratio = self.op.bits // self.value_type.bits
        (inner, blocks), rows = self.op.message.position
        # Values inside an element are neighbours both in memory and in the registers.
        x = make_layout(Layout(ratio), scaled(inner, ratio), scaled(blocks, ratio))
        return RegisterMap(make_layout(x, scaled(rows, ratio)), self.value_type.bits)

    @cached_property
    def _owned(self) -> tuple[tuple[Place, ...], ...]:
        places = [divmod(offset, self.width) for offset in entries(self.layout_ref_tv)]
        return tuple(tuple(places[lane::SUBGROUP]) for lane in range(SUBGROUP))

    @cached_property
    def _picture(self) -> RegisterPicture:
        if self.op.kind == "XE_PREFETCH_2D":
            return RegisterPicture(self.value_type.bits, ())
        return RegisterPicture(self.value_type.bits, slots_in(self.places_held))

    @cached_property
    def places_held(self) -> tuple[Place, ...]:
        """The (row, column) of each slot of `registers`; (-1, -1) for padding.

        Raises `LegalityError` where no target has the message.
        """
        if all(errors(self.op.message.broken_rules(target)) for target in targets()):
            self.op.message.check(ANY_TARGET)  # no machine has registers for it: says why
        nbytes = self.op.message.register_bytes(ANY_TARGET)
        return places_in(self.register_tv, self.shape, nbytes)

    def messages(self, target: str | Target) -> tuple[PlacedMessage, ...]:
        """Return the one message of the operation; raise `LegalityError` where a rule forbids it.

        >>> from pycute_xe.atom import XE_LOAD_2D
        >>> print(*make_copy_atom(XE_LOAD_2D(16, 8, 16), "bf16").messages("bmg"))
        lsc_load_block2d.ugm (M1,1) V:d16.1x16x8nn at x 0, y 0
        """
        self.op.message.check(target)
        return (PlacedMessage(self.op.message),)

    @cached_property
    def faithful(self) -> bool:
        """Whether the layouts say what the registers hold, so that a work-item may look inside.

        Raises `LegalityError` where no target has the message; a prefetch fills no registers.

        >>> from pycute_xe.atom import XE_LOAD_2D
        >>> make_copy_atom(XE_LOAD_2D(16, 8, 16, 16), "u16").faithful
        True
        >>> make_copy_atom(XE_LOAD_2D(16, 16, 12), "u16").faithful
        False
        """
        return self.op.kind == "XE_PREFETCH_2D" or self._shown_in(self._picture.unit_bits)

    @property
    def notes_by_subject(self) -> dict[str, str]:
        """What a user of this atom should know, in words: that its layouts ignore padding."""
        try:
            if self.faithful:
                return {}
        except LegalityError:  # no target has the message: asking for it says so
            return {}
        claim = "CUTLASS's layout packs them: work-items hold other values than the layout says"
        return {"registers": f"{self.op} pads its registers, {claim}"}

    @property
    def _operation_cpp(self) -> str:
        return block2d_traits(self.op.to_cpp(), 1, 0, self.value_type.to_cpp(), (0, 0))

    def __repr__(self) -> str:
        """The call that builds it."""
        return f"make_copy_atom({self.op!r}, {self.value_type.name!r})"

    def __str__(self) -> str:
        """The operation, as C++ names the type."""
        return str(self.op)


@overload
@typed
def make_copy_atom(op: Block2DOp, value_type: Numeric | str) -> CopyAtom: ...


@overload
def make_copy_atom(op: LinearOp, value_type: Numeric | str | None = None) -> LinearCopyAtom: ...


@overload
def make_copy_atom(
    op: CopyAnswers | str, value_type: Numeric | str | None = None
) -> CopyAnswers: ...


def make_copy_atom(
    op: Block2DOp | LinearOp | CopyAnswers | str, value_type: Numeric | str | None = None
) -> CopyAnswers:
    """Return the atom of an operation for values of a type. C++: ``Copy_Atom<Op, Type>``.

    A linear operation may do without a type: it then moves values of the smaller of its own. A
    name is that of `get_atom`; an atom keeps its type where none is given.
    Raises as the atoms do, and `CuteError` for a block-2D operation without a type.

    >>> from pycute_xe.atom import (XE_1D_LOAD_GLOBAL, XE_LOAD_2D_VNNI)
    >>> print(make_copy_atom(XE_LOAD_2D_VNNI(16, 16, 32, 16), "bf16").layout_dst_tv)
    ((2,8),(2,8,2)):((32,1),(8,64,16))
    >>> print(make_copy_atom(XE_1D_LOAD_GLOBAL("u16", "u64"), "bf16").layout_dst_tv)
    (16,4):(1,16)
    """
    if isinstance(op, LinearOp):
        return make_linear_copy_atom(op, value_type)
    if isinstance(op, str):
        return as_copy(named(op, value_type), "make_copy_atom")
    if isinstance(op, CopyAnswers):
        kind: Any = None if value_type is None else as_numeric(value_type)
        return op if kind is None else replace(cast("Any", op), value_type=kind)
    maker = cast("object", op)
    if isinstance(maker, FunctionType):
        name = maker.__name__
        wrong = f"{name} is a function, which makes an operation from its sizes"
        fix = f"call it first: make_copy_atom({name}(16, 8, 16), 'bf16')"
        raise CuteError("make_copy_atom", {"op": name}, wrong, fix)
    if value_type is None:
        raise CuteError(
            "make_copy_atom",
            {"op": op},
            "an operation of blocks moves elements of many types",
            'name one: make_copy_atom(op, "bf16")',
        )
    return CopyAtom(op, as_numeric(value_type))


# ------------------------------------------------------------ given
# What calls take for a copy: its name, its operation or its atom.

GivenBlock: TypeAlias = Block2DOp | CopyAnswers | str
GivenAtom: TypeAlias = GivenBlock | LinearOp


def as_copy(given: GivenAtom, operation: str = "make_tiled_copy") -> CopyAnswers:
    """Return the copy atom of an atom, an operation or a name, as `get_atom` takes the name.

    Raises `CuteError` for anything else.

    >>> from pycute_xe.atom import XE_LOAD_2D
    >>> as_copy(XE_LOAD_2D(16, 8, 16)) == as_copy("XE_LOAD_2D<16,8,16>")
    True
    """
    made: object = named(given)
    if isinstance(made, Block2DOp):
        return CopyAtom(made, as_numeric(f"u{made.bits}"))
    if isinstance(made, LinearOp):
        return make_linear_copy_atom(made)
    if isinstance(made, CopyAnswers):
        return made
    raise CuteError(
        operation,
        {"atom": made},
        f"{type(made).__name__} is not a copy atom",
        "use make_copy_atom(XE_LOAD_2D(16, 32, 16), type), get_atom(name) or a relative",
    )


def as_operation(given: GivenBlock, carried: Numeric | None = None) -> Block2DOp:
    """Return the block-2D operation of an operation, an atom or a name.

    ``carried``: the values that are moved; where an atom may carry values wider than its own, the
    elements of the operation are as wide. Raises `CuteError` for anything else and for copies other
    than of blocks, `DTypeError` for values that an atom may not carry.

    >>> as_operation("XE_2D_U16x32x16_LD_V")
    XE_LOAD_2D_VNNI(16, 32, 16)
    >>> as_operation("XE_2D_Packed_U8x8x32_LD_N", as_numeric("bf16"))
    XE_LOAD_2D(16, 8, 16)
    """
    operation: object = named(given)
    if isinstance(operation, Block2DOp):
        return operation
    atom = as_copy(cast("Any", operation))
    op = atom.template
    if carried is None or carried.bits <= atom.value_type.bits:
        return op
    return replace(cast("Any", atom), value_type=carried).template
