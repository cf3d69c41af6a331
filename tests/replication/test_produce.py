"""What a broker does with a produce request and with the end of a transaction."""

import pytest

from sim.compaction.strategies import encode_version
from sim.log import Control, Record
from sim.log.versions import NEW, OLD, Versions
from sim.replication import Replica
from sim.replication.leader import record_position
from sim.replication.messages import (
    ACKS_ALL,
    ACKS_LEADER,
    ErrorCode,
    ProduceRequest,
    WriteTxnMarkersRequest,
)
from sim.replication.produce import AT_ONCE, ProduceResult, produce, write_marker
from sim.rules import Rules
from sim.trace import Appended, AppendRefused, Converted, HighWatermarkMoved
from tests.replication.replicas import RULES, batch, leading

TWO = RULES.with_values({"min_isr": 2})
FLOOR = RULES.with_values({"strategy": "header", "late_versions": "floor"})


def records(*keys: str, timestamp_ms: int = 0, value: str | None = "v") -> tuple[Record, ...]:
    """Records as a producer sends them: without offsets and identities."""
    return tuple(Record(i, key, value, timestamp_ms) for i, key in enumerate(keys))


def request(*keys: str, sequence: int = -1, acks: int = ACKS_ALL) -> ProduceRequest:
    """A request of producer 7, or of nobody without a sequence number."""
    producer_id, epoch = (7, 0) if sequence >= 0 else (-1, -1)
    return ProduceRequest("p", records(*keys), acks, producer_id, epoch, sequence)


def sent(
    leader: Replica,
    asked: ProduceRequest,
    *,
    rules: Rules = RULES,
    versions: Versions | None = None,
    limit_ms: int | None = None,
) -> ProduceResult:
    """What the leader does at 1,000 ms; uids start at 10."""
    return produce(
        leader,
        asked,
        rules=rules,
        now_ms=1_000,
        first_uid=10,
        versions=versions,
        timestamp_difference_max_ms=limit_ms,
    )


def test_records_get_the_next_offsets_and_uids_whatever_the_producer_numbered_them() -> None:
    leader = leading(records=2)
    result = sent(leader, request("a", "b"))

    written = list(leader.log.batches())[-1]
    assert [(r.offset, r.uid, r.key) for r in written.records] == [(2, 10, "a"), (3, 11, "b")]
    assert (result.base_offset, result.last_offset, result.uids_used) == (2, 3, 2)


def test_with_acks_all_the_answer_is_due_when_the_last_record_is_committed() -> None:
    leader = leading(isr=("r1", "r2"))
    result = sent(leader, request("a", "b"))

    assert (result.error, result.due_above) == (ErrorCode.NONE, 1)
    record_position(leader, "r2", 1, rules=RULES)
    assert not leader.log.high_watermark > result.due_above
    record_position(leader, "r2", 2, rules=RULES)
    assert leader.log.high_watermark > result.due_above


def test_with_acks_one_the_answer_is_due_at_once_before_the_commit() -> None:
    leader = leading(isr=("r1", "r2"))
    result = sent(leader, request("a", acks=ACKS_LEADER))

    assert [type(event) for event in result.events] == [Appended]
    assert (result.due_above, leader.log.high_watermark) == (AT_ONCE, 0)


def test_a_batch_that_its_producer_has_gone_past_is_refused_unless_it_is_known_to_be_written() -> (
    None
):
    leader = leading()
    for sequence in (0, 2):
        assert sent(leader, request("a", sequence=sequence)).error is ErrorCode.NONE

    repeated = sent(leader, request("a", sequence=0))
    assert (repeated.repeated, repeated.base_offset, repeated.last_offset) == (True, 0, 0)
    given_up = sent(leader, request("a", sequence=1))
    assert (given_up.error, given_up.events) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, [])


def test_a_leader_that_is_alone_in_sync_commits_what_it_appends() -> None:
    result = sent(leading(), request("a"))

    assert [type(event) for event in result.events] == [Appended, HighWatermarkMoved]


