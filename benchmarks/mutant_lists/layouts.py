"""Small wrong changes to nested tuples and layouts."""

from __future__ import annotations

from mutant_lists.mutant import Mutant, mutants

TESTS = "pycute_xe/int_tuple pycute_xe/layout pycute_xe/algebra tests/layout tests/algebra"


def _in(file: str, *changes: tuple[str, ...]) -> list[Mutant]:
    return mutants(
        file, f"pycute_xe/{file}.py tests/algebra/test_against_cute.py {TESTS}", *changes
    )


MUTANTS = [
    *_in(
        "int_tuple/nesting",
        (
            "out.extend(flatten_tuple(mode))",
            "out.extend(flatten_tuple(mode)[::-1])",
            "leaves run left to right at every depth",
        ),
        (
            "return len(left) == len(right) and all(map(congruent, left, right))",
            "return len(left) == len(right)",
            "nesting is compared at every depth",
        ),
        (
            "return all(map(weakly_congruent, left, right))",
            "return True",
            "nesting is compared at every depth",
        ),
    ),
    *_in(
        "int_tuple/arithmetic",
        (
            "total = total * (mode if type(mode) is int else product(mode))",
            "total = total * (mode if type(mode) is int else 1)",
            "nested modes count",
        ),
        (
            "return same(left, product(right))",
            "return bool(left <= product(right))",
            "compatible shapes have one size",
        ),
        (
            "return 0 if shape == 1 else current",
            "return current",
            "CuTe gives extents of 1 the stride 0",
        ),
        (
            "        current = current * product(mode)",
            "        current = current + product(mode)",
            "strides multiply",
        ),
        ("init = init * product(mode)", "init = product(mode)", "all leaves before it count"),
        ("b = shape_div(b, product(mode))", "b = shape_div(b, b)", "what is left divides the next"),
        ("    return -(-a // b)\n", "    return a // b\n", "shape_div rounds up"),
        ("return -(-a // by)", "return a // by", "ceil_div rounds up"),
        (
            "return len(left) <= len(right) and all(map(elem_less, left, right))",
            "return len(left) == len(right) and all(map(elem_less, left, right))",
            "entries that are missing count as below",
        ),
        ("return ceil_div(a, b) * b", "return a // b * b", "round_up rounds up"),
        ("total = total + a * b", "total = total + a + b", "products are summed"),
    ),
    *_in(
        "int_tuple/indexing",
        (
            "coord = coord // s\n",
            "coord = coord - coord % s\n",
            "the next mode counts in units of this one",
        ),
        (
            "total = total + coord % s * d",
            "total = total + coord * d",
            "a mode sees its part of the index",
        ),
        (
            "return total + offset_of(coord, shape[-1], stride[-1])",
            "return total + offset_of(coord % product(shape[-1]), shape[-1], stride[-1])",
            "the last mode is unbounded",
        ),
        ("(index // stride) % shape", "(index // stride)", "a coordinate stays below its extent"),
        (
            "_split(index % extent, mode)",
            "_split(index, mode)",
            "a mode sees its part of the index",
        ),
        ("        return index\n", "        return index % shape\n", "the last mode is unbounded"),
        (
            "if is_tuple(coord) and congruent(coord, target):",
            "if is_tuple(coord):",
            "a coordinate that nests otherwise is moved",
        ),
    ),
    *_in(
        "layout/measures",
        (
            "reach = reach + (s - 1) * (-d if d < 0 else d)",
            "reach = reach + (s - 1) * d",
            "strides count by magnitude",
        ),
        (
            "total = total + (s - 1) * (-d if value < 0 else d)",
            "total = total + s * (-d if value < 0 else d)",
            "the last element starts one step before the end",
        ),
    ),
    *_in(
        "layout/makers",
        ("key=lambda i: ranks[i]", "key=lambda i: -ranks[i]", "the least order is fastest"),
        (
            "        if extents[i] != 1:\n            strides[i] = current",
            "        if extents[i] != 0:\n            strides[i] = current",
            "CuTe gives extents of 1 the stride 0",
        ),
        (
            "strides(p, (*path, i))",
            "strides(p, (i, *path))",
            "a path runs from the outside in",
        ),
    ),
    *_in(
        "layout/core",
        (
            "return (tree,) if (coord is None) == keep_none else ()",
            "return (tree,) if coord is None else ()",
            "dice keeps what slice leaves out",
        ),
        (
            "self.shape == other.shape and self.stride == other.stride",
            "self.shape == other.shape",
            "other strides make another layout",
        ),
        (
            "return sum(zeros, as_coordinate(value)) if zeros else value",
            "return value",
            "a coordinate names the modes of all strides",
        ),
    ),
    *_in(
        "layout/modes",
        (
            "return 0 if coord is None else coord",
            "return 0",
            "the offset of a slice counts",
        ),
        (
            "make_layout(*modes[begin:end])",
            "*modes[begin:end]",
            "group makes one mode of several",
        ),
        (
            "(*as_layout(layout), *([mode] * count))",
            "(*as_layout(layout), mode)",
            "append fills up to the rank",
        ),
    ),
]
