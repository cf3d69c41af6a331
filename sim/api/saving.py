"""From a run to the folder of its failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from sim.api.recorded import Recorded
from sim.api.scenarios import Scenario
from sim.errors import BadInput

if TYPE_CHECKING:
    from sim.check import Violation
    from sim.failures import Failure
    from sim.files.trace_file import TraceHeader


class Failed(Protocol):
    """What is asked of a run."""

    scenario: Scenario

    @property
    def id(self) -> str:
        """Its name."""

    @property
    def recorded(self) -> Recorded:
        """What happened."""

    @property
    def command(self) -> str | None:
        """What runs it."""

    def violation(self, invariant: str | None = None) -> Violation:
        """What went wrong."""


def failure_of(run: Failed, invariant: str | None = None) -> Failure:
    """What the folder of a failing run is made of.

    Raises:
        BadInput: Nothing is violated, and all is as the scenario expects.
    """
    from sim.failures import Failure

    recorded, scenario = run.recorded, run.scenario
    failed = recorded.violations or recorded.differences or recorded.verdict == "inconclusive"
    if not failed:
        raise BadInput(f"{run.id}: all is as expected; only a failure gets a folder")
    return Failure(
        id=run.id.replace(" ", "-"),
        title=scenario.title,
        violation=run.violation(invariant) if recorded.violations or invariant else None,
        violations=recorded.violations,
        not_judged=recorded.not_judged,
        notes=recorded.notes,
        complaints=recorded.differences,
        verdict=recorded.verdict,
        reason=recorded.reason,
        events=recorded.events,
        header=_header(scenario),
        rules=recorded.rules,
        changed_rules=scenario.changed_rules,
        skews=recorded.skews,
        labels=recorded.labels,
        digest=recorded.digest,
        scenario=scenario.as_file,
        made_by=run.command,
    )


def _header(scenario: Scenario) -> TraceHeader:
    content: Any = scenario.content
    if scenario.kind == "story":
        from sim.story.trace_header import header_of

        return header_of(content)
    from sim.scenario.trace_header import header_of as header_of_timed

    return header_of_timed(content, mix=scenario.mix)
