"""Floor 12: ``pycute-xe gemm``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import click

from pycute_xe.cli.files import demand_writable, is_same_file, read_matrix, write_array
from pycute_xe.cli.options import Order, tiling
from pycute_xe.cli.outcome import Outcome
from pycute_xe.cli.progress import progress_bar
from pycute_xe.errors import DTypeError, InputError, LegalityError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pycute_xe.checking import Checked
    from pycute_xe.kernel import Kernel
    from pycute_xe.verifying import Verdict

__all__ = ["gemm_command"]

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
@click.argument("a_file", metavar="A")
@click.argument("b_file", metavar="B")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="Where to write C (.npy); - is standard output.",
)
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
    unless --dtype says what to round them to. C is written whole or not at all.
    """
    request = Request(**options)
    _demand_output(request)
    outcome, c = _compute(request)
    outcome = replace(outcome, files=_write(request, outcome.kernel, c))
    if request.json:
        click.echo(outcome.to_json())
    else:
        outcome.show(request.verbose, to_stderr=request.streams)


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
    from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    from pycute_xe.kernel import gemm

    types = (request.dtype, request.dtype) if request.dtype else (a.dtype.name, b.dtype.name)
    try:
        op = XE_DPAS_TT(8, "f32", *types)
    except DTypeError as error:
        raise InputError(
            "gemm",
            {"A": a.dtype, "B": b.dtype},
            f"no DPAS multiplies {types[0]} by {types[1]} into f32",
            "--dtype bf16 or --dtype f16 rounds both to nearest even",
        ) from error
    m, n = request.subgroups
    mma = workgroup_mma(op, tile=request.tile, subgroups=((m, n, 1), (n, 1, 0)))
    return gemm(mma, a=request.a, b=request.b)


def _complain(request: Request, checked: Checked) -> None:
    """Refuse a kernel the target refuses if strict; else say so, and go on."""
    if checked:
        return
    wrong = [(finding.subject, finding.broken) for finding in checked.errors]
    said = "; ".join(f"{what}: {b.condition} ({b.rule}) [{b.source}]" for what, b in wrong)
    ways = dict.fromkeys(b.fix for _, b in wrong if b.fix)
    fix = "; ".join(ways) or "choose another tile or other subgroups"
    if request.strict:
        raise LegalityError("gemm", {"target": request.target}, said, fix)
    if not request.oversized and not _fits_somewhere(checked):
        given = {"tile": "x".join(map(str, request.tile)), "target": request.target}
        raise LegalityError("gemm", given, said, f"{fix}; {OVERSIZED}")
    told = f"{request.target} would refuse this kernel: {said}. Way out: {fix}"
    click.echo(f"pycute-xe: warning: {told}", err=True)


def _fits_somewhere(checked: Checked) -> bool:
    """Whether the fragments fit the registers of some target, this one or another."""
    from pycute_xe.arch import targets

    most = max(mode for target in targets().values() for mode in target.grf_modes)
    return checked.registers <= most


def _proved(kernel: Kernel) -> Verdict:
    from pycute_xe.trials import verify

    proof = verify(kernel)
    if not proof:
        told = {"disproved": "is wrong", "needs": "is right for some sizes only"}
        said = told.get(proof.answer, "could not be proved")
        click.echo(f"pycute-xe: the kernel {said}:\n{proof}", err=True)
        raise click.exceptions.Exit(1)
    return proof


def _settled(name: str, array: NDArray[Any], kernel: Kernel, dtype: str | None) -> NDArray[Any]:
    """Round an array and put it on a cache line, in the order it has.

    Where the reader happened to put a file's contents says nothing about the user's array, so its
    strides alone decide whether it can be used as it lies.
    """
    import numpy as np

    from pycute_xe.executing.rounding import as_matrix
    from pycute_xe.numeric import as_numeric

    wanted = kernel.operand(name).value_type
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", RuntimeWarning)
        array = as_matrix(name, array, wanted, as_numeric(dtype) if dtype else None)
    for warning in told:
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
        return run(
            kernel,
            a,
            b,
            executor=request.executor,
            target=request.target,
            strict=request.strict,
            report=True,
            progress=progress,
        )


def _demand_free(request: Request, drawing: Path) -> None:
    if drawing.resolve() == request.output.resolve():
        raise InputError(
            "gemm",
            {"output": request.output, "draw": request.draw},
            "the result and a drawing would be the same file",
            "choose another folder, or another name",
        )


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
