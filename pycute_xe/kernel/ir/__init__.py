"""The program of a kernel: operands, fragments, indices, statements."""
