"""The scene of a picture: a run at the event that showed a violation, and the offsets to show."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from sim.check import Violation
from sim.check.violation import RecordSeen
from sim.diagnose.draw.cells import Cell, Cells
from sim.diagnose.draw.frames import Frame, Lane, Logs
from sim.diagnose.explain import ExplanationText, explanation
from sim.diagnose.explain.case import judged_at
from sim.diagnose.explain.past import Recorded
from sim.protocol.events.sentences import About
from sim.simulate.run import Run

_NAMED = 3
"""How many violated invariants a verdict names."""
_NEIGHBOURS = 40
"""How many offsets to the left and right of the subject may be shown."""
_OF_EACH = 2
"""How many columns are wanted of rivals and of records of the key; twice as many deciding ones."""


@dataclass(frozen=True)
class DrawnCase:
    """A run and the violation to draw.

    Attributes:
        run: Run that kept its events.
        violation: Violation to point at, of those of the run; None for the end of the run, of a
            timed one before it settled.
        name: Difference from the case beside it, such as `fix=none`.
        missed: Lines about unmet expectations, which a page begins with.
        whole: True for the events of settling, too, without a violation.
    """

    run: Run
    violation: Violation | None = None
    name: str = ""
    missed: Sequence[str] = ()
    whole: bool = False

    @cached_property
    def events(self) -> Recorded:
        """The (time, event) to draw, in order."""
        ends = self.violation is None and not self.whole
        return self.run.proper if ends else self.run.events

    @cached_property
    def logs(self) -> Logs:
        """The logs after each event; all pictures and explanations of the case share this fold."""
        return Logs(self.events, self.run.rules)

    @property
    def verdict(self) -> str:
        """The verdict on the run, in a sentence."""
        names = self.run.violated
        if not names:
            return "Nothing is violated."
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        return f"Violated: {', '.join(names[:_NAMED])}{more}."

    @cached_property
    def _explanations(self) -> dict[Violation, ExplanationText]:
        return {}

    def explained(self, violation: Violation) -> ExplanationText:
        """The explanation of a violation; computed once."""
        known = self._explanations
        if violation not in known:
            known[violation] = explanation(self.logs, violation, skews=self.run.skews)
        return known[violation]

    @property
    def decided_by(self) -> str:
        """The deciding fact of the violation, in a sentence; empty without a violation."""
        fact = "" if self.violation is None else self.explained(self.violation).decided_by
        return f"Decided by: {fact}." if fact else ""


def position_of(events: Recorded, violation: Violation | None) -> int:
    """The position of the event that showed a violation; of the last event without one."""
    return len(events) - 1 if violation is None else judged_at(events, violation)


def has_a_place(violation: Violation | None) -> bool:
    """Checks that a violation is about an offset or a key, so that a picture can point at it."""
    return violation is not None and (violation.offset, violation.key) != (None, None)


class Room(NamedTuple):
    """The space for the columns of a picture, in pixels or letters.

    Attributes:
        width: Function from an offset to the wanted width of its column.
        whole: Width for all columns; one is shown in any case.
        border: Space between two columns.
        gap: Additional space where columns are left out.
    """

    width: Callable[[int], float]
    whole: float
    border: float
    gap: float

    def fitting(self, wanted: Sequence[int], must: int) -> dict[int, float]:
        """Offset -> width: the first `must` offsets, narrowed if need be, then as many as fit."""
        narrow = max(self.whole // must - self.border - self.gap, 1)
        found: dict[int, float] = {}
        for offset in dict.fromkeys(wanted):
            width = self.width(offset)
            if len(found) < must:
                found[offset] = min(width, narrow)
            elif self._taken(found | {offset: width}) > self.whole:
                break
            else:
                found[offset] = width
        return dict(sorted(found.items()))

    def _taken(self, columns: Mapping[int, float]) -> float:
        gaps = sum(after - before > 1 for before, after in pairwise(sorted([-1, *columns])))
        return sum(columns.values()) + len(columns) * self.border + gaps * self.gap


class Scene:
    """The view of a case at the event that showed its violation, or at its end.

    Attributes:
        case: Case that is drawn.
        violation: Violation that selects the subject; None without one.
        position: Position of the last event that counts.
        cells: Maker of the cells.
    """

    def __init__(
        self, case: DrawnCase, like: Violation | None = None, *, position: int | None = None
    ) -> None:
        """Selects the view.

        Args:
            case: Case to draw.
            like: Violation of another case, which selects the subject if this one has none.
            position: Position of the event to stop at; None for the one that showed the violation.
        """
        self.case = case
        self.violation = case.violation
        if case.violation is None and like is not None:
            self.violation = like._replace(position=-1)
        self.position = position_of(case.events, self.violation) if position is None else position
        self.cells = Cells(case.logs.folded, case.run.rules.cleaner.strategy, case.run.labels)
        self._key_of = case.logs.folded.key_of

    @cached_property
    def frame(self) -> Frame:
        """All replicas after the event."""
        return self.case.logs.frame(self.position)

    @cached_property
    def explanation(self) -> ExplanationText | None:
        """The explanation of the violation; None without one."""
        return None if self.case.violation is None else self.case.explained(self.case.violation)

    @property
    def shown(self) -> Sequence[int]:
        """The positions of events to show, ascending: the causes of the violation; else all."""
        if self.explanation is None:
            return range(len(self.case.events))
        return sorted({*self.explanation.cone, self.position})

    def column(self, offset: int, frame: Frame) -> list[Cell]:
        """The cells of an offset: the committed history, then each replica."""
        truth = frame.committed_at(offset)
        return [self.cells.of(spot, truth) for spot in (truth, *frame.at(offset))]

    # The subject.

    @cached_property
    def subject(self) -> int | None:
        """The offset that the picture is about; None without one."""
        return self.subject_of(self.violation, self.frame)

    def subject_of(self, violation: Violation | None, frame: Frame) -> int | None:
        """The offset of a violation, else the last one of its key, else the last one of its log."""
        lanes: Sequence[Lane] = frame.lanes
        if violation is not None:
            if violation.offset is not None:
                return violation.offset
            own = [lane for lane in lanes if lane.name == violation.replica]
            found = [self._of_keys(lane, {violation.key}) for lane in (*own, *lanes)]
            of_key = next(filter(None, found), None)
            if violation.key is not None and of_key:
                return of_key[-1]
            lanes = own or lanes
        end = max([lane.log_end_offset for lane in lanes], default=0)
        return end - 1 if end else None

    @property
    def about(self) -> About | None:
        """Selects the records that sentences name: of the subject and its key; None for all."""
        violation, subject = self.violation, self.subject
        if violation is None or subject is None:
            return None
        offsets = {subject, *self._rivals, *self._of_its_key}
        key = violation.key
        return lambda offset, other: offset in offsets or (key is not None and other == key)

    @property
    def _rivals(self) -> list[int]:
        """Offsets of the records that superseded the subject."""
        reasons = [spot.reason for spot in self.frame.at(self.subject or 0)]
        return [each.winner for each in reasons if each is not None and each.winner is not None]

    @property
    def _of_its_key(self) -> list[int]:
        """Offsets of the records of the subject's key, in order."""
        spots = (*self.frame.at(self.subject or 0), self.frame.committed_at(self.subject or 0))
        keys = {self._key_of(spot.uid) for spot in spots}
        keys.add(None if self.violation is None else self.violation.key)
        found = [self._of_keys(lane, keys - {None}) for lane in self.frame.lanes]
        return sorted({offset for each in found for offset in each})

    def _of_keys(self, lane: Lane, keys: Collection[str | None]) -> list[int]:
        """Offsets at which a replica has records of some keys."""
        spots = enumerate(lane.spots)
        return [at for at, spot in spots if spot.uid and self._key_of(spot.uid) in keys]

    @cached_property
    def _deciding(self) -> list[int]:
        """Offsets that the deciding event changed, then those in the evidence; some of many."""
        if self.explanation is None:
            return []
        violation, decided = self.explanation.violation, self.explanation.facts[0].position
        done = [] if decided is None else self._done(decided, violation)
        named = dict.fromkeys([*done, *_named(violation)])
        return [one for one in named if 0 <= one < self.end][: 2 * _OF_EACH]

    def _done(self, position: int, violation: Violation) -> Sequence[int]:
        """The offsets of the violation or its key that an event changed; else the first changed."""
        name, key = self.case.events[position][1].replica or "", violation.key
        past = self.case.logs.until(position + 1)
        ends = max(past.log_end(name, position), past.log_end(name))
        uids = {at: (past.uid_at(name, at, position), past.uid_at(name, at)) for at in range(ends)}
        found = [at for at, (before, after) in uids.items() if before != after]
        own = [at for at in found if key and key in map(self._key_of, uids[at])]
        first = [violation.offset] if violation.offset in found else []
        return [*first, *own[-_OF_EACH:]] or found[:1]

    # The columns that fit.

    @property
    def end(self) -> int:
        """The end (exclusive) of what logs hold or held, of what was committed, of the subject."""
        ends = [len(lane.spots) for lane in self.frame.lanes]
        subject = 0 if self.subject is None else self.subject + 1
        return max([*ends, len(self.frame.committed), subject])

    def columns(self, room: Room) -> dict[int, float]:
        """Chooses as many columns as fit: offset -> width, in order of offsets.

        The subject and the deciding offsets are always among them, narrowed if need be.
        """
        must = [] if self.subject is None else [self.subject, *self._deciding]
        return room.fitting([*must, *self._weighted()], len({*must}) or 1)

    def _weighted(self) -> list[int]:
        """All offsets that may be shown, the most important first."""
        end, subject = self.end, self.subject
        if subject is None:
            return list(range(end))
        there = range(max(0, subject - _NEIGHBOURS), min(end, subject + _NEIGHBOURS))
        near = sorted(there, key=lambda offset: (abs(offset - subject), offset))
        others = [*self._rivals[:_OF_EACH], *near[:3], *self._of_its_key[-_OF_EACH:]]
        return [subject, *others, *near]


def _named(violation: Violation) -> Iterable[int]:
    """The offsets that the evidence names, of records or as numbers."""
    for name, value in violation.evidence:
        if isinstance(value, RecordSeen):
            yield value.offset
        elif isinstance(value, int) and name.endswith(("_at", "_offset")):
            yield value
