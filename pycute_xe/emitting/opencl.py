"""A kernel as OpenCL C: atoms are named calls of a prelude of inline vISA."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from pycute_xe.arch.lsc import encode_descriptor
from pycute_xe.emitting import instructions as asm
from pycute_xe.emitting.lowering import LOWERED
from pycute_xe.emitting.masks import lane_numbers
from pycute_xe.emitting.names import spelled
from pycute_xe.emitting.payloads import Plan, planned
from pycute_xe.emitting.shared import shared_room
from pycute_xe.emitting.writer import (
    Writer,
    Writes,
    c_text,
    demand_entries,
    elements,
    group_numbers,
    pitch_name,
)
from pycute_xe.kernel import Kernel, Meanings, Operand, Touched
from pycute_xe.kernel.index import SUBGROUP_INDEX, Index
from pycute_xe.kernel.ir import statements as ir

__all__ = [
    "BEFORE",
    "OPENCL",
    "OpenCLWriter",
    "message_call",
    "opencl",
    "parameters",
    "prelude",
    "scalar_text",
    "statement_lines",
]

OPENCL: Meanings[Writes] = Meanings("emit")
"""How each kind of statement is said in OpenCL C."""


class OpenCLWriter(Writer):
    """A body in OpenCL C, and the registers that it names; work-items of a subgroup, its number."""

    prelude = "prelude.cl"
    subgroup = "sub_group_broadcast((int)get_sub_group_id(), 0)"
    attributes: tuple[str, ...] = ("__attribute__((intel_reqd_sub_group_size(16)))",)
    lanes = 16
    # What the manual calls d8u32, the graphics compiler reads as d8c32.
    widened = "c32"

    def __init__(self, kernel: Kernel) -> None:
        """Start with nothing written."""
        super().__init__(kernel, OPENCL, level=1)
        self.registers = asm.Registers(kernel)
        self._plans: list[Plan] = []

    @contextmanager
    def payloads_of(self, loop: ir.Loop) -> Generator[Plan]:
        """Write a loop's body with address payloads that stay from trip to trip."""
        taken = sum(plan.count for plan in self._plans)
        self._plans.append(self.planned(loop, taken))
        yield self._plans[-1]
        self._plans.pop()

    def planned(self, loop: ir.Loop, taken: int) -> Plan:
        """Return the payloads of a loop inside loops that have so many."""
        return planned(self.kernel, self.registers, loop, taken)

    def placed(self, instruction: asm.Instruction) -> list[asm.Instruction]:
        """Return what stands in place of an instruction in the loop that is written."""
        plan = self._plans[-1].replaced if self._plans else []
        return plan.pop(0) if plan and isinstance(instruction, asm.Message) else [instruction]

    def call(self, instruction: asm.Instruction | asm.Begin) -> str:
        """Return an instruction as a call of the prelude."""
        return _call(self.kernel, instruction, self.widened)


@OPENCL.of(ir.Loop)
def _(writer: OpenCLWriter, statement: ir.Loop) -> None:
    var, start, stop = statement.var, c_text(statement.start), c_text(statement.stop)
    with writer.payloads_of(statement) as plan:
        for instruction in plan.before:
            writer.put(writer.call(instruction))
        # Unrolled, the text would hold other messages than the listing.
        writer.put("__attribute__((opencl_unroll_hint(1)))")
        writer.put(f"for (int {var} = {start}; {var} < {stop}; ++{var}) {{")
        writer.inside(statement.body)
        for instruction in plan.behind:
            writer.put(f"  {writer.call(instruction)}")
        writer.put("}")


@OPENCL.of(ir.If)
def _(writer: Writer, statement: ir.If) -> None:
    writer.block(f"if ({c_text(statement.index)} < {c_text(statement.below)})", statement.body)


@OPENCL.of(ir.FetchAdd)
def _(writer: OpenCLWriter, statement: ir.FetchAdd) -> None:
    """One subgroup adds; barriers keep the ticket from being read too early, or replaced."""
    counter, ticket = (
        c_text(Index.element(name, *at))
        for name, at in ((statement.operand, statement.at), (statement.into, statement.place))
    )
    writer.put("barrier(CLK_GLOBAL_MEM_FENCE);")
    by = c_text(statement.by)
    writer.put(f"if ({SUBGROUP_INDEX} == 0) XE_TICKET({ticket}, {counter}, {by});")
    writer.put("barrier(CLK_GLOBAL_MEM_FENCE);")


@OPENCL.of(*LOWERED)
def _(writer: OpenCLWriter, statement: ir.Statement) -> None:
    for instruction in LOWERED[statement](writer.kernel, writer.registers, statement):
        for each in writer.placed(instruction):
            writer.put(writer.call(each))


