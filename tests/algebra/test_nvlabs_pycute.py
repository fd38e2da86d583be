"""What NVlabs PyCuTe's own tests expect, asked of the library and counted.

`tests/data/nvlabs_pycute.txt` has the operands and, where a test there states one, the result of
each case in `test/*.py` and in the API reference of NVlabs/CuTe at commit 02e137e. A line that
starts with `=` names what is asked; `{a;b}` stands for each of some alternatives, `<a;b>` for the
alternatives of one line taken together. Cases without a result are judged by the operation's law.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product as combinations
from pathlib import Path
from typing import Any

import pycute_xe as cx
from pycute_xe import int_tuple
from pycute_xe import E, Layout, Swizzle, basis
from pycute_xe.basis import ArithTuple, basis_get
from pycute_xe.errors import CuteError
from pycute_xe.f2 import F2, F2Layout
from pycute_xe.int_tuple import crd2idx, flatten_tuple, idx2crd, leaves, unflatten_tuple

DATA = Path(__file__).parents[1] / "data" / "nvlabs_pycute.txt"
SYMBOLS = dict(zip("NMXY", cx.symbols("N M X Y"), strict=True))

# ------------------------------------------------------------ reading


def split(text: str, sign: str) -> list[str]:
    """Parts of a text at a sign that no bracket encloses."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == sign and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def alternatives(text: str) -> list[str]:
    """What stands between braces, a range of numbers written out."""
    ends = re.fullmatch(r"(\d+)\.\.(\d+)", text)
    return list(map(str, range(int(ends[1]), int(ends[2]) + 1))) if ends else split(text, ";")


def expanded(row: str) -> Iterator[str]:
    """Each case that a line stands for."""
    row = row.replace("->", "→")
    together = [alternatives(part) for part in re.findall(r"<([^<>]*)>", row)]
    for chosen in zip(*together, strict=True) if together else [()]:
        values = iter(chosen)
        text = re.sub(r"<[^<>]*>", lambda _: next(values), row)
        each = [alternatives(part) for part in re.findall(r"\{([^{}]*)\}", text)]
        for several in combinations(*each):
            parts = iter(several)
            yield re.sub(r"\{[^{}]*\}", lambda _: next(parts), text)


def tree(text: str) -> Any:
    """An integer, a coordinate, a shape or strides; `_` is ``None``."""
    text = re.sub(r"\bF(\d+)", r"F2(\1)", text)

    def element(match: re.Match[str]) -> str:
        return f"at({match[1]},{','.join(match[2].split('@')[:0:-1])})"

    text = re.sub(r"(F2\(\d+\)|-?\d+)((?:@\d+)+)", element, text)
    text = re.sub(r"(?<![\w)])_(?!\w)", "None", text)
    return eval(text, {"at": lambda v, *path: basis.Basis(v, path), "F2": F2, **SYMBOLS})


def value(text: str) -> Any:
    """A layout, a tiler in brackets, a ratio or a tree."""
    if text.startswith("["):
        return tuple(map(value, split(text[1:-1], ";")))
    if len(parts := split(text, ":")) > 1:
        return layout(*map(tree, parts))
    return Fraction(text) if re.fullmatch(r"1/\d+", text) else tree(text)


def layout(shape: Any, stride: Any) -> Any:
    kind = F2Layout if any(isinstance(d, F2) for d in leaves(stride)) else Layout
    return kind(shape, stride)


def cases() -> Iterator[tuple[str, list[Any], str]]:
    """Name, operands and wanted result of each case."""
    names = [""]
    for row in DATA.read_text().splitlines():
        if row.startswith("= "):
            names = list(expanded(row[2:]))
            continue
        for name in names:
            for case in expanded(row):
                given, _, wanted = case.partition("→")
                operands = [part for part in split(given, "|") if part or "mode" not in name]
                if "mode" in name.split() and operands and len(split(given, "|")) > len(operands):
                    operands.insert(0, "")
                yield name, operands, wanted.strip()


# ------------------------------------------------------------ laws


def extent(layout: Any) -> int:
    count = cx.product(layout.shape)
    assert type(count) is int
    return count


def at(layout: Any, index: Any) -> Any:
    """A value as what compares: XOR layouts give integers."""
    return layout(index)


def alike(a: Any, b: Any, count: int) -> bool:
    return all(at(a, i) == at(b, i) for i in range(count))


