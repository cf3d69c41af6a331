"""A run as a value, the same for stories, timed scenarios and rows of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from sim.bounds import Inconclusive
from sim.check import Violation
from sim.check.violation import not_judged_note
from sim.protocol.events import Event
from sim.protocol.rules import Rules

if TYPE_CHECKING:
    from sim.check.history import ClusterHistory
    from sim.simulate.scenario.model import Scenario
    from sim.simulate.story.format import Story
    from sim.simulate.story.idle import IdleStep
    from sim.simulate.story.views import StoryReplica


class Settling(NamedTuple):
    """The settling of a timed run after its end, no part of the run itself.

    Faults end, every log is fetched to its end and cleaned; then the invariants that need rest are
    judged.

    Attributes:
        from_ms: When the run was over: `duration_ms`, or later where a file of changes goes on.
        position: How many events the run had until then.
        counters: By how much each counter is another one at rest; those that are the same are left
            out.
        reached: Situations that occurred only then.
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
    """A finished run of a story or a timed scenario; times are steps or ms (`unit`).

    Attributes:
        command: Command that runs its file.
        content: The story or the timed scenario.
        rules: Rules that it is judged by: where rules change on the way, the newest.
        verdict: `violated` with a violation, whatever came after; else `inconclusive` (a bound was
            hit, or the run left the durability contract, see `sim.check.durability`) or `holds`.
        reason: Why it is inconclusive, or what cut a violated run off; else None. A run that took
            too long or too much memory (`sim.bounds`) has what happened until then, and no counters
            but `events`.
        violations: Violations of what the scenario judges, in order of detection.
        not_judged: Violations of what was looked at as well.
        differences: Where the run is not what the scenario expects; empty = expectation met.
        events: (when, event) in the order in which they happened; empty where they were not kept.
        known_digest: Digest of all events, if the run worked it out on its way; else "".
        cut_off: Whether it took too long or too much memory, and stopped anywhere.
        remarks: Lines about the run that are no failure, known when it ended; see `notes`.
        labels: Label of each record of a story by its uid.
        replicas: Replicas of a story as they are at its end, by name in order of creation.
        leader: Replica of a story that was elected last; None = no replica was.
        moments: Replicas of a story as each `moment` step noted them, by the name of the moment.
        answers: (step, text) of the answers to fetches, reads and requests for votes in a story.
        outside: How a timed run left the durability contract, as a sentence; None = it did not.
        settled: Whether the scenario expects the run to leave the durability contract, so that a
            run without a verdict is as expected.
        counters: Counts of a timed run before it settled, by name (`sim.check.counters`).
        reached: Situations that had occurred in a timed run by then.
        settling: What came after that; None = a story, or a run that was cut off before.
        environment: Digest of workload, faults, network and clocks of a timed scenario, equal for
            all rule sets of a case. Published as `weather`, in JSON and in the rows of a sweep.
        causes: Place among the violations -> cause (`sim.diagnose.explain.signature`), of the first
            of each invariant and family. Only sweeps fill it.
        since: Place among the violations -> since when it was so, in ms
            (`sim.diagnose.explain.signature`), of those that have a row. Only sweeps fill it.
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
        """How far each replica's clock is ahead of simulated time in ms; None = times are steps."""
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
        from sim.protocol.events.digest import (
            digest_of,  # what only needs a verdict imports no msgspec
        )

        return digest_of(self.events)

    @property
    def proper(self) -> Sequence[tuple[int, Event]]:
        """Events of the run itself, without those that brought it to rest when it was over."""
        return self.events if self.settling is None else self.events[: self.settling.position]

    @cached_property
    def history(self) -> ClusterHistory:
        """Facts at the end of the run, before a timed one settled; folded when first asked for."""
        return self.history_of(self.proper)

    def history_of(self, events: Sequence[tuple[int, Event]]) -> ClusterHistory:
        """Facts after some first events of the run."""
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

    @property
    def counters_at_rest(self) -> dict[str, int]:
        """Counters of a timed run with what settling did."""
        more = {} if self.settling is None else self.settling.counters
        return {name: count + more.get(name, 0) for name, count in self.counters.items()}

    def at_rest(self, violation: Violation) -> bool:
        """Whether a violation was found at rest, after the end of the run."""
        return self.settling is not None and violation.position >= self.settling.position

    def when(self, violation: Violation) -> str:
        """When a violation was judged, such as `step 3`, `1200 ms`, or `8800 ms, at rest`."""
        if self.unit == "step":
            return f"step {violation.at}"
        return f"{violation.at} ms{', at rest' if self.at_rest(violation) else ''}"

    @cached_property
    def idle(self) -> tuple[IdleStep, ...]:
        """Steps of a story that did nothing and are not marked so; it is run once more for them."""
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
        """0 as the scenario expects, 1 not so, 3 not known: a bound was hit."""
        if self.differences:
            return 1
        return 3 if self.verdict == "inconclusive" and not self.settled else 0

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
        """Violations; of a timed run `at_rest` says that one was found when the run was over."""
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


def conclusive(run: Run) -> Run:
    """The run, unless it was cut off.

    Raises:
        Inconclusive: It took too long or too much memory.
    """
    if run.cut_off:
        raise Inconclusive(f"{run.id}: {run.reason}")
    return run
