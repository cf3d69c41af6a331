"""Why is this tombstone, or this value, still here, or already gone? (`replog clean --explain`).

What is still there waits for the first condition that is not met.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sim.errors import BadInput
from sim.protocol.compaction.eligibility import Limit
from sim.protocol.log.old_formats import OldBatch
from sim.simulate.logfile.answer import REASONS
from sim.simulate.logfile.content import readable
from sim.simulate.logfile.file import LogFile
from sim.simulate.logfile.key_history import KeyHistory, TrackedRecord, key_history, keys_of
from sim.simulate.logfile.run import PassResult

_KEYS_SHOWN = 20
RECORDS_SHOWN = 20
"""Of a key with more records some are left out."""
_WITHOUT_HORIZON = ("immediate", "cleaning_checkpoint", "never")
"""Removal rules that look at no horizon, whatever the format."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of one record.

    Attributes:
        offset: Its offset.
        kind: `tombstone` or `value`.
        fate: `here` or `gone`.
        sentence: All of it for people, with the numbers.
    """

    offset: int
    kind: str
    fate: str
    sentence: str


class KeyExplanation(NamedTuple):
    """What became of a key.

    Attributes:
        records: What became of each of its records, in offset order; of many the first, the last
            and those that decided about others.
        left_out: How many are not among them.
    """

    records: list[Explanation]
    left_out: int = 0


def explain_key(file: LogFile, key: str, *, about: Collection[int] | None = None) -> KeyExplanation:
    """What became of the records of `key` when the steps are done.

    Args:
        file: The log file.
        key: The key.
        about: Offsets of the records that are asked about; None = all of them.

    Raises:
        BadInput: No record has that key; the message says which keys there are.
    """
    keys = keys_of(file)
    if key not in keys:
        names = ", ".join(map(readable, keys[:_KEYS_SHOWN])) or "none"
        more = f" and {len(keys) - _KEYS_SHOWN} more" if len(keys) > _KEYS_SHOWN else ""
        raise BadInput(
            f"--explain {readable(key)}: no record has this key; there are: {names}{more}"
        )
    history = key_history(file, key)
    asked = sorted(history.records if about is None else history.records.keys() & set(about))
    shown = asked if len(asked) <= RECORDS_SHOWN else _decisive(history, asked)
    explained = [_explained(history, history.records[offset]) for offset in shown]
    return KeyExplanation(explained, len(asked) - len(shown))


def _decisive(history: KeyHistory, asked: Sequence[int]) -> list[int]:
    """Of many records the first, the last, and those that decided about others; the newest first.

    A record decides that wins, beat another one in a pass, or deleted the key and is gone.
    """
    records, winner = history.records, history.winner()
    beat: dict[int, None] = {} if winner is None else {winner.offset: None}
    for tracked in reversed(records.values()):
        removal = tracked.removal
        if removal is None:
            continue
        if removal.reason == "tombstone":
            beat[tracked.offset] = None
        elif removal.winner_offset is not None:
            beat[removal.winner_offset] = None
    known = set(asked)
    found = [asked[0], asked[-1], *(offset for offset in beat if offset in known)]
    return sorted(list(dict.fromkeys(found))[:RECORDS_SHOWN])


def _explained(history: KeyHistory, tracked: TrackedRecord) -> Explanation:
    kind = "tombstone" if tracked.is_tombstone else "value"
    start = f"offset {tracked.offset} is a {kind} of '{readable(history.key)}'"
    if tracked.removed_in is None:
        sentence = f"{start}. Still here: {_waits_for(history, tracked)}"
    else:
        sentence = f"{start}. Gone: {_why_gone(history, tracked, tracked.removed_in)}"
    return Explanation(
        tracked.offset, kind, "here" if tracked.removed_in is None else "gone", f"{sentence}."
    )


def _why_gone(history: KeyHistory, tracked: TrackedRecord, removed_in: PassResult) -> str:
    removal = tracked.removal
    assert removal is not None  # it went
    by = f"step {removed_in.number} removed it"
    if removal.reason == "superseded":
        return f"{by}: superseded by {removal.winner_offset}"
    if removal.reason == "unmapped":
        return f"{by}: {REASONS[removal.reason]}, and no record of its key was in the map"
    if removal.reason == "aborted":
        aborted = history.abort_of(tracked)
        if aborted is not None:
            whose = f"producer {aborted.producer_id}, ABORT at {aborted.last_offset}"
            return f"{by}: its transaction was aborted ({whose})"
        if tracked.batch.base_offset in removed_in.cleaning.unended:
            return f"{by}: {_unended(history, tracked, removed_in)}"
        return f"{by}: its transaction was aborted"
    unseen = ""
    if tracked.batch.base_offset in removed_in.cleaning.unended:
        unseen = f"; it took no older record along: {_unended(history, tracked, removed_in)}"
    return f"{by}: {REASONS[removal.reason]}, {_expiry(history, tracked, removed_in)}{unseen}"


def _unended(history: KeyHistory, tracked: TrackedRecord, one: PassResult) -> str:
    """Why a pass took a batch for aborted that comes after the marker of that transaction."""
    batch = tracked.batch
    marker = one.cleaning.unended[batch.base_offset]
    there = any(other.base_offset == marker for other in history.log.batches())
    why = "its map was read from behind it" if there else "it is gone"
    return (
        f"offset {tracked.offset} counted as aborted, as step {one.number} did not meet the ABORT "
        f"marker at {marker} that ends an earlier transaction of producer {batch.producer_id}: "
        f"{why}"
    )


def _expiry(history: KeyHistory, tracked: TrackedRecord, removed_in: PassResult) -> str:
    """The numbers by which a tombstone could go."""
    now_ms = removed_in.plan.now_ms
    removal = history.rules.rules.cleaner.tombstone_removal
    if removal == "last_modified" or _by_segment(history, tracked):
        return (
            f"its segment's last modification {removed_in.modified_ms(tracked.offset)} is not "
            f"above the pass's horizon {removed_in.plan.legacy_horizon_ms}"
        )
    if removal == "cleaning_checkpoint":
        end, cleaned_ms = removed_in.plan.last_cleaning or (0, 0)
        return (
            f"the pass before, at {cleaned_ms} ms, ended above it, at {end}, and the pass at "
            f"{now_ms} ms came {now_ms - cleaned_ms} ms after it"
        )
    if tracked.horizon_ms is None:
        return f"at {now_ms} ms; tombstone_removal {removal} waits for nothing"
    since = (
        "which it came with"
        if tracked.horizon_set_in is None
        else f"set in step {tracked.horizon_set_in}"
    )
    return f"{tracked.horizon_ms}, {since}; the pass ran at {now_ms} ms"


def _by_segment(history: KeyHistory, tracked: TrackedRecord) -> bool:
    """Whether the times of segments decide of a tombstone, as it has no horizon."""
    cleaner = history.rules.rules.cleaner
    if tracked.horizon_ms is not None or cleaner.tombstone_removal in _WITHOUT_HORIZON:
        return False
    old = isinstance(tracked.batch, OldBatch)
    return old or cleaner.unstamped_tombstones == "last_modified"


def _waits_for(history: KeyHistory, tracked: TrackedRecord) -> str:
    """Why it is still there, and what has to happen before it goes."""
    aborted = history.abort_of(tracked)
    if aborted is not None:
        return (
            f"{_unreached(history, tracked)}; its transaction was aborted (ABORT at "
            f"{aborted.last_offset}), so the first pass that reaches it takes it away"
        )
    winner = history.winner()
    if winner is not None and winner is not tracked:
        return _superseded(history, tracked, winner)
    if tracked.is_tombstone:
        return _tombstone(history, tracked)
    return _value(history, tracked)


def _value(history: KeyHistory, tracked: TrackedRecord) -> str:
    """A value that wins stays; it may have been deleted by a tombstone that is gone."""
    version = history.strategy.version
    deleted_by = [
        other
        for other in history.records.values()
        if other.removal is not None
        and other.removal.reason == "tombstone"
        and version(other.record) > version(tracked.record)
    ]
    if deleted_by:
        last = max(deleted_by, key=lambda other: version(other.record))
        assert last.removed_in is not None  # it went
        if last.batch.base_offset in last.removed_in.cleaning.unended:
            return (
                f"the tombstone at {last.offset} that deleted it went in step "
                f"{last.removed_in.number} without it, so the value is back: "
                f"{_unended(history, last, last.removed_in)}"
            )
        return (
            f"the tombstone at {last.offset} that deleted it went in step {last.removed_in.number} "
            "before a pass had compared the two, so the value is back"
        )
    which = "newest" if history.strategy.latest_wins else "winning"
    return f"it is the {which} record of its key and has a value; it stays until another wins"


def _superseded(history: KeyHistory, tracked: TrackedRecord, winner: TrackedRecord) -> str:
    """A record that lost, or will lose, to another one that is there."""
    what = (
        f"a newer record at {winner.offset} supersedes it"
        if winner.offset > tracked.offset
        else f"the record at {winner.offset} has a higher version and supersedes it"
    )
    passes = history.passes_since(tracked if tracked.appended_in >= winner.appended_in else winner)
    both = [one for one in passes if one.mapped(winner.offset) and one.mapped(tracked.offset)]
    if not both:
        later = winner if winner.offset > tracked.offset else tracked
        subject = "that one" if later is winner else "it"
        why = _unreached(history, later, subject)
        return f"{what}, but {why}; the first pass that reaches both removes this one"
    last = both[-1]
    if last.cleaning.protected_offset == tracked.offset:
        return f"{what}, but {_protected(history, tracked)}"
    missed = [one for one in both if winner.batch.base_offset in one.cleaning.unended]
    if missed:
        return (
            f"{what}, but {_unended(history, winner, missed[-1])}; no later pass compares the two"
        )
    dirty_from = last.plan.first_dirty_offset
    if not last.plan.policy.full_map and winner.offset < dirty_from:
        return (
            f"{what}, but that one lay in the clean section, below {dirty_from}, in step "
            f"{last.number}, and a map of dirty records only (map_range: dirty) does not know it; "
            "no later pass compares the two either"
        )
    if last.plan.given_map is not None:
        return f"{what}, but the map given in step {last.number} does not say so"
    return f"{what}; the next pass that reaches both removes this one"


def _tombstone(history: KeyHistory, tracked: TrackedRecord) -> str:
    """A tombstone that wins: it waits for a pass, then for its removal rule, or for ever."""
    removal = history.rules.rules.cleaner.tombstone_removal
    mapped = [one for one in history.passes_since(tracked) if one.mapped(tracked.offset)]
    if not mapped:
        return f"{_unreached(history, tracked)}{_outlook(history, tracked)}"
    last = mapped[-1]
    if removal == "never":
        return "tombstone_removal: never keeps a winning tombstone for ever"
    if last.cleaning.protected_offset == tracked.offset:
        return _protected(history, tracked)
    if removal == "last_modified" or _by_segment(history, tracked):
        return _by_last_modified(tracked, history, last)
    if removal == "cleaning_checkpoint":
        return _by_checkpoint(history, tracked)
    if tracked.horizon_ms is None:
        return f"no pass has given it a delete horizon yet{_outlook(history, tracked)}"
    limit = last.plan.removal_limit
    if (
        removal == "coordinated"
        and last.plan.now_ms >= tracked.horizon_ms
        and tracked.offset >= limit
    ):
        return (
            f"its delete horizon {tracked.horizon_ms} is past, but it is not below {limit}, up to "
            f"where every replica had cleanly compacted before step {last.number} (its own first "
            "dirty offset: a log file has one replica)"
        )
    return _by_horizon(history, tracked, last)


def _by_horizon(history: KeyHistory, tracked: TrackedRecord, last: PassResult) -> str:
    horizon_ms = tracked.horizon_ms
    assert horizon_ms is not None  # asked for by the caller
    of_whom = (
        "it" if history.rules.rules.cleaner.tombstone_removal == "record_horizon" else "its batch"
    )
    if tracked.horizon_set_in is None:
        got = f"{of_whom} came with the delete horizon {horizon_ms}"
        away = f"{_ms(horizon_ms - last.plan.now_ms)} after step {last.number}"
    else:
        stamped = next(one for one in history.passes if one.number == tracked.horizon_set_in)
        got = f"{of_whom} got the delete horizon {horizon_ms} in step {tracked.horizon_set_in}"
        away = f"{_ms(horizon_ms - stamped.plan.now_ms)} after step {tracked.horizon_set_in}"
    text = f"{got}; it goes with the first pass at or after that time: {away}"
    if last.number != tracked.horizon_set_in:
        text += f" (step {last.number}, at {last.plan.now_ms}, was too early)"
    newest = history.passes[-1]
    if newest is not last:
        text += f"; {_missed(newest, tracked)}"
    if newest.cleaning.next_dirty_offset >= history.log.active.base_offset:
        text += (
            "; at present nothing below the active segment is dirty, and without dirty data the "
            "cleaner does not run"
        )
    return text


def _by_last_modified(tracked: TrackedRecord, history: KeyHistory, last: PassResult) -> str:
    modified, horizon = last.modified_ms(tracked.offset), last.plan.legacy_horizon_ms
    retention = history.rules.rules.topic.delete_retention_ms
    text = (
        f"its segment's last modification {modified} is above the horizon {horizon} of step "
        f"{last.number}'s pass; it goes with the first pass whose horizon is at least that"
    )
    if retention > 0:
        text += (
            f". Unless a step gives one, the horizon is the last modification of the last clean "
            f"segment minus {_ms(retention)} (delete.retention.ms)"
        )
    return text


def _by_checkpoint(history: KeyHistory, tracked: TrackedRecord) -> str:
    newest = history.passes[-1]
    end, cleaned_ms = newest.cleaning.next_dirty_offset, newest.plan.now_ms
    due_ms = cleaned_ms + history.rules.rules.topic.delete_retention_ms
    if tracked.offset >= end:
        return f"no pass has ended above it yet; the last one ended at {end}"
    return (
        f"the last pass, step {newest.number} at {cleaned_ms} ms, ended above it, at {end}; it "
        f"goes with the next pass if that comes at {due_ms} ms or later, and each pass before then "
        "starts the wait anew"
    )


def _protected(history: KeyHistory, tracked: TrackedRecord) -> str:
    return (
        f"fix: {history.rules.rules.cleaner.fix} keeps the last record of the whole log, this one, "
        "whatever it is; it may go once another is appended after it"
    )


def _unreached(history: KeyHistory, tracked: TrackedRecord, subject: str = "it") -> str:
    """Why no pass has decided about a record."""
    passes, active = history.passes_since(tracked), history.log.active.base_offset
    last = passes[-1] if passes else None
    if last is None:
        text = "no pass has reached it yet" if subject == "it" else f"no pass has reached {subject}"
    else:
        text = _missed(last, tracked, subject)
    if tracked.offset >= active:
        where = f"the active segment, from {active}, is never cleaned"
        return f"{text} ({where}); it needs a roll first"
    return text


def _missed(one: PassResult, tracked: TrackedRecord, subject: str = "it") -> str:
    """Why one pass did not decide about a record."""
    bound, decision = one.plan.upper_bound, one.decision
    if one.did_nothing and one.failed is not None:
        return f"no pass was run to its end in step {one.number}: {one.failed}"
    if decision is not None and not decision.eligible:
        outlook = f" ({decision.outlook})" if decision.outlook else ""
        return f"no pass was run in step {one.number}: the log was {decision.why}{outlook}"
    if tracked.offset >= bound:
        held = decision is not None and decision.found.bound.limit is not Limit.ACTIVE_SEGMENT
        by = f" ({decision.limit})" if decision is not None and held else ""
        return f"{subject} lies at or above the upper bound {bound} of step {one.number}{by}"
    if one.did_nothing and one.plan.map_capacity == 0:
        return f"the offset map of step {one.number} holds no key"
    if one.did_nothing:
        return f"nothing was dirty below the upper bound {bound} in step {one.number}"
    if not one.mapped(tracked.offset):
        return (
            f"{subject} lies beyond offset {one.latest_offset}, where the offset map of step "
            f"{one.number} ended"
        )
    return f"step {one.number} reached {subject}"


def _outlook(history: KeyHistory, tracked: TrackedRecord) -> str:
    """What the first pass that reaches a tombstone will do."""
    removal = history.rules.rules.cleaner.tombstone_removal
    kept_old = history.rules.rules.cleaner.old_formats == "kept"
    if removal in ("never", "last_modified", "cleaning_checkpoint"):
        return ""
    if removal == "immediate":
        return "; the pass that reaches it removes it"
    if kept_old and isinstance(tracked.batch, OldBatch):
        return f"; its batch, of magic {tracked.batch.magic}, has no place for a delete horizon"
    if tracked.horizon_ms is None:
        wait = _ms(history.rules.rules.topic.delete_retention_ms)
        return f"; the first pass that sees it gives it a delete horizon {wait} later"
    got = "came with" if tracked.horizon_set_in is None else f"got in step {tracked.horizon_set_in}"
    return f"; the delete horizon it {got} is {tracked.horizon_ms}"


def _ms(number: int) -> str:
    return f"{number:,} ms"
