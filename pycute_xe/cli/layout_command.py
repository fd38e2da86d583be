"""Floor 12: ``pycute-xe layout``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pycute_xe.cli.cpp_text import from_cpp
from pycute_xe.cli.evaluation import evaluate, outermost
from pycute_xe.cli.files import demand_folder
from pycute_xe.cli.layout_outcome import LayoutOutcome
from pycute_xe.composed import ComposedLayout
from pycute_xe.errors import InputError
from pycute_xe.layout import Layout

if TYPE_CHECKING:
    from pycute_xe.explaining import Explanation

__all__ = ["layout_command"]


@click.command("layout", context_settings={"ignore_unknown_options": True})
@click.argument("expression", metavar="EXPR")
@click.option(
    "--svg",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the drawing as SVG.",
)
@click.option("--explain", is_flag=True, help="Show the steps of the outermost operation.")
@click.option("--json", is_flag=True, help="Report as JSON on standard output.")
def layout_command(expression: str, svg: Path | None, explain: bool, json: bool) -> None:
    """Evaluate an expression of the layout algebra: print its value, a table, a drawing.

    EXPR is written as CuTe prints, and calls operations of the algebra by name:

    \b
      pycute-xe layout '(4,8):(8,1)'
      pycute-xe layout 'composition((6,2):(8,2), (4,3):(3,1))' --explain
      pycute-xe layout 'zipped_divide((8,16):(1,8), (4,8))' --svg tiles.svg
      pycute-xe layout '((4,8):(8,1))(2,3)'
      pycute-xe layout 'Sw<3,3,3> o 0 o (8,64):(64,1)'
      pycute-xe layout 'Layout<Shape<_4,_8>,Stride<_8,_1>>'

    It is read, never executed as a program. The first line is the value. A table follows for
    layouts of one or two modes, and in a terminal with colours a drawing.
    """  # noqa: D301 - the backspace keeps click from joining the lines
    written = from_cpp(expression, "layout")
    expression = expression if written is None else str(written)
    explanation = _explained(expression) if explain else None
    if explanation is not None and explanation.refusal is not None:
        if not json:
            click.echo(str(explanation))
        raise explanation.refusal
    value = evaluate(expression) if explanation is None else explanation.result
    outcome = LayoutOutcome(expression, value, explanation)
    if svg is not None:
        outcome = replace(outcome, files=(str(_saved(value, svg)),))
    if json:
        click.echo(outcome.to_json())
    else:
        outcome.show()


def _explained(expression: str) -> Explanation | None:
    from pycute_xe.explaining import explain

    try:
        operation, operands = outermost(expression)
        return explain(operation, *operands)
    except InputError:
        evaluate(expression)  # what is not an expression is refused as ever
        # The value is still worth showing where only its steps cannot be told.
        click.echo("pycute-xe: no steps to show", err=True)
        return None


def _saved(value: Any, path: Path) -> Path:
    from pycute_xe.drawing import draw

    if not isinstance(value, (Layout, ComposedLayout)):
        raise InputError(
            "layout",
            {"svg": path},
            f"the value {value} is not a layout and cannot be drawn",
            "leave --svg out",
        )
    demand_folder("layout", path)
    return draw(value).save(path)
