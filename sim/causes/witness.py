"""The smallest run with the cause of a failing one: a story of single steps, or else a scenario."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from sim.check import INVARIANTS, Kind, Violation
from sim.errors import BadInput
from sim.explain.signature import Signature, signature_of
from sim.rules import Rules
from sim.scenario.file.write import scenario_text
from sim.scenario.model import Scenario
from sim.scenario.model.promises import promise_of
from sim.shrink.from_events import story_from_events
from sim.shrink.story import shrink_story
from sim.shrink.timed import shrink_timed
from sim.shrink.writing import story_text
from sim.story import Story, run_story
from sim.story.expect import StoryExpect
from sim.sweeps.one_run import scenario_of_run
from sim.timed_run import run_scenario
from sim.trace import Event

STORY_TRIES: Final = 1_000
"""Stories that are run at most to shrink one."""
SCENARIO_TRIES: Final = 150
"""Scenarios that are run at most to shrink one: each takes as long as a run of a sweep."""


@dataclass(frozen=True, slots=True)
class Witness:
    """The smallest run found that fails for a cause.

    Attributes:
        kind: `story`, or `scenario` where no story can say it.
        file: Where its file is; relative paths are from where the program runs.
        text: The file.
        invariant: What it violates.
        cause: Why.
        sentence: What happened.
        steps: Of the story; None = it is a scenario.
        events: Up to the violation.
        run_id: The run it was made of.
        run_events: How many events that run had up to its violation.
        tries: How many runs it took.
        complete: Whether nothing smaller of the kinds tried is left; False = the tries ran out.
    """

    kind: Literal["story", "scenario"]
    file: Path
    text: str
    invariant: str
    cause: str
    sentence: str
    steps: int | None
    events: int
    run_id: int
    run_events: int
    tries: int
    complete: bool

    @property
    def size(self) -> str:
        """`9 steps, 23 events`."""
        steps = "" if self.steps is None else f"{self.steps} steps, "
        return f"{steps}{self.events} events"

    def as_json(self) -> dict[str, Any]:
        """A document; `text` is in the file."""
        return {
            "kind": self.kind,
            "file": self.file.as_posix(),
            "invariant": self.invariant,
            "cause": self.cause,
            "sentence": self.sentence,
            "steps": self.steps,
            "events": self.events,
            "run_id": self.run_id,
            "run_events": self.run_events,
            "tries": self.tries,
            "complete": self.complete,
        }


class _Target:
    """The violation of a run that its witness has to show."""

    def __init__(self, scenario: Scenario, cause: str) -> None:
        self.scenario = scenario
        self.events: list[tuple[int, Event]] = []
        run = run_scenario(scenario, trace=self.events)
        self.rules: Rules = promise_of(scenario)[0]
        for violation in run.violations:
            signature = signature_of(self.events, violation, self.rules)
            if signature.cause == cause:
                self.violation: Violation = violation
                self.signature: Signature = signature
                return
        raise BadInput(f"{scenario.id}: its run does not fail for this cause: {cause}")

    @property
    def size(self) -> int:
        return sum(at <= self.violation.at for at, _ in self.events)


def witness_of(out: Path, run_id: int, cause: str, file: Path) -> Witness:
    """The smallest run known that fails as a run of a sweep does; the same for the same sweep.

    Args:
        out: The folder of the sweep.
        run_id: The run.
        cause: Why it fails.
        file: Where the witness is to be.

    Raises:
        BadInput: The run does not fail for this cause.
    """
    target = _Target(scenario_of_run(out, run_id), cause)
    story = _as_story(target)
    tries = 0
    if story is None:
        shrunk = shrink_timed(target.scenario, target.violation, tries=SCENARIO_TRIES)
        tries = shrunk.tries
        story = _as_story(_Target(shrunk.scenario, cause))
        if story is None:
            return Witness(
                "scenario",
                file,
                scenario_text(shrunk.scenario),
                shrunk.violation.invariant,
                cause,
                shrunk.violation.sentence,
                None,
                shrunk.events,
                run_id,
                target.size,
                tries,
                shrunk.complete,
            )
    return _of_story(target, story, run_id, file, tries)


def _as_story(target: _Target) -> Story | None:
    found = story_from_events(target.events, target.violation, target.rules, cause_of=signature_of)
    return None if found is None else found.story


def _of_story(target: _Target, story: Story, run_id: int, file: Path, tries: int) -> Witness:
    law = target.violation.invariant
    shrunk = shrink_story(story, law, tries=STORY_TRIES, cause_of=signature_of)
    source = f"run {run_id} of a sweep: {target.scenario.id}"
    named = replace(shrunk.story, id=file.stem, title=target.signature.cause, source=source)
    run = run_story(replace(named, expect=StoryExpect((law,))))
    broken = [
        name
        for name in run.violated
        if name == law or INVARIANTS[name].kind is not Kind.LIVENESS  # which stories ask for
    ]
    events = sum(at <= shrunk.violation.at for at, _ in run.events)
    return Witness(
        "story",
        file,
        story_text(named, violated=broken, remark=shrunk.violation.sentence),
        law,
        target.signature.cause,
        shrunk.violation.sentence,
        shrunk.steps,
        events,
        run_id,
        target.size,
        tries + shrunk.tries,
        shrunk.complete,
    )
