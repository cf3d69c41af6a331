"""Reasons why a tombstone or a value is still here, or already gone (`replog clean --explain`).

Each pass gives its reasons (`Cleaning.reasons`); a record that is still there waits for the first
condition that is not met.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sim.errors import BadInput
from sim.protocol.compaction import UnreadableVersion
from sim.protocol.compaction.eligibility import CleanLimit
from sim.protocol.compaction.plan import REASONS, Reason
from sim.protocol.compaction.strategies import Version
from sim.protocol.compaction.tombstones import Circumstances, record_horizon
from sim.protocol.log import AbortedTransaction, Batch, Record
from sim.protocol.log.formats import OldBatch
from sim.protocol.rules.policy import cleaner_strategy
from sim.simulate.logfile.answer import REASON_TEXTS
from sim.simulate.logfile.batches import readable
from sim.simulate.logfile.file import LogFile
from sim.simulate.logfile.run import PassResult, log_of, run_steps

_KEYS_SHOWN = 20
RECORDS_SHOWN = 20
"""Of a key with more records than this, some are left out."""
_WITHOUT_HORIZON = ("immediate", "cleaning_checkpoint", "never")
"""Removal rules that look at no horizon in any format."""


@dataclass(frozen=True, slots=True)
class RecordExplanation:
    """The fate of one record, explained.

    Attributes:
        offset: Its offset.
        kind: `tombstone` or `value`.
        fate: `here` or `gone`.
        sentence: The explanation for people, with the numbers.
    """

    offset: int
    kind: str
    fate: str
    sentence: str


class KeyExplanation(NamedTuple):
    """The fate of the records of a key, explained.

    Attributes:
        records: An explanation of each record, in offset order; of many records the first, the
            last and those that decided about others.
        left_out: Number of records that are not explained.
    """

    records: list[RecordExplanation]
    left_out: int = 0

    def lines(self) -> Iterator[str]:
        """The explanations for people."""
        yield from (one.sentence for one in self.records)
        if self.left_out:
            yield f"and {self.left_out:,} records more of the key"


def records_of(file: LogFile) -> Iterator[Record]:
    """Every record of the file: those of its log, then those that its steps append."""
    appended = [getattr(step, "batches", ()) for step in file.steps]
    for batches in (*(segment.batches for segment in file.segments), *appended):
        for batch in batches:
            yield from batch.records


def explain_key(file: LogFile, key: str, *, about: Collection[int] | None = None) -> KeyExplanation:
    """Explains the fate of the records of `key` after all steps.

    Args:
        file: The log file.
        key: The key.
        about: Offsets of the records that are asked about; None for all of them.

    Raises:
        BadInput: No record has that key; the message says which keys there are.
    """
    keys = dict.fromkeys(record.key for record in records_of(file) if record.key is not None)
    if key not in keys:
        names = ", ".join([readable(one) for one in keys][:_KEYS_SHOWN]) or "none"
        more = f" and {len(keys) - _KEYS_SHOWN} more" if len(keys) > _KEYS_SHOWN else ""
        raise BadInput(
            f"--explain {readable(key)}: no record has this key; there are: {names}{more}"
        )
    history = _KeyHistory(file, key)
    asked = sorted(history.records if about is None else history.records.keys() & set(about))
    shown = asked if len(asked) <= RECORDS_SHOWN else history.decisive(asked)
    explained = [history.explain(history.records[offset]) for offset in shown]
    return KeyExplanation(explained, len(asked) - len(shown))


@dataclass(slots=True)
class _Tracked:
    """A record of the key, with the decisions of passes about it.

    Attributes:
        record: The record as it is now; a pass may have changed it.
        batch: Its batch as it is now, or was before the record went.
        appended_in: Step that appended it; 0 for one that was there from the start.
        horizon_ms: Delete horizon of its batch, or its own, in ms; None without one.
        horizon_set_in: Step that set the horizon; None without one, or if the record came with it.
        decided: The passes that decided about it, each with its reason, in order.
    """

    record: Record
    batch: Batch
    appended_in: int
    horizon_ms: int | None = None
    horizon_set_in: int | None = None
    decided: list[tuple[PassResult, Reason]] = field(default_factory=list)

    @property
    def offset(self) -> int:
        """Offset of the record."""
        return self.record.offset

    @property
    def gone(self) -> Reason | None:
        """Reason of the pass that removed it; None while it is there."""
        last = self.decided[-1][1] if self.decided else None
        return last if last is not None and last.why in REASONS else None


class _KeyHistory:
    """The records of one key over all steps, and sentences about them.

    Attributes:
        records: By offset, in offset order.
        passes: Every pass, in order.
        aborted: Every aborted transaction that a transaction index had.
        log: The log after the last step.
    """

    def __init__(self, file: LogFile, key: str) -> None:
        self.key = key
        self.rules = file.rules.rules
        self.removal = self.rules.cleaner.tombstone_removal
        self.strategy = cleaner_strategy(self.rules)
        self.records: dict[int, _Tracked] = {}
        self.passes: list[PassResult] = []
        self.aborted: dict[AbortedTransaction, None] = {}
        self.log = log_of(file)
        self._look(0)
        for result in run_steps(file, explains=True):
            self.log = result.log
            if result.cleaned is not None:
                self.passes.append(result.cleaned)
                for offset, reason in result.cleaned.cleaning.reasons.items():
                    if offset in self.records and reason.why != "beyond map":
                        self.records[offset].decided.append((result.cleaned, reason))
            self._look(result.number)

    def _look(self, number: int) -> None:
        """Notes the records of the key that are there after step `number`."""
        there = {record.offset for batch in self.log.batches() for record in batch.records}
        for offset, known in list(self.records.items()):
            if known.gone is None and offset not in there:  # cut off, or deleted with its segment
                del self.records[offset]
        for segment in self.log.segments:
            self.aborted |= dict.fromkeys(segment.aborted)
            for batch in segment.batches:
                for record in batch.records:
                    if record.key == self.key:
                        self._see(record, batch, number)

    def _see(self, record: Record, batch: Batch, number: int) -> None:
        by_record = self.removal == "record_horizon"
        horizon = record_horizon(record) if by_record else batch.delete_horizon_ms
        tracked = self.records.get(record.offset)
        if tracked is None:
            tracked = _Tracked(record, batch, number, horizon)
            self.records[record.offset] = tracked
        tracked.record, tracked.batch = record, batch
        if horizon != tracked.horizon_ms:
            tracked.horizon_ms, tracked.horizon_set_in = horizon, number

    def _abort_of(self, tracked: _Tracked) -> AbortedTransaction | None:
        """The aborted transaction that a record belongs to, if it belongs to one."""
        batch = tracked.batch
        for entry in self.aborted if batch.transactional else ():
            within = entry.first_offset <= batch.base_offset < entry.last_offset
            if within and entry.producer_id == batch.producer_id:
                return entry
        return None

    def _is_undecided(self, tracked: _Tracked) -> bool:
        """True for a record of a transaction that no marker ended."""
        batch = tracked.batch
        producer = self.log.producers.producers.get(batch.producer_id)
        began = None if producer is None or not batch.transactional else producer.open_since
        return began is not None and began <= batch.base_offset

    def _version(self, tracked: _Tracked) -> Version:
        try:
            return self.strategy.version(tracked.record)
        except UnreadableVersion:
            return (-1, tracked.offset)

    def _winner(self) -> _Tracked | None:
        """The record that wins among those that are there and were not aborted."""
        found = [
            one
            for one in self.records.values()
            if not (one.gone or self._abort_of(one) or self._is_undecided(one))
        ]
        return max(found, key=self._version, default=None)

    def decisive(self, asked: Sequence[int]) -> list[int]:
        """Offsets of the first record, the last, and those that decided about others, in order.

        Beyond `RECORDS_SHOWN` the oldest of the latter are left out. A record decides that wins,
        beat another one in a pass, or deleted the key and is gone.
        """
        winner = self._winner()
        beat: dict[int, None] = {} if winner is None else {winner.offset: None}
        for tracked in reversed(self.records.values()):
            gone = tracked.gone
            if gone is not None and gone.why == "tombstone":
                beat[tracked.offset] = None
            elif gone is not None and gone.winner_offset is not None:
                beat[gone.winner_offset] = None
        known = set(asked)
        found = [asked[0], asked[-1], *(offset for offset in beat if offset in known)]
        return sorted(list(dict.fromkeys(found))[:RECORDS_SHOWN])

    def explain(self, tracked: _Tracked) -> RecordExplanation:
        """Explains the fate of one record."""
        kind = "tombstone" if self.rules.cleaner.is_tombstone(tracked.record) else "value"
        start = f"offset {tracked.offset} is a {kind} of '{readable(self.key)}'"
        gone = tracked.gone
        if gone is not None:
            sentence = f"{start}. Gone: {self._why_gone(tracked, tracked.decided[-1][0], gone)}."
            return RecordExplanation(tracked.offset, kind, "gone", sentence)
        aborted, winner = self._abort_of(tracked), self._winner()
        if aborted is not None:
            waits = (
                f"{self._unreached(tracked)}; its transaction was aborted (ABORT at "
                f"{aborted.last_offset}), so the first pass that reaches it takes it away"
            )
        elif self._is_undecided(tracked):
            waits = f"{self._unreached(tracked)}; its transaction is open, no marker has ended it"
        elif winner is not None and winner is not tracked:
            waits = self._superseded(tracked, winner)
        else:
            waits = self._tombstone(tracked) if kind == "tombstone" else self._value(tracked)
        return RecordExplanation(tracked.offset, kind, "here", f"{start}. Still here: {waits}.")

    def _why_gone(self, tracked: _Tracked, one: PassResult, gone: Reason) -> str:
        by = f"step {one.number} removed it"
        if gone.why == "superseded":
            return f"{by}: superseded by {gone.winner_offset}"
        text = REASON_TEXTS[gone.why]
        if gone.why == "unmapped":
            return f"{by}: {text}, and no record of its key was in the map"
        unended = tracked.batch.base_offset in one.cleaning.unended
        if gone.why == "aborted":
            aborted = self._abort_of(tracked)
            if aborted is not None:
                whose = f"producer {aborted.producer_id}, ABORT at {aborted.last_offset}"
                return f"{by}: its transaction was aborted ({whose})"
            return (
                f"{by}: {self._unended(tracked, one) if unended else 'its transaction was aborted'}"
            )
        assert gone.asked is not None  # the removal rule let it go
        also = f"; it took no older record along: {self._unended(tracked, one)}" if unended else ""
        return f"{by}: {text}, {self._expiry(tracked, gone.asked)}{also}"

    def _unended(self, tracked: _Tracked, one: PassResult) -> str:
        """Explains why a pass counted a batch as aborted though it comes after the ABORT marker."""
        batch = tracked.batch
        marker = one.cleaning.unended[batch.base_offset]
        there = any(other.base_offset == marker for other in self.log.batches())
        why = "its map was read from behind it" if there else "it is gone"
        return (
            f"offset {tracked.offset} counted as aborted, as step {one.number} did not meet the "
            f"ABORT marker at {marker} that ends an earlier transaction of producer "
            f"{batch.producer_id}: {why}"
        )

    def _by_segment(self, tracked: _Tracked, asked: Circumstances) -> bool:
        """True if the modification time of its segment decides about a tombstone."""
        unstamped = asked.without_horizon and tracked.horizon_ms is None
        looks = self.removal not in _WITHOUT_HORIZON
        return self.removal == "last_modified" or (unstamped and looks)

    def _expiry(self, tracked: _Tracked, asked: Circumstances) -> str:
        """Describes the numbers that let a tombstone go."""
        now_ms, horizon_ms = asked.now_ms, tracked.horizon_ms
        if self._by_segment(tracked, asked):
            return (
                f"its segment's last modification {asked.segment_last_modified_ms} is not above "
                f"the pass's horizon {asked.legacy_horizon_ms}"
            )
        if self.removal == "cleaning_checkpoint":
            end, cleaned_ms = asked.last_cleaning or (0, 0)
            return (
                f"the pass before, at {cleaned_ms} ms, ended above it, at {end}, and the pass at "
                f"{now_ms} ms came {now_ms - cleaned_ms} ms after it"
            )
        if horizon_ms is None:
            return f"at {now_ms} ms; tombstone_removal {self.removal} waits for nothing"
        step = tracked.horizon_set_in
        since = "which it came with" if step is None else f"set in step {step}"
        return f"{horizon_ms}, {since}; the pass ran at {now_ms} ms"

    def _value(self, tracked: _Tracked) -> str:
        """Explains why a value that wins stays; a tombstone that deleted it may be gone."""
        deleted_by = [
            other
            for other in self.records.values()
            if other.gone is not None
            and other.gone.why == "tombstone"
            and self._version(other) > self._version(tracked)
        ]
        if not deleted_by:
            latest = self.strategy.latest_wins and not any(
                map(self._is_undecided, self.records.values())
            )
            which = "newest" if latest else "winning"
            return (
                f"it is the {which} record of its key and has a value; it stays until another wins"
            )
        last = max(deleted_by, key=self._version)
        one, _ = last.decided[-1]
        went = f"the tombstone at {last.offset} that deleted it went in step {one.number}"
        if last.batch.base_offset in one.cleaning.unended:
            return f"{went} without it, so the value is back: {self._unended(last, one)}"
        return f"{went} before a pass had compared the two, so the value is back"

    def _superseded(self, tracked: _Tracked, winner: _Tracked) -> str:
        """Explains why a record is here that lost, or will lose, to another one."""
        newer = winner.offset > tracked.offset
        what = (
            f"a newer record at {winner.offset} supersedes it"
            if newer
            else f"the record at {winner.offset} has a higher version and supersedes it"
        )
        numbers = [one.number for one, _ in winner.decided]
        both = [(one, reason) for one, reason in tracked.decided if one.number in numbers]
        if not both:
            later, subject = (winner, "that one") if newer else (tracked, "it")
            why = self._unreached(later, subject)
            return f"{what}, but {why}; the first pass that reaches both removes this one"
        last, reason = both[-1]
        if reason.why == "protected":
            return f"{what}, but {self._protected()}"
        for one, _ in reversed(both):
            if winner.batch.base_offset in one.cleaning.unended:
                return f"{what}, but {self._unended(winner, one)}; no later pass compares the two"
        dirty_from = last.plan.first_dirty_offset
        if not last.plan.policy.full_map and winner.offset < dirty_from:
            return (
                f"{what}, but that one lay in the clean section, below {dirty_from}, in step "
                f"{last.number}, and a map of dirty records only (map_range: dirty) does not know "
                "it; no later pass compares the two either"
            )
        if last.plan.given_map is not None:
            return f"{what}, but the map given in step {last.number} does not say so"
        return f"{what}; the next pass that reaches both removes this one"

    def _tombstone(self, tracked: _Tracked) -> str:
        """Explains why a tombstone that wins is here: it waits for a pass, or its removal rule."""
        if not tracked.decided:
            return f"{self._unreached(tracked)}{self._outlook(tracked)}"
        last, reason = tracked.decided[-1]
        if self.removal == "never":
            return "tombstone_removal: never keeps a winning tombstone for ever"
        if reason.asked is None:
            return self._protected()
        if self._by_segment(tracked, reason.asked):
            return self._by_last_modified(last, reason.asked)
        if self.removal == "cleaning_checkpoint":
            return self._by_checkpoint(tracked)
        if tracked.horizon_ms is None:
            return f"no pass has given it a delete horizon yet{self._outlook(tracked)}"
        limit = reason.asked.removal_limit
        is_past = last.plan.now_ms >= tracked.horizon_ms
        if self.removal == "coordinated" and is_past and tracked.offset >= limit:
            return (
                f"its delete horizon {tracked.horizon_ms} is past, but it is not below {limit}, up "
                f"to where every replica had cleanly compacted before step {last.number} (its own "
                "first dirty offset: a log file has one replica)"
            )
        return self._by_horizon(tracked, tracked.horizon_ms, last)

    def _by_horizon(self, tracked: _Tracked, horizon_ms: int, last: PassResult) -> str:
        of_whom = "it" if self.removal == "record_horizon" else "its batch"
        since, got = last, f"{of_whom} came with the delete horizon {horizon_ms}"
        if tracked.horizon_set_in is not None:
            since = next(one for one in self.passes if one.number == tracked.horizon_set_in)
            got = f"{of_whom} got the delete horizon {horizon_ms} in step {since.number}"
        away = f"{horizon_ms - since.plan.now_ms:,} ms after step {since.number}"
        text = f"{got}; it goes with the first pass at or after that time: {away}"
        if last.number != tracked.horizon_set_in:
            text += f" (step {last.number}, at {last.plan.now_ms}, was too early)"
        newest = self.passes[-1]
        if newest is not last:
            text += f"; {self._missed(newest, tracked)}"
        if newest.cleaning.next_dirty_offset >= self.log.active.base_offset:
            text += (
                "; at present nothing below the active segment is dirty, and without dirty data "
                "the cleaner does not run"
            )
        return text

    def _by_last_modified(self, last: PassResult, asked: Circumstances) -> str:
        retention_ms = asked.delete_retention_ms
        text = (
            f"its segment's last modification {asked.segment_last_modified_ms} is above the "
            f"horizon {asked.legacy_horizon_ms} of step {last.number}'s pass; it goes with the "
            "first pass whose horizon is at least that"
        )
        if retention_ms > 0:
            text += (
                ". Unless a step gives one, the horizon is the last modification of the last clean "
                f"segment minus {retention_ms:,} ms (delete.retention.ms)"
            )
        return text

    def _by_checkpoint(self, tracked: _Tracked) -> str:
        newest = self.passes[-1]
        end, cleaned_ms = newest.cleaning.next_dirty_offset, newest.plan.now_ms
        if tracked.offset >= end:
            return f"no pass has ended above it yet; the last one ended at {end}"
        due_ms = cleaned_ms + newest.plan.delete_retention_ms
        return (
            f"the last pass, step {newest.number} at {cleaned_ms} ms, ended above it, at {end}; it "
            f"goes with the next pass if that comes at {due_ms} ms or later, and each pass before "
            "then restarts the wait"
        )

    def _protected(self) -> str:
        return (
            f"fix: {self.rules.cleaner.fix} keeps the last record of the whole log, this one, "
            "whatever it is; it may go once another is appended after it"
        )

    def _unreached(self, tracked: _Tracked, subject: str = "it") -> str:
        """Explains why no pass has decided about a record."""
        passes = [one for one in self.passes if one.number > tracked.appended_in]
        active = self.log.active.base_offset
        text = f"no pass has reached {subject}{' yet' * (subject == 'it')}"
        if passes:
            text = self._missed(passes[-1], tracked, subject)
        if tracked.offset >= active:
            where = f"the active segment, from {active}, is never cleaned"
            return f"{text} ({where}); it needs a roll first"
        return text

    def _missed(self, one: PassResult, tracked: _Tracked, subject: str = "it") -> str:
        """Explains why one pass did not decide about a record."""
        bound, decision, nothing = one.plan.upper_bound, one.decision, one.cleaning.replaced == 0
        if one.failed is not None and tracked.offset not in one.cleaning.reasons:
            return f"no pass was run to its end in step {one.number}: {one.failed}"
        if decision is not None and not decision.eligible:
            outlook = f" ({decision.outlook})" if decision.outlook else ""
            return f"no pass was run in step {one.number}: the log was {decision.why}{outlook}"
        if tracked.offset >= bound:
            held = (
                decision is not None and decision.found.bound.limit is not CleanLimit.ACTIVE_SEGMENT
            )
            by = f" ({decision.limit})" if decision is not None and held else ""
            return f"{subject} lies at or above the upper bound {bound} of step {one.number}{by}"
        if nothing and one.plan.map_capacity == 0:
            return f"the offset map of step {one.number} holds no key"
        if nothing:
            return f"nothing was dirty below the upper bound {bound} in step {one.number}"
        reason = one.cleaning.reasons.get(tracked.offset)  # none in segments behind the map's end
        if reason is None or reason.why == "beyond map":
            return (
                f"{subject} lies beyond offset {one.cleaning.next_dirty_offset - 1}, where the "
                f"offset map of step {one.number} ended"
            )
        return f"step {one.number} reached {subject}"

    def _outlook(self, tracked: _Tracked) -> str:
        """Describes the effect of the first pass that reaches a tombstone."""
        if self.removal in ("never", "last_modified", "cleaning_checkpoint"):
            return ""
        if self.removal == "immediate":
            return "; the pass that reaches it removes it"
        if self.rules.cleaner.old_formats == "kept" and isinstance(tracked.batch, OldBatch):
            return f"; its batch, of magic {tracked.batch.magic}, has no place for a delete horizon"
        if tracked.horizon_ms is None:
            wait_ms = self.rules.topic.delete_retention_ms
            return f"; the first pass that sees it gives it a delete horizon {wait_ms:,} ms later"
        step = tracked.horizon_set_in
        got = "came with" if step is None else f"got in step {step}"
        return f"; the delete horizon it {got} is {tracked.horizon_ms}"
