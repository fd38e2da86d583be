"""What is written of a kernel so far, checked with each line that is added."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, Generic, Literal, NoReturn, ParamSpec, TypeAlias, TypeVar

from pycute_xe.atom.tiled_copy import TiledCopy
from pycute_xe.atom.tiled_mma import TiledMma
from pycute_xe.errors import CuteError, InputError, KernelError
from pycute_xe.kernel.index import ELEMENT_INDEX, SUBGROUP_INDEX, Index, as_index
from pycute_xe.kernel.ir.checks import check_names, check_statement
from pycute_xe.kernel.ir.operands import Fragment, Operand, Order
from pycute_xe.kernel.ir.program import Program, check_defined, is_arrived
from pycute_xe.kernel.ir.statements import If, Loop, Statement
from pycute_xe.kernel.kinds.parts import operand_copy
from pycute_xe.kernel.spec.equations import Notation
from pycute_xe.kernel.spec.expression import Element, Expression, Total, parts
from pycute_xe.kernel.spec.recurrences import Jump, Recurrence, at_places
from pycute_xe.kernel.spec.specification import AnyClaim, Claim
from pycute_xe.kernel.spec.tables import Assumption, Tickets
from pycute_xe.kernel.tiles.slots import by_registers
from pycute_xe.kernel.tiles.spread import Share, Spread, contiguous_axis
from pycute_xe.layout import Layout
from pycute_xe.numeric import Numeric
from pycute_xe.signatures import shortly, typed
from pycute_xe.swizzle import Swizzle

__all__ = ["Block", "Draft", "SharedArray", "Tile", "Tiling", "line"]

P = ParamSpec("P")
T = TypeVar("T")

Tile: TypeAlias = tuple[int, int]
Tiling: TypeAlias = "Share | TiledCopy | Spread | Tile"
"""A share of an MMA, a tiled copy, rows or columns of a fragment, or a tile in equal parts."""


@dataclass
class _Block:
    """Statements of a loop or condition that is still open, and whether it began arrived."""

    head: Loop | If | None
    arrived: bool
    body: list[Statement] = field(default_factory=list[Statement])


class Block(AbstractContextManager[T], Generic[T]):
    """A loop or a condition, opened by Python's ``with``; a kernel is not built before that."""

    def __init__(self, draft: Draft, head: Loop | If, value: T) -> None:
        """Keep what the block gives where it is opened."""
        self._draft, self.head, self._value = draft, head, value
        draft.unopened.append(self)

    def __enter__(self) -> T:
        """Open the block: what follows stands in it."""
        self._draft.unopened.remove(self)
        self._inside = self._draft.inside(self.head)
        self._inside.__enter__()
        return self._value

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        """Close the block, or forget it where something in it was refused."""
        return self._inside.__exit__(kind, error, traceback)

    def __iter__(self) -> NoReturn:
        """Refuse: what a block holds is written once."""
        raise self.never_opened()

    def never_opened(self) -> KernelError:
        """Return the refusal of a block that no ``with`` opens."""
        verb = "loop" if isinstance(self.head, Loop) else "when"
        name = f' "{self.head.var}"' if isinstance(self.head, Loop) else ""
        wrong = f"{verb}{name} is not opened by a with statement"
        return KernelError(verb, {"kernel": self._draft.name}, wrong, f"write: with k.{verb}(…):")


@dataclass(frozen=True)
class SharedArray:
    """A tile in shared memory: where its elements lie in a stage, and how they are permuted."""

    tile: Tile
    place: Layout
    swizzle: Swizzle | None


