"""Floor 9: kernels whose maps cancel, as products and functions of whole matrices."""