def test_who_does_not_lead_writes_nothing() -> None:
    other = Replica("r2")
    marker = WriteTxnMarkersRequest("p", 7, 0, committed=True)

    assert sent(other, request("a")).error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    result = write_marker(other, marker, rules=RULES, now_ms=0, uid=1)
    assert result.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert other.log.log_end_offset == 0


def test_too_small_an_in_sync_set_refuses_before_it_writes_but_only_who_wants_all_of_it() -> None:
    leader = leading(isr=("r1",), rules=TWO)
    result = sent(leader, request("a"), rules=TWO)
    assert result.error is ErrorCode.NOT_ENOUGH_REPLICAS
    assert result.events == [AppendRefused("r1", None, "not_enough_replicas")]
    assert leader.log.log_end_offset == 0

    assert sent(leader, request("a", acks=ACKS_LEADER), rules=TWO).error is ErrorCode.NONE
    assert leader.log.log_end_offset == 1


def test_a_majority_does_not_ask_how_many_are_in_sync() -> None:
    majority = Rules.of(min_isr=2, commit="majority")

    assert sent(leading(rules=majority), request("a"), rules=majority).error is ErrorCode.NONE


@pytest.mark.parametrize(
    ("timestamp_ms", "error"),
    [
        (900, ErrorCode.NONE),
        (1_100, ErrorCode.NONE),
        (899, ErrorCode.INVALID_TIMESTAMP),
        (1_101, ErrorCode.INVALID_TIMESTAMP),
    ],
)
def test_a_timestamp_may_be_so_far_from_the_leader_s_clock(
    timestamp_ms: int, error: ErrorCode
) -> None:
    asked = request("a")._replace(records=records("a", timestamp_ms=timestamp_ms))
    leader = leading()

    assert sent(leader, asked, limit_ms=100).error is error
    assert leader.log.log_end_offset == (1 if error is ErrorCode.NONE else 0)
    assert sent(leader, asked).error is ErrorCode.NONE


def test_a_repeated_sequence_number_is_answered_as_the_first_time_and_not_written_again() -> None:
    leader = leading(isr=("r1", "r2"))
    first = sent(leader, request("a", "b", sequence=0))
    again = sent(leader, request("a", "b", sequence=0))

    assert (again.repeated, again.uids_used, again.events) == (True, 0, [])
    for one in (first, again):
        assert (one.base_offset, one.last_offset, one.due_above) == (0, 1, 1)
    assert leader.log.log_end_offset == 2
    assert sent(leader, request("c", sequence=2)).base_offset == 2


def test_without_a_sequence_number_a_retry_is_written_again() -> None:
    leader = leading()
    sent(leader, request("a"))

    assert sent(leader, request("a")).base_offset == 1


def test_a_version_below_the_floor_is_refused_and_uses_no_uid() -> None:
    leader = leading(rules=FLOOR)
    leader.version_floor = (5,)
    late = Record(0, "a", "v", 0, ((FLOOR.topic.strategy_header, encode_version(4)),))
    result = sent(leader, request("a")._replace(records=(late,)), rules=FLOOR)

    assert result.error is ErrorCode.INVALID_RECORD
    assert (result.events, result.uids_used) == ([AppendRefused("r1", "a")], 0)
    assert leader.log.log_end_offset == 0


def test_a_broker_refuses_the_version_of_a_request_that_it_does_not_know() -> None:
    leader = leading()
    result = sent(leader, request("a")._replace(version=3), versions=Versions(OLD))

    assert result.error is ErrorCode.UNSUPPORTED_VERSION
    assert result.events == [AppendRefused("r1", None, "client_version")]


def test_a_null_value_without_the_flag_is_refused_where_there_is_a_flag() -> None:
    unflagged = request("a")._replace(records=records("a", value=None), version=3)
    result = sent(leading(), unflagged, versions=Versions(NEW))

    assert result.error is ErrorCode.INVALID_RECORD
    assert result.events == [AppendRefused("r1", "a", "null_value")]


