"""The signature of a violation: which law broke, of which family, and by what mechanism.

Two violations with one signature are one bug as far as events can tell, in a run of a thousand
events and in its shortest witness alike. The mechanism is a few facts of `sim.explain.mechanisms`,
read from the events that led there and from nothing that decided for a replica. What no detector
knows is named by the event at which it was found.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from sim.check import Violation
from sim.check.families import DELETED_KEY_RETURNS, LATE_WRITE, TRANSACTIONS
from sim.explain import mechanisms as of
from sim.explain.judged import judged_at
from sim.explain.signature_deletes import Deletes
from sim.explain.signature_generic import found_at
from sim.explain.signature_losses import Losses
from sim.explain.signature_past import Past
from sim.explain.signature_readers import Readers
from sim.rules import Rules
from sim.trace import Event

Facts = tuple[str, ...]


class Signature(NamedTuple):
    """Why a violation happened, as far as it is comparable between runs.

    Attributes:
        invariant: Which law broke.
        family: What kind of thing went wrong (`sim.check.families`): that of the violation, but
            where a value came after the delete that it outlives, a late write.
        mechanism: The facts that decided, most telling first; never empty.
    """

    invariant: str
    family: str
    mechanism: Facts

    @property
    def cause(self) -> str:
        """Family and mechanism: what violations of different laws by one bug share."""
        return f"{self.family}: {'; '.join(self.mechanism)}"

    def __str__(self) -> str:
        """Stable text, such as `no-offset-reuse: log end fell by cleaning`."""
        return f"{self.invariant}: {'; '.join(self.mechanism)}"


def signature_of(
    events: Sequence[tuple[int, Event]], violation: Violation, rules: Rules
) -> Signature:
    """The signature of a violation.

    Args:
        events: (when, event) of the run or story, in order; later ones than the violation do not
            count.
        violation: What was found.
        rules: What the run is judged by.
    """
    led_there = events[: judged_at(events, violation) + 1]
    facts = _Detectors(Past(led_there), violation, rules).facts()
    mechanism = tuple(dict.fromkeys(facts)) or found_at(led_there)
    late = violation.family == DELETED_KEY_RETURNS and mechanism[0] in of.LATE
    return Signature(violation.invariant, LATE_WRITE if late else violation.family, mechanism)


def first_causes(
    events: Sequence[tuple[int, Event]], violations: Sequence[Violation], rules: Rules
) -> dict[int, str]:
    """Why a run broke each law: for the first violation of each invariant and family its cause.

    Args:
        events: (when, event) of the run, in order.
        violations: In order of detection.
        rules: What the run is judged by.

    Returns:
        Place among the violations -> `Signature.cause`.
    """
    firsts: dict[tuple[str, str], int] = {}
    for place, found in enumerate(violations):
        firsts.setdefault((found.invariant, found.family), place)
    return {
        place: signature_of(events, violations[place], rules).cause for place in firsts.values()
    }


class _Detectors:
    """Chooses whom to ask by the law that broke."""

    def __init__(self, past: Past, violation: Violation, rules: Rules) -> None:
        self.past = past
        self.violation = violation
        self.losses = Losses(past, rules)
        self.deletes = Deletes(past, self.losses)
        self.readers = Readers(past, self.losses, self.deletes)

    def facts(self) -> Facts:
        """The facts that decided; empty = no detector knows."""
        detector = _BY_LAW.get(self.violation.invariant)
        return () if detector is None else detector(self)

    def missing(self) -> Facts:
        """A committed record is missing at a replica."""
        replica, offset = self.violation.replica, self.violation.offset
        if replica is None or offset is None:
            return ()
        contested = self.losses.why_given_twice(offset)
        if contested:
            return contested
        uid = self.past.committed_uid(offset)
        facts = self.losses.why_lacking(replica, offset, uid, self.past.end)
        counted = self.losses.why_counted(replica, offset, self.past.end, facts)
        return (*facts, *counted)

    def contested(self) -> Facts:
        """An offset was given to two records."""
        offset = self.violation.offset
        return () if offset is None else self.losses.why_contested(offset)

    def cut(self) -> Facts:
        """A replica cut too much."""
        replica, offset = self.violation.replica, self.violation.offset
        if replica is None or offset is None:
            return ()
        return self.losses.why_cut(replica, offset, self.past.end)

    def state(self) -> Facts:
        """A replica ends with another value for a key."""
        replica, key = self.violation.replica, self.violation.key
        if replica is None or key is None:
            return ()
        family = self.violation.family
        if family in (DELETED_KEY_RETURNS, LATE_WRITE):
            # That a replica shows a deleted key for a while is found when it no longer does.
            transient = self.violation.invariant == "no-transient-resurrection"
            shown = bisect_left(self.past.events, self.violation.at, key=itemgetter(0))
            until = shown if transient else self.past.end
            return self.deletes.why_returned(replica, self.violation.offset, key, until)
        if family == TRANSACTIONS:
            return self.deletes.why_verdict(replica, None, key)
        return self.losses.why_other_state(replica, key)

    def removed(self) -> Facts:
        """A tombstone or a marker went too early."""
        replica, offset = self.violation.replica, self.violation.offset
        if replica is None or offset is None:
            return ()
        return self.deletes.why_removed_early(replica, offset)

    def verdict(self) -> Facts:
        """A transaction ends otherwise on a replica."""
        replica, offset = self.violation.replica, self.violation.offset
        return () if replica is None else self.deletes.why_verdict(replica, offset, None)

    def elected_twice(self) -> Facts:
        """Two replicas lead one epoch."""
        return self.losses.why_two_leaders()

    def stuck(self) -> Facts:
        """A follower does not catch up."""
        replica, offset = self.violation.replica, self.violation.offset
        if replica is None or offset is None:
            return ()
        return self.losses.why_stuck(replica, offset)

    def end_moved(self) -> Facts:
        """A pass or a restart moved a log end."""
        return (of.END_FROM_LAST,)

    def bound(self) -> Facts:
        """A pass went above the high watermark."""
        return (of.BY_UNCOMMITTED,)


_BY_LAW: Final[dict[str, Callable[[_Detectors], Facts]]] = {
    **dict.fromkeys(
        (
            "committed-never-lost",
            "committed-replicated",
            "follower-position-sound",
            "hole-justified",
            "leader-completeness",
            "winner-retained",
        ),
        _Detectors.missing,
    ),
    **dict.fromkeys(
        (
            "log-matching",
            "no-offset-reuse",
            "offset-epoch-uniqueness",
            "record-offset-uniqueness",
            "replica-convergence",
            "slot-agreement",
            "state-machine-safety",
        ),
        _Detectors.contested,
    ),
    "no-truncation-below-hw": _Detectors.cut,
    "truncation-below-log-start": _Detectors.cut,
    "materialized-state-equivalence": _Detectors.state,
    "no-resurrection": _Detectors.state,
    "no-transient-resurrection": _Detectors.state,
    "tombstone-safety": _Detectors.removed,
    "tombstone-until-log-end": _Detectors.removed,
    "txn-marker-safety": _Detectors.removed,
    "txn-isolation": _Detectors.verdict,
    "lso-progress": _Detectors.verdict,
    "consumer-reads-committed": _Detectors.verdict,
    "election-safety": _Detectors.elected_twice,
    "leo-convergence": _Detectors.stuck,
    "leo-preservation": _Detectors.end_moved,
    "acknowledged-kept": _Detectors.missing,
    "acknowledged-committed": _Detectors.missing,
    "tombstone-eventually-removed": lambda each: each.deletes.why_stays(each.violation),
    "epoch-cache-consistency": lambda each: each.losses.why_epochs_differ(),
    "compaction-bound": _Detectors.bound,
    "consistent-read": lambda each: each.readers.why_skipped(each.violation),
    "consumer-no-skip": lambda each: each.readers.why_skipped(each.violation),
    "consumer-tombstone-visibility": lambda each: each.readers.why_unseen(each.violation),
    "consumer-ends-current": lambda each: each.readers.why_stale(each.violation),
    "reader-reaches-end": lambda each: each.readers.why_waiting(each.violation),
    "record-immutable": lambda each: each.readers.what_changed(each.violation),
    "coordinator-serves-loaded": lambda each: each.readers.why_unloaded(each.violation),
    "clean-prefix": lambda each: each.deletes.why_both(each.violation),
    "key-ends-as-meant": lambda each: each.deletes.why_not_meant(each.violation),
}
"""Who is asked about the violations of each law."""
