"""A cause's witness as a file in the folder of its sweep, and how it plays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from sim.check import Violation
from sim.check.checker import known_invariants
from sim.check.coverage import SITUATIONS
from sim.errors import BadInput
from sim.rules import Rules
from sim.scenario.file.load import load_scenario
from sim.scenario.model.promises import promise_of
from sim.shrink.witness import witness_of_row
from sim.story import load_story, run_story
from sim.sweeps.wording import counted
from sim.timed_run import run_scenario
from sim.trace import Event

TRIES: Final = 800
"""Stories and scenarios that are run at most for one witness: the same on any machine."""


@dataclass(frozen=True, slots=True)
class Witness:
    """The smallest run known that fails for a cause.

    Attributes:
        kind: `story`, or `scenario` where no story can say it.
        file: Where it is; a relative path is from where the program runs.
        text: The file.
        invariant: What it violates.
        sentence: What happens in it.
        steps: Of the story; None = it is a scenario.
        events: How many there are up to the violation.
        run_id: The run it was made of.
        run_events: How many events that run had.
        tries: How many runs it took.
        complete: Whether it is as small as it gets; False = the tries ran out.
    """

    kind: Literal["story", "scenario"]
    file: Path
    text: str
    invariant: str
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
        steps = "" if self.steps is None else f"{counted(self.steps, 'step')}, "
        return f"{steps}{counted(self.events, 'event')}"

    def as_json(self) -> dict[str, Any]:
        """A document; the file is by itself."""
        return {
            "kind": self.kind,
            "file": self.file.as_posix(),
            "invariant": self.invariant,
            "sentence": self.sentence,
            "steps": self.steps,
            "events": self.events,
            "run_id": self.run_id,
            "run_events": self.run_events,
            "tries": self.tries,
            "complete": self.complete,
        }


def make_witness(out: Path, run_id: int, cause: str, file: Path) -> Witness | None:
    """The witness of a run of a sweep; it is written nowhere yet.

    Args:
        out: The folder of the sweep.
        run_id: A run that fails for the cause first.
        cause: Family and mechanism.
        file: Where the witness is to be.

    Returns:
        None = the run does not fail for this cause, here and now.
    """
    try:
        found = witness_of_row(out, run_id, tries=TRIES)
    except BadInput:
        return None
    if found.signature.cause != cause:
        return None
    return Witness(
        found.kind,
        file,
        found.text,
        found.invariant,
        found.sentence,
        found.steps,
        found.events,
        run_id,
        found.events_before,
        found.tries,
        found.complete,
    )


class Played(NamedTuple):
    """A witness as it ran, for pictures.

    Attributes:
        events: (when, event) of everything that happened.
        violation: What it is about.
        rules: What it is judged by.
        labels: Of a story: uid -> label.
        unit: What times count: `step` or `ms`.
    """

    events: list[tuple[int, Event]]
    violation: Violation
    rules: Rules
    labels: Mapping[int, str]
    unit: str


def played(witness: Witness) -> Played:
    """Runs a witness from its file.

    Raises:
        BadInput: The file cannot be read, or does not show what it should any more.
    """
    if witness.kind == "story":
        told = run_story(load_story(witness.file))
        events, violations, rules = list(told.events), told.violations, told.story.rules
        labels, unit = told.labels, "step"
    else:
        scenario = load_scenario(
            witness.file, known_invariants=known_invariants(), known_reached=SITUATIONS
        )
        events, labels, unit = [], MappingProxyType({}), "ms"
        violations = run_scenario(scenario, trace=events).violations
        rules = promise_of(scenario).rules
    for violation in violations:
        if violation.invariant == witness.invariant:
            return Played(events, violation, rules, labels, unit)
    raise BadInput(f"{witness.file}: does not violate {witness.invariant} any more")
