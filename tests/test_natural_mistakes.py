"""Mistakes that people make: each is named in one line, and its way out runs as it is typed.

A row is a call, words that its message must have, and the call again with the way out applied.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import pycute_xe as cx
from pycute_xe.cli import main
from pycute_xe.errors import CuteError

OP = cx.XE_DPAS_TT(8, "f32", "bf16")
ALONE = ((1, 1, 1), (1, 1, 1))


def builder() -> cx.kernel.KernelBuilder:
    """A kernel over the rows of A and D, begun."""
    k = cx.kernel.KernelBuilder("t", 2)
    k.input("A", "f32", ("M", "K"))
    k.output("D", "f32", ("M", "K"))
    k.grid(m=cx.kernel.Tiles("M", 16))
    return k


def names() -> dict[str, Any]:
    """What the calls of the rows are about; a builder is begun anew for each."""
    return {**NAMES, "k": builder()}


SMALL = cx.workgroup_mma(OP, (16, 32, 32), ((1, 2, 1), (2, 1, 0)))
NAMES: dict[str, Any] = {
    **{name: getattr(cx.kernel, name) for name in ("gemm", "attention", "Index", "Operand")},
    "cx": cx,
    "np": np,
    "L": cx.Layout,
    "op": OP,
    "mma": SMALL,
    "large": cx.workgroup_mma(OP),
    "qk": cx.workgroup_mma(OP, (8, 32, 16), ALONE),
    "pv": cx.workgroup_mma(OP, (8, 16, 32), ALONE),
    "kernel": cx.kernel.gemm(SMALL),
    "scaled": cx.kernel.gemm(SMALL, epilogue="alpha*acc + bias[n]"),
    "A": np.ones((20, 40), np.float32),
    "B": np.ones((40, 36), np.float32),
    "read": cx.kernel.read_specification,
    "operands": (
        cx.kernel.Operand("A", "f32", ("M", "N")),
        cx.kernel.Operand("R", "f32", ("M",), role="out"),
    ),
    "block_load": cx.esimd.block_load,
    "float_": cx.esimd.float_,
    "LD": "XE_2D_U16x8x16_LD_N",
    "MMA": "XE_8x16x16_F32BF16BF16F32_TT",
    "doc": cx.to_json(cx.Layout(4)),
}

ALGEBRA = [
    ("L((4, 8), (1,))", "Layout(; nest differently; one stride for each leaf", "L((4, 8), (1, 4))"),
    ("L((4, '8'))", "'8' is a str, not an integer; write 8", "L((4, 8))"),
    ("L('(4,8):(1,4)')", "use Layout.from_str('(4,8):(1,4)')", 'L.from_str("(4,8):(1,4)")'),
    ("L((np.int64(4), 8))", "is an int64, not an integer; write 4", "L((4, 8))"),
    ("L(4.0)", "4.0 is a float, not an integer; write 4", "L(4)"),
    ("cx.composition((6, 2), (4, 3))", "Layout((6, 2))", "cx.composition(L((6, 2)), (3, 2))"),
    ("cx.zipped_divide(L((8, 16)), [4, 8])", "write (4, 8)", "cx.zipped_divide(L((8,16)), (4,8))"),
    ("cx.zipped_divide(L((8, 16)), '4,8')", "write (4, 8)", "cx.zipped_divide(L((8, 16)), (4, 8))"),
    (
        "cx.zipped_divide(L((8, 16)), (4, 8, 2))",
        "the tiler has 3 modes, the layout 2",
        "cx.zipped_divide(L((8, 16)), (4, 8))",
    ),
    (
        "cx.tile_to_shape(L((3, 4)), (16, 16))",
        "extent 3 of the block does not divide 16; target extent of 18",
        "cx.tile_to_shape(L((3, 4)), (18, 16))",
    ),
    (
        "cx.coalesce('(4,8)')",
        "a str is not a plain layout; Layout((4, 8))",
        "cx.coalesce(L((4,8)))",
    ),
    ("cx.table('(4,8):(1,4)')", "Layout.from_str('(4,8):(1,4)')", 'L.from_str("(4,8):(1,4)")'),
    ("cx.size([4, 8])", "size(; value is a list; write (4, 8)", "cx.size((4, 8))"),
    ("cx.rank([4, 8])", "rank(; value is a list; write (4, 8)", "cx.rank((4, 8))"),
    ("cx.product((4, '8'))", "value is a str; write 8", "cx.product((4, 8))"),
    ("cx.idx2crd(5, (4, '8'))", "idx2crd(; value is a str; write 8", "cx.idx2crd(5, (4, 8))"),
    (
        "cx.transform_leaf('abc', lambda x: x)",
        "transform_leaf(; value is a str; an integer or a tuple of integers",
        "cx.transform_leaf((1, 2), lambda x: x)",
    ),
    ("cx.transform_leaf((1, 2), 3)", "give function as a function", "cx.transform_leaf(1, abs)"),
    ("cx.get(L((4, 8)), 2)", "the rank is 2; use 0 to 1", "cx.get(L((4, 8)), 1)"),
    ("cx.select(L((4, 8)), (1, 0))", "one by one: 1, 0", "cx.select(L((4, 8)), 1, 0)"),
    (
        "cx.append(L((4, 8)), 3, 2)",
        "an int is not a plain; Layout(3)",
        "cx.append(L((4, 8)), L(3), 2)",
    ),
    ("cx.coalesce((4, 8))", "coalesce(layout=(4, 8)); Layout((4, 8))", "cx.coalesce(L((4, 8)))"),
    (
        "cx.blocked_product(L(4), (4, 8))",
        "blocked_product(tiler=(4, 8)); Layout((4, 8))",
        "cx.blocked_product(L(4), L((4, 8)))",
    ),
    ("cx.composition(L(4), '4')", "composition(b='4'); write 4", "cx.composition(L(4), 4)"),
    ("cx.recast_layout(L(8), 'bf16', 'u8')", "(layout, 16, 8)", "cx.recast_layout(L(8), 16, 8)"),
    (
        "cx.make_tensor(L((4, 8)), np.arange(32))",
        "data is a layout, which is given second; make_tensor(data, layout)",
        "cx.make_tensor(np.arange(32), L((4, 8)))",
    ),
    (
        "cx.make_tensor(np.arange(32), L((4, 8)))[1, 2:]",
        "a slice with an end or a step is not a mode",
        "cx.make_tensor(np.arange(32), L((4, 8)))[1, :]",
    ),
    (
        "cx.local_tile(cx.make_identity_tensor((8, 16)), (4, 8), (0, 2))",
        "coord=(0, 2); tile 2 is outside a mode of 2 tiles; use 0 to 1",
        "cx.local_tile(cx.make_identity_tensor((8, 16)), (4, 8), (0, 1))",
    ),
    (
        "cx.local_tile(cx.make_identity_tensor((100, 100)), (32, 32), (4, None))",
        "tile 4 is outside a mode of 4 tiles; use 0 to 3",  # the last one reaches over the edge
        "cx.local_tile(cx.make_identity_tensor((100, 100)), (32, 32), (3, None))",
    ),
    (
        "cx.local_tile(cx.make_identity_tensor((8, 16)), (4, 8), -1)",
        "tile -1 is outside a mode of 4 tiles; use 0 to 3",
        "cx.local_tile(cx.make_identity_tensor((8, 16)), (4, 8), 3)",
    ),
    (
        "cx.local_tile(L((8, 16)), (4, 8), (1, 0))",
        "tensor is a Layout; make_tensor(None, layout)",
        "cx.local_tile(cx.make_tensor(None, L((8, 16))), (4, 8), (1, 0))",
    ),
    ("cx.Swizzle(3, 3, 2)", "use a shift of at least 3", "cx.Swizzle(3, 3, 3)"),
]

ATOMS = [
    (
        "cx.get_atom('XE_2D_U16x32x16_LD_X')",
        "did you mean XE_2D_U16x32x16_LD_V",
        "cx.get_atom('XE_2D_U16x32x16_LD_V')",
    ),
    (
        "cx.get_atom('xe_2d_u16x32x16_ld_n')",
        "did you mean XE_2D_U16x32x16_LD_N",
        "cx.get_atom('XE_2D_U16x32x16_LD_N')",
    ),
    (
        "cx.get_atom('XE_2D_F16x32x16_LD_N')",
        'get_atom("XE_2D_U16x32x16_LD_N", "f16")',
        'cx.get_atom("XE_2D_U16x32x16_LD_N", "f16")',
    ),
    ("cx.XE_LOAD_2D('bf16', 32, 32)", "bits is a str; write bits=16", "cx.XE_LOAD_2D(16, 32, 32)"),
    ("cx.XE_LOAD_2D(12, 32, 32)", "load with elements of 12 bits", "cx.XE_LOAD_2D(16, 32, 32)"),
    ("cx.make_copy_atom(MMA)", "make_copy_atom(; MmaAtom is not a copy", "cx.make_copy_atom(LD)"),
    ("cx.XE_DPAS_TT(16, 'f32', 'bf16')", "M must be 1 to 8", "cx.XE_DPAS_TT(8, 'f32', 'bf16')"),
    ("cx.XE_DPAS_TT(8, 'f32', 's8')", "(s32, s8, s8, s32)", "cx.XE_DPAS_TT(8, 's32', 's8')"),
    ("cx.feeds(MMA, LD, 'A')", "give the copy first, then the MMA", "cx.feeds(LD, MMA, 'A')"),
    ("cx.make_copy_atom(cx.XE_LOAD_2D)", "is a function; (XE_LOAD_2D(16, 8, 16), 'bf16')", "LD"),
    ("cx.XE_LOAD_2D(16, '8', 16)", "height is a str; write height=8", "cx.XE_LOAD_2D(16, 8, 16)"),
    (
        "cx.XE_LOAD_2D(np.int64(16), 8, 16)",
        "bits is an int64; write bits=16",
        "cx.XE_LOAD_2D(16, 8, 16)",
    ),
    ("cx.XE_DPAS_TT(8.0, 'f32', 'bf16')", "not an integer; write 8", "op"),
    ("cx.XE_DPAS_TT('f32', 'bf16', 8)", "'f32' is not; give M, 1 to 8, before the types", "op"),
    ("cx.XE_DPAS_TT(8, 'f32', 'f32')", "multiplies no f32; (f32, tf32, tf32, f32)", "op"),
    ("cx.get_atom('XE_DPAS_TT(8,f32,bf16)')", "XE_DPAS_TT<8,f32,bf16>", "cx.get_atom(MMA)"),
    (
        "cx.get_atom('XE_8x16x32_F32BF16BF16F32_TT')",
        "is (8, 16, 16), not (8, 16, 32); XE_8x16x16_F32BF16BF16F32_TT",
        "cx.get_atom('XE_8x16x16_F32BF16BF16F32_TT')",
    ),
    ("cx.search_atoms(bits=17)", "cannot be 17; use 2, 4, 8, 16, 32", "cx.search_atoms(bits=16)"),
    (
        "cx.search_atoms(bits='16')",
        "bits cannot be '16'; a positive integer",
        "cx.search_atoms(bits=16)",
    ),
    ("cx.search_atoms(cols=(20, 30))", "1, 2, 4, 8, 16, 32, 64", "cx.search_atoms(cols=(16, 32))"),
    ("cx.search_atoms(rows=999, feeds=MMA)", "32 or 64", "cx.search_atoms(rows=32, feeds=MMA)"),
    ("cx.search_atoms(mode='v')", "use N, T or V", "cx.search_atoms(mode='V')"),
    ("cx.search_atoms(rows=(32, 16))", "write (16, 32)", "cx.search_atoms(rows=(16, 32))"),
    ("cx.make_tiled_mma(op, (8, 4))", "must have the three modes M, N, K", "cx.make_tiled_mma(op)"),
    ("cx.workgroup_mma(op, (250, 256, 32))", "M of the tile is 250; use 192 or 256", "large"),
    (
        "cx.workgroup_mma(op, tiles=(256, 256, 32))",
        "no argument named tiles; write tile=(256, 256, 32)",
        "cx.workgroup_mma(op, tile=(256, 256, 32))",
    ),
    ("cx.workgroup_mma(op, (256, 256, 32), (8, 4))", "write ((8, 4, 1), (4, 1, 0))", "large"),
    (
        "cx.workgroup_mma(op, (256, 256))",
        "modes M, N, K; write the tile as (256, 256, 32)",
        "large",
    ),
    (
        "cx.workgroup_mma(op, 256, 256, 32)",
        "4 arguments; workgroup_mma(op, tile=(256, 256, 32)",
        "cx.workgroup_mma(op, tile=(256, 256, 32))",
    ),
    ("mma.get_slice(32)", "not one of the 32 work-items; use 0 to 31", "mma.get_slice(31)"),
    (
        "cx.make_block_2d_copy_A(mma, ('ld', 1), cx.XE_LOAD_2D(16, 8, 16))",
        "value_type is XE_LOAD_2D<16,8,16>, an operation; write op=XE_LOAD_2D(16, 8, 16)",
        "cx.make_block_2d_copy_A(mma, ('ld', 1), op=cx.XE_LOAD_2D(16, 8, 16))",
    ),
    (
        "cx.run(LD, np.ones((8, 16), np.uint16), at=0)",
        "at is 0; write at=(0, 0)",
        "cx.run(LD, np.ones((8, 16), np.uint16), at=(0, 0))",
    ),
    (
        "cx.verify(LD, row='v')",
        'give both; row="v", column="t"',
        'cx.verify(LD, row="v", column="t")',
    ),
    ("cx.make_block_2d_copy_A(mma, 'row')", '("ld", 1)', 'cx.make_block_2d_copy_A(mma, ("ld",1))'),
]

KERNELS = [
    ("gemm(op)", "Dpas is not a tiled MMA; workgroup_mma(op", "gemm(cx.workgroup_mma(op))"),
    ("gemm(mma, stage=2)", "no argument named stage; write stages=2", "gemm(mma, stages=2)"),
    (
        "gemm(mma, epilog='relu(acc)')",
        "write epilogue='relu(acc)'",
        "gemm(mma,epilogue='relu(acc)')",
    ),
    ("gemm(mma, batch=4)", "batch is 4, and must; write batch=True", "gemm(mma, batch=True)"),
    ("gemm(mma, types={'b': 's4'})", "b of types; write B", "gemm(mma, types={'B': 's4'})"),
    (
        "gemm(mma, epilogue_tile=16)",
        "epilogue_tile as tuple[int, int]",
        "gemm(mma, epilogue_tile=(8,16))",
    ),
    ("gemm(mma, orders={'A': 'col'})", "argument of its own; write a='col'", "gemm(mma, a='col')"),
    (
        "gemm(mma, types={'D': 'bf16'})",
        "argument of its own; write d_type='bf16'",
        "gemm(mma, d_type='bf16')",
    ),
    (
        "gemm(mma, copy_a='XE_PREFETCH_2D<16,8,32>')",
        "is a prefetch, A needs a load",
        "gemm(mma, copy_a='XE_2D_U16x8x16_LD_N')",
    ),
    (
        "attention(qk, pv, window=(-1, 0))",
        "is negative; write window=(128, 0)",
        "attention(qk, pv, window=(128, 0))",
    ),
    ("gemm(mma, a='Row')", "'Row'; 'row' or 'col'|\"row\" or \"col\"", "gemm(mma, a='row')"),
    ("attention(qk, pv, causal='yes')", "write causal=True", "attention(qk, pv, causal=True)"),
    (
        "attention(qk, pv, mask='causal')",
        "no argument named mask; it takes qk, pv, out, causal",
        "attention(qk, pv, causal=True)",
    ),
    ("attention(qk, pv, window=128)", "window as tuple[int", "attention(qk, pv, window=(128, 0))"),
    ("attention(qk, pv, page=48)", "48 keys; use pages of 32", "attention(qk, pv, page=32)"),
    (
        "gemm(mma, epilogue='relu(ac)')",
        "resembles acc; write acc",
        "gemm(mma, epilogue='relu(acc)')",
    ),
    (
        "gemm(mma, epilogue='Relu(acc)')",
        "Relu is not a known; use relu",
        "gemm(mma, epilogue='relu(acc)')",
    ),
    (
        "gemm(mma, epilogue='relu(acc')",
        'never closed; write "relu(acc)"',
        "gemm(mma, epilogue='relu(acc)')",
    ),
    (
        "gemm(mma, epilogue='acc + bias[n')",
        'write "acc + bias[n]"',
        "gemm(mma,epilogue='acc+bias[n]')",
    ),
    (
        "gemm(mma, epilogue='acc ** 2')",
        "acc ** 2 has no meaning; acc*acc",
        "gemm(mma,epilogue='acc*acc')",
    ),
    ("gemm(mma, epilogue='np.tanh(acc)')", "write tanh(acc)", "gemm(mma, epilogue='tanh(acc)')"),
    (
        "gemm(mma, epilogue='relu(acc, 0)')",
        "takes 1 argument; write relu(x)",
        "gemm(mma, epilogue='relu(acc)')",
    ),
    ("gemm(mma, epilogue='D = relu(acc)')", 'write "relu(acc)"', "gemm(mma, epilogue='relu(acc)')"),
    (
        "gemm(mma, epilogue='acc + C[n,m]')",
        'write C[m,n]; orders={"C": "col"}',
        "gemm(mma, epilogue='acc + C[m,n]', orders={'C': 'col'})",
    ),
    (
        "read('R[m] = sum(A[m,n])', operands)",
        'does not say over which index; write "sum(n, A[m, n])"',
        "read('R[m] = sum(n, A[m, n])', operands)",
    ),
    (
        "read('R[m] == sum(n, A[m,n])', operands)",
        'write "R[m] = sum(n, A[m,n])"',
        "read('R[m] = sum(n, A[m,n])', operands)",
    ),
    (
        "read('R = sum(n, A[m,n])', operands)",
        'write "R[m] = …"',
        "read('R[m] = sum(n, A[m,n])', operands)",
    ),
    (
        "read('R[m] = sum(n, X[m,n])', operands)",
        "X is not an operand; use A",
        "read('R[m] = sum(n, A[m,n])', operands)",
    ),
    (
        "read('R[m] = mean(n, A[m,n])', operands)",
        "mean is not a known function; sum",
        "read('R[m] = sum(n, A[m,n])/8', operands)",
    ),
    ("Index('m') / 2", "divided with //; write // 2", "Index('m') // 2"),
    ("Operand('A', ('M', 'N'), 'f32')", "unknown element type", "Operand('A', 'f32', ('M', 'N'))"),
    ("Operand('A', 'f32', 'MN')", "write ('M', 'N')", "Operand('A', 'f32', ('M', 'N'))"),
    ("Operand('A', 'f32', 'M, N')", "write ('M', 'N')", "Operand('A', 'f32', ('M', 'N'))"),
    ("Operand('A', 'f32', 'rows')", "write ('rows',)", "Operand('A', 'f32', ('rows',))"),
    (
        "Operand('A', 'f32', ('M', 'N*2'))",
        'compute with it: Index("k")*2',
        "Operand('A', 'f32', ('M', Index('N')*2))",
    ),
    ("L()", "Layout(; the shape is missing", "L((4, 8), (8, 1))"),
    (
        "cx.kernel.Reduce('min')",
        "source, destination and slots are missing; Reduce(how, source",
        "cx.kernel.Reduce('min', 'x', 'y', L(4))",
    ),
    (
        "cx.kernel.KernelBuilder(mma, 'x')",
        "KernelBuilder(; name is",
        "cx.kernel.KernelBuilder('x', mma)",
    ),
    ("[i for i in k.loop('j', 0, 4)]", 'loop "j"; with k.loop(', "k.loop('j', 0, 4).__enter__()"),
    (
        "[k.loop('j', 0, 4), k.build()]",
        'loop "j" is not opened by a with statement',
        "k.loop('j', 0, 4).__enter__()",
    ),
    ("k.load('x', 'A', (16, 32), at=0)", "at=(0, 0)", "k.load('x', 'A', (16, 32), at=(0, 0))"),
    (
        "k.prefetch('A', (80000, 8000), at=(0, 0))",
        "a tile of 80000 x 8000; (256, 32)",
        "k.prefetch('A', (256, 32), at=(0, 0))",
    ),
    (
        "k.prefetch('A', cx.make_block_2d_copy_A(mma, ('ld', 1)), at=(0, 0))",
        "the prefetch moves bf16, A holds f32",
        "k.prefetch('A', cx.make_block_2d_copy_A(mma, ('ld', 1), 'f32'), at=(0, 0))",
    ),
    (
        "k.convert('y', 'x', 'bf16')",
        "no fragment x; declare the fragment first",
        "k.fill('x', (16, 32))",
    ),
    ("k.add('x')", "statements as Statement", "k.add()"),
    (
        "k.fill('x', cx.kernel.Share(mma, 'c'))",
        "role is 'c'; 'A' or 'B' or 'C'",
        "k.fill('x', cx.kernel.Share(mma, 'C'))",
    ),
]

READERS = [
    ("cx.run(kernel, A, B)", 'dtype="bf16"', "cx.run(kernel, A, B, dtype='bf16')"),
    (
        "cx.run(kernel, B, A, dtype='bf16')",
        "A has 36 columns, B has 20 rows",
        "cx.run(kernel, A, B, dtype='bf16')",
    ),
    (
        "cx.run(kernel, 'A.npy', B)",
        "A is a str; A=numpy.load('A.npy')",
        "cx.run(kernel, A=A, B=B, dtype='bf16')",
    ),
    (
        "cx.run(kernel, A, None, dtype='bf16')",
        "B is None; give B as an array",
        "cx.run(kernel, A, B, dtype='bf16')",
    ),
    ("cx.run(kernel, A[None], B, dtype='bf16')", "A.reshape(20, 40)", "A[None].reshape(20, 40)"),
    (
        "cx.run(kernel, A.astype(object), B)",
        'A.astype("float64")',
        "A.astype(object).astype('float64')",
    ),
    (
        "cx.run(kernel, A, B, dtype={'a': 'bf16'})",
        "a of dtype; A, B",
        "cx.run(kernel, A, B, dtype={'A': 'bf16', 'B': 'bf16'})",
    ),
    (
        "cx.run(scaled, A, B, 2.0, np.ones(36), dtype='bf16')",
        'dtype={"A": "bf16", "B": "bf16", "bias": "f32"}',
        'cx.run(scaled, A, B, 2.0, np.ones(36), dtype={"A": "bf16", "B": "bf16", "bias": "f32"})',
    ),
    (
        "cx.run(kernel, A, B, dtype='bf16', target='bgm')",
        "did you mean bmg?",
        "cx.run(kernel, A, B, dtype='bf16', target='bmg')",
    ),
    (
        "cx.run(kernel, A, B, strict='yes')",
        "strict=True",
        "cx.run(kernel,A,B,dtype='bf16',strict=False)",
    ),
    (
        "cx.check(kernel, 'bmg', M=100)",
        "write sizes={'M': 100}",
        "cx.check(kernel, sizes={'M': 100})",
    ),
    (
        "cx.check(kernel, stride=66)",
        "it takes target; strides",
        "cx.check(kernel, strides={'A': 66})",
    ),
    ("cx.check('bmg', kernel)", "the target comes second", "cx.check(kernel, 'bmg')"),
    ("cx.verify(kernel, M=4)", "write params={'M': 4}", "cx.verify(kernel, params={'M': 4})"),
    ("cx.draw(3)", "draw(; an int cannot be drawn", "cx.draw(kernel, 'A')"),
    ("cx.draw('A', kernel)", "what is a Kernel", "cx.draw(kernel, 'A')"),
    (
        "cx.check('(4,8):(1,4)')",
        "the subject is a layout; check takes a kernel",
        "cx.draw('(4,8):(1,4)')",
    ),
    ("cx.verify('gem')", "did you mean gemm", "cx.verify('gemm')"),
    ("cx.draw(L((4, 8)), colour='red')", "colour as a function", "cx.draw(L((4, 8)), colour=abs)"),
    ("cx.emit(kernel, 'cuda')", '"opencl", "visa"', "cx.emit(kernel, 'opencl')"),
    ("cx.explain(mma)", "explain its atoms", "cx.explain(op)"),
    (
        "cx.explain('compositon', L(4), L(2))",
        "did you mean composition",
        "cx.explain('composition', L(4), L(2))",
    ),
    ("cx.diff(kernel, mma)", "diff(kernel.mma, mma)", "cx.diff(kernel.mma, mma)"),
    ("cx.diff(mma, mma, 'E')", 'unknown operand; "A", "B"', "cx.diff(mma, mma, 'A')"),
    (
        "cx.diff(kernel, kernel, sizes=(1, 2, 3))",
        "sizes must map names to integers",
        "cx.diff(kernel, kernel, sizes={'M': 1, 'N': 2, 'K': 3})",
    ),
    ("cx.to_json([L(4)])", "to_json(tuple(values))", "cx.to_json(tuple([L(4)]))"),
    ("cx.from_json('gemm.json')", "pathlib.Path('gemm.json').read_text()", "cx.from_json(doc)"),
    ("cx.from_json(doc.replace('stride', 'strid'))", 'write "stride"', "cx.from_json(doc)"),
    ("cx.esimd.launch(3)", "not a function; def kernel(item", "cx.esimd.launch(lambda item: None)"),
    ("cx.esimd.simd(16, np.float32)", "not a number of elements", "cx.esimd.simd(np.float32, 16)"),
    (
        "cx.esimd.launch(lambda item, p: p[0], np.zeros(16, np.float32))",
        "a pointer has no elements; block_load(T, N, p + 0)",
        "cx.esimd.launch(lambda item, p: block_load(float_, 16, p + 0), np.zeros(16, np.float32))",
    ),
    ("cx.get_target('bgm')", "did you mean bmg?", "cx.get_target('bmg')"),
]


def demand_words(message: str, words: str) -> None:
    """All phrases, which semicolons part, occur in one line; of those parted by | one."""
    assert "\n" not in message
    for phrase in words.split("; "):
        assert any(one in message for one in phrase.split("|")), message


@pytest.mark.long
def test_a_prefetch_that_does_not_fit_is_refused_in_a_short_line() -> None:
    """However long the names and the indices of what it is given are."""
    far = cx.kernel.Index("M")
    for i in range(12):
        far = (far * 3 + i) // 2 + cx.kernel.Index(f"size_number_{i}")
    ahead = cx.make_block_2d_prefetch(cx.make_block_2d_copy_A(SMALL, ("ld", 1)))
    for modes, at, along in (
        ((far, far), (0, 0), (1, 0)),
        ((far, far), (0, 0), tuple(range(300))),
        (("M", "K"), (far,), (0, 1)),
        (("M", "K"), (far, far), (0, 9)),
    ):
        k = cx.kernel.KernelBuilder("t" * 300, 2)
        k.input("A", "bf16", modes)
        places = tuple(cx.kernel.Index() + i for i in at)
        with pytest.raises(CuteError) as refused:
            k.add(cx.kernel.Prefetch(ahead, "A", places, along))
        assert len(str(refused.value)) <= 500
        assert "\n" not in str(refused.value)


@pytest.mark.whole
@pytest.mark.parametrize(("call", "words", "again"), ALGEBRA + ATOMS + KERNELS + READERS)
def test_a_mistake_is_named_and_its_way_out_runs(call: str, words: str, again: str) -> None:
    with pytest.raises(CuteError) as refused:
        eval(call, names())
    demand_words(str(refused.value), words)
    assert refused.value.fix
    eval(again, names())


COMMANDS = [
    ("emit --targt bmg", "unknown option '--targt'", "emit --help"),
    ("emit --dtype bf16", "'--dtype' is an option of gemm, run", "emit --type bf16"),
    ("emit --subgroups 8", "such as 8x4", "emit --subgroups 8x4"),
    ("emit --to visa --device cpu", 'use --to "opencl"', "emit --to opencl --device cpu"),
    ("gemm A.npy B.npy", "--output is missing", "gemm A.npy B.npy --dtype bf16 -o C.npy"),
    (
        "gemm deep.npy B.npy -o C.npy",
        "NumPy cannot hold it; found 70",
        "gemm A.npy B.npy --dtype bf16 -o C.npy",
    ),
    ("run g.json A=A.npy B=B.npy", '--dtype "bf16"', "run g.json A=A.npy B=B.npy --dtype bf16"),
    (
        "run g.json A=3 B=B.npy",
        "3 is a number; write A=A.npy",
        "run g.json A=A.npy B=B.npy --dtype bf16",
    ),
    (
        "run A.npy A=A.npy",
        "the file has an array",
        "run g.json A=A.npy B=B.npy --dtype bf16",
    ),
    ("check (4,8):(1,4)", "the subject is a layout; check takes", "draw (4,8):(1,4)"),
    ("verify gem", "did you mean gemm", "verify gemm"),
    ("layout (4,8);(1,4)", "column 6", "layout (4,8):(1,4)"),
    ("layout compose(4:1,2:1)", "did you mean composition?", "layout composition(4:1,2:1)"),
    ("check g.jsn", "did you mean g.json?", "check g.json"),
    ("atoms --bits 17", "bits cannot be 17; use 2, 4, 8, 16", "atoms --bits 16 --kind store"),
    (
        "run g.json A.npy B.npy --dtype bf16",
        "write A=A.npy",
        "run g.json A=A.npy B=B.npy --dtype bf16",
    ),
    (
        "atoms --operand B",
        "--feeds 'XE_DPAS_TT<8,f32,bf16>'",
        "atoms --feeds XE_DPAS_TT<8,f32,bf16>",
    ),
    ("gem A.npy B.npy", "Did you mean 'gemm'?", "gemm A.npy B.npy --dtype bf16 -o C.npy"),
]


def test_a_tiling_that_subgroups_do_not_share_is_named_by_its_numbers() -> None:
    nine = cx.workgroup_mma(OP, (24, 48, 32), ((3, 3, 1), (3, 1, 0)))
    with pytest.raises(CuteError, match="8 blocks of 3 x 32 are not shared evenly by 9 subgroups"):
        cx.kernel.gemm(nine)
    assert cx.kernel.gemm(nine, stages=0)
    with pytest.raises(CuteError, match="use 16 or 32"):
        cx.TiledMma(SMALL.atom, cx.Layout((2, 4, 1), (4, 1, 0)), (8, 64, 16))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Arrays, one of them with a header of 70 dimensions, and a kernel."""
    where = tmp_path_factory.mktemp("mistakes")
    np.save(where / "A.npy", NAMES["A"])
    np.save(where / "B.npy", NAMES["B"])
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({'1, ' * 70}), }}\n".encode()
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
    (where / "deep.npy").write_bytes(start + header + bytes(4))
    (where / "g.json").write_text(cx.to_json(NAMES["kernel"]))
    return where


@pytest.mark.whole
@pytest.mark.parametrize(("line", "words", "again"), COMMANDS)
def test_a_mistake_in_a_shell_is_named_and_its_way_out_runs(
    line: str, words: str, again: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    outcome = CliRunner().invoke(main, line.split())
    assert outcome.exit_code == 2
    said = re.split(r"[Ee]rror: ", outcome.output, maxsplit=1)[1]
    demand_words(said.partition("\n")[0], words)
    assert CliRunner().invoke(main, again.split()).exit_code == 0
