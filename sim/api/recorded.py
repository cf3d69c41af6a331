"""What a run leaves behind, the same for stories, timed scenarios and rows of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sim.check import Violation
from sim.check.judged import not_judged_note
from sim.trace import Event

if TYPE_CHECKING:
    from sim.api.scenarios import Scenario
    from sim.rules import Rules


class Recorded(NamedTuple):
    """A run, with everything that happened in it.

    Attributes:
        verdict: `holds`, `violated` or `inconclusive`.
        reason: Why it is inconclusive, else None.
        violations: Of what it judges, in order of detection; `at` is in the scenario's unit.
        not_judged: Of what was looked at as well.
        differences: Where it is not what the scenario expects; empty = expectation met.
        events: (when, event) in the order in which they happened.
        rules: What it is judged by: where rules change on the way, the newest.
        digest: Of all events, 32 hex digits.
        labels: The name of each record by its uid; empty for a timed scenario.
        skews: How far each replica's clock is ahead of simulated time in ms; None = in steps.
        counters: What happened how often, by name (`sim.check.counters`); empty for a story.
        notes: What is no failure, and should be known, a line each.
        cut_off: Whether a bound ended it, so that it is looked at no further.
    """

    verdict: str
    reason: str | None
    violations: tuple[Violation, ...]
    not_judged: tuple[Violation, ...]
    differences: tuple[str, ...]
    events: Sequence[tuple[int, Event]]
    rules: Rules
    digest: str
    labels: Mapping[int, str]
    skews: Mapping[str, int] | None
    counters: Mapping[str, int]
    notes: tuple[str, ...]
    cut_off: bool

    @property
    def seen(self) -> tuple[Violation, ...]:
        """All violations, those of what is judged first."""
        return (*self.violations, *self.not_judged)


def record(scenario: Scenario) -> Recorded:
    """Run a scenario and keep what happened."""
    content: Any = scenario.content
    return _story(content) if scenario.kind == "story" else _timed(content)


def _story(story: Any) -> Recorded:
    from sim.story.driver import idle_steps, run_story
    from sim.story.idle import idle_notes
    from sim.trace.digest import digest_of

    run = run_story(story)
    return Recorded(
        verdict=run.verdict,
        reason=run.reason,
        violations=run.violations,
        not_judged=run.not_judged,
        differences=tuple(run.differences()),
        events=run.events,
        rules=story.rules,
        digest=digest_of(run.events),
        labels=run.labels,
        skews=None,
        counters={},
        notes=(*not_judged_note(run.not_judged), *idle_notes(idle_steps(run))),
        cut_off=run.reason is not None,
    )


def _timed(scenario: Any) -> Recorded:
    from sim.scenario.model.promises import promise_of
    from sim.timed_run import differences, run_scenario

    events: list[tuple[int, Event]] = []
    run = run_scenario(scenario, trace=events)
    return Recorded(
        verdict=run.verdict,
        reason=run.reason,
        violations=run.violations,
        not_judged=run.not_judged,
        differences=tuple(differences(scenario, run)),
        events=events,
        rules=promise_of(scenario).rules,
        digest=run.digest,
        labels={},
        skews=scenario.clock_skews,
        counters=run.counters,
        notes=tuple(not_judged_note(run.not_judged)),
        cut_off=run.cut_off,
    )
