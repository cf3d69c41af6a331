"""The signature of a violation: the invariant, the family of failures, and the mechanism.

Two violations with the same signature are one bug as far as events show, in a run of a thousand
events and in its smallest example alike. The mechanisms are those that the deciding facts name
(`sim.diagnose.explain.mechanisms`); where they name none, the class of the event that showed it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from sim.check import Violation
from sim.check.families import DELETED_KEY_RETURNS, LATE_WRITE, TRANSACTIONS
from sim.check.violation import RecordSeen
from sim.diagnose.explain import mechanisms as of
from sim.diagnose.explain.case import Case, judged_at, mechanisms_of
from sim.diagnose.explain.past import Past
from sim.diagnose.explain.questions import deciding
from sim.protocol import events as on

AT_REST = (on.Quiesced, on.RoundsEnded, on.TombstoneProbed)
"""Events at which the state of the cluster at rest is judged."""


def so_since(past: Past, violation: Violation) -> int:
    """The time from which a violation held: ms, or a step.

    A violation that is judged at rest held since the last event that changed it: a commit of an
    offset that it names, or a change of such an offset on its replica. All other violations are
    judged when they happen.

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
    ends = names if leader is None else [*names, leader[0]]  # it is about where logs end
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


FOUND_AT: Final = "found at"
"""Beginning of a mechanism that is only the class of an event, in words."""


class Signature(NamedTuple):
    """The cause of a violation, comparable between runs.

    Attributes:
        invariant: Name of the violated invariant.
        family: Family of the violation (`sim.check.families`). A deleted key that returned counts
            as a late write if its value was written after the delete.
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


def signature_of(past: Past, violation: Violation) -> Signature:
    """The signature of a violation.

    Args:
        past: The run or story; events after the violation are ignored.
        violation: The violation.
    """
    case = Case(past, violation)
    mechanism = mechanisms_of(deciding(case))
    if not mechanism:
        words = re.sub(r"(?<!^)(?=[A-Z])", " ", type(case.shown_by).__name__).lower()
        mechanism = (f"{FOUND_AT} {words}",)
    family = violation.family
    if family == DELETED_KEY_RETURNS and mechanism[0] in of.LATE:
        family = LATE_WRITE
    marker = case.marker if family == TRANSACTIONS else ""
    return Signature(violation.invariant, family, mechanism, marker)


def first_signatures(past: Past, violations: Sequence[Violation]) -> dict[int, Signature]:
    """The signatures of the first violation of each invariant and family, by its index.

    Args:
        past: The run.
        violations: Violations in order of detection.
    """
    firsts: dict[tuple[str, str], int] = {}
    for place, found in enumerate(violations):
        firsts.setdefault((found.invariant, found.family), place)
    return {place: signature_of(past, violations[place]) for place in firsts.values()}
