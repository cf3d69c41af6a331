"""What a restart makes of an interrupted install, and of files that are older than the log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.protocol.events import (
    EpochCacheChanged,
    ReplicaCrashed,
    ReplicaRestarted,
    SnapshotInstalled,
)
from sim.protocol.log import Log, LogConfig, Record, Segment
from sim.protocol.log.epochs import EpochEntry
from sim.protocol.replication import Replica
from sim.protocol.replication.leader import record_position
from sim.protocol.replication.messages import SnapshotId
from sim.protocol.replication.recovery import OldFiles, crash_with_files, recover
from sim.protocol.replication.replica import (
    Leadership,
    Snapshot,
    SnapshotDownload,
    crash,
    truncate,
)
from sim.protocol.replication.snapshots import install
from sim.protocol.rules import Rules
from tests.replication.replicas import RULES, batch, leading, with_log

FINISHED = Rules.of(install_recovery="finished")


@pytest.mark.parametrize(
    ("log_end", "log_epoch", "id_", "installed"),
    [
        (2, 1, SnapshotId(5, 1), True),
        (2, 1, SnapshotId(5, 2), True),
        (7, 1, SnapshotId(5, 2), True),
        (0, 1, SnapshotId(5, 1), True),
        (5, 1, SnapshotId(5, 1), False),
        (7, 1, SnapshotId(5, 1), False),
        (2, 3, SnapshotId(5, 2), False),
    ],
)
def test_a_snapshot_is_installed_that_is_in_a_later_epoch_or_above_the_log_end(
    log_end: int, log_epoch: int, id_: SnapshotId, *, installed: bool
) -> None:
    """KafkaMetadataLog.truncateToLatestSnapshot compares the last epoch first, then the end."""
    made = with_log("r2", *[log_epoch] * log_end)
    made.snapshots[id_] = Snapshot(id_, ())
    crash(made)
    events = recover(made, rules=FINISHED)

    expected = [ReplicaRestarted, SnapshotInstalled] if installed else [ReplicaRestarted]
    assert [event.__class__ for event in events] == expected
    assert made.log.log_end_offset == (5 if installed else log_end)
    assert made.log.log_start_offset == (5 if installed else 0)


def test_a_log_that_is_empty_after_an_install_has_the_epoch_of_its_snapshot() -> None:
    made, id_ = with_log("r2", 1, 1), SnapshotId(5, 1)
    install(made, Snapshot(id_, ()), rules=FINISHED)
    crash_with_files(made, rules=FINISHED, power_loss=True)
    events = recover(made, rules=FINISHED)

    assert [event.__class__ for event in events] == [ReplicaRestarted]
    assert (entries(made), made.last_fetched_epoch) == ([], 1)


def two_epochs() -> Replica:
    """Records 0 and 1 of epoch 1, record 2 of epoch 2; all but the last one committed and clean."""
    made = with_log("r2", 1, 1, 2)
    made.log.high_watermark = made.first_dirty_offset = 2
    return made


def entries(replica: Replica) -> list[tuple[int, int]]:
    return [tuple(entry) for entry in replica.log.epochs.entries]


@pytest.mark.parametrize(
    ("rule", "known", "lost", "told"),
    [
        ("from_batches", None, 0, []),
        ("from_batches", None, 1, []),
        ("from_batches", 1, 0, []),
        ("as_stored", None, 0, []),
        ("as_stored", 2, 0, []),
        ("as_stored", 1, 1, []),
        ("as_stored", 1, 0, [((1, 0),)]),
        ("as_stored", 0, 0, [()]),
        ("as_stored", None, 1, [((1, 0), (2, 2))]),
    ],
)
def test_a_restart_tells_its_epochs_where_they_are_not_those_of_what_is_left(
    rule: str, known: int | None, lost: int, told: list[tuple[tuple[int, int], ...]]
) -> None:
    rules = Rules.of(epoch_recovery=rule)
    made = two_epochs()
    crash_with_files(made, rules=rules, lost_batches=lost, old=OldFiles(epochs=known))
    events = recover(made, rules=rules)

    assert [event.epochs for event in events if isinstance(event, EpochCacheChanged)] == told


@given(
    epochs=st.lists(st.integers(0, 3), max_size=12).map(sorted),
    lost=st.integers(0, 12),
    known=st.integers(-1, 4),
    checkpoint=st.integers(0, 15),
)
def test_whatever_is_lost_the_cache_is_that_of_the_batches_and_the_watermark_in_the_log(
    epochs: list[int], lost: int, known: int, checkpoint: int
) -> None:
    made = with_log("r1", *epochs)
    made.log.high_watermark = len(epochs)
    old = OldFiles(high_watermark=checkpoint, epochs=known)
    crash_with_files(made, rules=Rules(), lost_batches=lost, old=old)
    recover(made, rules=Rules())

    left = epochs[: max(0, len(epochs) - lost)]
    assert entries(made) == [(epoch, left.index(epoch)) for epoch in sorted(set(left))]
    assert made.log.high_watermark == min(checkpoint, len(left))


def entries_of(segment: Segment) -> list[int]:
    """The last offsets that entries of a segment's offset index have, with one after each batch."""
    return segment.index.entry_ends(segment.batches, interval_bytes=0)


