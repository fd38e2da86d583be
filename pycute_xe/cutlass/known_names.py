"""The catalogue: the name of every atom that the library lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import product
from typing import cast, get_args

from pycute_xe.arch.dpas import Dpas
from pycute_xe.arch.dpas.types import listed_types
from pycute_xe.arch.rules import Rule, rules
from pycute_xe.arch.target import targets
from pycute_xe.atom.block2d_op import Block2DOp, Kind
from pycute_xe.atom.linear_op import LinearOp, linear_names
from pycute_xe.atom.mma_atom import MmaAtom
from pycute_xe.atom.register_picture import SUBGROUP
from pycute_xe.atom.spelling import as_name
from pycute_xe.cutlass.builtin_names import parse_builtin_name
from pycute_xe.cutlass.legacy_lowering import SIZES, broken_rules
from pycute_xe.cutlass.legacy_name import (
    LegacyCopyName,
    Mode as NameMode,
    parse_block2d_name,
    register_steps,
    shipped_names,
)
from pycute_xe.errors import CuteError, DivisibilityError, DTypeError
from pycute_xe.facts import rows as fact_rows
from pycute_xe.numeric import as_numeric

__all__ = [
    "catalogue",
    "copies_of_blocks",
    "grammar_names",
    "KINDS",
    "WITH_BLOCKS",
    "form_of",
    "parse_template_name",
]

# ------------------------------------------------------------ template name
# Block-2D operations by the text of their C++ templates.

KINDS = cast("tuple[Kind, ...]", get_args(Kind))
"""The templates by name."""

WITH_BLOCKS = ("XE_LOAD_2D", "XE_LOAD_2D_VNNI")
"""Those that take a block width, for several blocks side by side."""

_EXAMPLES: dict[str, str] = {
    "XE_LOAD_2D": "16,32,32,16",
    "XE_LOAD_2D_VNNI": "16,32,32,16",
    "XE_LOAD_2D_TRANSPOSE": "32,16,8",
    "XE_STORE_2D": "32,8,16",
    "XE_PREFETCH_2D": "16,8,32",
}
_NUMBERS = r"[1-9][0-9]{0,8}"
_GRAMMAR = re.compile(rf"({'|'.join(KINDS)})\s*[<(]\s*({_NUMBERS}(?:\s*,\s*{_NUMBERS})*)\s*[>)]")


def form_of(kind: str) -> str:
    """Return how a template is written, with an example; "" for other names.

    >>> form_of("XE_STORE_2D")
    'XE_STORE_2D<bits,height,width>, such as XE_STORE_2D<32,8,16>'
    """
    if kind not in _EXAMPLES:
        return ""
    block = "[,block_width]" if kind in WITH_BLOCKS else ""
    return f"{kind}<bits,height,width{block}>, such as {kind}<{_EXAMPLES[kind]}>"


def parse_template_name(text: str) -> Block2DOp | None:
    """Return the operation of a text such as ``XE_LOAD_2D<16,32,32,16>``; ``None`` for others.

    A built-in of OpenCL or SPIR-V is such a text too, see `parse_builtin_name`.

    Law: ``parse_template_name(str(op)) == op``, and so for ``repr(op)``. Raises `CuteError` for a
    wrong count of numbers, and what `Block2DOp` raises for sizes that no message has.

    >>> parse_template_name("XE_LOAD_2D<16, 32, 32, 16>")
    XE_LOAD_2D(16, 32, 32, 16)
    """
    match = _GRAMMAR.fullmatch(as_name(text).strip())
    if match is None:
        return parse_builtin_name(text)
    kind = cast("Kind", match[1])
    numbers = [int(part) for part in match[2].split(",")]
    most = 4 if kind in WITH_BLOCKS else 3
    if not 3 <= len(numbers) <= most:
        raise CuteError(
            "get_atom",
            {"name": text},
            f"{kind} does not take {len(numbers)} numbers",
            f"write {form_of(kind)}",
        )
    bits, height, width = numbers[:3]
    return Block2DOp(kind, bits, height, width, numbers[3] if len(numbers) > 3 else width)


# ------------------------------------------------------------ known names

Wanted = Callable[[bool, int], bool]
"""Whether a copy is wanted: is it a store, and how many bits has its block?"""


@cache
def catalogue() -> tuple[str, ...]:
    """Return every name that the library lists, in a fixed order.

    Older block-2D copies and their prefetch twins as CUTLASS ships them, its older MMA names,
    ``XE_DPAS_TT`` of every combination of types and M from 1 to 8, the block-2D templates of all
    power-of-two sizes that some target allows and 16 work-items can share, and the linear copies of
    unsigned types, atomics of theirs. Law: `get_atom` takes every one of them.

    >>> len(catalogue()) > 1500, catalogue()[0]
    (True, 'XE_2D_U16x1x16_LD_N')
    """
    templates = (*_templates(_every), *_linear_ops())
    return (*shipped_names(), *_older_mma_names(), *_dpas_names(), *map(str, templates))


def copies_of_blocks(
    wanted: Wanted, shipped: bool | None = None
) -> Iterator[LegacyCopyName | Block2DOp]:
    """Yield the block-2D loads and stores of `catalogue`, then those of `grammar_names`.

    Only those that are wanted are looked at closely, which costs much less than to list all.
    ``shipped=True`` leaves out the second, ``False`` the first. Law: in the order of both lists.

    >>> found = copies_of_blocks(lambda is_store, bits: not is_store and bits == 16 * 16 * 16)
    >>> str(next(found))
    'XE_2D_U16x16x16_LD_N'
    """
    if shipped is not False:
        for name in map(parse_block2d_name, shipped_names()):
            rows_, cols = name.logical_shape
            if not name.is_prefetch and wanted(name.is_store, rows_ * cols * name.bits):
                yield name
        yield from (op for op in _templates(wanted) if op.kind != "XE_PREFETCH_2D")
    if not shipped:
        yield from _grammar(wanted)


def _every(is_store: bool, bits: int) -> bool:  # noqa: ARG001 - as `Wanted`
    """Want all."""
    return True


@cache
def grammar_names() -> tuple[str, ...]:
    """Return names of CUTLASS's grammar of older copies that it does not ship, though it could.

    Rows and columns are powers of two to 64, work-items share the block evenly, and messages of
    some target move it. Law: none of them is in `catalogue`; `get_atom` takes every one.

    >>> "XE_2D_U16x32x16_LD_T" in grammar_names(), "XE_2D_U32x16x16_LD_V" in grammar_names()
    (True, False)
    """
    return tuple(map(str, _grammar(_every)))


def _grammar(wanted: Wanted) -> Iterator[LegacyCopyName]:
    types = {"U4": 4, "U8": 8, "U16": 16, "U32": 32, "U64": 64, "TF32": 32}
    modes = cast("tuple[NameMode, ...]", get_args(NameMode))
    ways: list[tuple[NameMode, bool]] = [*((mode, False) for mode in modes), ("N", True)]
    for packed, kind, (mode, store) in product((False, True), types, ways):
        if packed and (kind not in ("U4", "U8", "U16") or mode == "V" or store):
            continue
        for rows_, cols in product(SIZES, SIZES):
            if not wanted(store, rows_ * cols * types[kind]):
                continue
            name = LegacyCopyName(kind, rows_, cols, mode, store, packed)
            if not name.shipped and _can_be_moved(name):
                yield name


def _can_be_moved(name: LegacyCopyName) -> bool:
    try:
        register_steps(name)
    except DivisibilityError:
        return False
    return any(not broken_rules(name, target) for target in targets())


def _older_mma_names() -> Iterator[str]:
    for row in fact_rows("dpas", "older_name"):
        d, a, b, c = map(as_numeric, cast("tuple[str, ...]", row["types"]))
        for m in cast("tuple[int, ...]", row["m"]):
            yield MmaAtom(Dpas(m, d, a, b, c), legacy=True).name


def _dpas_names() -> Iterator[str]:
    for types, m in product(listed_types(), range(1, 9)):
        yield f"XE_DPAS_TT<{m},{','.join(types)}>"


def _linear_ops() -> Iterator[LinearOp]:
    unsigned = ("u8", "u16", "u32", "u64", "u128")
    for kind in linear_names():
        types = ("f32", "f64", "s32") if kind == "XE_ATOMIC" else unsigned
        for source, result in product(types, types):
            # CUTLASS's static assertions refuse these types.
            with suppress(DTypeError):
                yield LinearOp(kind, as_numeric(source), as_numeric(result))


def _templates(wanted: Wanted) -> Iterator[Block2DOp]:
    for kind, bits, height, width in product(KINDS, (8, 16, 32, 64), SIZES, SIZES):
        if not wanted(kind == "XE_STORE_2D", height * width * bits):
            continue
        parts = [n for n in SIZES if n <= width] if kind in WITH_BLOCKS else [width]
        for block in reversed(parts):
            op = _template(kind, bits, height, width, block)
            if op is not None:
                yield op


@cache
def _template(kind: Kind, bits: int, height: int, width: int, block: int) -> Block2DOp | None:
    """The operation, if work-items can share its block and a target has it."""
    op = Block2DOp(kind, bits, height, width, block)
    quantities = op.message.quantities
    if any(_allows(limits, quantities) for limits in _limits(op.message.op)):
        return op if height * width % SUBGROUP == 0 else None
    return None


@cache
def _limits(way: str) -> frozenset[tuple[Rule, ...]]:
    """The rules of level "error" of each target, once where targets agree."""
    return frozenset(
        tuple(rule for rule in rules("block2d", "message", target, way) if rule.level == "error")
        for target in targets()
    )


def _allows(limits: tuple[Rule, ...], quantities: Mapping[str, int]) -> bool:
    return all(rule.holds(quantities) for rule in limits if rule.applies(quantities))
