"""The smallest example of a failure: a story if there is one, else a scenario.

Of a run these are tried in order: a story made of the run; a story made of the shrunk run; the
shrunk run itself. The result violates the same invariant with the same signature. It depends only
on the run and on the budget in tries; a budget in seconds ends the work early.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar

from sim.diagnose.explain.questions import Signature
from sim.diagnose.shrink.engine import Reducer, ShownTarget, ShrinkBudget
from sim.diagnose.shrink.from_run import story_from_run, why_no_story
from sim.diagnose.shrink.target import target_of
from sim.diagnose.shrink.writing import file_of, story_text
from sim.diagnose.what_if import NearMiss, near_miss_of
from sim.files.foreign import file_name
from sim.simulate.scenario.model import Scenario
from sim.simulate.story.format import Story

V = TypeVar("V", bound=Story | Scenario)

FIRST_SHARE: Final = 0.6
"""Share of a budget for shrinking the run before another story is made of it."""
SMALL: Final = 400
"""Number of events up to which a story is made of a shrunk run."""
NO_STORY: Final = "no story was found that shows it for the same cause"


class SmallestExample(NamedTuple):
    """The smallest example found that violates an invariant for a cause.

    Attributes:
        kind: `story` of single steps, or `scenario` in simulated time.
        invariant: Name of the violated invariant.
        signature: Signature of the violation, the same as before.
        sentence: Sentence of the violation in the example.
        text: Text of its file, which expects the violation.
        steps: Number of steps of the story; None for a scenario.
        events: Number of events of the example up to its violation.
        events_before: Number of events of the failure.
        tries: Number of stories and scenarios that were run.
        complete: True if no pass finds a smaller one; False if the budget was over, or the work was
            interrupted.
        interrupted: True if the work was interrupted.
        made_of: `the run` for a story made of one, or why there is none; empty for a shrunk story.
    """

    kind: Literal["story", "scenario"]
    invariant: str
    signature: Signature
    sentence: str
    text: str
    steps: int | None
    events: int
    events_before: int
    tries: int
    complete: bool
    interrupted: bool
    made_of: str

    @property
    def remark(self) -> str:
        """The origin of the example in words; empty for a shrunk story."""
        if self.kind == "scenario":
            return f"as a scenario: {self.made_of}"
        return f"as a story, made of {self.made_of}" if self.made_of else ""


class ShrinkCase:
    """A story, or a run in simulated time, that is to be shrunk.

    Attributes:
        value: The story or scenario.
        id: Id of the result, and name of its file in a folder.
        invariant: Name of the violated invariant.
        signature: Signature of the violation.
        size: Size of the value: steps of a story, events of a run.
        whole: The size as text: `12` for steps, `1,234 events` for a run.
    """

    def __init__(
        self,
        value: Story | Scenario,
        invariant: str | None = None,
        *,
        command: str = "",
        source: str = "",
        where: str | None = None,
        folder: Path = Path(),
    ) -> None:
        """Runs the value, and looks for a story if it is a scenario.

        Args:
            value: A story or a scenario with a violation.
            invariant: Invariant that counts, as in `target_of`.
            command: Command of the user, for title and source of the result.
            source: Source of the result without a command.
            where: Name of the value in messages.
            folder: Folder of the result, from where it names a file of changes.

        Raises:
            BadInput: The value violates nothing, or not this invariant.
        """
        target, shown, self._events_before = target_of(value, invariant, where=where)
        self.value, self.invariant, self.signature = value, target.invariant, target.signature
        self._command, self._source, self._folder = command, source, folder
        plain = re.sub(r"[^\w.-]", "_", f"{value.id}_{self.invariant.replace('-', '_')}")
        self.id = file_name(plain, instead="shrunk")
        self.size = self._events_before if isinstance(value, Scenario) else len(value.steps)
        self.whole = f"{self.size:,} events" if isinstance(value, Scenario) else str(self.size)
        self._reducer: Reducer[Any]
        self._made_of = ""
        if isinstance(value, Scenario):
            self._made_of = why_no_story(self.signature) or NO_STORY
        if isinstance(value, Story) or not self._becomes_story(shown):
            self._reducer = target.reducer(shown.value)

    @property
    def unit(self) -> str:
        """The unit of the current size: `steps` or `events`."""
        return "steps" if isinstance(self.best.value, Story) else "events"

    def _becomes_story(self, shown: ShownTarget[Any]) -> bool:
        """Looks for a story that shows the same as a scenario, to be shrunk in its place."""
        found = None if why_no_story(self.signature) else story_from_run(shown, self.signature)
        if found is not None:
            target, story = found
            self._reducer, self._made_of = target.reducer(story.value), "the run"
        return found is not None

    def shrink(
        self,
        budget: ShrinkBudget,
        *,
        report: Callable[[bool], None] = lambda _: None,
    ) -> SmallestExample:
        """Shrinks the value; an interrupt ends that with the best found.

        Args:
            budget: Limit of the work. When `FIRST_SHARE` of it is spent, a story is made of a run
                that is not completely shrunk.
            report: Function called after every run, with True for a new `best`.
        """
        complete = interrupted = False
        try:
            complete = self._run(budget, report)
        except KeyboardInterrupt:
            interrupted = True
        best, is_story = self.best, self.unit == "steps"
        return SmallestExample(
            "story" if is_story else "scenario",
            self.invariant,
            self.signature,
            best.violation.sentence,
            file_of(self._titled(), self.invariant, best.violation.sentence, folder=self._folder),
            len(best.value.steps) if is_story else None,
            len(best.events),
            self._events_before,
            budget.tries,
            complete,
            interrupted,
            self._made_of,
        )

    def _run(self, budget: ShrinkBudget, report: Callable[[bool], None]) -> bool:
        complete = False
        for share in (FIRST_SHARE, 1.0):
            complete = self._reducer.run(budget, share=share, report=report)
            may_convert = self.unit == "events" and self.left <= SMALL
            if may_convert and self._becomes_story(self.best):
                return self._reducer.run(budget, report=report)
            if complete:
                break
        return complete

    @property
    def best(self) -> ShownTarget[Any]:
        """The smallest value so far."""
        return self._reducer.best

    @property
    def left(self) -> int:
        """The size of `best`."""
        return len(self.best.events) if self.unit == "events" else len(self.best.value.steps)

    def near_miss(self) -> NearMiss | None:
        """Finds one rule under which nothing is violated; None if no rule heals it."""
        return near_miss_of(self.best.value, self.invariant, self.value)

    def near_miss_text(self, near: NearMiss) -> str:
        """Writes the file of a near miss."""
        count = f"{self.left} steps, shrunk from those of {self.value.id}"
        where = count if self.unit == "steps" else "the same scenario"
        kept = "" if near.heals_origin else f"; {self.value.id} itself violates it all the same"
        title = f"{near.change}: {self.invariant} holds in {where}{kept}"
        named = self._named(near.value, title, "_near_miss")
        return file_of(named, self.invariant, folder=self._folder)

    def _named(self, value: V, title: str, behind: str = "") -> V:
        """Gives a story or scenario the id and the title of the result, and its source."""
        name = self.id if self._command else self.id.replace("-", "_")
        source = self._command or self._source or self.value.source
        return replace(value, id=name + behind, title=title, source=source)

    def draft(self) -> str:
        """Writes the file of the best so far.

        A story is not run again for it: it expects this invariant alone.
        """
        best, expected = self._titled(), [self.invariant]
        if isinstance(best, Story):
            return story_text(best, violated=expected, checked=expected)
        return file_of(best, self.invariant, folder=self._folder)

    def _titled(self) -> Any:
        """The best so far with its title."""
        title = str(self.signature)
        if self._command:
            steps = f"{self.invariant} broken in {self.left} steps"
            why = steps if self.unit == "steps" else title
            title = f"{why}, shrunk from {self.whole} of {self.value.id}"
        return self._named(self.best.value, title)
