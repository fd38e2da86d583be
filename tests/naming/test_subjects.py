"""Every verb, in Python, on the command line and in the playground, and every kind of input.

Each pair answers, or is refused by name with what the verb takes. What a verb takes is written down
here by hand: the table of the package is not asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from every import every

import pycute_xe as cx
from pycute_xe import dialects
from pycute_xe.cli import main
from pycute_xe.errors import CuteError, InputError
from pycute_xe.naming import KINDS, kind_of, read_text
from pycute_xe.playground import answer

TENSOR = "tensor<8x16xf16, #xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>>"
TEXTS = {
    "kernel": ("gemm", "rms_norm(columns=64)", "kernel.gemm(a='col')", "k.json", "softmax_rows"),
    "tiled MMA": ("mma.json",),
    "tiled copy": ("copy.json",),
    "MMA": ("XE_DPAS_TT<8,f32,bf16>", "XE_8x16x16_F32BF16BF16F32_TT", "atom.json"),
    "copy": ("XE_2D_U16x8x16_LD_N", "XE_LOAD_2D<16,8,16>", "XE_1D_LDSM<u32>"),
    "LSC message": (
        "lsc_load.ugm (M1,16) V13:d32x2 flat[V12]:a64",
        "lsc_load_block2d.ugm (M1,1) V:d16.1x16x8nn",
    ),
    "DPAS message": ("dpas.bf.bf.8.8 (M1,16) V1.0 V1.0 V2.0 V3(0,0)",),
    "layout": ("(4,8):(8,1)", "coalesce((4,8):(1,4))", "Layout<_8,_1>", "layout.json", "l.hpp"),
    "swizzle": ("Sw<3,3,3>", "Swizzle<3,3,3>"),
    "tensor": (TENSOR,),
    "integer": ("size((4,8):(8,1))",),
    "tuple": ("(4,8)",),
    "operation": ("coalesce",),
}
"""How values of each kind are named."""
COPIES = ("copy", "tiled copy")
TAKEN = {
    "check": ("kernel", "tiled MMA", "MMA", *COPIES, "LSC message", "DPAS message"),
    "cost": ("kernel",),
    "diff": ("kernel", "tiled MMA", "MMA", *COPIES, "layout", "tensor"),
    "draw": ("kernel", "tiled MMA", "MMA", *COPIES, "LSC message", "layout", "tensor"),
    "emit": ("kernel",),
    "explain": ("kernel", "MMA", *COPIES, "LSC message", "layout", "tensor", "operation"),
    "run": ("kernel", *COPIES),
    "verify": ("kernel", "tiled MMA", "MMA", *COPIES, "tensor"),
}
LACKING = {"explain": ("tiled copy", "layout", "operation"), "run": TAKEN["run"]}
"""What is taken with more: an operand, a coordinate, arrays."""
EXPRESSIONS = ("coalesce((4,8):(1,4))",)
"""Layouts whose operation is explained."""
UNLIKE_A_GEMM = ("rms_norm(columns=64)", "softmax_rows")
"""Kernels without all sizes of a GEMM, and without a product to draw."""
OF_PROGRAM = {
    **{verb: TAKEN[verb] for verb in TAKEN if verb != "run"},
    "run": ("kernel",),
    "atom": ("MMA", "copy", "tiled MMA", "tiled copy"),
    "layout": ("layout", "swizzle", "tensor", "integer", "tuple"),
    "lsc": ("LSC message",),
}
NOTHING = (
    *("gem", "XE_2D_U16x32x16_LDV", "XE_DPAS", "bmg", "", "-", "hello world", "absent.json"),
    *("absent.hpp", "a.npy", "lsc_lod.ugm (M1,16) V", "(4,8:(8,1)", "{", "#ttg.foo", "{}"),
    *("dpas.bf", "Layout<", "tensor<8xf16, #a>", "rms_norm", "gemm(1)", "gemm(a=open('x'))"),
    *(
        "../x",
        "/dev/null",
        "gemm.gemm",
        "\0",
        "coalesc(4:1)",
        "from_cutlass",
        "split_k",
        "x" * 5000,
    ),
    *("0" * 5000, "(" * 5000, "gemm(" + "(" * 500 + ")" * 500 + ")", "89zz", "é", "XE", "gemm()()"),
)
"""Texts that name nothing."""
FLAT = [(kind, text) for kind, texts in TEXTS.items() for text in texts]

_mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "bf16"), (32, 32, 16), ((2, 2, 1), (2, 1, 0)))
VALUES: dict[str, Any] = {
    "kernel": cx.kernel.gemm(_mma),
    "tiled MMA": _mma,
    "tiled copy": cx.make_block_2d_copy_A(_mma, ("ld", 1)),
    "MMA": _mma.atom,
    "copy": cx.get_atom("XE_2D_U16x8x16_LD_N"),
    "LSC message": read_text(TEXTS["LSC message"][0]),
    "DPAS message": read_text(TEXTS["DPAS message"][0]),
    "layout": cx.Layout((4, 8)),
    "swizzle": cx.Swizzle(3, 3, 3),
    "tensor": read_text(TENSOR),
    "integer": 4,
    "tuple": (4, 8),
    "operation": cx.coalesce,
}
JUNK = (None, 2.5, [], {}, object(), int, b"gemm", np.zeros((2, 2)), True)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kept = {"k": "kernel", "mma": "tiled MMA", "copy": "tiled copy", "atom": "MMA"}
    for name, kind in (*kept.items(), ("layout", "layout")):
        (tmp_path / f"{name}.json").write_text(cx.to_json(VALUES[kind]), encoding="utf-8")
    (tmp_path / "l.hpp").write_text("using L = Layout<Shape<_4,_8>>;\n", encoding="utf-8")
    np.save(tmp_path / "a.npy", np.zeros((4, 4)))


def asked(verb: str, x: Any) -> Any:
    """Ask a verb of Python about a subject alone."""
    calls: dict[str, Callable[[Any], Any]] = {
        "cost": lambda x: cx.cost(x, M=64, N=64, K=64),
        "diff": lambda x: cx.diff(x, x),
        "draw": lambda x: str(cx.draw(x).title),
        "verify": lambda x: cx.verify(x, budget=1e-6),
    }
    return calls.get(verb, getattr(cx, verb))(x)


def outcome(verb: str, x: Any) -> CuteError | None:
    """Return the refusal of a subject, if it is refused; any other error is raised."""
    try:
        asked(verb, x)
    except CuteError as error:
        return error
    return None


def says_what_is_taken(verb: str, error: CuteError) -> bool:
    return any(re.search(rf"\b{kind}\b", str(error)) for kind in TAKEN[verb])


def test_a_text_has_one_value_whatever_is_asked() -> None:
    for kind, text in FLAT:
        assert kind_of(read_text(text)) == kind, text


@every("verb", TAKEN)
def test_every_verb_and_every_text_that_it_does_not_take(verb: str) -> None:
    for kind, text in FLAT:
        if kind not in TAKEN[verb]:
            error = outcome(verb, text)
            assert type(error) is InputError, (verb, text, error)
            assert error.operation == verb
            assert says_what_is_taken(verb, error), (verb, text)
            assert kind in str(error) or "'size' cannot be explained" in str(error)


@pytest.mark.long
@every("verb", TAKEN)
def test_every_verb_and_every_text_that_it_takes(verb: str) -> None:
    """What is taken may lack what a call by value alone can say, and is not refused as text."""
    for kind, text in FLAT:
        if kind in TAKEN[verb]:
            error = outcome(verb, text)
            assert "the subject is" not in str(error), (verb, text, error)
            lacks = kind in LACKING.get(verb, ()) and text not in EXPRESSIONS
            lacks |= text in UNLIKE_A_GEMM and verb in ("cost", "draw")
            assert (error is not None) == lacks, (verb, text, error)


@pytest.mark.long
@every("verb", TAKEN)
def test_every_verb_and_text_that_names_nothing(verb: str) -> None:
    for text in NOTHING:
        error = outcome(verb, text)
        assert error is not None, (verb, text)
        assert error.condition
        assert error.fix, (verb, text, error)


@every("verb", TAKEN)
def test_every_verb_and_every_value(verb: str) -> None:
    for kind, value in VALUES.items():
        error = outcome(verb, value)
        if kind in TAKEN[verb]:
            assert (error is None) == (kind not in LACKING.get(verb, ())), (verb, kind, error)
        else:
            assert error is not None, (verb, kind)
            assert says_what_is_taken(verb, error), (verb, kind, error)
    for value in JUNK:
        assert outcome(verb, value) is not None, (verb, value)


OWNED = ("MMA", "copy", "tiled MMA", "tiled copy")
ABOUT_ELEMENTS: dict[str, Callable[[Any, str | None], Any]] = {
    "owner": lambda x, part: cx.owner(x, part, row=0, column=0),
    "element_at": lambda x, part: cx.element_at(x, part, work_item=0, value=0),
}


@pytest.mark.parametrize("verb", ABOUT_ELEMENTS)
def test_what_holds_elements_is_named_as_everything_is(verb: str) -> None:
    for kind, text in FLAT:
        part = "A" if kind.endswith("MMA") else None
        if kind not in OWNED:
            with pytest.raises(InputError, match=f"{verb}.*takes an MMA, a copy, a tiled MMA or"):
                ABOUT_ELEMENTS[verb](text, part)
        elif "1D" not in text:  # what work-items hold of linear copies depends on the tiling
            assert ABOUT_ELEMENTS[verb](text, part) == ABOUT_ELEMENTS[verb](read_text(text), part)


def test_what_feeds_is_named_as_everything_is() -> None:
    for mma in ("XE_DPAS_TT<8,f32,bf16>", "MMA_Atom<XE_DPAS_TT<8,float,bfloat16_t>>", "atom.json"):
        for copy in ("XE_LOAD_2D<16,8,16>", "intel_sub_group_2d_block_read_16b_8r16x1c", TENSOR):
            assert cx.feeds(copy, mma, "A").kind == "free"
    with pytest.raises(InputError, match="the subject is a kernel; feeds takes an MMA, a copy or"):
        cx.feeds("gemm", "XE_DPAS_TT<8,f32,bf16>", "A")


def test_the_way_out_of_a_layout_without_a_coordinate_is_taken() -> None:
    for text in (
        "(4,8):(8,1)",
        "(4,(2,8)):(8,(1,32))",
        "8:1",
        "Layout(8,2)",
        "Sw<3,3,3> o 0 o (8,64):(64,1)",
    ):
        with pytest.raises(InputError) as refused:
            cx.explain(text)
        assert "Result: 0" in str(cx.explain(refused.value.fix))


def test_a_folder_is_not_said_to_be_its_own_nearest_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name a file in it"):
        cx.check(str(tmp_path))


def test_a_path_names_a_file(tmp_path: Path) -> None:
    assert cx.explain(tmp_path / "k.json").result == VALUES["kernel"]
    assert cx.explain("k.json").result == VALUES["kernel"]
    (tmp_path / "gemm").write_text(cx.to_json(cx.Layout(4)), encoding="utf-8")
    assert cx.explain("gemm").result.name == "gemm"  # a kind wins over a file of its name
    assert cx.draw(tmp_path / "gemm").title == "Layout 4:1"


@pytest.mark.long
def test_a_kind_stands_for_its_default_kernel() -> None:
    """Each kind is a kernel as it stands, or with the arguments that its refusal writes down."""
    for kind in sorted(set(KINDS) - {"from_cutlass"})[::8]:
        stands_for_a_kernel(kind)


@pytest.mark.long
def test_every_kind_stands_for_its_default_kernel() -> None:
    for kind in set(KINDS) - {"from_cutlass"}:
        stands_for_a_kernel(kind)


def stands_for_a_kernel(kind: str) -> None:
    try:
        assert read_text(kind).outputs
    except InputError as error:
        written = re.search(r"write (\w+\(.*\))$", error.fix)
        assert read_text(written[1] if written else "").outputs


def test_the_text_of_a_message_is_read_again() -> None:
    """What `atom` prints of a block's message is what `lsc` reads."""
    for name in ("XE_2D_U16x32x16_LD_V", "XE_STORE_2D<32,8,16>", "XE_PREFETCH_2D<16,8,32>"):
        for part in cx.get_atom(name).messages("bmg"):
            assert read_text(str(part.message)).block == part.message


