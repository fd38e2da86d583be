"""Similarities of 1797 handwritten digits as one bf16 GEMM: described, checked, proved, run, drawn.

The matrix X holds one image per row. X Xᵀ holds every inner product, and with them every distance:
|x - y|² = x·x + y·y - 2 x·y. Pixels are integers up to 16, so bf16 holds each of them, f32 holds
each sum, and the right answer is known exactly.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import pycute_xe as cx

HERE = Path(__file__).resolve().parent


def load() -> tuple[np.ndarray, np.ndarray]:
    """The images without the pixels that are zero in all of them, (1797, 61), and their labels."""
    with np.load(HERE / "digits.npz", allow_pickle=False) as data:
        images, labels = data["images"], data["labels"]
    return images[:, images.any(axis=0)].astype(np.float32), labels


def describe() -> cx.kernel.Kernel:
    """A 256 × 256 × 32 tile over 8 × 4 subgroups; B is Xᵀ, whose K is contiguous."""
    op = cx.XE_DPAS_TT(8, "f32", "bf16")
    mma = cx.workgroup_mma(op, tile=(256, 256, 32), subgroups=((8, 4, 1), (4, 1, 0)))
    return cx.kernel.gemm(mma, a="row", b="col", stages=2)


def nearest_table(gram: np.ndarray, labels: np.ndarray) -> Table:
    """For five images the nearest other image, by the distances that the products imply."""
    norms = np.diagonal(gram)
    table = Table("image", "digit", "nearest", "its digit", "distance", "agrees")
    for image in (0, 17, 69, 1000, 1796):
        distance = norms[image] + norms - 2 * gram[image]
        distance[image] = np.inf
        other = int(np.argmin(distance))
        agrees = "yes" if labels[image] == labels[other] else "no"
        digits = str(labels[image]), str(labels[other])
        root = f"{np.sqrt(distance[other]):.1f}"
        table.add_row(str(image), digits[0], str(other), digits[1], root, agrees)
    return table


def main() -> None:
    """Walk the whole path, printing as it goes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the drawings")
    parser.add_argument("--target", default="bmg")
    options = parser.parse_args()
    console = Console()

    x, labels = load()
    gemm = describe()
    console.rule("the kernel")
    console.print(str(gemm), markup=False, highlight=False)

    console.rule(f"checked for {options.target}")
    console.print(str(cx.check(gemm, options.target)), markup=False, highlight=False)

    console.rule("proved for all M, N, K")
    with console.status("proving"):
        start = time.perf_counter()
        proof = cx.verify(gemm)
        seconds = time.perf_counter() - start
    console.print(str(proof), markup=False, highlight=False)
    console.print(f"in {seconds:.2f} s")

    console.rule(f"run: X Xᵀ, {x.shape[0]} × {x.shape[0]} × {x.shape[1]}")
    with console.status("running"):
        start = time.perf_counter()
        gram = cx.run(gemm, x, x.T, dtype="bf16")
        seconds = time.perf_counter() - start
    exact = x.astype(np.float64) @ x.T.astype(np.float64)
    console.print(f"largest error against NumPy: {np.abs(gram - exact).max():g} ({seconds:.2f} s)")
    console.print(nearest_table(gram.astype(np.float64), labels))

    console.rule("drawings")
    options.out.mkdir(parents=True, exist_ok=True)
    for operand in "ABC":
        path = options.out / f"gemm_{operand}.svg"
        path.write_text(str(cx.draw(gemm, operand)), encoding="utf-8")
        console.print(f"wrote {path}")


if __name__ == "__main__":
    main()
