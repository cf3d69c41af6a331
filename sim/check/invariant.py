"""The base of every invariant: it listens to events, and reports what breaks it."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, ClassVar, Final

from sim.check.facts import ReplicaView
from sim.check.history import ClusterHistory
from sim.check.violation import (
    DELETED_KEY_RETURNS,
    LOG_DIVERGENCE,
    NO_FAMILY,
    READERS,
    TRANSACTIONS,
    Evidence,
    RecordSeen,
    Value,
)
from sim.errors import PluginError, shortly
from sim.files.attribute_docs import described
from sim.protocol.events import Appended, Copied, Pushed, Removal
from sim.protocol.log.record import Batch


class Kind(StrEnum):
    """The way an invariant is judged, and the meaning of its violation."""

    SAFETY = "safety"
    """Must hold after every event."""

    AT_REST = "at rest"
    """Safety that is judged when the cluster is quiescent."""

    LIVENESS = "liveness"
    """Holds only under fairness: links healed, replicas up, cleaners running."""

    FINDING = "finding"
    """Worth knowing, no violation of the protocol's promises by itself; judged when asked for."""


Report = Callable[[str | None, int | None, str | None, str, Evidence, int | None], None]
"""Takes a violation: replica, offset, key, sentence or template, evidence, time of its beginning.

It adds the time and the event, and drops repeats."""

Writing = Appended | Copied | Pushed
"""An event that adds records to a log."""

_RECORDS: Final = {
    *("record", "other_record", "leader_record", "shared", "marker"),
    *("held", "winner", "first", "meant"),
}
"""Names of evidence that is a record; it is given by its uid, 0 where there is no record."""


