"""Floor 7: the program of a kernel: operands, fragments, indices, statements."""
