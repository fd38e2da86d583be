"""Floor 9: what every CuTe text begins with, and the names that C++ keeps for itself."""

from __future__ import annotations

import re

__all__ = ["KEYWORDS", "RETYPED"]

KEYWORDS = re.compile(
    "alignas|alignof|and|asm|auto|bool|break|case|catch|char|class|const|continue|copy|decltype|"
    "default|delete|do|double|else|enum|explicit|export|extern|false|float|for|friend|gemm|goto|if|"
    "inline|int|long|mutable|namespace|new|not|operator|or|prefetch|private|protected|public|"
    "register|reorder|return|short|signed|sizeof|static|struct|switch|template|this|thread|throw|"
    "true|try|typedef|typeid|typename|union|unsigned|using|virtual|void|volatile|while|xor"
)

RETYPED = """\
// A fragment like another one, of another type.
template <class T, class F>
using retyped = remove_cvref_t<decltype(make_subgroup_tensor(
    make_fragment_like<T>(std::declval<F>().layout()), std::declval<F>().tv_layout()))>;

// The registers of a fragment in the shape of another one.
template <class F, class G>
CUTE_DEVICE auto viewed(F& fragment) {
  return make_tensor(fragment.data(), decltype(std::declval<G>().layout()){});
}

// The tile of a tensor that begins at a coordinate.
template <class T, class Tile, class Coord>
CUTE_DEVICE auto tile_at(T const& tensor, Tile const& tile, Coord const& at) {
  return local_tile(domain_offset(at, tensor), tile, make_coord(_0{}, _0{}));
}

CUTE_DEVICE constexpr int xe_floor(int a, int b) { return a / b - (a % b < 0); }"""
