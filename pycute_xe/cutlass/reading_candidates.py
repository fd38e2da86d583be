"""Floor 6: which atoms of the catalogue have the layouts that were printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, cast

from pycute_xe.algebra import coalesce, filter_zeros
from pycute_xe.arch.dpas import Dpas
from pycute_xe.atom.block2d_op import Block2DOp
from pycute_xe.atom.copy_answers import CopyAnswers
from pycute_xe.atom.copy_atom import make_copy_atom
from pycute_xe.atom.linear_op import LinearOp, linear_names
from pycute_xe.atom.mma_atom import MmaAtom, make_mma_atom
from pycute_xe.cutlass.known_names import catalogue
from pycute_xe.cutlass.legacy_copy import LegacyCopyAtom
from pycute_xe.cutlass.legacy_name import LegacyCopyName
from pycute_xe.cutlass.names import get_atom
from pycute_xe.cutlass.reading_names import cpp_names
from pycute_xe.cutlass.reading_text import Reader
from pycute_xe.cutlass.reading_types import parse_types
from pycute_xe.cutlass.reading_values import value_of
from pycute_xe.errors import CuteError, DTypeError
from pycute_xe.layout import Layout, size
from pycute_xe.numeric import Numeric, as_numeric, numerics

__all__ = ["copy_printed_so", "mma_printed_so"]

# Of either kind of operation, which its overloads tell apart.
_made = cast("Callable[[Block2DOp | LinearOp, Numeric], CopyAnswers]", make_copy_atom)

_SHOWN = 6
Layouts = tuple[Layout, ...]


def mma_printed_so(thr_id: Layout, shape_mnk: Any, layouts: Layouts, op: Any) -> MmaAtom:
    """Return the MMA atom that prints so: the one there is, or that of ``op``.

    ``layouts`` are those of A, B and C. Raises `CuteError` where several atoms do, none does, or
    that of ``op`` does not.
    """
    wanted = (shape_mnk, *map(_plain, (thr_id, *layouts)))
    if op is not None:
        atom = _operation(op, None)
        if not isinstance(atom, MmaAtom):
            raise CuteError("print", {"op": op}, "op is not an MMA operation", "give XE_DPAS_TT<…>")
        if _mma_print(atom) != wanted:
            raise _other(atom, [a.name for a in _mmas() if _mma_print(a) == wanted])
        return atom
    found = [atom for atom in _mmas() if _mma_print(atom) == wanted]
    if len(found) == 1:
        return found[0]
    raise _several([atom.name for atom in found], "MMA atom", "op")


def _mma_print(atom: MmaAtom) -> tuple[Any, ...]:
    tvs = (atom.thr_id, atom.tv_layout_A, atom.tv_layout_B, atom.tv_layout_C)
    return (atom.shape_mnk, *map(_plain, tvs))


@cache
def _mmas() -> tuple[MmaAtom, ...]:
    linear = tuple(linear_names())
    names = (name for name in catalogue() if not name.startswith(("XE_2D", *linear)))
    atoms = (get_atom(name) for name in names if "TT" in name)
    return tuple(atom for atom in atoms if isinstance(atom, MmaAtom))


def copy_printed_so(
    layouts: Layouts, bits: int, op: Any, value_type: Any, fits: Callable[[CopyAnswers], bool]
) -> CopyAnswers:
    """Return the copy atom that prints so: the one there is, or that of ``op`` and ``value_type``.

    ``layouts`` are ThrID and those of source, destination and reference, ``bits`` those of a value;
    ``fits`` says whether an atom is the one of the tiling that was printed.
    Raises `CuteError` where several atoms do, none does, or the one that is told does not.
    """
    held = _type_of(bits, value_type)
    wanted = _told(layouts)
    stand_in = held or _of_width(bits)[0]
    if op is None:
        alike = (a for a in _copies(size(layouts[3]), stand_in) if _copy_print(a) == wanted)
        found = list(filter(fits, alike))
        if len(found) != 1:
            options = "op" if held or not found else "op= and value_type"
            raise _several(list(dict.fromkeys(map(str, found))), "copy atom", options)
        atom = found[0]
    else:
        atom = _of_operation(op, stand_in, wanted)
    if held is None:
        condition = f"{atom} prints so for every type of {bits} bits"
        named = ", ".join(f'"{kind}"' for kind in _of_width(bits))
        raise CuteError("print", {}, condition, f"give value_type= one of {named}")
    return atom


def _of_operation(op: Any, held: Numeric, wanted: Layouts) -> CopyAnswers:
    atom = _operation(op, held)
    if isinstance(atom, MmaAtom):
        raise CuteError("print", {"op": op}, "op is an MMA, not a copy", "give XE_LOAD_2D<…>")
    turned = [atom]
    if isinstance(atom, LegacyCopyAtom):
        turned.append(LegacyCopyAtom(atom.name, held, not atom.m_major))
    for found in turned:
        if _copy_print(found) == wanted:
            return found
    near = [str(a) for a in _copies(size(wanted[3]), held) if _copy_print(a) == wanted]
    raise _other(atom, near)


def _copy_print(atom: CopyAnswers) -> Layouts:
    tvs = cast("Any", atom)
    return _told((atom.thr_id, tvs.layout_src_tv, tvs.layout_dst_tv, atom.layout_ref_tv))


def _told(layouts: Layouts) -> Layouts:
    """The layouts in one form; a side without owners, memory, tells that and nothing else.

    CUTLASS's older traits differ among themselves in what they write there.
    """
    plain = map(_plain, layouts)
    return tuple(tv[0] if len(tv) > 1 and _unowned(tv[0]) else tv for tv in plain)


def _unowned(threads: Layout) -> bool:
    return size(threads) > 1 and size(filter_zeros(threads)) == 1


def _copies(count: int, held: Numeric) -> Iterator[CopyAnswers]:
    """Atoms of the catalogue that move so many values."""
    for name in catalogue():
        if "TT" in name and not name.startswith("XE_2D"):
            continue
        try:
            atoms = [cast("CopyAnswers", get_atom(name, held))]
            if isinstance(atoms[0], LegacyCopyAtom):
                atoms.append(LegacyCopyAtom(atoms[0].name, held, m_major=True))
            yield from (atom for atom in atoms if size(atom.layout_ref_tv) == count)
        except CuteError:
            continue  # not for values of this type


def _plain(layout: Layout) -> Layout:
    """A layout in the one form of all that print the same function by modes."""
    return coalesce(layout, (1,) * len(layout)) if len(layout) > 1 else coalesce(layout)


def _operation(op: Any, held: Numeric | None) -> MmaAtom | CopyAnswers:
    """The atom of an operation, named in any of the ways there are."""
    if isinstance(op, str):
        op = _named(op)
    if isinstance(op, (CopyAnswers, MmaAtom)):
        return op if held is None or isinstance(op, MmaAtom) else _retyped(op, held)
    if isinstance(op, Dpas):
        return make_mma_atom(op)
    if held is None:
        fix = "give its name, such as XE_DPAS_TT<8,float,bfloat16_t>"
        raise CuteError("print", {"op": op}, f"op {op} is not an MMA operation", fix)
    if isinstance(op, (Block2DOp, LinearOp)):
        return _made(op, held)
    if isinstance(op, LegacyCopyName):
        return LegacyCopyAtom(op, held)
    kind = type(op).__name__
    condition = f"op, of type {kind}, is not an operation for this print"
    raise CuteError(
        "from_cute", {"op": op}, condition, "give its name, such as XE_LOAD_2D<16,8,16>"
    )


def _retyped(atom: CopyAnswers, held: Numeric) -> CopyAnswers:
    if isinstance(atom, LegacyCopyAtom):
        return LegacyCopyAtom(atom.name, held, atom.m_major)
    return _made(cast("Any", atom).op, held)


def _named(text: str) -> Any:
    named, last = parse_types(Reader(text))
    return value_of(text, named, last)


def _type_of(bits: int, value_type: Any) -> Numeric | None:
    """The type of the values that was told, checked against the width that was printed."""
    if not _of_width(bits):
        known = ", ".join(map(str, sorted({as_numeric(name).bits for name in numerics()})))
        raise DTypeError("print", {"ValueType": f"{bits}b"}, "no type has this width", known)
    if value_type is None:
        return None
    told = cpp_names().get(value_type) if isinstance(value_type, str) else None
    held = told or as_numeric(value_type)
    if held.bits != bits:
        condition = f"{held} has {held.bits} bits, the printed values have {bits}"
        named = ", ".join(map(str, _of_width(bits)))
        raise DTypeError("print", {"value_type": held}, condition, f"one of {named}")
    return held


def _of_width(bits: int) -> tuple[Numeric, ...]:
    known = (*numerics(), "u128", "u256", "u512")
    found = tuple(kind for kind in map(as_numeric, known) if kind.bits == bits)
    return tuple(sorted(found, key=lambda kind: kind.kind != "unsigned"))


def _several(names: list[str], kind: str, options: str) -> CuteError:
    if not names:
        condition = f"no {kind} of the catalogue has these layouts"
        return CuteError("print", {}, condition, "give op=, or the type instead of its print")
    condition = f"{len(names)} {kind}s have these layouts: {_listed(names)}"
    if len(names) == 1:
        condition = f"{names[0]} has these layouts for tensors of both orders"
    return CuteError("print", {}, condition, f"tell which, as {options}=…")


def _other(atom: MmaAtom | CopyAnswers, near: list[str]) -> CuteError:
    told = f"{atom} has other layouts than those printed"
    fix = f"these have them: {_listed(list(dict.fromkeys(near)))}" if near else "give another op"
    return CuteError("print", {"op": str(atom)}, told, fix)


def _listed(names: list[str]) -> str:
    names = sorted(names, key=lambda name: name.startswith("XE_2D_"))  # older names last
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