def test_an_expression_is_explained_by_its_outermost_operation() -> None:
    told = cx.explain("composition((6,2):(8,2), (4,3):(3,1))")
    assert told == cx.explain(cx.composition, cx.Layout((6, 2), (8, 2)), cx.Layout((4, 3), (3, 1)))
    assert cx.explain("coalesce", cx.Layout((2, 4))).result == cx.Layout(8)


ARGUMENTS = {"cost": ("M=64", "N=64", "K=64"), "diff": ("{}",), "explain": ()}


def ran(verb: str, text: str, given: str | None = None) -> Any:
    more = [one.format(text) for one in ARGUMENTS.get(verb, ())]
    return CliRunner().invoke(main, [verb, text, *more], input=given)


@pytest.mark.long
@every("verb", OF_PROGRAM)
def test_every_command_and_every_text(verb: str) -> None:
    for kind, text in FLAT:
        result = ran(verb, text)
        assert result.exception is None or isinstance(result.exception, SystemExit), text
        # An expression is explained by its operation, which is refused in its place.
        refused = "the subject is" in result.stderr or "'size' cannot be expl" in result.stderr
        assert refused == (kind not in OF_PROGRAM[verb]), (verb, text, result.stderr)
        if refused:
            assert result.exit_code == 2
            assert any(one in result.stderr for one in OF_PROGRAM[verb])


