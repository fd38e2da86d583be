"""Floor 10: ``pycute-xe gemm``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import click

from pycute_xe.cli.files import demand_writable, read_matrix, write_array
from pycute_xe.cli.options import Extents
from pycute_xe.cli.outcome import Outcome
from pycute_xe.errors import DTypeError, InputError, LegalityError

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from pycute_xe.checking import Checked
    from pycute_xe.kernel import Kernel
    from pycute_xe.verifying import Verdict

__all__ = ["gemm_command"]

Order = Literal["row", "col"]


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
    executor: Literal["fast", "reference"]
    strict: bool
    verify: bool
    draw: Path | None
    json: bool
    verbose: bool


@click.command("gemm")
@click.argument("a_file", metavar="A")
@click.argument("b_file", metavar="B")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="Where to write C (.npy).",
)
@click.option("--a", type=click.Choice(["row", "col"]), default="row", help="Storage order of A.")
@click.option("--b", type=click.Choice(["row", "col"]), default="row", help="Storage order of B.")
@click.option(
    "--tile",
    type=Extents("M", "N", "K"),
    metavar="MxNxK",
    default="256x256x32",
    show_default=True,
    help="Elements that a work-group multiplies at a time.",
)
@click.option(
    "--subgroups",
    type=Extents("M", "N"),
    metavar="MxN",
    default="8x4",
    show_default=True,
    help="Subgroups of a work-group.",
)
@click.option(
    "--dtype", type=click.Choice(["bf16", "f16"]), help="Round both inputs to this type first."
)
@click.option("--target", default="bmg", show_default=True, help="Whose rules apply.")
@click.option(
    "--executor",
    type=click.Choice(["fast", "reference"]),
    default="fast",
    show_default=True,
    help="Array operations, or every message and register byte.",
)
@click.option("--strict", is_flag=True, help="Refuse what the target could not run as it is.")
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
    demand_writable(request.output)
    outcome, c = _compute(request)
    outcome = replace(outcome, files=_write(request, outcome.kernel, c))
    if request.json:
        click.echo(outcome.to_json())
    else:
        outcome.show(request.verbose)


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
            f"--dtype bf16 or --dtype f16 rounds both to nearest even ({error.fix})",
        ) from error
    m, n = request.subgroups
    mma = workgroup_mma(op, tile=request.tile, subgroups=((m, n, 1), (n, 1, 0)))
    return gemm(mma, a=request.a, b=request.b)


def _complain(request: Request, checked: Checked) -> None:
    """Refuse a kernel the target refuses if strict; else say so, and go on."""
    if checked:
        return
    said = "; ".join(str(finding) for finding in checked.errors)
    if request.strict:
        raise LegalityError("gemm", {"target": request.target}, said, "another tile or subgroups")
    click.echo(f"pycute-xe: warning: {request.target} would refuse this kernel: {said}", err=True)


def _proved(kernel: Kernel) -> Verdict:
    from pycute_xe.verifying import verify

    proof = verify(kernel)
    if not proof:
        click.echo(f"pycute-xe: the kernel is wrong:\n{proof}", err=True)
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
    array = as_matrix(name, array, wanted, as_numeric(dtype) if dtype else None)
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

    with _progress(f"C = A B, {request.executor} executor") as progress:
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


@contextmanager
def _progress(title: str) -> Generator[Callable[[float], None]]:
    """A bar on standard error while a terminal is there to see it, gone when the work is done."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=1.0)
        yield lambda fraction: bar.update(task, completed=fraction)


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

    files: dict[Path, bytes | Callable[[BinaryIO], None]] = {
        request.output: partial(write_array, array=c)
    }
    if request.draw is not None:
        for name in "ABD":
            _demand_free(request, request.draw / f"{name}.svg")
            files[request.draw / f"{name}.svg"] = draw(kernel, name).svg.encode()
    write_files(files)
    return tuple(map(str, files))
