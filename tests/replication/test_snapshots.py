"""Snapshots: take, delete the prefix, serve in chunks, fetch, install (KIP-630)."""

import pytest

from sim.replication import Replica
from sim.replication.messages import SnapshotId
from sim.replication.replica import restart
from sim.replication.snapshots.delete import delete_prefix
from sim.replication.snapshots.fetch import (
    answer_fetch_snapshot,
    receive_snapshot_chunk,
    snapshot_request,
)
from sim.replication.snapshots.take import take_snapshot
from sim.replication.truncation import start_following
from sim.trace import SnapshotFetchDropped, SnapshotInstalled
from tests.replication.replicas import RULES, bases, batch, elect, fetch, leading


def source_with_snapshot(keys: str = "abc") -> Replica:
    """A leader with a record per key, a snapshot of all, and no log below its end."""
    replica = Replica("r1")
    for offset, key in enumerate(keys):
        replica.log.append(batch(offset, key), now_ms=0)
    elect(replica, epoch=1)
    take_snapshot(replica, len(keys), rules=RULES)
    delete_prefix(replica, len(keys))
    return replica


def chunk(source: Replica, fetcher: Replica, entries: int | None = None) -> list[object]:
    """One chunk, fetched."""
    request = snapshot_request(fetcher, max_entries=entries)
    assert request is not None
    response = answer_fetch_snapshot(source, request, rules=RULES)
    return receive_snapshot_chunk(fetcher, response, rules=RULES).events


def test_a_snapshot_is_named_by_its_end_and_the_epoch_of_its_last_offset() -> None:
    replica = leading(records=2)
    elect(replica, epoch=3)
    replica.log.append(batch(2, epoch=3), now_ms=0)
    for end in (1, 2, 3):
        take_snapshot(replica, end, rules=RULES)

    assert list(replica.snapshots) == [SnapshotId(1, 1), SnapshotId(2, 1), SnapshotId(3, 3)]


@pytest.mark.parametrize("end", [0, 4])
def test_no_snapshot_is_taken_of_nothing_or_above_the_log_end(end: int) -> None:
    replica = leading(records=3)

    assert take_snapshot(replica, end, rules=RULES) == []


def test_a_snapshot_goes_on_from_the_one_the_log_starts_with() -> None:
    replica = source_with_snapshot("ab")
    replica.log.append(batch(2, "c"), now_ms=0)
    take_snapshot(replica, 3, rules=RULES)

    newest = replica.latest_snapshot()
    assert newest is not None
    assert [record.key for record in newest.records] == ["a", "b", "c"]


def test_deleting_a_prefix_drops_the_snapshots_that_end_below_the_new_start() -> None:
    replica = leading(records=3)
    for end in (1, 2, 3):
        take_snapshot(replica, end, rules=RULES)
    delete_prefix(replica, 2)

    assert [id_.end_offset for id_ in replica.snapshots] == [2, 3]
    assert delete_prefix(replica, 1) == []


def test_a_follower_fetches_a_snapshot_in_chunks_and_installs_it_with_the_last() -> None:
    source, fetcher = source_with_snapshot(), Replica("r2")
    fetcher.log.append(batch(0, "a"), now_ms=0)
    fetch(source, fetcher)

    chunk(source, fetcher, 2)
    assert bases(fetcher) == [0]
    events = chunk(source, fetcher, 2)
    assert isinstance(events[-1], SnapshotInstalled)
    log = fetcher.log
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (3, 3, 3)
    assert [tuple(entry) for entry in log.epochs.entries] == [(1, 3)]
    assert (fetcher.first_dirty_offset, fetcher.download) == (3, None)


def test_a_snapshot_without_keys_is_installed_by_its_only_chunk() -> None:
    source, fetcher = source_with_snapshot("a"), Replica("r2")
    [(id_, snapshot)] = source.snapshots.items()
    source.snapshots[id_] = snapshot._replace(records=())
    fetch(source, fetcher)
    chunk(source, fetcher, 5)

    assert fetcher.log.log_end_offset == 1


def test_another_fetch_of_the_same_snapshot_keeps_what_has_arrived() -> None:
    source, fetcher = source_with_snapshot(), Replica("r2")
    fetch(source, fetcher)
    chunk(source, fetcher, 1)
    fetch(source, fetcher)

    assert fetcher.download is not None
    assert len(fetcher.download.received) == 1


def test_a_part_is_dropped_when_the_snapshot_is_gone() -> None:
    source, fetcher = source_with_snapshot(), Replica("r2")
    fetch(source, fetcher)
    chunk(source, fetcher, 1)
    source.snapshots.clear()

    assert chunk(source, fetcher, 1) == [SnapshotFetchDropped("r2", 3, 1, "SNAPSHOT_NOT_FOUND")]
    assert fetcher.download is None


def test_a_part_is_dropped_by_a_restart_a_new_leader_or_a_new_epoch() -> None:
    for drops in ("restart", "follow", "epoch"):
        source, fetcher = source_with_snapshot(), Replica("r2")
        fetch(source, fetcher)
        chunk(source, fetcher, 1)
        if drops == "restart":
            restart(fetcher)
        elif drops == "follow":
            start_following(fetcher, 1, rules=RULES)
        else:
            elect(source, epoch=2)
            chunk(source, fetcher, 1)
        assert fetcher.download is None


def test_a_log_that_got_ahead_of_the_snapshot_is_kept() -> None:
    source, fetcher = source_with_snapshot(), Replica("r2")
    fetch(source, fetcher)
    for offset in range(4):
        fetcher.log.append(batch(offset), now_ms=0)

    events = chunk(source, fetcher)
    assert events[-1] == SnapshotFetchDropped("r2", 3, 1, "the log is ahead of it")
    assert fetcher.log.log_end_offset == 4


def test_a_shorter_log_of_a_later_epoch_is_replaced() -> None:
    """As after an unclean election: its owner led epoch 5 and is a follower again."""
    source, fetcher = source_with_snapshot(), Replica("r2")
    elect(fetcher, epoch=5)
    fetcher.leadership = None
    elect(source, epoch=6)
    fetch(source, fetcher)
    chunk(source, fetcher)

    assert fetcher.log.log_start_offset == 3


def test_a_log_that_a_cut_emptied_is_of_the_epoch_of_its_snapshot() -> None:
    """Otherwise a new leader would take it for one of before its own oldest snapshot."""
    source, fetcher = source_with_snapshot(), Replica("r2")
    fetch(source, fetcher)
    chunk(source, fetcher)
    source.log.append(batch(3, epoch=1), now_ms=0)
    fetch(source, fetcher)

    fetcher.log.truncate_to(3)

    assert fetcher.log.epochs.latest == -1
    assert fetcher.last_fetched_epoch == 1
