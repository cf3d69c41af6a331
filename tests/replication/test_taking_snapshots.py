"""Which snapshots a replica takes."""

from sim.protocol.events import SnapshotTaken
from sim.protocol.log import Record, data_batch
from sim.protocol.replication import leader
from sim.protocol.replication.messages import SnapshotId
from sim.protocol.replication.replica import Replica, Snapshot
from sim.protocol.replication.snapshots import take_snapshot
from sim.protocol.rules import Rules
from tests.replication.replicas import batch, leading

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


def test_a_snapshot_in_the_log_is_no_reason_for_another_one() -> None:
    rules = Rules.of(snapshot_placement="in_log")
    replica = leading(records=1, rules=rules)
    taken = [take_snapshot(replica, end, rules=rules, uid=9) for end in (1, 2)]
    leader.append(replica, batch(2), rules=rules, now_ms=0)

    assert [len(events) > 0 for events in taken] == [True, False]
    assert take_snapshot(replica, 3, rules=rules, uid=10)[0].replica == "r1"
