"""The operations of block-2D copies, as the newer templates name them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pycute_xe.arch.block2d import Block2D
from pycute_xe.arch.rules import Broken, judge, rules
from pycute_xe.atom.register_picture import ANY_TARGET
from pycute_xe.errors import DivisibilityError, DTypeError, ShapeError, meant, with_article
from pycute_xe.layout import Layout
from pycute_xe.numeric import as_numeric
from pycute_xe.signatures import typed, typed_fields
from pycute_xe.typing import shown

__all__ = [
    "XE_LOAD_2D",
    "XE_LOAD_2D_TRANSPOSE",
    "XE_LOAD_2D_VNNI",
    "XE_PREFETCH_2D",
    "XE_STORE_2D",
    "Block2DOp",
    "Kind",
]

Kind = Literal[
    "XE_LOAD_2D", "XE_LOAD_2D_VNNI", "XE_LOAD_2D_TRANSPOSE", "XE_STORE_2D", "XE_PREFETCH_2D"
]


@typed_fields
@dataclass(frozen=True)
class Block2DOp:
    """One block-2D operation: kind, bits of an element, rows, elements per row, block width.

    Built by the functions named as in CUTLASS. Law: ``op.message`` is the LSC message it issues.
    Raises `DivisibilityError` when the block width does not divide the width, `ShapeError` for
    sizes that are not integers, and what the message raises for fields no message has.
    Counterpart: ``copy_xe_2d.hpp``.

    >>> XE_LOAD_2D(16, 32, 32, 16).block_count
    2
    """

    kind: Kind
    bits: int
    height: int
    width: int
    block_width: int

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Check the numbers and the block width, and let the message check the rest."""
        sizes = {name: getattr(self, name) for name in ("bits", "height", "width", "block_width")}
        for name, given in sizes.items():
            if type(given) is not int:
                reason = f"{name} is {with_article(type(given).__name__)}, not an integer"
                raise ShapeError(self.kind, sizes, reason, f"write {name}={_integer_for(given)}")
        if self.block_width < 1 or self.width % self.block_width:
            raise DivisibilityError(
                self.kind,
                {"width": self.width, "block_width": self.block_width},
                "the block width does not divide the width",
                "use a divisor of the width",
            )
        _ = self.message

    @property
    def block_count(self) -> int:
        """The number of blocks side by side."""
        return self.width // self.block_width

    @property
    def is_store(self) -> bool:
        """Whether data moves from registers to memory."""
        return self.kind == "XE_STORE_2D"

    @cached_property
    def message(self) -> Block2D:
        """The LSC message: widths there count one block."""
        op: Literal["load", "store", "prefetch"] = "load"
        if self.is_store:
            op = "store"
        elif self.kind == "XE_PREFETCH_2D":
            op = "prefetch"
        return Block2D(
            op,
            self.bits,
            self.height,
            self.block_width,
            self.block_count,
            transpose=self.kind == "XE_LOAD_2D_TRANSPOSE",
            vnni=self.kind == "XE_LOAD_2D_VNNI",
        )

    @property
    def broken_assertions(self) -> tuple[Broken, ...]:
        """What CUTLASS's template asserts and these sizes break: C++ does not compile it.

        >>> XE_LOAD_2D_TRANSPOSE(64, 8, 4).broken_assertions[0].condition
        'width is 4, must be at most 3'
        """
        message = self.message
        return judge(rules("block2d", "template", ANY_TARGET, message.op), message.quantities)

    @cached_property
    def packed_order(self) -> Layout:
        """Element number in the registers, packed densely → ``x + width * y``.

        This is the order CUTLASS assumes; the message itself may leave gaps (`Block2D.position`).
        """
        w, h, bw, n = self.width, self.height, self.block_width, self.block_count
        if self.kind == "XE_LOAD_2D_TRANSPOSE":
            return Layout((h, w), (w, 1))
        if self.kind == "XE_LOAD_2D_VNNI":
            pack = max(1, 32 // self.bits)  # no message packs wider elements: its rules tell
            if h % pack:
                raise DivisibilityError(
                    self.kind,
                    {"height": h, "bits": self.bits},
                    f"VNNI packs {pack} rows into a dword",
                    f"use a height that is a multiple of {pack}",
                )
            return Layout((pack, bw, h // pack, n), (w, 1, w * pack, bw))
        return Layout((bw, h, n), (1, w, bw))

    def __repr__(self) -> str:
        """The call that builds it."""
        sizes = [self.bits, self.height, self.width]
        if self.block_width != self.width:
            sizes.append(self.block_width)
        return f"{self.kind}({', '.join(map(str, sizes))})"

    def to_cpp(self) -> str:
        """Return the C++ type, which is also what it prints.

        >>> XE_LOAD_2D(16, 32, 32, 16).to_cpp()
        'XE_LOAD_2D<16,32,32,16>'
        """
        return str(self)

    def __str__(self) -> str:
        """As C++ names the type."""
        return repr(self).replace("(", "<").replace(")", ">").replace(" ", "")


def _integer_for(given: Any) -> int | str:
    """The integer that was meant by something else: by its value, or a type's bits."""
    if meant(given):
        return meant(given)
    try:
        return as_numeric(given).bits
    except DTypeError:
        return "16, an integer"


@typed
def XE_LOAD_2D(bits: int, height: int, width: int, block_width: int | None = None) -> Block2DOp:
    """Load ``height`` rows of ``width`` elements as they lie in memory.

    ``bits`` of an element: 8, 16, 32 or 64. Raises as `Block2DOp` does.

    >>> print(XE_LOAD_2D(16, 32, 32, 16))
    XE_LOAD_2D<16,32,32,16>
    """
    return Block2DOp(
        "XE_LOAD_2D", bits, height, width, width if block_width is None else block_width
    )


@typed
def XE_LOAD_2D_VNNI(
    bits: int, height: int, width: int, block_width: int | None = None
) -> Block2DOp:
    """Load a block and pack rows into dwords: the order DPAS wants of B. ``bits``: 8 or 16.

    >>> XE_LOAD_2D_VNNI(16, 16, 32, 16)
    XE_LOAD_2D_VNNI(16, 16, 32, 16)
    """
    return Block2DOp(
        "XE_LOAD_2D_VNNI", bits, height, width, width if block_width is None else block_width
    )


@typed
def XE_LOAD_2D_TRANSPOSE(bits: int, height: int, width: int) -> Block2DOp:
    """Load a block transposed: each memory column becomes a register row. ``bits``: 32 or 64.

    >>> XE_LOAD_2D_TRANSPOSE(32, 16, 8)
    XE_LOAD_2D_TRANSPOSE(32, 16, 8)
    """
    return Block2DOp("XE_LOAD_2D_TRANSPOSE", bits, height, width, width)


@typed
def XE_STORE_2D(bits: int, height: int, width: int) -> Block2DOp:
    """Store ``height`` rows of ``width`` elements.

    >>> XE_STORE_2D(32, 8, 16).message.op
    'store'
    """
    return Block2DOp("XE_STORE_2D", bits, height, width, width)


@typed
def XE_PREFETCH_2D(bits: int, height: int, width: int) -> Block2DOp:
    """Bring a block into the cache; no register changes.

    >>> XE_PREFETCH_2D(16, 8, 32).message.op
    'prefetch'
    """
    return Block2DOp("XE_PREFETCH_2D", bits, height, width, width)


# ------------------------------------------------------------ dealing
# How the elements of a message are dealt out to 16 work-items.
