"""Floor 7: epilogues: what happens to the accumulator before it is stored.

An epilogue is an expression over ``acc`` and elements of operands. Matrices are loaded by the copy
that loads C, vectors as one row of a block, each subgroup its own part; an elementwise statement
computes the expression, conversion comes last.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pycute_xe.atom.reordering import is_identity, reorder
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.exactness import is_exact
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Fragment, Operand, Order, matrix
from pycute_xe.kernel.ir.statements import (
    AtomicStore,
    Convert,
    Load,
    Map,
    Reorder,
    Statement,
    Store,
)
from pycute_xe.kernel.kinds.parts import operand_copy, store_reorder
from pycute_xe.kernel.kinds.reductions import add_reduction, is_reduction
from pycute_xe.kernel.kinds.vectors import vector_copy, vector_gather
from pycute_xe.kernel.spec.expression import (
    Element,
    Expression,
    Slot,
    leaves,
    rebuilt,
    rounded_to,
)
from pycute_xe.kernel.spec.parsing import parse
from pycute_xe.kernel.spec.specification import Claim, Specification
from pycute_xe.kernel.tiles.slots import copy_slots, mma_slots
from pycute_xe.layout import Layout, size
from pycute_xe.numeric import Numeric, as_numeric

__all__ = ["Frame", "Tail"]

F32 = as_numeric("f32")


@dataclass(frozen=True)
class Frame:
    """Where an epilogue stands: the MMA, leading modes, where D's tile begins, declarations.

    ``adds`` says that D is added to, by atomics.
    """

    mma: TiledMma
    lead: tuple[str, ...]
    first: tuple[Index, ...]
    corner: tuple[Index, Index]
    orders: dict[str, Order]
    types: dict[str, Numeric | str]
    outputs: dict[str, Order]
    extents: tuple[str | int, str | int] = ("M", "N")
    adds: bool = False

    @property
    def indices(self) -> tuple[str, ...]:
        """The names of the indices of an element of D."""
        return (*(name.lower() for name in self.lead), "m", "n")

    def type_of(self, name: str) -> Numeric:
        """Return the declared type of an operand; the accumulator's by default."""
        declared = self.types.get(name)
        if declared is not None:
            return as_numeric(declared)
        accumulator = self.mma.atom.op.D
        return accumulator if accumulator.kind == "float" else F32

    def order_of(self, name: str) -> Order:
        """Return the declared order of a matrix; by rows by default."""
        return self.orders.get(name, "row")


