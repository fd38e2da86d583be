"""`pycute-xe lsc`: text, bytes and descriptors; verdicts, marks below fields, files."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result
from every import every

from pycute_xe import cli
from pycute_xe.arch.lsc import encode, encode_descriptor, parse
from pycute_xe.cli.lsc_outcome import column_of

LOAD = "lsc_load.ugm (M1,16) V13:d32x2 flat[V12]:a64"
STORE = "lsc_store.slm.wb.wb (M1,16) flat[V12]:a64 V13:d16x8t"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, ["lsc", *arguments])


def test_a_legal_message() -> None:
    result = run(LOAD, "--target", "pvc")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == LOAD
    assert "rules      legal on pvc" in lines
    assert f"send       descriptor {encode_descriptor(parse(LOAD)).desc:#010x}" in result.stdout
    assert "in registers: register" in result.stdout


def test_the_nearest_legal_message_is_told() -> None:
    nearest = parse(STORE).nearest("bmg")
    assert f"legal instead: {nearest}" in run(STORE, "--target", "bmg").stdout
    assert "legal instead" not in run(LOAD).stdout


def test_marks_stand_below_the_fields_that_break_rules() -> None:
    result = run(STORE, "--target", "bmg")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    marked = {
        lines[i + 2].split("(")[1].split(")")[0]: lines[i][lines[i + 1].index("^") :]
        for i in range(1, len(lines) - 2)
        if lines[i] == STORE and lines[i + 1].strip() == "^"
    }
    assert {rule: text.split()[0] for rule, text in marked.items()} == {
        "transpose-exec": "16)",
        "transpose-size": "d16x8t",
        "address-a64-slm": "flat[V12]:a64",
        "caching-slm": "wb.wb",
    }


@every(
    ("text", "target", "field"),
    [
        ("(P1) lsc_load.ugml (M1,16) V1:d32 flat[V2]:a64", "bmg", "ugml"),
        ("lsc_load.ugm (M8,16) V1:d32 flat[V2]:a64", "bmg", "M8"),
        ("lsc_load.ugm (M1,16) V1:d32 bti(0x100)[V2]:a32", "bmg", "bti(0x100)"),
        ("lsc_store.ugm (M1,16) flat[V2]:a64 %null:d32", "bmg", "lsc_store"),
        ("lsc_load.slm (M1,16) flat:d32 bti(0x1)[V2]:a32", "bmg", "bti"),
        ("lsc_store_block2d.ugm (M1,1) flat[V1,V2,V3,V4,V5,V6] V9:d16.16x16nn", "pvc", "d16.16x16"),
        ("lsc_load_block2d.ugm (M1,1) V9:d8.1x8x8nn flat[0x1,V2,V3,V4,V5,V6]", "pvc", "flat[0x1"),
    ],
)
def test_columns(text: str, target: str, field: str) -> None:
    message = parse(text)
    assert str(message) == text
    assert text[column_of(text, message.check(target)[0]) :].startswith(field)


def test_bytes_and_descriptors_are_read_too() -> None:
    code = encode(parse(LOAD)).code
    for spelling in (code.hex(), code.hex(" ").upper()):
        assert run(spelling).stdout == run(LOAD).stdout
    said = run("0x6210D500", "--target", "pvc")
    assert said.exit_code == 0
    assert ["data", "d32x16t"] in [line.split() for line in said.stdout.splitlines()]
    told = json.loads(run("0x6210D500", "--target", "pvc", "--json").stdout)
    assert (told["op"], told["model"], told["dst_registers"]) == ("load", "bti", 1)


def test_json_and_files(tmp_path: Path) -> None:
    path = tmp_path / "load.svg"
    told = json.loads(run(LOAD, "--json", "-o", str(path)).stdout)
    assert told["files"] == [str(path)]
    assert path.read_text(encoding="utf-8").startswith("<svg ")
    assert told["binary"] == "".join(field["bytes"] for field in told["fields"])
    assert told["send"] == dict(
        zip(("desc", "ext"), encode_descriptor(parse(LOAD), "bmg"), strict=True)
    )
    bad = json.loads(run(STORE, "--json").stdout)
    assert not bad["legal"]
    assert {rule["rule"]: rule["column"] for rule in bad["rules"]}["caching-slm"] == 15
    assert bad["send"] is not None
    assert json.loads(run(LOAD.replace("ugm", "ugm.wb.wb"), "--json").stdout)["send"] is None


def test_every_field_in_words() -> None:
    lines = run(LOAD, "-v").stdout.splitlines()
    assert any(line.split() == ["DataElemsPerAddr", "02", "2"] for line in lines)


@every(
    ("arguments", "said"),
    [
        (("lsc_load.zgm (M1,16) V1:d32 flat[V2]:a64",), "column 10"),
        (("89 1d 05",), "unknown sub-operation 0x1d"),
        (("0x1F",), "0x1f is not one of LSC_UNTYPED"),
        (("0x4100580", "-o", "x.svg"), "cannot be drawn"),
        ((LOAD, "--target", "mtl"), "8 lanes"),
        ((LOAD, "-o", "nowhere/x.svg"), "nowhere"),
        (("lsc_load_block2d.ugm %null:d8.8x8 flat[V1,V2,V3,V4,V5,V6]", "-o", "x.svg"), "prefetch"),
    ],
)
def test_what_makes_no_sense(arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_prefetch_of_a_block_has_no_drawing() -> None:
    result = run("lsc_load_block2d.ugm %null:d8.8x8 flat[V1,V2,V3,V4,V5,V6]")
    assert result.exit_code == 0
    assert "no drawing: a prefetch reaches no register" in result.stdout


def test_check_takes_a_predicated_message() -> None:
    result = CliRunner().invoke(cli.main, ["check", f"(P1) {LOAD}"])
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0].startswith(f"(P1) {LOAD} on bmg")
