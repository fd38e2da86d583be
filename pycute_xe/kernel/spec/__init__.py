"""What a kernel should compute, in index notation.

Text (`parsing`, `equations`) becomes an `expression`; a `specification` has one for each output.
What a function or a reduction is stands in its row (`functions`, `reductions`), for every reader.
`inside` asks whether claims stay inside their operands; `evaluation` gives the value on arrays,
from the notation alone. Provers compare it with what `pycute_xe.holding` says of the program; no
reader makes the one from the other.
"""
