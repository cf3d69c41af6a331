"""Explains a violation: what decided, what is committed beside what is there, what led to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sim.check import Violation
from sim.check.replica_view import EMPTY, ReplicaView
from sim.diagnose.explain.case import Case, Fact, Facts, listed
from sim.diagnose.explain.causality import causal_cone
from sim.diagnose.explain.chain import chain
from sim.diagnose.explain.past import Recorded
from sim.diagnose.explain.questions import deciding
from sim.diagnose.explain.since import so_since
from sim.files.foreign.lines import LONGEST, one_line
from sim.protocol.rules import Rules

RECORDS_NAMED = 4
"""Of the records of a key that a replica holds, so many of the last are named."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an invariant was broken.

    Attributes:
        violation: What is explained.
        facts: What decided, the first of all first; the others followed from it.
        truth: What was committed at the offset, or for the key; empty where it is about neither.
        now: What the replicas had instead when the violation was found, a line each.
        rules: Those by which the run was judged that are not the default; empty = none.
        chain: What led to it, newest first, each line with its time before it.
        cone: Positions of the events behind `chain`, ascending.
        judged: Position of the event that showed the violation.
        since: Since when it was so: ms, or a step; what is judged at rest was there before.
    """

    violation: Violation
    facts: tuple[Fact, ...]
    truth: tuple[str, ...]
    now: tuple[str, ...]
    rules: str
    chain: tuple[str, ...]
    cone: tuple[int, ...]
    judged: int
    since: int

    @property
    def decided_by(self) -> str:
        """The deciding fact in one sentence."""
        return self.facts[0].text

    @property
    def lines(self) -> list[str]:
        """All of it as text: what decided, the truth, what there is, what led to it."""
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
        """The same as data."""
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
    events: Recorded,
    violation: Violation,
    *,
    rules: Rules | None = None,
    skews: Mapping[str, int] | None = None,
) -> Explanation:
    """Why an invariant was broken.

    Args:
        events: (when, event) as a run or a story recorded them.
        violation: What to explain.
        rules: By which the run was judged; None = the defaults.
        skews: How far each replica's clock is ahead of simulated time in ms; of a run in simulated
            time. None = the times of events are steps of a story.
    """
    case = Case(events, violation, rules, skews)
    cone = causal_cone(case, violation)
    return Explanation(
        violation,
        tuple(fact._replace(text=_shown(fact.text)) for fact in _once(deciding(case))),
        tuple(map(_shown, _truth(case))),
        tuple(map(_shown, _now(case))),
        ", ".join(f"{k}={v}" for k, v in case.rules.differing_from(Rules()).items()),
        tuple(map(_shown, chain(case, cone))),
        tuple(cone),
        case.judged,
        so_since(events, violation, case.rules, past_at=lambda _: case),
    )


def _once(facts: Facts) -> list[Fact]:
    """Each fact where it was told first; another question may have come upon it again."""
    told: dict[tuple[str, int | None], Fact] = {}
    for fact in facts:
        told.setdefault((fact.text, fact.position), fact)
    return list(told.values())


def _shown(line: str) -> str:
    """A line that names keys and values, which may be anything."""
    return one_line(line, longest=LONGEST)


def _truth(case: Case) -> list[str]:
    """What was committed at the offset and for the key."""
    offset, key, found = case.violation.offset, case.violation.key, []
    if offset is not None:
        found.append(_committed_at(case, offset))
    if key is not None:
        winner = case.history.winners.get(key)
        what = "nothing" if winner is None else case.name(winner)
        deleted = ", a tombstone: the key is deleted" if case.tombstone(winner or 0) else ""
        found.append(f"{key} ends on {what}{deleted}")
    return found


def _committed_at(case: Case, offset: int) -> str:
    uid, commit = case.committed_at(offset), case.first_commit(offset)
    known = case.written(uid)
    if known is None or commit is None:
        return f"nothing at offset {offset}"
    by = f"{case.event(commit).replica} {case.when(commit)}"
    return f"{case.name(uid)} of epoch {known.batch.epoch} at offset {offset}, by {by}"


def _now(case: Case) -> list[str]:
    """What every replica has at the offset or of the key, and where its log begins and ends."""
    views = sorted(case.history.replicas.values(), key=lambda v: v.name != case.violation.replica)
    return [f"{view.name} has {_held(case, view)}{_bounds(view)}" for view in views]


def _held(case: Case, view: ReplicaView) -> str:
    offset, key, found = case.violation.offset, case.violation.key, []
    if offset is not None:
        found.append(_slot(case, view, offset))
    if key is not None:
        at = {uid: case.history.written[uid].offset for uid in case.uids_of(key)}
        held = [uid for uid in at if at[uid] != offset and view.uid_at(at[uid]) == uid]
        none = f"no{'' if offset is None else ' other'} record of {key}"
        found.append(case.names(held[-RECORDS_NAMED:]) or none)
    return listed(found) + "; " if found else ""


def _slot(case: Case, view: ReplicaView, offset: int) -> str:
    slot = view.uid_at(offset)
    if slot > 0:
        return f"{case.name(slot)} of epoch {case.history.written[slot].batch.epoch}"
    if offset >= view.log_end_offset:
        return f"no offset {offset} yet"
    return f"an empty batch at {offset}" if slot == EMPTY else f"nothing at {offset}"


def _bounds(view: ReplicaView) -> str:
    down = "" if view.up else ", down"
    snapshots = f", newest snapshot {max(view.snapshots)}" if view.snapshots else ""
    return (
        f"log start {view.log_start_offset}, high watermark {view.high_watermark}, log end "
        f"{view.log_end_offset}, clean below {view.first_dirty_offset}{snapshots}{down}"
    )