@dataclass
class Tail:
    """The operands, fragments and statements behind the main loop, and what they compute."""

    frame: Frame
    inputs: dict[str, Operand] = field(default_factory=dict[str, Operand])
    outs: list[Operand] = field(default_factory=list[Operand])
    fragments: list[Fragment] = field(default_factory=list[Fragment])
    loads: list[Statement] = field(default_factory=list[Statement])
    stores: list[Statement] = field(default_factory=list[Statement])
    values: list[tuple[str, Expression]] = field(default_factory=list[tuple[str, Expression]])
    sums: list[tuple[str, tuple[str, ...], Expression]] = field(
        default_factory=list["tuple[str, tuple[str, ...], Expression]"]
    )
    gathers: dict[str, Layout] = field(default_factory=dict[str, Layout])
    slots: dict[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def read(
        cls,
        frame: Frame,
        text: str | None,
        also: dict[str, str],
        out_type: Numeric,
        copy_d: TiledCopy | None,
    ) -> Tail:
        """Return the epilogue that computes D from a text, and other outputs from theirs."""
        out = cls(frame)
        for name, words in also.items():
            if is_reduction(name):
                add_reduction(out, name, words, out.claimed(text or "acc", out_type))
                continue
            copy = operand_copy(frame.mma, "D", frame.order_of(name), frame.type_of(name), name)
            out.output(name, words, frame.type_of(name), copy, frame.order_of(name))
        copy = copy_d or operand_copy(frame.mma, "D", frame.outputs["D"], out_type)
        out.output("D", text or "acc", out_type, copy, frame.outputs["D"])
        return out

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Inputs in the order of their first use, then outputs, D last."""
        return (*self.inputs.values(), *self.outs)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """Loads first, then a computation and a store for each output."""
        return (*self.loads, *self.stores)

    def specification(self, product: Expression) -> Specification:
        """Return what is computed, with the product in the place of ``acc``."""

        def leaf(x: Element | Slot) -> Expression:
            return product if isinstance(x, Slot) else x

        values = [
            (name, self.frame.indices, self._kept(name, value)) for name, value in self.values
        ]
        claims = (Claim(n, indices, rebuilt(v, leaf)) for n, indices, v in (*self.sums, *values))
        return Specification(tuple(claims))

    def _kept(self, name: str, value: Expression) -> Expression:
        """Return what an output holds at the end, with what it had where it is added to."""
        place = tuple(map(Index, self.frame.indices))
        return Element(name, place) + value if self.frame.adds else value

    def claimed(self, text: str, numeric: Numeric) -> Expression:
        """Return the value that an output of a type gets.

        Integers that the type of the computation does not hold are rounded to it first. An output
        of such integers shows the last bit of each step, so that each is said to be rounded.
        """
        value = self.declared(parse(text, frozenset({"acc"}), self.frame.indices))
        compute = self._compute(value)

        def leaf(x: Element | Slot) -> Expression:
            accumulator = self.frame.mma.atom.op.D
            kind = accumulator if isinstance(x, Slot) else self.frame.type_of(x.operand)
            is_kept = kind.kind == "float" or is_exact(kind, compute)
            return x if is_kept else rounded_to(compute, x)

        if compute.kind == "float":
            is_real = numeric.kind == "float" or is_exact(numeric, compute)
            value = rebuilt(value, leaf, None if is_real else compute)
        return value if numeric == compute else rounded_to(numeric, value)

    def _compute(self, value: Expression) -> Numeric:
        """The type in which a value is computed: integers only where nothing is."""
        accumulator = self.frame.mma.atom.op.D
        return accumulator if value == Slot("acc") or accumulator == F32 else F32

    def output(self, name: str, text: str, numeric: Numeric, copy: TiledCopy, order: Order) -> None:
        """Append what computes an output and stores it."""
        value = self.declared(parse(text, frozenset({"acc"}), self.frame.indices))
        exact, compute = value == Slot("acc"), self._compute(value)
        self.values.append((name, self.claimed(text, numeric)))
        held = self.computed(name, value, compute, last=name == "D")
        if numeric != compute:
            held = self.fragment(f"tEr{name}", numeric)
            source = self.stores[-1].touched.writes[0] if self.stores and not exact else "tCrC"
            self.stores.append(Convert(source, held))
        modes, role = (*self.frame.lead, *self.frame.extents), "inout" if self.frame.adds else "out"
        self.outs.append(matrix(name, numeric, modes, order, role=role))
        self._stored(name, held, numeric, copy)

    def declared(self, value: Expression) -> Expression:
        """Give matrices without indices theirs, and load every operand once."""

        def leaf(x: Element | Slot) -> Expression:
            if isinstance(x, Slot):
                return x
            whole = tuple(map(Index, self.frame.indices))
            place = whole if not x.at and x.operand == "C" else x.at
            self._operand(x.operand, place)
            return Element(x.operand, place)

        return rebuilt(value, leaf)

    def _operand(self, name: str, place: tuple[Index, ...]) -> None:
        frame, numeric = self.frame, self.frame.type_of(name)
        names = tuple(str(index) for index in place)
        known_modes = dict(zip("mn", frame.extents, strict=True))
        modes = tuple(known_modes.get(index, index.upper()) for index in names)
        if names[-2:] == ("m", "n"):
            operand = matrix(name, numeric, modes, frame.order_of(name))
        else:
            operand = Operand(name, numeric, modes)
        known = self.inputs.get(name)
        if known is not None:
            if known != operand:
                raise KernelError(
                    "epilogue",
                    {"operand": name},
                    f"{name} has modes {', '.join(map(str, known.modes))} and is indexed by "
                    f"{', '.join(names) or 'nothing'} too",
                    "index it alike everywhere",
                )
            return
        self.inputs[name] = operand
        if names and set(names) - set(frame.indices[: len(frame.lead)]):
            self._load(operand, names)
        elif names:
            raise KernelError(
                "epilogue",
                {"operand": name},
                f"{name} has one element for each of {', '.join(names)}",
                "use a vector of m or n, a matrix, or a scalar",
            )

    def _load(self, operand: Operand, names: tuple[str, ...]) -> None:
        frame, name = self.frame, operand.name
        first = tuple(
            index
            for index, letter in zip(frame.first, frame.indices, strict=False)
            if letter in names
        )
        if names[-2:] == ("m", "n"):
            self._load_matrix(operand, first)
            return
        letter, rank = names[-1], len(names)
        copy = vector_copy(frame.mma, letter, operand.value_type)
        at = (*first, frame.corner["mn".index(letter)])
        slots = copy.messages * copy.atom.values
        held = self.fragment(f"tEr{name}", operand.value_type, slots)
        self.loads.append(Load(copy, name, at, held, (None, rank - 1)))
        self.slots[name] = held
        self.gathers[held] = vector_gather(frame.mma, letter)

    def _load_matrix(self, operand: Operand, first: tuple[Index, ...]) -> None:
        frame, name, numeric = self.frame, operand.name, operand.value_type
        copy = operand_copy(frame.mma, "C", frame.order_of(name), numeric, name)
        rank = len(operand.modes)
        slots = copy.messages * copy.atom.values
        held = self.fragment(f"tEr{name}", numeric, slots)
        modes = (rank - 2, rank - 1)
        self.loads.append(Load(copy, name, (*first, *frame.corner), held, modes))
        wanted = mma_slots(frame.mma, "C")
        moved = reorder(copy_slots(copy), wanted)
        if not is_identity(moved):
            source, held = held, self.fragment(f"tEa{name}", numeric)
            self.loads.append(Reorder(source, held, moved))
        self.slots[name] = held

    def computed(
        self,
        name: str,
        value: Expression,
        compute: Numeric,
        last: bool = False,
        also_plain: bool = False,
    ) -> str:
        """Append the computation of an expression; return the fragment that holds it.

        The accumulator itself is computed into another type only with ``also_plain``.
        """
        if value == Slot("acc") and not also_plain:
            return "tCrC"
        in_place = last and compute == self.frame.mma.atom.op.D
        held = "tCrC" if in_place else self.fragment(f"tEf{name}", compute)

        self.stores.append(self.mapped(held, value, "tCrC", self.slots))
        return held

    def mapped(self, result: str, value: Expression, acc: str, held: dict[str, str]) -> Map:
        """Return what computes an expression from fragments of the accumulator and of operands."""

        def leaf(x: Element | Slot) -> Expression:
            if isinstance(x, Slot):
                return Slot(acc)
            return Slot(held[x.operand]) if x.at else x

        found = rebuilt(value, leaf)
        used = {x.fragment for x in leaves(found) if isinstance(x, Slot)}
        return Map(result, found, tuple((n, by) for n, by in self.gathers.items() if n in used))

    def _stored(self, name: str, held: str, numeric: Numeric, copy: TiledCopy) -> None:
        frame = self.frame
        slots = store_reorder(frame.mma, copy)
        if slots is not None:
            source, held = held, self.fragment(f"t{name}r{name}", numeric)
            self.stores.append(Reorder(source, held, slots))
        rank = len(frame.lead)
        at = (*frame.first, *frame.corner)
        kind = AtomicStore if frame.adds else Store
        self.stores.append(kind(copy, name, at, held, (rank, rank + 1)))

    def fragment(self, name: str, numeric: Numeric, slots: int | None = None) -> str:
        """Declare a fragment, as large as the accumulator where nothing else is said."""
        count = slots or size(self.frame.mma.fragment("C")[1])
        self.fragments.append(Fragment(name, numeric, count))
        return name
