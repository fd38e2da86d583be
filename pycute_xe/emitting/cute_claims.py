"""Floor 9: what the library claims of a kernel's layouts, as static assertions of C++."""

from __future__ import annotations

from collections.abc import Iterator

from pycute_xe.algebra import coalesce
from pycute_xe.atom import TiledCopy, TiledMma
from pycute_xe.atom.cpp_text import tiler_cpp
from pycute_xe.emitting.cute_parts import Parts
from pycute_xe.kernel import Reorder
from pycute_xe.layout import Layout

__all__ = ["HELPERS", "claims"]

HELPERS = """\
// Layouts are compared as types, simplified by mode: equal types are equal functions.
template <class L> using by_mode = decltype(coalesce(L{}, Step<_1,_1>{}));
template <class L, class M> constexpr bool same = std::is_same_v<L, M>;

// What moves a block: the operation, and the tensor's modes along and across rows.
template <class T> struct moved;
template <class Op, class X, class Y, class T, class Strides>
struct moved<Copy_Traits<Op, X, Y, T, Strides>> {
  template <class O, int x, int y>
  static constexpr bool by = same<Op, O> && X::value == x && Y::value == y;
};

// The (work-item, value) layout of a fragment in the order of the registers' elements.
template <class F>
using register_tv = decltype(detail::subbyte_sg_tv_swizzle<typename F::value_type>(
    project_strides(std::declval<F>().tv_layout())));

// Register element of a source -> of a destination, as `reorder` moves them.
template <class S, class D>
using reordered = decltype(coalesce(composition(right_inverse(register_tv<D>{}),
                                                register_tv<S>{})));"""


def claims(parts: Parts) -> Iterator[str]:
    """Yield the assertions: tiled MMAs, copies, sizes of fragments, reorders."""
    for mma, name in parts.mmas.items():
        yield from _of_mma(mma, name)
    for (copy, _), name in parts.copies.items():
        yield from _of_copy(copy, name)
    for fragment in parts.kernel.fragments:
        held = f"decltype(size(std::declval<{fragment.name}_t>().layout()))::value"
        yield _line(f"{held} == {fragment.slots}", f"values of {fragment.name}")
    for reorder in parts.reorders():
        yield _of_reorder(reorder)


def _of_mma(mma: TiledMma, name: str) -> Iterator[str]:
    atom = (mma.atom.tv_layout_A, mma.atom.tv_layout_B, mma.atom.tv_layout_C)
    tiled = (mma.tv_layout_A_tiled, mma.tv_layout_B_tiled, mma.tv_layout_C_tiled)
    for operand, whole, one in zip("ABC", tiled, atom, strict=True):
        yield _same(f"typename {name}::AtomLayout{operand}_TV", one, f"{operand} of the atom")
        found = f"decltype({name}{{}}.get_layout{operand}_TV())"
        yield _same(found, whole, f"{operand} of {name}")


def _of_copy(copy: TiledCopy, name: str) -> Iterator[str]:
    by = f"{copy.op.to_cpp()}, {copy.x_mode}, {copy.y_mode}"
    yield _line(f"moved<typename {name}::Traits>::by<{by}>", f"operation of {name}")
    tile = tiler_cpp(copy.tiler_mn)
    yield _line(f"same<typename {name}::Tiler_MN, {tile}>", f"tile of {name}")
    yield _same(f"typename {name}::ValLayoutRef", copy.atom.layout_ref_tv, f"block of {name}")
    yield _same(f"typename {name}::TiledLayout_TV", copy.layout_tv_tiled, name)


def _of_reorder(statement: Reorder) -> str:
    names = f"{statement.source}_t, {statement.destination}_t"
    text = f"same<reordered<{names}>, {coalesce(statement.slots).to_cpp()}>"
    return _line(text, f"reorder {statement.source} -> {statement.destination}")


def _same(found: str, claimed: Layout, of: str) -> str:
    return _line(f"same<by_mode<{found}>, {coalesce(claimed, (1, 1)).to_cpp()}>", of)


def _line(condition: str, of: str) -> str:
    return f'static_assert({condition}, "{of}");'
