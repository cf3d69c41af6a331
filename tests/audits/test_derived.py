"""What a replica keeps is compared with its log: what has to agree, and what may differ."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from sim.protocol.events import (
    Cleaned,
    Event,
    ProducersForgotten,
    Quiesced,
    Removal,
    ReplicaRestarted,
    SegmentsLost,
    Truncated,
)
from sim.protocol.log import Batch
from sim.protocol.log.epochs import EpochEntry
from sim.protocol.log.producers import AbortedTransaction
from sim.protocol.replication import Replica
from sim.protocol.rules import Rules
from tests.audits.derived import Audit
from tests.log import producing
from tests.log.producing import marker

AT_REST: list[Event] = [Quiesced(None, synced=True)]


def sent(offset: int, pid: int = 7, *, in_txn: bool = False) -> Batch:
    """One record of a producer, whose sequence number is its offset."""
    return producing.sent(offset, offset, pid=pid, transactional=in_txn)


def holding(*batches: Batch) -> Replica:
    """A replica that has appended batches; all of it is committed."""
    replica = Replica("r1")
    for batch in batches:
        replica.log.append(batch, now_ms=0)
    replica.log.high_watermark = replica.log.log_end_offset
    return replica


def found(replica: Replica, events: list[Event] = AT_REST) -> list[str]:
    """What differs after these events."""
    audit = Audit(Rules())
    told = audit.after(events, {replica.name: replica})
    return [f"{one.what} {one.kept}/{one.by_log}" for one in told]


def a_lower_number(replica: Replica) -> None:
    replica.log.producers.producers[7].batches.pop()


def an_older_epoch(replica: Replica) -> None:
    replica.log.producers.producers[7].epoch = -1


def no_producer(replica: Replica) -> None:
    del replica.log.producers.producers[7]


def no_transaction(replica: Replica) -> None:
    replica.log.producers.producers[7].open_since = None


def a_later_transaction(replica: Replica) -> None:
    replica.log.producers.producers[7].open_since = 2


def a_transaction_that_ended(replica: Replica) -> None:
    replica.log.producers.producers[7].open_since = 0


def no_index(replica: Replica) -> None:
    replica.log.active.aborted.clear()


def a_later_start(replica: Replica) -> None:
    replica.log.active.aborted[:] = [AbortedTransaction(7, 1, 2, 3)]


def an_entry_of_another(replica: Replica) -> None:
    replica.log.active.aborted.append(AbortedTransaction(8, 0, 1, 3))


def no_decision(replica: Replica) -> None:
    replica.log.high_watermark = 1
    replica.log.producers.ended.clear()


def no_epochs(replica: Replica) -> None:
    replica.log.epochs.entries.clear()


def an_epoch_that_another_contradicts(replica: Replica) -> None:
    replica.log.epochs.entries.insert(0, EpochEntry(0, replica.log.epochs.entries[0].start_offset))


def an_epoch_above_the_log(replica: Replica) -> None:
    replica.log.epochs.entries.append(EpochEntry(2, 9))


def flushed_above_the_log(replica: Replica) -> None:
    replica.log.flushed_end = 9


def a_start_above_the_end(replica: Replica) -> None:
    replica.log.log_start_offset = 4


def a_start_below_the_log(replica: Replica) -> None:
    replica.log.segments[0].base_offset = 1
    replica.log.flushed_end = 3


def acknowledged_above_the_log(replica: Replica) -> None:
    replica.log.acknowledged_end = 4


def begun_above_the_log(replica: Replica) -> None:
    replica.begun_offset = 4


def compacted_above_the_log(replica: Replica) -> None:
    replica.cleanly_compacted_offset = 4


def compacted_where_others_are(replica: Replica) -> None:
    replica.cleanly_compacted_offset = replica.removal_bound = 4


def another_size(replica: Replica) -> None:
    replica.log.active.size_bytes = 1


def a_batch_twice(replica: Replica) -> None:
    replica.log.active.batches.insert(1, sent(0))
    replica.log.active.refresh()


def no_sign_of_transactions(replica: Replica) -> None:
    replica.log.active.transactional = False


PLAIN = (sent(0), sent(1), sent(2))
OPEN = (sent(0), sent(1, in_txn=True), sent(2, in_txn=True))
ABORTED = (sent(0, in_txn=True), sent(1, in_txn=True), marker(2))


@pytest.mark.parametrize("batches", [PLAIN, OPEN, ABORTED])
def test_what_is_derived_by_appends_agrees(batches: tuple[Batch, ...]) -> None:
    assert found(holding(*batches)) == []


@pytest.mark.parametrize(
    ("batches", "spoil", "differs"),
    [
        (PLAIN, a_lower_number, "last sequence 1/2"),
        (PLAIN, an_older_epoch, "producer epoch -1/0"),
        (PLAIN, no_producer, "producer epoch nothing/0"),
        (OPEN, no_transaction, "open transaction nothing/1"),
        (OPEN, a_later_transaction, "open transaction 2/1"),
        (ABORTED, a_transaction_that_ended, "open transaction 0/nothing"),
        (ABORTED, no_index, "aborted transaction nothing/0"),
        (ABORTED, a_later_start, "aborted transaction 1/0"),
        (ABORTED, an_entry_of_another, "aborted transaction 0/nothing"),
        (ABORTED, no_decision, "unreplicated transaction nothing/0"),
        (PLAIN, no_epochs, "leader epoch -1/1"),
        (PLAIN, an_epoch_above_the_log, "leader epoch 2/nothing"),
        (PLAIN, an_epoch_that_another_contradicts, "leader epoch 0 from 0/1"),
        (PLAIN, flushed_above_the_log, "recovery point 9/0 to 3"),
        (PLAIN, a_start_above_the_end, "log start 4/0 to 3"),
        (PLAIN, a_start_below_the_log, "log start 0/1 to 3"),
        (PLAIN, acknowledged_above_the_log, "acknowledged end 4/0 to 3"),
        (PLAIN, begun_above_the_log, "mark of a begun pass 4/0 to 3"),
        (PLAIN, compacted_above_the_log, "compacted 4/up to 3"),
        (PLAIN, another_size, "size of a segment 1/210"),
        (PLAIN, a_batch_twice, "batch 0/from 1 on and below 3"),
        (OPEN, no_sign_of_transactions, "segment with transactions no/yes"),
    ],
)
def test_what_does_not_agree_is_told(
    batches: tuple[Batch, ...], spoil: Callable[[Replica], None], differs: str
) -> None:
    replica = holding(*batches)
    spoil(replica)

    assert found(replica) == [differs]


def test_what_is_compacted_everywhere_may_not_have_come_yet() -> None:
    replica = holding(*PLAIN)
    compacted_where_others_are(replica)

    assert found(replica) == []


CUT = Truncated("r1", 3, 4, 4, 0, leading=False, lowest=None, kept_high_watermark=False)


def test_a_cut_lowers_the_checkpoint_of_the_cleaner_and_a_crash_does_not() -> None:
    replica = holding(*PLAIN)
    replica.first_dirty_offset = 4

    assert found(replica, [CUT]) == ["cleaner checkpoint 4/up to 3"]
    assert found(replica, [ReplicaRestarted("r1", 3, 3, 1)]) == []


def test_where_a_crash_lost_the_first_segment_the_log_starts_above_it() -> None:
    replica = holding(*PLAIN)
    a_start_below_the_log(replica)

    assert found(replica, [SegmentsLost("r1", (0,))]) == []


def test_a_replica_that_is_down_is_not_looked_at() -> None:
    replica = holding(*PLAIN)
    no_producer(replica)
    replica.up = False

    assert found(replica) == []


def test_a_batch_that_a_cleaner_took_may_be_known_still() -> None:
    replica = holding(*PLAIN)
    del replica.log.active.batches[1:]
    replica.log.active.refresh()

    assert found(replica) == []


def pass_that_took(*offsets: int) -> Cleaned:
    """A pass over three offsets that removed these records."""
    removals = tuple(Removal(offset, 100 + offset, "k", "superseded", 3) for offset in offsets)
    return Cleaned("r1", 0, 3, removals, (), (), (), None, 3, 3, (0, 0))


def test_a_pass_leaves_the_last_batch_of_a_known_producer() -> None:
    replica = holding(*PLAIN)
    took_two, took_last = pass_that_took(0, 1), pass_that_took(2)
    replica.log.active.batches = [sent(2)]
    replica.log.active.refresh()
    assert found(replica, [took_two]) == []

    replica.log.active.batches = [sent(0), sent(1), replace(sent(2), records=())]
    replica.log.active.refresh()
    assert found(replica, [took_last]) == []

    replica.log.active.batches = [sent(0), sent(1)]
    replica.log.active.refresh()
    assert found(replica, [took_last]) == ["last batch 2/nothing"]
    assert found(replica, [took_two]) == []

    no_producer(replica)
    assert found(replica, [took_last]) == []


@pytest.mark.parametrize(
    ("batch", "told"),
    [
        (sent(1), []),
        (replace(sent(1), timestamp_ms=9), ["largest timestamp 9/0"]),
        (replace(sent(1), records=(), timestamp_ms=9), []),
        (replace(sent(1), records=(), timestamp_ms=-1), ["largest timestamp -1/0"]),
        (replace(sent(1), records=(), timestamp_ms=-1583), []),  # by a clock that is slow
        (replace(sent(1), records=(), delete_horizon_ms=5), ["delete horizon 5/nothing"]),
    ],
)
def test_a_batch_that_was_rewritten_has_the_largest_timestamp_of_what_is_left(
    batch: Batch, told: list[str]
) -> None:
    replica = holding(sent(0), batch, sent(2))
    rewritten = replace(pass_that_took(), rewritten=((1, batch.size_bytes),))

    assert found(replica, [rewritten]) == told
    assert found(replica, [replace(pass_that_took(), emptied=(1,))]) == told
    assert found(replica, [replace(pass_that_took(), rewritten=((0, 1),))]) == []


def test_a_batch_of_somebody_else_in_its_place_shows_that_it_is_gone() -> None:
    replica = holding(*PLAIN)
    replica.log.active.batches[2] = sent(2, pid=8)
    replica.log.active.refresh()

    assert "last sequence 2/nothing" in found(replica)


def test_who_was_forgotten_is_unknown_until_it_writes_again() -> None:
    replica = holding(*PLAIN)
    forgotten: list[Event] = [ProducersForgotten("r1", (7,))]
    no_producer(replica)
    audit = Audit(Rules())

    assert audit.after(forgotten, {"r1": replica}) == []
    replica.log.append(sent(3), now_ms=0)
    assert audit.after(AT_REST, {"r1": replica}) == []
    no_producer(replica)
    assert len(audit.after(AT_REST, {"r1": replica})) == 1


def test_a_cut_reads_nothing_below_the_log_start() -> None:
    replica = holding(*PLAIN)
    no_producer(replica)
    assert found(replica, [CUT]) == ["producer epoch nothing/0"]

    replica.log.log_start_offset = 3
    assert found(replica, [CUT]) == []


def test_who_was_forgotten_may_be_known_as_an_older_snapshot_has_it() -> None:
    """A cut that finds nobody goes back to a snapshot, and reads no further."""
    replica = holding(*OPEN)
    a_lower_number(replica)
    a_later_transaction(replica)
    audit = Audit(Rules())

    assert audit.after([ProducersForgotten("r1", (7,))], {"r1": replica}) == []
    assert len(found(replica)) == 2


def test_decisions_that_a_cut_leaves_to_a_snapshot_are_not_known() -> None:
    replica = holding(*ABORTED)
    no_decision(replica)

    assert found(replica, [CUT]) == []


def test_a_marker_without_its_record_decides_nothing() -> None:
    emptied = marker(1, epoch=1).emptied()
    replica = holding(sent(0, in_txn=True), emptied)
    assert found(replica) == []

    replica.log.producers.producers[7].open_since = None
    assert found(replica) == []


def test_epochs_that_fall_along_the_log_contradict_each_other() -> None:
    replica = holding(replace(sent(0), epoch=2), sent(1))

    assert found(replica) == []
