"""Calls that do not fit a signature, and rows that lack a column: refused by what is missing."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import pycute_xe as cx
from pycute_xe import facts, numeric
from pycute_xe.arch import occupancy, target
from pycute_xe.atom import ThrMma
from pycute_xe.cli import main
from pycute_xe.errors import CuteError, DTypeError, InputError, ShapeError, TargetError
from pycute_xe.signatures import typed

OP = cx.XE_DPAS_TT(8, "f32", "bf16")


@typed
def scaled(value: int, /, factor: int, *, by: str = "rows", sizes: Any = None) -> int:
    return value * factor


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((1, 2), {"bye": "k"}, "takes no argument named bye. Way out: write by='k'"),
        ((1, 2), {"M": 100}, "no argument named M. Way out: write sizes={'M': 100}"),
        ((1, 2), {"zz": 100}, "no argument named zz. Way out: it takes factor, by, sizes"),
        ((1, 2), {"value": 1}, "no argument named value"),
        ((1,), {}, "scaled(value=1): factor is missing. Way out: call scaled(value, factor, by"),
        ((), {}, "value and factor are missing"),
        ((1, 2, 3), {}, "3 arguments are given by place, and 2 are taken so"),
        ((1, 2), {"factor": 4}, "factor is given twice, by place and by name"),
    ],
)
def test_a_call_that_does_not_fit_its_signature(
    args: tuple[int, ...], kwargs: dict[str, Any], words: str
) -> None:
    call: Any = scaled
    with pytest.raises(InputError) as refusal:
        call(*args, **kwargs)
    assert words in str(refusal.value)


def test_what_is_taken_beyond_names_is_not_refused() -> None:
    @typed
    def loose(*rows: int, **columns: int) -> int:
        return len(rows) + len(columns)

    assert loose(1, 2, height=3) == 3


def test_a_type_error_from_inside_a_call_that_fits_passes_as_it_is() -> None:
    @typed
    def outer(count: int) -> int:
        inner: Any = scaled.__wrapped__  # type: ignore[attr-defined]
        return inner(count)

    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        outer(3)


def test_the_way_out_of_sizes_given_by_name_works() -> None:
    kernel = cx.kernel.gemm(cx.workgroup_mma(OP))
    check: Any = cx.check
    with pytest.raises(InputError, match=r"write sizes=\{'M': 100\}"):
        check(kernel, "bmg", M=100)
    assert cx.check(kernel, "bmg", sizes={"M": 100})


def test_bits_given_as_a_type_are_offered_as_a_number() -> None:
    make: Any = cx.XE_LOAD_2D
    with pytest.raises(ShapeError, match=r"bits is a str, not an integer. Way out: write bits=16"):
        make("bf16", 32, 16)
    with pytest.raises(ShapeError, match=r"height is a float, not an integer. .*write height=32"):
        make(16, 32.0, 16)
    with pytest.raises(ShapeError, match=r"width is a list, .* write width=16, an integer"):
        make(16, 32, [])


def test_a_kernel_is_explained_by_its_listing() -> None:
    kernel = cx.kernel.gemm(cx.workgroup_mma(OP))
    explain: Any = cx.explain
    assert str(explain(kernel)) == str(kernel)
    with pytest.raises(InputError, match=r"explain its atoms, as in explain.mma.atom."):
        explain(cx.workgroup_mma(OP))
    assert cx.explain(cx.workgroup_mma(OP).atom)


def test_an_operand_of_many_lines_is_shown_by_its_first() -> None:
    shown = str(CuteError("verify", {"kernel": "gemm\nof two"}, "it is not legal"))
    assert shown == "verify(kernel=gemm …): it is not legal"


def test_a_number_is_drawn_with_its_article() -> None:
    with pytest.raises(ShapeError, match="an int cannot be drawn"):
        cx.draw(3)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("gemm --targt bmg", "unknown option '--targt'. Did you mean '--target'?"),
        ("emit --targt bmg", "'--target' is an option of atom, atoms, check, diff, gemm, layout"),
        ("emit --target bmg", "'--target' is an option of"),
        ("emit --zzz", "unknown option '--zzz'.\n"),
        ("--versoin", "Did you mean '--version'?"),
    ],
)
def test_an_unknown_option_of_the_command_line(line: str, words: str) -> None:
    outcome = CliRunner().invoke(main, line.split())
    assert outcome.exit_code == 2
    assert words in outcome.output


def test_an_array_of_more_dimensions_than_numpy_has(tmp_path: Path) -> None:
    shape = ", ".join(["1"] * 70)
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape}), }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    path = tmp_path / "deep.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + b"\0" * 4)
    given = ["gemm", str(path), str(path), "-o", str(tmp_path / "out.npy")]
    outcome = CliRunner().invoke(main, given)
    assert outcome.exit_code == 2
    assert "NumPy cannot hold it" in outcome.output


def test_a_type_without_a_twin_in_numpy_is_refused_where_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = numeric.Row("f8e3m4", 8, "float", exponent=3, significand=5)
    monkeypatch.setitem(numeric._ROWS, row.name, row)
    monkeypatch.setitem(numeric._TYPES, row.name, numeric.Numeric(row.name, 8, "float"))
    mma = cx.workgroup_mma(cx.XE_DPAS_TT(8, "f32", "f16"), (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
    kernel = cx.kernel.gemm(mma, types={"A": "f8e3m4", "B": "f8e3m4"})
    assert cx.check(kernel, "bmg")
    with pytest.raises(DTypeError, match="NumPy has no f8e3m4"):
        cx.run(kernel, [[1.0]], [[1.0]])
    with pytest.raises(CuteError, match="instructions on registers do not compute with f8e3m4"):
        cx.emit(kernel, "opencl")
    with pytest.raises(DTypeError, match="f8e3m4 has no cpp"):
        cx.emit(kernel, "cute")
    with pytest.raises(CuteError, match="f8e3m4 has no type in this module"):
        cx.emit(kernel, "xegpu")
    with pytest.raises(DTypeError, match="DPAS multiplies no f8e3m4"):
        cx.XE_DPAS_TT(8, "f32", "f8e3m4")


FULL: dict[str, Any] = {
    "name": "xyz",
    "product": "A card",
    "grf_bytes": 64,
    "exec_size": 16,
    "source": "none",
    "vector_engines": 8,
    "threads": ((128, 8),),
    "slm": (),
}


def test_a_row_without_a_column_is_refused_by_the_columns_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "_atoms").mkdir()
    (tmp_path / "_atoms" / "one.toml").write_text('[[row]]\nname = "xyz"\nsource = "none"\n')
    monkeypatch.setattr(facts, "_PACKAGE", tmp_path)
    (row,) = facts.rows("one", "row")
    with pytest.raises(CuteError, match=r"row=xyz.*no column grf_bytes. Way out: add grf_bytes"):
        _ = row["grf_bytes"]
    assert row.get("grf_bytes") is None


def test_a_target_that_the_facts_describe_in_part() -> None:
    limit = target.SlmLimit(1024, "error", "none")
    with pytest.raises(TargetError, match="how many threads an engine keeps"):
        target.Target(**FULL | {"threads": ()})
    with pytest.raises(TargetError, match="how much shared local memory"):
        target.Target(**FULL)
    with pytest.raises(TargetError, match="at least 1 byte"):
        target.Target(**FULL | {"grf_bytes": 0})
    part = target.Target(**FULL | {"slm": (limit,)})
    with pytest.raises(TargetError, match="in which sizes shared local memory is handed out"):
        occupancy(100, 8, part, 128)
    assert not cx.check(cx.make_mma_atom(OP), part)
    assert "no row says what DPAS multiplies on xyz" in str(cx.check(cx.make_mma_atom(OP), part))


def test_values_that_readers_stumbled_over_are_refused_when_made() -> None:
    mma = cx.workgroup_mma(OP)
    make: Any = ThrMma
    with pytest.raises(InputError, match="mma is a TiledCopy"):
        make(cx.make_block_2d_copy("XE_LOAD_2D<16,8,16>", ("ld", 1), "bf16"), (0, 0, 0, 0))
    with pytest.raises(InputError, match="3 is not a coordinate"):
        make(mma, 3)
    with pytest.raises(DTypeError, match=r"'A' is not a column. Way out: ask for one of dtype"):
        cx.as_numeric("f16").column("A")


def test_a_name_of_any_length_is_shown_in_a_line() -> None:
    call: Any = scaled
    with pytest.raises(InputError) as refusal:
        call(1, 2, **{"x" * 500: 1})
    assert len(str(refusal.value)) < 500
