"""Operations on symbolic layouts: what they are given, and the assumptions on each symbol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from pycute_xe import algebra
from pycute_xe.algebra import (
    blocked_product,
    coalesce,
    complement,
    composition,
    flat_divide,
    left_inverse,
    logical_divide,
    logical_product,
    raked_product,
    recast_layout,
    right_inverse,
    tile_to_shape,
    tiled_divide,
    upcast,
    zipped_divide,
    zipped_product,
)
from pycute_xe.basis import E
from pycute_xe.layout import (
    Layout,
    cosize,
    flatten,
    make_identity_layout,
    make_ordered_layout,
    size,
    slice_,
)
from pycute_xe.symbolic import symbol

M = symbol("M", multiple_of=16)
N = symbol("N")
K = symbol("K", multiple_of=4)
P = symbol("pad", at_least=0)
T = symbol("T", at_least=2, at_most=5)


def chosen(random: Random) -> dict[str, int]:
    """Numbers that meet the assumptions, small enough to list every offset."""
    return {
        "M": 16 * random.randint(1, 4),
        "N": random.randint(1, 9),
        "K": 4 * random.randint(1, 5),
        "pad": random.randint(0, 7),
        "T": random.randint(2, 5),
    }


@dataclass(frozen=True)
class Case:
    """An operation, its operands and what the result prints as."""

    operation: Callable[..., Any]
    operands: tuple[Any, ...]
    printed: str

    def result(self) -> Any:
        """Apply the operation to the symbols."""
        return self.operation(*self.operands)


ROW = Layout((M, N), (N, 1))
COLUMN = Layout((M, N))
PADDED = Layout((M, N), (1, M + P))
A = Layout((M, K), (K, 1))

CASES: Mapping[str, Case] = {
    "size": Case(size, (PADDED,), "M*N"),
    "cosize": Case(cosize, (PADDED,), "M*N + N*pad - pad"),
    "coalesce: compact": Case(coalesce, (COLUMN,), "M*N:1"),
    "coalesce: padded": Case(coalesce, (PADDED,), "(M,N):(1,M + pad)"),
    "coalesce: nested": Case(
        coalesce, (Layout(((4, M), (1, N)), ((1, 4), (7, 4 * M))),), "4*M*N:1"
    ),
    "coalesce: by mode": Case(
        coalesce, (Layout(((4, M), (K, N)), ((1, 4), (1, K))), (1, 1)), "(4*M,K*N):(1,1)"
    ),
    "filter": Case(algebra.filter, (Layout((M, T, N), (0, 1, T)),), "N*T:1"),
    "flatten": Case(flatten, (Layout(((4, M), N)),), "(4,M,N):(1,4,4*M)"),
    "make_ordered_layout": Case(make_ordered_layout, ((M, N, K), (2, 0, 1)), "(M,N,K):(K*N,1,N)"),
    "slice": Case(slice_, ((3, None), PADDED), "(N):(M + pad)"),
    "composition: a tile of a column": Case(composition, (ROW, Layout(16)), "16:N"),
    "composition: a row": Case(composition, (ROW, Layout(N, M)), "N:1"),
    "composition: another shape": Case(
        composition, (ROW, Layout((M // 16, 16), (16, 1))), "(M//16,16):(16*N,N)"
    ),
    "composition: across modes": Case(
        composition, (PADDED, Layout((16, M * N // 16))), "(16,(M//16,N)):(1,(16,M + pad))"
    ),
    "composition: transpose": Case(composition, (COLUMN, Layout((N, M), (M, 1))), "(N,M):(M,1)"),
    "composition: by mode": Case(composition, (PADDED, (Layout(4, 4), N)), "(4,N):(4,M + pad)"),
    "composition: coordinates": Case(
        composition,
        (make_identity_layout((M, N)), Layout((16, M // 16), (1, 16))),
        "(16,M//16):(1@0,16@0)",
    ),
    "composition: basis strides": Case(
        composition, (PADDED, Layout((N, 4), (E(1), 4 * E(0)))), "(N,4):(M + pad,4)"
    ),
    "complement: row-major": Case(complement, (ROW, T * M * N), "T:M*N"),
    "complement: gaps": Case(complement, (Layout((4, N), (1, M)), M * N), "M//4:4"),
    "complement: rounded up": Case(complement, (Layout(16), N), "(N + 15)//16:16"),
    "complement: of every other": Case(complement, (Layout(M, 2), 4 * M), "(2,2):(1,2*M)"),
    "logical_divide: a vector": Case(logical_divide, (COLUMN, Layout(16)), "(16,M*N//16):(1,16)"),
    "logical_divide: a matrix": Case(
        logical_divide, (ROW, Layout(16)), "(16,(M//16,N)):(N,(16*N,1))"
    ),
    "zipped_divide": Case(zipped_divide, (A, (16, 4)), "((16,4),(M//16,K//4)):((K,1),(16*K,4))"),
    "zipped_divide: past the end": Case(
        zipped_divide, (ROW, (16, 4)), "((16,4),(M//16,(N + 3)//4)):((N,1),(16*N,4))"
    ),
    "tiled_divide": Case(
        tiled_divide,
        (Layout((M, K), (1, M + P)), (Layout((2, 4), (1, 4)), 4)),
        "(((2,4),4),(2,M//16),K//4):(((1,4),M + pad),(2,16),4*M + 4*pad)",
    ),
    "flat_divide": Case(flat_divide, (A, (8, K)), "(8,K,M//8,1):(K,1,8*K,0)"),
    "logical_product": Case(
        logical_product, (Layout((M, 4), (4, 1)), Layout(N)), "((M,4),N):((4,1),4*M)"
    ),
    "logical_product: with gaps": Case(
        logical_product, (Layout((2, K), (1, 8)), Layout(4)), "((2,K),4):((1,8),2)"
    ),
    "zipped_product": Case(
        zipped_product, (Layout(8), Layout((N, T), (T, 1))), "(8,(N,T)):(1,(8*T,8))"
    ),
    "blocked_product": Case(
        blocked_product,
        (Layout((4, 16), (16, 1)), Layout((K, N))),
        "((4,K),(16,N)):((16,64),(1,64*K))",
    ),
    "raked_product": Case(
        raked_product,
        (Layout((4, 16), (16, 1)), Layout((K, N))),
        "((K,4),(N,16)):((64,16),(64*K,1))",
    ),
    "tile_to_shape": Case(
        tile_to_shape,
        (Layout((8, 4), (4, 1)), (M, K)),
        "((8,M//8),(4,K//4)):((4,32),(1,4*M))",
    ),
    "right_inverse: row-major": Case(right_inverse, (ROW,), "(N,M):(M,1)"),
    "right_inverse: permuted": Case(
        right_inverse, (Layout((M, N, T), (T, M * T, 1)),), "(T,M*N):(M*N,1)"
    ),
    "left_inverse: row-major": Case(left_inverse, (ROW,), "(N,M):(M,1)"),
    "left_inverse: padded": Case(left_inverse, (PADDED,), "(M + pad,N):(1,M)"),
    "upcast": Case(upcast, (Layout((K, M), (M, 1)), 4), "(K,M//4):(M//4,1)"),
    "recast_layout": Case(recast_layout, (Layout((K, N), (1, K)), 16, 64), "(K//4,N):(1,K//4)"),
}
