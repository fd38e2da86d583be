"""Tables of where elements come from: taken at other places, with entries that are alike kept once.

The law is written element by element: a leaf at other places holds what the leaf held there.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from pycute_xe.errors import UndecidableError
from pycute_xe.holding import nodes as placing
from pycute_xe.holding.nodes import Leaf
from pycute_xe.kernel import Index

Ints = NDArray[np.int64]


def made(rng: np.random.Generator, subgroups: int, slots: int, bound: dict[str, int]) -> Leaf:
    """A leaf of few different entries, some of which do not change along an axis."""
    shape = (subgroups, slots, *bound.values())
    narrow = tuple(int(n if rng.integers(0, 2) else 1) for n in shape)
    table = np.broadcast_to(rng.integers(0, 3, (*narrow, 2)), (*shape, 2))
    return Leaf("A", (Index(), Index()), np.array(table), np.arange(slots), tuple(bound))


def taken(x: Leaf, positions: Ints, subgroups: Ints | None, bound: tuple[str, ...]) -> Leaf:
    found = placing.relocated(x, positions, subgroups, bound)
    assert isinstance(found, Leaf)
    return found


def at(x: Leaf, subgroup: int, position: int, values: dict[str, int]) -> list[int]:
    """The element of a leaf for values of variables, by the words of `Leaf`."""
    inner = tuple(values[name] for name in x.bound)
    return x.table[(subgroup, x.select[position], *inner)].tolist()


@pytest.mark.parametrize("seed", range(40))
def test_a_leaf_at_other_places_holds_what_it_held_there(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = made(rng, 3, 5, {"q": 4})
    positions = rng.integers(0, 5, (6, 2, 3))
    if seed % 3 == 0:
        positions[:] = positions[:, :1]  # nothing changes by the first new variable
    found = taken(x, positions, None, ("b", "r"))
    for s, p, b, r, q in product(range(3), range(6), range(2), range(3), range(4)):
        values = {"b": b, "r": r, "q": q}
        assert at(found, s, p, values) == at(x, s, int(positions[p, b, r]), values)


@pytest.mark.parametrize("seed", range(40))
def test_a_leaf_of_other_subgroups_holds_what_they_held(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = made(rng, 3, 5, {"q": 4})
    positions, subgroups = rng.integers(0, 5, (2, 6, 3)), rng.integers(0, 3, (2, 6, 3))
    if seed % 2:
        positions[:], subgroups[:] = positions[..., :1], subgroups[..., :1]
    found = taken(x, positions, subgroups, ("b",))
    for s, p, b, q in product(range(2), range(6), range(3), range(4)):
        where = int(subgroups[s, p, b]), int(positions[s, p, b])
        assert at(found, s, p, {"b": b, "q": q}) == at(x, *where, {"q": q})


def test_what_does_not_change_by_a_variable_takes_no_room_for_it() -> None:
    """Sums inside sums: a table of 2**45 numbers, were every variable an axis of it."""
    x = Leaf("A", (Index(),), np.arange(32)[None, :, None], np.arange(32))
    for name in ("a", "b", "c", "d"):
        x = taken(x, np.tile(np.arange(32)[:, None], (1, 1024)), None, (name,))
    assert (x.bound, x.table.size) == ((), 32)


def test_rows_that_agree_in_their_keys_by_chance_stay_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Zeros:
        def integers(self, low: int, high: int, count: int) -> Ints:
            del low, high
            return np.zeros(count, dtype=np.int64)

    monkeypatch.setattr(np.random, "default_rng", lambda _: Zeros())
    rows = np.array([[1, 2], [3, 4], [1, 2], [0, 0]])
    first, number = placing.distinct(rows)
    assert np.array_equal(rows[first[number]], rows)
    assert first.size == 3


def test_a_table_beyond_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here every variable changes what is taken: the sum of all of them."""
    monkeypatch.setattr(placing, "MOST_ELEMENTS", 4096)
    x = Leaf("A", (Index(),), np.arange(256)[None, :, None], np.arange(256))
    positions = np.arange(128)[:, None] + np.arange(128)
    with pytest.raises(UndecidableError, match="inside 1 sums, takes a table of 16384 numbers"):
        placing.relocated(x, positions, None, ("a",))
