"""A run as a value, the same for stories, timed scenarios and rows of a sweep."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import msgspec

from sim.bounds import Inconclusive
from sim.check import Violation
from sim.check.violation import not_judged_note
from sim.protocol.events import NAMES, Event
from sim.protocol.rules import Rules

if TYPE_CHECKING:
    from sim.check.history import ClusterHistory
    from sim.simulate.scenario.model import Scenario
    from sim.simulate.story.driver import StoryReplica
    from sim.simulate.story.format import Story
    from sim.simulate.story.idle import IdleStep


DIGEST_BYTES: Final = 16
CHUNK: Final = 2048
"""Number of events that go into the digest at once; another number gives another digest."""


def digest_of(events: Sequence[tuple[int, Event]]) -> str:
    """Digest of (ms or step, event) in order, 32 hex digits; a run computes it on the way."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for start in range(0, len(events) + 1, CHUNK):
        digest.update(encoded(events[start : start + CHUNK]))
    return digest.hexdigest()


def encoded(events: Iterable[tuple[int, Event]]) -> bytes:
    """The bytes of (ms or step, event) in a digest: an array of time, kind and event for each."""
    return msgspec.msgpack.encode([(at, NAMES[type(event)], event) for at, event in events])


class Settling(NamedTuple):
    """The settling after the end of a timed run, which is no part of the run itself.

    Faults end, every log is fetched to its end and cleaned; then the invariants that need rest are
    judged.

    Attributes:
        from_ms: End of the run: `duration_ms`, or later where a file of changes goes on.
        position: Number of events of the run.
        counters: Increase of each counter by settling, without those that stayed; empty in a run
            of a sweep.
        reached: Situations that occurred during settling alone.
    """

    from_ms: int
    position: int
    counters: dict[str, int]
    reached: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The settling as JSON documents have it."""
        return {
            "from_ms": self.from_ms,
            "counters": self.counters,
            "reached": list(self.reached),
        }


@dataclass(frozen=True, kw_only=True)
class Run:
    """The result of a story or a timed scenario; times are steps or ms (`unit`).

    Attributes:
        command: Command that runs its file.
        content: The story or the timed scenario.
        rules: Rules that it is judged by: where rules change on the way, the newest.
        verdict: `violated` with a violation, also where the run was cut off later; else
            `inconclusive` (a bound was hit, or the run left the durability contract, see
            `sim.check.checker`) or `holds`.
        reason: Why the run is inconclusive, or cut off after a violation; else None. A run that
            took too long or too much memory (`sim.bounds`) has the events until then, and no
            counter but `events`.
        violations: Violations of the judged invariants, in order of detection.
        not_judged: Violations of invariants that were checked, and are not judged.
        differences: Differences from the expectation of the scenario; empty when it is met.
        events: (time, event) in order; empty where events were not kept.
        known_digest: Digest of all events, if it was computed during the run; else "".
        cut_off: Whether the run was stopped before its end: too much time or memory.
        remarks: Lines about the run that are no failure, known at its end; see `notes`.
        labels: Label of each record of a story by its uid.
        replicas: Replicas of a story at its end, by name in order of creation.
        leader: Name of the replica of a story that was elected last; None without an election.
        moments: Replicas of a story as each `moment` step noted them, by the name of the moment.
        answers: (step, text) of the answers to fetches, reads and requests for votes in a story.
        outside: Sentence about how a timed run left the durability contract; None within it.
        settled: Whether the scenario expects the run to leave the durability contract, so that a
            run without a verdict is as expected.
        counters: Counters of a timed run before it settled, by name (`sim.check.counters`).
        reached: Situations that occurred in a timed run before it settled.
        settling: Settling of a timed run; None for a story, and for a run that was cut off before.
        environment: Digest of workload, faults, network and clocks of a timed scenario, equal for
            all rule sets of a case. JSON and the rows of a sweep call it `weather`.
        causes: Cause of a violation by its place in `violations`
            (`sim.diagnose.explain.questions`), of the first of each invariant and family. Only
            sweeps fill it.
        since: Time in ms from which a violation existed, by its place in `violations`
            (`sim.diagnose.explain.questions`), of those that have a row. Only sweeps fill it.
    """

    command: ClassVar[str] = "replog run"
    content: Story | Scenario
    rules: Rules
    verdict: str
    reason: str | None = None
    violations: tuple[Violation, ...] = ()
    not_judged: tuple[Violation, ...] = ()
    differences: tuple[str, ...] = ()
    events: Sequence[tuple[int, Event]] = field(default=(), repr=False)
    known_digest: str = ""
    cut_off: bool = False
    remarks: tuple[str, ...] = ()
    labels: Mapping[int, str] = field(default_factory=dict)
    replicas: Mapping[str, StoryReplica] = field(default_factory=dict)
    leader: str | None = None
    moments: Mapping[str, Mapping[str, StoryReplica]] = field(default_factory=dict)
    answers: tuple[tuple[int, str], ...] = ()
    outside: str | None = None
    settled: bool = False
    counters: dict[str, int] = field(default_factory=dict)
    reached: tuple[str, ...] = ()
    settling: Settling | None = None
    environment: str = ""
    causes: Mapping[int, str] = field(default_factory=dict)
    since: Mapping[int, int] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Name of the scenario."""
        return self.content.id

    @property
    def title(self) -> str:
        """Title of the scenario."""
        return self.content.title

    @property
    def unit(self) -> str:
        """Unit of its times: `step`, numbers from 1, or `ms` of simulated time."""
        return self.content.unit

    @property
    def skews(self) -> Mapping[str, int] | None:
        """Lead of each replica's clock over simulated time in ms; None where times are steps."""
        return self.content.clock_skews

    @property
    def seen(self) -> tuple[Violation, ...]:
        """All violations, the judged ones first."""
        return (*self.violations, *self.not_judged)

    @property
    def violated(self) -> list[str]:
        """Violated invariants, of those judged, in order of first detection."""
        return list(dict.fromkeys(found.invariant for found in self.violations))

    @cached_property
    def digest(self) -> str:
        """Digest of all events with their times, 32 hex digits."""
        if self.known_digest:
            return self.known_digest
        return digest_of(self.events)

    @property
    def proper(self) -> Sequence[tuple[int, Event]]:
        """Events of the run itself, without those of settling."""
        return self.events if self.settling is None else self.events[: self.settling.position]

    @cached_property
    def history(self) -> ClusterHistory:
        """Facts at the end of the run, before settling; computed at the first use."""
        return self.history_of(self.proper)

    def history_of(self, events: Sequence[tuple[int, Event]]) -> ClusterHistory:
        """Facts after the given first events of the run."""
        from sim.check.history import ClusterHistory

        history = ClusterHistory(self.rules, label=self.labels.get)
        for at, event in events:
            history.at = at
            history.position += 1
            history.apply(event)
        return history

    def without_events(self) -> Run:
        """A copy without events, for callers that keep many runs; its digest and notes are kept."""
        light = replace(self, events=(), known_digest=self.digest)
        vars(light).update(idle=self.idle, notes=self.notes)
        return light

    def at_rest(self, violation: Violation) -> bool:
        """True when a violation was found at rest, after the end of the run."""
        return self.settling is not None and violation.position >= self.settling.position

    def when(self, violation: Violation) -> str:
        """The moment a violation was judged, such as `step 3`, `1200 ms`, or `8800 ms, at rest`."""
        if self.unit == "step":
            return f"step {violation.at}"
        return f"{violation.at} ms{', at rest' if self.at_rest(violation) else ''}"

    @cached_property
    def idle(self) -> tuple[IdleStep, ...]:
        """Steps of a story that did nothing and are not marked so; the story is run again."""
        if self.unit != "step":
            return ()
        from sim.simulate.story.driver import idle_steps

        story: Any = self.content
        return () if self.cut_off else idle_steps(story, self.events, self.seen)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Remarks that are no failure, a line each."""
        from sim.simulate.story.idle import idle_notes

        idle = idle_notes(self.idle) if self.idle else ()
        return (*not_judged_note(self.not_judged), *idle, *self.remarks)

    @property
    def exit_code(self) -> int:
        """0: as the scenario expects; 1: not as it expects; 3: what is missing might have come."""
        if self.differences:
            return 1
        expect: Any = self.content.expect
        missing = {*expect.violated, *getattr(expect, "reached", ())}
        missing -= {*self.violated, *self.reached}
        unknown = self.verdict == "inconclusive" and not self.settled
        return 3 if unknown or self.cut_off or missing else 0

    def as_json(self) -> dict[str, Any]:
        """The document that commands print with --json."""
        return {
            "id": self.id,
            "verdict": self.verdict,
            **({"reason": self.reason} if self.reason else {}),
            "violated": self.violated,
            "violations": self._rows(self.violations),
            "not_judged": self._rows(self.not_judged),
            **(self._story_as_json() if self.unit == "step" else self._timed_as_json()),
            "idle_steps": [step.number for step in self.idle],
            "notes": list(self.notes),
            "expectation_met": self.exit_code == 0,
            "differences": list(self.differences),
        }

    def _rows(self, violations: Sequence[Violation]) -> list[dict[str, Any]]:
        """Rows of violations; those of a timed run say whether it was found at rest."""
        if self.unit == "step":
            return [found.as_row(when="step") for found in violations]
        return [
            found.as_row(when="at_ms") | {"at_rest": self.at_rest(found)} for found in violations
        ]

    def _story_as_json(self) -> dict[str, Any]:
        return {
            "replicas": {name: view.as_json() for name, view in self.replicas.items()},
            "leader": self.leader,
            "answers": [{"step": step, "answer": text} for step, text in self.answers],
        }

    def _timed_as_json(self) -> dict[str, Any]:
        return {
            "reason": self.reason,
            "outside": self.outside,
            "seed": self.content.seed,
            "rules": self.content.rules.as_dict(),
            "counters": self.counters,
            "reached": list(self.reached),
            "settling": None if self.settling is None else self.settling.as_json(),
            "digest": self.digest,
            "weather": self.environment,
        }

    def __repr__(self) -> str:
        """A summary in one line."""
        first = f", first: {self.violations[0].sentence}" if self.violations else ""
        seed = "" if self.content.seed is None else f", seed {self.content.seed}"
        return f"Run({self.id}{seed}: {self.verdict}{first})"


def verdict_of(violations: Sequence[Violation], reason: str | None) -> str:
    """The verdict of a run with these violations; `reason` says why it is inconclusive, or None."""
    if violations:
        return "violated"
    return "holds" if reason is None else "inconclusive"


def conclusive(run: Run) -> Run:
    """Returns a run that was not cut off.

    Raises:
        Inconclusive: It took too long or too much memory.
    """
    if run.cut_off:
        raise Inconclusive(f"{run.id}: {run.reason}")
    return run
