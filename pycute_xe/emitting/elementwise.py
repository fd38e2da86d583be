"""Floor 9: elementwise statements and conversions, as instructions on registers of 16 elements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pycute_xe.bulk import table
from pycute_xe.emitting.functions import Emit, apply, immediate
from pycute_xe.emitting.instructions import Alu
from pycute_xe.emitting.masking import compared
from pycute_xe.emitting.operands import Number, Place, Scalar, Source, number, place
from pycute_xe.emitting.reading import LANES, Reading, kind_of
from pycute_xe.emitting.registers import Registers
from pycute_xe.emitting.widening import to_tf32, widened
from pycute_xe.errors import KernelError
from pycute_xe.exactness import is_exact
from pycute_xe.kernel import Convert, Element, Expression, Fill, Kernel, Map, Slot
from pycute_xe.kernel.spec.expression import Apply, Const, Rounded, Where
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["converted", "filled", "mapped"]


def filled(registers: Registers, statement: Fill, pattern: int) -> Iterator[Alu]:
    """Yield moves that repeat 32 bits over a fragment."""
    fragment = registers.fragment(statement.fragment)
    dwords, name = -(-fragment.bytes // 4), registers.view(statement.fragment, "ud")
    at = 0
    while at < dwords:
        count = next(n for n in (32, 16, 8, 4, 2, 1) if n <= dwords - at)
        to = place(name, "ud", at, None)
        yield Alu("mov", count, to, (number(pattern, "ud"),))
        at += count


def converted(registers: Registers, statement: Convert) -> Iterator[Alu]:
    """Yield the instructions of a conversion: nearest even, integers saturated."""
    source = registers.fragment(statement.source)
    target = registers.fragment(statement.destination)
    kind = kind_of(target.value_type, target.name)
    view = registers.view(target.name, kind)
    for at in range(0, target.elements, LANES):
        write = _Write(registers)
        value = write.read(source.name, source.value_type, np.arange(at, at + LANES))
        to = place(view, kind, at, None)
        write.narrow(value, source.value_type, target.value_type, to)
        yield from write.out


def mapped(kernel: Kernel, registers: Registers, statement: Map) -> Iterator[Alu]:
    """Yield the instructions of an elementwise statement, 16 elements at a time.

    Raises `KernelError` for destinations other than f32, for functions without a formula here, and
    for gathers that no region reads.
    """
    target = registers.fragment(statement.destination)
    numeric = target.value_type
    kind = numeric.row.visa
    if kind not in ("f", "hf", "bf"):
        raise KernelError(
            "emit",
            {"fragment": target},
            f"elementwise statements are emitted in f32, {target.name} is {numeric}",
            "compute in f32 and convert",
        )
    gathers = {name: table(by) for name, by in statement.gathers}
    for at in range(0, target.elements, LANES):
        places = {
            name: gathers[name][at : at + LANES] if name in gathers else np.arange(at, at + LANES)
            for name in statement.sources
        }
        write = _Write(registers, kernel, places, at)
        to = place(registers.view(target.name, kind), kind, at, None)
        if is_exact(as_numeric("f32"), numeric):
            write.into(statement.value, to)
        else:
            write.rounding(statement.value, numeric, to)
        yield from write.out


class _Write(Reading):
    """The instructions that compute one register of 16 elements."""

    def rounding(self, value: Expression, numeric: Numeric, to: Place) -> None:
        """Compute an expression in f32 and round it once into a destination."""
        at, (held, read) = self.used, self.fresh()
        self.into(value, held)
        if numeric.row.denormal:
            self.alu("mov", to, read)
        else:
            to_tf32(self, at, to)

    def into(self, value: Expression, to: Place) -> None:
        """Compute an expression into a destination."""
        if isinstance(value, Apply):
            before, emit = self.used, Emit(self.alu, self.fresh, self.registers.flags)
            apply(emit, value.function, to, *(self.source(a) for a in value.arguments))
            self.used = before
        elif isinstance(value, Where):
            before = self.used
            self.chosen(value, to)
            self.used = before
        elif isinstance(value, Rounded):
            before = self.used
            self.rounded(value, to)
            self.used = before
        else:
            self.alu("mov", to, self.source(value))

    def held(self, source: Source) -> Place | Scalar:
        """Return where a source can be read with a modifier: a number is moved to a register."""
        if not isinstance(source, Number):
            return source
        to, read = self.fresh()
        self.alu("mov", to, source)
        return read

    def chosen(self, value: Where, to: Place) -> None:
        """Write one of two values by a condition, lane by lane where it names the element."""
        then, otherwise = self.held(self.source(value.then)), self.source(value.otherwise)
        flags = self.registers.flags()
        self.out.append(compared(self.registers, value, self.first))
        self.alu("sel", to, then, otherwise, where=flags)

    def rounded(self, value: Rounded, to: Place) -> None:
        """Write a value rounded to a narrower float and widened again."""
        kind = kind_of(value.to, str(value))
        source = self.source(value.body)
        if value.to.kind != "float":
            raise KernelError(
                "emit",
                {"value": value},
                "elementwise statements are emitted in f32, an integer has another type",
                "convert into a fragment of integers",
            )
        if value.to.name == "f32":
            self.alu("mov", to, source)
            return
        if value.to.name == "tf32":
            at = self.used
            self.alu("mov", self.fresh()[0], source)
            to_tf32(self, at, to)
            return
        source = self.held(source)
        held, _ = self.fresh(kind)
        self.alu("mov", held, source)
        read = self.last("uw" if kind == "bf" else kind)[1]
        self.alu("mov", to, widened(self, read, value.to))

    def source(self, value: Expression) -> Source:
        """Return where an expression can be read, computing it where it has to be."""
        if isinstance(value, Const):
            return immediate(value.value)
        if isinstance(value, Slot):
            numeric = self.registers.fragment(value.fragment).value_type
            found = self.read(value.fragment, numeric, self.places[value.fragment])
            return widened(self, found, numeric)
        if isinstance(value, Element) and not value.at:
            return Scalar(value.operand)
        if isinstance(value, (Apply, Where, Rounded)):
            to, read = self.fresh()
            self.into(value, to)
            return read
        raise KernelError(
            "emit",
            {"value": value},
            f"{type(value).__name__} cannot be written as instructions on registers",
            "use functions of fragments, scalars and numbers",
        )

    def narrow(self, source: Place, given: Numeric, wanted: Numeric, to: Place) -> None:
        """Convert a source of one type into a destination of another."""
        if wanted.kind == "float":
            if given.name == wanted.name:
                self.alu("mov", to, source)
            elif wanted.name == "tf32" and not _kept(given):
                at, (held, _) = self.used, self.fresh()
                self.alu("mov", held, widened(self, source, given))
                to_tf32(self, at, to)
            elif wanted.name != "f32" and not is_exact(given, as_numeric("f32")):
                raise _twice(given, wanted)
            else:
                self.alu("mov", to, widened(self, source, given))
            return
        if given.kind == "float":
            wide, read = self.fresh()
            self.alu("rnde", wide, widened(self, source, given))
            whole = "ud" if wanted.kind == "unsigned" else "d"
            if wanted.bits == 32:
                self.alu("mov.sat", to, read)
                return
            wide, source = self.fresh(whole)
            self.alu("mov.sat", wide, read)
        self.alu("mov.sat", to, source)


def _kept(given: Numeric) -> bool:
    """Whether tf32 holds every value of a type, and none of them as a denormal."""
    return is_exact(given, as_numeric("tf32")) and given.name not in ("bf16", "ue8m0")


def _twice(given: Numeric, wanted: Numeric) -> KernelError:
    return KernelError(
        "emit",
        {"from": given, "to": wanted},
        f"{given} becomes {wanted} by way of f32 and would be rounded twice",
        "convert to f32, or to an integer",
    )
