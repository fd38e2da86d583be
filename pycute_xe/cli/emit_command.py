"""Floor 12: ``pycute-xe emit``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pycute_xe.cli.options import Order, tiling

if TYPE_CHECKING:
    from pycute_xe.kernel import Kernel

__all__ = ["LANGUAGES", "emit_command"]

# Those of `emitting.Language`, which is not imported for the help.
LANGUAGES = ("opencl", "visa", "cute", "host", "xegpu")


@click.command("emit")
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
def emit_command(to: Any, device: Any, output: Path | None, **options: Any) -> None:
    """Write a GEMM in another language: OpenCL C, vISA, CuTe C++, XeGPU, or a host program.

    \b
      pycute-xe emit --epilogue 'relu(acc + bias[n])' -o gemm.cl
      pycute-xe emit --device cpu --type f16
      pycute-xe emit --to visa --type s8 --tile 128x128x64 --subgroups 4x4
    """  # noqa: D301 - the backspace keeps click from joining the lines
    from pycute_xe.emitting import emit

    text = emit(_kernel(**options), to, device)
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")


def _kernel(
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
    from pycute_xe.atom import XE_DPAS_TT, workgroup_mma
    from pycute_xe.kernel import gemm
    from pycute_xe.numeric import as_numeric

    numeric = as_numeric(kind)
    wide = acc or ("f32" if numeric.kind == "float" else "s32")
    m, n = subgroups
    mma = workgroup_mma(XE_DPAS_TT(8, wide, numeric), tile, ((m, n, 1), (n, 1, 0)))
    return gemm(mma, a, b, stages=stages, epilogue=epilogue, d_type=d_type)
