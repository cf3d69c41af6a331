"""What became of every record of one key during the steps of a log file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sim.protocol.compaction import (
    UnreadableVersion,
)
from sim.protocol.compaction.strategies import Strategy, Version
from sim.protocol.compaction.tombstones import record_horizon
from sim.protocol.events import Removal
from sim.protocol.log import AbortedTransaction, Batch, Log, Record
from sim.protocol.rules.policy import cleaner_strategy
from sim.simulate.logfile.file import LogFile
from sim.simulate.logfile.rules import LogRules
from sim.simulate.logfile.run import PassResult, log_of, run_steps


@dataclass(slots=True)
class TrackedRecord:
    """One record of the key.

    Attributes:
        record: The record as it is now; a pass may have changed it.
        is_tombstone: Whether it deletes the key.
        batch: Its batch as it is now, or was before the record went.
        appended_in: Step that appended it; 0 = it was there from the start.
        horizon_ms: Delete horizon of its batch, or its own, in ms; None = none.
        horizon_set_in: Step that set the horizon; None = no step did.
        removal: Why it went; None while it is there.
        removed_in: The pass that took it away.
    """

    record: Record
    is_tombstone: bool
    batch: Batch
    appended_in: int
    horizon_ms: int | None = None
    horizon_set_in: int | None = None
    removal: Removal | None = None
    removed_in: PassResult | None = None

    @property
    def offset(self) -> int:
        """Offset of the record."""
        return self.record.offset


@dataclass(slots=True)
class KeyHistory:
    """The records of one key, and every pass.

    Attributes:
        key: The key.
        rules: The rules of the cleaner.
        strategy: Which record of a key wins.
        records: By offset, in offset order.
        passes: In order.
        aborted: Every aborted transaction there was in an index.
        log: The log after the last step.
    """

    key: str
    rules: LogRules
    strategy: Strategy
    log: Log
    records: dict[int, TrackedRecord] = field(default_factory=dict)
    passes: list[PassResult] = field(default_factory=list)
    aborted: dict[AbortedTransaction, None] = field(default_factory=dict)

    def abort_of(self, tracked: TrackedRecord) -> AbortedTransaction | None:
        """The aborted transaction it belongs to, if it belongs to one."""
        batch = tracked.batch
        return next(
            (
                entry
                for entry in self.aborted
                if batch.transactional
                and entry.producer_id == batch.producer_id
                and entry.first_offset <= batch.base_offset < entry.last_offset
            ),
            None,
        )

    def winner(self) -> TrackedRecord | None:
        """The record that wins among those that are there and were not aborted."""
        there = [
            tracked
            for tracked in self.records.values()
            if tracked.removal is None and not self.abort_of(tracked)
        ]
        return max(there, key=lambda tracked: self._version(tracked.record), default=None)

    def _version(self, record: Record) -> Version:
        try:
            return self.strategy.version(record)
        except UnreadableVersion:
            return (-1, record.offset)

    def passes_since(self, tracked: TrackedRecord) -> list[PassResult]:
        """The passes that were run while it was there, but not the one that took it away."""
        return [one for one in self.passes if one.number > tracked.appended_in]


def key_history(file: LogFile, key: str) -> KeyHistory:
    """Do the steps of a log file and see what becomes of the records of `key`."""
    log = log_of(file)
    history = KeyHistory(key, file.rules, cleaner_strategy(file.rules.rules), log)
    _look_at_log(history, number=0)
    for result in run_steps(file):
        history.log = result.log
        if result.cleaned is not None:
            _note_pass(history, result.cleaned)
        _look_at_log(history, number=result.number)
    return history


def records_of(file: LogFile) -> Iterator[Record]:
    """Every record of the file: those of its log, then those that its steps append."""
    for batches in (*(segment.batches for segment in file.segments), *_appended(file)):
        for batch in batches:
            yield from batch.records


def _appended(file: LogFile) -> Iterator[Sequence[Batch]]:
    return (getattr(step, "batches", ()) for step in file.steps)


def keys_of(file: LogFile) -> list[str]:
    """Every key that a record of the file has, in order of first appearance."""
    keys = (record.key for record in records_of(file))
    return list(dict.fromkeys(key for key in keys if key is not None))


def _note_pass(history: KeyHistory, result: PassResult) -> None:
    history.passes.append(result)
    for removal in result.cleaning.removals:
        tracked = history.records.get(removal.offset)
        if tracked is not None:
            tracked.removal, tracked.removed_in = removal, result


def _look_at_log(history: KeyHistory, *, number: int) -> None:
    """Note what there is of the key now, after step `number`."""
    is_tombstone = history.rules.rules.cleaner.is_tombstone
    there = {record.offset for batch in history.log.batches() for record in batch.records}
    for offset, known in list(history.records.items()):
        if known.removal is None and offset not in there:  # cut off, or deleted with its segment
            del history.records[offset]
    for segment in history.log.segments:
        history.aborted |= dict.fromkeys(segment.aborted)
        for batch in segment.batches:
            for record in batch.records:
                if record.key != history.key:
                    continue
                tracked = history.records.get(record.offset)
                if tracked is None:
                    tracked = TrackedRecord(record, is_tombstone(record), batch, number)
                    history.records[record.offset] = tracked
                    tracked.horizon_ms = _horizon(history, record, batch)
                tracked.record, tracked.batch = record, batch
                horizon = _horizon(history, record, batch)
                if horizon != tracked.horizon_ms:
                    tracked.horizon_ms, tracked.horizon_set_in = horizon, number


def _horizon(history: KeyHistory, record: Record, batch: Batch) -> int | None:
    if history.rules.rules.cleaner.tombstone_removal == "record_horizon":
        return record_horizon(record)
    return batch.delete_horizon_ms
