"""Block-2D messages and where they put each element in registers, by formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from pycute_xe.arch.registers import RegisterMap
from pycute_xe.arch.rules import (
    Broken,
    Products,
    errors,
    follow,
    judge,
    nearest,
    refuse,
    renamed,
    rules,
)
from pycute_xe.arch.target import Target, get_target, grf_bytes
from pycute_xe.errors import ShapeError
from pycute_xe.layout import Layout
from pycute_xe.signatures import typed_fields
from pycute_xe.typing import shown

__all__ = ["Block2D", "Op", "Surface"]

# ------------------------------------------------------------ surface
# A surface, the rectangle of memory that a block-2D message sees.


@typed_fields
@dataclass(frozen=True, slots=True)
class Surface:
    """Rows of bytes in memory: base address, width in bytes, height in rows, pitch in bytes.

    Row ``y`` occupies bytes ``base + y*pitch … base + y*pitch + width - 1``; a message reads zero
    and drops what it writes elsewhere. Sizes are the true ones: the minus-1 encoding of the
    instruction is left to emission. A surface may be illegal on a target, see `broken_rules`.
    Raises `ShapeError` for negative numbers.
    Documents: vISA manual, LSC_UNTYPED.md; OpenCL extension cl_intel_subgroup_2d_block_io.

    >>> Surface(base=0, width=512, height=128, pitch=512).broken_rules("bmg")
    ()
    """

    base: int
    width: int
    height: int
    pitch: int

    def __post_init__(self) -> None:
        """Refuse negative numbers."""
        if min(self.base, self.width, self.height, self.pitch) < 0:
            raise ShapeError(
                "Surface", self.quantities, "a size or address is negative", "use 0 or more"
            )

    @property
    def quantities(self) -> dict[str, int]:
        """The numbers that rules of surfaces speak about, by name, in bytes and rows."""
        return {
            "base": self.base,
            "width": self.width,
            "height": self.height,
            "pitch": self.pitch,
        }

    def broken_rules(self, target: str | Target) -> tuple[Broken, ...]:
        """Return the rules of a target that the surface breaks, errors first.

        Raises `TargetError` for an unknown target.

        >>> [(b.rule, b.level) for b in Surface(64, 256, 16, 260).broken_rules("bmg")]
        [('pitch-16', 'warning')]
        """
        return judge(rules("block2d", "surface", get_target(target).name), self.quantities)

    def nearest_legal(self, target: str | Target, strict: bool = True) -> Surface:
        """Return the least surface, nowhere smaller than this one, that breaks no rule.

        With ``strict`` no warning is left either. What is padding between the old and the new
        width is the business of whoever moves the bytes.
        Raises `LegalityError` where only a smaller surface would be legal.

        >>> Surface(base=4, width=6, height=3, pitch=6).nearest_legal("pvc")
        Surface(base=64, width=64, height=3, pitch=64)
        """
        levels = ("error", "warning") if strict else ("error",)
        surface_rules = rules("block2d", "surface", get_target(target).name)
        judged = [rule for rule in surface_rules if rule.level in levels]
        values = self.quantities
        for quantity in ("base", "width", "height", "pitch"):
            values[quantity] = nearest(judged, quantity, values)
        return Surface(**values)


# ------------------------------------------------------------ block2d

Op = Literal["load", "store", "prefetch"]

SURFACE = ("base", "width", "height", "pitch")
"""The figures of a surface."""

PRODUCTS: Products = MappingProxyType(
    {
        "element_bytes": (("bits",), 8),
        "width_bytes": (("width", "bits"), 8),
        "row_bytes": (("width", "count", "bits"), 8),
        "column_bytes": (("height", "bits"), 8),
    }
)
"""What rules bound of a message that follows from its fields."""


@typed_fields
@dataclass(frozen=True, slots=True)
class Block2D:
    """A block-2D message: ``count`` blocks side by side, of ``height`` rows of ``width`` elements.

    ``bits`` is the element size (8, 16, 32 or 64); rows are rows in memory, before transposing.
    ``transpose`` writes columns instead of rows to registers, ``vnni`` packs the elements of
    consecutive rows into dwords. A message may be illegal on a target, see `broken_rules`.
    Raises `ShapeError` for what no target could encode.
    Document: vISA manual, LSC_UNTYPED.md. C++: ``XE_LOAD_2D`` and its relatives.

    >>> print(Block2D("load", bits=16, height=32, width=16, count=2))
    lsc_load_block2d.ugm (M1,1) V:d16.2x16x32nn
    """

    op: Op
    bits: int
    height: int
    width: int
    count: int = 1
    transpose: bool = False
    vnni: bool = False

    _repr_mimebundle_ = shown

    def __post_init__(self) -> None:
        """Refuse sizes and operations that do not exist."""
        if self.op not in ("load", "store", "prefetch") or self.bits not in (8, 16, 32, 64):
            raise ShapeError(
                "Block2D",
                {"op": self.op, "bits": self.bits},
                f"{self.op} with elements of {self.bits} bits, an unknown size, is not a message",
                "use load, store or prefetch, and 8, 16, 32 or 64 bits",
            )
        if min(self.height, self.width, self.count) < 1:
            raise ShapeError(
                "Block2D",
                {"height": self.height, "width": self.width, "count": self.count},
                "sizes must be positive",
                "use 1 or more",
            )

    def __str__(self) -> str:
        """Text as the vISA assembler takes it, addresses left out."""
        order = ("t" if self.transpose else "n") + ("t" if self.vnni else "n")
        name = "store" if self.op == "store" else "load"
        data = "%null" if self.op == "prefetch" else "V"
        block = f"d{self.bits}.{self.count}x{self.width}x{self.height}{order}"
        return f"lsc_{name}_block2d.ugm (M1,1) {data}:{block}"

    @property
    def element_bytes(self) -> int:
        """Bytes of one element."""
        return self.bits // 8

    @property
    def per_dword(self) -> int:
        """Elements that VNNI packs into one dword; 1 from 32 bits on."""
        return max(1, 32 // self.bits)

    @property
    def position(self) -> Layout:
        """The register element index of each element: ((x in block, block), y) → index.

        Indices count elements of ``bits``. Rows in registers (columns, if transposed) are padded
        to a power of two and, in loads, blocks to whole registers; VNNI splits y (or x, if
        transposed too) into (row within the dword, dword).
        Law: equal to the index that the LOAD_BLOCK2D pseudo-code of the vISA manual stores to.
        When VNNI packs a height that is not a multiple of the elements in a dword, the domain is
        rounded up: the rows beyond the height are the zeros that fill the last dwords.

        >>> print(Block2D("load", 16, 16, 16, vnni=True).position)
        ((16,1),(2,8)):((2,256),(1,32))
        """
        pack = self.per_dword if self.vnni else 1
        pitch = self._row_pitch
        if self.transpose:
            return Layout(
                ((_split(self.width, pack), self.count), self.height),
                ((_strides(pack, pitch), self._block_pitch), pack),
            )
        return Layout(
            ((self.width, self.count), _split(self.height, pack)),
            ((pack, self._block_pitch), _strides(pack, pitch)),
        )

    @property
    def _row_pitch(self) -> int:
        """Register elements from one row in registers to the next."""
        row = self.height if self.transpose else self.width
        return 1 << (row - 1).bit_length()

    @property
    def _block_pitch(self) -> int:
        """Register elements from one block to the next."""
        pack = self.per_dword if self.vnni else 1
        lines = self.width if self.transpose else self.height
        elements = self._row_pitch * (-(-lines // pack) * pack)
        if self.op == "store":
            return elements
        whole = grf_bytes() // self.element_bytes
        return -(-elements // whole) * whole

    def registers(self, target: str | Target) -> int:
        """Return the registers of the whole message on a target; none for a prefetch.

        >>> Block2D("load", 16, 32, 32).registers("bmg")
        32
        """
        if self.op == "prefetch":
            return 0
        nbytes = self.count * self._block_pitch * self.element_bytes
        return -(-nbytes // get_target(target).grf_bytes)

    def register_bytes(self, target: str | Target) -> int:
        """Return the bytes of the whole message in registers, whole registers on a target.

        >>> Block2D("load", 8, 1, 4, count=2).register_bytes("bmg")
        128
        """
        return self.registers(target) * get_target(target).grf_bytes

    @property
    def register_map(self) -> RegisterMap:
        """Who owns each element of the message, in elements of ``bits``.

        >>> Block2D("load", 16, 2, 12).register_map.owner(12)
        (0, 1)
        """
        whole = grf_bytes() // self.element_bytes
        elements = -(-self.count * self._block_pitch // whole) * whole
        return RegisterMap(self.position, self.bits, elements=elements)

    @property
    def quantities(self) -> dict[str, int]:
        """The numbers that rules of messages speak about, by name."""
        fields = {
            "bits": self.bits,
            "height": self.height,
            "width": self.width,
            "count": self.count,
            "transpose": int(self.transpose),
            "vnni": int(self.vnni),
        }
        return fields | follow(fields, PRODUCTS)

    def broken_rules(self, target: str | Target) -> tuple[Broken, ...]:
        """Return the rules of a target that the message breaks, errors first.

        Raises `TargetError` for an unknown target.

        >>> Block2D("store", 16, 16, 16).broken_rules("pvc")[0].condition
        'height is 16, must be at most 8'
        """
        message_rules = rules("block2d", "message", get_target(target).name, self.op)
        return judge(message_rules, self.quantities, PRODUCTS)

    def check(self, target: str | Target) -> tuple[Broken, ...]:
        """Return the warnings of a legal message; raise `LegalityError` for an illegal one.

        >>> Block2D("load", 16, 32, 32).check("bmg")
        ()
        """
        broken = self.broken_rules(target)
        if errors(broken):
            operands = {"message": self, "target": get_target(target)}
            raise refuse("Block2D.check", operands, errors(broken))
        return broken

    def broken_rules_at(
        self, surface: Surface, x: int, y: int, target: str | Target
    ) -> tuple[Broken, ...]:
        """Return the rules that using the message at an x (elements) and y (rows) breaks.

        These are the rules on the pair only: alignment of x, and of the surface to the elements.

        >>> Block2D("load", 8, 8, 32).broken_rules_at(Surface(0, 64, 8, 64), 2, 0, "bmg")[0].rule
        'x-d8'
        """
        return self.broken_use(surface.quantities, {"x": x, "y": y}, target)

    def broken_use(
        self, surface: Mapping[str, int], at: Mapping[str, int], target: str | Target
    ) -> tuple[Broken, ...]:
        """Return the rules of `broken_rules_at` on those figures that are known.

        >>> Block2D("load", 64, 8, 8).broken_use({"width": 100, "pitch": 100}, {}, "bmg")[0].fix
        'make surface width 104 and surface pitch 104'
        """
        on = get_target(target).name
        known = {f"surface_{name}": value for name, value in surface.items()} | dict(at)
        names = {name: f"surface_{name}" for name in SURFACE}
        beside = renamed(rules("block2d", "surface", on), names)
        return judge(rules("block2d", "use", on, self.op), self.quantities | known, {}, beside)

    def broken_surface(
        self, surface: Mapping[str, int], target: str | Target
    ) -> tuple[Broken, ...]:
        """Return the rules on surfaces that some figures of one break, which this message uses.

        >>> Block2D("load", 64, 8, 8).broken_surface({"width": 98}, "bmg")[0].fix
        'make width 104'
        """
        on = get_target(target).name
        names = {f"surface_{name}": name for name in SURFACE}
        beside = renamed(rules("block2d", "use", on, self.op), names)
        message = {k: v for k, v in self.quantities.items() if k not in SURFACE}
        return judge(rules("block2d", "surface", on), {**message, **surface}, {}, beside)


def _split(extent: int, pack: int) -> int | tuple[int, int]:
    """An extent, as (within the dword, dword) where dwords hold several of its elements."""
    return extent if pack == 1 else (pack, -(-extent // pack))


def _strides(pack: int, pitch: int) -> int | tuple[int, int]:
    """The strides of `_split`: ``pitch`` elements a row, ``pack`` rows a dword row."""
    return pitch if pack == 1 else (1, pitch * pack)