def test_a_delete_with_a_value_loses_it_where_the_message_format_is_not_raised_yet() -> None:
    leader = leading()
    flagged = (Record(0, "a", "v", 0, flagged=True),)
    pinned = Versions(NEW, None, OLD)
    asked = request("a")._replace(records=flagged, version=3)
    result = sent(leader, asked, versions=pinned)

    [written] = leader.log.batches()
    assert (written.records[0].value, written.records[0].flagged) == (None, None)
    assert result.events[0] == Converted("r1", "r1", 0, (0,))


@pytest.mark.parametrize(("committed", "control"), [(True, Control.COMMIT), (False, Control.ABORT)])
def test_an_open_transaction_ends_with_a_marker_that_is_answered_when_committed(
    committed: bool, control: Control
) -> None:
    leader = leading(isr=("r1", "r2"))
    sent(leader, request("a", sequence=0)._replace(transactional=True))
    marker = WriteTxnMarkersRequest("p", 7, 0, committed)
    result = write_marker(leader, marker, rules=RULES, now_ms=5, uid=99)

    written = list(leader.log.batches())[-1]
    assert (written.control, written.timestamp_ms, written.records[0].uid) == (control, 5, 99)
    assert (result.base_offset, result.due_above, result.uids_used) == (1, 1, 1)


def test_a_transaction_that_was_decided_before_gets_no_second_marker() -> None:
    """The answer waits for the decision, which is somewhere below the log end."""
    leader = leading(records=3)
    marker = WriteTxnMarkersRequest("p", 7, 0, committed=True)
    result = write_marker(leader, marker, rules=RULES, now_ms=5, uid=99)

    assert (result.repeated, result.uids_used, result.due_above) == (True, 0, 2)
    assert leader.log.log_end_offset == 3


def test_a_marker_waits_for_enough_replicas_too() -> None:
    leader = leading(rules=TWO)
    leader.log.append(batch(0), now_ms=0)
    marker = WriteTxnMarkersRequest("p", 7, 0, committed=True)
    result = write_marker(leader, marker, rules=TWO, now_ms=5, uid=99)

    assert result.error is ErrorCode.NOT_ENOUGH_REPLICAS


def of_instance(epoch: int, *keys: str, sequence: int = 0) -> ProduceRequest:
    """A request of an instance of producer 7, in its transaction."""
    return ProduceRequest("p", records(*keys), ACKS_ALL, 7, epoch, sequence, transactional=True)


def test_a_batch_of_an_instance_that_was_replaced_is_refused() -> None:
    """ProducerAppendInfo.checkProducerEpoch; the next instance may be known by a marker alone."""
    by_batch, by_marker = leading(records=0), leading(records=0)
    sent(by_batch, of_instance(1, "a"))
    sent(by_marker, of_instance(0, "a"))
    abort = WriteTxnMarkersRequest("c", 7, 1, committed=False)
    assert write_marker(by_marker, abort, rules=RULES, now_ms=1_000, uid=20).uids_used == 1

    for leader, sequence in ((by_batch, 0), (by_marker, 1)):
        late = sent(leader, of_instance(0, "b", sequence=sequence))
        assert (late.error, late.uids_used) == (ErrorCode.INVALID_PRODUCER_EPOCH, 0)
        assert late.events == [AppendRefused("r1", None, "producer_fenced")]
        assert sent(leader, of_instance(1, "c", sequence=1)).error is ErrorCode.NONE


def test_an_instance_that_was_replaced_does_not_end_the_transaction_of_the_next() -> None:
    """ProducerAppendInfo.appendEndTxnMarker."""
    leader = leading(records=0)
    sent(leader, of_instance(1, "a"))
    late = WriteTxnMarkersRequest("c", 7, 0, committed=True)
    result = write_marker(leader, late, rules=RULES, now_ms=1_000, uid=20)

    assert (result.error, result.uids_used) == (ErrorCode.INVALID_PRODUCER_EPOCH, 0)
    assert leader.log.producers.has_open(7)
