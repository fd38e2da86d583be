"""`explain` for LSC messages: what a line of vISA text moves, from where to where."""

from __future__ import annotations

from pycute_xe.arch.lsc import Block2DMessage, Message, encode, encode_descriptor
from pycute_xe.arch.lsc.fields import data_registers, known_target
from pycute_xe.arch.target import Target
from pycute_xe.errors import CuteError, plural
from pycute_xe.explaining.explanation import AtomExplanation, Script, section

__all__ = ["explain_lsc"]

# ------------------------------------------------------------ lsc words
# What the fields of an LSC message mean, in words.

MEMORY = {
    "ugm": "global memory",
    "ugml": "global memory of another tile",
    "slm": "shared local memory",
}
"""What a unit reaches (vISA manual, LSC_UNTYPED.md, LscSFID)."""

CACHES = {
    "uc": "bypassed",
    "ca": "cached: looked up, and filled on a miss",
    "wb": "written back: the line stays, dirty, and memory gets it when the line leaves",
    "wt": "written through: the line is updated, and memory at once",
    "st": "streaming: cached, and first to leave",
    "ri": "read and invalidated: the last use, after which the line is dropped",
}
"""What each caching but the default does to a line (vISA manual, LSC_UNTYPED.md, CachingL1)."""

DEFAULTS = {
    "L1": "default",
    "L3": "default: by the memory object control state (MOCS)",
}
"""What the default means in each cache: of MOCS the manual speaks for L3 alone (CachingL1)."""

DOES = {
    "load": "loads {data} from {memory}",
    "load_strided": "loads {data} from {memory}, at a fixed distance from channel to channel",
    "load_quad": "loads {data}, {mask} of the four at its address, from {memory}",
    "load_status": "asks whether memory is behind its address: one bit each",
    "store": "stores {data} to {memory}",
    "store_strided": "stores {data} to {memory}, at a fixed distance from channel to channel",
    "store_quad": "stores {data}, {mask} of the four at its address, to {memory}",
    "store_uncompressed": "stores {data} to {memory}, uncompressed",
    "atomic_iinc": "atomically increments {data} in {memory}",
    "atomic_idec": "atomically decrements {data} in {memory}",
    "atomic_load": "atomically loads {data} from {memory}",
    "atomic_store": "atomically stores {data} to {memory}",
    "atomic_iadd": "atomically adds an integer to {data} in {memory}",
    "atomic_isub": "atomically subtracts an integer from {data} in {memory}",
    "atomic_smin": "atomically lowers {data} in {memory} to a signed minimum",
    "atomic_smax": "atomically raises {data} in {memory} to a signed maximum",
    "atomic_umin": "atomically lowers {data} in {memory} to an unsigned minimum",
    "atomic_umax": "atomically raises {data} in {memory} to an unsigned maximum",
    "atomic_icas": "atomically compares and swaps {data} in {memory} as integers",
    "atomic_fadd": "atomically adds floating point to {data} in {memory}",
    "atomic_fsub": "atomically subtracts floating point from {data} in {memory}",
    "atomic_fmin": "atomically lowers {data} in {memory} to a floating-point minimum",
    "atomic_fmax": "atomically raises {data} in {memory} to a floating-point maximum",
    "atomic_fcas": "atomically compares and swaps {data} in {memory} as floating point",
    "atomic_and": "atomically combines {data} in {memory} by bitwise and",
    "atomic_or": "atomically combines {data} in {memory} by bitwise or",
    "atomic_xor": "atomically combines {data} in {memory} by bitwise exclusive or",
    "apndctr_atomic_add": "adds to the append counter of a surface, one after another",
    "apndctr_atomic_sub": "subtracts from the append counter of a surface, one after another",
}
"""What each channel does, by operation (vISA manual, LSC_UNTYPED.md, LscSubOp, Semantics)."""

