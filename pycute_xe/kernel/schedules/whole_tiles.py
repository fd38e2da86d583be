"""What a kernel that follows a plan does with one tile, as a kernel of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from pycute_xe.errors import KernelError
from pycute_xe.kernel.index import Index, Looked, Quotient, Tiles
from pycute_xe.kernel.ir.effects import CounterAccess
from pycute_xe.kernel.ir.identities import renamed
from pycute_xe.kernel.ir.kernel import Kernel
from pycute_xe.kernel.ir.planned import Planned
from pycute_xe.kernel.ir.program import walk
from pycute_xe.kernel.ir.statements import If, Loop, Statement
from pycute_xe.kernel.schedules.plan import FIELDS
from pycute_xe.signatures import typed
from pycute_xe.typing import is_tuple

__all__ = ["any_piece", "whole_tiles"]

TABLES = ("work", "count", "W", "locks")
_NUMBERS = [Index(None, number) for number in range(len(FIELDS))]


@typed
def whole_tiles(kernel: Kernel) -> Kernel:
    """Return the kernel in which each work-group computes one tile, whole, in place of its pieces.

    The law: where every piece of a plan is a whole tile and the plan covers each tile once, the
    scheduled kernel does, in another order, what this one does. So `verify` of this kernel, for all
    sizes, and `covers` of a plan together prove the scheduled kernel for that plan. Raises
    `KernelError` for a kernel that follows no plan, or another piece of it than its own, and for
    stacked experts, whose rows only the plan knows: ask the same kernel with ``groups="batch"``, in
    which each expert's rows are a matrix of their own.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> from pycute_xe.kernel.kinds.gemms import scheduled
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> alone = whole_tiles(scheduled(mma))
    >>> print(*(f"{name} < {count}" for name, count in alone.grid))
    m < ceil_div(M, 256) n < ceil_div(N, 256)
    """
    return _by_usual_names(kernel, _whole)


def _whole(kernel: Kernel) -> Kernel:
    (turns, batched), tile = _turns(kernel), kernel.mma.tile_mnk
    fixed: dict[str, Index] = {name: Index() for name in FIELDS}
    fixed |= {"m": Index("m"), "n": Index("n"), "group": Index("l")}
    fixed |= {"stop": Tiles("K", tile[2]), "first": Index(None, 1), "last": Index(None, 1)}
    grid = (("m", Tiles("M", tile[0])), ("n", Tiles("N", tile[1])))
    if batched:
        grid = (("l", Index("L")), *grid)
    return _with(kernel, grid, _with_values(turns.body, fixed), TABLES)


def any_piece(kernel: Kernel) -> Kernel:
    """Return the kernel in which a work-group does one piece, whatever the table says of it.

    What the table may say is an index of the grid; no piece waits for another, so what it computes
    is not what the plan does. Raises `KernelError` as `whole_tiles` does.

    >>> from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    >>> from pycute_xe.kernel.kinds.gemms import scheduled
    >>> mma = workgroup_mma(XE_DPAS_TT(8, "f32", "bf16"))
    >>> print(*(name for name, _ in any_piece(scheduled(mma)).grid))
    of_m of_n of_start of_stop of_first of_last
    """
    return _by_usual_names(kernel, _any)


def _any(kernel: Kernel) -> Kernel:
    (turns, batched), tile = _turns(kernel), kernel.mma.tile_mnk
    counts = {"m": Tiles("M", tile[0]), "n": Tiles("N", tile[1])}
    counts |= {"group": Index("L")} if batched else {}
    counts |= {"start": Tiles("K", tile[2]), "stop": Tiles("K", tile[2], 1)}
    counts |= {"first": Index(None, 2), "last": Index(None, 2)}
    values = {name: Index(f"of_{name}") if name in counts else Index() for name in FIELDS}
    grid = tuple((f"of_{name}", count) for name, count in counts.items())
    body = _without_waits(_with_values(turns.body, values))
    return _with(kernel, grid, body, ("work", "count", "locks")).without_claims()


def _by_usual_names(kernel: Kernel, make: Callable[[Kernel], Kernel]) -> Kernel:
    """Return what is made of a kernel under the names of `scheduled`, in the kernel's own names.

    A kernel of other names says in ``plan`` which are meant; so it is the same kernel.
    """
    plan = kernel.plan
    if plan is None or plan == Planned(scratch=plan.scratch, locks=plan.locks, batch=plan.batch):
        return make(kernel)
    pairs = zip((plan.things, plan.variables), _taken(kernel), strict=True)
    things, variables = (_injective(names, taken) for names, taken in pairs)
    made = make(renamed(kernel, things, variables))
    back = ({new: old for old, new in names.items()} for names in (things, variables))
    return renamed(made, *back)


def _taken(kernel: Kernel) -> tuple[tuple[str, ...], tuple[str, ...]]:
    groups = (kernel.operands, kernel.fragments, kernel.shared)
    loops = (s.var for s in walk(kernel.body) if isinstance(s, Loop))
    bound = (*kernel.sizes, *(name for name, _ in kernel.grid), *loops)
    return tuple(x.name for group in groups for x in group), bound


def _injective(names: dict[str, str], taken: tuple[str, ...]) -> dict[str, str]:
    """Return names under which no other name that is taken becomes one of the new ones."""
    out, new = dict(names), set(names.values())
    for name in taken:
        if name not in out:
            other = name
            while other in new or (other != name and other in taken):
                other += "_"
            out[name] = other
            new.add(other)
    return out


def _without_waits(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    out: list[Statement] = []
    for statement in body:
        if isinstance(statement, (If, Loop)):
            inner = _without_waits(statement.body)
            out += [replace(statement, body=inner)] if inner else []
        elif _waited_for(statement) is None or not statement.touched.only_counts:
            out.append(statement)
    return tuple(out)


def _waited_for(statement: Statement) -> CounterAccess | None:
    """Return the counter for which a statement waits, or which it signals; tickets are none."""
    counter = statement.touched.counter
    return None if counter is None or counter.into else counter


def _with(
    kernel: Kernel,
    grid: tuple[tuple[str, Index], ...],
    body: tuple[Statement, ...],
    without: tuple[str, ...],
) -> Kernel:
    """Return a kernel of another grid and body, without some operands and unused fragments."""
    touched = [statement.touched for statement in walk(body)]
    used = {name for t in touched for name in (*t.reads, *t.writes, *t.updates)}
    return replace(
        kernel,
        operands=tuple(o for o in kernel.operands if o.name not in without),
        fragments=tuple(f for f in kernel.fragments if f.name in used),
        grid=grid,
        body=body,
        plan=None,
    )


def _turns(kernel: Kernel) -> tuple[Loop, bool]:
    """Return the loop over a work-group's pieces, and whether each problem has its own matrices."""
    names = {operand.name: operand for operand in kernel.operands}
    turns, *more = kernel.body
    planned = (("u", Index("U")),), "i", Index(), Index.element("count", Index("u"))
    if (
        not isinstance(turns, Loop)
        or more
        or not {"work", "count"} <= set(names)
        or (kernel.grid, turns.var, turns.start, turns.stop) != planned
    ):
        raise KernelError(
            "whole_tiles",
            {"kernel": kernel.name},
            "the kernel does not look its work up in a plan's tables",
            "give what kernel.scheduled returns",
        )
    leads = {"L" in names[name].extents for name in ("A", "B", "D")}
    if len(leads) > 1:
        raise KernelError(
            "whole_tiles",
            {"kernel": kernel.name},
            "experts are stacked, and where their rows begin is known to the plan alone",
            'ask the kernel made with groups="batch"',
        )
    products = (statement.touched.product for statement in walk(kernel.body))
    if len({product.mma.tile_mnk for product in products if product is not None}) != 1:
        raise KernelError(
            "whole_tiles",
            {"kernel": kernel.name},
            "its work-groups multiply by several tilings, so a tile is not a kernel of its own",
            "multiply by one tiled MMA",
        )
    return turns, True in leads


