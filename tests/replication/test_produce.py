"""What a broker does with a produce request and with the end of a transaction."""

from typing import Any

import pytest
from msgspec.structs import replace

from sim.protocol.compaction.strategies import encode_varint, encode_version
from sim.protocol.events import Appended, AppendRefused, Converted
from sim.protocol.log import Control, Record
from sim.protocol.log.formats import NEW, OLD, Versions
from sim.protocol.replication import Replica
from sim.protocol.replication.cleaning import Cleaner
from sim.protocol.replication.leader import record_position
from sim.protocol.replication.messages import (
    ACKS_ALL,
    ACKS_LEADER,
    ErrorCode,
    ProduceRequest,
    WriteTxnMarkersRequest,
)
from sim.protocol.replication.produce import AT_ONCE, ProduceResult, produce, write_marker
from sim.protocol.replication.replica import crash, restart, truncate
from sim.protocol.rules import Rules
from tests.replication.replicas import RULES, batch, elect, leading

TWO = RULES.with_values({"min_isr": 2})
FLOOR = RULES.with_values({"strategy": "header", "late_versions": "floor"})
HEADER = FLOOR.topic.strategy_header


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
    under_way: bool = True,
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
        under_way=under_way,
    )


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


def test_a_repeated_sequence_number_is_answered_as_the_first_time_and_not_written_again() -> None:
    leader = leading(isr=("r1", "r2"))
    first = sent(leader, request("a", "b", sequence=0))
    again = sent(leader, request("a", "b", sequence=0))

    assert (again.repeated, again.uids_used, again.events) == (True, 0, [])
    for one in (first, again):
        assert (one.base_offset, one.last_offset, one.due_above) == (0, 1, 1)
    assert leader.log.log_end_offset == 2
    assert sent(leader, request("c", sequence=2)).base_offset == 2


def test_a_restarted_leader_recognises_a_late_retry_of_what_the_cleaner_took() -> None:
    """Its newer batch, for which the cleaner took it, was cut off; a snapshot remembers it."""
    made = leading(isr=("r1", "r2"))
    for asked in (request("k", sequence=0), request("k")):
        sent(made, asked)
    record_position(made, "r2", 2, rules=RULES)
    made.log.roll(now_ms=0)
    sent(made, request("x", sequence=1))
    Cleaner(RULES).run(made, upper_bound=2, now_ms=2_000)
    assert [each.base_offset for each in made.log.batches()] == [1, 2]
    truncate(made, 2)
    crash(made)
    restart(made, rules=RULES)
    elect(made, epoch=2)

    again = sent(made, request("k", sequence=0))

    assert (again.repeated, again.base_offset, again.last_offset) == (True, 0, 0)


@pytest.mark.parametrize(("committed", "control"), [(True, Control.COMMIT), (False, Control.ABORT)])
def test_an_open_transaction_ends_with_a_marker_that_is_answered_when_committed(
    committed: bool, control: Control
) -> None:
    leader = leading(isr=("r1", "r2"))
    sent(leader, replace(request("a", sequence=0), transactional=True))
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


def fenced(*keys: str, epoch: int = 0, sequence: int = 0) -> ProduceRequest:
    """A request of an instance of producer 7, in its transaction."""
    return ProduceRequest("p", records(*keys), ACKS_ALL, 7, epoch, sequence, transactional=True)


MAJORITY = Rules.of(min_isr=2, commit="majority")
ASKED = request("a")
OLD_VERSION = replace(ASKED, records=(Record(0, "a", "v", 0, ((HEADER, encode_version(4)),)),))
UNCHECKED = FLOOR.with_values({"header_form": "unchecked_varint"})
SPOILT, NUMBER = ((HEADER, b"\xff" * 8),), ((HEADER, encode_varint(5)),)


def with_headers(
    *keys_and_headers: tuple[str | None, tuple[tuple[str, bytes], ...]],
) -> ProduceRequest:
    """Records with these headers."""
    return replace(ASKED, records=tuple(Record(0, k, "v", 0, h) for k, h in keys_and_headers))


UNREADABLE = ("b", "unreadable_version")
NULL = replace(ASKED, records=records("a", value=None), version=3)


def dated(timestamp_ms: int) -> ProduceRequest:
    return replace(ASKED, records=records("a", timestamp_ms=timestamp_ms))


@pytest.mark.parametrize(
    ("given", "asked", "error", "told"),
    [
        ({"rules": TWO}, ASKED, "NOT_ENOUGH_REPLICAS", (None, "not_enough_replicas")),
        ({"rules": TWO}, request("a", acks=ACKS_LEADER), "NONE", None),
        ({"rules": MAJORITY}, ASKED, "NONE", None),
        ({"rules": FLOOR, "floor": (1, 5)}, OLD_VERSION, "INVALID_RECORD", ("a", "late_version")),
        ({"rules": FLOOR, "floor": (1, 4)}, OLD_VERSION, "NONE", None),
        (
            {"rules": UNCHECKED, "floor": (4,)},
            with_headers(("a", NUMBER), ("b", SPOILT)),
            "INVALID_RECORD",
            UNREADABLE,
        ),
        ({"rules": UNCHECKED, "floor": (4,)}, with_headers((None, SPOILT)), "NONE", None),
        ({"rules": UNCHECKED}, with_headers(("b", SPOILT)), "NONE", None),
        ({"versions": OLD}, NULL, "UNSUPPORTED_VERSION", (None, "client_version")),
        ({"versions": NEW}, NULL, "INVALID_RECORD", ("a", "null_value")),
        ({"limit_ms": 100}, dated(899), "INVALID_TIMESTAMP", None),
        ({"limit_ms": 100}, dated(900), "NONE", None),
        ({"limit_ms": 100}, dated(1_100), "NONE", None),
        ({"limit_ms": 100}, dated(1_101), "INVALID_TIMESTAMP", None),
    ],
)
def test_what_a_leader_refuses_is_not_written_and_uses_no_uid(
    given: dict[str, Any], asked: ProduceRequest, error: str, told: tuple[str | None, str] | None
) -> None:
    rules, versions = given.get("rules", RULES), given.get("versions")
    leader = leading(rules=rules)
    leader.version_floor = given.get("floor")
    known = None if versions is None else Versions(versions)
    result = sent(leader, asked, rules=rules, versions=known, limit_ms=given.get("limit_ms"))
    refused = [(e.key, e.reason) for e in result.events if isinstance(e, AppendRefused)]

    written = int(error == "NONE")
    assert (result.error.name, refused) == (error, [told] if told else [])
    assert (result.uids_used, leader.log.log_end_offset) == (written, written)


