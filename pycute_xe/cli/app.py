"""Floor 12: the program: its commands, and what becomes of errors.

Whatever a user can get wrong ends as one message on standard error and exit status 2.
"""

from __future__ import annotations

import os
import sys
from importlib import metadata
from io import TextIOWrapper
from typing import IO, Any

import click

from pycute_xe.cli.atom_command import atom_command
from pycute_xe.cli.atoms_command import atoms_command
from pycute_xe.cli.check_command import check_command
from pycute_xe.cli.diff_command import diff_command
from pycute_xe.cli.emit_command import emit_command
from pycute_xe.cli.expression_error import ExpressionError
from pycute_xe.cli.gemm_command import gemm_command
from pycute_xe.cli.layout_command import layout_command
from pycute_xe.cli.lsc_command import lsc_command
from pycute_xe.errors import CuteError

__all__ = ["Refusal", "main"]


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
        for stream in (sys.stdout, sys.stderr):
            # A terminal that cannot show a character shows a question mark, and the run goes on.
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="replace")
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except ExpressionError as error:
            raise Refusal(f"{error}\n{error.pointer}") from error
        except CuteError as error:
            raise Refusal(str(error)) from error
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


main.add_command(atom_command)
main.add_command(atoms_command)
main.add_command(check_command)
main.add_command(diff_command)
main.add_command(emit_command)
main.add_command(gemm_command)
main.add_command(layout_command)
main.add_command(lsc_command)
