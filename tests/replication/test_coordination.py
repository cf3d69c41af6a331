"""Coordinated removal: reports, their minimum, and who may clean how far."""

import pytest

from sim.log import LogConfig
from sim.replication import Replica
from sim.replication.cleaning import clean_replica, stable_offset
from sim.replication.coordination import RemovalCoordinator, accept_removal_bound
from sim.replication.replica import crash
from sim.trace import RemovalBoundMoved
from tests.replication.replicas import RULES, batch, leading


def test_there_is_no_bound_while_one_replica_has_never_reported() -> None:
    coordinator = RemovalCoordinator()
    coordinator.report("r1", 5)

    assert coordinator.advance(["r1", "r2"]) is None
    coordinator.report("r2", 3)
    assert coordinator.advance(["r1", "r2"]) == 3


def test_the_bound_is_the_minimum_of_the_last_reports_and_never_falls() -> None:
    coordinator = RemovalCoordinator()
    for name, offset in (("r1", 5), ("r2", 3)):
        coordinator.report(name, offset)
    coordinator.advance(["r1", "r2"])
    coordinator.report("r2", 0)

    assert coordinator.advance(["r1", "r2"]) == 3
    assert coordinator.known["r2"] == 0


def test_a_replica_that_accepts_a_bound_counts_as_clean_up_to_it() -> None:
    replica = Replica("r1")

    assert accept_removal_bound(replica, 4) == [RemovalBoundMoved("r1", 4)]
    assert (replica.removal_bound, replica.cleanly_compacted_offset) == (4, 4)
    assert accept_removal_bound(replica, 2) == []
    assert replica.removal_bound == 4


def test_a_pass_moves_the_clean_point_and_what_is_reported() -> None:
    replica = leading(records=3)
    [event] = clean_replica(replica, rules=RULES, upper_bound=2, now_ms=0)

    assert (event.first_dirty_offset, event.upper_bound) == (0, 2)  # type: ignore[union-attr]
    assert (replica.first_dirty_offset, replica.cleanly_compacted_offset) == (2, 2)
    clean_replica(replica, rules=RULES, upper_bound=1, now_ms=0)
    assert replica.first_dirty_offset == 2


def test_the_stable_offset_is_the_high_watermark_or_the_log_end() -> None:
    replica = leading(records=3, isr=("r1", "r2"))

    assert stable_offset(replica, rules=RULES) == 0
    assert stable_offset(replica, rules=RULES.with_values({"cleaner_bound": "leo"})) == 3


def test_the_stable_offset_is_not_above_the_first_offset_of_an_open_transaction() -> None:
    replica = leading(records=1)
    data = batch(1)._replace(producer_id=7, transactional=True)
    replica.log.append(data, now_ms=0)
    replica.log.append(batch(2), now_ms=0)
    replica.log.high_watermark = 3

    assert stable_offset(replica, rules=RULES) == 1


def test_the_log_end_moves_with_a_pass_only_if_it_is_read_off_the_last_batch() -> None:
    for source, end in (("stored", 2), ("last_record", 1)):
        rules = RULES.with_values({"strategy": "timestamp", "leo_source": source})
        replica = leading()
        for offset, time in ((0, 9), (1, 1)):
            made = batch(offset)
            record = made.records[0]._replace(timestamp_ms=time)
            replica.log.append(made._replace(records=(record,)), now_ms=0)
        replica.log.high_watermark = 2
        clean_replica(replica, rules=rules, upper_bound=2, now_ms=0)

        log = replica.log
        assert (log.log_end_offset, log.high_watermark, replica.first_dirty_offset) == (end,) * 3


def test_a_removed_tombstone_is_remembered_by_its_offset() -> None:
    replica = leading(records=1)
    tombstone = batch(1)
    record = tombstone.records[0]._replace(value=None)
    replica.log.append(tombstone._replace(records=(record,)), now_ms=0)
    replica.log.append(batch(2, "z"), now_ms=0)
    replica.log.high_watermark = 3
    rules = RULES.with_values({"delete_retention_ms": 0})

    clean_replica(replica, rules=rules, upper_bound=3, now_ms=0)
    assert replica.removed_tombstone_end == 0
    clean_replica(replica, rules=rules, upper_bound=3, now_ms=0, rescan=True)
    assert replica.removed_tombstone_end == 2


@pytest.mark.parametrize(("aligned", "checkpoint"), [(True, 3), (False, 1)])
def test_a_lost_tail_leaves_the_cleaners_checkpoint_file_as_it_was(
    aligned: bool, checkpoint: int
) -> None:
    """In a story, which has no such file, what was cleaned ends where the log does."""
    replica = Replica("r1", LogConfig(aligned=aligned))
    for offset in range(3):
        replica.log.append(batch(offset), now_ms=0)
    replica.first_dirty_offset = 3

    crash(replica, lost_batches=2)

    assert replica.first_dirty_offset == checkpoint
