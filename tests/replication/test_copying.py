"""What comes along with a copy: pieces of a size, epochs, a snapshot that is there already."""

import pytest

from sim.protocol.events import EpochCacheChanged
from sim.protocol.log.epochs import EpochEntry
from sim.protocol.replication import Replica
from sim.protocol.replication.follower import fetch_request, receive_fetch
from sim.protocol.replication.leader import answer_fetch
from sim.protocol.rules import Rules
from tests.replication.replicas import RULES, ask, bases, batch, elect, leading

COPIED = RULES.with_values({"epoch_cache": "copied"})
SIZE = batch(0).size_bytes


@pytest.mark.parametrize(
    ("max_bytes", "copied"),
    [(None, 3), (1, 1), (SIZE, 1), (2 * SIZE - 1, 1), (2 * SIZE, 2), (100 * SIZE, 3)],
)
def test_a_follower_copies_so_many_bytes_at_once_and_one_batch_at_least(
    max_bytes: int | None, copied: int
) -> None:
    source, fetcher = leading(records=3), Replica("r2")
    request = fetch_request(fetcher, max_bytes=max_bytes)

    response = answer_fetch(source, request, rules=RULES).response

    assert len(response.batches) == copied


def cleaned_epochs() -> Replica:
    """A leader of epochs 1 (offset 0), 2 (offset 1, cleaned away) and 3 (offsets 2 and 3)."""
    source = leading(records=1)
    elect(source, epoch=3)
    source.log.append(batch(2, epoch=3), now_ms=0)
    source.log.append(batch(3, epoch=3), now_ms=0)
    source.log.epochs.entries = [EpochEntry(1, 0), EpochEntry(2, 1), EpochEntry(3, 2)]
    return source


def told(source: Replica, fetcher: Replica, rules: Rules, most: int | None) -> list[list[int]]:
    """What answers tell of the cache until nothing is left to copy, and once more: its epochs."""
    changes = []
    for _ in range(len(bases(source)) + 1):
        response, _ = ask(source, fetcher, most=most, rules=rules)
        events = receive_fetch(fetcher, response, rules=rules, now_ms=0).events
        caches = [event.epochs for event in events if isinstance(event, EpochCacheChanged)]
        assert all(cache == tuple(fetcher.log.epochs.entries) for cache in caches)
        changes += [[entry.epoch for entry in cache] for cache in caches]
    return changes


@pytest.mark.parametrize(
    ("rules", "most", "changes"),
    [
        (COPIED, None, [[1, 2, 3]]),
        (COPIED, 1, [[1, 2], [1, 2, 3]]),
        (RULES, None, []),
        (RULES, 1, []),
    ],
)
def test_an_event_tells_the_epochs_that_no_batch_tells(
    rules: Rules, most: int | None, changes: list[list[int]]
) -> None:
    """With one batch at a time epoch 2 comes with the first, and is still there after the last."""
    assert told(cleaned_epochs(), Replica("r2"), rules, most) == changes
