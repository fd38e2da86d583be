"""The program of a kernel: operands, fragments, indices, statements.

`operands` declares memory, registers and shared arrays; `statements` and `copies` are the kinds of
statements, each of which says in `touched` what it reads, writes and waits for. `program` holds the
parts and `Meanings`, the table that every reader fills; `checks` and `paths` refuse what does not
fit while `kernel` makes the value; `listing` prints it. For readers, `identities` renames a kernel
by what its names stand for, `trips` writes loops out, `roles` tells which subgroups do what, and
`named` which of them produce and consume at a named barrier.
"""
