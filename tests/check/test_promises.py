"""What producers and consumers are promised: each law on hand-made events, with its near misses."""

import pytest

from sim.check import Checker
from sim.log import Batch, Record, data_batch
from sim.rules import Rules
from sim.trace import (
    Acknowledged,
    Appended,
    Consumed,
    ConsumerReset,
    Event,
    FaultEnded,
    FaultInjected,
    IsrChanged,
    LeaderElected,
    LogStartMoved,
    ProducersForgotten,
    Quiesced,
    ReplicaCrashed,
)
from sim.trace.logs import ResetCause
from tests.check.events import (
    RULES,
    appended,
    batch,
    cluster,
    committed,
    copied,
    violations_of,
)

TWO_NEEDED = RULES.with_values({"min_isr": 2})
A, B = batch(0, "a"), batch(1, "b")


def told(
    first: int, last: int, *, sequence: int = -1, by: str = "r1", acks: str = "all"
) -> Acknowledged:
    """Producer 7, or one without sequence numbers, is told that a batch is written."""
    producer = 7 if sequence >= 0 else -1
    return Acknowledged(by, producer, sequence, first, last, 1, acks)  # type: ignore[arg-type]


# What an acknowledgement says.


@pytest.mark.parametrize(
    ("high_watermark", "acks", "found"), [(1, "all", 1), (2, "all", 0), (1, "1", 0)]
)
def test_with_acks_all_nothing_is_acknowledged_at_or_above_the_high_watermark(
    high_watermark: int, acks: str, found: int
) -> None:
    events = [*cluster("r1", "r2"), *appended("r1", A, B), copied("r2", "r1", 0, A, B)]
    events += [committed("r1", high_watermark), told(0, 1, acks=acks)]

    assert len(violations_of("acknowledged-committed", events)) == found


@pytest.mark.parametrize(("copies", "found"), [((A, B), 0), ((A,), 1)])
def test_what_a_leader_acknowledges_after_its_successor_is_elected_has_to_be_there_at_rest(
    copies: tuple[Batch, ...], found: int
) -> None:
    events = [*cluster("r1", "r2"), *appended("r1", A, B), copied("r2", "r1", 0, *copies)]
    events += [LeaderElected("r2", 2, len(copies), ("r2",), ("r1", "r2"))]
    events += [committed("r1", 2), told(0, 1)]

    assert violations_of("acknowledged-committed", events) == []
    events += [committed("r2", len(copies)), Quiesced("r2", synced=True)]
    assert len(violations_of("acknowledged-committed", events)) == found


def test_who_acknowledges_too_early_is_told_with_the_numbers() -> None:
    events = [*cluster("r1"), *appended("r1", A, B), committed("r1", 1), told(0, 1)]

    [sentence] = violations_of("acknowledged-committed", events)
    assert sentence == (
        "r1 told a producer that b=v (offset 1) at 1 is committed, but its high watermark is 1."
    )


@pytest.mark.parametrize(("copies", "found"), [(0, 1), (1, 0)])
def test_what_is_acknowledged_was_in_min_insync_replicas_logs_when_it_was_committed(
    copies: int, found: int
) -> None:
    events: list[Event] = [*cluster("r1", "r2", isr=("r1",)), *appended("r1", A)]
    events += [copied("r2", "r1", 0, A)] * copies
    events += [committed("r1", 1), told(0, 0)]

    assert len(violations_of("acknowledged-committed", events, rules=TWO_NEEDED)) == found
    assert violations_of("acknowledged-committed", events) == []


def test_a_copy_that_a_crash_takes_before_the_leader_counts_it_is_no_early_acknowledgement() -> (
    None
):
    events = [*cluster("r1", "r2"), *appended("r1", A), copied("r2", "r1", 0, A)]
    events += [ReplicaCrashed("r2", 0, 0), committed("r1", 1), told(0, 0)]

    assert violations_of("acknowledged-committed", events, rules=TWO_NEEDED) == []


def test_another_record_than_the_committed_one_is_not_acknowledged() -> None:
    other = batch(0, "x", uid=7, epoch=2)
    events = [*cluster("r1", "r2"), *appended("r1", A), committed("r1", 1)]
    events += [LeaderElected("r2", 2, 0, ("r2",), ("r1", "r2")), *appended("r2", other)]

    early = [*events, told(0, 0, by="r2")]
    assert len(violations_of("acknowledged-committed", early)) == 1
    # Committed a second time it is another law's matter.
    late = [*events, committed("r2", 1), told(0, 0, by="r2")]
    assert violations_of("acknowledged-committed", late) == []


# What a sequence number says.


def numbered(offset: int, sequence: int, *, count: int = 1, uid: int = 0, epoch: int = 0) -> Batch:
    """A batch of producer 7."""
    first = uid or 100 + offset
    records = [Record(offset + i, "k", f"v{first + i}", 0, uid=first + i) for i in range(count)]
    return data_batch(
        tuple(records), epoch=1, producer_id=7, producer_epoch=epoch, base_sequence=sequence
    )


