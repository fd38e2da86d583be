"""``pycute-xe gemm``."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import click

from pycute_xe.cli.files import (
    Order,
    demand_writable,
    is_same_file,
    picked,
    read_matrix,
    report as show,
    save_option,
    saved_document,
    tiling,
    write_array,
)
from pycute_xe.errors import DTypeError, InputError, LegalityError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pycute_xe.checking import Checked
    from pycute_xe.executing import Report
    from pycute_xe.kernel import Kernel
    from pycute_xe.verifying import Verdict

__all__ = ["gemm_command", "Outcome"]

# ------------------------------------------------------------ outcome
# What a command did, for people and for programs.


_WORK = ("executor", "messages", "bytes", "dpas", "barriers", "copies", "seconds")
_BROKEN = ("rule", "level", "condition", "source", "fix")
_PROOF = ("property", "holds", "answer", "statement", "condition", "reason")


@dataclass(frozen=True)
class Outcome:
    """A GEMM that was run: its files and shapes, the kernel, and what the readers said."""

    a_file: str
    b_file: str
    a_shape: tuple[int, ...]
    b_shape: tuple[int, ...]
    kernel: Kernel
    checked: Checked
    proof: Verdict | None = None
    report: Report | None = None
    files: tuple[str, ...] = ()

    @property
    def sizes(self) -> dict[str, int]:
        """M, N and K."""
        return {"M": self.a_shape[0], "N": self.b_shape[1], "K": self.a_shape[1]}

    def to_json(self) -> str:
        """Return everything, for programs."""
        return json.dumps(
            {
                "inputs": {
                    "A": {"file": self.a_file, "shape": list(self.a_shape)},
                    "B": {"file": self.b_file, "shape": list(self.b_shape)},
                },
                **self.sizes,
                "types": {o.name: o.value_type.name for o in self.kernel.operands},
                "tile": list(self.kernel.mma.tile_mnk),
                "check": self._check(),
                "proof": self._proof(),
                "work": self.report and picked(self.report, *_WORK),
                "files": list(self.files),
            },
            indent=2,
        )

    def _check(self) -> dict[str, Any]:
        checked = self.checked
        return {
            "target": checked.target.name,
            "legal": bool(checked),
            "rules_held": checked.passed,
            "findings": [
                {"subject": finding.subject, **picked(finding.broken, *_BROKEN)}
                for finding in checked.findings
            ],
            "resources": [picked(r, "name", "used", "available") for r in checked.resources],
        }

    def _proof(self) -> dict[str, Any] | None:
        if self.proof is None:
            return None
        return {
            "holds": bool(self.proof),
            **picked(self.proof, "answer", "scope", "assumptions", "seconds"),
            "properties": [picked(p, *_PROOF) for p in self.proof.proofs],
        }

    def show(self, verbose: bool, to_stderr: bool = False) -> None:
        """Print a summary, or everything."""
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console(highlight=False, stderr=to_stderr)
        if verbose:
            for part in (self.kernel, self.checked, self.proof):
                if part is not None:
                    console.print(Text(str(part)), soft_wrap=True)
                    console.print()
        table = Table.grid(padding=(0, 2))
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for name, text in self._rows():
            table.add_row(name, Text(text))
        console.print(table)

    def _rows(self) -> list[tuple[str, str]]:
        sizes = " × ".join(str(self.sizes[name]) for name in "MNK")
        kinds = ", ".join(f"{o.name} {o.value_type} {o.layout_name}" for o in self.kernel.operands)
        rows = [("problem", f"{sizes} (M × N × K): {kinds}")]
        checked = self.checked
        refused = len(checked.errors)
        verdict = "legal" if checked else f"refused by {refused} rule{'s'[: refused > 1]}"
        binds = checked.binds
        used = f", {checked.registers} registers" + (f", bound by {binds.name}" if binds else "")
        rows.append(
            ("check", f"{checked.target.name}: {verdict}, {checked.passed} rules hold{used}")
        )
        if self.proof is not None:
            rows.append(("proof", str(self.proof).splitlines()[0]))
        if self.report is not None:
            rows += self._work(self.report)
        rows.append(("wrote", ", ".join(self.files)))
        return rows

    @staticmethod
    def _work(report: Report) -> list[tuple[str, str]]:
        moved = "; ".join(
            f"{count:,} {kind} ({report.bytes.get(kind, 0):,} bytes)"
            for kind, count in report.messages.items()
        )
        rows = [
            ("run", f"{report.executor} executor"),
            ("messages", moved or "none"),
            ("dpas", f"{report.dpas:,} instructions"),
        ]
        if report.copies:
            rows.append(("copied", f"{', '.join(report.copies)}, onto a legal surface"))
        return rows


# ------------------------------------------------------------ progress
# How far a long command is, on a terminal.


@contextmanager
def progress_bar(title: str) -> Generator[Callable[[float], None]]:
    """A bar on standard error while a terminal is there to see it, gone when the work is done."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)


# ------------------------------------------------------------ gemm command

