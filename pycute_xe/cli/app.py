"""The program: its commands, and what becomes of errors.

Whatever a user can get wrong ends as one message on standard error and exit status 2.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from importlib import metadata
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from pycute_xe.cli.atom_command import atom_command
from pycute_xe.cli.atoms_command import atoms_command
from pycute_xe.cli.design_command import design_command
from pycute_xe.cli.files import (
    CLOSED,
    Extents,
    Order,
    demand_output,
    json_text,
    picked,
    read_subject,
    report,
    save_option,
    saved_document,
    saved_drawing,
    svg_option,
    tiling,
)
from pycute_xe.cli.gemm_command import gemm_command
from pycute_xe.cli.kernel_commands import (
    calibrate_command,
    cost_command,
    draw_command,
    explain_command,
    mca_command,
    run_command,
    verify_command,
)
from pycute_xe.cli.layout_command import layout_command
from pycute_xe.cli.make_command import attention_command, make_command
from pycute_xe.errors import CuteError, InputError
from pycute_xe.expressions.reading import ExpressionError

if TYPE_CHECKING:
    from pycute_xe.checking import Bounds, Checked, Demand, Finding, Held
    from pycute_xe.kernel import Kernel

__all__ = ["Refusal", "main", "LANGUAGES", "emit_command"]

# ------------------------------------------------------------ check outcome
# What a check found, for people and for programs.


@dataclass(frozen=True)
class CheckOutcome:
    """What was asked, and the verdict."""

    asked: str
    checked: Checked

    def to_json(self) -> str:
        """Return everything, for programs."""
        checked = self.checked
        broken = [_broken(finding) for finding in checked.findings]
        return json_text(
            {
                "asked": self.asked,
                "subject": checked.subject,
                "target": checked.target.name,
                "legal": bool(checked),
                "rules": [*broken, *map(_rule_json, checked.held)],
                "resources": [picked(r, "name", "used", "available") for r in checked.resources],
                "demands": list(map(_demand, checked.demands)),
            }
        )

    def show(self, verbose: bool) -> None:
        """Print the verdict, what is broken, what binds, and what memory must be."""
        from rich.console import Console
        from rich.text import Text

        console = Console(highlight=False)
        lines = str(self.checked).splitlines()
        if verbose:
            lines = self.checked.full().splitlines()
            lines += ["  these rules hold:", *(f"    {rule}" for rule in self.checked.held)]
        for number, line in enumerate(lines):
            console.print(Text(line), soft_wrap=True, style="" if number else "bold")


def _broken(finding: Finding) -> dict[str, Any]:
    b = finding.broken
    rule = {"subject": finding.subject, **picked(b, "rule", "level"), "state": "broken"}
    return {**rule, **picked(b, "condition", "source"), "way_out": b.fix}


def _rule_json(rule: Held) -> dict[str, Any]:
    state = {"state": "binds" if rule.binds else "holds"}
    return {**picked(rule, "subject", "rule"), **state, **picked(rule, "condition", "source")}


def _demand(demand: Demand) -> dict[str, Any]:
    return {
        **picked(demand, "subject", "quantity", "unit"),
        "must": _bounds(demand.must),
        "better": _bounds(demand.better),
        "not_below_width": demand.at_least_width,
        "rules": list(demand.rules),
    }


def _bounds(bounds: Bounds) -> dict[str, int | None]:
    return picked(bounds, "at_least", "at_most", "multiple_of")


# ------------------------------------------------------------ emit command
# ``pycute-xe emit``.

# Those of `emitting.Language`, which is not imported for the help.
LANGUAGES = ("opencl", "visa", "cute", "host", "program", "sycl", "xegpu")


@click.command("emit")
@click.argument("document", metavar="[NAME]", required=False)
@click.option(
    "--to",
    type=click.Choice(LANGUAGES),
    default="opencl",
    show_default=True,
    help="The language.",
)
@click.option(
    "--device",
    type=click.Choice(["gpu", "cpu"]),
    default="gpu",
    show_default=True,
    help="What OpenCL C and the host program are for.",
)
@click.option("--type", "kind", default="bf16", show_default=True, help="Of A and B.")
@click.option("--acc", default=None, help="Of the accumulator: f32, or s32 for integers.")
@click.option("--d-type", default=None, help="Of D: the accumulator's if left out.")
@tiling
@click.option("--stages", type=int, default=2, show_default=True, help="Tiles of K prefetched.")
@click.option("--epilogue", default=None, help="Such as 'relu(acc + bias[n])'.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="A file; standard output if left out."
)
@save_option
def emit_command(
    document: str | None,
    to: Any,
    device: Any,
    output: Path | None,
    save: str | None,
    **options: Any,
) -> None:
    """Write a kernel in another language: OpenCL C, vISA, CuTe C++, XeGPU, or a program to run.

    The kernel is a GEMM of the options, or what NAME is: a document, FILE.json or -, C++, or a kind
    of kernel.

    \b
      pycute-xe emit --epilogue 'relu(acc + bias[n])' -o gemm.cl
      pycute-xe emit --device cpu --type f16
      pycute-xe emit --to visa --type s8 --tile 128x128x64 --subgroups 4x4
      pycute-xe emit kernel.json --to xegpu
      pycute-xe emit gemm.json --to program -o gemm.py
      pycute-xe emit gemm.json --to sycl -o gemm.cpp
    """  # noqa: D301 - the backspace keeps click from joining the lines
    from pycute_xe.emitting import emit

    of_options = document in (None, "gemm")
    if document is not None and not of_options:
        _demand_one(document)
        kernel = read_subject("emit", document)
    else:
        kernel = _emit_command_kernel(**options)
    if saved_document(save, kernel):
        return
    text = emit(kernel, to, device)
    if output is None:
        demand_output()
        click.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")


def _demand_one(document: str) -> None:
    """Refuse options that describe a GEMM beside a name of another kernel."""
    context = click.get_current_context()
    apart = ("document", "to", "device", "output", "save")
    for option in context.params:
        source = context.get_parameter_source(option)
        if option not in apart and source is click.core.ParameterSource.COMMANDLINE:
            name = {"kind": "type"}.get(option, option.replace("_", "-"))
            condition = f"--{name} describes a GEMM, {document} names a kernel"
            raise InputError("emit", {"document": document}, condition, f"leave --{name} out")


def _emit_command_kernel(
    kind: str,
    acc: str | None,
    d_type: str | None,
    a: Order,
    b: Order,
    tile: tuple[int, int, int],
    subgroups: tuple[int, int],
    stages: int,
    epilogue: str | None,
) -> Kernel:
    from pycute_xe.kernel import gemm
    from pycute_xe.naming import default_mma

    mma = default_mma(tile, subgroups, kind, acc)
    return gemm(mma, a, b, stages=stages, epilogue=epilogue, d_type=d_type)


# ------------------------------------------------------------ diff command
# ``pycute-xe diff``.


@click.command("diff")
@click.argument("a", metavar="NAME")
@click.argument("b", metavar="[OTHER]", required=False)
@click.option(
    "--operand", type=click.Choice(["A", "B", "C", "D"]), help="In which operand MMAs are compared."
)
@click.option("--target", default="bmg", show_default=True, help="Whose rules apply.")
@click.option("--json", is_flag=True, help="Report as JSON on standard output.")
def diff_command(a: str, b: str | None, operand: Any, target: str, json: bool) -> None:
    """Tell what differs between two values, or between what an atom says and what it does.

    \b
      pycute-xe diff XE_2D_U16x16x16_LD_N XE_2D_U16x16x16_LD_V
      pycute-xe diff XE_2D_U16x16x16_LD_V
      pycute-xe diff XE_8x16x16_F32BF16BF16F32_TT 'XE_DPAS_TT<8,f32,bf16>' --operand B
      pycute-xe diff before.json after.json

    Two names of values of one kind: atoms, types of CUTLASS, kinds of kernels, documents
    (FILE.json), expressions of the layout algebra. One atom alone: what its layouts say, against
    what its messages leave in registers.
    """  # noqa: D301 - the backspace keeps click from joining the lines
    from pycute_xe.differing import diff

    one, other = (read_subject("diff", text) if text else None for text in (a, b))
    difference = diff(one, other, operand, target=target)
    click.echo(json_text(asdict(difference)) if json else str(difference))


# ------------------------------------------------------------ check command
# ``pycute-xe check``.

_GEMM = ("tile", "subgroups", "a", "b", "sizes")


@click.command("check")
@click.argument("name", metavar="NAME")
@click.option("--target", default="bmg", show_default=True, help="Whose rules apply.")
@click.option("--type", "value_type", metavar="TYPE", help="Of the values, such as bf16.")
@click.option("--op", metavar="NAME", help="Of a pasted print, which does not name its operation.")
@click.option("--base", type=int, help="Address of the surface, in bytes.")
@click.option("--width", type=int, help="Width of the surface, in bytes.")
@click.option("--height", type=int, help="Height of the surface, in rows.")
@click.option("--pitch", type=int, help="Bytes from one row of the surface to the next.")
@click.option("--x", type=int, help="Column where the block starts, in elements of the message.")
@click.option("--y", type=int, help="Row where the block starts.")
@click.option(
    "--tile", type=Extents("M", "N", "K"), metavar="MxNxK", help="Of gemm: 256x256x32 if left out."
)
@click.option(
    "--subgroups", type=Extents("M", "N"), metavar="MxN", help="Of gemm: 8x4 if left out."
)
@click.option("--a", type=click.Choice(["row", "col"]), help="Of gemm: storage order of A.")
@click.option("--b", type=click.Choice(["row", "col"]), help="Of gemm: storage order of B.")
@click.option(
    "--sizes", type=Extents("M", "N", "K"), metavar="MxNxK", help="Of gemm: of the arrays."
)
@save_option
@click.option("--allow-unfaithful", is_flag=True, help="Accept layouts that registers do not show.")
@click.option("--json", is_flag=True, help="Report as JSON on standard output.")
@click.option(
    *("-v", "--verbose", "--full", "verbose"),
    is_flag=True,
    help="Print every rule, with its source.",
)
def check_command(
    name: str,
    target: str,
    value_type: str | None,
    op: str | None,
    save: str | None,
    allow_unfaithful: bool,
    json: bool,
    verbose: bool,
    **given: Any,
) -> None:
    """Judge an atom, a message or a kernel by the rules of a target; no arrays are needed.

    NAME is a name of CUTLASS, a template with its numbers, a message as vISA text, a kind of
    kernel, C++ (the type of a tiled MMA or copy, or what print() shows of one), or a document,
    FILE.json or -:

    \b
      pycute-xe check 'XE_LOAD_2D<16,32,32,16>' --target bmg --pitch 66
      pycute-xe check XE_2D_U16x32x16_LD_V --type bf16
      pycute-xe check 'XE_DPAS_TT<8,f32,bf16>' --target pvc
      pycute-xe check "$(cat printed.txt)" --op 'XE_LOAD_2D<16,32,32,16>' --type bf16
      pycute-xe check gemm --type f16 --tile 128x128x32 --subgroups 4x4 --sizes 300x200x61

    Says which rules hold, which leave no room, and what memory must be. Exit status 0 if legal,
    1 if a rule refuses, 2 for a question that makes no sense.
    """  # noqa: D301 - the backspace keeps click from joining the lines
    from pycute_xe.checking import check

    gemm = {option: given.pop(option) for option in _GEMM}
    use = {option: value for option, value in given.items() if value is not None}
    sizes = None
    if name == "gemm":
        subject: Any = _kernel(value_type or "bf16", gemm)
        sizes = gemm["sizes"] and dict(zip("MNK", gemm["sizes"], strict=True))
    else:
        _demand_gemm(name, gemm)
        subject = read_subject("check", name, op, value_type)
    if saved_document(save, subject):
        return
    checked = check(subject, target, allow_unfaithful=allow_unfaithful, sizes=sizes, **use)
    report(CheckOutcome(name, checked), json, verbose)
    if not checked:
        raise click.exceptions.Exit(1)


def _kernel(value_type: str, gemm: dict[str, Any]) -> Any:
    from pycute_xe.kernel import gemm as make_gemm
    from pycute_xe.naming import default_mma
    from pycute_xe.naming.kinds import SUBGROUPS, TILE

    mma = default_mma(gemm["tile"] or TILE, gemm["subgroups"] or SUBGROUPS, value_type)
    return make_gemm(mma, a=gemm["a"] or "row", b=gemm["b"] or "row")


def _demand_gemm(name: str, gemm: dict[str, Any]) -> None:
    given = [option for option, value in gemm.items() if value is not None]
    if given:
        condition = f"--{given[0]} describes a GEMM, not {name}"
        fix = f"leave --{given[0]} out, or write: pycute-xe check gemm"
        raise InputError("check", {"name": name}, condition, fix)


# ------------------------------------------------------------ lsc command
# ``pycute-xe lsc``.


@click.command("lsc")
@click.argument("text", metavar="TEXT")
@click.option("--target", default="bmg", show_default=True, help="Whose rules and descriptor.")
@svg_option("-o")
@click.option("--json", is_flag=True, help="Report as JSON on standard output.")
@click.option("-v", "--verbose", is_flag=True, help="Print every field of the binary form.")
def lsc_command(text: str, target: str, svg: Path | None, json: bool, verbose: bool) -> None:
    """Explain one LSC message: what it does, whether it is legal, its bytes, a drawing.

    TEXT is a line of vISA, the bytes of one in hexadecimal, or the descriptor of a send; a block
    may lack its address, as the messages that pycute-xe atom prints:

    \b
      pycute-xe lsc 'lsc_load.ugm (M1,16) V13:d32x2 flat[V12]:a64'
      pycute-xe lsc 'lsc_store.slm (M1,16) flat[V12]:a64 V13:d32' --target pvc
      pycute-xe lsc 'lsc_load_block2d.ugm V9:d16.16x8nn flat[V1,V2,V3,V4,V5,V6]' -o block.svg
      pycute-xe lsc 0x6210D500 --target pvc

    Exit status 0 if legal, 1 if a rule refuses, 2 for text that is not a message.
    """  # noqa: D301 - the backspace keeps click from joining the lines
    from pycute_xe.arch.target import get_target
    from pycute_xe.cli.lsc_outcome import LscOutcome

    machine = get_target(target)
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,8}", text.strip()):
        _show_descriptor(int(text, 16), machine.name, svg, json)
        return
    message = read_subject("lsc", text)
    outcome = LscOutcome(message, machine, saved_drawing("lsc", svg, message))
    report(outcome, json, verbose)
    if not outcome.legal:
        raise click.exceptions.Exit(1)


def _show_descriptor(desc: int, target: str, svg: Path | None, json: bool) -> None:
    from pycute_xe.arch.lsc import decode_descriptor

    if svg is not None:
        condition = "a descriptor names no registers, and cannot be drawn"
        raise InputError("lsc", {"svg": svg}, condition, "leave --svg out, or give the message")
    fields = asdict(decode_descriptor(desc, 0, target))
    del fields["sfid"], fields["surface"], fields["offset"]  # the send and its other word hold them
    fields["data"] = {name: value for name, value in fields["data"].items() if value is not None}
    if json:
        click.echo(json_text({"desc": hex(desc), "target": target, **fields}))
        return
    fields["data"] = str(decode_descriptor(desc, 0, target).data)
    for name, value in fields.items():
        click.echo(f"{name:18} {value}")


# ------------------------------------------------------------ app


class Refusal(click.ClickException):
    """An error of the user's, told in one message; exit status 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it to standard error."""
        click.echo(f"pycute-xe: error: {self.format_message()}", file=file, err=file is None)


