"""MLIR's verifier and lowering of XeGPU, as tests and counts call them."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

MLIR = next(filter(None, map(shutil.which, ("mlir-opt-22", "mlir-opt"))), None)
needs_mlir = pytest.mark.skipif(MLIR is None, reason="install mlir-opt: Debian mlir-22-tools")
DEFAULT = "--gpu-lower-to-xevm-pipeline=xegpu-op-level=workgroup binary-format=isa"
# The default pipeline's passes down to XeVM, and the one that loads transposed bytes and words as
# dwords, which MLIR has and its pipeline leaves out.
PIPELINE = (
    "--pass-pipeline=builtin.module(cse,convert-vector-to-scf,"
    "xevm-attach-target{O=2 chip=bmg triple=spirv64-unknown-unknown},lower-affine,gpu.module("
    "xegpu-wg-to-sg-distribute,cse,xegpu-propagate-layout{layout-kind=inst},xegpu-blocking,"
    "canonicalize,cse,xegpu-propagate-layout{layout-kind=lane},xegpu-optimize-block-loads,"
    "canonicalize,cse,xegpu-subgroup-distribute,canonicalize,cse,loop-invariant-code-motion,cse,"
    "xegpu-vector-linearize,convert-math-to-xevm{convert-arith=true},convert-xegpu-to-xevm))"
)
_LOAD = re.compile(r"xevm\.blockload2d.*elem_size_in_bits = (\d+) .*transpose = (true|false)")


def refusal(text: str, *options: str) -> str:
    """What MLIR says against a module, in a line; empty if it accepts it."""
    done = _run(text, *options)
    lines = [line for line in done.stderr.splitlines() if re.search("error|ERROR", line)]
    return re.sub(r"^<stdin>:\d+:\d+: ", "", (lines or [done.stderr])[0]) if done.returncode else ""


def loads(text: str) -> list[tuple[int, bool]]:
    """The block loads of the lowered module: bits of an element, whether transposed."""
    done = _run(text, PIPELINE)
    assert done.returncode == 0, done.stderr[:300]
    return [(int(bits), turned == "true") for bits, turned in _LOAD.findall(done.stdout)]


def _run(text: str, *options: str) -> subprocess.CompletedProcess[str]:
    assert MLIR is not None
    return subprocess.run([MLIR, *options], input=text, capture_output=True, text=True, check=False)
