"""Explanations of violations: the fact that decided, the events that led there, the cause.

`explanation` has them as text, with the committed history and the logs; the other modules find the
facts that it words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sim.check import Violation
from sim.check.facts import EMPTY, ReplicaView
from sim.check.violation import RecordSeen
from sim.diagnose.explain.case import Case, Fact, judged_at, listed
from sim.diagnose.explain.causality import causal_cone
from sim.diagnose.explain.past import Past
from sim.diagnose.explain.questions import deciding
from sim.diagnose.explain.removed import span
from sim.files.foreign import LONGEST, one_line
from sim.protocol import events as on
from sim.protocol.events import Event
from sim.protocol.events.sentences import About, describe
from sim.protocol.rules import Rules

RECORDS_NAMED = 4
"""How many of the last records of a key that a replica holds are named."""


@dataclass(frozen=True, slots=True)
class ExplanationText:
    """The explanation of a violation.

    Attributes:
        violation: The violation.
        facts: Deciding facts; the first one caused the others.
        truth: Lines about the record committed at the offset, and the winner of the key; empty for
            a violation of neither.
        now: Lines about each replica's log when the violation was found.
        rules: Rules of the run with another value than the default; empty without any.
        chain: Lines about the events that led there, newest first, each with its time before it.
        cone: Positions of these events, ascending; the last one showed the violation.
        since: Time from which it held (ms, or a step): `violation.at`, or earlier if it was judged
            later than it began.
    """

    violation: Violation
    facts: tuple[Fact, ...]
    truth: tuple[str, ...]
    now: tuple[str, ...]
    rules: str
    chain: tuple[str, ...]
    cone: tuple[int, ...]
    since: int

    @property
    def decided_by(self) -> str:
        """The deciding fact in one sentence."""
        return self.facts[0].text

    @property
    def lines(self) -> list[str]:
        """The whole explanation as lines of text."""
        violation = self.violation
        return [
            f"{violation.at:>6}  {violation.invariant}: {violation.sentence}",
            f"decided by: {self.decided_by}",
            *(f"so: {fact.text}" for fact in self.facts[1:]),
            *([f"so since: {self.since:,}"] if self.since < violation.at else []),
            *(f"committed: {line}" for line in self.truth),
            *(f"now: {line}" for line in self.now),
            *([f"rules: {self.rules}"] if self.rules else []),
            *self.chain,
        ]

    def as_json(self) -> dict[str, Any]:
        """The whole explanation as JSON takes it."""
        violation = self.violation
        return {
            "invariant": violation.invariant,
            "at": violation.at,
            "since": self.since,
            "sentence": violation.sentence,
            "decided_by": self.decided_by,
            "facts": [fact._asdict() for fact in self.facts],
            "committed": list(self.truth),
            "now": list(self.now),
            "rules": self.rules,
            "chain": list(self.chain),
            "cone": list(self.cone),
        }


def explanation(
    past: Past, violation: Violation, *, skews: Mapping[str, int] | None = None
) -> ExplanationText:
    """Explains a violation.

    Args:
        past: The run or story.
        violation: The violation.
        skews: Replica -> how far its clock is ahead of simulated time in ms; None for a story,
            whose times are steps.
    """
    case = Case(past, violation, skews)
    cone = causal_cone(case, violation)
    once: dict[tuple[str, int | None], Fact] = {}
    for fact in deciding(case):  # two questions may have found the same fact
        once.setdefault((fact.text, fact.position), fact)
    return ExplanationText(
        violation,
        tuple(fact._replace(text=_shown(fact.text)) for fact in once.values()),
        tuple(map(_shown, _truth(case))),
        tuple(map(_shown, _now(case))),
        ", ".join(f"{k}={v}" for k, v in case.rules.differing_from(Rules()).items()),
        tuple(map(_shown, chain(case, cone))),
        tuple(cone),
        so_since(case, violation),
    )


def _shown(line: str) -> str:
    """Escapes a line that names keys and values, which may be any text."""
    return one_line(line, longest=LONGEST)


def _truth(case: Case) -> list[str]:
    """Lines about the record committed at the offset, and the winner of the key."""
    offset, key, found = case.violation.offset, case.violation.key, []
    commit = None if offset is None else case.first_commit(offset)
    if offset is not None:
        known = case.known(case.committed_at(offset))
        what = "nothing"
        if known is not None:
            what = f"{case.name(known.record.uid)} of epoch {known.batch.epoch}"
        by = "" if commit is None else f", by {case.event(commit).replica} {case.when(commit)}"
        found.append(f"{what} at offset {offset}{by}")
    if key is not None:
        winner = case.history.winners.get(key)
        deleted = ", a tombstone: the key is deleted" if case.tombstone(winner or 0) else ""
        found.append(f"the winner of {key} is {case.name(winner)}{deleted}")
    return found


def _now(case: Case) -> list[str]:
    """Lines about each replica: what it has at the offset and of the key, the bounds of its log."""
    views = sorted(case.history.replicas.values(), key=lambda v: v.name != case.violation.replica)
    return [
        f"{view.name} has {_held(case, view)}log start {view.log_start_offset}, high watermark "
        f"{view.high_watermark}, log end {view.log_end_offset}, clean below "
        f"{view.first_dirty_offset}"
        + (f", newest snapshot {max(view.snapshots)}" if view.snapshots else "")
        + ("" if view.up else ", down")
        for view in views
    ]


def _held(case: Case, view: ReplicaView) -> str:
    offset, key, found = case.violation.offset, case.violation.key, []
    if offset is not None:
        slot, what = view.uid_at(offset), f"nothing at {offset}"
        if slot > 0:
            what = f"{case.name(slot)} of epoch {case.epoch_of(slot)}"
        elif offset >= view.log_end_offset:
            what = f"no offset {offset} yet"
        elif slot == EMPTY:
            what = f"an empty batch at {offset}"
        found.append(what)
    if key is not None:
        at = {uid: case.written[uid].offset for uid in case.uids_of(key)}
        held = [uid for uid in at if at[uid] != offset and view.uid_at(at[uid]) == uid]
        none = f"no{'' if offset is None else ' other'} record of {key}"
        found.append(case.names(held[-RECORDS_NAMED:]) or none)
    return listed(found) + "; " if found else ""


# Since when it held.

AT_REST = (on.Quiesced, on.RoundsEnded, on.TombstoneProbed)
"""Events at which the state of the cluster at rest is judged."""


def so_since(past: Past, violation: Violation) -> int:
    """The time from which a violation held: ms, or a step.

    Where the invariant saw when it began, that time. Any other violation that is judged at rest
    held since the last event that changed it: a commit of an offset that it names, or a change of
    such an offset on its replica (on the leader, if it names none); without those, the last change
    of its log or the leader's. All others are judged when they happen.

    Args:
        past: The run or story.
        violation: The violation.
    """
    if violation.began is not None:
        return violation.began
    if not isinstance(past.event(judged_at(past.events, violation)), AT_REST):
        return violation.at
    case = Case(past, violation)
    return past.events[max(_changes(case), default=case.judged)][0]


def _changes(case: Case) -> list[int]:
    """Positions of the events that changed what a violation is about."""
    replica, leader = case.violation.replica, case.leader_at()
    names = [replica] if replica else [leader[0]] if leader else []
    changed = []
    for offset in _offsets(case):
        changed += [case.first_commit(offset), *(case.slot(name, offset) for name in names)]
    known = [position for position in changed if position is not None]
    if known:
        return known
    ends = names if leader is None else [*names, leader[0]]  # the violation is about where logs end
    return [step.position for name in ends for step in case.steps_before(name, case.end)[:1]]


def _offsets(case: Case) -> set[int]:
    """The offsets of a violation, of its evidence, of its key and of its transaction."""
    violation, written = case.violation, case.written
    found = {violation.offset, violation.value("deleted_at")}
    found |= {value.offset for _, value in violation.evidence if isinstance(value, RecordSeen)}
    if violation.key is not None:
        winner = written.get(case.history.winners.get(violation.key, 0))
        found.add(None if winner is None else winner.offset)
        if violation.replica is not None:
            held = case.holding(violation.replica, case.uids_of(violation.key))
            found |= {written[uid].offset for uid in held}
    for _, value in violation.evidence:
        known = case.known(value.uid) if isinstance(value, RecordSeen) else None
        if known is not None and known.batch.transactional:
            marker = case.next_marker(known)
            found.add(None if marker is None else marker.offset)
    return {offset for offset in found if offset is not None and offset >= 0}


# What led to it.

NAMED_OF_KEY = 8
"""How many of the last records of a violation's key are named; all if it has no offset."""


