"""A run of a story or a timed scenario: how it is made, its value, its trace file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sim.simulate.run.value import Run, conclusive

if TYPE_CHECKING:
    from sim.simulate.scenario.model import Scenario
    from sim.simulate.story.format import Story


def run_of(
    content: Story | Scenario, *, keep_events: bool = True, also_check: Sequence[str] = ()
) -> Run:
    """Runs a story or a timed scenario.

    Args:
        content: The story or scenario.
        keep_events: Whether the run keeps its events; that of a story always does.
        also_check: Invariants that are judged beyond those of the scenario.
    """
    kind: Any = content
    if content.unit == "step":
        from sim.simulate.run.stories import run_story

        return run_story(kind, also_check=also_check)
    from sim.simulate.run.timed import run_scenario

    return run_scenario(kind, keep_events=keep_events, also_check=also_check)