def _with_values(body: tuple[Statement, ...], values: dict[str, Index]) -> tuple[Statement, ...]:
    """Return the statements with what the plan says put in, and without what it rules out."""
    out: list[Statement] = []
    for statement in body:
        made = _replaced(statement, values)
        if isinstance(made, (If, Loop)):
            made = replace(made, body=_with_values(made.body, values))
        if isinstance(made, If) and made.index.is_constant and made.below.is_constant:
            out += made.body if made.index.offset < made.below.offset else ()
        else:
            out.append(made)
    return tuple(out)


def _replaced(statement: Statement, values: dict[str, Index]) -> Any:
    """Return a statement with the table's elements in its own indices replaced."""
    if not is_dataclass(statement):
        return statement
    changed: dict[str, Any] = {}
    for field in fields(statement):
        value = getattr(statement, field.name)
        if isinstance(value, Index):
            changed[field.name] = _known(value, values)
        elif is_tuple(value) and value and all(isinstance(x, Index) for x in value):
            changed[field.name] = tuple(_known(x, values) for x in value)
    return replace(statement, **changed) if changed else statement


def _known(index: Index, values: dict[str, Index]) -> Index:
    """Return an index with the elements of the table ``work`` replaced."""
    out = Index(None, index.offset)
    for atom, factor in index.terms:
        if isinstance(atom, Looked) and atom.operand == "work":
            term = values[_field(atom)]
        elif isinstance(atom, Quotient):
            term = _known(atom.index, values) // atom.divisor
        else:
            term = Index.of({atom: 1}, 0)
        out = out + term * factor
    return out


def _field(entry: Looked) -> str:
    """Return which field of its own piece a work-group looks up."""
    *piece, field = entry.at
    if piece != [Index("u"), Index("i")] or field not in _NUMBERS:
        raise KernelError(
            "whole_tiles",
            {"looked up": entry},
            "a work-group looks up what is not its own piece of the plan",
            "read work[u, i, …] with the number of a field",
        )
    return FIELDS[field.offset]