def zero(value: Any) -> bool:
    return value == 0 or (isinstance(value, tuple) and ArithTuple(value) == 0)


def composes(a: Any, b: Any) -> bool:
    r = cx.composition(a, b)
    return cx.compatible(b.shape, r.shape) and all(r(i) == a(b(i)) for i in range(extent(r)))


def associates(a: Any, b: Any, c: Any) -> bool:
    left = cx.composition(cx.composition(a, b), c)
    right = cx.composition(a, cx.composition(b, c))
    return all(left(i) == right(i) == a(b(c(i))) for i in range(extent(c)))


def coalesces(a: Any) -> bool:
    r = cx.coalesce(a)
    good = cx.depth(r.shape) <= 1 and extent(r) == extent(a) and alike(r, a, extent(a))
    whole = cx.composition(a, Layout(extent(a), 1 if extent(a) > 1 else 0))
    return good and cx.coalesce(r) == r and functions_equal(whole, r)


def functions_equal(a: Any, b: Any) -> bool:
    return extent(a) == extent(b) and alike(a, b, extent(a))


def coalesces_on(a: Any) -> bool:
    r = cx.coalesce_z(a)
    good = cx.depth(r.shape) <= 1 and alike(r, a, extent(a) + 10)
    return good and cx.coalesce_z(r) == r


def bounded(shape: Any) -> Any:
    """The codomain of a layout as a shape to complement in: a bit further than it reaches."""
    return tuple(map(bounded, shape)) if isinstance(shape, tuple) else 3 * shape


def complements(a: Any) -> bool:
    r = cx.complement(a, bounded(cx.coshape(a)) if cx.coshape(a) != 1 else 4)
    hit = {str(ArithTuple(v) if isinstance(v, tuple) else v) for v in map(a, range(extent(a)))}
    values = [r(i) for i in range(extent(r))]
    apart = not any(str(ArithTuple(v) if isinstance(v, tuple) else v) in hit for v in values[1:])
    numbers = all(type(v) is int for v in values)
    return apart and (not numbers or values == sorted(set(values)))


def completes(a: Any) -> bool:
    if not complements(a):
        return False
    whole = cx.make_layout(a, cx.complement(a, cx.coshape(a)))
    back = cx.right_inverse(whole)
    return all(whole(back(whole(i))) == whole(i) for i in range(extent(whole)))


def right_inverts(a: Any) -> bool:
    r = cx.right_inverse(a)
    return all(r(a(r(i))) == r(i) for i in range(extent(r)))


def left_inverts(a: Any) -> bool:
    r = cx.left_inverse(a)
    return all(a(r(a(i))) == a(i) for i in range(extent(a)))


def is_null(a: Any) -> bool:
    r = cx.nullspace(a)
    return all(zero(a(r(i))) for i in range(extent(r)))


def divides(a: Any, b: Any) -> bool:
    r = cx.zipped_divide(a, b)
    tiler = whole_tiler(b)
    tile = all(r[0](i) == a(tiler(i)) for i in range(extent(tiler)))
    reached = [r(i) for i in range(extent(r))]
    return len(r) == 2 and tile and all(a(i) in reached for i in range(extent(a)))


def multiplies(a: Any, b: Any) -> bool:
    r = cx.logical_product(a, b)
    return len(r) == 2 and r[0] == a and cx.compatible(b.shape, r[1].shape)


def whole_tiler(tiler: Any) -> Layout:
    """The layout that composes as a tiler does."""
    return cx.tiler_to_layout(tiler)


def ranked(act: Any) -> Callable[..., bool]:
    def holds(a: Any, b: Any) -> bool:
        r = act(a, b)
        values = [r(i) for i in range(extent(r))]
        return len(r) == len(a) and len(values) == extent(a) * extent(b) == len(set(values))

    return holds


def packed(result: Any, source: Any, order: Any) -> bool:
    """Whether leaves are packed in an order, those of stride 0 left out."""
    modes = [
        (o, i, s, d)
        for i, (o, s, d) in enumerate(
            zip(leaves(order), leaves(source), leaves(result.stride), strict=True)
        )
        if s != 1 and not zero(o if isinstance(o, int) else 1)
    ]
    current = 1
    for _, _, s, d in sorted(modes, key=lambda mode: (key_of(mode[0]), mode[1])):
        if d != current:
            return False
        current *= s
    return result.shape == source


