"""Memory whose bytes are made when they are touched."""

from __future__ import annotations

import numpy as np

from pycute_xe.machine.memory import PAGE, Pages


def bytes_of(first: np.ndarray) -> np.ndarray:
    """Every byte is its index, modulo 251."""
    return ((first[:, None] + np.arange(PAGE)) % 251).astype(np.uint8)


def test_a_page_is_kept_as_it_was_before_it_was_written() -> None:
    pages = Pages(1 << 40, bytes_of)
    at = np.array([(1 << 39) + 5, 3, 700])
    pages[at] = np.array([1, 2, 3], np.uint8)
    where = pages.rooms(at)
    assert pages.room[where].tolist() == [1, 2, 3]
    assert pages.first[where].tolist() == (at % 251).tolist()
    assert pages.indices_of(where).tolist() == at.tolist()
    assert [pages.index_of(int(place)) for place in where] == at.tolist()


def test_more_pages_than_there_is_room_for_move_nothing() -> None:
    pages = Pages(1 << 40, bytes_of)
    pages[np.array([9])] = np.array([250], np.uint8)
    many = np.arange(1000) * PAGE + 17
    assert pages[many].tolist() == (many % 251).tolist()
    assert pages[np.array([9, 10])].tolist() == [250, 10]