NEW_VALUES = {
    "atomic_iinc": "old + 1",
    "atomic_idec": "old - 1",
    "atomic_load": "old",
    "atomic_store": "src1",
    "atomic_iadd": "old + src1",
    "atomic_isub": "old - src1",
    "atomic_smin": "min(old, src1), signed",
    "atomic_smax": "max(old, src1), signed",
    "atomic_umin": "min(old, src1), unsigned",
    "atomic_umax": "max(old, src1), unsigned",
    "atomic_icas": "src2 if old == src1, else old",
    "atomic_fadd": "old + src1, floating point",
    "atomic_fsub": "old - src1, floating point",
    "atomic_fmin": "min(old, src1), floating point",
    "atomic_fmax": "max(old, src1), floating point",
    "atomic_fcas": "src2 if old == src1, else old, floating point",
    "atomic_and": "old & src1",
    "atomic_or": "old | src1",
    "atomic_xor": "old ^ src1",
    "apndctr_atomic_add": "old + src1",
    "apndctr_atomic_sub": "old - src1",
}
"""What atomics and counters leave in memory (vISA manual, LSC_UNTYPED.md, LscSubOp)."""


def caching_lines(l1: str, l3: str, sfid: str) -> list[str]:
    """Return what both caches do."""
    if sfid == "slm":
        return ["none: shared local memory is not cached"]
    return [
        f"{level} {DEFAULTS[level] if hint == 'df' else CACHES[hint]}"
        for level, hint in (("L1", l1), ("L3", l3))
    ]


# ------------------------------------------------------------ telling lsc

AnyMessage = Message | Block2DMessage


def explain_lsc(message: AnyMessage, target: str | Target = "bmg") -> AtomExplanation:
    """Return what a message does, section by section: channels, addresses, registers, numbers.

    ``target``: whose rules and register counts are shown, and whose descriptor.
    Raises `TargetError` for an unknown target.

    >>> from pycute_xe.arch.lsc import parse
    >>> print(explain_lsc(parse("lsc_load.slm (M1,16) V13:d32x2 flat[4*V12+8]:a32")).rule)
    Each of 16 channels loads 2 elements of 32 bits from shared local memory.
    """
    machine, script = known_target(target), Script()
    if isinstance(message, Block2DMessage):
        rule = _block_sentence(message)
        _explain_block_message(script, message)
    else:
        rule = _sentence(message)
        _explain_message(script, message, machine)
    section(script, "caching", caching_lines(message.l1, message.l3, message.sfid))
    section(script, "registers", _registers(message, machine))
    section(script, "rules", _rules(message, machine))
    section(script, "advice", _advice(message, machine))
    section(script, "binary", _bytes(message))
    section(script, "send", _send(message, machine))
    return AtomExplanation(str(message), rule, tuple(script.steps), message)


def _sentence(message: Message) -> str:
    data, count = message.data, message.exec_size
    subject = f"Each of {count} channels" if count > 1 else "One channel"
    does = DOES[message.op].format(
        data=f"{plural(data.elements, 'element')} of {data.memory_bits} bits",
        mask=data.mask,
        memory=MEMORY[message.sfid],
    )
    if message.prefetch and message.op != "load_status":
        does = does.replace("loads", "prefetches", 1)
    return f"{subject} {does}."


def _explain_message(script: Script, message: Message, machine: Target) -> None:
    section(script, "channels", _channels(message))
    section(script, "address", _address(message))
    section(script, "data", _data(message, machine))
    if message.operation.kind in ("atomic", "counter"):
        new = NEW_VALUES[message.op]
        for name, operand in (("src1", message.src1), ("src2", message.src2)):
            new = new.replace(name, operand or "%null")
        new += " (memory keeps its value)" * (message.op == "atomic_load")
        old = f"; the old value goes to {message.dst}" if message.dst else ""
        section(script, "new value", [f"{new}{old}"])


def _channels(message: Message) -> list[str]:
    first = 4 * (int(message.exec_mask[1]) - 1)
    last = first + message.exec_size - 1
    span = f"channels {first} to {last}" if last > first else f"channel {first}"
    on = ", on or off (NM)" if message.exec_mask.endswith("_NM") else ", those that are on"
    lines = [f"{span} of the thread ({message.exec_mask}){on}"]
    if message.predicate is not None:
        lines.append(f"and of these, where {_predicate(message.predicate)}")
    return lines


def _predicate(text: str) -> str:
    name, _, combine = text.lstrip("!").partition(".")
    inverted = text.startswith("!")
    if combine:
        word = {"any": "any bit", "all": "every bit"}[combine]
        return f"it is {'not ' * inverted}so that {word} of {name} is set"
    return f"the bit of {name} is {'clear' if inverted else 'set'}"


