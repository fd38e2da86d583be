"""The vISA manual's pseudo-code, transcribed line by line: a second authority for the formulas.

Nothing here is used by the package. Where the package's machine adds something that the
pseudo-code does not say (surfaces that end, packed heights that do not fill a dword), this file
does not.
"""

from __future__ import annotations

GRF_SIZE_BYTES = 64

Image = dict[int, tuple[int, int] | None]
"""Register element index → (x, y) in the block row and column, or None for a zero."""


def round_up_pow2(n: int) -> int:
    return 1 if n <= 1 else 2 * round_up_pow2((n + 1) // 2)


def round_to_multiple_of(unit: int, n: int) -> int:
    return n if n % unit == 0 else n + unit - n % unit


def load_block2d(  # noqa: C901 - one function in the document too
    bits: int, B: int, W: int, H: int, transpose: bool = False, transform: bool = False
) -> Image:
    """LSC_UNTYPED.md, LOAD_BLOCK2D: what the destination registers hold."""
    dst: Image = {}
    elems_per_dword = max(1, 32 // bits)
    elems_per_reg = GRF_SIZE_BYTES * 8 // bits

    def load_elem(dst_off: int, b: int, y: int, x: int) -> None:
        dst[dst_off] = (b * W + x, y)

    def load_row_span(grf_off: int, b: int, y: int, x: int, n: int) -> None:
        for i in range(n):
            load_elem(grf_off + i, b, y, x + i)

    def load_col_span(grf_off: int, b: int, y: int, x: int, n: int) -> None:
        for i in range(n):
            load_elem(grf_off + i, b, y + i, x)

    def fill_grf_zeros(dst_off: int, n: int) -> None:
        for i in range(n):
            dst[dst_off + i] = None

    grf_row_size = H if transpose else W
    grf_row_pitch = round_up_pow2(grf_row_size)
    grf_block_size = grf_row_pitch * (W if transpose else H)
    grf_block_pitch = round_to_multiple_of(elems_per_reg, grf_block_size)

    for b in range(B):
        block = b * grf_block_pitch
        if not transpose and not transform:
            for y in range(H):
                grf_row_start = block + y * grf_row_pitch
                load_row_span(grf_row_start, b, y, 0, W)
                fill_grf_zeros(grf_row_start + W, grf_row_pitch - W)
        elif not transpose and transform:
            for y in range(0, H, elems_per_dword):
                row = block + y * grf_row_pitch
                for x in range(W):
                    load_col_span(row + x * elems_per_dword, b, y, x, elems_per_dword)
                fill_grf_zeros(row + W * elems_per_dword, elems_per_dword * (grf_row_pitch - W))
        elif transpose and not transform:
            for x in range(W):
                load_col_span(block + x * grf_row_pitch, b, 0, x, H)
                fill_grf_zeros(block + x * grf_row_pitch + H, grf_row_pitch - H)
        else:
            for x in range(0, W, elems_per_dword):
                row = block + x * grf_row_pitch
                for y in range(H):
                    load_row_span(row + y * elems_per_dword, b, y, x, elems_per_dword)
                fill_grf_zeros(row + H * elems_per_dword, elems_per_dword * (grf_row_pitch - H))
        fill_grf_zeros(block + grf_block_size, grf_block_pitch - grf_block_size)
    return dst
