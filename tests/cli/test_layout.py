"""`pycute-xe layout` as a user meets it: expressions in, values, tables and drawings out."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from every import every
from hypothesis import given, strategies as st
from strategies import coordinate_layouts, layouts

import pycute_xe as cx
from pycute_xe import algebra, cli
from pycute_xe.algebra import swizzled
from pycute_xe.errors import CuteError, DivisibilityError
from pycute_xe.expressions.evaluation import OPERATIONS, evaluate, outermost
from pycute_xe.expressions.reading import ExpressionError
from pycute_xe.expressions.writing import python_text

L = cx.Layout
SWIZZLED = cx.ComposedLayout(cx.Swizzle(3, 3, 3), 0, L((8, 64), (64, 1)))


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner(env=environment).invoke(cli.main, ["layout", *arguments])


def refused(result: Result, *said: str) -> None:
    """An error on standard error, status 2, no traceback."""
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("pycute-xe: error: ")
    for part in said:
        assert part in result.stderr


# ------------------------------------------------------------------ values


@every(
    ("text", "value"),
    [
        ("4:2", L(4, 2)),
        ("(4,8):(8,1)", L((4, 8), (8, 1))),
        ("((2,4),8):((1,16),2)", L(((2, 4), 8), ((1, 16), 2))),
        ("(_4,_8):(_8,_1)", L((4, 8), (8, 1))),
        (" ( 4 , 8 ) : ( 8 ,1 ) ", L((4, 8), (8, 1))),
        ("(4):(8)", L((4,), (8,))),
        ("((4),8):((1),4)", L(((4,), 8), ((1,), 4))),
        ("():()", L((), ())),
        ("(4,8):(1@0,1@1)", cx.make_identity_layout((4, 8))),
        ("(4,8):(2@1@0,-1@1)", L((4, 8), (2 * cx.E(0, 1), -1 * cx.E(1)))),
        ("(4,8):(2*E(0,1),-E(1))", L((4, 8), (2 * cx.E(0, 1), -1 * cx.E(1)))),
        ("4:-2", L(4, -2)),
        ("(6,2):(8,2) o (4,3):(3,1)", L(((2, 2), 3), ((24, 2), 8))),
        ("composition((6,2):(8,2), (4,3):(3,1))", L(((2, 2), 3), ((24, 2), 8))),
        ("composition((4,8):(8,1), (2,_))", L((2, 8), (8, 1))),
        ("composition((4,8):(8,1), (2,None))", L((2, 8), (8, 1))),
        ("logical_divide((4,2,3):(2,1,8), 4:2)", L(((2, 2), (2, 3)), ((4, 1), (2, 8)))),
        ("zipped_divide((8,16):(1,8), (4,8))", L(((4, 8), (2, 2)), ((1, 8), (4, 64)))),
        ("zipped_divide((8,16):(1,8), (4:1,8:1))", L(((4, 8), (2, 2)), ((1, 8), (4, 64)))),
        ("zipped_divide((8,16):(1,8), (4,8))[1]", L((2, 2), (4, 64))),
        ("((4,8):(8,1))[-1]", L(8, 1)),
        ("right_inverse((4,8):(8,1))", L((8, 4), (4, 1))),
        ("coalesce(((2,4),(3,5)):((1,2),(8,24)), (1,1))", L((8, 15), (1, 8))),
        ("coalesce(((2,4),(3,5)):((1,2),(8,24)), profile=(1,1))", L((8, 15), (1, 8))),
        ("make_layout((4,8))", L((4, 8))),
        ("make_layout(4:2, 8:16)", L((4, 8), (2, 16))),
        ("Layout((4,8), (8,1))", L((4, 8), (8, 1))),
        ("select((2,3,4):(1,2,6), 2, 0)", L((4, 2), (6, 1))),
        ("filter((4,2,8):(0,1,2))", L(16, 1)),
        ("((4,8):(8,1))(2,3)", 19),
        ("((4,8):(8,1))((2,3))", 19),
        ("((4,8):(8,1))(9)", 10),
        ("((4,8):(8,1))(2,_)", L((8,), (1,))),
        ("((4,(2,4)):(1,(4,8)))(1,(1,2))", 21),
        ("Swizzle(3,3,3)", cx.Swizzle(3, 3, 3)),
        ("Sw<3,3,-3>", cx.Swizzle(3, 3, -3)),
        ("Swizzle(3,0,3)(8)", 9),
        ("Sw<3,3,3> o 0 o (8,64):(64,1)", SWIZZLED),
        ("composition(Swizzle(3,3,3), (8,64):(64,1))", SWIZZLED),
        ("composition(Swizzle(3,3,3), 8, (8,64):(64,1))(0)", 8),
        ("Swizzle(3,3,3) o (8,64):(64,1)", SWIZZLED),
        ("(Sw<3,3,3> o 0 o (8,64):(64,1))(1,0)", 72),
        ("size((4,8):(8,1))", 32),
        ("size((4,8):(8,1), 1)", 8),
        ("is_bijective((4,8):(8,1))", True),
        ("shape((4,8):(8,1))", (4, 8)),
        ("slice_and_offset((_,2), (4,8):(8,1))", (L((4,), (8,)), 2)),
        ("E(0,1)", cx.E(0, 1)),
        ("(4, 8)", (4, 8)),
        ("((4,8):(8,2))[-1]", L(8, 2)),
        ("((4,8):(8,2))[-2]", L(4, 8)),
        ("(4,)", (4,)),
        ("(4)", 4),
        ("-2*-3", 6),
        ("--2", 2),
        ("_", None),
    ],
)
def test_expressions(text: str, value: Any) -> None:
    found = evaluate(text)
    assert found == value
    assert type(found) is type(value)


@given(st.one_of(layouts(negative=True), coordinate_layouts((4, 5))))
def test_what_prints_can_be_read(layout: cx.Layout) -> None:
    assert evaluate(str(layout)) == layout
    assert evaluate(f"coalesce({layout})") == cx.coalesce(layout)


@pytest.mark.parametrize("layout", [SWIZZLED, SWIZZLED(1, None), SWIZZLED[0]], ids=str)
def test_swizzled_layouts_that_print_can_be_read(layout: Any) -> None:
    assert evaluate(str(layout)) == layout


def test_every_operation_on_layouts_can_be_called() -> None:
    taken = {*algebra.__all__, *swizzled.__all__, *cx.layout.__all__}
    # The first two take a function, matrices have no text; the others serve the library itself.
    taken -= {"transform_layout", "hier_unzip", "BitMatrix", "bit_matrix", "from_bit_matrix"}
    taken -= {"as_layout", "has_symbols", "pair", "unchecked"}
    assert taken <= OPERATIONS.keys()
    makers = {"ComposedLayout", "Swizzle", "make_swizzle", "E", "as_f2"}
    assert OPERATIONS.keys() - taken == makers
    for name, operation in OPERATIONS.items():
        assert operation.function is getattr(cx, name), name
        assert operation.required <= len(operation.kinds)


# ------------------------------------------------------------------ refusals of text


@every(
    ("text", "column", "said"),
    [
        ("", 1, "not the end"),
        ("   ", 4, "not the end"),
        ("(4,8):(8,1", 11, "',' or ')' expected"),
        ("(4,8:(8,1)", 11, "close the bracket of column 1"),
        ("4:2:1", 4, "one colon"),
        ("4 4", 3, "the end of the expression expected"),
        ("(4 4)", 4, "',' or ')' expected"),
        ("4:", 3, "not the end"),
        (":4", 1, "not ':'"),
        ("4x:2", 1, "'4x' is not a number"),
        ("1@x", 3, "an integer expected"),
        ("9999999999999999999:1", 1, "at most 18 digits"),
        ("L.shape", 2, "attributes"),
        ("(4:1).__class__", 6, "attributes"),
        ("4.5:1", 2, "decimal"),
        ("__import__('os')", 12, "strings"),
        ("__import__(4)", 1, "unknown operation '__import__'"),
        ("eval(4)", 1, "unknown operation 'eval'"),
        ("print(4)", 1, "unknown operation 'print'"),
        ("lambda: 4", 1, "functions of one's own"),
        ("(size(4) for x)", 10, "comprehensions"),
        ("4 if 1 else 2", 3, "conditions"),
        ("import os", 1, "statements"),
        ("{4}", 1, "sets"),
        ("4 + 4", 3, "sums"),
        ("4 / 2", 3, "divisions"),
        ("4 < 2", 3, "comparisons"),
        ("4; 4", 2, "statements"),
        ("é", 1, "'é' cannot stand in"),
        ("٤:1", 1, "cannot stand in"),
        ("4:1\x00", 4, "cannot stand in"),
        ("compositon(4:1, 2:1)", 1, "did you mean composition?"),
        ("Composition(4:1, 2:1)", 1, "did you mean composition?"),
        ("coalesce(logical_devide(4:1, 2))", 10, "did you mean logical_divide?"),
        ("xyzzy(4)", 1, "one of "),
        ("size", 1, "stands alone"),
        ("composition", 1, "composition(a, b[, c])"),
        ("(4,8)(2,3)", 1, "the tuple (4, 8) cannot be called"),
        ("(4,8):(8,1)(2,3)", 7, "cannot be called"),
        ("4(2)", 1, "the integer 4 cannot be called"),
        ("(4:1)()", 1, "takes a coordinate"),
        ("(4:1)(coord=2)", 1, "takes a coordinate"),
        ("(4:1)(2:1)", 1, "the layout 2:1"),
        ("Swizzle(1,0,1)(2,3)", 1, "one offset"),
        ("composition((4,8), 2)", 13, "make_layout((4,8))"),
        ("composition(4:1)", 1, "does not take 1 operand"),
        ("coalesce(4:1, 1, 2)", 1, "coalesce(layout[, profile])"),
        ("coalesce(4:1, shape=1)", 15, "not the next operand"),
        ("coalesce(layout=4:1, 1)", 22, "follows one by name"),
        ("composition(8:1, 4:2, 2:1)", 1, "a swizzle expected"),
        ("complement(Sw<1,0,1> o 0 o 4:1, 4)", 12, "without a swizzle"),
        ("Swizzle(99,0,99)", 9, "at most 64"),
        ("Sw<99,0,99>", 1, "at most 64"),
        ("4:1 o 2:1 o 2:1 o 1:0", 1, "4 parts"),
        ("4 o 2:1", 1, "a layout or a swizzle expected"),
        ("(4:1,2):(1,2)", 2, "the layout 4:1"),
        ("(4,_):(1,2)", 4, "not _"),
        ("(4,8):(2:1,4)", 8, "the layout 2:1"),
        ("4*4:1*(2,3)", 7, "cannot be a factor"),
        ("E(0)*E(1)", 6, "cannot be a factor"),
        ("4[0]", 1, "no modes"),
        ("1" + "@0" * 17, 36, "fewer than 16 modes"),
        ("(4:1)[0:1]", 8, "']' expected"),
        ("(4:1)[x]", 7, "an integer expected"),
        ("size(is_bijective(4:1))", 6, "the truth value True"),
        ("(" * 60, 51, "nest deeper"),
        ("f" + "(1)" * 60, 152, "nest deeper"),
        ("4" * 3000, 1, "too many"),
    ],
)
def test_text_that_is_refused(text: str, column: int, said: str) -> None:
    with pytest.raises(ExpressionError) as info:
        evaluate(text)
    error = info.value
    assert error.column == column
    assert f"column {column}: " in error.condition
    assert said in str(error)
    assert error.fix
    assert "\n" not in str(error)
    mark = error.pointer.splitlines()[-1]
    assert mark.index("^") == column + 1


def test_what_operations_refuse_goes_through() -> None:
    with pytest.raises(DivisibilityError, match=r"composition\(a=\(4,6\):\(1,100\)"):
        evaluate("composition((4,6):(1,100), 3:3)")
    with pytest.raises(CuteError, match="Layout"):
        evaluate("(4,8):(1,2,3)")


WORDS = st.sampled_from(
    [*OPERATIONS, *"()[]:,@*-=_ ", "(", ")", ",", ":", " o ", "Sw<1,0,1>", "None", "1@0", "profile"]
)
NUMBERS = st.integers(0, 12).map(str)


def terms() -> st.SearchStrategy[str]:
    """Texts that are nearly always read, of operands that are often of the wrong kind."""
    numbers = st.one_of(NUMBERS, st.just("_"), st.just("1@0"))
    trees = st.recursive(
        numbers, lambda t: st.lists(t, max_size=3).map(lambda p: f"({','.join(p)})"), max_leaves=4
    )
    atoms = st.one_of(
        trees, st.tuples(trees, trees).map(":".join), st.just("Sw<1,0,2>"), layouts().map(str)
    )

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        arguments = st.lists(inner, max_size=3).map(lambda p: f"({','.join(p)})")
        return st.one_of(
            st.tuples(st.sampled_from(sorted(OPERATIONS)), arguments).map("".join),
            st.tuples(inner, arguments).map(lambda p: f"({p[0]}){p[1]}"),
            st.tuples(inner, inner).map(" o ".join),
            st.tuples(inner, NUMBERS).map(lambda p: f"({p[0]})[{p[1]}]"),
        )

    return st.recursive(atoms, larger, max_leaves=5)


def evaluates_or_refuses(text: str) -> None:
    for read in (evaluate, outermost):
        try:
            value = read(text)
        except CuteError as error:
            value = error
        assert value is None or str(value)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    evaluates_or_refuses(text)


@given(st.lists(st.one_of(WORDS, NUMBERS), max_size=14).map("".join))
def test_any_words_are_read_or_refused(text: str) -> None:
    evaluates_or_refuses(text)


@given(terms())
def test_any_operands_are_taken_or_refused(text: str) -> None:
    evaluates_or_refuses(text)


@given(st.data())
def test_each_operation_takes_or_refuses_its_operands(data: st.DataObject) -> None:
    trees = st.one_of(NUMBERS, st.tuples(NUMBERS, NUMBERS).map(lambda p: f"({','.join(p)})"))
    likely = {
        "int": NUMBERS,
        "bits": NUMBERS,
        "shape": trees,
        "strides": trees,
        "coord": st.one_of(trees, st.just("_"), st.just("(_,1)")),
        "swizzle": st.just("Sw<1,0,2>"),
    }
    name = data.draw(st.sampled_from(sorted(OPERATIONS)))
    count = data.draw(st.integers(1, 3))
    kinds = [*OPERATIONS[name].kinds, *OPERATIONS[name].kinds[-1:] * 2][:count]
    default = st.one_of(
        layouts(negative=True).map(str), trees, st.just("Sw<1,0,2> o 0 o (4,4):(4,1)")
    )
    operands = [data.draw(likely.get(kind, default)) for kind in kinds]
    evaluates_or_refuses(f"{name}({','.join(operands)})")


# ------------------------------------------------------------------ the command


def test_the_value_comes_first_then_the_table() -> None:
    result = run("(2,4):(4,1)")
    assert result.exit_code == 0
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "(2,4):(4,1)"
    assert lines[2:] == cx.layout_table(L((2, 4), (4, 1))).splitlines()[1:]
    assert "\x1b" not in result.stdout


@every(
    ("text", "out"),
    [
        ("((4,8):(8,1))(2,3)", "19\n"),
        ("-2*3", "-6\n"),
        ("Swizzle(3,3,3)", "Sw<3,3,3>\n"),
        ("shape((4,8):(8,1))", "(4,8)\n"),
        ("is_bijective((4,8):(8,1))", "True\n"),
        ("slice_and_offset((_,2), (4,8):(8,1))", "((4):(8),2)\n"),
        ("_", "_\n"),
        ("(4,)", "(4,)\n"),
    ],
)
def test_values_without_a_table(text: str, out: str) -> None:
    result = run(text)
    assert (result.exit_code, result.stdout, result.stderr) == (0, out, "")


def test_a_layout_that_has_no_table_says_why() -> None:
    lines = run("(2,2,2):(1,2,4)").stdout.splitlines()
    assert lines == ["(2,2,2):(1,2,4)", "no table: a grid has two modes, the layout has 3"]
    lines = run("(1000,1000):(1,1000)").stdout.splitlines()
    assert lines[1].startswith("no table: 1000000 cells")


def test_in_a_terminal_there_is_a_drawing_in_colour() -> None:
    result = run("(2,4):(4,1)", FORCE_COLOR="1", COLUMNS="80", TERM="xterm-256color")
    assert result.exit_code == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", result.stdout)
    assert plain != result.stdout
    assert "| 4 | 5 | 6 | 7 |" in plain
    assert "mode 0 ↓ mode 1 →\n  0 1 2 3" in plain
    exact = run("(2,4):(4,1)", FORCE_COLOR="1", COLUMNS="21", TERM="xterm-256color").stdout
    assert "    +---+---+---+---+\n" in exact, "21 columns hold it"
    narrow = run("(2,64):(64,1)", FORCE_COLOR="1", COLUMNS="80", TERM="xterm-256color").stdout
    assert "+---" not in narrow, "a table wider than the terminal would be torn"
    assert "offset mod 16, hexadecimal" in narrow


def test_no_color_leaves_the_table_alone() -> None:
    result = run("(2,4):(4,1)", FORCE_COLOR="1", NO_COLOR="1", COLUMNS="80", TERM="xterm")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", result.stdout)
    assert "| 4 | 5 | 6 | 7 |" in plain
    assert "mode 0 ↓" not in plain
    colours = re.findall(r"\x1b\[([0-9;]*)m", result.stdout)
    assert set(colours) <= {"0", "1", "2"}, "bold is no colour"
    wide = run("(2,64):(64,1)", FORCE_COLOR="1", NO_COLOR="1", COLUMNS="80", TERM="xterm")
    assert "no table: it has 389 columns, the terminal 80" in re.sub(r"\x1b\[\d*m", "", wide.stdout)


def test_explain_tells_the_outermost_operation() -> None:
    result = run("composition((6,2):(8,2), coalesce((4,3):(3,1)))", "--explain")
    assert result.exit_code == 0
    told = cx.explain(cx.composition, L((6, 2), (8, 2)), L((4, 3), (3, 1)))
    assert str(told) in result.stdout
    assert result.stdout.startswith("((2,2),3):((24,2),8)\n")
    assert str(cx.explain(L((4, 8), (8, 1)), 2, 3)) in run("((4,8):(8,1))(2,3)", "--explain").stdout
    joined = run("((6,2):(8,2) o (4,3):(3,1))", "--explain").stdout
    assert str(told) in joined


def test_explain_tells_a_refusal_up_to_its_step() -> None:
    result = run("composition((4,6):(1,100), 3:3)", "--explain")
    refused(result, "do not step evenly")
    assert "Refused at step 2.1" in result.stdout
    quiet = run("composition((4,6):(1,100), 3:3)", "--explain", "--json")
    refused(quiet)
    assert quiet.stdout == ""


@pytest.mark.parametrize("text", ["(4,8):(8,1)", "4", "((4,8):(8,1))[0]"])
def test_explain_needs_an_operation(text: str) -> None:
    shown = run(text, "--explain")
    assert shown.exit_code == 0
    assert "no steps to show" in shown.stderr
    assert str(evaluate(text)) in shown.stdout


def test_explain_knows_what_it_cannot_tell() -> None:
    shown = run("size((4,8):(8,1))", "--explain")
    assert "no steps to show" in shown.stderr
    assert shown.stdout.strip() == "32"


def test_svg_is_the_drawing(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    result = run("Sw<3,3,3> o 0 o (8,64):(64,1)", "--svg", str(path))
    assert result.exit_code == 0
    assert f"wrote {path}" in result.stdout
    assert path.read_text(encoding="utf-8") == cx.draw(SWIZZLED).svg
    ElementTree.fromstring(path.read_text(encoding="utf-8"))


def test_svg_in_a_folder_that_there_is_not_is_refused(tmp_path: Path) -> None:
    refused(run("(4,8):(8,1)", "--svg", str(tmp_path / "no" / "a.svg")), "is not a folder")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["size(4:1)", "(2,2,2):(1,2,4)", "(1000,1000):(1,1000)"])
def test_svg_of_what_has_no_drawing_is_refused(text: str, tmp_path: Path) -> None:
    result = run(text, "--svg", str(tmp_path / "a.svg"))
    refused(result)
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


def read(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_json_of_a_layout(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    told = read("coalesce((2,(1,6)):(3,(6,6)))", "--explain", "--svg", str(path))
    assert told["text"] == "12:3"
    assert told["kind"] == "layout"
    facts = {"shape": 12, "stride": 3, "rank": 1, "depth": 0, "size": 12, "cosize": 34}
    assert told["value"] == facts
    assert told["offsets"] == [[3 * i for i in range(12)]]
    assert told["explanation"]["steps"][-1]["value"] == told["value"]
    assert told["files"] == [str(path)]


@every(
    ("text", "kind", "value"),
    [
        ("3", "integer", 3),
        ("is_bijective(4:1)", "bool", True),
        ("(4,(2,_))", "tuple", [4, [2, None]]),
        ("E(0,1)", "basis", "1@1@0"),
        ("Sw<1,0,2>", "swizzle", {"bits": 1, "base": 0, "shift": 2}),
        (
            "as_f2(Sw<2,0,2> o 0 o (4,4):(1,4))",
            "xor layout",
            {"shape": [4, 4], "stride": [1, 5], "offset": 0},
        ),
    ],
)
def test_json_of_other_values(text: str, kind: str, value: Any) -> None:
    told = read(text)
    assert (told["kind"], told["value"], told["offsets"]) == (kind, value, None)


def test_json_of_swizzles_and_coordinates() -> None:
    told = read("Sw<1,0,2> o 0 o (4,2):(1,4)")
    assert told["kind"] == "swizzled layout"
    assert told["value"]["swizzle"] == {"bits": 1, "base": 0, "shift": 2}
    assert told["offsets"] == [[0, 5], [1, 4], [2, 7], [3, 6]]
    told = read("(2,2):(1@0,1@1)")
    assert told["value"]["stride"] == ["1@0", "1@1"]
    assert told["offsets"] == [[[0, 0], [0, 1]], [[1, 0], [1, 1]]]
    assert read("(1000,1000):(1,1000)")["offsets"] is None


@pytest.mark.parametrize("text", ["compositon(4:1)", "(4,8", "4:1 o"])
def test_errors_point_at_the_column(text: str) -> None:
    result = run(text)
    refused(result, "column")
    assert result.stdout == ""
    *_, shown, mark = result.stderr.splitlines()
    assert shown == f"  {text}"
    assert mark.strip() == "^"


def test_the_command_is_listed() -> None:
    assert "layout" in CliRunner().invoke(cli.main, ["--help"]).stdout
    assert run().exit_code == 2
    assert run("4:1", "--nonsense").exit_code == 2


def test_what_a_layout_costs_is_shown_and_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "accesses.svg"
    arguments = ["layout", "(16,4):(64,1)", "--analyse", "--bits", "32", "--svg", str(picture)]
    shown = CliRunner().invoke(cli.main, arguments)
    assert shown.exit_code == 0
    assert "64 turns of 16 banks of 4 bytes, 60 lost" in shown.output
    assert "Sw<4,0,6> takes 4 turns" in shown.output
    assert "bank" in picture.read_text(encoding="utf-8")
    document = json.loads(CliRunner().invoke(cli.main, [*arguments[:5], "--json"]).output)
    assert document["analysis"]["aliasing"] == "none"
    plain = CliRunner().invoke(cli.main, ["layout", "(4,8):(8,1)", "--json"])
    assert json.loads(plain.output)["analysis"] is None


@pytest.mark.parametrize("text", ["make_layout((4,8), stride=(8,1))", "make_layout((4,8),(8,1))"])
def test_strides_are_given_by_name_as_in_python(text: str) -> None:
    assert evaluate(text) == cx.make_layout((4, 8), stride=(8, 1))
    assert eval(python_text(text), {"cx": cx}) == evaluate(text)


@pytest.mark.parametrize(
    "text",
    ["make_layout(stride=(8,1))", "make_layout((4,8),(8,1),stride=(1,4))", "get(4:1,modes=0)"],
)
def test_names_of_operands_stand_in_their_places(text: str) -> None:
    with pytest.raises(CuteError, match="is not the next operand"):
        evaluate(text)
