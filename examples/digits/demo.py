"""Similarities of 1797 handwritten digits as one bf16 GEMM: described, checked, proved, run, drawn.

The matrix X holds one image per row. X Xᵀ holds every inner product, and with them every distance:
|x - y|² = x·x + y·y - 2 x·y. Pixels are integers up to 16, so bf16 holds each of them, f32 holds
each sum, and the right answer is known exactly.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import pycute_xe as cx

HERE = Path(__file__).resolve().parent
SHOWN = (0, 17, 69, 1000, 1796)
"""The images whose nearest neighbours are shown."""

Matrix = NDArray[Any]


def load() -> tuple[Matrix, Matrix]:
    """The images without the pixels that are zero in all of them, (1797, 61), and their labels."""
    with np.load(HERE / "digits.npz", allow_pickle=False) as data:
        images, labels = data["images"], data["labels"]
    return images[:, images.any(axis=0)].astype(np.float32), labels


def describe() -> cx.Kernel:
    """A 256 × 256 × 32 tile over 8 × 4 subgroups; B is Xᵀ, whose K is contiguous."""
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, tile=(256, 256, 32), subgroups=((8, 4, 1), (4, 1, 0)))
    return cx.kernel.gemm(mma, a="row", b="col", stages=2)


def section(console: Console, title: str) -> None:
    """Start a part of the output."""
    console.print()
    console.rule(f"[bold]{title}", align="left")


def say(console: Console, text: object) -> None:
    """Print text as it is, however long its lines."""
    console.print(str(text), markup=False, highlight=False, soft_wrap=True)


def prove(console: Console, gemm: cx.Kernel) -> None:
    """Prove the kernel for all sizes, before any size is run."""
    section(console, "proved for all M, N, K")
    with console.status("proving"):
        start = time.perf_counter()
        proof = cx.verify(gemm)
        seconds = time.perf_counter() - start
    say(console, proof)
    say(console, f"in {seconds:.2f} s")


def multiply(console: Console, gemm: cx.Kernel, x: Matrix, target: str) -> Matrix:
    """Return X Xᵀ as the device would compute it, and tell what that took."""
    images, pixels = x.shape
    section(console, f"run: X Xᵀ, {images} × {images} × {pixels}")
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("running", total=1.0)
        gram, report = cx.run(
            gemm,
            x,
            x.T,
            dtype="bf16",
            target=target,
            report=True,
            progress=lambda done: bar.update(task, completed=done),
        )
    say(console, report)
    rounded = x.astype(ml_dtypes.bfloat16).astype(np.float64)
    error = np.abs(gram - rounded @ rounded.T).max()
    say(console, f"largest error against NumPy on the rounded inputs: {error:g}")
    return gram.astype(np.float64)


def nearest(gram: Matrix, image: int) -> tuple[int, float]:
    """The nearest other image, and its distance, from inner products alone."""
    norms = np.diagonal(gram)
    squared = norms[image] + norms - 2 * gram[image]
    squared[image] = np.inf
    other = int(np.argmin(squared))
    return other, float(np.sqrt(squared[other]))


def neighbours(gram: Matrix, labels: Matrix) -> Table:
    """For five images the nearest other one, and whether it shows the same digit."""
    table = Table("image", "digit", "nearest", "its digit", "distance", "agrees")
    for image in SHOWN:
        other, distance = nearest(gram, image)
        agrees = "[green]yes" if labels[image] == labels[other] else "[yellow]no"
        digits = str(labels[image]), str(labels[other])
        table.add_row(str(image), digits[0], str(other), digits[1], f"{distance:.1f}", agrees)
    return table


def draw(console: Console, gemm: cx.Kernel, folder: Path) -> None:
    """Write who holds what of A, B and D in a subgroup's registers."""
    section(console, "drawings")
    for operand in "ABD":
        drawing = cx.draw(gemm, operand)
        path = drawing.save(folder / f"gemm_{operand}.svg")
        say(console, f"{path}: {drawing.title}")


def main() -> None:
    """Walk the whole path, printing as it goes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the drawings")
    parser.add_argument("--target", default="bmg", help="the GPU whose rules apply")
    options = parser.parse_args()
    console = Console()

    x, labels = load()
    gemm = describe()
    section(console, "the kernel")
    say(console, gemm)
    section(console, f"checked for {options.target}")
    say(console, cx.check(gemm, options.target))
    prove(console, gemm)
    gram = multiply(console, gemm, x, options.target)
    section(console, "nearest other image, from the products")
    console.print(neighbours(gram, labels))
    draw(console, gemm, options.out)


if __name__ == "__main__":
    main()
