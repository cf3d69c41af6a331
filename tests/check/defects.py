"""Defects planted in the core: what the invariants are there to find.

Each takes a `pytest.MonkeyPatch` and makes some function of the core wrong now and then, so that
the run goes on for a while.
"""

from collections.abc import Callable, Mapping
from itertools import count
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from sim.protocol.compaction.copying import Copier, Fate
from sim.protocol.events import (
    Cleaned,
    HighWatermarkMoved,
    SnapshotDeleted,
)
from sim.protocol.log import Batch
from sim.protocol.replication import cleaning, follower, leader, produce, replica, truncation
from sim.protocol.replication.snapshots import delete, take
from sim.simulate.cluster import clients, node

NOTHING: Mapping[str, Any] = MappingProxyType({})

Plant = Callable[[pytest.MonkeyPatch], None]


class Planted(NamedTuple):
    """A defect, the invariant that has to find it, and the runs in which it does.

    Attributes:
        plant: Makes the core wrong.
        found_by: The invariant.
        rules: Of the runs, where they differ from those of the preset.
        preset: Of the runs.
        mix: Of the random clusters.
    """

    plant: Plant
    found_by: str
    rules: Mapping[str, Any] = NOTHING
    preset: str = "kip-280"
    mix: object = "reference"


def now_and_then(every: int) -> Callable[[], bool]:
    """True at every so manieth call."""
    calls = count(1)
    return lambda: next(calls) % every == 0


def high_watermark_one_too_high(patch: pytest.MonkeyPatch) -> None:
    right = leader._advance

    def wrong(led: Any, rules: Any, events: list[Any]) -> None:
        right(led, rules, events)
        log = led.log
        if led.leadership is not None and log.high_watermark < log.log_end_offset:
            log.high_watermark += 1
            events.append(HighWatermarkMoved(led.name, log.high_watermark, leading=True))

    patch.setattr(leader, "_advance", wrong)


def nobody_is_waited_for(patch: pytest.MonkeyPatch) -> None:
    def wrong(led: Any, rules: Any, events: list[Any]) -> None:
        log = led.log
        if led.leadership is not None and log.high_watermark < log.log_end_offset:
            log.high_watermark = log.log_end_offset
            events.append(HighWatermarkMoved(led.name, log.high_watermark, leading=True))

    patch.setattr(leader, "_advance", wrong)


def position_recorded_too_far(patch: pytest.MonkeyPatch) -> None:
    right = leader.record_position

    def wrong(led: Any, name: str, position: int, rules: Any) -> Any:
        return right(led, name, position + 1, rules)

    patch.setattr(leader, "record_position", wrong)


def offset_is_used_again(patch: pytest.MonkeyPatch) -> None:
    right, now = leader.append, now_and_then(9)

    def wrong(led: Any, batch: Batch, rules: Any, now_ms: int) -> Any:
        end = led.log.log_end_offset
        if len(batch.records) == 1 and batch.records[0].offset == end > 0 and now():
            led.log.truncate_to(end - 1)
            moved = tuple(replace(record, offset=end - 1) for record in batch.records)
            batch = replace(batch, base_offset=end - 1, last_offset=end - 1, records=moved)
        return right(led, batch, rules=rules, now_ms=now_ms)

    for module in (leader, produce):
        patch.setattr(module, "append", wrong)


def _copying(change: Callable[[tuple[Batch, ...]], tuple[Batch, ...]], every: int) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        right, now = follower._copy, now_and_then(every)

        def wrong(copying: Any, response: Any, *rest: Any) -> Any:
            if response.batches and now():
                response = replace(response, batches=change(response.batches))
            return right(copying, response, *rest)

        patch.setattr(follower, "_copy", wrong)

    return plant


def _changed(batches: tuple[Batch, ...], **changes: object) -> tuple[Batch, ...]:
    first = batches[0]
    records = tuple(replace(record, **changes) for record in first.records)
    return (replace(first, records=records), *batches[1:])


copy_leaves_a_batch_out = _copying(lambda batches: batches[1:] or batches, 2)
copy_has_another_time = _copying(lambda batches: _changed(batches, timestamp_ms=7), 5)
copy_has_another_epoch = _copying(
    lambda batches: (replace(batches[0], epoch=batches[0].epoch + 1), *batches[1:]), 5
)