def written(*batches: Batch) -> list[Event]:
    """r1 appends and commits batches one after the other, alone."""
    events = cluster("r1")
    for each in batches:
        events += [Appended("r1", each), committed("r1", each.last_offset + 1)]
    return events


def test_a_sequence_number_is_committed_once() -> None:
    [sentence] = violations_of("producer-sequences", written(numbered(0, 0), numbered(1, 0)))
    assert sentence == (
        "sequence number 0 of producer 7 is committed at offset 1, after all below 1."
    )
    assert violations_of("producer-sequences", written(numbered(0, 0), numbered(1, 1))) == []
    begun_anew = written(numbered(0, 0), numbered(1, 0, epoch=1))
    assert violations_of("producer-sequences", begun_anew) == []


def test_a_number_that_comes_after_a_higher_one_is_found_too() -> None:
    events = written(numbered(0, 1), numbered(1, 0))

    [sentence] = violations_of("producer-sequences", events)
    assert sentence.endswith("after all below 2 but this one.")


def test_a_repeat_is_excused_by_who_has_forgotten_the_producer_since() -> None:
    first = written(numbered(0, 0))
    again: list[Event] = [Appended("r1", numbered(1, 0)), committed("r1", 2)]
    forgotten = ProducersForgotten("r2", (7,))

    assert violations_of("producer-sequences", [*first, forgotten, *again]) == []
    other = ProducersForgotten("r2", (8,))
    assert len(violations_of("producer-sequences", [*first, other, *again])) == 1
    before = [*cluster("r1"), forgotten, *first[2:]]
    assert len(violations_of("producer-sequences", [*before, *again])) == 1


def test_a_repeat_is_excused_where_the_log_never_had_the_batch_or_has_deleted_it() -> None:
    first = written(numbered(0, 0))
    again: list[Event] = [Appended("r1", numbered(1, 0)), committed("r1", 2)]
    deleted = LogStartMoved("r1", 1, 1, "retention")
    assert violations_of("producer-sequences", [*first, deleted, *again]) == []

    taken_over = [*cluster("r1", "r2"), *appended("r1", numbered(0, 0)), committed("r1", 1)]
    taken_over += [LeaderElected("r2", 2, 0, ("r2",), ("r1", "r2"))]
    taken_over += [Appended("r2", batch(0, "x", uid=8, epoch=2)), committed("r2", 1)]
    lost = [*taken_over, Appended("r2", numbered(1, 0)), committed("r2", 2)]
    assert violations_of("producer-sequences", lost) == []


def test_a_gap_is_a_number_that_was_acknowledged_and_is_not_committed() -> None:
    events = written(numbered(0, 0), numbered(1, 3))

    assert violations_of("producer-sequences", events) == []
    assert violations_of("producer-sequences", [*events, told(1, 1, sequence=3)]) == []
    assert violations_of("producer-sequences", [*events, told(1, 1, sequence=1, acks="1")]) == []
    [sentence] = violations_of("producer-sequences", [*events, told(1, 1, sequence=1)])
    assert sentence == (
        "r1 told producer 7 that its sequence number 1 is committed, but none of its committed "
        "records has that number."
    )


def test_every_record_of_an_acknowledged_batch_has_its_number() -> None:
    events = written(numbered(0, 0, count=3))

    assert violations_of("producer-sequences", [*events, told(0, 2, sequence=0)]) == []
    assert len(violations_of("producer-sequences", [*events, told(0, 2, sequence=1)])) == 1
    unknown = written(batch(0, "a"))
    assert len(violations_of("producer-sequences", [*unknown, told(0, 0, sequence=0)])) == 1


# Where a consumer goes on.


def reads(start: int, end: int, consumer: str = "c1") -> Consumed:
    return Consumed("r1", consumer, start, end, (), 0)


def test_a_consumer_goes_on_where_it_ended() -> None:
    base = cluster("r1")

    assert violations_of("consumer-continues", [*base, reads(0, 2), reads(2, 3)]) == []
    assert violations_of("consumer-continues", [*base, reads(0, 2), reads(0, 2, "c2")]) == []
    for start in (1, 3):
        [sentence] = violations_of("consumer-continues", [*base, reads(0, 2), reads(start, 4)])
        assert sentence == f"c1 was at 2 and reads on at {start} of r1; nothing has reset it."


@pytest.mark.parametrize(
    ("cause", "position", "found"),
    [
        ("below_log_start", 3, 0),
        ("below_log_start", 4, 1),
        ("below_log_start", 1, 1),
        ("above_log_end", 1, 0),
        ("above_log_end", 3, 1),
        ("log_truncated", 1, 0),
        ("log_truncated", 2, 1),
    ],
)
def test_a_reset_moves_a_consumer_no_farther_than_into_the_log(
    cause: ResetCause, position: int, found: int
) -> None:
    base = [*cluster("r1"), *appended("r1", A, B, batch(2, "c"), batch(3, "d")), reads(0, 2)]
    moved: list[Event] = [LogStartMoved("r1", 3, 4, ""), ConsumerReset("r1", "c1", position, cause)]

    assert len(violations_of("consumer-continues", [*base, *moved, reads(position, 4)])) == found


