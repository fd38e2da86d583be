"""Kinds that serving stacks run beside products and attention, each a recipe of some lines.

They are written with `KernelBuilder`: rows that are brought to one size, summed or quantised
(`rows`, `norms`, `softmax_rows`, `quantize_rows`, `argmax_rows`, `gates`), `rope`, writes into a
cache, products with scales or lengths of their own (`scaled_gemm`, `mqa_logits`, `convolution`,
`moe`), what experts need around them (`moe_routing`, `moe_rows`), states (`linear_attention`,
`delta_rule`; `chunks` takes a chunk of tokens at a time, whose triangle `solve_tril` inverts), and
tiles that a counter deals out (`dealt`). `ragged` stores rows that end anywhere.
"""
