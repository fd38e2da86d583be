"""Machine code of the newest compiler as its disassembler lists it, so that tests read it without.

Each record is a kernel of `compiled_kinds.CASES`, a target, what the compiler says of it, and the
listing in both versions of the JSON. `python tests/recorded_binaries.py` writes them anew, by what
`make compilers` unpacked.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from compiled_kinds import CASES

import pycute_xe as cx
from pycute_xe.kernel import Kernel
from pycute_xe.native.compiler import binary_of, sections

FILE = Path(__file__).resolve().parent / "data" / "igc_binaries.json.gz"
KINDS = (
    ("tiles of a plan", "pvc"),
    ("tiles of a plan", "ptl"),
    ("shared tiles, 1 stage", "bmg"),
    ("parts of K", "bmg"),
)
OPTIONS = ("-Xprint-hex-floats",)


@dataclass(frozen=True)
class Record:
    """A kernel's machine code: ``first`` and ``second`` are versions of the same listing."""

    kind: str
    target: str
    version: str
    info: str
    first: str
    second: str

    def __str__(self) -> str:
        """Kind and target."""
        return f"{self.kind} for {self.target}"

    def binary(self, kernel: Kernel) -> cx.native.Binary:
        """The binary as the compiler would have given it."""
        made_by = cx.native.Toolchain(self.version, (self.target,), (), ())
        return binary_of(kernel, "", made_by, self.target, b"", self.info, self.second)


@cache
def records() -> list[Record]:
    """Read the file."""
    with gzip.open(FILE, "rt", encoding="utf-8") as file:
        return [Record(**row) for row in json.load(file)]


def recorded(kind: str, target: str) -> Record:
    """Compile and disassemble a kernel."""
    toolchain = next(t for t in cx.native.toolchains() if t.folder)
    kernel = CASES[kind].make()[0]
    binary = cx.native.compile(kernel, target, compiler=toolchain.version)
    whole = toolchain.assembled(binary.text, target, "-cl-std=CL2.0 -cl-intel-256-GRF-per-thread")
    info = sections(whole)[".ze_info"].decode()
    listed = [
        json.dumps(json.loads(toolchain.disassembled(binary.code, target, option, *OPTIONS)))
        for option in ("-Xprint-jsonV1", "-Xprint-json")
    ]
    return Record(kind, target, toolchain.version, info, *listed)


def main() -> None:
    """Record all."""
    text = json.dumps([vars(recorded(*each)) for each in KINDS])
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{FILE}: {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
