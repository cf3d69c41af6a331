"""Passes ahead: when each record of a key, or a marker, goes from a partition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from sim.errors import BadInput
from sim.protocol.log import Batch, Record
from sim.simulate.logfile.batches import readable
from sim.simulate.logfile.explain import explain_key
from sim.simulate.logfile.file import LogFile
from sim.simulate.logfile.run import StepResult, run_steps
from sim.simulate.logfile.steps import Clean
from sim.simulate.partition.as_log import Keeps, Question, log_file_of
from sim.simulate.partition.due import Due, due
from sim.simulate.partition.partition import Partition
from sim.simulate.partition.segments import Detail

_SHOWN: Final = 10


@dataclass(frozen=True)
class Ahead:
    """The next two passes: one that sees everything up to its bound, one when horizons are over.

    Attributes:
        file: The log file with these passes as its steps.
        passes: A line about each: when it comes, and what makes it come.
    """

    file: LogFile
    passes: tuple[str, ...]

    def of_key(self, key: str, *, offset: int | None = None) -> Iterator[str]:
        """The fate of each record of a key, or of the one at an offset.

        Raises:
            BadInput: No record has the key.
        """
        explained = explain_key(self.file, key, about=None if offset is None else {offset})
        yield from (one.sentence for one in explained.records)
        if explained.left_out and offset is None:
            yield f"and {explained.left_out:,} records more of the key"

    def of_marker(self, marker: Batch) -> Iterator[str]:
        """The fate of a marker, or of a change of leader."""
        batches = [batch for one in self.file.segments for batch in one.batches]
        offset, producer = marker.base_offset, marker.producer_id
        kind = "change of leader" if producer < 0 else f"{marker.control} marker of {producer}"
        left = _data_of(marker, batches)
        yield (
            f"offset {offset} is a {kind}; "
            + (
                f"data of its transaction is left at {_listed(left)}"
                if left
                else "no data of its transaction is left"
            )
            + ("" if marker.delete_horizon_ms is None else f"; horizon {marker.delete_horizon_ms}")
        )
        for result in run_steps(self.file):
            if not _has(result, offset):
                yield f"it goes in step {result.number}"
                return
            horizon = next(b.delete_horizon_ms for b in result.log.batches() if _covers(b, offset))
            text = "no horizon" if horizon is None else f"the delete horizon {horizon}"
            yield f"after step {result.number} it is there, with {text}"


def look_ahead(
    partition: Partition, question: Question, key: str | None, offset: int
) -> Iterator[str]:
    """Follows the records of a key, or what lies at an offset, through the next two passes.

    Args:
        partition: The partition.
        question: The settings and the time.
        key: The key; None for what lies at the offset.
        offset: The offset (inclusive), where no key is given.

    Raises:
        BadInput: Nothing has the key, or nothing lies at the offset.
        Damaged: A batch is not as it was written.
    """

    def ahead(keeps: Keeps) -> Ahead:
        return _ahead_of(log_file_of(partition, question, Detail.SIZES, keeps))

    if key is not None:
        found = ahead(lambda _, record: record.key == key)
        if not any(
            batch.records
            for one in found.file.segments
            for batch in one.batches
            if batch.control is None
        ):
            raise BadInput(f"{partition.place}: no record has the key {readable(key)}")
        yield from (*found.passes, *found.of_key(key))
        return
    batch, record = _at(partition, offset)
    if batch.control is not None:
        keys = _keys_of(partition, batch)
        found = ahead(lambda _, other: other.key in keys)
        yield from (*found.passes, *found.of_marker(batch))
    elif record.key is None:
        yield f"offset {offset} is a record without a key: the pass that reaches it removes it"
    else:
        own = record.key
        found = ahead(lambda _, other: other.key == own)
        yield from (*found.passes, *found.of_key(own, offset=offset))


def _keys_of(partition: Partition, marker: Batch) -> set[str | None]:
    """Keys of the data that is left of the transaction that a marker ends. Raises Damaged."""
    found: set[str | None] = set()
    for _, stored in partition.batches(Detail.SIZES):
        batch = stored.batch
        if batch.base_offset >= marker.base_offset:
            break
        if batch.producer_id == marker.producer_id >= 0 and batch.control is not None:
            found.clear()
        elif batch.producer_id == marker.producer_id and batch.transactional:
            found |= {record.key for record in batch.records}
    return found


def _at(partition: Partition, offset: int) -> tuple[Batch, Record]:
    """The record at an offset with its batch; of a marker its record. Raises BadInput, Damaged."""
    there = "no batch covers it"
    for _, stored in partition.batches(Detail.SIZES):
        batch = stored.batch
        if _covers(batch, offset):
            for record in batch.records:
                if record.offset == offset:
                    return batch, record
            there = "its batch has no record there"
            break
    raise BadInput(f"offset {offset}: {there}; nothing to ask about")


def _ahead_of(file: LogFile) -> Ahead:
    """The next two passes over a partition, at the earliest times that its settings allow."""
    found = due(file)
    first_ms, why = _first(found)
    dirty, bound = found.decision.dirty.offset, found.decision.found.bound.effective
    step = file.steps[-1]
    assert isinstance(step, Clean)
    first = step.model_copy(
        update={"now_ms": first_ms, "first_dirty_offset": dirty, "upper_bound": bound}
    )
    retention_ms = file.rules.rules.topic.delete_retention_ms
    horizons = [b.delete_horizon_ms or 0 for one in file.segments for b in one.batches]
    second_ms = max([first_ms + retention_ms, *(h for h in horizons if h > first_ms)])
    second = Clean(
        op="clean",
        now_ms=second_ms,
        first_dirty_offset=bound,
        upper_bound=bound,
        forced_rescan=True,
        map_latest_offset=bound - 1,
    )
    later = f"the first pass at {second_ms} ms or later, when the horizons of step 1 are over"
    passes = (
        f"step 1, {why}: it covers offsets below {bound}",
        f"step 2, {later}: it comes when enough is written by then; time alone brings none",
    )
    return Ahead(replace(file, steps=(first, second)), passes)


def _first(found: Due) -> tuple[int, str]:
    """When the next pass comes, in ms, and how that is known."""
    decision = found.decision
    if decision.eligible:
        return decision.now_ms, f"now, at {decision.now_ms} ms, since a pass is due"
    when = decision.due_ms
    if when is not None:
        return when, f"at {when} ms, when a pass is due if nothing more is written"
    if found.at_rate_ms is not None:
        return found.at_rate_ms, f"at about {found.at_rate_ms} ms, if it goes on growing so"
    return decision.now_ms, "a pass that is not due; had it come now"


def _data_of(marker: Batch, batches: list[Batch]) -> list[int]:
    """Offsets of the data that is left of the transaction that a marker ends."""
    found: list[int] = []
    for batch in batches:
        if batch.base_offset >= marker.base_offset:
            break
        if batch.producer_id == marker.producer_id and batch.producer_id >= 0:
            if batch.control is not None:
                found.clear()
            elif batch.transactional:
                found += [record.offset for record in batch.records]
    return found


def _covers(batch: Batch, offset: int) -> bool:
    return batch.base_offset <= offset <= batch.last_offset


def _has(result: StepResult, offset: int) -> bool:
    return any(_covers(batch, offset) for batch in result.log.batches())


def _listed(offsets: list[int]) -> str:
    shown = ", ".join(map(str, offsets[:_SHOWN]))
    return shown if len(offsets) <= _SHOWN else f"{shown} and {len(offsets) - _SHOWN} more"
