"""Which compilers are found, how their listings are read, and the code of Xe2 and Xe3 executed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled_cases import counted, outputs
from compiled_kinds import CASES
from machine_code import GRF, after, grf, held, instruction, sent
from recorded_binaries import Record, records
from sampling import sampled

import pycute_xe as cx
from pycute_xe.errors import MachineError, TargetError, ToolError
from pycute_xe.executing.problem import prepare
from pycute_xe.machine import Memory, Trace
from pycute_xe.native import compile_text, missing, toolchain, toolchains
from pycute_xe.native.assembly import Assembly, Immediate, Instruction, Reg, Walk, read_json
from pycute_xe.native.comparison import execute, program
from pycute_xe.native.messages import Around, send

# ---------------------------------------------------------------- listings


@pytest.mark.parametrize("record", records(), ids=str)
def test_both_versions_of_a_listing_say_the_same(record: Record) -> None:
    assert set(json.loads(record.first)) >= {"insts"}
    assert set(json.loads(record.second)) >= {"elems"}
    found = read_json(record.second, record.target)
    assert found == read_json(record.first, record.target)
    assert len(found.instructions) > 100
    assert found.labels


@pytest.mark.parametrize("record", sampled(records(), 2), ids=str)
@pytest.mark.long
def test_recorded_code_executed_is_the_kernel(record: Record) -> None:
    kernel, given = CASES[record.kind].make()
    trace, problem = Trace(), prepare(kernel, (), given, None)
    found = execute(record.binary(kernel), problem, trace)
    run: Any = {"report": True, "executor": "reference", "target": record.target}
    expected, report = cx.run(kernel, **given, **run)
    for operand, said in zip(kernel.outputs, outputs(expected), strict=True):
        assert found[operand.name].tobytes() == said.tobytes()
    assert counted(trace.messages, "messages") == counted(report.messages, "messages")
    assert trace.nbytes == report.bytes
    assert (trace.dpas, trace.barriers) == (report.dpas, report.barriers)


def test_arguments_in_a_register_are_those_that_the_launch_puts_there() -> None:
    record = next(r for r in records() if r.target == "bmg" and r.kind == "parts of K")
    kernel, given = CASES[record.kind].make()
    binary = record.binary(kernel)
    assert binary.info.inline == 32
    # Without them the thread reads a register that nothing wrote.
    elsewhere = replace(binary, info=replace(binary.info, inline=0))
    with pytest.raises(MachineError, match="r1"):
        execute(elsewhere, prepare(kernel, (), given, None), Trace())


BROKEN = {
    "nothing": {},
    "an instruction without an operation": {"elems": [{"kind": "I", "id": 1}]},
    "a label without a name": {"elems": [{"kind": "L", "id": 1}]},
    "no listing": {"elems": 3},
    "a walk without a stride": {
        "elems": [
            {
                "kind": "I", "id": 1, "op": "mov", "es": 16, "srcs": [],
                "dst": {"kind": "RD", "reg": {"rn": "r"}, "rgn": {"k": 1}, "type": "d"},
            }
        ]
    },
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_another_form_of_listing_is_refused_by_name(name: str) -> None:
    with pytest.raises(ToolError, match="not understood") as refused:
        read_json(json.dumps(BROKEN[name]))
    assert "atoms/native.toml" in refused.value.fix


def test_what_is_left_out_of_a_listing_is_its_default() -> None:
    entry = {
        "kind": "I", "id": 7, "op": "send", "subop": "ugm", "es": 1,
        "pred": {"inv": True, "func": ".any"}, "freg": {"rn": "f", "r": 1, "sr": 1},
        "dst": {"kind": "DA", "reg": {"rn": "null"}, "len": 0},
        "srcs": [
            {"kind": "AD", "areg": {"rn": "r", "r": 9}, "alen": 2, "stype": "flat", "ascale": 4},
            {"kind": "DA", "reg": {"rn": "null"}, "len": 0},
        ],
    }  # fmt: skip
    (found,) = read_json(json.dumps({"elems": [entry]}), "bmg").instructions
    assert (found.first, found.unmasked, found.flag, found.predicate) == (0, False, 3, "any")
    assert found.sources[0] == Reg("r", 9, 0, None, "flat[0] scaled", "", 2)
    assert found.to == Reg("null", 0, 0, None, "", "", 0)


# ---------------------------------------------------------------- instructions of Xe2

NOWHERE = Reg("null", 0, 0, Walk(-1, 1, 1), "ud")
UNTOUCHED = 100  # a register that nothing has written


def test_a_move_to_nowhere_and_a_nop_do_nothing() -> None:
    waits = instruction("mov", NOWHERE, Reg("r", UNTOUCHED, 0, Walk(0, 1, 0), "ud"), size=1)
    data = bytes(range(256))
    assert held(after(data, waits, instruction("nop", None)), data) == data
    with pytest.raises(MachineError, match="mov"):
        program(Assembly((replace(waits, condition="ne", flag=0),), {}))


@pytest.mark.parametrize(
    ("target", "bits", "usual"),
    [("pvc", 0x4C0, True), ("bmg", 0x400004C0, True), ("ptl", 0x400004C0, True),
     ("pvc", 0x400004C0, False), ("bmg", 0x4C0, False), ("bmg", 0x400004D0, False)],
)  # fmt: skip
def test_the_control_register_is_set_as_the_target_asks(
    target: str, bits: int, usual: bool
) -> None:
    control = Reg("cr", 0, 0, None, "ud")
    code = instruction("or", control, control, Immediate(hex(bits), "ud"))
    if usual:
        program(Assembly((code,), {}, target))
        return
    with pytest.raises(MachineError, match="rounding modes"):
        program(Assembly((code,), {}, target))


def loading(ext: int, caching: int = 0) -> Instruction:
    """Load 16 dwords from 16 addresses of 64 bits."""
    code = sent(grf(4, "", None), 3 << 7 | 2 << 9 | caching << 16)
    return replace(code, sources=(*code.sources[:2], Immediate(hex(ext), ""), code.sources[3]))


def loaded(code: Instruction, target: str) -> list[int]:
    memory = Memory()
    base = memory.place(np.arange(64, dtype=np.uint32))
    head = bytes(GRF) + (base + 128 + 4 * np.arange(16)).astype(np.uint64).tobytes()
    around = Around(memory, None, Trace(), Trace())
    state = after(head, around=around)
    send(code, target)(state, around)
    return np.frombuffer(held(state, bytes(5 * GRF))[4 * GRF :], np.uint32).tolist()


def test_offsets_of_xe2_are_in_the_extended_descriptor() -> None:
    assert loaded(loading(0), "bmg") == list(range(32, 48))
    assert loaded(loading(8 << 12), "bmg") == list(range(34, 50))
    assert loaded(loading((2**20 - 64) << 12), "ptl") == list(range(16, 32))
    with pytest.raises(MachineError, match="bits outside all fields"):
        send(loading(8 << 12), "pvc")


def test_constants_may_be_cached_from_xe2_on() -> None:
    assert loaded(loading(0, caching=9), "bmg") == list(range(32, 48))
    with pytest.raises(MachineError, match="bits outside all fields"):
        send(loading(0, caching=9), "pvc")
    with pytest.raises(MachineError, match="caching 7"):
        send(loading(0, caching=7), "bmg")


# ---------------------------------------------------------------- finding compilers

OCLOC = """#!/bin/sh
case "$1" in
  query) printf '{version}\\0' > OCL_DRIVER_VERSION;;
  ids) case "$2" in {devices}) exit 0;; esac; echo "Unknown acronym $2."; exit 226;;
  disasm) printf '{listing}' > "$7/.text.k.asm";;