def _call(kernel: Kernel, instruction: asm.Instruction | asm.Begin, widened: str) -> str:
    """Return an instruction as a call of the prelude."""
    if isinstance(instruction, asm.Begin):
        block = instruction.block
        at = f"{c_text(instruction.x)}, {c_text(instruction.y)}"
        surface = surface_of(kernel.operand(instruction.surface.operand), instruction.surface)
        shape = f"{block.count}, {block.width}, {block.height}"
        return f"XE_PAYLOAD({instruction.payload}, {shape}, {surface}, {at});"
    if isinstance(instruction, asm.Message):
        block = str(instruction.block).rpartition(":")[2]
        return message_call(kernel, instruction, block)
    if isinstance(instruction, asm.Multiply):
        _, types, _, _, *operands = str(instruction.message).replace("dpas.", "dpas. ").split()
        return f"XE_DPAS({types}, {', '.join(operands)});"
    if isinstance(instruction, asm.Barrier):
        return f"XE_BARRIER({instruction.half});"
    if isinstance(instruction, asm.Alu):
        return _alu(instruction)
    if isinstance(instruction, asm.Access):
        name = "STORE" if instruction.stores else "LOAD"
        if instruction.vector > 1:
            moved = f"{instruction.register}, {instruction.size}, {instruction.vector}"
            return f"XE_SHARED_{name}_BLOCK({moved}, {c_text(instruction.at)});"
        size = instruction.size.replace("u32", widened)
        moved = f"{instruction.register}, {size}, {instruction.lanes}"
        return f"XE_SHARED_{name}({moved}, {c_text(instruction.at)});"
    if isinstance(instruction, asm.Addition):
        return _addition(kernel, instruction)
    return "XE_FENCE();"


def _alu(instruction: asm.Alu) -> str:
    if not instruction.scalars:
        return f"XE_ALU({instruction.text});"
    scalars = ", ".join(map(scalar_text, instruction.scalars))
    return f"XE_ALU_{len(instruction.scalars)}({scalars}, {instruction.text});"


def scalar_text(scalar: str | Index | asm.Condition) -> str:
    """Return a scalar of an instruction as an expression of C."""
    if isinstance(scalar, asm.Condition):
        return f"{c_text(scalar.index)} < {c_text(scalar.below)}"
    return c_text(scalar) if isinstance(scalar, Index) else scalar


def _addition(kernel: Kernel, addition: asm.Addition) -> str:
    surface = surface_of(kernel.operand(addition.surface.operand), addition.surface)
    what = f"{addition.operation}, {addition.register}, {addition.size}, {addition.lanes}"
    return f"XE_ADD({what}, {surface}, {c_text(addition.x)}, {c_text(addition.y)});"


def message_call(kernel: Kernel, message: asm.Message, block: str) -> str:
    """Return a block-2D message as a call of the prelude; ``block`` says what it moves."""
    if message.payload:
        return _sent(message, block)
    place = f"{c_text(message.x)}, {c_text(message.y)}"
    surface = surface_of(kernel.operand(message.surface.operand), message.surface)
    if message.block.op == "load":
        return f"XE_LOAD_2D({message.register}, {block}, {surface}, {place});"
    if message.block.op == "store":
        return f"XE_STORE_2D({surface}, {place}, {message.register}, {block});"
    return f"XE_PREFETCH_2D({block}, {surface}, {place});"


def _sent(message: asm.Message, block: str) -> str:
    """Return a block-2D message whose payload stands in a register: its data and descriptor."""
    seen, data = asm.block_message(message), message.register
    by = f"{message.payload}, 0x{encode_descriptor(seen).desc:08x}"
    calls = {
        "load": f"XE_LOAD({data}, {seen.registers('pvc')}, {by})",
        "store": f"XE_STORE({by}, {data}, {seen.source_registers('pvc')})",
        "prefetch": f"XE_PREFETCH({by})",
    }
    return f"{calls[message.block.op]};  // {block}"


def surface_of(operand: Operand, seen: asm.Region2D) -> str:
    """Return the surface of an operand: a variable, or one made for other modes' indices."""
    name, rank = operand.name, len(operand.modes)
    rest = [m for m in range(rank) if m not in (operand.contiguous, seen.y_mode)]
    if rank == 2 and not rest:
        return f"s{name}"
    base = f"{name}{''.join(f' + {pitch_name(operand, m)} * ({c_text(seen.at[m])})' for m in rest)}"
    if seen.y_mode is None:
        return f"XE_SURFACE({base}, {name}_width, 1, max({name}_width, 64))"
    height, pitch = c_text(operand.modes[seen.y_mode]), pitch_name(operand, seen.y_mode)
    return f"XE_SURFACE({base}, {name}_width, {height}, {pitch})"