def key_of(stride: Any) -> Any:
    return (stride.modes, stride.value) if isinstance(stride, basis.Basis) else stride


def like(a: Any) -> bool:
    r = cx.make_layout_like(a)
    return packed(r, a.shape, a.stride) and functions_equal(cx.make_layout_like(r), r)


def ordered(shape: Any, order: Any) -> bool:
    r = cx.make_ordered_layout(shape, order)
    values = sorted(r(i) for i in range(extent(r)))
    flat = unflatten_tuple(tuple(o + 1 for o in leaves(order)), shape)
    return values == [*range(extent(r))] and packed(r, shape, flat)


def plus(a: Any, b: Any) -> Any:
    if isinstance(a, tuple) or isinstance(b, tuple):
        return ArithTuple(a if isinstance(a, tuple) else ()) + (b if isinstance(b, tuple) else ())
    return a + b


def adds(a: Any, b: Any) -> bool:
    r = cx.layout_add(a, b)
    xor = isinstance(a, F2Layout) or isinstance(b, F2Layout)
    one = [a(i) ^ b(i) if xor else plus(a(i), b(i)) for i in range(extent(a))]
    return [r(i) for i in range(extent(r))] == one and cx.layout_add(b, a) == r


def shares(a: Any, b: Any) -> bool:
    r = cx.greatest_common_domain(a, b)
    one, other = Layout(a), Layout(b)
    whole = [cx.make_identity_layout(flatten_tuple(x.shape)) for x in (one, other)]
    rest = [cx.logical_divide(x, r)[1].shape for x in whole]
    good = cx.depth(r) == 1 and not extent(one) % extent(r) and not extent(other) % extent(r)
    good = good and cx.greatest_common_domain(b, a) == r
    return good and extent(cx.greatest_common_domain(*rest)) == 1


def covers(data: Any, threads: Any) -> bool:
    """Offsets through the inverse of the data's layout come out as they went in."""
    inverse = cx.make_layout(cx.left_inverse(data), Layout(1, 0))
    owned = cx.composition(inverse, threads)
    return cx.coalesce(cx.composition(data, owned)) == cx.coalesce(threads)


def same_tile(data: Any, tile: Any, threads: Any) -> bool:
    left = cx.composition(cx.zipped_divide(data, tile), (threads, None))
    return left == cx.zipped_divide(data, cx.composition(whole_tiler(tile), threads))


def copied(source: Any, target: Any) -> bool:
    """Elements go where the target's layout says, index by index."""
    a, b = cx.make_tensor(source), cx.make_tensor(target)
    for i in range(cx.cosize(source)):
        a.data[i] = i
    for i in range(extent(source)):
        b[i] = a[i]
    return [b[i] for i in range(extent(target))][-1:] == [a[i] for i in range(extent(source))][-1:]


def common_run(source: Any, target: Any) -> int:
    """How many elements lie next to each other in both layouts at the start of what they share."""
    shared = cx.greatest_common_domain(source.shape, target.shape)
    one, other = cx.composition(source, shared), cx.composition(target, shared)
    return cx.max_common_vector(one, other)


def lattice(a: Any, b: Any) -> bool:
    above, below = cx.common_refinement(a, b), cx.common_coarsening(a, b)
    pairs = [(below, above), (below, a), (below, b), (a, above), (b, above)]
    return all(cx.compatible(x, y) for x, y in pairs)


def ascends(shape: Any) -> bool:
    every = [ArithTuple(idx2crd(i, shape)) for i in range(extent(Layout(shape)))]
    return all(a < b and b > a for a, b in zip(every, every[1:], strict=False)) and every[1] > 0


