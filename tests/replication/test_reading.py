"""A consumer's fetches by the client's algorithm, compared with the fold of the log."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sim.protocol.compaction.fold import data_below
from sim.protocol.log import Record
from sim.protocol.log.formats import OLD, Versions
from sim.protocol.replication import Replica
from sim.protocol.replication.cleaning import Cleaner
from sim.protocol.replication.messages import ConsumerFetchResponse, ErrorCode
from sim.protocol.replication.reading import (
    Fetched,
    Position,
    answer_consumer_fetch,
    consumer_request,
    fetch,
    readable_end,
    receive_consumer_fetch,
)
from sim.protocol.replication.replica import freeze, maker
from sim.protocol.rules import Rules
from tests.check.events import batch, marker
from tests.replication.replicas import leading, with_log

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


def played(steps: Sequence[tuple[str, int, str, int]]) -> Replica:
    """A replica that appended, rolled and cleaned as the steps say; all of it is committed."""
    replica = Replica("r1")
    log, now_ms = replica.log, 0
    for what, producer, key, number in steps:
        end = log.log_end_offset
        if what in ("data", "delete"):
            value = f"{key}{end}" if what == "data" else None
            log.append(batch(end, key, value, pid=producer), now_ms=now_ms)
        elif what in ("commit", "abort") and log.producers.has_open(producer):
            log.append(marker(end, producer, commit=what == "commit"), now_ms=now_ms)
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


def read(replica: Replica, *, committed: bool, most: int | None) -> list[Record]:
    """Everything a consumer is given from the beginning on, `most` batches at a time."""
    position, found = Position(), list[Record]()
    while True:
        fetched = fetch(position, replica, committed=committed, rules=RULES, max_batches=most)
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
def test_a_replica_that_is_made_of_its_value_has_the_same_value_and_shares_nothing_that_changes(
    steps: list[tuple[str, int, str, int]],
) -> None:
    """A search of states compares and restores replicas by it."""
    replica = played(steps)
    value = freeze(replica)
    make = maker(value)
    made = make()
    made.log.append(batch(made.log.log_end_offset, "a"), now_ms=0)

    assert hash(value) == hash(freeze(make()))
    assert value == freeze(make()) == freeze(replica) != freeze(made)


@given(STEPS)
def test_reading_in_small_pieces_gives_the_same_records(
    steps: list[tuple[str, int, str, int]],
) -> None:
    replica = played(steps)

    for committed in (False, True):
        whole = read(replica, committed=committed, most=None)
        assert read(replica, committed=committed, most=1) == whole


LOGS = st.lists(
    st.tuples(st.integers(1, 4), st.lists(st.integers(1, 3), max_size=5), st.integers(0, 8)),
    min_size=1,
    max_size=4,
)


@given(LOGS, st.sampled_from([1, 2, None]))
def test_a_consumer_that_checks_its_position_stands_behind_what_it_has_of_every_leader_s_log(
    logs: list[tuple[int, list[int], int]], most: int | None
) -> None:
    """Each leader keeps a part of the log before, and goes on in epochs of its own.

    So a position is in the common part, or where that ends, with the epoch of what is before it;
    and whoever goes on fetching has the whole log of the last leader, none of it twice.
    """
    epochs, position, given = [1], Position(), list[int]()
    for number, (kept, steps, committed) in enumerate(logs):
        common = epochs[:kept]
        epochs = [*common, *sorted(10 * number + 10 + step for step in steps)]
        replica = with_log(f"r{number % 2}", *epochs)
        replica.epoch, replica.log.high_watermark = 10 * number + 19, min(committed, len(epochs))
        before = position.offset
        for _ in range(len(epochs) + 1):
            fetched = fetch(position, replica, committed=False, rules=CHECKING, max_batches=most)
            del given[fetched.start :]
            given += [batch.epoch for batch in fetched.batches]
            assert fetched.reset == ("log_truncated" if fetched.start < before else None)
            assert given == epochs[: position.offset]
            assert position.epoch == (given[-1] if given else -1)
            before = position.offset
        assert position.offset >= replica.log.high_watermark


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


def asked(
    replica: Replica, position: Position, *, versions: Versions | None = None, **more: object
) -> ConsumerFetchResponse:
    """The answer to the next fetch of a read_uncommitted consumer."""
    request = consumer_request(position, "c", read_committed=False, rules=CHECKING)
    request = replace(request, **more)  # type: ignore[arg-type]
    return answer_consumer_fetch(replica, request, rules=CHECKING, versions=versions).response


def test_a_consumer_stays_where_it_is_when_its_request_is_refused() -> None:
    position = Position(3, 1, ("r1", 1))
    follower = Replica("r2")
    follower.log.append(batch(0, "a"), now_ms=0)
    follower.log.high_watermark = 1
    old = asked(leading(records=1), Position(), version=3, versions=Versions(OLD))
    refused = asked(follower, position, correlation_id=5)
    fetched = receive_consumer_fetch(position, refused)

    assert (old.error, old.batches) == (ErrorCode.UNSUPPORTED_VERSION, ())
    assert (refused.error, refused.correlation_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 5)
    assert (fetched, position) == (Fetched(3, 3, ()), Position(3, 1, ("r1", 1)))
    assert len(asked(follower, Position(), leader_only=False).batches) == 1
