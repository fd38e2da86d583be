from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from pycute_xe.arch.banks import Banks, banks, least_padding
from pycute_xe.arch.target import targets
from pycute_xe.errors import ShapeError, TargetError

SIXTEEN = Banks(16, 4)
addresses = st.lists(st.integers(0, 4096), min_size=1, max_size=32)
models = st.builds(Banks, st.sampled_from([1, 8, 16, 32]), st.sampled_from([2, 4, 8]))


def test_every_target_has_banks_and_names_who_says_so() -> None:
    for target in targets():
        assert [(b.count, b.width) for b in banks(target)] == [(16, 4), (32, 4)]
        assert all("guide" in b.source.lower() for b in banks(target))
    with pytest.raises(TargetError):
        banks("gtx")


def test_consecutive_words_meet_no_conflict() -> None:
    use = SIXTEEN.use(range(0, 64, 4), 4)
    assert use.words == (1,) * 16
    assert str(use) == "16 words in 1 turn of 16 banks, none lost"


def test_a_column_of_a_row_major_tile_is_all_in_one_bank() -> None:
    use = SIXTEEN.use(range(0, 16 * 256, 256), 2)
    assert use.words == (16,) + (0,) * 15
    assert str(use) == "16 words in 16 turns of 16 banks, 15 lost, in bank 0"
    # Half the turns with twice the banks: the sources disagree, the count says by how much.
    assert Banks(32, 4).use(range(0, 16 * 64, 64), 2).turns == 8
    assert SIXTEEN.use(range(0, 16 * 64, 64), 2).turns == 16


def test_broadcast_is_free() -> None:
    assert SIXTEEN.use([64] * 16, 4).turns == 1
    assert SIXTEEN.use([64, 66, 65, 67], 1).turns == 1


def test_a_block_takes_the_turns_its_size_needs_and_loses_none() -> None:
    use = SIXTEEN.use([128], 512)
    assert (use.turns, use.least, use.conflicts) == (8, 8, 0)


@given(models, addresses, st.integers(1, 16))
def test_each_word_is_counted_once_in_the_bank_of_its_bytes(
    model: Banks, where: list[int], nbytes: int
) -> None:
    use = model.use(where, nbytes)
    wanted = {a + i for a in where for i in range(nbytes)}
    for bank in range(model.count):
        mine = {byte // model.width for byte in wanted if model.bank(byte) == bank}
        assert use.words[bank] == len(mine)
    assert use.least <= use.turns


@given(models, addresses, st.integers(1, 8))
def test_order_and_repetition_do_not_matter(model: Banks, where: list[int], nbytes: int) -> None:
    assert model.use(where + where[::-1], nbytes) == model.use(where, nbytes)


@given(models, st.integers(1, 600), st.sampled_from([1, 8, 16, 32]), st.sampled_from([2, 4, 8]))
def test_the_least_padding_is_one_that_works_and_no_smaller_one_does(
    model: Banks, pitch: int, lanes: int, nbytes: int
) -> None:
    def lost(padding: int) -> int:
        return model.use([i * (pitch + padding) for i in range(lanes)], nbytes).conflicts

    found = least_padding(model, pitch, lanes, nbytes)
    smaller = range(0, 256 if found is None else found, 4)
    assert all(lost(padding) for padding in smaller)
    assert found is None or not lost(found)


def test_refusals() -> None:
    for wrong in [(0, 4), (16, 0)]:
        with pytest.raises(ShapeError, match="sizes must be positive"):
            Banks(*wrong)
    with pytest.raises(ShapeError, match="negative"):
        SIXTEEN.use([0, -4])
    with pytest.raises(ShapeError, match="at least one byte"):
        SIXTEEN.use([0], 0)
    with pytest.raises(ShapeError, match="sizes must be positive"):
        least_padding(SIXTEEN, 0)


def test_words_that_do_not_divide_by_the_banks_cost_one_turn_more() -> None:
    use = SIXTEEN.use(range(0, 68, 4), 4)
    assert (use.turns, use.least, use.conflicts) == (2, 2, 0)
