"""What is found broken: which invariant, where, since when, and by which values.

A violation holds values, not prose: whoever wants its sentence has it made from them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sim.check.families import NO_FAMILY
from sim.files.foreign.lines import LONGEST, one_line


class RecordSeen(NamedTuple):
    """A record as it was when a violation was found; as text it says which one.

    Attributes:
        uid: Its identity; 0 = there is no record.
        offset: Its offset.
        key: Its key, if it has one.
        value: Its value; None = null.
        tombstone: Whether it is one, under the run's mark.
        marker: What a control record says, such as `COMMIT`; None = it is data.
        producer_id: Whose control record it is.
        label: The name that a story gave it; None = it has none.
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
        """Label or key and value, with the offset."""
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
"""What evidence is made of: numbers, names, records, offsets."""

Evidence = tuple[tuple[str, Value], ...]
"""The values by which an invariant is broken, by name."""


class Violation(NamedTuple):
    """One broken invariant.

    Attributes:
        invariant: Its name.
        at: When it was judged: ms in the timed world, the number of the step in a story.
        replica: Where, if at one replica.
        offset: The offset concerned, if one is.
        key: The key concerned, if one is.
        says: What happened, with the names of the evidence in braces; without evidence as it is.
        family: What kind of thing goes wrong, see `sim.check.families`.
        evidence: The values that decided, by name.
        position: Of the event that showed it, among all that were recorded; -1 = not known.
        began: When it began to be so, where the invariant saw that; None = see
            `sim.diagnose.explain.since`.
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
        """What happened, with the numbers in it, in one line whatever keys and values are."""
        if not self.evidence:
            return one_line(self.says, longest=LONGEST)
        where = {"replica": self.replica, "offset": self.offset, "key": self.key}
        values = {name: _shown(value) for name, value in self.evidence}
        return one_line(self.says.format_map(where | values), longest=LONGEST)

    def value(self, name: str) -> Any:
        """One value of the evidence; None = there is none of that name."""
        return dict(self.evidence).get(name)

    def as_row(self, *, when: str) -> dict[str, Any]:
        """A flat mapping for JSON; `when` names its time: `at_ms` or `step`."""
        return {
            "invariant": self.invariant,
            when: self.at,
            "replica": self.replica,
            "offset": self.offset,
            "key": self.key,
            "sentence": self.sentence,
        }


def _shown(value: Value) -> object:
    """A value as sentences have it: offsets in a row, a record in words."""
    if isinstance(value, tuple) and not isinstance(value, RecordSeen):
        return ", ".join(map(str, value))
    return value
