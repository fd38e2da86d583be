"""A minimum in every reader, by the tests of reductions."""

from __future__ import annotations

import test_reductions as tests

tests.test_the_rows_are_these()
for kind in ("f32", "s32", "bf16"):
    tests.test_every_executor_and_the_specification_fold_alike("min", kind)
for how in ("min", "max"):
    tests.test_a_reduction_is_proved_to_be_itself_and_no_other("min", how)
    tests.test_texts_and_listings_name_it(how)
tests.test_a_loop_that_folds_is_proved("min", 1e30)
tests.test_masks_and_conversions_have_the_laws_of_minima()