# That a high watermark gets on.


def stuck(*between: Event, last_ms: int = 10_002, rules: Rules = RULES) -> list[str]:
    """Both have offset 0 from 1 ms on; the leader appends again at `last_ms`, and commits not."""
    events: list[tuple[int, Event]] = [(0, event) for event in cluster("r1", "r2")]
    events += [(0, appended("r1", A)[0]), (1, copied("r2", "r1", 0, A))]
    events += [(1, appended("r1", B)[0])]
    events += [(5_000, event) for event in between]
    return checked_at([*events, (last_ms, appended("r1", batch(2, "c"))[0])], rules)


def checked_at(events: list[tuple[int, Event]], rules: Rules) -> list[str]:
    checker = Checker(rules, ["high-watermark-advances"])
    for at_ms, event in events:
        checker.on(at_ms, event)
    return [violation.sentence for violation in checker.violations]


def test_a_high_watermark_that_stands_still_for_ten_seconds_is_found() -> None:
    [sentence] = stuck()

    assert sentence == (
        "r1 has its high watermark at 0 for 10001 ms; every in-sync replica has its log up to 1."
    )
    assert stuck(last_ms=10_001) == []
    assert stuck(committed("r1", 1)) == []
    assert stuck(rules=RULES.with_values({"min_isr": 3})) == []


@pytest.mark.parametrize(
    "disturbance",
    [
        FaultInjected("r2", "partition", ""),
        FaultInjected("r2", "roll", ""),
        LeaderElected("r1", 2, 2, ("r1", "r2"), ("r1", "r2")),
    ],
)
def test_time_counts_from_the_last_disturbance_on(disturbance: Event) -> None:
    assert stuck(disturbance) == []


def test_at_rest_nothing_that_all_have_is_uncommitted() -> None:
    base = [*cluster("r1", "r2"), *appended("r1", A), copied("r2", "r1", 0, A)]
    rest = Quiesced("r1", synced=True)

    [sentence] = violations_of("high-watermark-advances", [*base, rest])
    assert sentence == (
        "r1 has its high watermark at 0 at rest; every in-sync replica has its log up to 1."
    )
    assert violations_of("high-watermark-advances", [*base, committed("r1", 1), rest]) == []
    assert violations_of("high-watermark-advances", [*base, Quiesced("r1", synced=False)]) == []
    alone = [*cluster("r1", "r2"), *appended("r1", A), rest]
    assert violations_of("high-watermark-advances", alone) == []


@pytest.mark.parametrize(
    ("waits_for", "has_it", "found"),
    [
        ("in_sync_set", False, 1),
        ("caught_up_eligible", False, 0),
        ("caught_up_eligible", True, 1),
        ("caught_up", False, 0),
    ],
)
def test_where_others_are_waited_for_it_is_stuck_below_what_they_have_too(
    waits_for: str, *, has_it: bool, found: int
) -> None:
    rules = RULES.with_values({"high_watermark_waits_for": waits_for})
    events: list[Event] = [*cluster("r1", "r2", "r3"), IsrChanged("r1", ("r1", "r2"), None)]
    events += [*appended("r1", A), copied("r2", "r1", 0, A)]
    events += [copied("r3", "r1", 0, A)] if has_it else []
    events.append(Quiesced("r1", synced=True))

    assert len(violations_of("high-watermark-advances", events, rules=rules)) == found


@pytest.mark.parametrize(("start", "found"), [(0, 1), (1, 0)])
def test_a_majority_commits_what_ends_above_the_start_of_its_epoch(start: int, found: int) -> None:
    majority = RULES.with_values({"commit": "majority"})
    names = ("r1", "r2", "r3")
    base = [*cluster(*names), *appended("r1", A), copied("r2", "r1", 0, A)]
    base += [LeaderElected("r1", 2, start, (), names), Quiesced("r1", synced=True)]

    assert len(violations_of("high-watermark-advances", base, rules=majority)) == found


def test_a_fault_that_is_over_disturbs_no_more() -> None:
    events: list[tuple[int, Event]] = [(0, event) for event in cluster("r1", "r2")]
    events += [(0, appended("r1", A)[0]), (0, copied("r2", "r1", 0, A))]
    events += [(1, FaultInjected("r2", "partition", "")), (2, appended("r1", B)[0])]
    after = [(3, appended("r1", batch(2, "c"))[0]), (20_000, appended("r1", batch(3, "d"))[0])]

    assert checked_at([*events, *after], RULES) == []
    ended: list[tuple[int, Event]] = [(2, FaultEnded("r2", "partition"))]
    assert len(checked_at([*events, *ended, *after], RULES)) == 1
