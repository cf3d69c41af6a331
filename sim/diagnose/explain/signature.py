"""The signature of a violation: the invariant, the family of failures, and the mechanism.

Two violations with the same signature are one bug as far as events show, in a run of a thousand
events and in its smallest example alike. The mechanisms are those that the deciding facts name
(`sim.diagnose.explain.mechanisms`); where they name none, the class of the event that showed it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from sim.check import Violation
from sim.check.families import DELETED_KEY_RETURNS, LATE_WRITE, TRANSACTIONS
from sim.check.violation import RecordSeen
from sim.diagnose.explain import mechanisms as of
from sim.diagnose.explain.case import Case, judged_at, mechanisms_of
from sim.diagnose.explain.past import Past, Recorded
from sim.diagnose.explain.questions import deciding
from sim.protocol import events as on
from sim.protocol.rules import Rules

AT_REST = (on.Quiesced, on.RoundsEnded, on.TombstoneProbed)
"""Events at which the state of the cluster at rest is judged."""


def so_since(events: Recorded, violation: Violation, rules: Rules, past: Past | None = None) -> int:
    """The time from which a violation held: ms, or a step.

    A violation that is judged at rest held since the last event that changed what it is about: the
    commits of the offsets that it names, and the changes of these offsets on the replica. All other
    violations are judged when they happen.

    Args:
        events: (time, event) of the run or story, in order.
        violation: The violation.
        rules: Rules that the run is judged by.
        past: The past of the run, if it was folded before.
    """
    if violation.began is not None:
        return violation.began
    if not isinstance(events[judged_at(events, violation)][1], AT_REST):
        return violation.at
    case = Case(past or Past(events, rules), violation)
    return events[max(_changes(case), default=case.judged)][0]


def all_since(events: Recorded, violations: Iterable[Violation], rules: Rules) -> list[int]:
    """The times of `so_since` for several violations of a run."""
    past = Past(events, rules)
    return [so_since(events, violation, rules, past) for violation in violations]


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


FOUND_AT: Final = "found at"
"""Beginning of a mechanism that is only the class of an event, in words."""


class Signature(NamedTuple):
    """The cause of a violation, comparable between runs.

    Attributes:
        invariant: Name of the violated invariant.
        family: Family of the violation (`sim.check.families`); a late write where a value came
            after the delete that it outlives.
        mechanism: Names of mechanisms, the most important first; never empty.
        marker: Kind of the missing marker of a transaction, `COMMIT` or `ABORT`; empty if none is
            missing. It is part of no text.
    """

    invariant: str
    family: str
    mechanism: tuple[str, ...]
    marker: str = ""

    @property
    def cause(self) -> str:
        """Family and mechanisms: the part that violations of different invariants may share."""
        return f"{self.family}: {'; '.join(self.mechanism)}"

    def __str__(self) -> str:
        """The stable text, such as `no-offset-reuse: log end fell by cleaning`."""
        return f"{self.invariant}: {'; '.join(self.mechanism)}"


def signature_of(
    events: Recorded, violation: Violation, rules: Rules, past: Past | None = None
) -> Signature:
    """The signature of a violation.

    Args:
        events: (time, event) of the run or story, in order; those after the violation are ignored.
        violation: The violation.
        rules: Rules that the run is judged by.
        past: The past of the run, if it was folded before.
    """
    case = Case(past or Past(events, rules), violation)
    mechanism = mechanisms_of(deciding(case))
    if not mechanism:
        words = re.sub(r"(?<!^)(?=[A-Z])", " ", type(case.shown_by).__name__).lower()
        mechanism = (f"{FOUND_AT} {words}",)
    family = violation.family
    if family == DELETED_KEY_RETURNS and mechanism[0] in of.LATE:
        family = LATE_WRITE
    marker = case.marker if family == TRANSACTIONS else ""
    return Signature(violation.invariant, family, mechanism, marker)


def first_signatures(
    events: Recorded,
    violations: Sequence[Violation],
    rules: Rules,
    past: Past | None = None,
) -> dict[int, Signature]:
    """The signatures of the first violation of each invariant and family.

    Args:
        events: (time, event) of the run, in order.
        violations: Violations in order of detection.
        rules: Rules that the run is judged by.
        past: The past of the run, if it was folded before.

    Returns:
        Index of a violation -> its signature.
    """
    firsts: dict[tuple[str, str], int] = {}
    for place, found in enumerate(violations):
        firsts.setdefault((found.invariant, found.family), place)
    past = past or Past(events, rules)
    return {
        place: signature_of(events, violations[place], rules, past) for place in firsts.values()
    }
