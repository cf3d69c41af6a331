"""Violations: which invariant is broken, where, since when, by which values; which of them count.

A violation holds values, not prose: whoever wants its sentence has it made from them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
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
            `sim.diagnose.explain.signature`.
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


class Judged(NamedTuple):
    """Violations, each part in order of detection.

    Attributes:
        violations: Of what is judged.
        not_judged: Of the rest, for a note.
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
    """Part what was seen.

    Args:
        seen: In order of detection.
        expected: What is to be violated, which is judged whatever `checked` says.
        checked: What the scenario says is judged; None = it does not say.
        by_default: What is judged where the scenario does not say.
    """
    names = {*expected, *(by_default if checked is None else checked)}
    parts: dict[bool, list[Violation]] = {True: [], False: []}
    for violation in seen:
        parts[violation.invariant in names].append(violation)
    return Judged(tuple(parts[True]), tuple(parts[False]))


def not_as_expected(
    violated: Collection[str], expected: Collection[str], *, ended: bool
) -> list[str]:
    """Where what is violated is not what is expected, a line each.

    What a run that did not end has not shown, it may have been cut off from: that is no difference.
    """
    out = [unexpected(name) for name in sorted({*violated} - {*expected})]
    missing = sorted({*expected} - {*violated}) if ended else []
    return out + [f"{name} was not violated, but expected" for name in missing]


def unexpected(invariant: str) -> str:
    """That an invariant is violated that should not be."""
    return f"{invariant} was violated, not expected"


def not_judged_note(not_judged: Iterable[Violation]) -> list[str]:
    """The line that names what was seen and not judged; none where nothing was."""
    names = dict.fromkeys(violation.invariant for violation in not_judged)
    return [f"not judged here: {', '.join(names)}; `checked` would"] if names else []
