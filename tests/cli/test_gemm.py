"""`pycute-xe gemm` as a user meets it: files in, files out, and every mistake they can make."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import ml_dtypes
import numpy as np
import pytest
from click.testing import CliRunner, Result
from every import every

from pycute_xe import cli
from pycute_xe.cli.gemm_command import gemm_command

BF16 = ml_dtypes.bfloat16
RNG = np.random.default_rng(7)
A = RNG.standard_normal((40, 61)).astype(np.float32)
B = RNG.standard_normal((61, 37)).astype(np.float32)
A_BF16, B_BF16 = A.astype(BF16), B.astype(BF16)
SMALL = ("--tile", "64x64x32", "--subgroups", "2x2")

Run = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with matrices in it."""
    monkeypatch.chdir(tmp_path)
    np.save("A.npy", A)
    np.save("B.npy", B)
    np.save("Ab.npy", A_BF16)
    np.save("Bb.npy", B_BF16)
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    """Run the program with a small tile."""

    def command(*arguments: str) -> Result:
        return CliRunner().invoke(cli.main, ["gemm", *SMALL, *arguments])

    return command


def assert_product(path: str, a: Any, b: Any) -> None:
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    c = np.load(path, allow_pickle=False)
    assert c.dtype == np.float32
    assert c.shape == (a.shape[0], b.shape[1])
    bound = a.shape[1] * 2.0**-24 * (abs(a) @ abs(b))
    assert (abs(c - a @ b) <= bound).all()


def refused(result: Result, *said: str) -> None:
    """One message on standard error, nothing else anywhere, status 2."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert "rror: " in result.stderr
    for part in said:
        assert part in result.stderr


def unchanged(folder: Path, before: set[str]) -> bool:
    return {p.name for p in folder.rglob("*")} == before


# ------------------------------------------------------------------ what works


def test_bf16_files_round_trip(run: Run) -> None:
    assert np.load("Ab.npy", allow_pickle=False).dtype.kind == "V"
    result = run("Ab.npy", "Bb.npy", "-o", "C.npy")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    assert_product("C.npy", A_BF16, B_BF16)


@pytest.mark.parametrize(("name", "dtype"), [("bf16", BF16), ("f16", np.float16)])
def test_wider_inputs_are_rounded_when_asked(run: Run, name: str, dtype: Any) -> None:
    assert run("A.npy", "B.npy", "-o", "C.npy", "--dtype", name).exit_code == 0
    assert_product("C.npy", A.astype(dtype), B.astype(dtype))


@pytest.mark.parametrize("executor", ["fast", "reference"])
@pytest.mark.parametrize("orders", [("row", "row"), ("row", "col"), ("col", "row"), ("col", "col")])
def test_orders_and_executors(run: Run, orders: tuple[str, str], executor: str) -> None:
    a, b = orders
    options = ("--a", a, "--b", b, "--executor", executor)
    done = run("Ab.npy", "Bb.npy", "-o", "C.npy", *options)
    assert done.exit_code == 0
    assert re.search(rf"run +{executor} executor", done.output)
    assert_product("C.npy", A_BF16, B_BF16)


@pytest.mark.parametrize(
    "stored",
    [
        np.asfortranarray(A),
        A.astype(">f4"),
        A.astype(np.float64),
        np.round(A * 8).astype(np.int8),
        A > 0,
    ],
    ids=["fortran", "big-endian", "float64", "int8", "bool"],
)
def test_arrays_of_any_layout_and_type(run: Run, stored: Any) -> None:
    np.save("X.npy", stored)
    assert run("X.npy", "B.npy", "-o", "C.npy", "--dtype", "bf16").exit_code == 0
    assert_product("C.npy", stored.astype(np.float32).astype(BF16), B_BF16)


def test_subgroups_side_by_side_in_n_have_neighbouring_numbers(run: Run) -> None:
    """As in CUTLASS's examples: ``Layout<Shape<_8,_4,_1>, Stride<_4,_1,_0>>``."""
    done = run("Ab.npy", "Bb.npy", "-o", "C.npy", "--subgroups", "4x2", "-v")
    assert done.exit_code == 0
    assert "(4,2,1):(2,1,0) subgroups" in done.output


