"""Violations: the broken invariant, place, time and values; and which of them count.

A violation holds values, not prose; its sentence is made from them.

Each is of a family: what goes wrong for the users of a log. An invariant names it; some say that a
replica has the wrong value for a key, which has several causes: there the facts of the history
decide (`sim.check.checker`).

A deleted key that is back is one of two things, and offsets tell them apart, since they are the
order of arrival. Let T be the committed tombstone that wins its key, and V the value that survives:

* V is below T: *a deleted key returns*. V was there when the delete came. A log kept it and never
  had T, or had it too late: a replica was away, or a pass took T and left V.
* V is above T: *a late write outlives its delete*. V came after the delete, and loses only by its
  version, so this does not occur under the offset strategy. A log that holds V had T and removed it
  when its retention was over, or copied a log that had. So no replica lagged, one replica alone
  does it, and no rule that waits for replicas helps: the record that beats V is gone (KIP-280 with
  KIP-534).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final, NamedTuple

from sim.files.foreign import LONGEST, one_line

LOG_DIVERGENCE: Final = "log divergence"
DELETED_KEY_RETURNS: Final = "a deleted key returns"
LATE_WRITE: Final = "a late write outlives its delete"
TRANSACTIONS: Final = "transactions"
READERS: Final = "readers"
NO_FAMILY: Final = "in no family"

FAMILIES: Final[dict[str, str]] = {
    LOG_DIVERGENCE: "a log, or what its leader believes of it, is not what was committed",
    DELETED_KEY_RETURNS: "a value outlives a later delete, or a delete goes that another log needs",
    LATE_WRITE: "a value that loses to a delete by its version came after it, and stays",
    TRANSACTIONS: "a marker or its data is lost: a transaction ends otherwise, or never",
    READERS: "a consumer misses, or is given, what it should not",
    NO_FAMILY: "bounds of cleaning, snapshots, horizons, sequence numbers: each by itself",
}
"""Every family by name, with its violations, in the order of every table."""


class RecordSeen(NamedTuple):
    """A record as evidence of a violation; its text identifies it.

    Attributes:
        uid: Its identity; 0 where there is no record.
        offset: Its offset; -1 where there is no record.
        key: Its key, if it has one.
        value: Its value; None for null.
        tombstone: True for a tombstone under the run's mark.
        marker: Kind of a control record, such as `COMMIT`; None for data.
        producer_id: Producer of its batch; -1 without one.
        label: The name that a story gave it; None without one.
    """

    uid: int = 0
    offset: int = -1
    key: str | None = None
    value: str | None = None
    tombstone: bool = False
    marker: str | None = None
    producer_id: int = -1
    label: str | None = None

    def __str__(self) -> str:
        """Label, kind of marker, or key and value, with the offset."""
        if not self.uid:
            return "nothing"
        if self.label is not None:
            return f"{self.label}@{self.offset}"
        if self.marker is not None:
            return f"{self.marker} marker of producer {self.producer_id} (offset {self.offset})"
        if self.tombstone:
            return f"tombstone of {self.key} (offset {self.offset})"
        return f"{self.key}={self.value} (offset {self.offset})"


Value = int | str | None | RecordSeen | tuple[int, ...]
"""A value of evidence: a number, a name, a record, or offsets."""

Evidence = tuple[tuple[str, Value], ...]
"""The values by which an invariant is broken, by name."""


class Violation(NamedTuple):
    """A violation of an invariant at one place.

    Attributes:
        invariant: Its name.
        at: Time at which it was judged: ms in a timed run, the number of the step in a story.
        replica: The replica concerned, if there is one.
        offset: The offset concerned, if there is one.
        key: The key concerned, if there is one.
        says: Template of the sentence, with names of the evidence in braces; without evidence the
            sentence itself.
        family: What kind of thing goes wrong, one of `FAMILIES`.
        evidence: The values that decided, by name.
        position: Place of the event that showed it among all recorded ones; -1 if unknown.
        began: Time at which it began, where the invariant saw that; None otherwise, see
            `sim.diagnose.explain`.
    """

    invariant: str
    at: int
    replica: str | None
    offset: int | None
    key: str | None
    says: str
    family: str = NO_FAMILY
    evidence: Evidence = ()
    position: int = -1
    began: int | None = None

    @property
    def sentence(self) -> str:
        """The sentence of the violation, in one line for any keys and values."""
        if not self.evidence:
            return one_line(self.says, longest=LONGEST)
        where = {"replica": self.replica, "offset": self.offset, "key": self.key}
        values = {name: _shown(value) for name, value in self.evidence}
        return one_line(self.says.format_map(where | values), longest=LONGEST)

    def value(self, name: str) -> Any:
        """A value of the evidence by its name; None without one."""
        return dict(self.evidence).get(name)

    def as_row(self, *, when: str) -> dict[str, Any]:
        """A flat mapping for JSON; `when` is the key of its time: `at_ms` or `step`."""
        return {
            "invariant": self.invariant,
            when: self.at,
            "replica": self.replica,
            "offset": self.offset,
            "key": self.key,
            "sentence": self.sentence,
        }


def _shown(value: Value) -> object:
    """A value as part of a sentence: offsets are joined, a record becomes words."""
    if isinstance(value, tuple) and not isinstance(value, RecordSeen):
        return ", ".join(map(str, value))
    return value


class Judged(NamedTuple):
    """Violations that count and those that do not, each in order of detection.

    Attributes:
        violations: Violations of the invariants that are judged.
        not_judged: Violations of other invariants, for a note.
    """

    violations: tuple[Violation, ...]
    not_judged: tuple[Violation, ...]


def judged(
    seen: Iterable[Violation],
    *,
    expected: Collection[str],
    checked: Collection[str] | None,
    by_default: Collection[str],
) -> Judged:
    """Separates violations that count from those that do not.

    Args:
        seen: All violations, in order of detection.
        expected: Invariants that should be violated; they are always judged.
        checked: Invariants that the scenario names to be judged; None if it names none.
        by_default: Invariants that are judged where the scenario names none.
    """
    names = {*expected, *(by_default if checked is None else checked)}
    seen = tuple(seen)
    return Judged(
        tuple([one for one in seen if one.invariant in names]),
        tuple([one for one in seen if one.invariant not in names]),
    )


def not_as_expected(
    violated: Collection[str], expected: Collection[str], *, ended: bool
) -> list[str]:
    """The differences between violated and expected invariants, a line each.

    `ended` is False for a run that was cut off: it may lack expected violations.
    """
    out = [unexpected(name) for name in sorted({*violated} - {*expected})]
    missing = sorted({*expected} - {*violated}) if ended else []
    return out + [f"{name} was not violated, but expected" for name in missing]


def unexpected(invariant: str) -> str:
    """The line about an invariant that is violated and should not be."""
    return f"{invariant} was violated, not expected"


def not_judged_note(not_judged: Iterable[Violation]) -> list[str]:
    """A line that names the violated invariants that are not judged; none without any."""
    names = dict.fromkeys(violation.invariant for violation in not_judged)
    return [f"not judged here: {', '.join(names)}; `checked` would"] if names else []
