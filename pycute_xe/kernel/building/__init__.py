"""Kernels written line by line, as on paper."""
