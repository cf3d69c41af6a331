"""Writes stories as files like those written by hand: a step per line, no useless field."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from sim.check.checker import story_invariants
from sim.diagnose.what_if import violated_by
from sim.errors import BadInput
from sim.files.document import Document
from sim.files.foreign import is_plain, one_line
from sim.files.formats import STORY_FORMAT
from sim.protocol.replication.joining import REPLICA_LAG_MAX_MS, waits_for_joining
from sim.protocol.rules import Rules
from sim.simulate.run.timed import judge_scenario, judging
from sim.simulate.scenario.file.write import flow, quoted, scenario_text
from sim.simulate.scenario.model import Expect, Scenario
from sim.simulate.story.format import LAG, STORY_DEFAULTS, Story
from sim.simulate.story.op import Scope, Step
from sim.simulate.story.ops import OPS
from sim.simulate.story.steps import line_of, step_at


def story_text(
    story: Story,
    *,
    violated: Iterable[str],
    checked: Iterable[str] | None = None,
    remark: str = "",
) -> str:
    """Writes the file of a story, which loads to the same story with the given expectation.

    Args:
        story: The story; its expectation is ignored.
        violated: Invariants that it violates.
        checked: Invariants that judge it; None for those of the format.
        remark: Comment after the last step.
    """
    rules, scope = story.rules.differing_from(STORY_DEFAULTS), Scope(list(story.replicas))
    texts = {"title": story.title, "source": story.source}
    names = {"isr": story.isr, "voters": story.voters}
    keeps_lag = waits_for_joining(story.rules) and story.replica_lag_max_ms != REPLICA_LAG_MAX_MS
    last = f"    # {one_line(' '.join(remark.split()))}" if remark and story.steps else ""
    lines = [
        f"format: {STORY_FORMAT}",
        f"id: {flow(story.id)}",
        *(f"{part}: {quoted(text)}" for part, text in texts.items() if text),
        *([f"rules: {flow(rules)}"] if rules else []),
        f"replicas: {flow(story.replicas)}",
        *(f"{part}: {flow(own)}" for part, own in names.items() if own != story.replicas),
        *([f"timers: {flow({LAG: story.replica_lag_max_ms})}"] if keeps_lag else []),
        "steps:",
        *(f"  - {_step(step, story.rules, scope)}" for step in story.steps),
    ]
    lines[-1] += last
    lines += ["expect:", f"  violated: {flow(list(violated))}"]
    lines += [] if checked is None else [f"  checked: {flow(list(checked))}"]
    return "\n".join(lines) + "\n"


def file_of(
    value: Story | Scenario, invariant: str, remark: str = "", *, folder: Path = Path()
) -> str:
    """Writes the file of a failure, or of its near miss; it expects all that the value violates.

    Args:
        value: A story or a scenario.
        invariant: Invariant to judge in any case.
        remark: Comment after the last step of a story.
        folder: Folder of the file, which names a file of changes relative to it.
    """
    if isinstance(value, Scenario):
        run = judge_scenario(value, (*judging(value), invariant))
        return scenario_text(replace(value, expect=Expect(tuple(run.violated))), folder=folder)
    violated = violated_by(value, invariant)
    if invariant in story_invariants(liveness=False) or invariant in violated:
        return story_text(value, violated=violated, remark=remark)
    return story_text(value, violated=[], checked=[invariant])


def _step(step: Step, rules: Rules, scope: Scope) -> str:
    """Writes a step as a line if that is read as the same step, else as a mapping.

    Fields that have no meaning under the rules are left out; no file may have them.
    """
    vain = OPS[step.op].in_vain(step.fields, rules)
    fields = {name: value for name, value in step.fields.items() if name not in vain}
    line = line_of(step.op, fields)
    with suppress(BadInput):
        read = step_at(line, step.number, scope, Document("", None).top)
        if (read.op, read.fields) == (step.op, fields):
            risky = ": " in line or " #" in line or line.endswith(":") or not is_plain(line)
            return quoted(line) if risky else line
    return flow({"op": step.op, **{name: _plain(value) for name, value in fields.items()}})


def _plain(value: Any) -> Any:
    """Converts the value of a field for JSON."""
    if isinstance(value, bytes):
        return value.hex()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
