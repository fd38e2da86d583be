"""``pycute-xe layout``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from pycute_xe.algebra.swizzled import cosize
from pycute_xe.basis import Basis
from pycute_xe.cli.files import (
    picked,
    read_subject,
    report,
    save_option,
    saved_document,
    saved_drawing,
    svg_option,
)
from pycute_xe.composed import ComposedLayout
from pycute_xe.dialects import Distributed
from pycute_xe.errors import CuteError, InputError
from pycute_xe.expressions.evaluation import evaluate, outermost
from pycute_xe.f2 import F2, F2Layout
from pycute_xe.layout import Layout, depth, size
from pycute_xe.naming.texts import is_expression
from pycute_xe.swizzle import Swizzle
from pycute_xe.typing import is_tuple

if TYPE_CHECKING:
    from rich.console import Console

    from pycute_xe.analysing import Analysis
    from pycute_xe.explaining import Explanation

__all__ = ["layout_command"]

# ------------------------------------------------------------ layout outcome
# The value of an expression, for people and for programs.

_KINDS: tuple[tuple[type, str], ...] = (
    (Layout, "layout"),
    (ComposedLayout, "swizzled layout"),
    (F2Layout, "xor layout"),
    (Swizzle, "swizzle"),
    (Basis, "basis"),
    (bool, "bool"),
    (int, "integer"),
    (tuple, "tuple"),
    (Distributed, "tensor"),
)


_DIGITS = 9


@dataclass(frozen=True)
class LayoutOutcome:
    """An expression, its value, the explanation if one was asked for, and files written."""

    expression: str
    value: Any
    explanation: Explanation | None = None
    files: tuple[str, ...] = ()
    analysis: Analysis | None = None

    @property
    def layout(self) -> Layout | ComposedLayout | None:
        """The value, if it can be shown as a grid."""
        return self.value if isinstance(self.value, (Layout, ComposedLayout)) else None

    def to_json(self) -> str:
        """Return everything, for programs."""
        why = self.explanation
        steps = why and [
            {"number": number, "text": step.text, "value": _json(step.value)}
            for number, step in why.numbered()
        ]
        return json.dumps(
            {
                "expression": self.expression,
                "kind": next((name for kind, name in _KINDS if isinstance(self.value, kind)), ""),
                "text": value_text(self.value),
                "value": _json(self.value),
                "offsets": self._offsets(),
                "explanation": why and {"title": why.title, "rule": why.rule, "steps": steps},
                "analysis": self.analysis and dict(self.analysis.rows()),
                "files": list(self.files),
            },
            indent=2,
        )

    def _offsets(self) -> list[Any] | None:
        """The rows of the grid, one row for rank 1; nothing where there is no grid."""
        from pycute_xe.grid import grid_of
        from pycute_xe.printing.table import TABLE_LIMIT

        if self.layout is None:
            return None
        try:
            grid = grid_of("layout", self.layout, TABLE_LIMIT)
        except CuteError:
            return None
        return [[_json(grid.at(row, col)) for col in range(grid.cols)] for row in range(grid.rows)]

    def show(self) -> None:
        """Print the value, the explanation, the table and the drawing."""
        from rich.console import Console
        from rich.text import Text

        console = Console(highlight=False)
        console.print(Text(value_text(self.value)), soft_wrap=True, style="bold")
        if self.explanation is not None:
            console.print()
            console.print(Text(str(self.explanation)), soft_wrap=True)
        if self.analysis is not None:
            console.print(Text("\n".join(str(self.analysis).splitlines()[1:])), soft_wrap=True)
        elif self.layout is not None:
            self._show_grid(console, self.layout)
        for path in self.files:
            console.print(Text(f"wrote {path}"), soft_wrap=True)

    def _show_grid(self, console: Console, layout: Layout | ComposedLayout) -> None:
        from rich.text import Text

        from pycute_xe.drawing import draw
        from pycute_xe.printing import layout_table

        try:
            # Its first line is the value, which stands above.
            lines = layout_table(layout).splitlines()[1:]
        except CuteError as error:
            console.print(Text(f"no table: {error.condition}"), soft_wrap=True, style="dim")
            return
        coloured = console.is_terminal and bool(console.color_system) and not console.no_color
        wide = len(lines[1])
        if not console.is_terminal or wide <= console.width:
            console.print()
            console.print(Text("\n".join(lines)), soft_wrap=True)
        elif not coloured:
            note = f"no table: it has {wide} columns, the terminal {console.width}"
            console.print(Text(note), soft_wrap=True, style="dim")
        if coloured:
            # Without colours it would be the table once more.
            console.print()
            console.print(draw(layout), soft_wrap=True)


def value_text(value: Any) -> str:
    """Return a value as CuTe prints it; layouts, integers and tuples can be read again.

    >>> value_text((Layout(4, 2), (1, None)))
    '(4:2,(1,_))'
    """
    if is_tuple(value):
        return f"({','.join(map(value_text, value))}{',' if len(value) == 1 else ''})"
    return "_" if value is None else str(value)


def _json(value: Any) -> Any:
    match value:
        case None | bool() | int():
            return value
        case tuple():
            return [_json(part) for part in cast("tuple[Any, ...]", value)]
        case Layout():
            parts = {**picked(value, "shape", "stride"), "rank": len(value), "depth": depth(value)}
            parts |= {"size": size(value), "cosize": cosize(value)}
            return {k: _json(v) for k, v in parts.items()}
        case ComposedLayout():
            parts = {**picked(value, "swizzle", "offset", "layout"), "cosize": cosize(value)}
            return {k: _json(v) for k, v in parts.items()}
        case F2Layout():
            return {k: _json(v) for k, v in picked(value, "shape", "stride", "offset").items()}
        case Swizzle():
            return picked(value, "bits", "base", "shift")
        case F2():
            return value.value
        case Distributed():
            places = ("register", "lane", "warp")
            bases = {name: [list(v) for v in value.linear.basis(name)] for name in places}
            return {"encoding": str(value.encoding), "shape": list(value.shape), "bases": bases}
        case _:
            return str(value)


# ------------------------------------------------------------ layout command


@click.command("layout", context_settings={"ignore_unknown_options": True})
@click.argument("expression", metavar="EXPR")
@svg_option()
@save_option
@click.option("--explain", is_flag=True, help="Show the steps of the outermost operation.")
@click.option("--shape", metavar="ROWSxCOLS", help="The tensor's, of a layout of Triton or XeGPU.")
@click.option("--analyse", is_flag=True, help="Show what accesses of subgroups cost.")
@click.option("--bits", type=int, default=16, show_default=True, help="Bits of an element.")
@click.option("--lanes", type=int, default=16, show_default=True, help="Lanes of a subgroup.")
@click.option("--vector", type=int, default=1, show_default=True, help="Elements of a lane.")
@click.option(
    "--target", default="bmg", show_default=True, help="The target whose banks are counted."
)
@click.option("--json", is_flag=True, help="Report as JSON on standard output.")
def layout_command(
    expression: str,
    svg: Path | None,
    save: str | None,
    explain: bool,
    shape: str | None,
    analyse: bool,
    bits: int,
    lanes: int,
    vector: int,
    target: str,
    json: bool,
) -> None:
    """Evaluate an expression of the layout algebra: print its value, a table, a drawing.

    EXPR is written as CuTe prints, and calls operations of the algebra by name:

    \b
      pycute-xe layout '(4,8):(8,1)'
      pycute-xe layout 'composition((6,2):(8,2), (4,3):(3,1))' --explain
      pycute-xe layout 'zipped_divide((8,16):(1,8), (4,8))' --svg tiles.svg
      pycute-xe layout '((4,8):(8,1))(2,3)'
      pycute-xe layout 'Sw<3,3,3> o 0 o (8,64):(64,1)'
      pycute-xe layout 'Layout<Shape<_4,_8>,Stride<_8,_1>>'
      pycute-xe layout 'coalesce((4,8):(1,4))' --save layout.json
      pycute-xe layout '#xegpu.layout<lane_layout = [1, 16], lane_data = [1, 1]>' --shape 8x16
      pycute-xe layout 'tensor<8x16xf16, #xegpu.layout<lane_layout=[1,16], lane_data=[1,1]>>'
      pycute-xe layout '(16,64):(64,1)' --analyse --bits 32 --target bmg

    It is read, never executed as a program. The first line is the value. A table follows for
    layouts of one or two modes, and in a terminal with colours a drawing.
    """  # noqa: D301 - the backspace keeps click from joining the lines
    _demand_analysed(analyse)
    if expression.lstrip().startswith("#"):
        expression = f"tensor<{_extents(shape)}xf32, {expression}>"
    elif shape is not None:
        wrong = "only layouts of Triton and XeGPU, '#…', are given a shape"
        raise InputError("layout", {"shape": shape}, wrong, "leave --shape out")
    value = None if explain and is_expression(expression) else read_subject("layout", expression)
    if isinstance(value, Distributed):
        _demand_offsets(analyse)
        _show_tensor(value, svg, save, explain, json)
        return
    if not is_expression(expression):
        expression = value_text(value)  # of a file, or of C++
    explanation = _explained(expression, json) if explain else None
    if value is None or explanation is not None:
        value = evaluate(expression) if explanation is None else explanation.result
    if saved_document(save, value):
        return
    if svg is not None and not isinstance(value, (Layout, ComposedLayout)):
        condition = f"the value {value} is not a layout and cannot be drawn"
        raise InputError("layout", {"svg": svg}, condition, "leave --svg out")
    costs = _analysed(value, target, bits, lanes, vector) if analyse else None
    files = saved_drawing("layout", svg, value if costs is None else costs)
    report(LayoutOutcome(expression, value, explanation, files, costs), json)


def _analysed(value: Any, target: str, bits: int, lanes: int, vector: int) -> Analysis:
    """Return what accesses through a layout cost, with the banks of a target."""
    from pycute_xe.analysing import analysis
    from pycute_xe.arch.banks import banks

    return analysis(value, bits=bits, lanes=lanes, vector=vector, banks=banks(target)[0])


_OF_ACCESSES = ("bits", "lanes", "vector", "target")
"""Options that describe an access, which --analyse counts."""


def _demand_analysed(analyse: bool) -> None:
    """Refuse options that describe an access where none is analysed."""
    context = click.get_current_context()
    for option in () if analyse else _OF_ACCESSES:
        if context.get_parameter_source(option) is click.core.ParameterSource.COMMANDLINE:
            wrong = f"--{option} describes an access, and none is analysed"
            given = {option: context.params[option]}
            raise InputError("layout", given, wrong, f"add --analyse, or leave --{option} out")


def _demand_offsets(analyse: bool) -> None:
    if analyse:
        wrong = "only accesses of layouts over offsets are analysed, not of tensors"
        raise InputError("layout", {"analyse": True}, wrong, "leave --analyse out")


def _extents(shape: str | None) -> str:
    """Return the extents of a tensor as they are written in its type."""
    parts = (shape or "").lower().split("x")
    if not all(part.isdecimal() and len(part) < _DIGITS for part in parts):
        wrong = "a layout of Triton or XeGPU is of a tensor, whose extents are numbers"
        raise InputError("layout", {"shape": shape}, wrong, "give --shape 32x32")
    return "x".join(parts)


def _show_tensor(
    tensor: Distributed, svg: Path | None, save: str | None, explain: bool, json: bool
) -> None:
    """Report a tensor under a layout of another project."""
    from pycute_xe.explaining import explain as explained

    if save is not None:
        wrong = "tensors of other projects' layouts have no documents: their text is one"
        raise InputError("layout", {"save": save}, wrong, "leave --save out")
    explanation = explained(tensor) if explain else None
    files = saved_drawing("layout", svg, tensor)
    report(LayoutOutcome(str(tensor.encoding), tensor, explanation, files), json)


def _explained(expression: str, json: bool) -> Explanation | None:
    """Return the steps to a value; print them, and raise the refusal, where they end in one."""
    from pycute_xe.explaining import explain

    try:
        operation, operands = outermost(expression)
        explanation = explain(operation, *operands)
    except InputError:
        evaluate(expression)  # what is not an expression is refused as ever
        # The value is still worth showing where only its steps cannot be told.
        click.echo("pycute-xe: no steps to show", err=True)
        return None
    if explanation.refusal is not None:
        if not json:
            click.echo(str(explanation))
        raise explanation.refusal
    return explanation
