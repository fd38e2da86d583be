"""What is held: by each register slot and memory element at each statement, as maps.

A kernel comes in, what it stores comes out as `nodes`, expressions over elements of operands, for
all work-groups and sizes at once, whose `elements` are moved. `following` walks the statements by
the table `HOLDS` of `contents`; `arithmetic` does maps, reductions and products, `loops`,
`recurrences` and `periods` do loops, `contents`, `shared` and `memory` what is stored and loaded
back, over the finite maps of `tables`, `columns` and `likeness`. `events`, `ordering` and
`exploration` say what barriers order; `patience` counts the work. Provers and the fast executor
take the terms, checks the order of barriers, languages the tables; this package knows none of them.
"""
