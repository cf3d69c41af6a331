"""A coordinator loads its log before it serves, and keeps in memory what the log may lose."""

from sim.log import Log, LogConfig
from sim.replication.coordinator import (
    Coordinator,
    answer,
    apply_committed,
    begin_loading,
    finish_loading,
    load_some,
)
from sim.replication.elections import become_leader
from sim.replication.leader import append
from sim.replication.messages import CoordinatorRequest, ErrorCode
from sim.replication.replica import Replica, log_config
from sim.replication.snapshots.take import take_snapshot
from sim.rules import Rules
from sim.trace import CoordinatorAnswered
from tests.check.events import batch, marker

GROUP = Rules.of(coordinator="group")


def leading(*sends: tuple[str, str]) -> Replica:
    """A leader of three replicas that has appended these, and knows none to be committed."""
    replica = Replica("r1", Log(log_config(GROUP, LogConfig())))
    three = ("r1", "r2", "r3")
    become_leader(replica, 1, isr=three, voters=three, rules=GROUP, now_ms=0, leader_change_uid=0)
    for offset, (key, value) in enumerate(sends):
        append(replica, batch(offset, key, value), rules=GROUP, now_ms=0)
    return replica


def begun(replica: Replica) -> Coordinator:
    coordinator = begin_loading(replica)
    assert coordinator is not None
    return coordinator


def told(replica: Replica, coordinator: Coordinator | None, key: str) -> object:
    answered = answer(replica, coordinator, CoordinatorRequest("c", key), rules=GROUP)
    if answered.response.error is not ErrorCode.NONE:
        return answered.response.error
    (event,) = answered.events
    assert isinstance(event, CoordinatorAnswered)
    return event.records[0].value if event.records else None


def test_nobody_is_told_anything_before_the_log_is_loaded_to_its_end() -> None:
    replica = leading(("a", "1"), ("b", "2"), ("a", "3"))
    coordinator = begun(replica)
    load_some(coordinator, replica, 2)

    assert told(replica, coordinator, "a") is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    finish_loading(coordinator, replica, rules=GROUP)
    assert (told(replica, coordinator, "a"), told(replica, coordinator, "b")) == ("3", "2")
    assert told(replica, coordinator, "c") is None


def test_who_does_not_lead_is_no_coordinator() -> None:
    replica = leading(("a", "1"))
    replica.leadership = None

    assert begin_loading(replica) is None
    assert told(replica, None, "a") is ErrorCode.NOT_COORDINATOR


def test_an_open_transaction_waits_for_its_marker() -> None:
    for commit, value in ((True, "2"), (False, "1")):
        replica = leading(("a", "1"))
        append(replica, batch(1, "a", "2", pid=7), rules=GROUP, now_ms=0)
        replica.log.high_watermark = 2
        coordinator = begun(replica)
        finish_loading(coordinator, replica, rules=GROUP)
        assert (told(replica, coordinator, "a"), coordinator.applied) == ("1", 1)

        append(replica, marker(2, 7, commit=commit), rules=GROUP, now_ms=0)
        replica.log.high_watermark = 3
        apply_committed(coordinator, replica, rules=GROUP)
        assert (told(replica, coordinator, "a"), coordinator.applied) == (value, 3)


def test_a_marker_behind_what_is_open_decides_what_lies_before_it() -> None:
    replica = leading(("a", "1"))
    append(replica, batch(1, "a", "2", pid=7), rules=GROUP, now_ms=0)
    append(replica, batch(2, "b", "3", pid=8), rules=GROUP, now_ms=0)
    append(replica, marker(3, 7, commit=True), rules=GROUP, now_ms=0)
    replica.log.high_watermark = 4
    coordinator = begun(replica)
    finish_loading(coordinator, replica, rules=GROUP)

    assert coordinator.applied == 2
    assert (told(replica, coordinator, "a"), told(replica, coordinator, "b")) == ("2", None)


def test_what_a_snapshot_takes_from_the_log_meanwhile_is_known_all_the_same() -> None:
    replica = leading(("a", "1"), ("b", "2"), ("a", "3"))
    coordinator = begun(replica)
    replica.log.high_watermark = 2
    take_snapshot(replica, 2, rules=GROUP)
    replica.log.delete_prefix(2)
    finish_loading(coordinator, replica, rules=GROUP)

    assert (told(replica, coordinator, "a"), told(replica, coordinator, "b")) == ("3", "2")