class Program(click.Group):
    """A group of commands that turns refusals of the library and the system into `Refusal`."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for."""
        _open_streams()
        _show_all_characters()
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except click.NoSuchOption as error:
            message = f"unknown option {error.option_name!r}. {self._nearest(error)}".rstrip()
            raise click.UsageError(message, error.ctx) from error
        except ExpressionError as error:
            raise Refusal(f"{error}\n{error.pointer}") from error
        except CuteError as error:
            command = self.commands.get(ctx.invoked_subcommand or "")
            options = _options_of(command) if command else []
            raise Refusal(_by_options(str(error), options)) from error
        except SystemExit as error:
            if isinstance(error.__context__, BrokenPipeError):  # rich has met one, and calls it 1
                raise click.exceptions.Exit(0) from error
            raise
        except BrokenPipeError as error:
            # Whoever read our output has seen enough. What is left goes where Python, which
            # flushes at its end, meets no broken pipe again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(0) from error
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise Refusal(f"{where}{error.strerror or error}") from error
        except MemoryError as error:
            raise Refusal(f"not enough memory: {error}") from error

    def _nearest(self, error: click.NoSuchOption) -> str:
        """Say which option was meant: one of this command, or else one that others have."""
        here = error.ctx.command if error.ctx else self
        others = {name: _options_of(command) for name, command in self.commands.items()}
        having = ", ".join(name for name, own in others.items() if error.option_name in own)
        if near := get_close_matches(error.option_name, _options_of(here), 1, 0.8):
            elsewhere = f" {error.option_name!r} is an option of {having}." if having else ""
            return f"Did you mean {near[0]!r}?{elsewhere}"
        near = get_close_matches(error.option_name, {o for own in others.values() for o in own}, 1)
        having = ", ".join(name for name, options in others.items() if near and near[0] in options)
        return f"{near[0]!r} is an option of {having}." if having else ""