def test_big_endian_halves_need_no_rounding(run: Run) -> None:
    a, b = A.astype(np.float16), B.astype(np.float16)
    np.save("X.npy", a.astype(">f2"))
    np.save("Y.npy", b)
    assert run("X.npy", "Y.npy", "-o", "C.npy").exit_code == 0
    assert_product("C.npy", a, b)


def test_npz_by_name(run: Run) -> None:
    np.savez("both.npz", left=A_BF16, right=B_BF16)
    np.savez_compressed("one.npz", B_BF16)
    assert run("both.npz:left", "both.npz:right", "-o", "C.npy").exit_code == 0
    assert_product("C.npy", A_BF16, B_BF16)
    assert run("both.npz:left", "one.npz", "-o", "D.npy").exit_code == 0
    assert_product("D.npy", A_BF16, B_BF16)


def test_columns_first_in_an_archive(run: Run) -> None:
    np.savez("columns.npz", np.asfortranarray(A_BF16))
    assert run("columns.npz", "Bb.npy", "-o", "C.npy").exit_code == 0
    assert_product("C.npy", A_BF16, B_BF16)


def test_a_file_whose_name_has_a_colon(run: Run) -> None:
    np.savez("odd.npz:x.npz", A_BF16)
    Path("odd.npz:x.npz").rename("odd.npz:x")
    assert run("odd.npz:x", "Bb.npy", "-o", "C.npy").exit_code == 0


@pytest.mark.parametrize(
    ("m", "n", "k"), [(0, 5, 7), (5, 0, 7), (5, 7, 0), (0, 0, 0), (1, 1, 1)], ids=str
)
def test_extents_of_zero_give_what_numpy_gives(run: Run, m: int, n: int, k: int) -> None:
    np.save("X.npy", np.ones((m, k), np.float16))
    np.save("Y.npy", np.ones((k, n), np.float16))
    assert run("X.npy", "Y.npy", "-o", "C.npy").exit_code == 0
    np.testing.assert_array_equal(np.load("C.npy"), np.full((m, n), k, np.float32))


def test_nan_and_inf_pass_through(run: Run) -> None:
    x = A_BF16.copy()
    x[3, 4], x[5, 6] = np.nan, np.inf
    np.save("X.npy", x)
    assert run("X.npy", "Bb.npy", "-o", "C.npy").exit_code == 0
    c = np.load("C.npy")
    assert np.isnan(c[3]).all()
    assert (np.isinf(c[5]) | np.isnan(c[5])).all()
    assert np.isfinite(np.delete(c, (3, 5), axis=0)).all()


def test_a_legal_array_passes_strictly(run: Run) -> None:
    np.save("X.npy", np.ones((40, 64), np.float16))
    np.save("Y.npy", np.ones((64, 64), np.float32))
    for dtype in ((), ("--dtype", "f16")):
        np.save("Y.npy", np.ones((64, 64), np.float32 if dtype else np.float16))
        result = run("X.npy", "Y.npy", "-o", "C.npy", "--strict", "--json", *dtype)
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["work"]["copies"] == []


