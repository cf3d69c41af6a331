"""The leader epoch cache: where each epoch starts (KIP-101, KIP-279).

Where one ends, and what a truncation leaves: as the oracle's book, `tests/check/test_promise.py`.
"""

import pytest

from sim.protocol.log.epochs import EpochEntry, LeaderEpochCache


def cache(*entries: tuple[int, int]) -> LeaderEpochCache:
    """A cache with (epoch, start offset) entries."""
    return LeaderEpochCache([EpochEntry(*entry) for entry in entries])


def entries(of: LeaderEpochCache) -> list[tuple[int, int]]:
    """Its entries."""
    return [tuple(entry) for entry in of.entries]  # type: ignore[misc]


@pytest.mark.parametrize(
    ("epoch", "start", "left"),
    [
        (4, 3, [(1, 0), (4, 3)]),
        (2, 7, [(1, 0), (2, 7)]),
        (3, 4, [(1, 0), (2, 3), (3, 4)]),
        (4, 0, [(4, 0)]),
    ],
)
def test_a_new_entry_drops_those_that_contradict_it(
    epoch: int, start: int, left: list[tuple[int, int]]
) -> None:
    epochs = cache((1, 0), (2, 3), (3, 5))
    epochs.assign(epoch, start)

    assert entries(epochs) == left


@pytest.mark.parametrize(("offset", "epoch"), [(1, -1), (2, 1), (4, 1), (5, 3), (99, 3)])
def test_an_offset_was_written_in_the_last_epoch_that_starts_at_or_below_it(
    offset: int, epoch: int
) -> None:
    assert cache((1, 2), (3, 5)).epoch_at(offset) == epoch
