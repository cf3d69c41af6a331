"""A coordinator loads its log before it serves, and keeps in memory what the log may lose."""

from sim.log import Batch, Control, LogConfig, Record, control_batch, data_batch
from sim.replication.coordinator import (
    Coordinator,
    answer,
    apply_committed,
    begin_loading,
    completion,
    finish_loading,
    load_some,
    to_load,
)
from sim.replication.elections import become_leader
from sim.replication.leader import append
from sim.replication.messages import CoordinatorRequest, ErrorCode
from sim.replication.replica import Replica, log_config
from sim.rules import Rules

GROUP = Rules.of(coordinator="group")
HIGH = Rules.of(coordinator="group", coordinator_reads="high_watermark")


def leading(*sends: tuple[str, str | None], rules: Rules = GROUP, committed: int = 0) -> Replica:
    """A leader of three replicas that has appended these, and knows so many to be committed."""
    replica = Replica("r1", log_config(rules, LogConfig()))
    three = ("r1", "r2", "r3")
    become_leader(replica, 1, isr=three, voters=three, rules=rules, now_ms=0, leader_change_uid=0)
    for key, value in sends:
        add(replica, key, value, rules=rules)
    replica.log.high_watermark = committed
    return replica


def add(replica: Replica, key: str, value: str | None, *, rules: Rules = GROUP) -> None:
    offset = replica.log.log_end_offset
    record = Record(offset, key, value, 0, uid=offset + 1)
    append(replica, data_batch((record,), epoch=1), rules=rules, now_ms=0)


def begun(replica: Replica) -> Coordinator:
    coordinator = begin_loading(replica)
    assert coordinator is not None
    return coordinator


def told(
    replica: Replica, coordinator: Coordinator | None, key: str, rules: Rules = GROUP
) -> object:
    response = answer(replica, coordinator, CoordinatorRequest("c", key), rules=rules).response
    return response.value if response.error is ErrorCode.NONE else response.error


def test_nobody_is_told_anything_before_the_log_is_loaded_to_its_end() -> None:
    replica = leading(("a", "1"), ("b", "2"), ("a", "3"))
    coordinator = begun(replica)
    load_some(coordinator, replica, 2)

    assert told(replica, coordinator, "a") is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    finish_loading(coordinator, replica, rules=GROUP)
    assert (told(replica, coordinator, "a"), told(replica, coordinator, "b")) == ("3", "2")
    assert told(replica, coordinator, "c") is None


def test_a_lazy_coordinator_tells_what_it_has_read() -> None:
    rules = Rules.of(coordinator="group", coordinator_loads="lazily")
    replica = leading(("a", "1"), ("b", "2"), ("a", "3"), rules=rules)
    coordinator = begun(replica)
    found = []
    for count in range(4):
        load_some(coordinator, replica, count)
        found.append(
            (told(replica, coordinator, "a", rules), told(replica, coordinator, "b", rules))
        )

    assert found == [(None, None), ("1", None), ("1", "2"), ("3", "2")]


def test_who_does_not_lead_that_epoch_is_no_coordinator() -> None:
    replica = leading(("a", "1"))
    coordinator = begun(replica)
    finish_loading(coordinator, replica, rules=GROUP)
    replica.leadership = None

    assert told(replica, coordinator, "a") is ErrorCode.NOT_COORDINATOR
    assert told(leading(), None, "a") is ErrorCode.NOT_COORDINATOR
    assert begin_loading(replica) is None


def test_deletes_are_replayed_and_what_is_appended_later_counts_once_it_is_committed() -> None:
    replica = leading(("a", "1"), ("b", "2"), ("a", None))
    coordinator = begun(replica)
    finish_loading(coordinator, replica, rules=GROUP)
    add(replica, "b", "4")

    assert (told(replica, coordinator, "a"), told(replica, coordinator, "b")) == (None, "2")
    replica.log.high_watermark = 4
    assert told(replica, coordinator, "b") == "4"


def test_by_its_high_watermark_it_knows_only_what_is_committed() -> None:
    replica = leading(("a", "1"), ("a", "3"), rules=HIGH, committed=1)
    coordinator = begun(replica)
    finish_loading(coordinator, replica, rules=HIGH)

    assert told(replica, coordinator, "a", HIGH) == "1"
    replica.log.high_watermark = 2
    assert told(replica, coordinator, "a", HIGH) == "3"


def test_memory_outlives_the_log_and_the_next_coordinator_does_not_have_it() -> None:
    replica = leading(("a", "1"), ("b", "2"), committed=2)
    coordinator = begun(replica)
    finish_loading(coordinator, replica, rules=GROUP)
    replica.log.delete_prefix(1)
    successor = begun(replica)
    finish_loading(successor, replica, rules=GROUP)

    assert told(replica, coordinator, "a") == "1"
    assert told(replica, successor, "a") is None
    assert told(replica, successor, "b") == "2"


def marker(offset: int, control: Control) -> Batch:
    return control_batch(
        offset, epoch=1, control=control, timestamp_ms=0, producer_id=7, producer_epoch=0, uid=90
    )


def test_an_open_transaction_waits_for_its_marker() -> None:
    for control, value in ((Control.COMMIT, "2"), (Control.ABORT, "1")):
        replica = leading(("a", "1"))
        open_ = data_batch(
            (Record(1, "a", "2", 0, uid=2),), epoch=1, producer_id=7, transactional=True
        )
        append(replica, open_, rules=GROUP, now_ms=0)
        replica.log.high_watermark = 2
        coordinator = begun(replica)
        finish_loading(coordinator, replica, rules=GROUP)
        assert (told(replica, coordinator, "a"), coordinator.applied) == ("1", 1)

        append(replica, marker(2, control), rules=GROUP, now_ms=0)
        replica.log.high_watermark = 3
        apply_committed(coordinator, replica, rules=GROUP)
        assert (told(replica, coordinator, "a"), coordinator.applied) == (value, 3)


def test_a_transaction_coordinator_completes_what_was_decided_and_nothing_else() -> None:
    rules = Rules.of(coordinator="transaction")
    states = ("Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", None)
    replica = leading(*((f"t{index}", state) for index, state in enumerate(states)), rules=rules)
    loaded = finish_loading(begun(replica), replica, rules=rules)
    written = [completion(r, offset=5, epoch=1, uid=6, now_ms=0) for r in loaded.pending]

    assert [(r.key, r.value) for batch in written for r in batch.records] == [
        ("t1", "CompleteCommit"),
        ("t2", "CompleteAbort"),
    ]
    assert finish_loading(begun(replica), replica, rules=GROUP).pending == ()


def test_what_it_reads_is_what_is_left_in_the_log() -> None:
    replica = leading(("a", "1"), ("b", "2"), ("a", "3"), committed=3)

    assert to_load(begun(replica), replica) == (0, 3)
    replica.log.delete_prefix(2)
    assert to_load(begun(replica), replica) == (0, 1)
