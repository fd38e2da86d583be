"""Kinds of kernels: arrangements of statements with a specification.

A kind of GEMM is a `recipe`: a main loop (`mainloop`, one `side` for each operand, `transforms`
what is scaled), a step of its own, an `epilogue` (`vectors`, `epilogue_tiles`) and a schedule.
`gemms`, `top_k` and `chained_gemm` are such recipes, and `whole_tiles` is what a plan does with one
tile; `parts` are what they share. `attention` is put together from its form, loop and tile, and
`attention_combine` adds up its parts. What comes out is a `Kernel`; a kind needs no reader.
"""