@given(st.lists(st.sampled_from([1, 2, 3, "reopened", "rolled", "flushed"]), max_size=12))
def test_a_crash_rebuilds_each_index_from_the_recovery_point_on_and_leaves_the_others(
    steps: list[int | str],
) -> None:
    """LogLoader.recoverLog: as if each batch had been appended by a call of its own."""
    made = Replica("r1", Log(LogConfig(indexes_calls=True)))
    log = made.log
    for step in steps:
        if step == "reopened":
            log.reopen()
        elif step == "rolled":
            log.roll(now_ms=0)
        elif step == "flushed":
            log.flush()
        else:
            first = log.log_end_offset
            for offset in range(first, first + int(step)):
                log.append(batch(offset), now_ms=0)
            log.note_call(first)
    before = [entries_of(segment) for segment in log.segments]
    crash(made)
    recover(made, rules=Rules())

    for segment, known in zip(log.segments, before, strict=True):
        anew = Segment.of(segment.base_offset, [*segment.batches], last_modified_ms=0)
        recovered = segment is log.active or segment.base_offset >= log.flushed_end
        assert entries_of(segment) == (entries_of(anew) if recovered else known)


def cut_in_a_hole(*, aligned: bool, log_start: int = 0) -> Replica:
    """A copy of records 0 and 2, cut to 2 and led by nobody else since; a pass began up to 2."""
    made = Replica("r2", Log(LogConfig(aligned=aligned)))
    log = made.log
    log.append(batch(0), now_ms=0)
    log.append(batch(2, epoch=2), now_ms=0)
    log.high_watermark = 2
    truncate(made, 2)
    log.epochs.assign(3, 2)
    log.delete_prefix(log_start)
    log.flush()
    made.begun_offset = log.acknowledged_end = 2
    return made


@pytest.mark.parametrize(
    ("aligned", "rules", "end"),
    [
        (True, Rules(), 1),
        (True, Rules.of(fix="persisted_leo"), 2),
        (True, Rules.of(leo_source="last_record"), 1),
        (False, Rules(), 2),
    ],
    ids=["segments", "stored beside them", "last record", "story"],
)
def test_a_restart_reads_the_log_end_from_the_active_segment(
    rules: Rules, end: int, *, aligned: bool
) -> None:
    """LogLoader.recoverLog: LocalLog.truncateTo set it in memory only."""
    made = cut_in_a_hole(aligned=aligned)
    crash(made)
    restarted = recover(made, rules=rules)[0]

    log = made.log
    assert isinstance(restarted, ReplicaRestarted)
    assert (restarted.log_end_offset, restarted.high_watermark) == (end, end)
    assert (log.log_end_offset, log.high_watermark, log.flushed_end) == (end, end, end)
    assert (log.acknowledged_end, made.begun_offset) == (end, end)