@pytest.mark.long
@every("verb", OF_PROGRAM)
def test_every_command_and_text_that_names_nothing(verb: str) -> None:
    for text in NOTHING:
        if not text.startswith("-"):
            result = ran(verb, text)
            assert result.exit_code == 2, (verb, text)
            assert "error" in result.stderr.lower(), (verb, text)
            assert result.exception is None or isinstance(result.exception, SystemExit), text


def test_standard_input_is_read_as_any_text() -> None:
    for verb, text in (("draw", "(4,8):(8,1)"), ("check", TEXTS["LSC message"][0])):
        assert ran(verb, "-", text).stdout == ran(verb, text).stdout != ""
    document = cx.to_json(VALUES["kernel"])
    assert "legal" in ran("check", "-", document).stdout


@pytest.mark.long
@pytest.mark.parametrize("field", ["atom name", "verify name", "diff one", "expression text"])
def test_the_playground_and_every_text(field: str) -> None:
    kind, name = field.split()
    taken = {"atom": OF_PROGRAM["atom"], "verify": OF_PROGRAM["atom"], "diff": TAKEN["diff"]}
    for named, text in FLAT:
        request = {"kind": kind, name: text, "operand": "A"} | (
            {"other": text} if name == "one" else {}
        )
        shown = answer(request)
        refused = "the subject is" in str(shown.get("error", ""))
        assert refused == (named not in taken.get(kind, OF_PROGRAM["layout"])), (kind, text, shown)
    for text in NOTHING:
        shown = answer({"kind": kind, name: text, "other": "(4,8):(8,1)"})
        assert shown["error"], (kind, text)


def test_tensors_are_named_as_mlir_writes_their_types() -> None:
    read = read_text(TENSOR.replace("tensor<", "!xegpu.tensor_desc<"))
    assert isinstance(read, dialects.Distributed)
    assert read == VALUES["tensor"]
