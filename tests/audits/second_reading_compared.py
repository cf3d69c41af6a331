"""What a pass did, compared with a reading of it: its event, and the log afterwards.

A pass that a crash interrupts leaves each group of segments as it was, or merged, the first ones
first (LocalLog.replaceSegments).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from sim.protocol import events as on
from sim.protocol.log import AbortedTransaction, Batch, Segment
from tests.audits.second_reading import Expected, Reading


class Compared(NamedTuple):
    """How a pass compares with a reading of it.

    Attributes:
        differs: What differs, as it is and as the rules say.
        half_done: Whether a crash interrupted the pass, which then goes on.
    """

    differs: list[tuple[str, object, object]]
    half_done: bool


def differences(
    event: on.Cleaned, before: Sequence[Segment], after: Sequence[Segment], reading: Reading
) -> Compared:
    """The differences of the event of a pass, and of the log after it, from a reading of it.

    A pass that a crash has interrupted moves no checkpoint. Where a merged segment is as its
    source was, the event alone tells how far it came: the number of groups that fits best counts.
    """
    expected, order = reading.expected(), reading.order
    reached = max(order.first_dirty_offset, expected.next_dirty_offset)
    half_done = event.upper_bound == order.first_dirty_offset < reached
    counts = [len(expected.groups)]
    if half_done:  # a segment without batches may stay where a merged one ends (LogLoader)
        after = [each for each in after if each.base_offset not in may_stay(expected)]
        counts = groups_in_place(expected, after) or [0]
    found = [_differences(event, before, after, reading, one, half_done) for one in counts]
    return min(found, key=lambda one: len(one.differs))


def _differences(
    event: on.Cleaned,
    before: Sequence[Segment],
    after: Sequence[Segment],
    reading: Reading,
    in_place: int,
    half_done: bool,
) -> Compared:
    """The differences if so many groups are merged."""
    expected, order = reading.expected(), reading.order
    layout = layout_of(expected, in_place)
    rest, not_covered = after[len(layout) :], before[expected.replaced :]
    below = max([batch.last_offset for each in before for batch in each.batches], default=0) + 1
    if in_place < len(expected.groups):
        below = expected.groups[in_place].sources[0].base_offset
    protected = reading.protected
    compared: dict[str, tuple[object, object]] = {
        "clock": (event.now_ms, order.now_ms),
        "segments": first_difference([as_read(each) for each in after[: len(layout)]], layout),
        "first timestamps": first_not_among(
            [each.first_timestamp_ms for each in after[:in_place]],
            [each.first_ms(per_call=order.indexes_calls) for each in expected.groups[:in_place]],
        ),
        "segments that are not covered": ([*map(id, rest)], [*map(id, not_covered)]),
        "removals": first_difference(
            event.removals, [each for each in expected.removals if each.offset < below]
        ),
        "emptied batches": (event.emptied, tuple(e for e in expected.emptied if e < below)),
        "dropped batches": (event.dropped, tuple(e for e in expected.dropped if e < below)),
        "horizons": (event.horizons, tuple(e for e in expected.horizons if e[0] < below)),
        "rewritten batches": (
            event.rewritten,
            tuple(e for e in expected.rewritten if e[0] < below),
        ),
        "protected offset": (
            event.protected_offset,
            None if protected is None or protected >= order.upper_bound else protected,
        ),
        "bytes": (event.size_bytes, (bytes_of(before), bytes_of(after))),
    }
    if not half_done:
        full = expected.next_dirty_offset < order.upper_bound
        reached = max(order.first_dirty_offset, expected.next_dirty_offset)
        compared["end"] = event.upper_bound, reached
        compared["full map"] = event.partial, full
        compared["oversized batches"] = event.oversized, tuple(expected.oversized)
    return Compared(
        [(what, *pair) for what, pair in compared.items() if pair[0] != pair[1]], half_done
    )


AsRead = tuple[int, list[Batch], list[AbortedTransaction], int]
"""Base offset, batches, index of aborted transactions and time of the last change of a segment."""


def as_read(segment: Segment) -> AsRead:
    """The parts of a segment that are compared."""
    return segment.base_offset, segment.batches, segment.aborted, segment.last_modified_ms


def layout_of(expected: Expected, in_place: int) -> list[AsRead]:
    """The covered segments when the first groups are merged, and all others as they were."""
    merged = [group.segment for group in expected.groups[:in_place]]
    others = [each for group in expected.groups[in_place:] for each in group.sources]
    empty = may_stay(expected)
    return [*merged, *[as_read(each) for each in others if each.base_offset not in empty]]


def may_stay(expected: Expected) -> set[int]:
    """Where segments without batches begin that are in a group, but not the first there."""
    return {e.base_offset for g in expected.groups for e in g.sources[1:] if not e.batches}


def groups_in_place(expected: Expected, after: Sequence[Segment]) -> list[int]:
    """How many groups may be merged after an interrupted pass, the most first."""
    layouts = {count: layout_of(expected, count) for count in range(len(expected.groups), -1, -1)}
    read = [as_read(each) for each in after]
    return [count for count, layout in layouts.items() if read[: len(layout)] == layout]


def first_difference(found: Sequence[Any], expected: Sequence[Any]) -> tuple[object, object]:
    """The first pair that differs; two empty texts if none does."""
    for pair in zip_longest(found, expected, fillvalue="nothing"):
        if pair[0] != pair[1]:
            return pair
    return "", ""


def first_not_among(found: Sequence[int], allowed: Sequence[list[int]]) -> tuple[object, object]:
    """The first value that is none of those allowed, with these; two empty texts without one."""
    pairs = zip(found, allowed, strict=True)
    return next((pair for pair in pairs if pair[0] not in pair[1]), ("", ""))


def bytes_of(segments: Sequence[Segment]) -> int:
    """The bytes of all batches of some segments."""
    return sum([batch.size_bytes for each in segments for batch in each.batches])