def _address(message: Message) -> list[str]:
    address = message.address
    model = address.model if address.model == "flat" else f"{address.model}({address.surface})"
    if address.register is None:
        return [f"the counter that belongs to the surface {model}"]
    single = message.operation.strided or message.data.transpose
    terms = "" if address.model == "flat" else f"surface {model} + "
    terms += f"{address.scale}·" * (address.scale != 1)
    terms += address.register if single else f"{address.register}[n]"
    if address.offset:
        terms += f" {'+-'[address.offset < 0]} {abs(address.offset)}"
    if message.operation.strided:
        pitch = address.pitch
        if pitch is None:
            pitch = message.data.elements * message.data.memory_bits // 8
        terms += f" + n·{pitch}"
    return [f"channel n: {terms} bytes, in {address.bits} bits"]


def _data(message: Message, machine: Target) -> list[str]:
    data = message.data
    if message.op == "load_status" or message.operation.kind == "counter":
        return []
    lines: list[str] = []
    if data.mask is not None:
        left = "".join(letter for letter in "xyzw" if letter not in data.mask)
        out = f", {left} left out" if left else ""
        lines.append(f"of four elements at the address, {data.mask}{out}")
    elif data.vector > 1:
        lines.append("elements of a channel lie next to each other in memory")
    if data.memory_bits != data.register_bits:
        half = "upper" if data.upper_half else "lower"
        lines.append(f"{data.memory_bits} bits in memory, the {half} part of 32 in a register")
    if data.transpose:
        lines.append("in registers side by side too (transposed)")
    elif data.elements > 1:
        each = data_registers(data, message.exec_size, machine) // data.elements
        order = "in registers first the first element of all channels, then the second …"
        lines.append(f"{order}, {plural(each, 'register')} for each")
    return lines


def _block_sentence(message: Block2DMessage) -> str:
    block = message.block
    does = {"load": "Loads", "store": "Stores", "prefetch": "Prefetches"}[block.op]
    side = f"{block.count} blocks side by side, each " if block.count > 1 else ""
    rows, row = plural(block.height, "row"), plural(block.width, "element")
    return f"{does} {side}{rows} of {row} of {block.bits} bits."


def _explain_block_message(script: Script, message: Block2DMessage) -> None:
    block, (base, width, height, pitch) = message.block, message.surface
    lines = [
        f"begins at {base}; {_plus_one(width)} bytes wide, {_plus_one(height)} rows high,",
        f"{_plus_one(pitch)} bytes from row to row (the message has these three minus 1)",
    ]
    section(script, "surface", lines)
    section(script, "block", [f"from column {message.x}, in elements, and row {message.y} on"])
    order = "column after column (transposed)" if block.transpose else "row after row"
    if block.vnni:
        order += f", {block.per_dword} rows packed into dwords (VNNI)"
    if block.op != "prefetch":
        section(script, "data", [f"in registers {order}"])


def _plus_one(value: int | str) -> str:
    return str(value + 1) if isinstance(value, int) else f"{value} + 1"


def _registers(message: AnyMessage, machine: Target) -> list[str]:
    written, read = message.registers(machine), message.source_registers(machine)
    addresses = 1 if isinstance(message, Block2DMessage) else message.address_registers(machine)
    counts = [(written, "written"), (read, "of data read"), (addresses, "of addresses read")]
    return [", ".join(f"{plural(n, 'register')} {what}" for n, what in counts if n)]


def _rules(message: AnyMessage, machine: Target) -> list[str]:
    broken = message.check(machine)
    if not broken:
        return [f"legal on {machine.name}"]
    return [f"{b.level} on {machine.name}: {b.condition} ({b.rule})" for b in broken]


def _advice(message: AnyMessage, machine: Target) -> list[str]:
    if isinstance(message, Block2DMessage):
        return []
    advice = message.advice(machine)
    return [f"{b.condition.replace('must', 'should')} ({b.source}): {b.fix}" for b in advice]


def _bytes(message: AnyMessage) -> list[str]:
    try:
        code = encode(message).code
    except CuteError as refused:
        return [f"none: {refused.condition}"]
    text = code.hex(" ")
    return [f"{len(code)} bytes:", *(text[i : i + 72].rstrip() for i in range(0, len(text), 72))]


def _send(message: AnyMessage, machine: Target) -> list[str]:
    try:
        desc, ext = encode_descriptor(message, machine)
    except CuteError as refused:
        return [f"none: {refused.condition}"]
    return [f"descriptor {desc:#010x}, extended {ext:#010x}"]
