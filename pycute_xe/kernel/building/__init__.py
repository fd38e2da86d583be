"""Kernels written line by line, as on paper.

Each call on a `builder` adds a statement to a `draft`, which is checked at once, so that the line
that is wrong is the line that is refused. `build` makes the same `Kernel` that a kind would.
"""