esac
"""
IGA = """#!/bin/sh
if [ "$1" = "-h=p" ]; then echo "  - 12p72 for xehpc
  - 2     for {platforms}" >&2; exit 1; fi
printf '{listing}'
"""
# The loader of an unpacked compiler: its first two arguments are where libraries are.
LOADER = '#!/bin/sh\nshift 2\nexec "$@"\n'


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a compiler of another version, and a PATH without one."""
    folder = tmp_path / "compilers"
    ocloc = OCLOC.format(version="27.01.7", devices="pvc|bmg|ptl", listing=r"nop {A@1}\n")
    written(folder / "usr/bin/ocloc-27.01.7", ocloc)
    iga = IGA.format(platforms="xe2/lnl", listing=r"nop   {A@1}  // %s\n")
    written(folder / "usr/bin/iga64", iga)
    written(folder / "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", LOADER)
    monkeypatch.setenv("PYCUTE_XE_COMPILERS", str(folder))
    monkeypatch.setattr(toolchain.shutil, "which", lambda _name: None)
    return folder


def test_a_compiler_of_another_version_is_used_and_named(unpacked: Path) -> None:
    (found,) = toolchains()
    assert (found.version, found.targets, found.tried) == ("27.01.7", ("pvc", "bmg", "ptl"), False)
    assert str(found) == f"ocloc 27.01.7 (untried) for pvc, bmg, ptl, unpacked in {unpacked}"
    assert missing("bmg") == missing("pvc", "27") == ""
    assert "apt-get install intel-opencl-icd" in missing("lnl")
    with pytest.raises(ToolError, match=r"version 22\.43 for pvc among these: ocloc 27\.01\.7"):
        compile_text("", "gemm", compiler="22.43")
    with pytest.raises(ToolError, match=r"version any for lnl among"):
        compile_text("", "gemm", "lnl")
    with pytest.raises(TargetError, match="machine code for dg2 is not read here"):
        compile_text("", "gemm", "dg2")


def test_the_versions_that_were_tried_are_rows() -> None:
    for version, inside in (("22.43.24595", "1.0.12504.6"), ("26.27.039122", "2.40.14")):
        found = cx.native.Toolchain(version, ("pvc",), ("ocloc",), ("iga64",))
        assert found.tried
        assert str(found) == f"ocloc {version} (IGC {inside}) for pvc, on PATH"


def test_programs_that_do_not_start_are_not_found(unpacked: Path) -> None:
    written(unpacked / "usr/bin/ocloc-27.01.7", "#!/bin/sh\nexit 127\n")
    assert toolchains() == ()
    (unpacked / "usr/bin/iga64").unlink()
    assert toolchains() == ()


@pytest.mark.usefixtures("unpacked")
def test_code_that_the_disassembler_has_no_name_for_is_confirmed_by_the_compiler() -> None:
    (found,) = toolchains()
    found.confirm(b"", "k", b"", "ptl")
    found.confirm(b"", "other", b"", "bmg")  # which iga64 knows
    with pytest.raises(ToolError, match="no platform for ptl"):
        found.confirm(b"", "other", b"", "ptl")