class Draft:
    """The parts of a kernel that is being written, its open blocks, and how fragments are spread.

    Whatever is added is checked as the kernel would check it, so that a refusal is raised at the
    line that is wrong and leaves what was there before.
    """

    @typed
    def __init__(self, name: str, subgroups: int | TiledMma) -> None:
        """Begin a kernel without operands."""
        if not isinstance(name, str) or not isinstance(subgroups, (int, TiledMma)):  # pyright: ignore[reportUnnecessaryIsInstance]
            wrong = "its name is text, and a number of subgroups or a tiled MMA follows it"
            given = {"name": shortly(name), "subgroups": shortly(subgroups)}
            raise InputError("KernelBuilder", given, wrong, 'write KernelBuilder("relu", 4)')
        self.unopened: list[Block[Any]] = []
        self._mma = subgroups if isinstance(subgroups, TiledMma) else None
        count = subgroups.num_subgroups if isinstance(subgroups, TiledMma) else subgroups
        self._parts = Program(name, count, (), (), (), ())
        self._blocks = [_Block(None, arrived=False)]
        self._claims: tuple[AnyClaim, ...] = ()
        self._defines: tuple[Recurrence, ...] = ()
        self._jumps: tuple[Jump, ...] = ()
        self._given: tuple[Claim, ...] = ()
        self._real: tuple[Numeric, ...] = ()
        self._assumed: tuple[Assumption, ...] = ()
        self._tickets: tuple[Tickets, ...] = ()
        self._spreads: dict[str, Spread | None] = {}
        self._arrays: dict[str, SharedArray] = {}

    @property
    def name(self) -> str:
        """The name of the kernel."""
        return self._parts.name

    @property
    def so_far(self) -> tuple[Statement, ...]:
        """The statements that are written, inner ones included."""
        return tuple(self._so_far().statements())

    # ------------------------------------------------------------------ checks

    def _mark(self) -> tuple[object, ...]:
        """Return what `_back_to` goes back to: all that a line may add to."""
        return self._parts, dict(self._spreads), len(self._blocks[-1].body), self._claims

    def _back_to(self, mark: tuple[Any, ...]) -> None:
        """Forget what was added since a mark."""
        self._parts, self._spreads, count, self._claims = mark
        del self._blocks[-1].body[count:]

    def _so_far(self, statement: Statement | None = None) -> Program:
        """Return the parts with what is written, open blocks closed behind it."""
        inner: tuple[Statement, ...] = () if statement is None else (statement,)
        for block in reversed(self._blocks):
            inner = (*block.body, *inner)
            if block.head is not None:
                inner = (replace(block.head, body=inner),)
        return replace(self._parts, body=inner)

    def _append(self, statement: Statement) -> None:
        program, block = self._so_far(statement), self._blocks[-1]
        check_statement(program, statement)
        check_defined(program)
        is_arrived(program, (*block.body, statement), block.arrived)
        block.body.append(statement)

    @contextmanager
    def inside(self, head: Loop | If) -> Generator[None]:
        """Put the statements of a ``with`` block into a loop or a condition."""
        program, block = self._so_far(head), self._blocks[-1]
        check_names(program)
        check_statement(program, head)
        check_defined(program)
        arrived = is_arrived(program, tuple(block.body), block.arrived)
        before, depth = self._mark(), len(self._blocks)
        self._blocks.append(_Block(head, arrived))
        try:
            yield
            inner = tuple(self._blocks.pop().body)
            self._append(replace(head, body=inner))
        except BaseException:
            del self._blocks[depth:]
            self._back_to(before)
            raise

    def _declare(self, **parts: object) -> None:
        """Add to the parts, unless a name stands for two things then."""
        before = self._parts
        self._parts = replace(before, **parts)  # pyright: ignore[reportArgumentType]
        try:
            check_names(self._so_far())
        except KernelError:
            self._parts = before
            raise

    def _fill(self, name: str, numeric: Numeric, slots: int, spread: Spread | None) -> None:
        """Declare a fragment, or see that it is the one that there is."""
        made = Fragment(name, numeric, slots)
        known = {f.name: f for f in self._parts.fragments}.get(name)
        if known is None:
            self._declare(fragments=(*self._parts.fragments, made))
        elif known != made:
            wrong = f"{name} is {known}, the statement fills {made}"
            raise self._refused({"fragment": name}, wrong, "use another name")
        before = self._spreads.get(name)
        if before is not None and spread is not None and not before.is_like(spread):
            wrong = f"{name} is a tile of {before.tile}, spread in another way over the subgroups"
            raise self._refused({"fragment": name}, wrong, "use another name")
        self._spreads[name] = spread if before is None else before

    # ------------------------------------------------------------------ tilings

    def _operand(self, operand: Operand | str) -> Operand:
        return self._parts.operand(operand if isinstance(operand, str) else operand.name)

    def _array(self, name: str) -> SharedArray:
        self._parts.shared_array(name)
        return self._arrays[name]

    @typed
    def fragment_of(self, name: str) -> Fragment:
        """Return a fragment that is declared."""
        return self._parts.fragment(name)

    @typed
    def spread_of(self, name: str) -> Spread:
        """Return how a fragment's tile is spread over the registers of subgroups."""
        self._parts.fragment(name)
        spread = self._spreads.get(name)
        if spread is None:
            wrong = f"nothing says how {name} is spread over the subgroups"
            raise self._refused({"fragment": name}, wrong, "give it a tiling where it is declared")
        return spread

    def _tiled(self, tiling: Tiling) -> Spread:
        if isinstance(tiling, Share):
            return Spread.of_share(tiling)
        if isinstance(tiling, TiledCopy):
            return Spread.of_copy(tiling, (0, 1))
        if isinstance(tiling, Spread):
            return tiling
        return Spread.even(tiling, self._parts.subgroups, 1, 32)

    def _copy(self, operand: Operand, tiling: Tiling, verb: Literal["load", "store"]) -> TiledCopy:
        """Return the copy of an operand's tile by a tiling."""
        if isinstance(tiling, TiledCopy):
            return tiling
        axis, numeric = contiguous_axis(operand), operand.value_type
        if isinstance(tiling, Share):
            role = "D" if verb == "store" else tiling.role
            order: Order = "row" if axis == 1 else "col"
            return operand_copy(by_registers(tiling.mma), role, order, numeric, operand.name)
        if not isinstance(tiling, Spread):
            tiling = Spread.even(tiling, self._parts.subgroups, axis, numeric.bits)
        # Values for rows or columns run along the operand's contiguous mode.
        x = axis if min(tiling.tile) > 1 else tiling.tile.index(max(tiling.tile))
        return tiling.copy(verb, numeric, x)

    def _turn(self, name: str, spread: Spread, to: Spread) -> Layout:
        slots = spread.moved(to)
        if slots is None:
            wrong = f"{name} is a tile of {spread.tile}, of which other subgroups have other parts"
            wrong = (
                wrong
                if spread.tile == to.tile
                else (f"{name} is a tile of {spread.tile}, the tiling is of one of {to.tile}")
            )
            fix = "use one tiling, or pass it through shared memory"
            raise self._refused({"fragment": name}, wrong, fix)
        return slots

    def _widest(self, names: list[str]) -> Spread:
        """Return the spread of a whole tile among fragments, of which others are broadcast."""
        return max((self.spread_of(one) for one in names), key=lambda s: s.tile[0] * s.tile[1])

    def _gather(self, source: str, name: str, spread: Spread) -> Layout:
        of = self.spread_of(source)
        if of.is_like(spread):
            return Layout(self._parts.fragment(source).elements)
        by = spread.gathered(of)
        if by is None:
            wrong = f"a subgroup does not have the elements of {source}, a tile of {of.tile}, "
            wrong += f"that it needs for its part of a tile of {spread.tile}"
            fix = f"reorder {source}, or load it by the same tiling"
            raise self._refused({"map": name, "fragment": source}, wrong, fix)
        return by

    def _stage(self, array: str, stage: Index | int) -> Index:
        of = self._arrays[array].tile
        return as_index(stage) * (of[0] * of[1])

    def _invariants(self, holds: Mapping[str, str], var: str) -> tuple[tuple[str, Expression], ...]:
        """Return what a loop holds, ``row`` and ``column`` as places of a fragment's elements."""
        out: list[tuple[str, Expression]] = []
        known = {o.name: o for o in self._known()}
        for name, text in holds.items():
            spread = self.spread_of(name)
            own: dict[str, Index] = {"row": spread.place(0), "column": spread.place(1)}
            indices = (*self._variables(), var, *own, SUBGROUP_INDEX, ELEMENT_INDEX)
            value = Notation(text, frozenset(), indices, known, "loop").whole()
            out.append((name, at_places(value, own)))
        return tuple(out)

    def _known(self) -> tuple[Operand, ...]:
        """Return what claims may speak of: operands, and the states that are defined."""
        return (*self._parts.operands, *(one.operand for one in self._defines))

    def _variables(self) -> tuple[str, ...]:
        variables = [name for name, _ in self._parts.grid]
        return (*variables, *(b.head.var for b in self._blocks if isinstance(b.head, Loop)))

    def _expression(self, text: str) -> Expression:
        fragments = frozenset(f.name for f in self._parts.fragments)
        known = {o.name: o for o in self._parts.operands}
        indices = (*self._variables(), SUBGROUP_INDEX, ELEMENT_INDEX)
        return Notation(text, fragments, indices, known, "map").whole()

    def _demand_scalar(self, value: Expression) -> None:
        """Refuse what only a specification can say: elements of operands, and sums."""
        match value:
            case Element(name, at) if at:
                fix = f'load it first: load("x", "{name}", …)'
                raise self._refused({"map": value}, f"{value} lies in memory", fix)
            case Total():
                fix = f'reduce it first: reduce("all", "{value.how}", …)'
                raise self._refused({"map": value}, f"{value} is of many elements", fix)
            case _:
                for part in parts(value):
                    self._demand_scalar(part)

    def _refused(self, given: dict[str, object], wrong: str, fix: str) -> KernelError:
        return KernelError(self._parts.name, given, wrong, fix)


def line(
    method: Callable[Concatenate[Any, P], None],
) -> Callable[Concatenate[Any, P], None]:
    """Return a method that writes statements: whole, or where it is refused not at all."""
    checked = typed(method)

    @wraps(method)
    def written(self: Any, *args: P.args, **kwargs: P.kwargs) -> None:
        before = self._mark()
        try:
            checked(self, *args, **kwargs)
        except CuteError:
            self._back_to(before)
            raise

    return written
