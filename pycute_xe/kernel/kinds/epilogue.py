"""Epilogues: what happens to the accumulator before it is stored.

An epilogue is an expression over ``acc`` and elements of operands. Matrices are loaded by the copy
that loads C, vectors as one row of a block, each subgroup its own part; an elementwise statement
computes the expression, conversion comes last.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field, replace
from itertools import cycle, product
from math import isnan

import numpy as np

from pycute_xe.atom.block2d_op import XE_STORE_2D
from pycute_xe.atom.copy_atom import make_copy_atom
from pycute_xe.atom.reordering import is_identity, reorder
from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import KernelError
from pycute_xe.identifiers import is_slip
from pycute_xe.kernel.index import Index
from pycute_xe.kernel.ir.operands import Fragment, Operand, Order, matrix
from pycute_xe.kernel.ir.statements import (
    AtomicStore,
    Convert,
    Load,
    Map,
    Reduce,
    Reorder,
    Statement,
    Store,
)
from pycute_xe.kernel.kinds.parts import in_one_pass, operand_copy, store_reorder
from pycute_xe.kernel.kinds.scalars import demand_scalars
from pycute_xe.kernel.kinds.vectors import vector_copy, vector_gather
from pycute_xe.kernel.spec.equations import demand_names, parse
from pycute_xe.kernel.spec.expression import (
    Apply,
    Const,
    Element,
    Expression,
    Rounded,
    Slot,
    leaves,
    rebuilt,
    rounded_to,
    total,
)
from pycute_xe.kernel.spec.functions import function
from pycute_xe.kernel.spec.specification import Claim, Specification
from pycute_xe.kernel.tiles.slots import copy_slots, mma_slots
from pycute_xe.layout import Layout, cosize, size
from pycute_xe.numeric import Numeric, as_numeric, is_exact

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
            if "[" in name:  # a vector of sums is named with its indices
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

        indices, place = self.frame.indices, tuple(map(Index, self.frame.indices))
        values = [  # what is added to keeps what it had
            (name, indices, Element(name, place) + value if self.frame.adds else value)
            for name, value in self.values
        ]
        claims = (Claim(n, at, rebuilt(v, leaf)) for n, at, v in (*self.sums, *values))
        return Specification(tuple(claims))

    def claimed(self, text: str, numeric: Numeric) -> Expression:
        """Return the value that an output of a type gets.

        Integers that the type of the computation does not hold are rounded to it first. An output
        of such integers shows the last bit of each step, so that each is said to be rounded.
        """
        value = self.declared(self.parsed(text))
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
        value = self.declared(self.parsed(text))
        exact, compute = value == Slot("acc"), self._compute(value)
        self.values.append((name, self.claimed(text, numeric)))
        fragment = self.computed(name, value, compute, last=name == "D")
        slots = store_reorder(self.frame.mma, copy)
        if numeric != compute:
            fragment = self.stores[-1].touched.writes[0] if self.stores and not exact else "tCrC"
            if not in_one_pass(slots, compute, numeric):
                source, fragment = fragment, self.fragment(f"tEr{name}", numeric)
                self.stores.append(Convert(source, fragment))
        modes, role = (*self.frame.lead, *self.frame.extents), "inout" if self.frame.adds else "out"
        self.outs.append(matrix(name, numeric, modes, order, role=role))
        self._stored(name, fragment, numeric, copy, slots)

    def parsed(self, text: str) -> Expression:
        """Return what a text says of ``acc``; names without indices are numbers."""
        value = parse(text, frozenset({"acc"}), self.frame.indices)
        read = (name for name, operand in self.inputs.items() if operand.modes)
        return demand_scalars("epilogue", value, ("acc",), read, self.frame.types)

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
        if names[-2:] == ("n", "m"):
            raise KernelError(
                "epilogue",
                {"operand": f"{name}[{','.join(names)}]"},
                f"{name} is indexed by {', '.join(names)}, and D by {', '.join(frame.indices)}",
                f'write {name}[{",".join(frame.indices)}]; orders={{"{name}": "col"}} stores it by '
                "columns",
            )
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
        self._demand_no_slip(name)
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

    def _demand_no_slip(self, name: str) -> None:
        """Refuse a new input whose name is one of another input with a letter slipped."""
        if name in self.frame.types:
            return
        near = next((known for known in self.inputs if is_slip(name, known)), None)
        if near is not None:
            wrong = f"{name} would be an input beside {near}, of which it is a slip of a letter"
            raise KernelError(
                "epilogue", {"operand": name}, wrong, f"write {near}, or another name"
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
        loaded = self.fragment(f"tEr{name}", operand.value_type, slots)
        self.loads.append(Load(copy, name, at, loaded, (None, rank - 1)))
        self.slots[name] = loaded
        self.gathers[loaded] = vector_gather(frame.mma, letter)

    def _load_matrix(self, operand: Operand, first: tuple[Index, ...]) -> None:
        frame, name, numeric = self.frame, operand.name, operand.value_type
        copy = operand_copy(frame.mma, "C", frame.order_of(name), numeric, name)
        rank = len(operand.modes)
        slots = copy.messages * copy.atom.values
        loaded = self.fragment(f"tEr{name}", numeric, slots)
        modes = (rank - 2, rank - 1)
        self.loads.append(Load(copy, name, (*first, *frame.corner), loaded, modes))
        wanted = mma_slots(frame.mma, "C")
        moved = reorder(copy_slots(copy), wanted)
        if not is_identity(moved):
            source, loaded = loaded, self.fragment(f"tEa{name}", numeric)
            self.loads.append(Reorder(source, loaded, moved))
        self.slots[name] = loaded

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
        result = "tCrC" if in_place else self.fragment(f"tEf{name}", compute)

        self.stores.append(self.mapped(result, value, "tCrC", self.slots))
        return result

    def mapped(self, result: str, value: Expression, acc: str, fragments: dict[str, str]) -> Map:
        """Return what computes an expression from fragments of the accumulator and of operands."""

        def leaf(x: Element | Slot) -> Expression:
            if isinstance(x, Slot):
                return Slot(acc)
            return Slot(fragments[x.operand]) if x.at else x

        moved = rebuilt(value, leaf)
        used = {x.fragment for x in leaves(moved) if isinstance(x, Slot)}
        return Map(result, moved, tuple((n, by) for n, by in self.gathers.items() if n in used))

    def _stored(
        self, name: str, fragment: str, numeric: Numeric, copy: TiledCopy, slots: Layout | None
    ) -> None:
        frame = self.frame
        if slots is not None:
            source, fragment = fragment, self.fragment(f"t{name}r{name}", numeric)
            self.stores.append(Reorder(source, fragment, slots))
        rank = len(frame.lead)
        at = (*frame.first, *frame.corner)
        kind = AtomicStore if frame.adds else Store
        self.stores.append(kind(copy, name, at, fragment, (rank, rank + 1)))

    def fragment(self, name: str, numeric: Numeric, slots: int | None = None) -> str:
        """Declare a fragment, as large as the accumulator where nothing else is said."""
        count = slots or size(self.frame.mma.fragment("C")[1])
        self.fragments.append(Fragment(name, numeric, count))
        return name


# ------------------------------------------------------------ reductions
# Row and column sums beside a product: what all work-groups add to a vector.

_KEY = re.compile(r"(\w+)\[(\w+(?:\s*,\s*\w+)*)\]")
_OTHER = {"m": "n", "n": "m"}
S32 = as_numeric("s32")


def add_reduction(epilogue: Tail, key: str, text: str, d_value: Expression) -> None:
    """Append what adds a row or column sum to a vector, ``rowsum[m]`` from ``sum(n, D[m,n])``.

    Every subgroup reduces its part of the tile and adds it atomically, so the vector is an operand
    that a run is given, and keeps what it had. ``D[m,n]`` in the text is the value that D gets.
    Raises `KernelError` for anything but a sum, and for one that is not zero outside the matrix.
    """
    name, letter = _output(epilogue, key)
    summed = epilogue.parsed(_body(text, letter))
    whole = tuple(map(Index, epilogue.frame.indices))
    value = rebuilt(summed, lambda x: d_value if x == Element("D", whole) else x)
    value = epilogue.declared(value)
    _demand_zero_outside(key, text, value, _OTHER[letter])
    accumulator = epilogue.frame.mma.atom.op.D
    exact = value == Slot("acc") and accumulator in (F32, S32)
    fragment, numeric = "tCrC", accumulator
    if not exact:
        numeric = F32
        fragment = epilogue.computed(name, value, F32, also_plain=True)
    _store_sum(epilogue, name, letter, fragment, numeric)
    extent = epilogue.frame.extents["mn".index(_OTHER[letter])]
    place = tuple(Index(i) for i in epilogue.frame.indices if i != _OTHER[letter])
    wrapped = numeric if numeric == S32 else None
    claim = Element(name, place) + total(_OTHER[letter], extent, value, accumulator=wrapped)
    epilogue.sums.append((name, tuple(map(str, place)), claim))


def _store_sum(epilogue: Tail, name: str, letter: str, fragment: str, numeric: Numeric) -> None:
    frame = epilogue.frame
    declared = as_numeric(frame.types.get(name, numeric))
    if declared != numeric:
        raise KernelError(
            "epilogue",
            {name: declared},
            f"the sums that are added are of {numeric}, {name} is declared as {declared}",
            f'declare it as "{numeric}"',
        )
    loads = vector_copy(frame.mma, letter, numeric)
    width = loads.op.message.width
    copy = replace(loads, atom=make_copy_atom(XE_STORE_2D(numeric.bits, 1, width), numeric))
    slots = copy.messages * copy.atom.values
    sums = epilogue.fragment(f"tEs{name}", numeric, slots)
    gather = vector_gather(frame.mma, letter)
    if cosize(gather) % width:
        raise KernelError(
            "epilogue",
            {name: numeric, "mma": frame.mma},
            f"a subgroup has {cosize(gather)} sums, a message of {width} would add beyond them",
            f"give each subgroup a multiple of {width} {'rows' if letter == 'm' else 'columns'}",
        )
    epilogue.stores.append(Reduce("sum", fragment, sums, gather))
    modes = (*frame.lead, frame.extents["mn".index(letter)])
    epilogue.outs.append(Operand(name, numeric, modes, role="inout"))
    at = (*frame.first, frame.corner["mn".index(letter)])
    epilogue.stores.append(AtomicStore(copy, name, at, sums, (None, len(modes) - 1)))


def _output(epilogue: Tail, key: str) -> tuple[str, str]:
    """Return the name and the last index of an output such as ``rowsum[m]``."""
    match = _KEY.fullmatch(key.strip())
    lead = epilogue.frame.indices[:-2]
    places: list[str] = re.split(r"\s*,\s*", match[2]) if match else []
    if match is None or tuple(places[:-1]) != lead or places[-1] not in _OTHER:
        known = " or ".join(f"total[{','.join((*lead, i))}]" for i in "mn")
        raise KernelError(
            "epilogue",
            {"also": key},
            "a vector of sums has one element for each row or column",
            f"write {known}",
        )
    return match[1], places[-1]


def _body(text: str, letter: str) -> str:
    """Return the text of what is summed over the other index."""
    other = _OTHER[letter]
    demand_names(text, "epilogue")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        tree = None
    match tree:
        case ast.Call(ast.Name("sum"), [ast.Name(over), inner], []) if over == other:
            return ast.unparse(inner)
        case _:
            raise KernelError(
                "epilogue",
                {"text": text[:80]},
                f"a vector over {letter} is a sum over {other}",
                f'write "sum({other}, acc)"',
            )


# Any number may stand in an element, `verify` asks for all of them. One sign or both may be outside
# of what a function takes, which says nothing.
_SAMPLES = (0.6180339887498949, -1.324717957244746, 3.0)


def _demand_zero_outside(key: str, text: str, value: Expression, over: str) -> None:
    """Refuse a sum that elements beyond the last row or column would add to."""
    read = list(dict.fromkeys(x for x in leaves(value) if isinstance(x, Element)))
    samples = product(_SAMPLES, repeat=min(len(read), 4))
    values = [_outside(value, over, dict(zip(read, cycle(s), strict=False))) for s in samples]
    known = [x for x in values if not isnan(x)]
    if not known or any(known):
        raise KernelError(
            "epilogue",
            {"also": key, "text": text},
            f"what is summed over {over} is not zero beyond the matrix, where tiles reach",
            f"multiply it by what depends on {over}, or sum what is zero where acc is",
        )


def _outside(value: Expression, over: str, numbers: dict[Element, float]) -> float:
    """Return the value where what depends on ``over`` is zero, as loads beyond an edge give it."""
    match value:
        case Const(number):
            return number
        case Slot():
            return 0.0
        case Element():
            return 0.0 if over in map(str, value.at) else numbers[value]
        case Rounded(_, body):
            return _outside(body, over, numbers)
        case Apply(name, arguments):
            values = [np.float64(_outside(x, over, numbers)) for x in arguments]
            with np.errstate(all="ignore"):
                return float(function(name, len(values)).meaning(np, *values))
        case _:
            return float("nan")