def high_watermark_taken_back(patch: pytest.MonkeyPatch) -> None:
    right, now = follower._copy, now_and_then(7)

    def wrong(copying: Any, response: Any, *rest: Any) -> Any:
        events = right(copying, response, *rest)
        log = copying.log
        if log.high_watermark > log.log_start_offset and now():
            log.high_watermark -= 1
            events.append(HighWatermarkMoved(copying.name, log.high_watermark, leading=False))
        return events

    patch.setattr(follower, "_copy", wrong)


def cut_goes_one_too_far(patch: pytest.MonkeyPatch) -> None:
    right = replica.truncate

    def wrong(cut: Any, target: int) -> Any:
        return right(cut, max(0, target - 1))

    for module in (follower, truncation):
        patch.setattr(module, "truncate", wrong)


def _cleaning(reason: str, every: int) -> Plant:
    """A cleaner that takes what should stay, and gives a reason."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        right, begin, now = Copier._fate, Copier.__init__, now_and_then(every)

        def asked(self: Copier, *args: Any) -> None:
            begin(self, *args)
            self.values_stay = False

        def wrong(self: Copier, record: Any, batch: Batch, *, mapped: bool) -> Fate:
            fate = right(self, record, batch, mapped=mapped)
            wanted = Fate.STAYS_AS_TOMBSTONE if reason == "tombstone" else Fate.STAYS
            if fate is wanted and record.offset != self.protected and now():
                self.result.removed[reason].append(record)
                return Fate.GOES
            return fate

        patch.setattr(Copier, "__init__", asked)
        patch.setattr(Copier, "_fate", wrong)

    return plant


def copy_lands_one_further(patch: pytest.MonkeyPatch) -> None:
    """A follower leaves an offset out, and writes what belongs there behind it."""
    right, now = follower._copy, now_and_then(6)

    def wrong(copying: Any, response: Any, *rest: Any) -> Any:
        batches = response.batches
        if batches and batches[0].records and now():
            first = batches[0]
            moved = replace(
                first,
                base_offset=first.base_offset + 1,
                last_offset=first.last_offset + 1,
                records=tuple(replace(each, offset=each.offset + 1) for each in first.records),
            )
            response = replace(response, batches=(moved,))
        return right(copying, response, *rest)

    patch.setattr(follower, "_copy", wrong)


def marker_goes_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Copier, "_marker_may_go", lambda *_, **__: True)


def _telling(change: Callable[[Cleaned], Cleaned]) -> Plant:
    """A cleaner that does as it should, or not, and tells something else."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        right = cleaning.Cleaner._put_in_place

        def wrong(self: Any, *args: Any) -> Cleaned:
            return change(right(self, *args))

        patch.setattr(cleaning.Cleaner, "_put_in_place", wrong)

    return plant


def _superseded(event: Cleaned) -> Cleaned:
    return replace(
        event, removals=tuple(replace(each, reason="superseded") for each in event.removals)
    )


def marker_goes_as_superseded(patch: pytest.MonkeyPatch) -> None:
    marker_goes_at_once(patch)
    _telling(_superseded)(patch)


def cleaner_reads_too_far(patch: pytest.MonkeyPatch) -> None:
    """It cleans up to the log end, and says that it stopped at the high watermark."""
    right = cleaning.Cleaner.run

    def wrong(self: Any, cleaned: Any, *, upper_bound: int, **rest: Any) -> Any:
        return right(self, cleaned, upper_bound=cleaned.log.log_end_offset, **rest)

    def told(event: Cleaned) -> Cleaned:
        return replace(event, upper_bound=min(event.upper_bound, event.high_watermark))

    patch.setattr(cleaning.Cleaner, "run", wrong)
    _telling(told)(patch)


def cleaning_moves_the_log_end(patch: pytest.MonkeyPatch) -> None:
    _telling(lambda event: replace(event, log_end_offset=event.log_end_offset - 1))(patch)


