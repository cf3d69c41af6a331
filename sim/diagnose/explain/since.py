"""The time when a violation began that is judged at rest, when it was there before."""

from __future__ import annotations

from collections.abc import Iterable

from sim.check import Violation
from sim.check.violation import RecordSeen
from sim.diagnose.explain.case import Case, judged_at
from sim.diagnose.explain.past import Past, Recorded
from sim.protocol import events as on
from sim.protocol.rules import Rules

AT_REST = (on.Quiesced, on.RoundsEnded, on.TombstoneProbed)
"""Events at which what has long been so is judged."""


def so_since(events: Recorded, violation: Violation, rules: Rules, past: Past | None = None) -> int:
    """Latest time when a violation began: ms, or a step.

    Of what is judged at rest: when the last of the things it is about happened, so that from there
    on nothing about it changed. Those are the commits of the offsets that it names, and what came
    to, or went from, these offsets on the replica. All else is judged when it happens.

    Args:
        events: (when, event) of the run or story, in order.
        violation: What was found.
        rules: What the run is judged by.
        past: The run, where it is known already.
    """
    if violation.began is not None:
        return violation.began
    if not isinstance(events[judged_at(events, violation)][1], AT_REST):
        return violation.at
    case = Case(past or Past(events, rules), violation)
    return events[max(_changes(case), default=case.judged)][0]


def all_since(events: Recorded, violations: Iterable[Violation], rules: Rules) -> list[int]:
    """When each of several violations of a run began to be so, as `so_since` has it."""
    past = Past(events, rules)
    return [so_since(events, violation, rules, past) for violation in violations]


def _changes(case: Case) -> list[int]:
    """Positions of events that changed what a violation is about."""
    replica, leader = case.violation.replica, case.leader_at()
    names = [replica] if replica else [leader[0]] if leader else []
    changed = []
    for offset in _offsets(case):
        changed += [case.first_commit(offset), *(case.slot(name, offset) for name in names)]
    known = [position for position in changed if position is not None]
    if known:
        return known
    ends = names if leader is None else [*names, leader[0]]  # it is about where logs end
    return [step.position for name in ends for step in case.steps_before(name, case.end)[:1]]


def _offsets(case: Case) -> set[int]:
    """The offsets that a violation is about: of it, its evidence, its key and its transaction."""
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
