"""What the trace of a story says of it first."""

from __future__ import annotations

from sim.simulate.scenario.file.configs import kafka_settings
from sim.simulate.story.format import Story
from sim.simulate.trace_file import TraceHeader, header_under


def header_of(story: Story) -> TraceHeader:
    """The header of the trace of a story: nothing is left to chance, and all of it is judged."""
    takes = any(step.op == "snapshot" for step in story.steps)
    return header_under(
        story.rules,
        story.rules,
        id=story.id,
        seed=None,
        kind="story",
        preset=story.preset,
        topic=kafka_settings(story.rules, takes_snapshots=takes),
        within_contract=False,
        environment={},
    )
