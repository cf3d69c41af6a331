"""What became of every record of one key while the steps of a log file were done."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim.compaction import (
    TOMBSTONE_MARKS,
    Cleaning,
    CleaningPass,
    UnreadableVersion,
)
from sim.compaction.strategies import Strategy, Version
from sim.compaction.tombstones import record_horizon
from sim.log import AbortedTransaction, Batch, Log, Record
from sim.logfile.file import LogFile
from sim.logfile.play import PassDone, log_of, play
from sim.logfile.rules import LogRules
from sim.logfile.steps import Clean
from sim.rules.policy import cleaner_strategy
from sim.trace import Removal


@dataclass(frozen=True, slots=True)
class Pass:
    """One cleaning pass.

    Attributes:
        number: Its step, from 1.
        plan: What the cleaner was given.
        cleaning: What it did.
        last_modified_ms: Modification time of the segments at that time, in ms.
    """

    number: int
    plan: CleaningPass
    cleaning: Cleaning
    last_modified_ms: int

    @property
    def did_nothing(self) -> bool:
        """Nothing entered its map, so that no segment was copied."""
        return self.cleaning.replaced == 0

    @property
    def latest_offset(self) -> int:
        """How far its map reached (inclusive)."""
        return min(self.cleaning.next_dirty_offset, self.plan.upper_bound) - 1

    def mapped(self, offset: int) -> bool:
        """Whether it decided about the record at `offset`."""
        return not self.did_nothing and offset <= self.latest_offset


@dataclass(slots=True)
class Life:
    """One record of the key.

    Attributes:
        record: The record as it is now; a pass may have changed it.
        is_tombstone: Whether it deletes the key.
        batch: Its batch as it is now, or was before the record went.
        came_in: Step that appended it; 0 = it was there from the start.
        horizon_ms: Delete horizon of its batch, or its own, in ms; None = none.
        stamped_in: Step that set the horizon; None = no step did.
        removal: Why it went; None while it is there.
        gone_in: The pass that took it away.
    """

    record: Record
    is_tombstone: bool
    batch: Batch
    came_in: int
    horizon_ms: int | None = None
    stamped_in: int | None = None
    removal: Removal | None = None
    gone_in: Pass | None = None

    @property
    def offset(self) -> int:
        """Offset of the record."""
        return self.record.offset


@dataclass(slots=True)
class Trail:
    """The records of one key, and every pass.

    Attributes:
        key: The key.
        rules: The rules of the cleaner.
        strategy: Which record of a key wins.
        lives: Offset -> life, in offset order.
        passes: In order.
        aborted: Every aborted transaction there was in an index.
        log: The log after the last step.
    """

    key: str
    rules: LogRules
    strategy: Strategy
    log: Log
    lives: dict[int, Life] = field(default_factory=dict)
    passes: list[Pass] = field(default_factory=list)
    aborted: dict[AbortedTransaction, None] = field(default_factory=dict)

    def abort_of(self, life: Life) -> AbortedTransaction | None:
        """The aborted transaction it belongs to, if it belongs to one."""
        batch = life.batch
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

    def winner(self) -> Life | None:
        """The record that wins among those that are there and were not aborted."""
        there = [
            life for life in self.lives.values() if life.removal is None and not self.abort_of(life)
        ]
        return max(there, key=lambda life: self._version(life.record), default=None)

    def _version(self, record: Record) -> Version:
        try:
            return self.strategy.version(record)
        except UnreadableVersion:
            return (-1, record.offset)

    def passes_since(self, life: Life) -> list[Pass]:
        """The passes that were run while it was there, but not the one that took it away."""
        return [one for one in self.passes if one.number > life.came_in]


def follow(file: LogFile, key: str) -> Trail:
    """Do the steps of a log file and follow the records of `key`."""
    log = log_of(file)
    trail = Trail(key, file.rules, cleaner_strategy(file.rules.rules), log)
    _look(trail, number=0)
    for done in play(file):
        trail.log = done.log
        if done.done is not None:
            assert isinstance(done.step, Clean)
            known = file.rules.last_modified_ms
            last_modified_ms = done.step.now_ms if known is None else known
            _note_pass(trail, done.number, done.done, last_modified_ms)
        _look(trail, number=done.number)
    return trail


def keys_of(file: LogFile) -> list[str]:
    """Every key that a record of the file has, in order of first appearance."""
    batches = [batch for segment in file.segments for batch in segment.batches]
    for step in file.steps:
        batches += getattr(step, "batches", ())
    keys = (record.key for batch in batches for record in batch.records)
    return list(dict.fromkeys(key for key in keys if key is not None))


def _note_pass(trail: Trail, number: int, done: PassDone, last_modified_ms: int) -> None:
    one = Pass(number, done.plan, done.cleaning, last_modified_ms)
    trail.passes.append(one)
    for removal in done.cleaning.removals:
        life = trail.lives.get(removal.offset)
        if life is not None:
            life.removal, life.gone_in = removal, one


def _look(trail: Trail, *, number: int) -> None:
    """Note what there is of the key now, after step `number`."""
    is_tombstone = TOMBSTONE_MARKS[trail.rules.rules.cleaner.tombstone_mark]
    for segment in trail.log.segments:
        trail.aborted |= dict.fromkeys(segment.aborted)
        for batch in segment.batches:
            for record in batch.records:
                if record.key != trail.key:
                    continue
                life = trail.lives.get(record.offset)
                if life is None:
                    life = Life(record, is_tombstone(record), batch, number)
                    trail.lives[record.offset] = life
                    life.horizon_ms = _horizon(trail, record, batch)
                life.record, life.batch = record, batch
                horizon = _horizon(trail, record, batch)
                if horizon != life.horizon_ms:
                    life.horizon_ms, life.stamped_in = horizon, number


def _horizon(trail: Trail, record: Record, batch: Batch) -> int | None:
    if trail.rules.rules.cleaner.tombstone_removal == "record_horizon":
        return record_horizon(record)
    return batch.delete_horizon_ms