def test_an_array_stored_by_columns_is_used_as_it_lies(run: Run) -> None:
    np.save("X.npy", np.asfortranarray(np.ones((64, 64), np.float16)))
    np.save("Y.npy", np.ones((64, 64), np.float16))
    result = run("X.npy", "Y.npy", "-o", "C.npy", "--a", "col", "--strict", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["work"]["copies"] == []


@pytest.mark.long
def test_json_is_all_there_is_on_standard_output(run: Run) -> None:
    result = run("A.npy", "B.npy", "-o", "C.npy", "--dtype", "bf16", "--json", "--verify")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert (report["M"], report["N"], report["K"]) == (40, 37, 61)
    assert report["types"] == {"A": "bf16", "B": "bf16", "D": "f32"}
    assert report["tile"] == [64, 64, 32]
    assert report["check"]["target"] == "bmg"
    assert report["check"]["legal"] is True
    assert report["proof"]["holds"] is True
    assert all(p["holds"] for p in report["proof"]["properties"])
    assert report["proof"]["properties"]
    # One work-group of 8 × 4 atoms, twice along K, each 16 deep.
    assert report["work"]["dpas"] == (64 // 8) * (64 // 16) * (64 // 16)
    assert report["work"]["bytes"]["store"] == 40 * 37 * 4
    assert report["work"]["copies"] == ["A", "B"]
    assert report["files"] == ["C.npy"]


def test_the_summary_and_the_listing(run: Run) -> None:
    brief = run("Ab.npy", "Bb.npy", "-o", "C.npy").stdout
    assert "40 × 37 × 61" in brief
    assert "barrier" not in brief
    wordy = run("Ab.npy", "Bb.npy", "-o", "C.npy", "-v").stdout
    for part in ("barrier   arrive", "rules hold", "dpas"):
        assert part in wordy


def test_drawings(run: Run) -> None:
    result = run("Ab.npy", "Bb.npy", "-o", "C.npy", "--draw", "some/where", "--json")
    files = json.loads(result.stdout)["files"]
    assert files == ["C.npy", *(str(Path("some/where") / f"{x}.svg") for x in "ABD")]
    for name in files[1:]:
        ElementTree.parse(name)


def test_a_kernel_the_target_refuses_is_warned_about_or_refused(run: Run) -> None:
    options = ("Ab.npy", "Bb.npy", "-o", "C.npy", "--tile", "256x256x32", "--subgroups", "2x2")
    refused(run(*options, "--strict"), "registers", "256")
    assert not Path("C.npy").exists()
    result = run(*options, "--oversized")
    assert result.exit_code == 0
    assert "warning" in result.stderr
    assert_product("C.npy", A_BF16, B_BF16)


def test_help_names_every_option() -> None:
    text = CliRunner().invoke(cli.main, ["gemm", "--help"]).stdout
    for option in gemm_command.params:
        assert option.opts[0] in text or option.human_readable_name in text


def test_the_version_is_told() -> None:
    result = CliRunner().invoke(cli.main, ["--version"])
    assert result.exit_code == 0
    assert result.stdout.startswith("pycute-xe, version ")


# ------------------------------------------------------------------ mistakes


def save_pickle(path: str) -> None:
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)


def save_cut(path: str) -> None:
    data = Path("A.npy").read_bytes()
    Path(path).write_bytes(data[: len(data) // 2])


def save_promise(path: str) -> None:
    """A header that promises more than any memory holds."""
    with Path(path).open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (1 << 40, 1 << 20)}
        np.lib.format.write_array_header_1_0(file, header)


def save_broken_zip(path: str) -> None:
    np.savez("x.npz", A)
    data = Path("x.npz").read_bytes()
    Path("x.npz").unlink()
    Path(path).write_bytes(data[: len(data) // 2])


def save_npz_of_pickle(path: str) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, np.array([{"a": 1}], dtype=object))
    Path(path).write_bytes(buffer.getvalue())


BAD_FILES: dict[str, tuple[Callable[[str], object], str]] = {
    "text": (lambda p: Path(p).write_text("hello"), "not an .npy or .npz file"),
    "empty": (lambda p: Path(p).write_bytes(b""), "not an .npy or .npz file"),
    "magic": (lambda p: Path(p).write_bytes(b"\x93NUMPY"), "not a readable .npy file"),
    "version": (lambda p: Path(p).write_bytes(b"\x93NUMPY\x09\x00AAAA"), "not a readable .npy"),
    "header": (lambda p: Path(p).write_bytes(b"\x93NUMPY\x01\x00\x02\x00xx"), "not a readable"),
    "pickle": (save_pickle, "unpickled"),
    "npz pickle": (save_npz_of_pickle, "unpickled"),
    "cut": (save_cut, "cut short"),
    "promise": (save_promise, "cut short"),
    "broken zip": (save_broken_zip, "not a readable .npz file"),
    "vector": (lambda p: np.save(p, A[0]), "1 dimensions"),
    "scalar": (lambda p: np.save(p, A[0, 0]), "0 dimensions"),
    "stack": (lambda p: np.save(p, A[None]), "3 dimensions"),
    "complex": (lambda p: np.save(p, A.astype(np.complex64)), "complex64"),
    "strings": (lambda p: np.save(p, np.full((2, 61), "x")), "not real numbers"),
    "records": (lambda p: np.save(p, np.zeros((40, 61), "V3")), "not real numbers"),
    "records of two bytes": (
        lambda p: np.save(p, np.zeros((40, 61), [("low", "u1"), ("high", "u1")])),
        "not real numbers",
    ),
    "dates": (lambda p: np.save(p, np.zeros((40, 61), "M8[s]")), "not real numbers"),
}


@every("name", BAD_FILES)
def test_files_that_hold_no_matrix(run: Run, folder: Path, name: str) -> None:
    make, said = BAD_FILES[name]
    make("bad.npy")
    Path("bad.npy.npy").exists() and Path("bad.npy.npy").rename("bad.npy")
    before = {p.name for p in folder.rglob("*")}
    refused(run("bad.npy", "B.npy", "-o", "C.npy", "--dtype", "bf16"), "bad.npy", said)
    assert unchanged(folder, before)


def make_files() -> None:
    np.savez("two.npz", x=A, y=B)
    np.savez("none.npz")
    np.save("f64.npy", A.astype(np.float64))
    np.save("s8.npy", np.ones((40, 61), np.int8))
    np.save("f16.npy", A.astype(np.float16))
    Path("folder").mkdir()


MISTAKES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "missing file": (("nope.npy", "B.npy", "-o", "C.npy"), ("nope.npy", "No such file")),
    "folder as file": (("folder", "B.npy", "-o", "C.npy"), ("folder", "directory")),
    "name missing": (("two.npz", "B.npy", "-o", "C.npy"), ("2 arrays: x, y", "two.npz:x")),
    "wrong name": (("two.npz:z", "B.npy", "-o", "C.npy"), ("'z'", "one of x, y")),
    "empty npz": (("none.npz", "B.npy", "-o", "C.npy"), ("0 arrays",)),
    "shapes": (("A.npy", "A.npy", "-o", "C.npy", "--dtype", "bf16"), ("61 columns", "40 rows")),
    "float64": (("f64.npy", "B.npy", "-o", "C.npy"), ("float64", "--dtype bf16")),
    "float32": (("A.npy", "B.npy", "-o", "C.npy"), ("float32", "--dtype bf16")),
    "int8": (("s8.npy", "B.npy", "-o", "C.npy"), ("int8", "--dtype")),
    "mixed": (("f16.npy", "Bb.npy", "-o", "C.npy"), ("float16 by bfloat16", "--dtype")),
    "tile M": (
        ("Ab.npy", "Bb.npy", "-o", "C.npy", "--tile", "100x64x32"),
        ("16 = 8 (M of the atom) × 2 (subgroups along M)",),
    ),
    "tile K": (("Ab.npy", "Bb.npy", "-o", "C.npy", "--tile", "64x64x24"), ("K of the atom",)),
    "tile form": (("Ab.npy", "Bb.npy", "-o", "C.npy", "--tile", "64x64"), ("MxNxK",)),
    "tile zero": (("Ab.npy", "Bb.npy", "-o", "C.npy", "--tile", "64x0x32"), ("positive",)),
    "tile word": (("Ab.npy", "Bb.npy", "-o", "C.npy", "--tile", "axbxc"), ("MxNxK",)),
    "subgroups": (("Ab.npy", "Bb.npy", "-o", "C.npy", "--subgroups", "2x-2"), ("MxN",)),
    "dtype": (("Ab.npy", "Bb.npy", "-o", "C.npy", "--dtype", "f8"), ("'f8'",)),
    "target": (("Ab.npy", "Bb.npy", "-o", "C.npy", "--target", "a100"), ("a100", "bmg")),
    "order": (("Ab.npy", "Bb.npy", "-o", "C.npy", "--a", "diagonal"), ("diagonal",)),
    "no output": (("Ab.npy", "Bb.npy"), ("--output",)),
    "strict pitch": (
        ("Ab.npy", "Bb.npy", "-o", "C.npy", "--strict"),
        ("pitch is 122", "nearest legal", "["),
    ),
    "strict order": (("f16.npy", "f16.npy", "-o", "C.npy", "--strict"), ("A has 61 columns",)),
    "output folder": (("Ab.npy", "Bb.npy", "-o", "folder"), ("folder",)),
    "output nowhere": (("Ab.npy", "Bb.npy", "-o", "no/C.npy"), ("not a folder",)),
    "output npz": (("Ab.npy", "Bb.npy", "-o", "C.npz"), (".npy",)),
    "drawings into a file": (("Ab.npy", "Bb.npy", "-o", "C.npy", "--draw", "A.npy"), ("A.npy",)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_refused_with_nothing_written(run: Run, folder: Path, name: str) -> None:
    make_files()
    arguments, said = MISTAKES[name]
    before = {p.name for p in folder.rglob("*")}
    refused(run(*arguments), *said)
    assert unchanged(folder, before)


def test_a_folder_that_cannot_be_written(run: Run, folder: Path) -> None:
    # A file where the folder should be stops every user, root included.
    refused(run("Ab.npy", "Bb.npy", "-o", "Ab.npy/C.npy"), "Ab.npy")
    assert unchanged(folder, {p.name for p in folder.rglob("*")})


def test_a_full_disk_leaves_the_old_result(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("C.npy").write_text("before")
    before = {p.name for p in folder.rglob("*")}

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    refused(run("Ab.npy", "Bb.npy", "-o", "C.npy", "--draw", "drawings"), "No space left")
    assert Path("C.npy").read_text() == "before"
    assert unchanged(folder, before)


def test_a_wrong_kernel_is_never_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import pycute_xe.trials

    class Falsy:
        answer = "disproved"

        def __bool__(self) -> bool:
            return False

        def __str__(self) -> str:
            return "D is written twice"

    monkeypatch.setattr(pycute_xe.trials, "verify", lambda kernel: Falsy())
    result = run("Ab.npy", "Bb.npy", "-o", "C.npy", "--verify")
    assert result.exit_code == 1
    assert "the kernel is wrong" in result.stderr
    assert "D is written twice" in result.stderr
    assert not Path("C.npy").exists()


# ------------------------------------------------------------------ as a process


@pytest.mark.long
def test_as_a_process(folder: Path) -> None:
    """A refusal; `test_an_input_may_be_a_pipe` has the process that succeeds."""
    command = [sys.executable, "-m", "pycute_xe.cli", "gemm", *SMALL, "Ab.npy"]
    environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])}
    wrong = subprocess.run(
        [*command, "Ab.npy", "-o", "D.npy"], capture_output=True, text=True, env=environment
    )
    assert wrong.returncode == 2
    assert wrong.stdout == ""
    assert wrong.stderr.startswith("pycute-xe: error: ")
    assert wrong.stderr.count("\n") == 1


@pytest.mark.skipif(os.name != "posix", reason="pipes are files only on POSIX")
@pytest.mark.long
def test_an_input_may_be_a_pipe(folder: Path) -> None:
    root = str(Path(cli.__file__).parents[2])
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pycute_xe.cli",
            "gemm",
            *SMALL,
            "/dev/stdin",
            "Bb.npy",
            "-o",
            "C.npy",
            "--json",
        ],
        input=Path("Ab.npy").read_bytes(),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    assert json.loads(done.stdout)["N"] == 37
    assert_product("C.npy", A_BF16, B_BF16)


# ------------------------------------------------------------------ what is easy to lose or to miss


def test_the_result_never_replaces_an_input(run: Run, folder: Path) -> None:
    np.savez("both.npz", a=A, b=B)
    (folder / "link.npy").symlink_to("A.npy")
    whole = Path("A.npy").read_bytes()
    for out, a, b in (
        ("A.npy", "A.npy", "B.npy"),
        ("link.npy", "A.npy", "B.npy"),
        ("./B.npy", "A.npy", "B.npy"),
    ):
        refused(
            run(a, b, "-o", out, "--dtype", "bf16"), "the result would replace", "Way out: name"
        )
    assert Path("A.npy").read_bytes() == whole


def test_a_dash_writes_to_standard_output(run: Run) -> None:
    result = run("Ab.npy", "Bb.npy", "-o", "-")
    assert result.exit_code == 0, result.stderr
    Path("C.npy").write_bytes(result.stdout_bytes)
    assert_product("C.npy", A_BF16, B_BF16)
    assert "dpas" in result.stderr
    assert not Path("-").exists()
    refused(run("Ab.npy", "Bb.npy", "-o", "-", "--json"), "both go to standard output")


def test_elements_that_overflow_are_counted(run: Run) -> None:
    large = np.array(A)
    large[0, :3] = 1e6
    np.save("L.npy", large)
    result = run("L.npy", "B.npy", "-o", "C.npy", "--dtype", "f16")
    assert result.exit_code == 0
    assert "3 of 2,440 elements of A overflow f16" in result.stderr
    assert run("L.npy", "B.npy", "-o", "C.npy", "--dtype", "bf16").stderr == ""


@pytest.mark.long
def test_a_tile_that_fits_nowhere_is_refused_unless_asked_for(folder: Path) -> None:
    tile = ("gemm", "Ab.npy", "Bb.npy", "-o", "C.npy", "--tile", "512x256x32", "--subgroups", "1x1")
    result = CliRunner().invoke(cli.main, [*tile])
    refused(result, "registers", "a thread has at most 256", "--oversized")
    assert result.stderr.count("Way out") == 1
    asked = CliRunner().invoke(cli.main, [*tile, "--oversized"])
    assert asked.exit_code == 0
    assert "warning" in asked.stderr
    strict = CliRunner().invoke(cli.main, [*tile, "--oversized", "--strict"])
    assert strict.exit_code == 2
    assert strict.stderr.count("Way out") == 1


def test_only_types_that_the_option_takes_are_offered(run: Run) -> None:
    result = run("A.npy", "B.npy", "-o", "C.npy")
    refused(result, "--dtype bf16 or --dtype f16")
    assert "tf32" not in result.stderr


@pytest.mark.parametrize(
    "command", [("atoms", "XE_LOAD", "--limit", "0"), ("layout", "(64,64):(64,1)")]
)
@pytest.mark.long
def test_a_pipe_closed_early_is_no_failure(command: tuple[str, ...]) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "pycute_xe", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
        process.wait()
    assert (process.returncode, said) == (0, b"")


def test_archives_unpack_to_what_they_declare(run: Run) -> None:
    file = io.BytesIO()
    np.save(file, A)
    for name, content, said in (
        ("long", file.getvalue() + b"\0" * 5000, "it unpacks to more than the 9,760 bytes"),
        ("short", file.getvalue()[:-8], "cut short: its header declares 9,760 bytes"),
    ):
        with zipfile.ZipFile(f"{name}.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.npy", content)
        refused(run(f"{name}.npz", "B.npy", "-o", "C.npy"), said, "Way out: write it again")


def test_an_archive_that_unpacks_to_more_than_the_limit_is_refused(run: Run) -> None:
    file = io.BytesIO()
    np.lib.format.write_array_header_2_0(
        file, {"shape": (1 << 16, 1 << 16), "fortran_order": False, "descr": "<f4"}
    )
    with zipfile.ZipFile("huge.npz", "w") as archive:
        archive.writestr("a.npy", file.getvalue())
    refused(
        run("huge.npz", "B.npy", "-o", "C.npy"), "17,179,869,184 bytes, more than 4,294,967,296"
    )
