"""What a run leaves behind, the same for stories, timed scenarios and rows of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sim.bounds import Inconclusive
from sim.check import Violation
from sim.check.judged import not_judged_note
from sim.protocol.events import Event

if TYPE_CHECKING:
    from sim.protocol.rules import Rules
    from sim.simulate.scenario.model import Scenario
    from sim.simulate.story.format import Story
    from sim.simulate.trace_file import TraceVerdict


class Recorded(NamedTuple):
    """A run, with everything that happened in it.

    Attributes:
        id: The scenario's.
        verdict: `holds`, `violated` or `inconclusive`.
        reason: Why it is inconclusive, else None.
        violations: Of what it judges, in order of detection; `at` is in the scenario's unit.
        not_judged: Of what was looked at as well.
        differences: Where it is not what the scenario expects; empty = expectation met.
        events: (when, event) in the order in which they happened; empty if nobody wanted them.
        rules: What it is judged by: where rules change on the way, the newest.
        known_digest: Of all events, where the run worked it out on its way; None = see `digest`.
        labels: The name of each record by its uid; empty for a timed scenario.
        skews: How far each replica's clock is ahead of simulated time in ms; None = in steps.
        detail: What is told of this kind of run besides: of a story `replicas` and `leader`, of a
            timed scenario `seed`, `rules`, `counters`, `reached`, `settling`, `outside` and more.
        idle_steps: Numbers of the steps of a story that did nothing, and are not meant to.
        notes: What is no failure, and should be known, a line each.
        cut_off: Whether a bound ended it, so that it is looked at no further.
        settled: That there is no verdict is what the scenario expects: its run is to leave the
            durability contract.
        over: How many events there were when a timed run was over and had not yet settled; None =
            a story, or a run that was cut off before.
    """

    id: str
    verdict: str
    reason: str | None
    violations: tuple[Violation, ...]
    not_judged: tuple[Violation, ...]
    differences: tuple[str, ...]
    events: Sequence[tuple[int, Event]]
    rules: Rules
    known_digest: str | None
    labels: Mapping[int, str]
    skews: Mapping[str, int] | None
    detail: Mapping[str, Any]
    idle_steps: tuple[int, ...]
    notes: tuple[str, ...]
    cut_off: bool
    settled: bool
    over: int | None = None

    @property
    def seen(self) -> tuple[Violation, ...]:
        """All violations, those of what is judged first."""
        return (*self.violations, *self.not_judged)

    @property
    def proper(self) -> Sequence[tuple[int, Event]]:
        """The events of the run itself, without those that brought it to rest when it was over."""
        return self.events if self.over is None else self.events[: self.over]

    def at_rest(self, violation: Violation) -> bool:
        """Whether it was found when the run was over."""
        return self.over is not None and violation.position >= self.over

    def when(self, violation: Violation) -> str:
        """When it was judged, such as `step 3`, `1200 ms`, or `8800 ms, at rest`."""
        if self.skews is None:
            return f"step {violation.at}"
        return f"{violation.at} ms{', at rest' if self.at_rest(violation) else ''}"

    @property
    def digest(self) -> str:
        """Of all events, 32 hex digits."""
        if self.known_digest is not None:
            return self.known_digest
        from sim.protocol.events.digest import (
            digest_of,  # what only needs a verdict imports no msgspec
        )

        return digest_of(self.events)

    def trace_verdict(self) -> TraceVerdict:
        """What its trace says last."""
        from sim.simulate.trace_file import TraceVerdict

        rows = tuple(violation.as_row(when="at") for violation in self.seen)
        return TraceVerdict(self.verdict, self.reason, rows, self.digest)

    @property
    def unit(self) -> str:
        """What its times are: numbers of steps, from 1, or `ms` of simulated time."""
        return "step" if self.skews is None else "ms"

    @property
    def counters(self) -> Mapping[str, int]:
        """What happened how often, by name (`sim.check.counters`); empty for a story."""
        counters: Mapping[str, int] = self.detail.get("counters", {})
        return counters

    @property
    def exit_code(self) -> int:
        """0 as the scenario expects, 1 not so, 3 nobody knows: a bound was hit."""
        if self.differences:
            return 1
        return 3 if self.verdict == "inconclusive" and not self.settled else 0

    def as_json(self) -> dict[str, Any]:
        """What the commands print of it with --json."""
        when = "step" if self.skews is None else "at_ms"
        return {
            "id": self.id,
            "verdict": self.verdict,
            **({"reason": self.reason} if self.reason else {}),
            "violated": list(dict.fromkeys(found.invariant for found in self.violations)),
            "violations": [found.as_row(when=when) for found in self.violations],
            "not_judged": [found.as_row(when=when) for found in self.not_judged],
            **self.detail,
            "idle_steps": list(self.idle_steps),
            "notes": list(self.notes),
            "expectation_met": self.exit_code == 0,
            "differences": list(self.differences),
        }


def record(content: Story | Scenario, *, keep_events: bool = True) -> Recorded:
    """Run a story or a timed scenario; of a story the events are kept anyway."""
    told: Any = content
    return _story(told) if hasattr(content, "steps") else _timed(told, keep_events=keep_events)


def conclusive(content: Story | Scenario) -> Recorded:
    """A run with its events, for those who have no use for one that stopped anywhere.

    Raises:
        Inconclusive: It took too long or too much memory.
    """
    run = record(content)
    if run.cut_off:
        raise Inconclusive(f"{run.id}: {run.reason}")
    return run


def _story(story: Story) -> Recorded:
    from sim.simulate.story.driver import idle_steps, run_story
    from sim.simulate.story.idle import idle_notes
    from sim.simulate.story.joining import held_notes

    run = run_story(story)
    idle = idle_steps(run)
    return Recorded(
        id=story.id,
        verdict=run.verdict,
        reason=run.reason,
        violations=run.violations,
        not_judged=run.not_judged,
        differences=tuple(run.differences()),
        events=run.events,
        rules=story.rules,
        known_digest=None,
        labels=run.labels,
        skews=None,
        detail={
            "replicas": {name: view.as_json() for name, view in run.replicas.items()},
            "leader": run.leader,
            "answers": [{"step": step, "answer": text} for step, text in run.answers],
        },
        idle_steps=tuple(step.number for step in idle),
        notes=(*not_judged_note(run.not_judged), *idle_notes(idle), *held_notes(run.held)),
        cut_off=run.reason is not None,
        settled=False,
    )


def _timed(scenario: Scenario, *, keep_events: bool) -> Recorded:
    from sim.check.durability import OUTSIDE
    from sim.simulate.scenario.model.promises import promise_of
    from sim.simulate.scenario.notes import setting_notes
    from sim.simulate.timed_run import as_document, differences, run_scenario

    events: list[tuple[int, Event]] = []
    run = run_scenario(scenario, trace=events if keep_events else None)
    return Recorded(
        id=run.id,
        verdict=run.verdict,
        reason=run.reason,
        violations=run.violations,
        not_judged=run.not_judged,
        differences=tuple(differences(scenario, run)),
        events=events,
        rules=promise_of(scenario).rules,
        known_digest=run.digest,
        labels={},
        skews=scenario.clock_skews,
        detail=as_document(run),
        idle_steps=(),
        notes=(*not_judged_note(run.not_judged), *setting_notes(scenario)),
        cut_off=run.cut_off,
        settled=run.outside is not None and OUTSIDE in scenario.expect.reached,
        over=None if run.settling is None else run.settling.position,
    )
