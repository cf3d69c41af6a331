"""A run of a story or a timed scenario: how it is made, its value, its trace file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sim.simulate.run.value import Run, conclusive

if TYPE_CHECKING:
    from sim.simulate.scenario.model import Scenario
    from sim.simulate.story.format import Story


def run_of(content: Story | Scenario, *, keep_events: bool = True) -> Run:
    """Runs a story or a timed scenario.

    Args:
        content: The story or scenario.
        keep_events: Whether the run keeps its events; that of a story always does.
    """
    kind: Any = content
    if content.unit == "step":
        from sim.simulate.run.stories import run_story

        return run_story(kind)
    from sim.simulate.run.timed import run_scenario

    return run_scenario(kind, keep_events=keep_events)
