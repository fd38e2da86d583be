"""Kernels are found in sources as they are pasted: among includes, statements and scopes."""

from __future__ import annotations

import pytest
from pasted_blocks import block

import pycute_xe as cx
from pycute_xe.cutlass.reading_blocks import kernel_in
from pycute_xe.errors import InputError

BLOCK = block()
PLAIN = str(cx.explain(BLOCK))
AROUND = {
    "includes": '#pragma once\n#include <cute/tensor.hpp>\n#include "a.hpp"\n{}',
    "a namespace": "namespace one {{\n{}\n}}  // namespace one",
    "a class": "struct Config {{\n{}\n}};",
    "a template": "template <class T>\nstruct Config {{\n{}\n}};",
    "a function": "int main(int argc, const char** argv) {{\n{}\n  return 0;\n}}",
    "variables behind": "{}\n  Gemm gemm_op;\n  Gemm::Arguments args{{1, 2}};\n  auto n = 1 + 2;",
    "calls behind": "{}\n  Runner<Gemm> runner;\n  CHECK(runner.run(options, hw_info));",
    "asserts": 'static_assert(sizeof(float) == 4, "it\'s; {{so");\n{}\n  static_assert(true);',
    "another scope": "{}\nstruct Other {{ using TileShape = Shape<_8,_16,_16>; }};",
    "a scope before": "struct Other {{ using TileShape = Shape<_8,_16,_16>; }};\n{}",
    "a value of a type": "{}\n static_assert(rank(TileShape{{}}) == 3);\n using Last = TileShape;",
}


@pytest.mark.parametrize("around", AROUND)
def test_a_kernel_is_found_in_a_source(around: str) -> None:
    assert str(cx.explain(AROUND[around].format(BLOCK))) == PLAIN


def test_values_of_types_in_statements_before_a_kernel_change_no_type() -> None:
    at = BLOCK.index("    using TiledMma")
    text = BLOCK[:at] + "static_assert(rank(TileShape{}) == 3);\n" + BLOCK[at:]
    assert str(cx.explain(text)) == PLAIN


@pytest.mark.parametrize(
    ("statement", "column"),
    [
        ("using TileShape = decltype(f(1 + 2));", 32),
        ("constexpr int PipelineStages = a ? 2 : 3;", 34),
        ("using TileShape = Shape<_64, Unknown, _32>;", 30),
    ],
)
def test_a_name_given_what_cannot_be_read_is_refused_there(statement: str, column: int) -> None:
    at = BLOCK.index("using TiledMma")
    line = BLOCK[:at].count("\n") + 1
    with pytest.raises(InputError, match=f"line {line}, column {column}:"):
        cx.check(f"{BLOCK[: at - 4]}{statement}\n    {BLOCK[at:]}")


def test_names_of_an_inner_scope_end_with_it() -> None:
    at = BLOCK.index("    using TiledMma")
    text = BLOCK[:at] + "struct Other { using TileShape = Shape<_8,_16,_16>; };\n" + BLOCK[at:]
    assert str(cx.explain(text)) == PLAIN


def test_a_kernel_that_is_refused_is_not_stepped_over() -> None:
    with pytest.raises(InputError, match="line"):
        kernel_in(BLOCK + "using Last = GemmUniversal<Shape<int,int,int,int>, 1 + 2, Epilogue>;")


def test_conditions_of_the_preprocessor_are_refused() -> None:
    assert kernel_in("#if 0\n" + BLOCK + "\n#endif") is None
    with pytest.raises(InputError, match="give the declarations alone"):
        cx.check("#if 0\n" + BLOCK + "\n#endif")
