"""What compilers write down of a kernel on its way to machine code, so that tests read it without.

Each record is a kernel, a target and a register mode; which statement wrote each line of the text
that was compiled; the vISA without its comments, the compiler's listing, and that of iga64.
`PYTHONPATH=tests python tests/recorded_origins.py` writes them anew.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pycute_xe as cx
from pycute_xe.emitting.opencl import statement_lines
from pycute_xe.kernel import Kernel
from pycute_xe.native.compiler import binary_of, options_of, read_binary, sections
from pycute_xe.native.explaining import explained_of

FILE = Path(__file__).resolve().parent / "data" / "igc_origins.json.gz"
BF16 = cx.XE_DPAS_TT(8, "f32", "bf16")
MMA = cx.workgroup_mma(BF16, (32, 64, 32), ((2, 2, 1), (2, 1, 0)))
KERNELS: dict[str, Callable[[], Kernel]] = {
    "gemm": lambda: cx.kernel.gemm(MMA, a="col", epilogue="relu(acc + bias[n])", d_type="bf16"),
    "parts of K": lambda: cx.kernel.split_k(MMA, parts=2),
    "more than there is room for": lambda: cx.kernel.gemm(
        cx.workgroup_mma(BF16, (64, 256, 32), ((2, 4, 1), (4, 1, 0)))
    ),
    "shared tiles": lambda: cx.kernel.slm_gemm(MMA),
}
RECORDED = (
    ("gemm", "pvc", 256),
    ("parts of K", "bmg", 256),
    ("shared tiles", "pvc", 256),
    ("more than there is room for", "pvc", 128),
)


@dataclass(frozen=True)
class Record:
    """A kernel on its way: see above."""

    name: str
    target: str
    registers: int
    version: str
    info: str
    lines: dict[str, int]
    visa: str
    listing: str
    code: str

    def __str__(self) -> str:
        """Kernel and target."""
        return f"{self.name} for {self.target}"

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return KERNELS[self.name]()

    def explained(self, listing: str = "", visa: str = "") -> cx.native.Explained:
        """What is said of it, by other records where they are given."""
        made_by = cx.native.Toolchain(self.version, (self.target,), (), ())
        binary = binary_of(self.kernel, "", made_by, self.target, b"", self.info, self.code)
        lines = {int(line): number for line, number in self.lines.items()}
        return explained_of(
            self.kernel, binary, lines, visa or self.visa, (listing or self.listing,)
        )


@cache
def records() -> list[Record]:
    """Read the file."""
    with gzip.open(FILE, "rt", encoding="utf-8") as file:
        return [Record(**row) for row in json.load(file)]


def _needed(value: Any) -> Any:
    """A listing without what nothing reads: dependences, comments, what is not there."""
    if isinstance(value, list):
        return [_needed(each) for each in value]
    if not isinstance(value, dict):
        return value
    left_out = ("defs", "comment", "regDist", "sbid")
    return {k: _needed(v) for k, v in value.items() if k not in left_out and v is not None}


def recorded(name: str, target: str, registers: int) -> Record:
    """Compile a kernel."""
    kernel = KERNELS[name]()
    plain = cx.native.compile(kernel, target, registers)
    made_by, text = plain.toolchain, plain.text
    whole, visa, listings = made_by.followed(text, target, options_of(registers))
    code = read_binary(whole, text, kernel.name, target, made_by, kernel).code
    kept = [row for row in visa.splitlines() if re.match(r"\.decl|    \S", row)]
    rows = listings[-1][listings[-1].index("\n// B0") :].splitlines()
    return Record(
        name,
        target,
        registers,
        made_by.version,
        sections(whole)[".ze_info"].decode(),
        {str(line): number for line, number in statement_lines(kernel, text).items()},
        "\n".join(" ".join(("   ", *row.split())) if row[0] == " " else row for row in kept),
        "\n".join(" ".join(row.split()) for row in rows),
        json.dumps(_needed(json.loads(made_by.disassembled(code, target, "-Xprint-json")))),
    )


def main() -> None:
    """Record all."""
    text = json.dumps([vars(recorded(*each)) for each in RECORDED])
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{FILE}: {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
