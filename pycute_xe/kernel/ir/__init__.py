"""The program of a kernel: operands, fragments, indices, statements.

`operands` declares memory, registers and shared arrays, and binds sizes by shapes; `statements` are
the kinds of statements, each of which says in `touched` what it reads, writes and waits for;
`named` has those at named barriers. `program` holds the parts and `Meanings`, the table that every
reader fills, tells which subgroups do what, and follows every path; `checks` and these paths
refuse what does not fit while `kernel` makes the value and says how much a run of it takes;
`listing` prints it. For readers, `identities` renames a kernel by what its names stand for, and
`trips` writes loops out.
"""
