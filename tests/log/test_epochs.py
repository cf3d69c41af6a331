"""The leader epoch cache: where each epoch starts and ends (KIP-101, KIP-279)."""

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


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (0, (0, 2)),
        (1, (1, 5)),
        (2, (1, 5)),
        (3, (3, 8)),
        (5, (3, 8)),
        (6, (6, 20)),
        (9, (6, 20)),
    ],
)
def test_an_epoch_ends_where_the_next_known_one_starts(asked: int, answer: tuple[int, int]) -> None:
    """An unknown one is answered by its floor, the newest ends at the log end."""
    assert cache((1, 2), (3, 5), (6, 8)).end_offset_for(asked, 20) == answer


@pytest.mark.parametrize(("offset", "epoch"), [(1, -1), (2, 1), (4, 1), (5, 3), (99, 3)])
def test_an_offset_was_written_in_the_last_epoch_that_starts_at_or_below_it(
    offset: int, epoch: int
) -> None:
    assert cache((1, 2), (3, 5)).epoch_at(offset) == epoch


@pytest.mark.parametrize(
    ("target", "left"), [(0, []), (5, [(1, 2)]), (6, [(1, 2), (3, 5)]), (2, []), (3, [(1, 2)])]
)
def test_truncation_drops_what_starts_at_or_above_it(
    target: int, left: list[tuple[int, int]]
) -> None:
    epochs = cache((1, 2), (3, 5))
    epochs.truncate_from(target)

    assert entries(epochs) == left
