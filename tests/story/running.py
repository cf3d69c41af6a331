"""Stories in a few lines, for tests."""

from collections.abc import Mapping, Sequence

from sim.simulate.run import Run
from sim.simulate.run.stories import run_story
from sim.simulate.story.format import story_from


def run_steps(
    steps: str,
    *,
    replicas: Sequence[str] = ("1", "2"),
    isr: Sequence[str] | None = None,
    voters: Sequence[str] | None = None,
    rules: Mapping[str, object] | None = None,
) -> Run:
    """Run the steps, one in a line; what follows a # is a remark."""
    lines = [line.split("#")[0].strip() for line in steps.splitlines()]
    document: dict[str, object] = {
        "format": "replog-story/1",
        "replicas": list(replicas),
        "rules": dict(rules or {}),
        "steps": [line for line in lines if line],
    }
    if isr is not None:
        document["isr"] = list(isr)
    if voters is not None:
        document["voters"] = list(voters)
    return run_story(story_from(document, where="test"))