class Invariant:
    """Base of all invariants: a law that the events of every run are held to.

    A class has a method `on_<event>` for each class of events that it listens to (`on_appended`
    for `sim.protocol.events.Appended`), called after `history` has taken the event in. It reports
    with `broken`, or with `violated` where it writes its own sentence; it changes nothing and
    raises nothing. There is one object per run. The docstring of the class is the law, as users
    read it; it may end with `Source: ...` and `Says: ...`, which set the attributes of these names.

    Class attributes:
        name: Name of a plugin's invariant in files and reports, in kebab-case. Those of Replog have
            the name of their class, see `sim.check.registry.name_of`.
        kind: When it is judged.
        source: The document, ticket or specification that asks for it.
        family: What kind of thing goes wrong (`sim.check.violation`).
        family_by_cause: True where the facts about the key decide on the family.
        explained_by: The question whose answer explains a violation (`sim.diagnose.explain`); empty
            for the latest removal, truncation or loss.
        in_stories: False for those that stories do not evaluate by default.
        fairness: What has to hold for a violation to count; empty if nothing has to.
        says: Default template of a violation's sentence, with names of evidence in braces.
        any_of: Classes of events that `on_any_of` takes.

    Attributes:
        history: What was written and committed so far, and what every replica holds.
        replicas: The logs of `history` by name of the replica.
        written: The appended records of `history` by uid.
        committed: The committed uids of `history` by offset.
    """

    name: ClassVar[str] = ""
    kind: ClassVar[Kind] = Kind.SAFETY
    source: ClassVar[str] = ""
    family: ClassVar[str] = NO_FAMILY
    family_by_cause: ClassVar[bool] = False
    explained_by: ClassVar[str] = ""
    in_stories: ClassVar[bool] = True
    fairness: ClassVar[str] = ""
    says: ClassVar[str] = ""
    any_of: ClassVar[tuple[type, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        """Takes `source` and `says` from the docstring, if the class does not set them."""
        super().__init_subclass__(**options)
        for name, text in described(cls)[1].items():
            if name.lower() not in vars(cls):
                setattr(cls, name.lower(), text)

    def __init__(self, history: ClusterHistory, report: Report) -> None:
        """Watches the events that `history` has taken in."""
        self.history = history
        self.replicas = self.history.replicas
        self.written = self.history.written
        self.committed = self.history.committed
        self._report = report
        self.begin()

    def begin(self) -> None:
        """Sets up what is kept between events."""

    def counters(self) -> dict[str, int]:
        """Numbers that the invariant adds to a run, by counter (`sim.check.counters`)."""
        return {}

    def describe(self, uid: int) -> RecordSeen:
        """A record as evidence."""
        return self.history.describe(uid)

    def broken(
        self,
        replica: str | None,
        offset: int | None = None,
        key: str | None = None,
        says: str = "",
        began: int | None = None,
        /,
        **evidence: Value,
    ) -> None:
        """Reports a violation with the values that decided.

        Args:
            replica: The replica concerned, if there is one.
            offset: The offset concerned, if there is one.
            key: The key concerned, if there is one.
            says: Template of the sentence, by default `self.says`; names in braces are those of
                the evidence, or the three above.
            began: Time at which the violation began (ms, or a step), where that is known.
            evidence: The values that decided, at least one. A record is given by its uid.

        Raises:
            TypeError: There is no evidence.
        """
        if not evidence:
            raise TypeError(f"{type(self).__name__} reports a violation without evidence")
        for name, value in evidence.items():
            if name in _RECORDS and isinstance(value, int):
                evidence[name] = self.describe(value)
        self._report(replica, offset, key, says or self.says, tuple(evidence.items()), began)

    def violated(
        self,
        sentence: str,
        *,
        replica: str | None = None,
        offset: int | None = None,
        key: str | None = None,
    ) -> None:
        """Reports a violation by a sentence, with the numbers in it, and where it is.

        One of the same replica, offset and key counts once in a run.

        Raises:
            PluginError: A value is of a wrong type, so that no table could hold it.
        """
        label = f"plugin {type(self).__module__}: invariant {self.name}"
        for name, value in (("sentence", sentence), ("replica", replica), ("key", key)):
            if not isinstance(value, str) and (value is not None or name == "sentence"):
                raise PluginError(f"{label}: {name} is {shortly(value)}, not a text")
        if offset is not None and type(offset) is not int:
            raise PluginError(f"{label}: offset is {shortly(offset)}, not a number")
        self._report(replica, offset, key, sentence, (), None)

    def broken_by(
        self,
        replica: str | None,
        uid: int,
        offset: int | None = None,
        says: str = "",
        /,
        **evidence: Value,
    ) -> None:
        """Reports a violation about a record, which becomes the evidence `record`.

        The key is that of the record, the offset by default the one that it was appended at.
        """
        known = self.written[uid]
        at = known.offset if offset is None else offset
        self.broken(replica, at, known.key, says, record=uid, **evidence)

    def broken_for(
        self, remover: str, gone: Removal, holder: ReplicaView, held: int, /, **evidence: Value
    ) -> None:
        """Reports that a replica removed what another log needed because of a record it holds."""
        evidence |= {"holder": holder.name, "holder_end": holder.log_end_offset, "held": held}
        self.broken(remover, gone.offset, gone.key, **evidence)

    def broken_by_two(
        self,
        view: ReplicaView,
        other: ReplicaView,
        offset: int,
        says: str = "",
        /,
        **evidence: Value,
    ) -> None:
        """Reports that two logs hold different records at an offset."""
        mine, theirs = view.slots[offset], other.slots[offset]
        evidence |= {"other": other.name, "record": mine, "other_record": theirs}
        self.broken(view.name, offset, None, says, **evidence)


class LogInvariant(Invariant):
    """Base of invariants about logs: logs, and what leaders believe of them, are as committed."""

    family = LOG_DIVERGENCE


class DeleteInvariant(Invariant):
    """Base of invariants about deletes: a deleted key stays deleted."""

    family = DELETED_KEY_RETURNS


class TransactionInvariant(Invariant):
    """Base of invariants about transactions: each ends everywhere as in the committed history."""

    family = TRANSACTIONS


class ReaderInvariant(Invariant):
    """Base of invariants about consumers: they are given what they should, and nothing else."""

    family = READERS


def batches_of(event: Writing) -> tuple[Batch, ...]:
    """The batches that an event adds to a log."""
    return event.batches if isinstance(event, Copied) else (event.batch,)
