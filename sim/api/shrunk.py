"""What is left of a failure when everything that does not matter is gone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from sim.api.markup import facts, plain_text
from sim.api.scenarios import Scenario, load

if TYPE_CHECKING:
    from sim.api.recorded import Recorded
    from sim.check import Violation


class Shown(Protocol):
    """What is asked of the run of a witness."""

    @property
    def recorded(self) -> Recorded:
        """What happened."""

    def timeline(self, invariant: str | None = None) -> Any:
        """Its picture."""


R = TypeVar("R", bound=Shown)


@dataclass(frozen=True)
class Shrunk(Generic[R]):
    """A witness: the same invariant is violated for the same cause, in as little as can be.

    `print` shows its scenario file.

    Attributes:
        run: The run of the witness; it has all that any run has.
        scenario: The witness, ready to run: a story of single steps where one can say it.
        invariant: What it violates.
        steps: How many steps the story has; None = it is a timed scenario.
        events: How many events it has.
        events_before: How many events the failure had.
        tries: How many runs it took.
        complete: Whether it came to an end; False = the time was over.
        near_miss: The same with one rule changed, and nothing is violated; None = there is none.
        change: That rule and its value, as in `fix: empty_batch`; empty without a near miss.
    """

    run: R
    scenario: Scenario
    invariant: str
    steps: int | None
    events: int
    events_before: int
    tries: int
    complete: bool
    near_miss: Scenario | None = None
    change: str = ""

    def save(self, path: str | Path) -> Path:
        """Write the scenario of the witness as a file; its path."""
        return self.scenario.save(path)

    @property
    def size(self) -> str:
        """How large it is, in words."""
        steps = "" if self.steps is None else f"{self.steps} steps, "
        cut = "" if self.complete else "; the time was over"
        return f"{steps}{self.events} events, from {self.events_before}{cut}"

    def __str__(self) -> str:
        """The scenario file of the witness."""
        return self.scenario.as_file()

    def __repr__(self) -> str:
        """One line for people."""
        return f"Shrunk({self.invariant}: {self.size})"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object]] = [
            ("violates", self.invariant),
            ("size", self.size),
            ("nothing is violated with", self.change),
        ]
        picture: str = self.run.timeline(self.invariant)._repr_html_()
        return facts(rows) + plain_text(str(self)) + picture


class Found(NamedTuple):
    """The witness of a failure; the fields are those of `Shrunk`."""

    scenario: Scenario
    steps: int | None
    tries: int
    complete: bool
    near_miss: Scenario | None
    change: str


def smallest(
    scenario: Scenario, recorded: Recorded, violation: Violation, *, within_s: float | None
) -> Found:
    """Shrink what a scenario violates.

    Raises:
        BadInput: It does not violate it.
    """
    content: Any = scenario.content
    if scenario.kind == "story":
        return _smallest_story(content, recorded, violation, within_s)
    from sim.shrink.witness import witness_of

    found = witness_of(content, violation.invariant, within_s=within_s, source=scenario.source)
    near, change = (None, "") if found.story is None else _near_miss(found.story, found.invariant)
    return Found(load(found.text), found.steps, found.tries, found.complete, near, change)


def _smallest_story(
    story: Any, recorded: Recorded, violation: Violation, within_s: float | None
) -> Found:
    from dataclasses import replace

    from sim.explain.signature import signature_of
    from sim.shrink.story import shrink_story
    from sim.shrink.writing import story_text
    from sim.story.driver import run_story
    from sim.story.expect import StoryExpect

    shrunk = shrink_story(story, violation, within_s=within_s, cause_of=signature_of)
    expect = StoryExpect((violation.invariant,))
    broken = run_story(replace(shrunk.story, expect=expect)).violated
    small = replace(shrunk.story, title=str(signature_of(recorded.events, violation, story.rules)))
    text = story_text(small, violated=broken, remark=shrunk.violation.sentence)
    near, change = _near_miss(shrunk.story, violation.invariant)
    return Found(load(text), shrunk.steps, shrunk.tries, shrunk.complete, near, change)


def _near_miss(story: Any, invariant: str) -> tuple[Scenario | None, str]:
    from sim.shrink.near_miss import near_miss_of
    from sim.shrink.writing import rules_text, story_text

    found = near_miss_of(story, invariant)
    if found is None:
        return None, ""
    return load(story_text(found.story, violated=[])), rules_text({found.rule: found.value})
