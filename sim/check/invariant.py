"""What every invariant is: it listens to events, and reports with `self.violated(...)`.

It never raises and never touches a replica. To which events it listens, the names of its methods
say (`sim.check.listening`).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import ClassVar, Final

from sim.check.facts import ReplicaView
from sim.check.families import (
    DELETED_KEY_RETURNS,
    LOG_DIVERGENCE,
    NO_FAMILY,
    READERS,
    TRANSACTIONS,
)
from sim.check.history import ClusterHistory
from sim.check.violation import Evidence, RecordSeen, Value
from sim.protocol.events import Appended, Copied, Pushed, Removal
from sim.protocol.log.record import Batch


class Kind(StrEnum):
    """When an invariant is judged, and what its violation means."""

    SAFETY = "safety"
    """Must hold after every event."""

    AT_REST = "at rest"
    """Safety that is judged when the cluster is quiescent."""

    LIVENESS = "liveness"
    """Holds only under fairness: links healed, replicas up, cleaners running."""

    FINDING = "finding"
    """Worth knowing, no violation of the protocol's promises by itself; judged when asked for."""


Report = Callable[[str | None, int | None, str | None, str, Evidence, int | None], None]
"""Takes a violation: replica, offset, key, what it says, evidence, and when it began.

It knows the time and the event, and drops repeats."""

Writing = Appended | Copied | Pushed
"""An event by which a log gets records."""

_RECORDS: Final = {
    *("record", "other_record", "leader_record", "shared", "marker"),
    *("held", "winner", "first", "meant"),
}
"""Evidence that is a record; handed over by its uid, 0 = there is none."""


class Invariant:
    """Base of all invariants; those of a family have the base of that family, below.

    Its name, as in files and reports, is that of the class in kebab-case.

    Class attributes:
        kind: When it is judged.
        source: Who asks for it.
        family: What kind of thing goes wrong (`sim.check.families`).
        family_by_cause: True where the facts about the key may say otherwise.
        explained_by: The question whose answer tells why it was broken (`sim.diagnose.explain`);
            empty = whatever removal, cut or loss came last.
        in_stories: False for those that the story format does not evaluate by default.
        fairness: What has to hold for a violation to count; empty = nothing.
        says: What happened, where a violation does not bring its own: with the names of its
            evidence in braces.
        any_of: Classes of events that `on_any_of` takes.

    Attributes:
        history: What happened so far; of it `replicas`, `written` and `committed`.
    """

    kind: ClassVar[Kind] = Kind.SAFETY
    source: ClassVar[str] = ""
    family: ClassVar[str] = NO_FAMILY
    family_by_cause: ClassVar[bool] = False
    explained_by: ClassVar[str] = ""
    in_stories: ClassVar[bool] = True
    fairness: ClassVar[str] = ""
    says: ClassVar[str] = ""
    any_of: ClassVar[tuple[type, ...]] = ()

    def __init__(self, history: ClusterHistory, report: Report) -> None:
        """Watch the events that `history` has taken in."""
        self.history = history
        self.replicas = self.history.replicas
        self.written = self.history.written
        self.committed = self.history.committed
        self._report = report
        self.begin()

    def begin(self) -> None:
        """Nothing has happened: make what it keeps between events."""

    def counters(self) -> dict[str, int]:
        """What it counted beside violations, by name of the counter (`sim.check.counters`)."""
        return {}

    def describe(self, uid: int) -> RecordSeen:
        """A record, for evidence."""
        return self.history.describe(uid)

    def violated(
        self,
        replica: str | None,
        offset: int | None = None,
        key: str | None = None,
        says: str = "",
        began: int | None = None,
        /,
        **evidence: Value,
    ) -> None:
        """Report a violation.

        Args:
            replica: Where, if at one replica.
            offset: The offset concerned, if one is.
            key: The key concerned, if one is.
            says: What happened, else `self.says`; names in braces are those of the evidence, or
                the three above.
            began: When it began to be so (ms, or a step), where that is known.
            evidence: The values that decided; there is at least one. A record is named by its uid.
        """
        if not evidence:
            raise TypeError(f"{type(self).__name__} reports a violation without evidence")
        for name, value in evidence.items():
            if name in _RECORDS and isinstance(value, int):
                evidence[name] = self.describe(value)
        self._report(replica, offset, key, says or self.says, tuple(evidence.items()), began)

    def violated_by(
        self,
        replica: str | None,
        uid: int,
        offset: int | None = None,
        says: str = "",
        /,
        **evidence: Value,
    ) -> None:
        """Report a violation about a record, which is evidence as `record`.

        The key is its key, the offset the one that it was given, unless another one is named.
        """
        known = self.written[uid]
        at = known.offset if offset is None else offset
        self.violated(replica, at, known.key, says, record=uid, **evidence)

    def violated_for(
        self, remover: str, gone: Removal, holder: ReplicaView, held: int, /, **evidence: Value
    ) -> None:
        """Report that a replica removed what another log still needed, for what that one holds."""
        evidence |= {"holder": holder.name, "holder_end": holder.log_end_offset, "held": held}
        self.violated(remover, gone.offset, gone.key, **evidence)

    def violated_by_two(
        self,
        view: ReplicaView,
        other: ReplicaView,
        offset: int,
        says: str = "",
        /,
        **evidence: Value,
    ) -> None:
        """Report that two logs hold different records at an offset."""
        mine, theirs = view.slots[offset], other.slots[offset]
        evidence |= {"other": other.name, "record": mine, "other_record": theirs}
        self.violated(view.name, offset, None, says, **evidence)


class LogInvariant(Invariant):
    """Base of those by which a log, or what its leader believes of it, is as committed."""

    family = LOG_DIVERGENCE


class DeleteInvariant(Invariant):
    """Base of those by which a deleted key stays deleted."""

    family = DELETED_KEY_RETURNS


class TransactionInvariant(Invariant):
    """Base of those by which a transaction ends everywhere as it does in committed history."""

    family = TRANSACTIONS


class ReaderInvariant(Invariant):
    """Base of those by which a consumer is given what it should, and nothing else."""

    family = READERS


def batches_of(event: Writing) -> tuple[Batch, ...]:
    """What a log got by an event."""
    return event.batches if isinstance(event, Copied) else (event.batch,)
