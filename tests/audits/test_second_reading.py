"""A pass that differs from the second reading of the rules is reported; one that agrees is not."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from msgspec.structs import replace

from sim.protocol.events import Cleaned, CleaningFailed, LogStartMoved, Removal
from sim.protocol.log import AbortedTransaction, Segment
from sim.protocol.log.record import Batch
from sim.protocol.replication import Replica
from sim.protocol.replication.cleaning import Cleaner, delete_below_start
from sim.protocol.rules import Rules
from sim.simulate.cluster.node import Node
from sim.simulate.scenario.model import Topic
from tests.audits.second_reading import Order, Reading
from tests.audits.second_reading_compared import differences
from tests.audits.second_reading_passes import (
    SecondReading,
    is_dirty_enough,
    is_read,
    overlap,
)
from tests.audits.worlds import World, spoil
from tests.compaction.logs import batch, marker, record

Spoil = Callable[[Cleaned, list[Segment]], Cleaned]
"""Changes the event of a pass, and the segments after it."""
RULES = Rules.of(delete_retention_ms=10)
BOUND = 8
BATCHES = (
    batch(record(0, "a"), record(1, "b", None)),
    batch(record(2, "a"), pid=7),
    marker(3, 7, commit=False),
    batch(record(4, "a"), pid=7),
    marker(5, 7, commit=True),
    batch(record(6, "c")),
    batch(record(7, "d")),
)


def holding() -> Replica:
    """A replica with four closed segments of two batches at most, and an empty active one."""
    replica = Replica("r1")
    log = replica.log
    for made in BATCHES:
        log.append(made, now_ms=made.base_offset)
        if made.last_offset in (2, 4, 6):
            log.roll(now_ms=0)
    log.roll(now_ms=0)
    log.high_watermark = log.log_end_offset
    return replica


def order(replica: Replica) -> Order:
    """A pass over all closed segments at 5 ms, two of which fit into one."""
    return Order(
        version=lambda record: (record.offset,),
        is_tombstone=lambda record: record.value is None,
        fix="none",
        removal="horizon",
        full_map=True,
        first_dirty_offset=0,
        upper_bound=BOUND,
        now_ms=5,
        delete_retention_ms=10,
        high_watermark=replica.log.high_watermark,
        last_records={7: (4, 0)},
        segment_bytes=320,
    )


def passed(during: int | None = None, spoil: Spoil | None = None) -> tuple[list[str], bool]:
    """The differences after a pass, perhaps an interrupted one, and whether it is half done."""
    replica = holding()
    before, read = list(replica.log.segments), order(replica)
    object.__setattr__(replica.log.config, "segment_bytes", 320)
    done = Cleaner(RULES).run(replica, upper_bound=BOUND, now_ms=5, crash_during=during)
    (event,) = done.events
    assert isinstance(event, Cleaned)
    if spoil is not None:
        event = spoil(event, replica.log.segments)
    found = differences(event, before, replica.log.segments, Reading(before, read))
    return [what for what, _, _ in found.differs], found.half_done


def test_a_pass_that_does_what_the_rules_say_agrees() -> None:
    assert passed() == ([], False)


@pytest.mark.parametrize("operation", range(1, 14))
def test_a_half_done_pass_that_leaves_groups_merged_or_as_they_were_agrees(operation: int) -> None:
    assert passed(operation) == ([], True)


def merge_the_second_group_alone(event: Cleaned, segments: list[Segment]) -> Cleaned:
    segments[0] = Segment.of(0, [*BATCHES[:2]], last_modified_ms=2)
    return event


def test_a_half_done_pass_whose_first_group_is_not_in_place_is_reported() -> None:
    last = 13
    agreed, half_done = passed(last)
    assert (agreed, half_done) == ([], True)
    assert "segments" in passed(last, merge_the_second_group_alone)[0]


def a_record_more(event: Cleaned, segments: list[Segment]) -> Cleaned:
    segments[0].batches.insert(0, batch(record(0, "a")))
    return replace(event, size_bytes=(event.size_bytes[0], event.size_bytes[1] + 70))


def kept(place: str, value: object) -> Spoil:
    """Changes an attribute of the first segment."""

    def change(event: Cleaned, segments: list[Segment]) -> Cleaned:
        spoil(segments[0], place, value)
        return event

    return change


def a_copied_segment(event: Cleaned, segments: list[Segment]) -> Cleaned:
    segments[-1] = Segment(segments[-1].base_offset)
    return event


def said(**fields: Any) -> Spoil:
    return lambda event, _: replace(event, **fields)


SPOILED: Sequence[tuple[Spoil, str]] = (
    (a_record_more, "segments"),
    (kept("aborted", []), "segments"),
    (kept("last_modified_ms", 9), "segments"),
    (kept("first_timestamp_ms", 9), "first timestamps"),
    (a_copied_segment, "segments that are not covered"),
    (said(now_ms=6), "clock"),
    (said(upper_bound=7), "end"),
    (said(partial=True), "full map"),
    (said(removals=(Removal(0, 1, "a", "superseded", 2),)), "removals"),
    (said(emptied=(1,)), "emptied batches"),
    (said(dropped=(1,)), "dropped batches"),
    (said(horizons=()), "horizons"),
    (said(rewritten=()), "rewritten batches"),
    (said(protected_offset=7), "protected offset"),
    (said(size_bytes=(1, 1)), "bytes"),
    (said(oversized=((0, 1),)), "oversized batches"),
)


@pytest.mark.parametrize(("spoil", "differs"), SPOILED, ids=range(len(SPOILED)))
def test_what_differs_of_a_pass_is_reported(spoil: Spoil, differs: str) -> None:
    assert passed(spoil=spoil)[0] == [differs]


def test_a_pass_that_fails_has_removed_what_is_gone() -> None:
    disordered = [
        *(batch(record(5, "a"), pid=8), marker(6, 8, commit=False)),
        *(batch(record(7, "a"), pid=7), marker(8, 7, commit=False), batch(record(9, "a"))),
    ]
    made: tuple[tuple[int, list[Batch]], ...] = (
        (0, [batch(record(0, "a"), record(1, "b", "v" * 999))]),
        (2, [batch(record(2, "a")), batch(record(3, "c"), pid=7)]),
        (5, disordered),
        (10, []),
    )
    world = World(SecondReading)
    world.context.retention = True
    log = world.log
    log.segments[:] = [Segment.of(base, batches, last_modified_ms=0) for base, batches in made]
    log.segments[1].aborted = [AbortedTransaction(7, 3, 4, 5)]
    log.segments[2].aborted = [AbortedTransaction(8, 5, 6, 7), AbortedTransaction(7, 7, 8, 9)]
    log.log_end_offset = log.high_watermark = 10
    object.__setattr__(log.config, "segment_bytes", sum(s.size_bytes for s in log.segments[1:]))
    world.happened()
    events = Cleaner(RULES).run(world.replica, upper_bound=10, now_ms=5).events

    assert isinstance(events[-1], CleaningFailed)
    assert world.happened(*events) == []
    world.happened()
    log.segments[0] = Segment(0)
    assert world.happened(*events) == ["removals of a pass that failed"]


@pytest.mark.parametrize(
    ("topic", "cause", "told"),
    [
        ({"retention_ms": 20}, "retention.ms", []),
        ({"retention_ms": 100}, "retention.ms", ["segments that go for their age"]),
        ({"retention_bytes": 100}, "retention.bytes", []),
        ({"retention_bytes": 10**6}, "retention.bytes", ["bytes that retention leaves"]),
    ],
)
def test_retention_takes_what_is_too_old_or_too_much(
    topic: dict[str, int], cause: str, told: list[str]
) -> None:
    world = World(SecondReading)
    world.context.retention = True
    world.context.scenario.topic = Topic(**topic)  # type: ignore[arg-type]
    world.replica.log.segments[:] = holding().log.segments
    world.happened()

    assert world.happened(LogStartMoved("r1", 3, 8, cause)) == told


@pytest.mark.parametrize(("longest_ms", "is_due"), [(None, False), (98, True), (1_000, False)])
def test_a_log_is_cleaned_for_the_age_of_its_closed_segments(
    longest_ms: int | None, is_due: bool
) -> None:
    world, segments = World(SecondReading), holding().log.segments
    segments[0].first_timestamp_ms = 1
    topic = Topic(min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=longest_ms)
    world.context.scenario.topic = topic

    assert is_dirty_enough(cast(Node, world.node), segments, 0, BOUND) == is_due


OLD, YOUNG = AbortedTransaction(7, 2, 3, 4), AbortedTransaction(7, 4, 5, 6)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize(
    ("entries", "overlaps"),
    [
        ([OLD, YOUNG], False),
        ([YOUNG], False),
        ([OLD, replace(YOUNG, first_offset=2)], True),
        ([replace(YOUNG, first_offset=2)], True),
    ],
)
def test_a_transaction_that_begins_before_an_earlier_marker_overlaps(
    entries: list[AbortedTransaction], commit: bool, overlaps: bool
) -> None:
    made = [marker(3, 7, commit=commit), batch(record(4, "a"), pid=7), marker(5, 7, commit=False)]
    segment = Segment.of(0, made, last_modified_ms=0)
    segment.aborted = entries
    assert overlap([segment]) == overlaps


def test_a_map_over_aborted_data_below_the_log_start_is_not_read() -> None:
    (first, *_) = holding().log.segments
    first.aborted = [OLD]
    for full, start, is_judged in ((False, 4, True), (False, 3, False), (True, 4, False)):
        rules = Rules.of(map_range="full" if full else "dirty")
        assert is_read(rules, [first], start, 4) == is_judged


def test_segments_that_were_deleted_since_the_last_event_are_no_part_of_a_pass() -> None:
    world = World(SecondReading, rules=RULES)
    replica = world.node.replica = world.replica = holding()
    log, topic = replica.log, Topic()
    world.context.retention = True
    world.context.replicas, world.context.scenario.topic = {"r1": replica}, topic
    log.log_start_offset = replica.first_dirty_offset = log.segments[1].base_offset
    world.happened()
    delete_below_start(log)
    done = Cleaner(RULES).run(replica, upper_bound=BOUND, now_ms=100)
    assert world.happened(*done.events) == []