def chain(case: Case, cone: Sequence[int]) -> list[str]:
    """The events of the cone as lines, the newest first.

    Neighbours share a line: copies from one leader, positions that one leader recorded, high
    watermarks, reads of one consumer. Records of the violation's offset or key are named with their
    versions; the others are counted.

    Args:
        case: The violation.
        cone: Positions of events, ascending.
    """
    about = _about(case, cone)
    lines = []
    for group in _grouped(case, cone):
        events = [case.event(position) for position in reversed(group)]
        lines.append(f"{case.events[group[0]][0]:>6}  {_sentence(case, about, events)}")
    return lines


def _grouped(case: Case, cone: Sequence[int]) -> Iterator[list[int]]:
    """Positions of the cone, newest first, in groups that share a line."""
    kinds = {position: _folded(case.event(position)) for position in cone}
    for _, stretch in groupby(reversed(cone), lambda position: bool(kinds[position])):
        groups: defaultdict[object, list[int]] = defaultdict(list)
        for position in stretch:
            groups[kinds[position] or position].append(position)
        yield from groups.values()


def _folded(event: Event) -> tuple[object, ...]:
    """The group of an event; neighbours of one group share a line. () for an event on its own."""
    match event:
        case on.Copied(_, leader) | on.GapLearned(_, leader):
            return "copied", leader
        case on.PositionRecorded(name):
            return "recorded", name
        case on.HighWatermarkMoved(name, _, leading):
            return "high watermark", leading and name
        case on.Consumed(_, consumer):
            return "reads", consumer
        case on.SnapshotChunkFetched(name, leader, end, epoch):
            return "fetches", name, leader, end, epoch
    return ()


