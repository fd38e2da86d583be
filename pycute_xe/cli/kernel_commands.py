"""``pycute-xe verify``, ``run``, ``draw`` and ``explain``: what readers say of a value."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from pycute_xe.cli.files import (
    figures_option,
    read_array,
    read_subject,
    saved_document,
    saved_drawing,
    standard_input,
    svg_option,
    write_array,
)
from pycute_xe.errors import InputError, quoted
from pycute_xe.naming.subjects import called

if TYPE_CHECKING:
    from pycute_xe.kernel import Kernel
    from pycute_xe.kernel.spec.specification import Overflow

__all__ = [
    "calibrate_command",
    "cost_command",
    "draw_command",
    "explain_command",
    "mca_command",
    "run_command",
    "verify_command",
]


# ------------------------------------------------------------ cost


@click.command("cost")
@click.argument("document", metavar="NAME")
@click.argument("sizes", metavar="NAME=SIZE…", nargs=-1)
@click.option("--device", default="bmg", show_default=True, help="A product, or a target.")
@figures_option()
@click.option("--effects", is_flag=True, help="Add what 30 % of each figure does to the interval.")
def cost_command(
    document: str, sizes: tuple[str, ...], device: str, figures: Path | None, effects: bool
) -> None:
    """Tell what a kernel does at a size, and bounds on how long a device takes for it.

    NAME is a kind of kernel, what --save wrote, or C++ declarations of CUTLASS; - is standard
    input.

    \b
      pycute-xe cost gemm M=4096 N=4096 K=4096
      pycute-xe gemm --save - | pycute-xe cost - M=4096 N=4096 K=4096 --device b70
    """  # noqa: D301 - the backspace keeps click from joining the lines
    from pycute_xe.costing import cost

    counts: dict[str, Any] = {}
    for text in sizes:
        name, _, value = text.partition("=")
        if not value.isdecimal():
            wrong = f"{quoted(text)} does not give a size"
            raise InputError("cost", {"size": quoted(name)}, wrong, "write M=4096 N=4096 K=4096")
        if name in counts:
            wrong = f"{name} is given twice"
            raise InputError("cost", {"size": quoted(name)}, wrong, "give each size once")
        counts[name] = int(value)
    estimate = cost(read_subject("cost", document), device, figures=figures, **counts)
    click.echo(str(estimate))
    if effects:
        click.echo("\n".join(f"  {effect}" for effect in estimate.effects().values()))


# ------------------------------------------------------------ calibrate


@click.command("calibrate")
@click.argument("reports", metavar="REPORT…", nargs=-1, required=True)
@click.option("--kernel", "kernels", multiple=True, required=True, help="What was measured.")
@click.option("--device", help="The product, if not the one that the driver names.")
@click.option("--write", type=click.Path(path_type=Path), help="A file for --figures.")
def calibrate_command(
    reports: tuple[str, ...], kernels: tuple[str, ...], device: str | None, write: Path | None
) -> None:
    """Tell which figures of a device measured runs decide, and how far cost is off.

    REPORT is what a program of emit wrote with --save.

    \b
      pycute-xe calibrate report.json --kernel gemm.json --write own.toml
      pycute-xe cost gemm.json M=4096 N=4096 K=4096 --device b580 --figures own.toml
    """  # noqa: D301 - the backspace keeps click from joining the lines
    from pycute_xe.costing import calibrate
    from pycute_xe.files import read_report

    every = {name: read_report(name) for name in reports}
    measured = [read_subject("calibrate", name) for name in kernels]
    calibration = calibrate(every, measured, device)
    click.echo(str(calibration))
    if write is not None:
        click.echo(f"wrote {calibration.write(write)}")


# ------------------------------------------------------------ mca


@click.command("mca")
@click.argument("file", metavar="FILE")
@click.option("--target", default="bmg", show_default=True, help="Whose machine code it is.")
@click.option("--threads", default=4, show_default=True, help="Threads of an engine.")
@click.option("--group", default=0, help="Threads that share a barrier; all, if left out.")
@click.option("--kernel", default="", help="Which one of a binary; the first, if left out.")
@click.option("--json", is_flag=True, help="Print a record.")
@svg_option()
def mca_command(
    file: str, target: str, threads: int, group: int, kernel: str, json: bool, svg: Path | None
) -> None:
    """Tell what machine code waits for, clock by clock.

    FILE is a binary of ocloc (a zebin), or the text that iga64 -d prints; - is standard input.

    \b
      pycute-xe mca gemm.asm --target bmg
    """  # noqa: D301 - the backspace keeps click from joining the lines
    from pycute_xe.native import timing

    data = _machine_code(file)
    code = data if data.startswith(b"\x7fELF") else data.decode("utf-8", "replace")
    out = timing(code, target, threads, group=group, kernel=kernel)
    saved_drawing("mca", svg, out)
    click.echo(out.to_json() if json else str(out))


def _machine_code(file: str) -> bytes:
    """Return what a file has. Raises `InputError` for a name of anything but a file."""
    from pycute_xe.naming import kind_of, read_text

    if file == "-":
        return standard_input()
    if Path(file).exists():
        return Path(file).read_bytes()
    what = kind_of(read_text(file))
    condition = f"{quoted(file)} names {called(what)}; mca takes a file of machine code"
    raise InputError("mca", {"file": file}, condition, "write it with ocloc, or iga64 -d")


# ------------------------------------------------------------ verify


@click.command("verify")
@click.argument("document", metavar="NAME")
@click.option("--json", is_flag=True, help="Print the verdict as a document.")
@click.option("--assumptions", is_flag=True, help="Say which assumptions on tables are needed.")
@click.option(
    "--overflow",
    type=click.Choice(["assumed", "wraps"]),
    help="Assume that integers do not overflow, or let them wrap.",
)
@click.option("--explain", is_flag=True, help="List the strategies that the prover tried.")
def verify_command(
    document: str, json: bool, assumptions: bool, overflow: Overflow | None, explain: bool
) -> None:
    """Prove a kernel for all sizes, or who owns what an atom moves; or say where it fails first.

    NAME is a document, FILE.json or -, C++, a kind of kernel, or an atom. Exit status 0 if it is
    proved, else 1; with --assumptions 0 if all of them are needed.

    \b
      pycute-xe verify gemm
      pycute-xe verify XE_2D_U16x32x16_LD_N
      pycute-xe gemm --tile 128x128x32 --subgroups 4x4 --save - | pycute-xe verify -
    """  # noqa: D301 - the backspace keeps click from joining the lines
    from pycute_xe.trials import needed_assumptions, verify

    if assumptions and overflow is not None:
        wrong = "--assumptions asks what tables need, --overflow what integers do"
        raise InputError("verify", {"overflow": overflow}, wrong, "give one of the two")
    if assumptions and explain:
        wrong = "--assumptions asks what tables need, --explain what a proof took"
        raise InputError("verify", {"explain": True}, wrong, "give one of the two")
    subject = read_subject("needed_assumptions" if assumptions else "verify", document)
    if assumptions:
        verdict = needed_assumptions(subject)
    else:
        verdict = verify(subject, overflow=overflow, explain=explain)
    if json:
        saved_document("-", verdict)
    else:
        click.echo(str(verdict))
    if not verdict:
        raise click.exceptions.Exit(1)


# ------------------------------------------------------------ run


@click.command("run")
@click.argument("document", metavar="NAME")
@click.argument("given", metavar="[NAME=VALUE]...", nargs=-1)
@click.option("-o", "--output", metavar="[NAME=]FILE", multiple=True, help="Where an output goes.")
@click.option("--dtype", help="Round inputs to this type first.")
@click.option("--target", default="bmg", show_default=True, help="Whose rules apply.")
@click.option(
    "--executor",
    type=click.Choice(["fast", "reference"]),
    default="fast",
    show_default=True,
    help="Array operations, or every message and register byte.",
)
@click.option("--json", is_flag=True, help="Print the report as a document.")
def run_command(
    document: str,
    given: tuple[str, ...],
    output: tuple[str, ...],
    dtype: str | None,
    target: str,
    executor: Literal["fast", "reference"],
    json: bool,
) -> None:
    """Run a kernel on arrays, and say what it did.

    NAME is a kind of kernel, a document, FILE.json or -, or C++. A VALUE is a file of
    an array (.npy, or file.npz:name), or a number for a scalar or an extent.

    \b
      pycute-xe run gemm.json A=A.npy B=B.npy -o D.npy --dtype bf16
    """  # noqa: D301 - the backspace keeps click from joining the lines
    from pycute_xe.drawing.saving import write_files
    from pycute_xe.executing import run
    from pycute_xe.kernel import Kernel

    kernel = read_subject("run", document)
    if not isinstance(kernel, Kernel):
        wrong = "the subject is a copy; the command run takes a kernel, and Python a copy's block"
        way_out = f'write pycute_xe.run("{document}", A, at=(0, 0))'
        raise InputError("run", {"document": document}, wrong, way_out)
    files = _files(kernel, output)
    values = dict(_value(kernel, one) for one in given)
    results, report = run(
        kernel, executor=executor, target=target, dtype=dtype, report=True, **values
    )
    arrays = dict(zip((o.name for o in kernel.outputs), _each(kernel, results), strict=True))
    write_files({path: partial(write_array, array=arrays[name]) for name, path in files.items()})
    if not saved_document("-" if json else None, report):
        click.echo(str(report))


def _each(kernel: Kernel, results: Any) -> tuple[Any, ...]:
    return (results,) if len(kernel.outputs) == 1 else tuple(results)


def _value(kernel: Kernel, text: str) -> tuple[str, Any]:
    """Return the name and the value of an argument."""
    name, equals, value = text.partition("=")
    if not equals:
        condition = f"{quoted(text)} is not of the form NAME=VALUE"
        raise InputError("run", {"kernel": kernel.name}, condition, "write A=A.npy")
    arrays = {operand.name for operand in kernel.inputs if operand.modes}
    if name in arrays:
        if re.fullmatch(r"[-+.\d]+", value) and not Path(value).exists():
            condition = f"{name} is an array, and {value} is a number"
            raise InputError("run", {"kernel": kernel.name}, condition, f"write {name}={name}.npy")
        return name, read_array(name, value)
    for kind in (int, float):
        try:
            return name, kind(value)
        except ValueError:
            continue
    condition = f"{quoted(value)} is not a number, and {name} is not an array"
    raise InputError("run", {"kernel": kernel.name}, condition, f"arrays are {_listed(arrays)}")


def _files(kernel: Kernel, output: tuple[str, ...]) -> dict[str, Path]:
    """Return the file of each output that is written."""
    names = [operand.name for operand in kernel.outputs]
    out: dict[str, Path] = {}
    for text in output:
        name, equals, file = text.partition("=")
        if not equals:
            name, file = names[0] if len(names) == 1 else "", text
        if name not in names or name in out:
            condition = f"{quoted(text)} does not name one output of {_listed(names)}"
            raise InputError("run", {"kernel": kernel.name}, condition, f"-o {names[0]}=file.npy")
        out[name] = Path(file)
    return out


def _listed(names: Any) -> str:
    return ", ".join(sorted(names)) or "none"


# ------------------------------------------------------------ draw and explain


@click.command("draw")
@click.argument("name", metavar="NAME")
@click.argument("what", required=False)
@svg_option("-o")
def draw_command(name: str, what: str | None, svg: Path | None) -> None:
    """Draw a kernel, a tiling, an atom, a message or a layout: who owns what.

    NAME is a document, FILE.json or -, C++, a kind of kernel, an atom, a message of vISA, or an
    expression of the layout algebra; WHAT an operand, such as B.

    \b
      pycute-xe draw gemm.json B -o b.svg
      pycute-xe draw gemm A
      pycute-xe draw '(4,8):(8,1)'
    """  # noqa: D301 - the backspace keeps click from joining the lines
    value = read_subject("draw", name)
    if svg is None:
        from pycute_xe.drawing import draw

        click.echo(draw(value, what).text())
        return
    for path in saved_drawing("draw", svg, value, what):
        click.echo(f"wrote {path}")


@click.command("explain")
@click.argument("name", metavar="NAME")
@click.option("--native", is_flag=True, help="Say what the graphics compiler made of a kernel.")
@click.option("--target", default="pvc", show_default=True, help="With --native: for which target.")
@click.option("--code", metavar="WORDS", help="With --native: instructions of statements like it.")
def explain_command(name: str, native: bool, target: str, code: str | None) -> None:
    """Tell what a kernel does, line by line, or what an atom, a message or an operation is.

    NAME is a document, FILE.json or -, C++, a kind of kernel, an atom, a message of vISA, or an
    expression of the layout algebra.

    \b
      pycute-xe explain gemm
      pycute-xe explain 'composition((6,2):(8,2), (4,3):(3,1))'
      pycute-xe explain gemm.json --native --target bmg --code 'copy A'
    """  # noqa: D301 - the backspace keeps click from joining the lines
    if native or code is not None:
        from pycute_xe.native import explain as explain_code

        made = explain_code(read_subject("compile", name), target)
        click.echo(str(made) if code is None else made.code(code))
        return
    from pycute_xe.explaining import explain

    # An expression is explained by its outermost operation, which its value does not have.
    click.echo(str(explain(read_subject("explain", name) if name == "-" else name)))