def test_a_restart_before_a_hole_forgets_epochs_and_snapshots_above_the_log_end() -> None:
    """LogLoader.load truncates the epochs, ProducerStateManager.truncateAndReload the snapshots."""
    made = cut_in_a_hole(aligned=True)
    known = entries(made), made.log.snapshots.offsets
    crash(made)
    events = recover(made, rules=Rules())

    assert known == ([(1, 0), (3, 2)], [2])
    assert EpochCacheChanged("r2", (EpochEntry(1, 0),)) in events
    assert (entries(made), made.log.snapshots.offsets) == ([(1, 0)], [1])
    assert made.log.active.index.restarts == [1]


def test_a_log_that_would_end_below_its_start_begins_anew_there() -> None:
    """LogLoader.deleteSegmentsIfLogStartGreaterThanLogEnd."""
    made = cut_in_a_hole(aligned=True, log_start=2)
    crash(made)
    recover(made, rules=Rules())

    log = made.log
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (2, 2, 2)
    assert (log.active.base_offset, list(log.batches()), entries(made)) == (2, [], [])


def test_batches_below_the_log_start_are_in_the_file_from_which_the_log_end_is_read() -> None:
    made = Replica("r2", Log(LogConfig(aligned=True)))
    for offset in range(3):
        made.log.append(batch(offset), now_ms=0)
    made.log.delete_prefix(3)
    crash(made)
    recover(made, rules=Rules())
    assert (made.log.log_start_offset, made.log.log_end_offset) == (3, 3)

    made.log.truncate_to(2)
    crash(made)
    recover(made, rules=Rules())
    assert (made.log.log_start_offset, made.log.log_end_offset) == (2, 2)
    assert made.log.active.base_offset == 0


@pytest.mark.parametrize(("checkpoint", "dirty"), [(0, 0), (1, 1), (2, 2), (9, 2)])
def test_an_old_cleaner_checkpoint_makes_more_of_the_log_dirty(checkpoint: int, dirty: int) -> None:
    made = two_epochs()
    crash_with_files(made, rules=Rules(), old=OldFiles(cleaned=checkpoint))

    assert made.first_dirty_offset == dirty


def test_a_high_watermark_from_a_file_is_not_below_the_log_start() -> None:
    made = two_epochs()
    made.log.delete_prefix(1)
    [crashed] = crash_with_files(made, rules=Rules(), old=OldFiles(high_watermark=0))

    assert isinstance(crashed, ReplicaCrashed)
    assert crashed.high_watermark == made.log.high_watermark == 1


ON_DISK = {
    "epoch": 2,
    "vote": (2, "r2"),
    "first_dirty_offset": 2,
    "begun_offset": 3,
    "last_cleaning": (2, 70),
    "cleanly_compacted_offset": 1,
    "removal_bound": 1,
    "marker_removal_bound": 2,
    "removed_tombstone_end": 2,
    "version_floor": (1, 5),
    "stubs": {"k": Record(0, "k", None, 0)},
    "snapshots": {SnapshotId(1, 1): Snapshot(SnapshotId(1, 1), ())},
}
IN_MEMORY = {
    "download": SnapshotDownload(SnapshotId(3, 2), "r2", 2),
    "uncleanable": True,
    "fetching_failed": True,
    "leadership": Leadership(2, 0, ("r1",), ("r1",)),
}


def test_a_restart_finds_what_was_on_disk_and_forgets_what_was_in_memory() -> None:
    made, fresh = two_epochs(), Replica("r2")
    for name, value in (ON_DISK | IN_MEMORY).items():
        setattr(made, name, value)
    crash(made)
    recover(made, rules=Rules.of(leader_restart="resigned"))

    assert {name: getattr(made, name) for name in ON_DISK} == ON_DISK
    assert [getattr(made, name) == getattr(fresh, name) for name in IN_MEMORY] == [True] * 4


def test_a_leader_that_crashes_believes_no_position_of_before() -> None:
    made = leading(records=2, isr=("r1", "r2"))
    record_position(made, "r2", 1, rules=RULES)
    crash(made)
    recover(made, rules=Rules.of(leader_restart="resumes"))

    assert made.leadership is not None
    assert made.leadership.positions == {}
