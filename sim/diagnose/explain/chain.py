"""The events that led to a violation, newest first, one line each; what repeats is folded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from sim.diagnose.explain.case import Case, listed, span
from sim.protocol.events import (
    Appended,
    Cleaned,
    Consumed,
    Copied,
    Event,
    GapLearned,
    HighWatermarkMoved,
    PositionRecorded,
    Removal,
    SnapshotChunkFetched,
)
from sim.protocol.events.sentences import About, describe

NAMED_OF_KEY = 8
"""So many of the last records of a violation's key are named."""


def chain(case: Case, cone: Sequence[int]) -> list[str]:
    """Every event of the cone in some line, the newest first.

    Neighbours are folded into one line: copies from one leader, positions that one leader
    recorded, high watermarks, reads of one consumer. The records named are those the violation
    hangs on, with their versions; the others are counted.

    Args:
        case: What is explained.
        cone: Positions of events, ascending.
    """
    about = _about(case, cone)
    lines = []
    for group in _grouped(case, cone):
        events = [case.event(position) for position in reversed(group)]
        lines.append(f"{case.events[group[0]][0]:>6}  {_sentence(case, about, events)}")
    return lines


def _grouped(case: Case, cone: Sequence[int]) -> Iterator[list[int]]:
    """Positions of the cone, newest first, those that are folded together in one list."""
    kinds = {position: _folded(case.event(position)) for position in cone}
    for _, stretch in groupby(reversed(cone), lambda position: bool(kinds[position])):
        groups: defaultdict[object, list[int]] = defaultdict(list)
        for position in stretch:
            groups[kinds[position] or position].append(position)
        yield from groups.values()


def _folded(event: Event) -> tuple[object, ...]:
    """Neighbours of replication with the same value share a line; () = no event shares it."""
    match event:
        case Copied(_, leader) | GapLearned(_, leader):
            return "copied", leader
        case PositionRecorded(name):
            return "recorded", name
        case HighWatermarkMoved(name, _, leading):
            return "high watermark", leading and name
        case Consumed(_, consumer):
            return "reads", consumer
        case SnapshotChunkFetched(name, leader, end, epoch):
            return "fetches", name, leader, end, epoch
    return ()


def _about(case: Case, cone: Iterable[int]) -> About:
    """The records to be named: those at the offset of the violation, of its key, and who won."""
    violation, written = case.violation, case.history.written
    offsets = set() if violation.offset is None else {violation.offset}
    for event in map(case.event, cone):
        for removal in event.removals if isinstance(event, Cleaned) else ():
            if removal.winner_offset is not None and removal.offset in offsets:
                offsets.add(removal.winner_offset)
    offsets |= {written[uid].offset for uid in case.uids_of(violation.key)[-NAMED_OF_KEY:]}
    named = violation.key if violation.offset is None else None
    return lambda offset, key: offset in offsets or (key is not None and key == named)


def _sentence(case: Case, about: About, events: list[Any]) -> str:
    """Some events of one kind, in order, in one line."""
    match events[-1]:
        case Copied(_, leader) | GapLearned(_, leader):
            return f"{_copies(events)} from {leader}"
        case PositionRecorded(name):
            last = {each.follower: each.position for each in events}
            return f"{name} recorded {listed([f'{who} at {at}' for who, at in last.items()])}"
        case HighWatermarkMoved(name, mark, True):
            return f"{name} committed what is below {mark}"
        case HighWatermarkMoved():
            marks = [(each.replica, each.high_watermark) for each in events]
            return listed([f"{name} learned high watermark {mark}" for name, mark in marks])
        case Consumed():
            return _reads(case, about, events)
        case SnapshotChunkFetched(name, leader, end, epoch):
            chunks = f"{len(events)} chunks" if len(events) > 1 else "a chunk"
            return f"{name} fetched {chunks} of snapshot ({end}, {epoch}) from {leader}"
        case Cleaned() as event:
            return _cleaned(case, about, event)
        case Appended(name, batch) if batch.control is None:
            named = [r.uid for r in batch.records if about(r.offset, r.key)]
            what = f"{case.names(named)}{_more(len(batch.records) - len(named))}"
            if named:
                return f"{name} appended {what} in epoch {batch.epoch}"
    return describe(events[-1], about=about)


def _more(count: int) -> str:
    return f" and {count} more" if count else ""


def _reads(case: Case, about: About, reads: list[Consumed]) -> str:
    """`c1 read r1 from 2 to 9: …`."""
    records = [record for one in reads for record in one.records]
    named = [r.uid for r in records if about(r.offset, r.key)]
    given = case.names(named) or f"{len(records)} records"
    logs = listed(list(dict.fromkeys(one.replica or "" for one in reads)))
    first, last = reads[0], reads[-1]
    return f"{last.consumer} read {logs} from {first.start} to {last.end}: {given}"


def _copies(copies: list[Copied | GapLearned]) -> str:
    """`r2 and r3 copied 4..9`."""
    spans: defaultdict[str, list[int]] = defaultdict(list)
    for one in reversed(copies):
        spans[one.replica] += (one.fetch_offset, one.log_end_offset - 1)
    by_span: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for name, copied in reversed(spans.items()):
        by_span[min(copied), max(copied)].append(name)
    parts = []
    for (first, last), names in by_span.items():
        many = "" if first == last else f"..{last}"
        parts.append(f"{listed(names)} copied {first}{many}")
    return listed(parts)


def _cleaned(case: Case, about: About, event: Cleaned) -> str:
    name, removals = event.replica, event.removals
    said = [_removal(case, each) for each in removals if about(each.offset, each.key)]
    more = len(removals) - len(said)
    removed = "; ".join(said) + _more(more) if said else f"{more} records" if more else "nothing"
    kept = f", kept {_offsets(event.emptied)} empty" if event.emptied else ""
    dropped = f", dropped the empty {_offsets(event.dropped)}" if event.dropped else ""
    horizons = ", ".join(f"{base}: {at:,} ms" for base, at in event.horizons)
    gave = f"; gave delete horizons {horizons}" if horizons else ""
    return (
        f"{name} cleaned {span(event)}, "
        f"{case.clock(name, event.now_ms)}, high watermark {event.high_watermark}: "
        f"removed {removed}{kept}{dropped}{gave}; log end {event.log_end_offset}"
    )


def _offsets(offsets: Iterable[int]) -> str:
    return listed([str(offset) for offset in offsets])


def _removal(case: Case, removal: Removal) -> str:
    """`k1=v1@0 beaten by k1=v2@4`, or why it went."""
    at, gone = removal.winner_offset, case.name(removal.uid)
    if at is None:
        return f"{gone} ({removal.reason})"
    winners = [u for u in case.uids_of(removal.key) if case.history.written[u].offset == at]
    return f"{gone} beaten by {case.name(winners[-1]) if winners else f'the record at {at}'}"