def three_ways(layout: Any, index: Any) -> bool:
    i, j = index % 3, index // 3
    inner = (j % 2, j // 2)
    return layout(index) == layout(i, j) == layout((i, j)) == layout(i, inner)


LAWS: dict[str, Callable[..., Any]] = {
    "composition": composes,
    "associativity": associates,
    "coalesce": coalesces,
    "coalesce_z": coalesces_on,
    "complement strong": completes,
    "complement weak": complements,
    "left_inverse": left_inverts,
    "right_inverse": right_inverts,
    "right_inverse whole": lambda a: right_inverts(a) and extent(cx.right_inverse(a)) == extent(a),
    "undoes": lambda a: all(a(cx.right_inverse(a)(i)) == i for i in range(extent(a))),
    "cotiling": covers,
    "nullspace": is_null,
    "zipped_divide": divides,
    "divide associativity": same_tile,
    "logical_product": multiplies,
    "blocked_product": ranked(cx.blocked_product),
    "raked_product": ranked(cx.raked_product),
    "tiler composes": lambda a, t: cx.composition(a, t) == cx.composition(a, whole_tiler(t)),
    "tiler divides": lambda a, t: cx.zipped_divide(a, t) == cx.logical_divide(a, whole_tiler(t)),
    "make_layout_like": like,
    "make_ordered_layout": ordered,
    "layout_add": adds,
    "greatest_common_domain": shares,
    "lattice": lattice,
    "ordered": ascends,
    "call three ways": three_ways,
    "index round trip": lambda i, s: crd2idx(idx2crd(i, s), s) == i == crd2idx(i, s),
    "sub no zero": lambda a, b: a - b != 0 and (a - b) + (a - b) != 0,
    "copy": copied,
}

# ------------------------------------------------------------ values


def lifted(path: str, value: Any) -> Any:
    """A tiler that names one mode and leaves the others."""
    for mode in reversed(path.split(",") if path else []):
        value = (None,) * int(mode) + (value,)
    return value


def padded(tiler: Any, layout: Any) -> Any:
    """A tiler with ``None`` for the modes that it leaves out."""
    if not isinstance(tiler, tuple):
        return tiler
    rest = (None,) * (len(layout) - len(tiler))
    return (*(padded(t, layout[i]) for i, t in enumerate(tiler)), *rest)


def replaced(a: Any, modes: list[int], part: Any) -> Any:
    """The layout with a mode within its modes replaced."""
    if not modes:
        return part
    return cx.replace(a, modes[0], replaced(a[modes[0]], modes[1:], part))


def by_mode(name: str) -> Callable[..., bool]:
    """An operation on one mode of a layout, as a nested tiler or profile asks for it."""
    act = getattr(cx, name)

    def holds(path: Any, a: Any, *more: Any) -> bool:
        modes = [int(m) for m in path.split(",")] if path else []
        part = cx.get(a, *modes)
        wanted = act(part, *more)
        if not modes:
            return act(a, *more) == wanted
        if name.startswith("coalesce"):  # a profile coalesces the mode of a `None` too
            got = replaced(a, modes, wanted)
        else:
            entry = more[0]
            for depth in range(len(modes) - 1, -1, -1):
                count = len(cx.get(a, *modes[:depth]))
                entry = tuple(entry if i == modes[depth] else None for i in range(count))
            got = act(a, entry)
            if name == "zipped_divide":
                got = replaced(a, modes, wanted)
        return got == replaced(a, modes, wanted)

    return holds


def each_mode(name: str) -> Callable[..., bool]:
    act = getattr(cx, name)

    def holds(a: Any, tiler: Any) -> bool:
        return act(a, tiler) == cx.make_layout(*(act(a[i], t) for i, t in enumerate(tiler)))

    return holds


def recast(a: Any, scale: Any) -> Any:
    if isinstance(scale, Fraction):
        return cx.downcast(a, scale.denominator)
    return cx.upcast(a, scale)


def sliced_tensor(a: Any, coord: Any) -> Any:
    t = cx.make_tensor(a)
    for i in range(extent(a)):
        t[i] = i
    part = t[coord]
    return tuple(part(i) for i in range(extent(part.layout)))


def filled(a: Any) -> Any:
    t = cx.make_tensor(a)
    for i in range(extent(a)):
        t[i] = i
    return t


def tensor_reads(a: Any) -> bool:
    """Elements come back as written, by index and by coordinate."""
    t = filled(a)
    every = all(t[i] == t.data[a(i)] == i for i in range(extent(a)))
    return every and all(t[c] == t.data[a(c)] for c in int_tuple.coordinates(a.shape))


def tensor_views(a: Any) -> bool:
    t = filled(a)
    one, other = t[:, 2, :], t[:, 2, :]
    one[1, 3] = 99
    return one == other == t[None, 2, None] and t[1, 2, 3] == other[1, 3] == 99


def tensor_acts(act: Callable[..., Any]) -> Callable[..., bool]:
    def holds(a: Any, *more: Any) -> bool:
        t = filled(a)
        changed = act(t, *more)
        return changed.layout == act(a, *more) and changed.data is t.data

    return holds


def is_identity(shape: Any) -> bool:
    t = cx.make_identity_tensor(shape)
    return all(t[c] == c for c in int_tuple.coordinates(shape))


def identity_row(shape: Any, row: int) -> bool:
    part = cx.make_identity_tensor(shape)[row, None]
    return all(part[j] == (row, j) for j in range(shape[1]))


def written(a: Any, coord: Any) -> Any:
    cx.make_tensor(a)[coord] = 0


def parts_of(a: Any, coord: Any) -> Any:
    part, offset = cx.slice_and_offset(coord, a)
    return offset, part.shape, part.stride


def every_pair(holds: Callable[..., bool]) -> Callable[[str], list[bool]]:
    def each(row: str) -> list[bool]:
        values = list(map(value, row.split()))
        return [holds(a, b) for a in values for b in values]

    return each


def apart(a: Any, b: Any) -> bool:
    same = a is b or str(a) == str(b)
    return (a == b) == same and (3 * a == 3 * b) == same and 0 * a == 0 * b and 3 * a != 4 * b


def terms(value: Any) -> Any:
    """The parts of a coordinate, each a number and a path."""
    if isinstance(value, int):
        return ((value, ()),)
    found = basis.basis_sum(value) if isinstance(value, tuple) else value
    found = found.as_coord() if isinstance(found, basis.BasisSum) else found
    found = basis.basis_sum(found) if isinstance(found, tuple) else found
    parts = getattr(found, "terms", (found,))
    return tuple((part.value, part.modes) if part else (0, ()) for part in parts)


VALUES: dict[str, Callable[..., Any]] = {
    "recast gives": recast,
    "tiler gives": whole_tiler,
    "layout gives": Layout,
    "mode gives": cx.get,
    "call is": lambda a, c: a(c),
    "call coordinates is": lambda a, c: ArithTuple(a(c)),
    "call f2 axis is": lambda a, c: a(c),
    "slice_ is": lambda c, s: cx.slice_(c, s),
    "equal is": lambda a, b: a == b,
    "basis equal is": lambda a, b: (
        (a.as_coord() if hasattr(a, "as_coord") else ArithTuple(b) if a == 0 else ArithTuple(a))
        == (0 if a == 0 else b)
    ),
    "basis_get is": lambda x, d: basis_get(d, x),
    "basis_get refused": lambda x, d: basis_get(d, x),
    "is_basis is": basis.is_basis,
    "add is": lambda a, b: ArithTuple(a) + b,
    "add refused": lambda a, b: ArithTuple(a) + b,
    "sub is": lambda a, b: (ArithTuple(a) if isinstance(a, tuple) else a) - b,
    "sub refused": lambda a, b: ArithTuple(a) - b,
    "scale is": lambda a, b: ((ArithTuple(a) if isinstance(a, tuple) else a) * b),
    "print is": lambda a: str(a),
    "identity is": lambda s: cx.make_identity_layout(s).stride,
    "f2 add is": lambda a, b: (F2(a) + F2(b)).value,
    "f2 mul is": lambda a, b: (F2(a) * b).value,
    "f2 axis add is": lambda a, b: a + b,
    "f2 axis sub is": lambda a, b: a - b,
    "f2 axis scale is": lambda a, b: a * b,
    "f2 axis scale refused": lambda a, b: a * b,
    "f2 axis add refused": lambda a, b: a + b,
    "f2 layout call": lambda x, n: all(x(*c) == c[0] ^ n * c[1] for c in int_tuple.coordinates(x.shape)),
    "swizzle is": lambda b, m, s, i: Swizzle(b, m, s)(i),
    "swizzle twice": lambda b, m, s, i: Swizzle(b, m, s)(Swizzle(b, m, s)(i)) == i,
    "swizzle refused": Swizzle,
    "tensor slices is": sliced_tensor,
    "tensor": tensor_reads,
    "tensor views": tensor_views,
    "tensor coalesce": tensor_acts(cx.coalesce),
    "tensor divide": tensor_acts(cx.logical_divide),
    "tensor writes refused": written,
    "tensor as tiler refused": lambda a, b: cx.logical_divide(a, cx.make_tensor(b)),
    "identity tensor": is_identity,
    "identity tensor slice": identity_row,
    "slice_and_offset is": parts_of,
    "basis_repr is": terms,
    "is_tuple is": lambda x: isinstance(x, tuple),
    "positive": lambda a: ArithTuple(()) < a if hasattr(a, "modes") else a > 0,
    "flatten is": cx.flatten,
    "leaves": lambda t: tuple(leaves(t)),
    "unflatten is": lambda t, p: unflatten_tuple(t, p),
    "sum leaf by leaf": lambda a, b: cx.transform_leaf(a, lambda x, y: x + y, b),
    "twice": lambda a: cx.transform_leaf(a, lambda x: 2 * x),
    "depth is": lambda a, *m: cx.depth(cx.get(a, *m) if m else a),
    "functionally_equal is": lambda a, b: cx.functionally_equal(a, b),
    "integer is": lambda x: cx.typing.is_integer(x) if hasattr(cx, "typing") else type(x) is not F2,
    "symbolic tiles": cx.zipped_divide,
    "common run is": common_run,
    "implicit is": lambda b, i: cx.Tensor(None, b, cx.make_identity_layout((64,) * len(i)) if isinstance(i, tuple) else Layout(64))(i),
    "idx2crd is": idx2crd,
    "crd2idx is": crd2idx,
}


NESTED: dict[str, Callable[..., Any]] = {
    name: getattr(int_tuple, name) for name in ("product_each", "rank_of")
}


def act_of(name: str) -> Callable[..., Any]:
    if name in VALUES:
        return VALUES[name]
    word = name.split()[0]
    if word in NESTED:
        return NESTED[word]
    if word == "mode":
        return by_mode(name.split()[1])
    if word == "by":
        return each_mode(name.split()[2])
    return getattr(cx, word)


def agrees(got: Any, wanted: Any) -> bool:
    """Equal, or the same function of the same shape."""
    if hasattr(wanted, "shape") and hasattr(got, "shape"):
        if got == wanted:
            return True
        if cx.symbolic_names(wanted) if hasattr(cx, "symbolic_names") else False:
            return False
        try:
            return got.shape == wanted.shape and functions_equal(got, wanted)
        except Exception:
            return False
    if isinstance(wanted, basis.Basis) or isinstance(got, (basis.Basis, basis.BasisSum)):
        got = got.as_coord() if hasattr(got, "as_coord") else got
        wanted = wanted.as_coord() if hasattr(wanted, "as_coord") else wanted
    if isinstance(got, tuple) and isinstance(wanted, tuple) and not isinstance(got, ArithTuple):
        return len(got) == len(wanted) and all(map(agrees, got, wanted))
    return got == wanted


def judged(name: str, operands: list[str], wanted: str) -> str:
    given = [part if name.split()[0] == "mode" and name[-5:] != "gives" and i == 0 else value(part)
             for i, part in enumerate(operands)]
    try:
        if "refused" in name:
            try:
                if name == "mode refused":
                    act, at, a, b = operands
                    getattr(cx, act)(value(a), (None,) * value(at) + (value(b),))
                else:
                    (act_of(name) if name in VALUES else getattr(cx, name.split()[0]))(*given)
            except (CuteError, TypeError):
                return "equal"
            law = LAWS.get(name.removesuffix(" refused"))
            return "better" if law and law(*given) else "answered"
        if not wanted:
            act = LAWS[name] if name in LAWS else act_of(name)
            return "equal" if act(*given) else "different"
        if name == "print is":
            return "equal" if act_of(name)(*given) == wanted else "different"
        return "equal" if agrees(act_of(name)(*given), value(wanted)) else "different"
    except CuteError as e:
        return f"refused"
    except (AttributeError, TypeError, KeyError, AssertionError, ValueError) as e:
        return f"missing {type(e).__name__}"


if __name__ == "__main__":
    import sys
    total, every = Counter(), Counter()
    per: dict = {}
    for name, operands, wanted in cases():
        try:
            answer = judged(name, operands, wanted)
        except Exception as e:
            answer = f"BAD {type(e).__name__} {e}"
        per.setdefault(name, Counter())[answer.split()[0]] += 1
        total[answer.split()[0]] += 1
        if answer != "equal":
            print(name, "|".join(operands), "->", wanted, ":", answer)
    print(total, sum(total.values()))
