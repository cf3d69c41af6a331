"""A cause's witness as a file in the folder of its sweep, and how it plays."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from sim.bounds import Inconclusive
from sim.diagnose.shrink.smallest import smallest_example
from sim.errors import BadInput
from sim.simulate.run import Run, conclusive, run_of
from sim.study.suite.contents import content_at
from sim.study.sweep.one_run import scenario_of_run
from sim.study.sweep.wording import counted

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
        """A document; the text is in the file."""
        told = asdict(self) | {"file": self.file.as_posix()}
        del told["text"]
        return told


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
        source = f"run {run_id} of {out.name}"
        found = smallest_example(scenario_of_run(out, run_id), tries=TRIES, source=source)
    except BadInput:
        return None
    if found.signature.cause != cause:
        return None
    same = ("kind", "text", "invariant", "sentence", "steps", "events", "tries", "complete")
    told: dict[str, Any] = {name: getattr(found, name) for name in same}
    return Witness(file=file, run_id=run_id, run_events=found.events_before, **told)


def played(witness: Witness) -> Run:
    """Runs a witness from its file; its first violation is what the witness is about.

    Raises:
        BadInput: The file cannot be read, or does not show what it should any more.
    """
    try:
        run = conclusive(run_of(content_at(witness.file)))
    except Inconclusive as error:
        raise BadInput(f"{witness.file}: {error}") from None
    for place, violation in enumerate(run.violations):
        if violation.invariant == witness.invariant:
            return replace(run, violations=run.violations[place:])
    raise BadInput(f"{witness.file}: does not violate {witness.invariant} any more")
