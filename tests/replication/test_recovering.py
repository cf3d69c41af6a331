"""What a restart makes of a snapshot whose install a crash interrupted."""

import pytest

from sim.replication import Replica, Rules
from sim.replication.recovering import recover
from sim.replication.replica import Snapshot, SnapshotId, crash
from sim.trace import ReplicaRestarted, SnapshotInstalled
from tests.replication.replicas import batch

FINISHED = Rules(install_recovery="finished")


def follower(end: int, *, epoch: int = 1) -> Replica:
    made = Replica("r2")
    for offset in range(end):
        made.log.append(batch(offset, epoch=epoch), now_ms=0)
    return made


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
    made = follower(log_end, epoch=log_epoch)
    made.snapshots[id_] = Snapshot(id_, ())
    crash(made)
    events = recover(made, rules=FINISHED)

    expected = [ReplicaRestarted, SnapshotInstalled] if installed else [ReplicaRestarted]
    assert [event.__class__ for event in events] == expected
    assert made.log.log_end_offset == (5 if installed else log_end)
    assert made.log.log_start_offset == (5 if installed else 0)


def test_a_second_restart_finds_nothing_left_to_do() -> None:
    made = follower(2)
    made.snapshots[SnapshotId(5, 1)] = Snapshot(SnapshotId(5, 1), ())
    for _ in range(2):
        crash(made)
        events = recover(made, rules=FINISHED)

    assert len(events) == 1
    assert made.log.log_end_offset == 5


def test_otherwise_the_log_goes_on_where_it_ends() -> None:
    made = follower(2)
    made.snapshots[SnapshotId(5, 1)] = Snapshot(SnapshotId(5, 1), ())
    crash(made)

    assert len(recover(made, rules=Rules())) == 1
    assert made.log.log_end_offset == 2
