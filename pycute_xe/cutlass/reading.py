"""Floor 6: values of the library from C++ text: types as written, and what CuTe prints."""

from __future__ import annotations

from typing import Any, cast

from pycute_xe.cutlass.reading_prints import printed_value
from pycute_xe.cutlass.reading_text import Reader
from pycute_xe.cutlass.reading_types import parse_types
from pycute_xe.cutlass.reading_values import value_of
from pycute_xe.errors import InputError
from pycute_xe.signatures import shortly

__all__ = ["from_cute"]


def from_cute(text: str, *, op: Any = None, value_type: Any = None) -> Any:
    """Return the value of a C++ type, or of what CuTe prints of one.

    Types: ``Layout``, ``Swizzle``, ``ComposedLayout``, ``MMA_Atom``, ``TiledMMA``,
    ``TiledMMAHelper<…>::TiledMMA``, ``Copy_Atom``, ``TiledCopy``, the operations within, tuples,
    integers and element types, as programmers write them and as compilers do, with or without
    ``cute::``, after any ``using name = type;``. Prints: layouts, swizzled ones, MMA and copy atoms
    and their tilings. Law: ``from_cute(x.to_cpp()) == x``; a type of a tiled copy does not hold the
    tensor's shape and pitch, which stay unknown.

    A printed atom does not name its operation, and of its values the width only: ``op`` and
    ``value_type`` do, where several atoms print so. Raises `InputError` with line and column for
    what is not such a text, `CuteError` with the candidates for an atom that is not told, and what
    the values raise that cannot be built. C++: ``print(x)``, or the type of ``x``.

    >>> from_cute("Layout<Shape<_8, Int<33>>, Stride<_33, _1>>")
    Layout((8, 33), (33, 1))
    >>> print(from_cute("cute::MMA_Atom<cute::XE_DPAS_TT<8, float, cutlass::bfloat16_t>>"))
    XE_DPAS_TT<8,f32,bf16,bf16,f32>
    >>> print(from_cute("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)"))
    Sw<3,3,3> o 0 o (8,64):(64,1)
    """
    if not isinstance(cast("object", text), str):
        raise InputError(
            "from_cute",
            {"text": shortly(text)},
            f"text is of type {type(text).__name__}",
            'give a str, as in from_cute("Layout<Shape<_8,_4>>")',
        )
    reader = Reader(text)
    found = printed_value(reader, op, value_type)
    if found is not NotImplemented:
        return found
    named, last = parse_types(reader)
    if op is not None or value_type is not None:
        option = "op" if op is not None else "value_type"
        condition = f"{option} tells what a printed atom leaves out; a type names it itself"
        raise InputError("from_cute", {option: option}, condition, f"leave {option} out")
    return value_of(text, named, last)
