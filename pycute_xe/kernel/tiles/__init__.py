"""How tiles lie in the registers of subgroups, which kinds and the builder share.

`slots` gives the coordinate of each register element of an MMA or a copy; `spread` deals a tile of
an operand out to subgroups and chooses the copies that follow. Kinds put both into statements.
"""
