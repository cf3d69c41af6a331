"""Passes ahead: when each record of a key, or a marker, goes from a partition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from sim.errors import BadInput
from sim.protocol.log import Batch
from sim.simulate.logfile.explain import explain_key
from sim.simulate.logfile.file import LogFile
from sim.simulate.logfile.run import StepResult, run_steps
from sim.simulate.logfile.steps import Clean
from sim.simulate.partition.due import Due, due

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

    def of_key(self, key: str) -> Iterator[str]:
        """What becomes of each record of a key. Raises BadInput where no record has it."""
        explained = explain_key(self.file, key)
        yield from (one.sentence for one in explained.records)
        if explained.left_out:
            yield f"and {explained.left_out:,} records more of the key"

    def of_offset(self, offset: int) -> Iterator[str]:
        """What becomes of what lies at an offset: a record with its key, or a marker.

        Raises:
            BadInput: Nothing lies there.
        """
        batches = [batch for one in self.file.segments for batch in one.batches]
        batch = next((b for b in batches if b.base_offset <= offset <= b.last_offset), None)
        if batch is not None and batch.control is not None:
            yield from self._of_marker(batch, batches)
            return
        record = next((r for r in (batch.records if batch else ()) if r.offset == offset), None)
        if record is None:
            there = "no batch covers it" if batch is None else "its batch has no record there"
            raise BadInput(f"offset {offset}: {there}; nothing to ask about")
        if record.key is None:
            yield f"offset {offset} is a record without a key: the pass that reaches it removes it"
            return
        for one in explain_key(self.file, record.key, about={offset}).records:
            yield one.sentence

    def _of_marker(self, marker: Batch, batches: list[Batch]) -> Iterator[str]:
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


def ahead_of(file: LogFile) -> Ahead:
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
