"""A consumer's fetches by the client's algorithm, compared with the fold of the log."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.compaction.fold import data_below
from sim.log import AbortedTransaction, Batch, Control, Record, control_batch, data_batch
from sim.log.epochs import EpochEntry
from sim.log.versions import NEW, OLD, Versions
from sim.replication import Replica
from sim.replication.cleaning import Cleaner
from sim.replication.leader import append
from sim.replication.messages import ConsumerFetchResponse, ErrorCode
from sim.replication.reading import (
    Position,
    ReadingGoal,
    answer_consumer_fetch,
    consumer_request,
    fetch,
    readable_end,
    receive_consumer_fetch,
    undo_aborted,
)
from sim.rules import Rules
from sim.trace import Converted
from tests.replication.replicas import leading

RULES = Rules.of(commit="isr", delete_retention_ms=10)
CHECKING = RULES.with_values({"consumer_validation": "epoch"})
PRODUCERS = (-1, 7, 8)

STEPS = st.lists(
    st.tuples(
        st.sampled_from(["data", "delete", "commit", "abort", "clean", "wait", "roll"]),
        st.sampled_from(PRODUCERS),
        st.sampled_from("abc"),
        st.integers(0, 40),
    ),
    max_size=30,
)


def data(offset: int, producer: int, key: str, value: str | None = "v") -> Batch:
    record = Record(offset, key, value, 0, (), uid=offset + 1)
    return data_batch((record,), epoch=1, producer_id=producer, transactional=producer >= 0)


def marker(offset: int, producer: int, control: Control) -> Batch:
    return control_batch(
        offset, epoch=1, control=control, timestamp_ms=0, producer_id=producer, uid=offset + 1
    )


def played(steps: Sequence[tuple[str, int, str, int]]) -> Replica:
    """A replica that appended, rolled and cleaned as the steps say; all of it is committed."""
    replica = Replica("r1")
    log, now_ms = replica.log, 0
    for what, producer, key, number in steps:
        end = log.log_end_offset
        if what in ("data", "delete"):
            value = f"{key}{end}" if what == "data" else None
            log.append(data(end, producer, key, value), now_ms=now_ms)
        elif what in ("commit", "abort") and log.producers.has_open(producer):
            log.append(marker(end, producer, Control(what.upper())), now_ms=now_ms)
        elif what == "roll":
            log.roll(now_ms=now_ms)
        elif what == "wait":
            now_ms += number
        elif what == "clean":
            log.high_watermark = end
            bound = min(readable_end(log, committed=True), number)
            Cleaner(RULES).run(replica, upper_bound=bound, now_ms=now_ms, rescan=True)
        log.high_watermark = log.log_end_offset
    return replica


def read(
    replica: Replica, *, committed: bool, most: int | None, rules: Rules = RULES
) -> list[Record]:
    """Everything a consumer is given from the beginning on, `most` batches at a time."""
    position, found = Position(), list[Record]()
    while True:
        fetched = fetch(position, replica, committed=committed, rules=rules, max_batches=most)
        if fetched.start == fetched.end:
            return found
        found += [record for batch in fetched.batches for record in batch.records]


def table(records: Sequence[Record]) -> dict[str, int]:
    """Key -> uid of the last record given, deleted keys left out."""
    last = {record.key: record for record in records if record.key is not None}
    return {key: record.uid for key, record in last.items() if record.value is not None}


@given(STEPS, st.sampled_from([1, 2, 3, None]))
def test_a_committed_reader_ends_with_the_committed_data_below_the_last_stable_offset(
    steps: list[tuple[str, int, str, int]], most: int | None
) -> None:
    replica = played(steps)
    stable = readable_end(replica.log, committed=True)
    decided = data_below(replica.log.batches(), replica.log.log_end_offset)
    expected = [record for record in decided if record.offset < stable]

    found = read(replica, committed=True, most=most)

    assert table(found) == table(expected)


@given(STEPS)
def test_reading_in_small_pieces_gives_the_same_records(
    steps: list[tuple[str, int, str, int]],
) -> None:
    replica = played(steps)

    for committed in (False, True):
        whole = read(replica, committed=committed, most=None)
        assert read(replica, committed=committed, most=1) == whole


def test_an_uncommitted_reader_is_given_open_and_aborted_data_and_no_markers() -> None:
    replica = played([("data", 7, "a", 0), ("abort", 7, "a", 0), ("data", 8, "b", 0)])

    assert [r.offset for r in read(replica, committed=False, most=None)] == [0, 2]
    assert [r.offset for r in read(replica, committed=True, most=None)] == []
    assert readable_end(replica.log, committed=True) == 2


def test_a_producer_is_aborted_from_the_first_offset_up_to_the_marker() -> None:
    batches = [
        data(0, 7, "before"),
        data(1, 7, "within"),
        data(2, 8, "another producer"),
        data(3, -1, "no producer"),
        marker(4, 7, Control.ABORT),
        data(5, 7, "after"),
    ]
    aborted = [AbortedTransaction(7, 1, 4, 5)]

    offsets = [batch.base_offset for batch in undo_aborted(batches, aborted)]

    assert offsets == [0, 2, 3, 5]


def test_an_emptied_marker_does_not_end_an_aborted_transaction() -> None:
    batches = [data(0, 7, "x"), marker(1, 7, Control.ABORT).emptied(), data(2, 7, "y")]

    assert undo_aborted(batches, [AbortedTransaction(7, 0, 1, 2)]) == []


def test_a_list_of_history_hides_the_transaction_after_a_marker_that_is_gone() -> None:
    steps = [("data", 7, "a", 0), ("abort", 7, "a", 0), ("data", 7, "b", 0), ("commit", 7, "b", 0)]
    for _ in range(3):
        steps += [("clean", -1, "a", 40), ("wait", -1, "a", 40)]
    replica = played(steps)
    history = RULES.with_values({"aborted_list": "history"})

    assert [r.key for r in read(replica, committed=True, most=None)] == ["b"]
    assert read(replica, committed=True, most=None, rules=history) == []


def followed(end: int) -> tuple[Position, Replica]:
    """A consumer that has read 4 records in epoch 1, and a new leader with `end` of them."""
    old, new = leading("r1", records=4), leading("r2", records=end)
    old.log.high_watermark = 4
    position = Position()
    fetch(position, old, committed=False, rules=CHECKING)
    assert (position.offset, position.epoch) == (4, 1)
    new.epoch = 2
    new.log.epochs.assign(2, end)
    return position, new


@pytest.mark.parametrize(
    ("end", "goes_on_at", "reset"), [(2, 2, "log_truncated"), (4, 4, None), (6, 4, None)]
)
def test_a_position_goes_back_to_where_its_epoch_ended_at_the_new_leader(
    end: int, goes_on_at: int, reset: str | None
) -> None:
    position, new = followed(end)

    fetched = fetch(position, new, committed=False, rules=CHECKING)

    assert (fetched.start, fetched.reset) == (goes_on_at, reset)


@pytest.mark.parametrize(
    ("position", "goes_on_at", "reset"),
    [(1, 2, "below_log_start"), (2, 2, None), (4, 4, None), (5, 4, "above_log_end")],
)
def test_a_position_that_is_not_in_the_log_is_reset_to_the_nearer_end(
    position: int, goes_on_at: int, reset: str | None
) -> None:
    replica = leading("r1", records=4)
    replica.log.log_start_offset = 2

    fetched = fetch(Position(position), replica, committed=False, rules=RULES)

    assert (fetched.start, fetched.reset) == (goes_on_at, reset)


def test_without_the_check_a_position_is_only_kept_within_the_log() -> None:
    position, new = followed(2)
    new.log.append(data(2, -1, "k")._replace(epoch=2), now_ms=0)
    new.log.append(data(3, -1, "k")._replace(epoch=2), now_ms=0)

    assert fetch(position, new, committed=False, rules=RULES).start == 4


def test_a_leader_is_asked_once() -> None:
    position, new = followed(4)
    fetch(position, new, committed=False, rules=CHECKING)
    new.log.epochs.entries = [EpochEntry(1, 0), EpochEntry(2, 1)]

    assert fetch(position, new, committed=False, rules=CHECKING).start == 4


def test_an_epoch_that_was_cleaned_away_looks_like_a_truncation_to_a_consumer() -> None:
    position, new = followed(4)
    new.log.epochs.entries = [EpochEntry(0, 0), EpochEntry(2, 3)]

    fetched = fetch(position, new, committed=False, rules=CHECKING)

    assert fetched.start == 3


@pytest.mark.parametrize(
    ("until", "records", "position", "reached"),
    [
        ("position", (), 4, True),
        ("position", (2, 3), 3, False),
        ("last_offset", (3,), 3, True),
        ("last_offset", (2,), 4, False),
        ("count", (0, 1, 2, 3), 4, True),
        ("count", (0, 1, 3), 4, False),
    ],
)
def test_three_ways_to_tell_the_end(
    until: str, records: tuple[int, ...], position: int, *, reached: bool
) -> None:
    goal = ReadingGoal(until, 0, 4)
    goal.note([Record(offset, "k", "v", 0) for offset in records])

    assert goal.reached(position) is reached


@pytest.mark.parametrize("until", ["position", "last_offset", "count"])
def test_a_reader_that_begins_at_the_end_is_there(until: str) -> None:
    assert ReadingGoal(until, 4, 4).reached(4)


def asked(
    replica: Replica, position: Position, *, versions: Versions | None = None, **more: object
) -> ConsumerFetchResponse:
    """The answer to the next fetch of a read_uncommitted consumer."""
    request = consumer_request(position, "c", read_committed=False, rules=CHECKING)
    request = replace(request, **more)  # type: ignore[arg-type]
    return answer_consumer_fetch(replica, request, rules=CHECKING, versions=versions).response


def test_only_a_leader_answers_a_consumer_that_asks_for_one() -> None:
    follower = Replica("r2")
    follower.log.append(data(0, -1, "a"), now_ms=0)
    follower.log.high_watermark = 1

    assert asked(follower, Position()).error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert len(asked(follower, Position(), leader_only=False).batches) == 1


def test_a_consumer_stays_where_it_is_when_its_request_is_refused() -> None:
    position = Position(3, 1, ("r1", 1))
    response = asked(Replica("r2"), position, correlation_id=5)
    fetched = receive_consumer_fetch(position, response, committed=False)

    assert (response.correlation_id, fetched) == (5, (3, 3, (), None))
    assert position == Position(3, 1, ("r1", 1))


def test_a_broker_serves_no_consumer_of_a_version_that_it_does_not_know() -> None:
    response = asked(leading(records=1), Position(), version=3, versions=Versions(OLD))

    assert (response.error, response.batches) == (ErrorCode.UNSUPPORTED_VERSION, ())


def test_an_old_consumer_is_given_deletes_without_their_values_and_the_broker_says_so() -> None:
    leader = leading(rules=CHECKING)
    flagged = Record(0, "a", "v", 0, flagged=True, uid=1)
    append(leader, data_batch((flagged,), epoch=1), rules=CHECKING, now_ms=0)
    rules = CHECKING.with_values({"tombstone_mark": "flag"})
    request = consumer_request(Position(), "c", read_committed=False, rules=rules, version=2)
    answered = answer_consumer_fetch(leader, request, rules=rules, versions=Versions(NEW))

    assert [r.value for batch in answered.response.batches for r in batch.records] == [None]
    assert answered.events == (Converted("r1", "c", leader.log.size_bytes, (0,)),)
