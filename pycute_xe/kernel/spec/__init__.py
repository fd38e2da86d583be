"""What a kernel should compute, in index notation.

Text (`equations`, `reading`) becomes an `expression`; a `specification` has one for each output and
asks whether it stays inside its operands. What a function or a reduction is stands in its row
(`functions`), for every reader. `evaluation` gives the value on arrays, from the notation alone.
Provers compare it with what `pycute_xe.holding` says of the program; no reader makes the one from
the other.
"""