def parameters(kernel: Kernel) -> tuple[tuple[str, str], ...]:
    """Return the (type, name) of each parameter, in order: operands, then sizes.

    A tensor is an address, the bytes of a row, and the bytes between neighbours along every other
    mode; a scalar is a number.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> parameters(gemm)[:3]
    (('__global uchar *', 'A'), ('int', 'A_width'), ('int', 'A_pitch'))
    """
    out: list[tuple[str, str]] = []
    for operand in kernel.operands:
        name = operand.name
        if not operand.modes:
            kind = "float" if operand.value_type.kind == "float" else "int"
            out.append((kind, name))
            continue
        out += [("__global uchar *", name), ("int", f"{name}_width")]
        rest = [m for m in range(len(operand.modes)) if m != operand.contiguous]
        wide = "int" if len(rest) == 1 else "long"
        out += [(wide, pitch_name(operand, m)) for m in rest]
    return (*out, *(("int", name) for name in kernel.sizes))


@cache
def prelude(name: str) -> str:
    """Return a prelude."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def opencl(kernel: Kernel, write: type[OpenCLWriter] = OpenCLWriter) -> str:
    """Return a kernel as OpenCL C, for Intel's graphics compiler unless a writer says otherwise."""
    demand_entries(kernel, OPENCL)
    writer = write(kernel)
    writer.body(kernel.body)
    lanes = writer.lanes * kernel.subgroups
    arguments = ", ".join(
        f"{kind}{'' if kind[-1] == '*' else ' '}{n}" for kind, n in parameters(kernel)
    )
    head = [f"// {text}" for text in str(kernel).splitlines()]
    places = [
        f"const int {SUBGROUP_INDEX} = {writer.subgroup};",
        *group_numbers(kernel),
    ]
    surfaces = [_declared_surface(o) for o in kernel.operands if len(o.modes) == 2]
    if writer.lanes > 1 and any(_by_lanes(s.touched) for s in kernel.statements()):
        places.append(f"const int {asm.LANE} = get_sub_group_local_id();")
    if kernel.shared:
        places.append(f"XE_SHARED({shared_room(kernel)[1]});")
    numbers = map(writer.call, lane_numbers(writer.registers))
    return "\n".join(
        [
            *head,
            prelude(writer.prelude).rstrip(),
            *elements(kernel, [*places, *surfaces, *writer.lines]),
            *writer.attributes,
            f"__attribute__((reqd_work_group_size({lanes}, 1, 1)))",
            f"__kernel void {kernel.name}({arguments}) {{",
            *(
                f"  {text}"
                for text in (*places, *surfaces, *_declarations(writer.registers), *numbers)
            ),
            *writer.lines,
            "}",
            "",
        ]
    )


def _by_lanes(touched: Touched) -> bool:
    """Whether messages have an address for each lane: additions, and those to shared memory."""
    memory = touched.memory
    return touched.shared is not None or (memory is not None and memory.adds)


BEFORE = -1
"""The number of lines that stand before the first statement."""


def statement_lines(kernel: Kernel, text: str) -> dict[int, int]:
    """Return the number of the statement that wrote each line of a kernel's function.

    Lines count from 1; those of the prelude are left out, those before the first statement have
    the number `BEFORE`. ``text`` is what ``emit(kernel)`` returns.

    >>> import pycute_xe as cx
    >>> gemm = cx.kernel.gemm(cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16")))
    >>> text = cx.emit(gemm)
    >>> first = min(line for line, number in statement_lines(gemm, text).items() if number == 0)
    >>> text.splitlines()[first - 1].strip()
    '// fill      tCrC = 0'
    """
    writer = OpenCLWriter(spelled(kernel)[0])
    writer.body(writer.kernel.body)
    lines = text.splitlines()
    head = next(i for i, line in enumerate(lines, 1) if line.startswith("__kernel"))
    first = len(lines) - len(writer.lines)  # a brace follows them
    before = dict.fromkeys(range(head, first), BEFORE)
    return before | dict(enumerate(writer.owners, first))


def _declared_surface(operand: Operand) -> str:
    name, height = operand.name, c_text(operand.modes[1 - operand.contiguous])
    made = f"XE_SURFACE({name}, {name}_width, {height}, {name}_pitch)"
    return f"const xe_surface s{name} = {made};"


def _declarations(registers: asm.Registers) -> list[str]:
    return [_declaration(variable) for variable in registers.declared]


def _declaration(variable: asm.Declared) -> str:
    name, kind, count = variable.name, variable.kind, variable.count
    if kind == asm.PREDICATE:
        return f"XE_PREDICATE({name}, {count});"
    if variable.of:
        return f"XE_VIEW({name}, {kind}, {count}, {variable.of}, {variable.at});"
    return f"XE_DECLARE({name}, {count});"
