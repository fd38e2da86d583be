"""Machine code of OpenCL C that no kernel of this project has: loops, scratch, atomics, images."""

from __future__ import annotations

import random

import pytest
from compiled_cases import needs_compiler

from pycute_xe.errors import CuteError, InputError
from pycute_xe.native import Timing, timing
from pycute_xe.native.clocks import reading
from pycute_xe.native.compiler import kernels_of
from pycute_xe.native.toolchain import toolchain_for

SOURCE = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
kernel void nested(global float *a, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++) for (int j = i; j < n; j += 3) sum += a[i * n + j];
  a[get_global_id(0)] = sum;
}
kernel void cases(global int *a) {
  int x = a[get_global_id(0)];
  switch (x & 7) {
    case 0: x = x * x; break;
    case 1: while (x > 3) x = x / 3; break;
    case 2: if (x < 9) return; x -= 7; break;
    default: for (;;) { if (x & 1) break; x >>= 1; if (x == 0) break; }
  }
  a[get_global_id(0)] = x;
}
kernel void scratch(global int *a, int n) {
  int own[900];
  for (int i = 0; i < 900; i++) own[i] = a[i] * i;
  for (int i = 0; i < n; i++) own[(a[i] * 7) % 900] += own[i % 900];
  a[get_global_id(0)] = own[n % 900];
}
kernel void adds(global int *a, global float *f, local int *l) {
  int i = get_local_id(0);
  l[i] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_inc(&l[a[i] & 15]);
  atomic_cmpxchg(&a[i], 3, 4);
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  atomic_max(&a[i + 1], l[i]);
  f[i] = native_exp(f[i]) + sqrt(f[i]) + pow(f[i], 1.5f) + sin(f[i]);
}
kernel void widths(global half *h, global double *d, global long *l, global char *c, int n) {
  int i = get_global_id(0);
  for (int k = 0; k < n; k++) {
    h[i] = fma(h[i], h[k], h[i + 1]);
    d[i] = d[i] / (d[k] + 1.0);
    l[i] = l[i] * l[k] + l[k] / 3;
    c[i] = abs(c[k]) + popcount(c[i]);
  }
}
kernel void together(global uint *a, read_only image2d_t in, write_only image2d_t out, int n) {
  uint x = intel_sub_group_block_read(a);
  for (int i = 0; i < n; i++) {
    x = intel_sub_group_shuffle_down(x, x, 1) + sub_group_reduce_add(x);
    float4 v = read_imagef(in, (int2)(i, x & 7));
    write_imagef(out, (int2)(i, 1), v * 2.0f);
  }
  intel_sub_group_block_write(a, x);
}
"""
NAMES = ("nested", "cases", "scratch", "adds", "widths", "together")


def binary(target: str = "pvc") -> bytes:
    return toolchain_for(target).assembled(SOURCE, target, "-cl-std=CL2.0")


@needs_compiler
@pytest.mark.long
def test_kernels_of_every_shape_are_read_by_their_names() -> None:
    made = binary()
    assert tuple(kernels_of(made)) == NAMES
    for name in NAMES:
        report = timing(made, "pvc", 1, trips=3, kernel=name)
        assert 0 < report.least <= report.most
        assert all(abs(sum(states) - report.cycles) < 1e-6 for states in report.states)
        assert all(0 <= share <= 1 for _, share in report.pipes)
        assert (report.loop == (-1, -1)) == (name == "adds" or report.trips == 1)
    assert timing(made, "pvc", 1, trips=3) == timing(made, "pvc", 1, trips=3, kernel=NAMES[0])
    with pytest.raises(InputError, match=r"has no kernel 'x'.*use one of nested, cases"):
        timing(made, "pvc", kernel="x")


@needs_compiler
@pytest.mark.long
def test_a_damaged_binary_is_read_or_refused_in_one_line() -> None:
    """Cut off anywhere, or with bytes of its tables changed."""
    made, rng = binary(), random.Random(5)
    refused: list[str] = []
    for number in range(12):
        changed = bytearray(made)
        if number % 2:
            del changed[rng.randrange(len(made)) :]
        else:
            for _ in range(8):
                changed[rng.choice((rng.randrange(64), rng.randrange(len(made))))] ^= 0x55
        try:
            read = timing(bytes(changed), "pvc", 1, trips=2)
        except CuteError as error:
            refused.append(str(error))
        else:
            assert isinstance(read, Timing)
    assert refused
    assert not [text for text in refused if "\n" in text]


ADD = "(W) add (16|M0) r9.0<1>:d r8.0<1;1,0>:d 1:w"


def test_a_loop_that_no_thread_comes_to_is_not_the_main_loop() -> None:
    """The longer loop stands behind a jump over it."""
    jumped = f"(W) jmpi L1\nL0:\n{ADD}\n{ADD}\n(W&f0.0) jmpi L0\nL1:\n{ADD}\n(W&f0.0) jmpi L1"
    assert timing(jumped, "bmg", 1).loop == (4, 5)
    alone = f"(W) jmpi L1\nL0:\n{ADD}\n(W&f0.0) jmpi L0\nL1:\n{ADD}"
    report = timing(alone, "bmg", 1)
    assert (report.loop, report.trips) == ((-1, -1), 1)
    assert "clocks in all" in str(report)


def test_of_a_long_way_the_loop_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 instructions before the loop and 200 behind, of which 8 threads may run 100."""
    monkeypatch.setattr(reading, "_MOST", 800)
    long = "\n".join([ADD] * 200)
    text = f"{long}\nL0:\n{ADD}\n(W&f0.0) jmpi L0\n{long}"
    report = timing(text, "bmg", 1)
    short = timing(f"L0:\n{ADD}\n(W&f0.0) jmpi L0", "bmg", 1)
    assert report.left_out == 400 + 2 * report.trips - 100
    assert report.least == short.least
    assert f"left out: {report.left_out:,} instructions" in str(report)
    assert not short.left_out


def test_other_loops_make_one_trip() -> None:
    loop = "L{0}:\n" + ADD + "\n" + ADD + "\n(W&f0.0) jmpi L{0}"
    text = "\n".join([loop.format(0), loop.format(1), ADD, loop.format(2)])
    report = timing(text, "bmg", 1, trips=7)
    assert [each.started // 8 for each in report.instructions] == [7] * 3 + [1] * 7


def test_one_kernel_has_no_name_to_choose() -> None:
    with pytest.raises(InputError, match="none to choose"):
        timing(ADD, "bmg", kernel="x")
