"""Emitted OpenCL C for CPUs as a program of C: built-ins stood in for, a thread a work-item."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pycute_xe as cx
from pycute_xe.bulk import numpy_dtype
from pycute_xe.emitting.names import spelled
from pycute_xe.kernel import Kernel, Operand
from pycute_xe.machine.memory import packed

CC = shutil.which("cc")


def sanitizing() -> str | None:
    """Return clang-22 where the runtime of its sanitizers is installed too."""
    clang = shutil.which("clang-22")
    if clang is None:
        return None
    asked = [clang, "-print-resource-dir"]
    folder = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    return clang if any(Path(folder).rglob("libclang_rt.tysan*")) else None


CLANG = sanitizing()
needs_cc = pytest.mark.skipif(CC is None, reason="install a C compiler: Debian gcc")
needs_clang = pytest.mark.skipif(
    CLANG is None, reason="install clang-22 and libclang-rt-22-dev: Debian"
)
PLAIN = ("-O0", "-fno-strict-aliasing")

SHIM = r"""
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define __attribute__(X) XE_KEEP X
#define XE_KEEP(X) XE_KEEP_##X
#define XE_KEEP_may_alias __attribute__((may_alias))
#define XE_KEEP_aligned(X) __attribute__((aligned(X)))
#define XE_KEEP_noinline
#define XE_KEEP_opencl_unroll_hint(X)
#define XE_KEEP_reqd_work_group_size(...)
#define __kernel
#define __global
#define __private
#define __local
#define uchar unsigned char
#define ushort unsigned short
#define uint unsigned int
#define ulong unsigned long
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define mem_fence(X) ((void)(X))
#define clz(X) __builtin_clz(X)
#define max(A, B) ((A) > (B) ? (A) : (B))
#define min(A, B) ((A) < (B) ? (A) : (B))
#define rsqrt(X) (1.0f / sqrtf(X))
#define exp2 exp2f
#define log2 log2f
#define sqrt sqrtf
#define fabs fabsf
#define fmin fminf
#define fmax fmaxf
#define rint rintf
static _Thread_local int xe_place[4];
static pthread_barrier_t xe_met;
static void barrier(int flags) { (void)flags; pthread_barrier_wait(&xe_met); }
static uint atomic_cmpxchg(volatile uint *at, uint old, uint put) {
  return __sync_val_compare_and_swap(at, old, put);
}
static int get_group_id(int axis) { return xe_place[axis]; }
static int get_local_id(int axis) { (void)axis; return xe_place[3]; }
static float as_float(uint x) { float out; memcpy(&out, &x, 4); return out; }
static uint as_uint(float x) { uint out; memcpy(&out, &x, 4); return out; }
static double xe_within(double x, double low, double high) {
  return x != x ? 0 : x < low ? low : x > high ? high : x;
}
#define convert_int_sat(X) ((int)xe_within(X, -2147483648.0, 2147483647.0))
#define convert_uint_sat(X) ((uint)xe_within(X, 0, 4294967295.0))
#define convert_char_sat(X) ((signed char)xe_within(X, -128, 127))
#define convert_uchar_sat(X) ((uchar)xe_within(X, 0, 255))
"""
MAIN = r"""
static uchar *xe_file(const char *name, size_t bytes) {
  uchar *data = malloc(bytes);
  FILE *file = fopen(name, "rb");
  if (!file || fread(data, 1, bytes, file) != bytes) exit(3);
  fclose(file);
  return data;
}
static void xe_kept(const char *name, const uchar *data, size_t bytes) {
  FILE *file = fopen(name, "wb");
  if (!file || fwrite(data, 1, bytes, file) != bytes) exit(4);
  fclose(file);
}
%(buffers)s
static int xe_groups[3] = {0, 0, 0};
static void *xe_work(void *number) {
  memcpy(xe_place, xe_groups, sizeof xe_groups);
  xe_place[3] = (int)(long)number;
  %(call)s;
  return 0;
}
int main(void) {
  pthread_t threads[%(count)d];
  %(reads)s
  pthread_barrier_init(&xe_met, 0, %(count)d);
  for (xe_groups[2] = 0; xe_groups[2] < %(z)d; ++xe_groups[2])
    for (xe_groups[1] = 0; xe_groups[1] < %(y)d; ++xe_groups[1])
      for (xe_groups[0] = 0; xe_groups[0] < %(x)d; ++xe_groups[0]) {
        for (long i = 0; i < %(count)d; ++i) pthread_create(threads + i, 0, xe_work, (void *)i);
        for (long i = 0; i < %(count)d; ++i) pthread_join(threads[i], 0);
      }
  %(writes)s
  return 0;
}
"""


def dtype_of(operand: Operand) -> np.dtype[Any]:
    """The type of NumPy that holds an operand; tf32 lies in f32."""
    numeric = operand.value_type
    return numpy_dtype("f32" if numeric.name == "tf32" else numeric)


def computed(
    kernel: Kernel,
    given: Mapping[str, Any],
    sizes: Mapping[str, int],
    folder: Path,
    *flags: str,
    cc: str | None = None,
    text: str = "",
) -> tuple[list[np.ndarray], str]:
    """What the text of a kernel leaves in its outputs, and what the run says on standard error."""
    held: dict[str, tuple[np.ndarray, int]] = {}
    arguments: list[str] = []
    for number, operand in enumerate(kernel.operands):
        if not operand.modes:
            kind = float if operand.value_type.kind == "float" else int
            arguments.append(repr(kind(given[operand.name])))
            continue
        rows, width, pitches = placed(operand, given, sizes)
        held[operand.name] = rows, number
        rows.tofile(folder / f"{number}.bin")
        arguments += [f"xe_buffer{number}", str(width), *map(str, pitches)]
    arguments += [str(sizes[name]) for name in kernel.sizes]
    values = {name: given[name] for name in given}
    counts = [count.at(sizes, lambda n, at: int(values[n][at])) for _, count in kernel.grid]
    x, y = (*counts, 1)[:2]
    files = {number: rows.nbytes for rows, number in held.values()}
    main = MAIN % {
        "buffers": "\n".join(f"static uchar *xe_buffer{n};" for n in files),
        "call": f"{spelled(kernel)[0].name}({', '.join(arguments)})",
        "reads": " ".join(f'xe_buffer{n} = xe_file("{n}.bin", {b});' for n, b in files.items()),
        "writes": " ".join(f'xe_kept("{n}.bin", xe_buffer{n}, {b});' for n, b in files.items()),
        "count": kernel.subgroups,
        "x": x,
        "y": y,
        "z": prod(counts[2:]),
    }
    source, made = folder / "kernel.c", folder / "kernel"
    text = text or cx.emit(kernel, "opencl", device="cpu")
    text = text.replace("__local uchar xe_shared", "static uchar xe_shared")
    source.write_text(SHIM + text + main, encoding="utf-8")
    always = ("-w", "-ffp-contract=off", "-pthread", "-g1", "-fsigned-char")
    command = [cc or CC or "cc", *always, *(flags or PLAIN), str(source), "-o", str(made), "-lm"]
    subprocess.run(command, check=True)
    done = subprocess.run([str(made)], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"status {done.returncode}: {done.stderr[:2000]}")
    outputs = [_read(o, *held[o.name], sizes, folder) for o in kernel.outputs]
    return outputs, done.stderr


def placed(
    operand: Operand, given: Mapping[str, Any], sizes: Mapping[str, int]
) -> tuple[np.ndarray, int, list[int]]:
    """The rows of an operand with their padding, the bytes that count, and its pitches."""
    shape = [mode.at(sizes) for mode in operand.modes]
    value = given.get(operand.name, np.zeros(shape, dtype_of(operand)))
    turned = np.moveaxis(value, operand.contiguous, -1).reshape(-1, shape[operand.contiguous])
    data = np.stack([row_bytes(row, operand) for row in turned])
    width = max(-(-data.shape[1] // 4) * 4, 64)
    rows = np.pad(data, ((0, 0), (0, width + 64 - data.shape[1])))
    others = [m for m in range(len(shape)) if m != operand.contiguous]
    pitches = [rows.shape[1] * prod(shape[o] for o in others if o > m) for m in others]
    return rows, width, pitches


def _read(
    operand: Operand, rows: np.ndarray, number: int, sizes: Mapping[str, int], folder: Path
) -> np.ndarray:
    found = np.fromfile(folder / f"{number}.bin", np.uint8).reshape(rows.shape)
    shape = [mode.at(sizes) for mode in operand.modes]
    dtype, extent = dtype_of(operand), shape.pop(operand.contiguous)
    out = found[:, : extent * dtype.itemsize].copy().view(dtype).reshape(*shape, extent)
    return np.ascontiguousarray(np.moveaxis(out, -1, operand.contiguous))


def row_bytes(row: np.ndarray, operand: Operand) -> np.ndarray:
    """The bytes of a row, the last one filled up with zeros."""
    numeric = operand.value_type
    if numeric.kind != "float":
        row = row.astype(np.int64)
    rest = -row.size % max(8 // numeric.bits, 1)
    return packed(np.concatenate([row, np.zeros(rest, row.dtype)]), numeric)