_ARGUMENT = re.compile(r"""\b(\w+)=(["'][^"']*["'])""")

_LEFT_OUT = re.compile(r"\bleave (\w+) out")


def _by_options(message: str, options: list[str]) -> str:
    """Return a message whose way out names options of the command, where it names arguments."""
    start, way_out, fix = message.rpartition(". Way out: ")

    def option(given: re.Match[str]) -> str:
        name = f"--{given[1].replace('_', '-')}"
        return f"{name} {given[2]}" if name in options else given[0]

    def left_out(match: re.Match[str]) -> str:
        name = f"--{match[1].replace('_', '-')}"
        return f"leave {name} out" if name in options else match[0]

    return f"{start}{way_out}{_LEFT_OUT.sub(left_out, _ARGUMENT.sub(option, fix))}"


def _open_streams() -> None:
    """Give output that a shell has closed a place to go to: the exit status still answers.

    Standard input stays closed, and is refused where it is read.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            # The lowest free number: no file that is opened later becomes a standard stream.
            opened = os.open(os.devnull, os.O_RDWR)
            if opened == number and name != "stdin":
                setattr(sys, name, os.fdopen(opened, "w", encoding="utf-8"))
                CLOSED.add(name)


def _show_all_characters() -> None:
    """Let a terminal that cannot show a character show a question mark, and the run go on."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _options_of(command: click.Command) -> list[str]:
    """The options of a command, those with one letter left out."""
    return [text for option in command.params for text in option.opts if text.startswith("--")]


def _version() -> str:
    """The installed version; a bare checkout has none."""
    try:
        return metadata.version("pycute-xe")
    except metadata.PackageNotFoundError:
        return "(not installed)"


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(_version(), prog_name="pycute-xe")
def main() -> None:
    """Layouts, and kernels for Intel Xe GPUs: run, check, prove and draw them on any machine."""


for _command in (atom_command, atoms_command, check_command, diff_command, emit_command):
    main.add_command(_command)
for _command in (attention_command, gemm_command, layout_command, lsc_command, make_command):
    main.add_command(_command)
for _command in (calibrate_command, cost_command, draw_command):
    main.add_command(_command)
for _command in (explain_command, run_command, verify_command):
    main.add_command(_command)
for _command in (design_command, mca_command):
    main.add_command(_command)
