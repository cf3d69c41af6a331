"""Which snapshots a replica takes."""

from sim.log import Record, data_batch
from sim.replication import Rules
from sim.replication.replica import Replica, Snapshot, SnapshotId
from sim.replication.snapshots import take_snapshot
from sim.trace import SnapshotTaken

RULES = Rules()


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

    assert take_snapshot(replica, 7, rules=RULES) == []
    assert list(replica.snapshots) == [SnapshotId(7, 3)]


def test_a_snapshot_above_an_installed_one_has_the_epoch_of_its_last_record() -> None:
    replica = replica_with_a_snapshot_of(7, 3)
    record = Record(7, "k", "v", 0, (), uid=1)
    replica.log.append(data_batch((record,), epoch=4), now_ms=0)

    assert take_snapshot(replica, 8, rules=RULES) == [SnapshotTaken("r1", 8, 4, (record,))]
