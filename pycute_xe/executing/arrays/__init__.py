"""Terms evaluated on whole arrays: the fast executor.

`plans` follows a kernel once by `pycute_xe.holding`, and remembers what sizes and tables tell of a
run; `lifting` takes what each store holds into the coordinates of the stored tile, and what a loop
carries on, as `terms` whose places are integers over axes. `storing` makes one store of stores of
rows, and a block of work-groups for which tables say the same. `faults` looks for what would stop
the machine, from places alone. `evaluation` then gives each term its `values`, products among them;
`contracting` takes sums of factors apart; of what a loop carries on without a closed form
`scanning` has the coordinates, and `trips` follows it trip by trip. What has no term here runs on
the byte machine.
"""
