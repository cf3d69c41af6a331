"""The target of a shrink: a violation of the same invariant for the same cause, by legal steps.

A story takes its steps without checks: a replica outside every in-sync set leads, a disk that
others count on is replaced. A violation after such an illegal step says nothing about the rules. So
a story made of a run takes only the kinds of illegal steps that the run took, such as an unclean
election.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Final, Generic, TypeAlias, TypeVar

from sim.bounds import Inconclusive
from sim.check import Checker, Violation
from sim.check.checker import known_invariants, story_invariants
from sim.check.facts import ReplicaView
from sim.diagnose.explain.past import Past, Recorded
from sim.diagnose.explain.questions import Signature, signature_of
from sim.diagnose.shrink.engine import Reducer, ShownTarget, ShrinkKind
from sim.diagnose.shrink.scenarios import SCENARIOS
from sim.diagnose.shrink.stories import STORIES, with_steps
from sim.errors import BadInput
from sim.files.document import listed, unknown_value
from sim.protocol import events as on
from sim.protocol.events import Event
from sim.protocol.rules import Rules
from sim.simulate.run import conclusive
from sim.simulate.run.timed import judge_scenario, judging
from sim.simulate.scenario.derived import promise_of
from sim.simulate.scenario.file.write import as_said, scenario_text
from sim.simulate.scenario.model import Expect, Scenario
from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.format import Story

OUT_OF_SYNC: Final = "a replica leads that is not in sync"
NO_MAJORITY: Final = "a replica leads that no majority would elect"
NOT_ADMITTED: Final = "a replica is in sync that was not admitted"
DISK_COUNTED_ON: Final = "a disk is replaced that others count on"
ACKNOWLEDGED_LOST: Final = "a crash loses what was acknowledged"
NOT_THE_LEADER: Final = "a replica writes in an epoch that it does not lead"
NO_SNAPSHOT: Final = "the beginning of a log goes without a snapshot"
UNCOMMITTED: Final = "a snapshot has what is not committed"

ELECTIONS: Final = ("election-safety", "epoch-monotonic")
"""Invariants that only illegal elections violate."""


def illegal_steps(events: Recorded, rules: Rules) -> set[str]:
    """The kinds of illegal steps in a run; for elections the invariants that they violate.

    Args:
        events: (time, event) of a run or a story from its beginning.
        rules: Rules of the run: a controller elects from the in-sync set, or a majority votes.
    """
    watch = _Watch(rules)
    found = set[str]()
    for at, event in events:
        found.update(watch.illegal(event, watch.view(event.replica or "")))
        watch.checker.on(at, event)
    return found | {violation.invariant for violation in watch.checker.violations}


class _Watch:
    """Compares each event with the history before it.

    Attributes:
        checker: Checker that keeps the history and judges the elections.
    """

    def __init__(self, rules: Rules) -> None:
        self.checker = Checker(rules, ELECTIONS)
        self._by_majority = rules.replication.commit == "majority"
        self._history = self.checker.history
        self._led: set[tuple[str, int]] = set()
        self._acknowledged: dict[str, int] = {}

    def view(self, name: str) -> ReplicaView:
        """The state of a replica before the event; an empty one if it does not exist."""
        return self._history.replicas.get(name) or ReplicaView(name)

    def illegal(self, event: Event, view: ReplicaView) -> Iterator[str]:
        """Yields the illegal steps in an event; a recorded position counts as acknowledged."""
        name, end, known = view.name, view.log_end_offset, self._acknowledged
        match event:
            case on.LeaderElected():
                yield from (
                    self._elected_by_votes(event) if self._by_majority else self._elected(event)
                )
                self._led.add((name, event.epoch))
            case on.IsrChanged(joined=None, isr=isr):
                yield from self._not_admitted(isr)
            case on.Appended(batch=batch) if (name, batch.epoch) not in self._led:
                yield NOT_THE_LEADER
            case on.SnapshotTaken(end_offset=taken) if taken > view.high_watermark:
                yield UNCOMMITTED
            case on.PrefixDeleted(log_start_offset=start):
                if start not in {taken for taken, _ in view.snapshots}:
                    yield NO_SNAPSHOT
            case on.PositionRecorded(follower=follower, position=position):
                there = min(position, self.view(follower).log_end_offset)
                known[follower] = max(known.get(follower, 0), there)
            case on.Truncated(target=target, lowest=lowest):
                known[name] = min(known.get(name, 0), target if lowest is None else lowest)
            case on.ReplicaCrashed(log_end_offset=left):
                if left < min(max(known.get(name, 0), len(self._history.committed)), end):
                    yield ACKNOWLEDGED_LOST
                known[name] = min(known.get(name, 0), left)
            case on.ReplicaWiped(reason=reason):
                counted = end > 0 if self._by_majority else name in self._history.isr
                if reason != on.REBUILT and counted:
                    yield DISK_COUNTED_ON
                known.pop(name, None)
                self._led = {(other, epoch) for other, epoch in self._led if other != name}

    def _elected_by_votes(self, event: on.LeaderElected) -> Iterator[str]:
        votes = [
            self.view(name)
            for name in event.voters
            if name not in {event.replica, *self._history.removed_replicas}
        ]
        own = self._entry(self.view(event.replica))
        granted = [voter for voter in votes if voter.up and self._entry(voter) <= own]
        if len(granted) < len(event.voters) // 2:
            yield NO_MAJORITY

    def _elected(self, event: on.LeaderElected) -> Iterator[str]:
        if event.replica not in (self._history.isr or event.isr) or event.replica not in event.isr:
            yield OUT_OF_SYNC
        yield from self._not_admitted(event.isr)

    def _entry(self, view: ReplicaView) -> tuple[int, int]:
        """The epoch of the last record of a log, and the log end."""
        written = self._history.written.get(view.lineage[-1] if view.lineage else 0)
        return (0 if written is None else written.batch.epoch, view.log_end_offset)

    def _not_admitted(self, isr: Collection[str]) -> Iterator[str]:
        if self._history.isr and not set(isr) <= set(self._history.isr):
            yield NOT_ADMITTED


V = TypeVar("V", bound=Story | Scenario)

Moments: TypeAlias = Iterator[tuple[Sequence[Violation], Recorded]]
"""The violations of each moment that has some, with events: of a story those so far, else all."""


def judged(value: Story | Scenario, invariants: Iterable[str]) -> Moments:
    """Runs a story or a scenario and yields its violations of some invariants.

    Raises:
        Inconclusive: A scenario was cut off before it violated one.
    """
    if isinstance(value, Story):
        driver = StoryDriver(value, invariants=tuple(invariants))
        return watched(driver, map(driver.take, value.steps))
    run = judge_scenario(value, invariants, keep_events=True)
    if not run.violations:
        conclusive(run)
    found = sorted(run.violations, key=lambda violation: violation.position)
    by_time = groupby(found, key=lambda violation: violation.at)
    return ((tuple(together), run.events) for _, together in by_time)


def watched(driver: StoryDriver, steps: Iterable[None]) -> Moments:
    """Takes the steps of a story one by one, and yields the violations that each has shown."""
    seen = 0
    for _ in steps:
        found = driver.checker.violations[seen:]
        if found:
            yield found, driver.events
            seen += len(found)


def rules_of(value: Story | Scenario) -> Rules:
    """The rules that a story or a scenario is judged by."""
    return value.rules if isinstance(value, Story) else promise_of(value).rules


@dataclass(frozen=True, slots=True)
class Target(Generic[V]):
    """The violation that a smaller value has to show.

    Attributes:
        invariant: Name of the violated invariant.
        signature: Signature of the violation.
        allowed: Kinds of illegal steps (`illegal_steps`) that a story may take: those of the value
            that is shrunk.
        from_run: True to compare all kinds, for a story made of a run; False for elections only.
    """

    invariant: str
    signature: Signature
    allowed: frozenset[str] = frozenset()
    from_run: bool = False

    def found_in(self, value: V, moments: Moments | None = None) -> ShownTarget[V] | None:
        """Finds the first violation with this signature; None without one.

        Args:
            value: A story or a scenario.
            moments: Its violations, moment by moment; None to run it.
        """
        rules, elections = rules_of(value), set[str]()
        counted = {*ELECTIONS} if isinstance(value, Story) else set()
        for violations, events in moments or judged(value, (self.invariant, *counted)):
            elections |= {each.invariant for each in violations} & counted
            for violation in violations:
                if violation.invariant == self.invariant:
                    past = _past(events, violation)
                    same = elections <= self.allowed and self.signature == signature_of(
                        Past(past, rules), violation
                    )
                    if same and (not self.from_run or illegal_steps(past, rules) <= self.allowed):
                        return ShownTarget(value, violation, past)
        return None

    def shown_by(self, value: V) -> ShownTarget[V] | None:
        """Runs a story up to the step that shows the target, or a scenario; None without it.

        A value that the simulator refuses, that is cut off, or that no file can express, does not
        count.
        """
        try:
            found = self.found_in(value)
            if found is None:
                return None
            if isinstance(value, Story):
                return found._replace(value=_up_to(value, found.violation))
            scenario_text(value)
        except (ValueError, AssertionError, BadInput, Inconclusive):
            return None
        return found

    def reducer(self, value: V) -> Reducer[V]:
        """Makes the reducer of a value that shows the target.

        Raises:
            BadInput: The value does not show it.
        """
        shown = self.shown_by(value)
        if shown is None:
            raise BadInput(f"{value.id}: does not violate {self.invariant} for the same cause")
        kind: ShrinkKind[Any] = STORIES if isinstance(value, Story) else SCENARIOS
        return Reducer(shown, kind, self.shown_by)


def _past(events: Recorded, violation: Violation) -> Recorded:
    return [pair for pair in events if pair[0] <= violation.at]


def _up_to(value: Any, violation: Violation) -> Any:
    """The story up to the step that shows the violation; the scenario as its file expresses it."""
    if isinstance(value, Story):
        return with_steps(value, value.steps[: violation.at])
    return replace(as_said(value), expect=Expect())


def target_of(
    value: V, invariant: str | None = None, *, where: str | None = None
) -> tuple[Target[V], ShownTarget[V], int]:
    """Finds the target of a shrink, the value as it shows it, and the number of events of the run.

    Args:
        value: A story or a scenario with a violation.
        invariant: Invariant whose first violation counts; None for the first one violated, if
            possible of those that the value expects.
        where: Name of the value in messages; None for its id.

    Raises:
        BadInput: The value violates nothing, or not this invariant.
    """
    where = where or value.id
    if invariant is not None and invariant not in known_invariants():
        hint = unknown_value(invariant, known_invariants(), what="invariant")
        raise BadInput(f"{where}: {hint}")
    named = [] if invariant is None else [invariant]
    by_format = story_invariants(liveness=True) if isinstance(value, Story) else judging(value)
    moments = list(judged(value, [*by_format, *value.expect.violated, *named]))
    violations = [violation for found, _ in moments for violation in found]
    violated = list(dict.fromkeys(violation.invariant for violation in violations))
    if not violated:
        raise BadInput(f"{where}: violates no invariant, so there is nothing to shrink")
    wanted = named or [name for name in violated if name in value.expect.violated] or violated
    violation = next((each for each in violations if each.invariant in wanted), None)
    if violation is None:
        raise BadInput(f"{where}: {invariant} is not violated; violated: {listed(violated)}")
    events, rules = moments[-1][1], rules_of(value)
    past = _past(events, violation)
    allowed = illegal_steps(past, rules) & {*ELECTIONS} if isinstance(value, Story) else ()
    target: Target[V] = Target(
        violation.invariant, signature_of(Past(past, rules), violation), frozenset(allowed)
    )
    return target, ShownTarget(_up_to(value, violation), violation, past), len(events)