def test_with_acks_all_the_answer_is_due_with_the_commit_and_with_acks_one_at_once() -> None:
    leader = leading(isr=("r1", "r2"))
    result = sent(leader, request("a", "b"))
    early = sent(leader, request("c", acks=ACKS_LEADER))
    assert (result.error, result.due_above, early.due_above) == (ErrorCode.NONE, 1, AT_ONCE)
    assert [type(event) for event in early.events] == [Appended]

    record_position(leader, "r2", 1, rules=RULES)
    assert not leader.log.high_watermark > result.due_above
    record_position(leader, "r2", 2, rules=RULES)
    assert leader.log.high_watermark > result.due_above


def test_who_does_not_lead_or_has_too_few_in_sync_writes_no_marker() -> None:
    marker = WriteTxnMarkersRequest("p", 7, 0, committed=True)
    few = leading(rules=TWO)
    few.log.append(batch(0), now_ms=0)
    errors = [
        write_marker(asked, marker, rules=TWO, now_ms=0, uid=1).error
        for asked in (Replica("r2"), few)
    ]

    assert errors == [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS]
    assert sent(Replica("r2"), request("a")).error is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_an_instance_that_was_replaced_writes_nothing_and_ends_no_transaction_of_the_next() -> None:
    """ProducerAppendInfo.checkProducerEpoch; the next one may be known by a marker alone."""
    by_batch, by_marker = leading(records=0), leading(records=0)
    sent(by_batch, fenced("a", epoch=1))
    sent(by_marker, fenced("a"))
    abort = WriteTxnMarkersRequest("c", 7, 1, committed=False)
    assert write_marker(by_marker, abort, rules=RULES, now_ms=1_000, uid=20).uids_used == 1

    for leader, sequence in ((by_batch, 0), (by_marker, 1)):
        late = sent(leader, fenced("b", sequence=sequence))
        assert (late.error, late.uids_used) == (ErrorCode.INVALID_PRODUCER_EPOCH, 0)
        assert late.events == [AppendRefused("r1", None, "producer_fenced")]
        assert sent(leader, fenced("c", epoch=1, sequence=1)).error is ErrorCode.NONE
        commit = WriteTxnMarkersRequest("c", 7, 0, committed=True)
        result = write_marker(leader, commit, rules=RULES, now_ms=1_000, uid=30)
        assert (result.error, result.uids_used) == (ErrorCode.INVALID_PRODUCER_EPOCH, 0)
        assert leader.log.producers.has_open(7)


def test_a_new_instance_ends_what_the_one_before_has_begun_before_it_arrives() -> None:
    """InitProducerId: else data that is on its way would be of the new instance's transaction."""
    leader = leading(records=0)
    abort = WriteTxnMarkersRequest("c", 7, 1, committed=False, fences=True)
    used = [
        write_marker(leader, one, rules=RULES, now_ms=1_000, uid=20).uids_used
        for one in (replace(abort, fences=False), abort, abort)
    ]

    assert used == [0, 1, 0]
    assert sent(leader, fenced("late")).error is ErrorCode.INVALID_PRODUCER_EPOCH
    assert sent(leader, fenced("b", epoch=1)).error is ErrorCode.NONE


def test_a_first_batch_is_refused_if_the_coordinator_has_no_such_transaction() -> None:
    """UnifiedLog.analyzeAndValidateProducerState: no batch after the first is verified."""
    asks = RULES.with_values({"verification": "first_batch"})
    leader, trusting = leading(records=0), leading(records=0)
    first = fenced("a")
    refused = sent(leader, first, rules=asks, under_way=False)

    assert (refused.error, refused.uids_used) == (ErrorCode.INVALID_TXN_STATE, 0)
    assert refused.events == [AppendRefused("r1", None, "not_in_transaction")]
    assert sent(trusting, first, under_way=False).error is ErrorCode.NONE
    outside = replace(first, transactional=False, producer_id=8)
    assert sent(leader, outside, rules=asks, under_way=False).error is ErrorCode.NONE
    assert sent(leader, first, rules=asks).error is ErrorCode.NONE
    assert sent(leader, fenced("b", sequence=1), rules=asks, under_way=False).uids_used == 1


def test_a_delete_with_a_value_loses_it_where_the_message_format_is_not_raised_yet() -> None:
    leader = leading()
    flagged = (Record(0, "a", "v", 0, flagged=True),)
    asked = replace(request("a"), records=flagged, version=3)
    result = sent(leader, asked, versions=Versions(NEW, None, OLD))

    [written] = leader.log.batches()
    assert (written.records[0].value, written.records[0].flagged) == (None, None)
    assert result.events[0] == Converted("r1", "r1", 0, (0,))