def _reading(change: Callable[[tuple[Batch, ...]], tuple[Batch, ...]], every: int) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        right, now = clients.answer_consumer_fetch, now_and_then(every)

        def wrong(*args: Any, **rest: Any) -> Any:
            result = right(*args, **rest)
            batches = result.response.batches
            if batches and batches[0].records and now():
                response = replace(result.response, batches=change(batches))
                result = replace(result, response=response)
            return result

        patch.setattr(clients, "answer_consumer_fetch", wrong)

    return plant


reader_misses_a_batch = _reading(lambda batches: batches[1:], 3)
reader_is_given_another_value = _reading(lambda batches: _changed(batches, value="?"), 5)


def snapshot_lacks_a_key(patch: pytest.MonkeyPatch) -> None:
    right = take.state_below

    def wrong(*args: Any, **rest: Any) -> Any:
        state = right(*args, **rest)
        return dict(list(state.items())[1:])

    patch.setattr(take, "state_below", wrong)


def prefix_goes_above_its_snapshot(patch: pytest.MonkeyPatch) -> None:
    """The snapshot that covers the prefix is gone before the prefix is."""
    right = delete.delete_prefix

    def wrong(deleting: Any, to: int) -> Any:
        events = right(deleting, to)
        return [SnapshotDeleted(deleting.name, *id_) for id_ in deleting.snapshots] + events

    patch.setattr(delete, "delete_prefix", wrong)


def elected_in_the_epoch_before(patch: pytest.MonkeyPatch) -> None:
    right = node.become_leader

    def wrong(candidate: Any, epoch: int, **rest: Any) -> Any:
        return right(candidate, max(1, epoch - 1), **rest)

    patch.setattr(node, "become_leader", wrong)


PLANTED: dict[str, Planted] = {
    "a high watermark that is one too high": Planted(
        high_watermark_one_too_high, "committed-replicated"
    ),
    "a leader that waits for nobody": Planted(nobody_is_waited_for, "committed-replicated"),
    "a position recorded too far": Planted(position_recorded_too_far, "follower-position-sound"),
    "a leader that uses an offset again": Planted(offset_is_used_again, "no-offset-reuse"),
    "a follower that leaves a batch out": Planted(copy_leaves_a_batch_out, "hole-justified"),
    "a follower that changes timestamps": Planted(copy_has_another_time, "record-immutable"),
    "a follower that changes epochs": Planted(copy_has_another_epoch, "record-immutable"),
    "a follower that writes one offset further": Planted(copy_lands_one_further, "slot-agreement"),
    "a follower that takes its high watermark back": Planted(
        high_watermark_taken_back, "hw-monotonic", {"high_watermark_update": "max"}
    ),
    "a cut that goes one too far": Planted(
        cut_goes_one_too_far, "no-truncation-below-hw", {"truncation": "high_watermark"}
    ),
    "a cleaner that drops a live record": Planted(_cleaning("no key", 30), "winner-retained"),
    "a cleaner that drops a tombstone too early": Planted(
        _cleaning("tombstone", 1), "tombstone-safety"
    ),
    "a cleaner that drops a marker too early": Planted(
        marker_goes_at_once, "txn-marker-safety", mix="storm"
    ),
    "a cleaner that drops a marker and calls it superseded": Planted(
        marker_goes_as_superseded, "txn-marker-safety", mix="storm"
    ),
    "a cleaner that reads too far and denies it": Planted(
        cleaner_reads_too_far, "compaction-bound"
    ),
    "a cleaner that moves the log end": Planted(cleaning_moves_the_log_end, "leo-preservation"),
    "a reader that misses a batch": Planted(reader_misses_a_batch, "consumer-no-skip"),
    "a reader that is given another value": Planted(
        reader_is_given_another_value, "record-immutable"
    ),
    "a snapshot that lacks a key": Planted(
        snapshot_lacks_a_key, "snapshot-consistency", preset="kraft", mix="kraft"
    ),
    "a prefix that goes without its snapshot": Planted(
        prefix_goes_above_its_snapshot, "snapshot-at-log-start", preset="kraft", mix="kraft"
    ),
    "a leader in the epoch before": Planted(elected_in_the_epoch_before, "election-safety"),
}
"""What is planted, by its name."""