def _about(case: Case, cone: Iterable[int]) -> About:
    """Selects the records to name: at the violation's offset, of its key, and their winners."""
    violation, written = case.violation, case.written
    offsets = set() if violation.offset is None else {violation.offset}
    for event in map(case.event, cone):
        for removal in event.removals if isinstance(event, on.Cleaned) else ():
            if removal.winner_offset is not None and removal.offset in offsets:
                offsets.add(removal.winner_offset)
    offsets |= {written[uid].offset for uid in case.uids_of(violation.key)[-NAMED_OF_KEY:]}
    named = violation.key if violation.offset is None else None
    return lambda offset, key: offset in offsets or (key is not None and key == named)


def _sentence(case: Case, about: About, events: list[Any]) -> str:
    """Describes events of one group, in order, in one line."""
    match events[-1]:
        case on.Copied(_, leader) | on.GapLearned(_, leader):
            return f"{_copies(events)} from {leader}"
        case on.PositionRecorded(name):
            last = {each.follower: each.position for each in events}
            return f"{name} recorded {listed([f'{who} at {at}' for who, at in last.items()])}"
        case on.HighWatermarkMoved(name, mark, True):
            return f"{name} committed what is below {mark}"
        case on.HighWatermarkMoved():
            marks = [(each.replica, each.high_watermark) for each in events]
            return listed([f"{name} learned high watermark {mark}" for name, mark in marks])
        case on.Consumed(_, consumer, _, end):  # `c1 read r1 from 2 to 9: …`
            records = [record for one in events for record in one.records]
            given = case.names([r.uid for r in records if about(r.offset, r.key)])
            logs = listed(list(dict.fromkeys(one.replica for one in events)))
            what = given or f"{len(records)} records"
            return f"{consumer} read {logs} from {events[0].start} to {end}: {what}"
        case on.SnapshotChunkFetched(name, leader, end, epoch):
            chunks = f"{len(events)} chunks" if len(events) > 1 else "a chunk"
            return f"{name} fetched {chunks} of snapshot ({end}, {epoch}) from {leader}"
        case on.Cleaned() as event:
            return _cleaned(case, about, event)
        case on.Appended(name, batch) if batch.control is None:
            named = [r.uid for r in batch.records if about(r.offset, r.key)]
            more = len(batch.records) - len(named)
            if named:
                what = case.names(named) + (f" and {more} more" if more else "")
                return f"{name} appended {what} in epoch {batch.epoch}"
    return describe(events[-1], about=about)


def _copies(copies: list[on.Copied | on.GapLearned]) -> str:
    """Describes copies, such as `r2 and r3 copied 4..9`."""
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


def _cleaned(case: Case, about: About, event: on.Cleaned) -> str:
    """Describes a pass: the records it removed, and their winners; `r1 cleaned [0, 3), …`."""
    gone = []
    for removal in (each for each in event.removals if about(each.offset, each.key)):
        at = removal.winner_offset
        beats = [u for u in case.uids_of(removal.key) if case.written[u].offset == at][-1:]
        winner = case.names(beats) or f"the record at {at}"
        why = f"({removal.reason})" if at is None else f"beaten by {winner}"
        gone.append(f"{case.name(removal.uid)} {why}")
    more = len(event.removals) - len(gone)
    others = [f"{more} more"] if gone and more else [f"{more} records"] if more else []
    text = f"{event.replica} cleaned {span(event)}, {case.clock(event.replica, event.now_ms)}, "
    text += f"high watermark {event.high_watermark}: removed "
    text += " and ".join(["; ".join(gone)] * bool(gone) + others) or "nothing"
    kept, dropped = (listed([*map(str, offsets)]) for offsets in (event.emptied, event.dropped))
    text += f", kept the batches at {kept} without records" if kept else ""
    text += f", dropped the empty batches at {dropped}" if dropped else ""
    horizons = ", ".join(f"{base}: {at:,} ms" for base, at in event.horizons)
    text += f"; gave delete horizons {horizons}" if horizons else ""
    return f"{text}; log end {event.log_end_offset}"
