"""Snapshots: when none is taken, what has arrived of one, what an install leaves (KIP-630)."""

import pytest

from sim.protocol.events import SnapshotInstalled
from sim.protocol.replication import Replica
from sim.protocol.replication.messages import Answer, SnapshotId
from sim.protocol.replication.replica import Snapshot
from sim.protocol.replication.snapshots import (
    answer_fetch_snapshot,
    delete_prefix,
    install,
    receive_snapshot_chunk,
    snapshot_request,
    take_snapshot,
)
from sim.protocol.rules import Rules
from tests.replication.replicas import RULES, bases, batch, elect, fetch, leading, with_log


def source_with_snapshot() -> Replica:
    """A leader with three records, a snapshot of all, and no log below its end."""
    replica = Replica("r1")
    for offset, key in enumerate("abc"):
        replica.log.append(batch(offset, key), now_ms=0)
    elect(replica, epoch=1)
    take_snapshot(replica, 3, rules=RULES)
    delete_prefix(replica, 3)
    return replica


def chunk(source: Replica, fetcher: Replica, entries: int | None = None) -> list[object]:
    """One chunk, fetched."""
    request = snapshot_request(fetcher, max_entries=entries)
    assert request is not None
    response = answer_fetch_snapshot(source, request, rules=RULES)
    return receive_snapshot_chunk(fetcher, response, rules=RULES).events


@pytest.mark.parametrize("end", [0, 4])
def test_no_snapshot_is_taken_of_nothing_or_above_the_log_end(end: int) -> None:
    assert take_snapshot(leading(records=3), end, rules=RULES) == []


def downloading() -> tuple[Replica, Replica]:
    """A leader with a snapshot of three records, and a follower that has fetched one of them."""
    source, fetcher = source_with_snapshot(), Replica("r2")
    fetch(source, fetcher)
    chunk(source, fetcher, 1)
    return source, fetcher


def arrived(fetcher: Replica) -> int | None:
    """How many records of a snapshot there are; None = it fetches none."""
    return None if fetcher.download is None else len(fetcher.download.received)


def test_a_chunk_that_comes_again_is_not_taken_again() -> None:
    source, fetcher = downloading()
    request = snapshot_request(fetcher, max_entries=1)
    assert request is not None
    response = answer_fetch_snapshot(source, request, rules=RULES)
    for _ in range(2):
        receive_snapshot_chunk(fetcher, response, rules=RULES)

    assert arrived(fetcher) == 2


@pytest.mark.parametrize(("epoch", "kept"), [(1, 1), (2, 0)])
def test_what_has_arrived_of_a_snapshot_is_kept_within_its_epoch_alone(
    epoch: int, kept: int
) -> None:
    """Though the same snapshot is offered in the next one (FollowerState.close)."""
    source, fetcher = downloading()
    elect(source, epoch=epoch)
    fetch(source, fetcher)

    assert arrived(fetcher) == kept


def test_a_log_that_a_cut_emptied_is_of_the_epoch_of_its_snapshot() -> None:
    """Otherwise a new leader would take it for one of before its own oldest snapshot."""
    source, fetcher = source_with_snapshot(), Replica("r2")
    fetcher.log.append(batch(0, "a"), now_ms=0)
    fetch(source, fetcher)
    chunk(source, fetcher, 2)
    assert bases(fetcher) == [0]
    fetch(source, fetcher)  # keeps what has arrived
    assert isinstance(chunk(source, fetcher, 2)[-1], SnapshotInstalled)
    log = fetcher.log
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (3, 3, 3)
    assert [tuple(entry) for entry in log.epochs.entries] == [(1, 3)]
    assert (fetcher.first_dirty_offset, fetcher.download) == (3, None)
    source.log.append(batch(3, epoch=1), now_ms=0)
    fetch(source, fetcher)

    log.truncate_to(3)
    assert (log.epochs.latest, fetcher.last_fetched_epoch) == (-1, 1)


# Which snapshots a replica takes.


def replica_with_a_snapshot_of(end_offset: int, epoch: int) -> Replica:
    """A replica that installed a snapshot and has copied nothing since."""
    replica = Replica("r1")
    id_ = SnapshotId(end_offset, epoch)
    replica.log.reset_to(end_offset, epoch)
    replica.snapshots[id_] = Snapshot(id_, ())
    return replica


def test_an_installed_snapshot_is_not_taken_again() -> None:
    """The epoch of its last record is not in the log any more; its id says it."""
    replica = replica_with_a_snapshot_of(7, 3)

    assert take_snapshot(replica, 7, rules=Rules()) == []
    assert list(replica.snapshots) == [SnapshotId(7, 3)]


def test_who_begins_with_a_snapshot_that_ends_below_a_removed_tombstone_reads_on() -> None:
    """It would begin with the same snapshot if it was rebuilt; who is above it misses something."""
    source, new, late = source_with_snapshot(), Replica("r2"), with_log("r3", 1, 1, 1, 1)
    for offset in (3, 4):
        source.log.append(batch(offset), now_ms=0)
    source.removed_tombstone_end = 5
    rules = RULES.with_values({"lag_guard": "reset_local"})
    fetch(source, new, rules=rules)
    chunk(source, new)

    assert [fetch(source, new, rules=rules) for _ in range(2)] == [Answer.RECORDS] * 2
    assert fetch(source, late, rules=rules) is Answer.REBUILD


def test_an_installed_snapshot_leaves_nothing_of_the_passes_over_the_log_before() -> None:
    follower = with_log("r2", 1, 1, 1, 1, 1)
    follower.begun_offset, follower.last_cleaning = 5, (4, 1_000)
    rules = Rules.of(snapshot_install="whatever_arrives")
    install(follower, Snapshot(SnapshotId(3, 1), ()), rules=rules)

    assert (follower.log.log_end_offset, follower.begun_offset) == (3, 3)
    assert follower.last_cleaning is None
