"""Floor 7: kernels written line by line, as on paper."""
