"""What the construction of a kernel refuses: parts that do not fit one another.

A table from kinds of statements to what they demand. A verifier judges whether maps are right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pycute_xe.bulk import table
from pycute_xe.composed import ComposedLayout
from pycute_xe.converting import beyond
from pycute_xe.errors import MOST_QUOTED, KernelError, quoted
from pycute_xe.identifiers import name_fault
from pycute_xe.int_tuple import leaves as leaves_of
from pycute_xe.kernel.index import ELEMENT_INDEX, SUBGROUP_INDEX, Index
from pycute_xe.kernel.ir import statements as ir
from pycute_xe.kernel.ir.effects import CounterAccess, MemoryAccess
from pycute_xe.kernel.ir.named import NamedArrive, NamedWait
from pycute_xe.kernel.ir.operands import Fragment, Operand
from pycute_xe.kernel.ir.program import Meanings, Program, check_paths, of_some, walk
from pycute_xe.kernel.spec.expression import Slot, leaves
from pycute_xe.kernel.spec.specification import without_value
from pycute_xe.layout import Layout, cosize, size
from pycute_xe.numeric import Numeric

__all__ = [
    "FITS",
    "check_counter",
    "check_meeting",
    "check_message",
    "check_names",
    "check_program",
    "check_shared",
    "check_statement",
]

MOST_SUBGROUPS = 256
"""Subgroups of a work-group, four times those of any machine: 4,096 work-items."""

MOST_TABLED = 1 << 22
"""Places of a swizzled layout that are listed to find the largest."""

# ------------------------------------------------------------ fitting
# Whether fragments that a statement names exist, and are of its size and type.


def unfit(kernel: Program, given: dict[str, object], wrong: str, fix: str) -> KernelError:
    """Return the refusal of parts that do not fit."""
    return KernelError(kernel.name, given, wrong, fix)


def check_named(kernel: Program, fragments: Iterable[str]) -> None:
    """Raise `KernelError` for a fragment that the kernel does not have."""
    for name in fragments:
        kernel.fragment(name)


def check_type(kernel: Program, statement: ir.Statement, fragment: Fragment, kind: Numeric) -> None:
    """Raise `KernelError` for a fragment of another type."""
    if fragment.value_type != kind:
        raise unfit(
            kernel,
            {"statement": type(statement).__name__, "fragment": fragment},
            f"the statement moves {kind}, the fragment holds {fragment.value_type}",
            "convert it with a Convert statement",
        )


def check_slots(kernel: Program, statement: ir.Statement, name: str, slots: int) -> None:
    """Raise `KernelError` for a fragment of another size."""
    fragment = kernel.fragment(name)
    if fragment.slots != slots:
        raise unfit(
            kernel,
            {"statement": type(statement).__name__, "fragment": fragment},
            f"the statement moves {slots} slots, the fragment has {fragment.slots}",
            "give every subgroup the same share of the tile",
        )


def check_counter(kernel: Program, statement: ir.Statement) -> None:
    """Refuse a counter that is not an element of a writable 32-bit integer operand."""
    if (counter := statement.touched.counter) is None:
        raise _undeclared(kernel, statement, "counter")
    operand, wrong = kernel.operand(counter.operand), ""
    fix = 'declare Operand(name, "s32", modes, role="scratch")'
    if operand.value_type.kind == "float" or operand.value_type.bits != 32:
        wrong = f"a counter has 32 bits, {operand.name} holds {operand.value_type}"
    elif len(counter.at) != len(operand.modes):
        wrong = (
            f"{operand.name} has {len(operand.modes)} modes, {len(counter.at)} indices are given"
        )
    elif operand.role not in ("inout", "scratch"):
        wrong = f"{operand.name} has the role {operand.role}, a counter is read and written"
    elif counter.by is not None and _falls(counter.by):
        wrong, fix = f"a counter only grows, the statement adds {counter.by}", "add 0 or more"
    if wrong:
        given: dict[str, object] = {"statement": type(statement).__name__, "operand": operand}
        raise unfit(kernel, given, wrong, fix)
    if counter.into:
        _check_ticket(kernel, statement, counter)


def _check_ticket(kernel: Program, statement: ir.Statement, counter: CounterAccess) -> None:
    """Refuse a ticket that no element of another integer operand holds."""
    into, wrong = kernel.operand(counter.into), ""
    fix = 'declare Operand(name, "s32", modes, role="scratch")'
    if into.value_type.name != kernel.operand(counter.operand).value_type.name:
        wrong = f"{into.name} holds {into.value_type}, the counter is of another type"
    elif into.name == counter.operand:
        wrong = f"{into.name} is the counter itself"
    elif into.role not in ("out", "inout", "scratch"):
        wrong = f"{into.name} has the role {into.role}, a ticket is written"
    elif len(counter.place) != len(into.modes):
        wrong = f"{into.name} has {len(into.modes)} modes, {len(counter.place)} indices are given"
    if wrong:
        given: dict[str, object] = {"statement": type(statement).__name__, "operand": into}
        raise unfit(kernel, given, wrong, fix)


def _falls(by: Index) -> bool:
    return by.is_constant and by.offset < 0


def _undeclared(kernel: Program, statement: ir.Statement, effect: str) -> KernelError:
    """Return the refusal of a kind that declares no effect of which its entry demands something."""
    name = type(statement).__name__
    return unfit(
        kernel, {"statement": name}, f"{name} declares no {effect}", f"name it in `{name}.touches`"
    )


def check_part(kernel: Program, part: ir.Part) -> None:
    """Refuse to take elements that a fragment does not have, or another number than is wanted."""
    source, destination = kernel.fragment(part.source), kernel.fragment(part.destination)
    first, last, wrong = part.first, part.first + cosize(part.slots) - 1, ""
    if first < 0 or last >= source.elements:
        wrong = f"elements {first} to {last} are taken of {source.elements}"
    elif size(part.slots) != destination.elements:
        wrong = f"{size(part.slots)} elements are taken into {destination.elements}"
    if wrong:
        given: dict[str, object] = {"source": source, "destination": destination}
        raise unfit(kernel, given | {"slots": part.slots}, wrong, "take what the source has")
    check_type(kernel, part, destination, source.value_type)


def check_shared(kernel: Program, statement: ir.Statement) -> None:
    """Refuse places that are too few for a fragment of the statement, or outside the array."""
    touched = statement.touched
    if (shared := touched.shared) is None:
        raise _undeclared(kernel, statement, "shared")
    array, most = kernel.shared_array(shared.array), _highest(shared.places)
    for name in (*touched.reads, *touched.writes, *touched.updates):
        fragment = kernel.fragment(name)
        count = kernel.subgroups * fragment.elements
        if size(shared.places) != count or most >= array.elements:
            raise unfit(
                kernel,
                {"array": array, "fragment": fragment, "places": shared.places},
                f"{count} elements of all subgroups go to {size(shared.places)} places that reach "
                f"element {most} of {array.elements}",
                "map (subgroup, element) into the array",
            )
        check_type(kernel, statement, fragment, array.value_type)


def _highest(places: Layout | ComposedLayout) -> int:
    """Return the largest offset; of a swizzled layout of absurd size, one that is not passed."""
    if isinstance(places, ComposedLayout):
        small = size(places.layout) <= MOST_TABLED
        return int(table(places).max()) if small else places.cosize - 1
    strides = [*leaves_of(places.stride)]
    if not all(type(leaf) is int for leaf in (*leaves_of(places.shape), *strides)):
        return int(table(places).max())
    return sum((s - 1) * max(d, 0) for s, d in zip(leaves_of(places.shape), strides, strict=True))


def check_meeting(kernel: Program, statement: ir.Statement) -> None:
    """Refuse a named barrier that counts more subgroups than there are."""
    if (meeting := statement.touched.named) is None:
        raise _undeclared(kernel, statement, "named")
    barrier = meeting.barrier
    most = max(barrier.producers, barrier.consumers)
    if most > kernel.subgroups:
        raise unfit(
            kernel,
            {"barrier": barrier},
            f"it counts {most} subgroups, the kernel has {kernel.subgroups}",
            "count those that arrive",
        )


# ------------------------------------------------------------ checks

FITS: Meanings[Callable[[Program, ir.Statement], None]] = Meanings("Kernel")


def check_program(kernel: Program) -> None:
    """Raise `KernelError` for the first part that does not fit."""
    if type(kernel.subgroups) is not int or not 1 <= kernel.subgroups <= MOST_SUBGROUPS:
        condition = f"subgroups must be 1 to {MOST_SUBGROUPS}"
        raise unfit(
            kernel, {"subgroups": kernel.subgroups}, condition, "use fewer, and more groups"
        )
    check_names(kernel)
    for statement in walk(kernel.body):
        check_statement(kernel, statement)
    check_paths(kernel)
    if kernel.computes is not None:
        kernel.computes.check(kernel.operands)
    for name in kernel.plan.things if kernel.plan is not None else ():
        kernel.operand(name)


def check_statement(kernel: Program, statement: ir.Statement) -> None:
    """Raise `KernelError` for a statement that does not fit the parts; what is in it is its own."""
    FITS[statement](kernel, statement)
    _check_declared(kernel, statement)
    for name in (*statement.touched.from_memory, *statement.touched.to_memory):
        kernel.operand(name)


def _check_declared(kernel: Program, statement: ir.Statement) -> None:
    """Raise `KernelError` for an access whose fragments or indices `touches` does not name.

    Readers that ask for the registers of a statement alone would not see them.
    """
    touched = statement.touched
    read, written, indices = list[str](), list[str](), list[Index]()
    if (memory := touched.memory) is not None:
        read += [memory.fragment] * memory.stores
        written += [memory.fragment] * memory.fills
        indices += memory.at
    if touched.shared is not None:
        indices.append(touched.shared.at)
    if (counter := touched.counter) is not None:
        indices += (*counter.at, *counter.place)
        indices += (i for i in (counter.least, counter.by) if i is not None)
    if touched.named is not None:
        indices.append(touched.named.barrier.number)
    if (product := touched.product) is not None:
        read += (product.a, product.b, product.accumulator)
        written.append(product.accumulator)
    if (move := touched.move) is not None:
        read.append(move.source)
        written.append(move.destination)
    if touched.elementwise is not None:
        written.append(touched.elementwise.destination)
    wrong = ""
    for verb, used, declared in (
        ("reads", read, touched.reads + touched.updates),
        ("writes", written, touched.writes + touched.updates),
        ("takes the index", indices, touched.indices),
    ):
        wrong = wrong or next((f"{verb} {x}" for x in used if x not in declared), "")
    if wrong:
        name = type(statement).__name__
        wrong = f"{name} {wrong} and does not declare it"
        raise unfit(kernel, {"statement": name}, wrong, f"name the field in `{name}.touches`")


def check_names(kernel: Program) -> None:
    """Raise `KernelError` for a name that stands for two things."""
    variables = [name for name, _ in kernel.grid]
    variables += [s.var for s in walk(kernel.body) if isinstance(s, ir.Loop)]
    things = [x.name for group in (kernel.operands, kernel.fragments, kernel.shared) for x in group]
    for kind, names in (("variable", variables), ("operand, fragment or array", things)):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise unfit(
                kernel, {kind: twice[0]}, f"the name {twice[0]} is bound twice", "rename one"
            )
    for name in things:
        if name in kernel.sizes:
            raise unfit(kernel, {"name": name}, f"{name} is an extent too", "rename one")
    for name in variables:
        if (fault := name_fault(name)) is not None:
            raise unfit(kernel, {"variable": name}, *fault)
        if name in (*kernel.sizes, SUBGROUP_INDEX, ELEMENT_INDEX):
            taken = "an extent" if name in kernel.sizes else "not free for a variable"
            raise unfit(kernel, {"variable": name}, f"{name} is {taken}", "rename the variable")


@FITS.of(ir.Prefetch, ir.Load, ir.Store, ir.AtomicStore)
def check_message(kernel: Program, statement: ir.Statement) -> None:
    """Refuse a tiled copy that does not fit its operand, its fragment or the subgroups."""
    if (memory := statement.touched.memory) is None:
        raise _undeclared(kernel, statement, "memory")
    operand, copy = kernel.operand(memory.operand), memory.copy
    wrong = _misplaced(memory, operand) or _misdirected(memory, operand)
    if not wrong and copy.num_subgroups != kernel.subgroups:
        wrong = (
            f"the copy is shared by {copy.num_subgroups} subgroups, the kernel has "
            f"{kernel.subgroups}"
        )
    if not wrong and memory.stores and operand.role == "in":
        wrong = f"{operand.name} is an input, the statement writes it"
    if not wrong and memory.fills and operand.role == "out":
        wrong = f"{operand.name} is an output, the statement reads it"
    if wrong:
        fix = "build the copy from the same tiled MMA, operand and order"
        if len(memory.at) != len(operand.modes):
            places = [*map(str, memory.at), *["0"] * len(operand.modes)][: len(operand.modes)]
            fix = "give an index for each mode"
            if len(listed := ", ".join(places)) <= MOST_QUOTED:
                fix = f"{fix}: at=({listed})"
        raise unfit(kernel, {"operand": operand, "copy": copy}, wrong, fix)
    if not memory.prefetches:
        check_slots(kernel, statement, memory.fragment, copy.messages * copy.atom.values)
        check_type(kernel, statement, kernel.fragment(memory.fragment), copy.value_type)


def _misplaced(memory: MemoryAccess, operand: Operand) -> str:
    """Say what is wrong with the indices or the modes of a copy; empty where nothing is."""
    rank, modes = len(operand.modes), memory.modes
    if len(memory.at) != rank:
        return f"{operand.name} has {rank} modes, the copy begins at {len(memory.at)} indices"
    if len(modes) != len(memory.copy.tiler_mn):
        return f"the tile has {len(memory.copy.tiler_mn)} modes, {len(modes)} are named"
    named = [mode for mode in modes if mode is not None]
    if len(set(named)) != len(named) or any(not 0 <= mode < rank for mode in named):
        return f"{operand.name} has {rank} modes, the tile runs along {quoted(modes)}"
    missing = [
        extent
        for extent, mode in zip(memory.copy.tiler_mn, modes, strict=True)
        if mode is None and extent > 1
    ]
    if missing and memory.copy.tiler_mn[memory.copy.y_mode] > 1:
        return f"{operand.name} has no mode for {missing[0]} rows of the tile"
    return ""


def _misdirected(memory: MemoryAccess, operand: Operand) -> str:
    copy = memory.copy
    verb = "prefetch" if memory.prefetches else "load" if memory.fills else "store"
    if copy.op.message.op != verb:
        return f"a {verb} is done by {copy.op}, a {copy.op.message.op}"
    if copy.value_type != operand.value_type:
        return f"the {verb} moves {copy.value_type}, {operand.name} holds {operand.value_type}"
    along = memory.modes[copy.x_mode]
    if along != operand.contiguous:
        mode = "no mode" if along is None else str(operand.modes[along])
        mode = mode if len(mode) <= MOST_QUOTED else f"mode {along}"
        return f"the {verb} is built for contiguous {mode}, {operand.name} is {operand.layout_name}"
    return ""


@FITS.of(ir.Fill)
def _(kernel: Program, statement: ir.Fill) -> None:
    numeric = kernel.fragment(statement.fragment).value_type
    whole = float(statement.value).is_integer()
    if numeric.kind != "float" and not whole:
        raise unfit(
            kernel,
            {"fragment": statement.fragment, "value": statement.value},
            f"{numeric} holds integers",
            "fill it with one",
        )
    if beyond(statement.value, numeric):
        raise unfit(
            kernel,
            {"fragment": statement.fragment, "value": statement.value},
            f"{numeric} has no number {statement.value:g}",
            "fill it with one that its type holds",
        )


@FITS.of(ir.Reorder)
def _(kernel: Program, statement: ir.Reorder) -> None:
    for name in (statement.source, statement.destination):
        check_slots(kernel, statement, name, -(-size(statement.slots) // 16))
    _check_end(kernel, statement, statement.slots, statement.destination)


@FITS.of(ir.Reduce)
def _(kernel: Program, statement: ir.Reduce) -> None:
    source, destination = (kernel.fragment(n) for n in (statement.source, statement.destination))
    if size(statement.slots) != source.elements:
        raise unfit(
            kernel,
            {"statement": "Reduce", "fragment": source},
            f"the map takes {size(statement.slots)} elements, the fragment has {source.elements}",
            "",
        )
    _check_end(kernel, statement, statement.slots, statement.destination)
    check_type(kernel, statement, destination, source.value_type)


def _check_end(kernel: Program, statement: ir.Statement, slots: Layout, name: str) -> None:
    """Raise `KernelError` for a map beyond the end of its destination."""
    destination = kernel.fragment(name)
    if cosize(slots) > destination.elements:
        raise unfit(
            kernel,
            {"statement": type(statement).__name__, "slots": slots},
            f"it reaches element {cosize(slots) - 1}, {destination} ends before",
            "use a map onto the destination",
        )


@FITS.of(ir.Convert)
def _(kernel: Program, statement: ir.Convert) -> None:
    source, destination = (kernel.fragment(n) for n in (statement.source, statement.destination))
    if source.slots != destination.slots:
        raise unfit(
            kernel,
            {"source": source, "destination": destination},
            f"{source.slots} slots are converted into {destination.slots}",
            "give both the same number",
        )


@FITS.of(ir.Map)
def _(kernel: Program, statement: ir.Map) -> None:
    count = kernel.fragment(statement.destination).elements
    gathers = dict(statement.gathers)
    for name in statement.sources:
        source, by = kernel.fragment(name), gathers.pop(name, None)
        if by is None and source.elements != count:
            raise unfit(
                kernel,
                {"statement": "Map", "fragment": source},
                f"{count} elements of {statement.destination} are computed each from the one of "
                f"{name} at its place, and {name} has {source.elements}",
                "make both of one length, or say in gathers which element each reads",
            )
        if by is not None and (size(by) != count or cosize(by) > source.elements):
            raise unfit(
                kernel,
                {"statement": "Map", "fragment": source, "gathered by": by},
                f"{count} elements are computed from {size(by)} that reach element "
                f"{cosize(by) - 1} of {source.elements}",
                "gather by a layout of the destination's elements",
            )
    if gathers:
        name = next(iter(gathers))
        raise unfit(kernel, {"gathers": name}, f"the value does not read {name}", "leave it out")
    for name in statement.scalars:
        if kernel.operand(name).modes:
            raise unfit(
                kernel,
                {"operand": kernel.operand(name)},
                f"{name} is not a scalar",
                "load it into a fragment first",
            )


@FITS.of(ir.Mma)
def _(kernel: Program, statement: ir.Mma) -> None:
    mma, op = statement.mma, statement.mma.atom.op
    if mma.num_subgroups != kernel.subgroups and statement not in of_some(kernel.body):
        raise unfit(
            kernel,
            {"mma": mma},
            f"the MMA has {mma.num_subgroups} subgroups, the kernel {kernel.subgroups}",
            "use the same subgroups",
        )
    if op.C != op.D:
        raise unfit(
            kernel,
            {"mma": mma.atom},
            f"the accumulator goes in as {op.C} and comes out as {op.D}",
            "use an atom whose C and D have the same type",
        )
    names = (("C", statement.accumulator, op.D), ("A", statement.a, op.A), ("B", statement.b, op.B))
    for operand, name, kind in names:
        check_slots(kernel, statement, name, size(mma.fragment(operand)[1]))
        check_type(kernel, statement, kernel.fragment(name), kind)


@FITS.of(ir.Loop)
def _(kernel: Program, statement: ir.Loop) -> None:
    if statement.start.is_constant and statement.start.offset < 0:
        raise KernelError(
            "Loop", {"var": statement.var, "start": statement.start}, "it starts below zero", "0"
        )
    defined = kernel.computes.defines if kernel.computes is not None else ()
    states = {one.name: one.operand for one in defined}
    for name, value in statement.holds:
        kernel.fragment(name)
        for leaf in leaves(value):
            if isinstance(leaf, Slot):
                kernel.fragment(leaf.fragment)
                continue
            operand = states.get(leaf.operand) or kernel.operand(leaf.operand)
            wrong = without_value(leaf, operand)
            if len(leaf.at) != len(operand.modes):
                modes, given = len(operand.modes), len(leaf.at)
                wrong = (
                    f"{leaf.operand} has {modes} modes, the claim gives {given} indices",
                    "give an index for each mode",
                )
            if wrong is not None:
                raise KernelError("Loop", {"holds": f"{name} = {value}"}, *wrong)


FITS.of(ir.Part)(check_part)
FITS.of(ir.SharedStore, ir.SharedLoad)(check_shared)
FITS.of(ir.Await, ir.Signal, ir.FetchAdd)(check_counter)
FITS.of(NamedArrive, NamedWait)(check_meeting)


@FITS.of(ir.If, ir.BarrierArrive, ir.BarrierWait, ir.Fence)
def _(kernel: Program, statement: ir.Statement) -> None:
    """What these demand of the paths around them, `check_paths` judges."""
    check_named(kernel, statement.touched.reads)