OVERSIZED = "no target has so many registers; --oversized runs it all the same, and takes its time"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was asked for on the command line."""

    a_file: str
    b_file: str
    output: Path
    a: Order
    b: Order
    tile: tuple[int, int, int]
    subgroups: tuple[int, int]
    dtype: str | None
    target: str
    executor: Literal["fast", "reference", "compiled"]
    strict: bool
    verify: bool
    draw: Path | None
    json: bool
    verbose: bool
    oversized: bool

    @property
    def streams(self) -> bool:
        """Whether the result goes to standard output."""
        return str(self.output) == "-"


@click.command("gemm")
@click.argument("a_file", metavar="A", required=False)
@click.argument("b_file", metavar="B", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Where to write C (.npy); - is standard output.",
)
@save_option
@tiling
@click.option(
    "--dtype", type=click.Choice(["bf16", "f16"]), help="Round both inputs to this type first."
)
@click.option("--target", default="bmg", show_default=True, help="Whose rules apply.")
@click.option(
    "--executor",
    type=click.Choice(["fast", "reference", "compiled"]),
    default="fast",
    show_default=True,
    help="Array operations, every message and register byte, or Intel's compiler's binary (pvc).",
)
@click.option("--strict", is_flag=True, help="Refuse what the target could not run as it is.")
@click.option(
    "--oversized", is_flag=True, help="Run a tile that fits the registers of no target, slowly."
)
@click.option("--verify", is_flag=True, help="Prove the kernel for all M, N, K first.")
@click.option(
    "--draw", type=click.Path(path_type=Path), metavar="DIR", help="Write drawings of A, B and D."
)
@click.option("--json", is_flag=True, help="Report as JSON on standard output.")
@click.option("-v", "--verbose", is_flag=True, help="Print the listing, all rules and proofs.")
def gemm_command(**options: Any) -> None:
    """Compute C = A B as an Intel Xe GPU would: bf16 or f16 in, f32 out.

    A and B are .npy files, or arrays of .npz files by name (file.npz:name). Other types are refused
    unless --dtype says what to round them to. C is written whole or not at all. With --save the
    kernel is kept, and without A and B nothing else is done:

    \b
      pycute-xe gemm --tile 128x128x32 --subgroups 4x4 --save - | pycute-xe verify -
    """  # noqa: D301 - the backspace keeps click from joining the lines
    save = options.pop("save")
    if save is not None and options["a_file"] is None:
        options |= {"a_file": "", "b_file": "", "output": Path()}
        kind = options["dtype"] or "bf16"
        saved_document(save, _kernel_of(Request(**options), (kind, kind)))
        return
    _demand_given(options, save)
    request = Request(**options)
    _demand_output(request)
    outcome, c = _compute(request)
    saved_document(save, outcome.kernel)
    outcome = replace(outcome, files=_write(request, outcome.kernel, c))
    show(outcome, request.json, request.verbose, request.streams)


def _demand_given(options: Mapping[str, Any], save: str | None) -> None:
    """Refuse a product of which an operand or the file is missing."""
    for name, argument in (("a_file", "A"), ("b_file", "B"), ("output", "--output")):
        if options[name] is None:
            fix = "give A.npy B.npy -o C.npy, or --save kernel.json alone"
            raise InputError("gemm", {argument: None}, f"{argument} is missing", fix)
    if save == "-":
        fix = "name a file, or leave A and B out"
        raise InputError("gemm", {"save": save}, "standard output is for the product", fix)


def _demand_output(request: Request) -> None:
    """Refuse a result that could not be written, or not apart from something else."""
    if request.streams:
        if request.json:
            fix = "name a file, or leave --json out"
            condition = "the result and the report would both go to standard output"
            raise InputError("gemm", {"output": "-"}, condition, fix)
        return
    demand_writable(request.output)
    for name, file in (("A", request.a_file), ("B", request.b_file)):
        if is_same_file(request.output, file):
            given = {"output": request.output, name: file}
            raise InputError("gemm", given, f"the result would replace {name}", "name another file")


def _compute(request: Request) -> tuple[Outcome, NDArray[Any]]:
    """Do everything but writing."""
    from pycute_xe.checking import check

    a, b = read_matrix("A", request.a_file), read_matrix("B", request.b_file)
    if a.shape[1] != b.shape[0]:
        raise InputError(
            "gemm",
            {"A": a.shape, "B": b.shape},
            f"A has {a.shape[1]} columns, B has {b.shape[0]} rows",
            "A is (M, K) and B is (K, N)",
        )
    kernel = _kernel(request, a, b)
    checked = check(kernel, request.target)
    _complain(request, checked)
    outcome = Outcome(request.a_file, request.b_file, a.shape, b.shape, kernel, checked)
    if request.verify:
        outcome = replace(outcome, proof=_proved(kernel))
    a, b = (_settled(n, x, kernel, request.dtype) for n, x in (("A", a), ("B", b)))
    c, report = _run(request, kernel, a, b)
    return replace(outcome, report=report), c


def _kernel(request: Request, a: NDArray[Any], b: NDArray[Any]) -> Kernel:
    types = (request.dtype, request.dtype) if request.dtype else (a.dtype.name, b.dtype.name)
    try:
        return _kernel_of(request, types)
    except DTypeError as error:
        raise InputError(
            "gemm",
            {"A": a.dtype, "B": b.dtype},
            f"no DPAS multiplies {types[0]} by {types[1]} into f32",
            "--dtype bf16 or --dtype f16 rounds both to nearest even",
        ) from error


def _kernel_of(request: Request, types: tuple[str, str]) -> Kernel:
    from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    from pycute_xe.kernel import gemm

    op = XE_DPAS_TT(8, "f32", *types)
    m, n = request.subgroups
    mma = workgroup_mma(op, tile=request.tile, subgroups=((m, n, 1), (n, 1, 0)))
    return gemm(mma, a=request.a, b=request.b)


def _complain(request: Request, checked: Checked) -> None:
    """Refuse a kernel the target refuses if strict; else say so, and go on."""
    if checked:
        return
    wrong = [(finding.subject, finding.broken) for finding in checked.errors]
    reasons = "; ".join(f"{what}: {b.condition} ({b.rule}) [{b.source}]" for what, b in wrong)
    ways = dict.fromkeys(b.fix for _, b in wrong if b.fix)
    fix = "; ".join(ways) or "choose another tile or other subgroups"
    if request.strict:
        raise LegalityError("gemm", {"target": request.target}, reasons, fix)
    if not request.oversized and not _fits_somewhere(checked):
        given = {"tile": "x".join(map(str, request.tile)), "target": request.target}
        raise LegalityError("gemm", given, reasons, f"{fix}; {OVERSIZED}")
    warning = f"{request.target} would refuse this kernel: {reasons}. Way out: {fix}"
    click.echo(f"pycute-xe: warning: {warning}", err=True)


def _fits_somewhere(checked: Checked) -> bool:
    """Whether the fragments fit the registers of some target, this one or another."""
    from pycute_xe.arch import targets

    most = max(mode for target in targets().values() for mode in target.grf_modes)
    return checked.registers <= most


def _proved(kernel: Kernel) -> Verdict:
    from pycute_xe.trials import verify

    proof = verify(kernel)
    if not proof:
        outcomes = {"disproved": "is wrong", "needs": "is right for some sizes only"}
        outcome = outcomes.get(proof.answer, "could not be proved")
        click.echo(f"pycute-xe: the kernel {outcome}:\n{proof}", err=True)
        raise click.exceptions.Exit(1)
    return proof


def _settled(name: str, array: NDArray[Any], kernel: Kernel, dtype: str | None) -> NDArray[Any]:
    """Round an array and put it on a cache line, in the order it has.

    Where the reader happened to put a file's contents says nothing about the user's array, so its
    strides alone decide whether it can be used as it lies.
    """
    import numpy as np

    from pycute_xe.executing.problem import as_array
    from pycute_xe.numeric import as_numeric

    wanted = kernel.operand(name).value_type
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        asked = as_numeric(dtype) if dtype else None
        array = as_array(name, array, wanted, 2, asked, "multiplies")
    for warning in caught:
        click.echo(f"pycute-xe: warning: {warning.message}", err=True)
    room = np.zeros(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    flat = room[start : start + array.nbytes].view(array.dtype)
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    out = flat.reshape(array.shape, order=order)
    out[...] = array
    return out


def _run(
    request: Request, kernel: Kernel, a: NDArray[Any], b: NDArray[Any]
) -> tuple[NDArray[Any], Any]:
    from pycute_xe.executing import run

    with progress_bar(f"C = A B, {request.executor} executor") as progress:
        if request.executor == "compiled":
            from pycute_xe import native

            return native.run(kernel, a, b, target=request.target, report=True, progress=progress)
        asked = picked(request, "executor", "target", "strict")
        return run(kernel, a, b, **asked, report=True, progress=progress)


def _demand_free(request: Request, drawing: Path) -> None:
    if drawing.resolve() == request.output.resolve():
        condition = "the result and a drawing would be the same file"
        fix = "choose another folder, or another name"
        raise InputError("gemm", picked(request, "output", "draw"), condition, fix)


def _write(request: Request, kernel: Kernel, c: NDArray[Any]) -> tuple[str, ...]:
    """Write C and the drawings, all or none; return their paths."""
    from pycute_xe.drawing import draw
    from pycute_xe.drawing.saving import write_files

    files: dict[Path, bytes | Callable[[BinaryIO], None]] = {}
    if not request.streams:
        files[request.output] = partial(write_array, array=c)
    if request.draw is not None:
        for name in "ABD":
            _demand_free(request, request.draw / f"{name}.svg")
            files[request.draw / f"{name}.svg"] = draw(kernel, name).svg.encode()
    write_files(files)
    if request.streams:
        # Whole in memory first: NumPy writes to files it can rewind.
        content = BytesIO()
        write_array(content, c)
        click.echo(content.getvalue(), nl=False)
    return (*(["standard output"] if request.streams else []), *map(str, files))
