"""The signature of a violation: which invariant broke, of which family, and by what mechanism.

Two violations with one signature are one bug as far as events can tell, in a run of a thousand
events and in its shortest witness alike. The mechanism is what the deciding facts are instances of
(`sim.diagnose.explain.mechanisms`); where none is of a known kind, the class of the event that
showed it.
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


FOUND_AT: Final = "found at"
"""What a mechanism begins with that is only the class of an event, in words."""


class Signature(NamedTuple):
    """Why a violation happened, as far as it is comparable between runs.

    Attributes:
        invariant: Which one broke.
        family: What kind of thing went wrong (`sim.check.families`): that of the violation, but
            where a value came after the delete that it outlives, a late write.
        mechanism: What decided, most telling first; never empty.
        marker: Of a transaction that ends otherwise: what its missing marker says, `COMMIT` or
            `ABORT`; empty = no marker is missing. No text has it.
    """

    invariant: str
    family: str
    mechanism: tuple[str, ...]
    marker: str = ""

    @property
    def cause(self) -> str:
        """Family and mechanism: what violations of different invariants by one bug share."""
        return f"{self.family}: {'; '.join(self.mechanism)}"

    def __str__(self) -> str:
        """Stable text, such as `no-offset-reuse: log end fell by cleaning`."""
        return f"{self.invariant}: {'; '.join(self.mechanism)}"


def signature_of(
    events: Recorded, violation: Violation, rules: Rules, past: Past | None = None
) -> Signature:
    """The signature of a violation.

    Args:
        events: (when, event) of the run or story, in order; later ones than the violation do not
            count.
        violation: What was found.
        rules: What the run is judged by.
        past: The run, where it is known already.
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
    """Why a run broke each invariant: of the first violation of each and of each of its families.

    Args:
        events: (when, event) of the run, in order.
        violations: In order of detection.
        rules: What the run is judged by.
        past: The run, where it is known already.

    Returns:
        Place among the violations -> its signature.
    """
    firsts: dict[tuple[str, str], int] = {}
    for place, found in enumerate(violations):
        firsts.setdefault((found.invariant, found.family), place)
    past = past or Past(events, rules)
    return {
        place: signature_of(events, violations[place], rules, past) for place in firsts.values()
    }
