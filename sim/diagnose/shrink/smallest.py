"""The smallest example of a failure: a story where there is one, else a scenario.

The roads from a run are tried in this order: a story made of the run as it is; the run made small,
and a story made of that; the small run itself. What comes out violates the same invariant with the
same signature. It depends on the run and on the budget in tries alone; a budget in seconds cuts it
short, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, Literal, NamedTuple, TypeVar

from sim.diagnose.explain.signature import Signature
from sim.diagnose.shrink.engine import Budget, Shown
from sim.diagnose.shrink.from_run import story_from_run, why_no_story
from sim.diagnose.shrink.target import Target, target_of
from sim.diagnose.shrink.writing import file_of, near_miss_file
from sim.diagnose.what_if.heals import NearMiss, near_miss_of
from sim.files.foreign.names import file_name
from sim.simulate.scenario.model import Scenario
from sim.simulate.story.format import Story

V = TypeVar("V", bound=Story | Scenario)

FIRST_SHARE: Final = 0.6
"""Of a budget, for making the run small before another story is made of it."""
SMALL: Final = 400
"""Events; of a longer run that gave no story before, none is made again."""
NO_STORY: Final = "no story was found that shows it for the same cause"


class SmallestExample(NamedTuple):
    """The smallest example found that violates an invariant for a cause.

    Attributes:
        kind: `story` of single steps, or `scenario` in simulated time.
        invariant: What is violated.
        signature: Why, in what was shrunk as in the example.
        sentence: What happens in the example, with the numbers in it.
        text: The file, which expects its violation.
        steps: Of the story; None = it is a scenario.
        events: How many events of the example lead to its violation.
        events_before: How many events there were.
        tries: How many stories and scenarios were run for it.
        complete: Whether it is as small as it gets; False = the budget was over, or it was
            interrupted.
        interrupted: Whether it was interrupted.
        made_of: What of a run the story was made of, or why there is none, in words; empty = it is
            a story that was made smaller.
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
        """Remark on its kind; empty = none."""
        if self.kind == "scenario":
            return f"as a scenario: {self.made_of}"
        return f"as a story, made of {self.made_of}" if self.made_of else ""


class Case:
    """Something to shrink: a story, or a run in simulated time.

    Attributes:
        value: The story or scenario.
        id: What the result is called, and its file in a folder.
        invariant: What it violates.
        signature: Why.
        size: How large it is, in steps once there is a story, until then in events.
        whole: The same for people, with its unit if that is another one.
    """

    def __init__(
        self,
        value: Story | Scenario,
        invariant: str | None = None,
        *,
        command: str = "",
        source: str = "",
        where: str | None = None,
    ) -> None:
        """Run it, and look for a story.

        Args:
            value: It violates something.
            invariant: Which one counts, as in `target_of`.
            command: What was typed, for title and source of the result.
            source: Where it comes from, if nothing was typed.
            where: What messages call it.

        Raises:
            BadInput: It violates nothing, or not this.
        """
        self._target: Target[Any]
        self._shown: Shown[Any]
        self._target, self._shown, self._events_before = target_of(value, invariant, where=where)
        self.value, self.invariant = value, self._target.invariant
        self.signature = self._target.signature
        self._command, self._source = command, source
        plain = re.sub(r"[^\w.-]", "_", f"{value.id}_{self.invariant.replace('-', '_')}")
        self.id = file_name(plain, instead="shrunk")
        self.size = self._events_before if isinstance(value, Scenario) else len(value.steps)
        self.whole = f"{self.size:,} events" if isinstance(value, Scenario) else str(self.size)
        self._made_of = ""
        if isinstance(value, Scenario):
            self._made_of = why_no_story(self.signature) or NO_STORY
            self._becomes_story(self._shown)

    @property
    def unit(self) -> str:
        """Unit of its size: `steps` or `events`."""
        return "steps" if isinstance(self._shown.value, Story) else "events"

    def _becomes_story(self, shown: Shown[Scenario]) -> bool:
        """Look for a story that shows the same as a scenario; it is shrunk from then on."""
        found = None if why_no_story(self.signature) else story_from_run(shown, self.signature)
        if found is not None:
            self._target, self._shown, self._made_of = found
        return found is not None

    def shrink(
        self,
        budget: Budget,
        *,
        report: Callable[[bool], None] = lambda _: None,
        hasty: bool = False,
    ) -> SmallestExample:
        """Shrinks it; an interrupt ends that with the best found.

        Args:
            budget: What it may cost. Without haste, a story of what is left of a run may take as
                many seconds again.
            report: Called after every run: whether `best` is new.
            hasty: Make a story also of a run that is not as small as it gets, when a share of the
                budget is spent.
        """
        self._reducer = self._target.reducer(self._shown.value)
        complete = interrupted = False
        try:
            complete = self._run(budget, report, hasty=hasty)
        except KeyboardInterrupt:
            interrupted = True
        best, is_story = self.best, self.unit == "steps"
        return SmallestExample(
            "story" if is_story else "scenario",
            self.invariant,
            self.signature,
            best.violation.sentence,
            self._text(best.violation.sentence),
            len(best.value.steps) if is_story else None,
            len(best.events),
            self._events_before,
            budget.tries,
            complete,
            interrupted,
            self._made_of,
        )

    def _run(self, budget: Budget, report: Callable[[bool], None], *, hasty: bool) -> bool:
        complete = False
        for share in (FIRST_SHARE, 1.0) if hasty else (1.0,):
            complete = self._reducer.run(budget, share=share, report=report)
            may_be_told = self.unit == "events" and (complete or hasty) and self.left <= SMALL
            if may_be_told and self._becomes_story(self.best):
                if not hasty:
                    budget.renew()
                self._reducer = self._target.reducer(self._shown.value)
                return self._reducer.run(budget, report=report) and complete
            if complete:
                break
        return complete

    @property
    def best(self) -> Shown[Any]:
        """The smallest that `shrink` has found."""
        return self._reducer.best

    @property
    def left(self) -> int:
        """How large that is."""
        return len(self.best.events) if self.unit == "events" else len(self.best.value.steps)

    def near_miss(self) -> NearMiss | None:
        """Finds one rule under which nothing is violated; None = no rule heals it."""
        return near_miss_of(self.best.value, self.invariant, self.value)

    def near_miss_text(self, near: NearMiss) -> str:
        """Writes the file of a near miss."""
        count = f"{self.left} steps, shrunk from those of {self.value.id}"
        where = count if self.unit == "steps" else "the same scenario"
        kept = "" if near.heals_origin else f"; {self.value.id} itself violates it all the same"
        title = f"{near.change}: {self.invariant} holds in {where}{kept}"
        return near_miss_file(self._named(near.value, title, "_near_miss"), self.invariant)

    def _named(self, value: V, title: str, behind: str = "") -> V:
        """The story or scenario under the name of the result, with where it comes from."""
        name = self.id if self._command else self.id.replace("-", "_")
        source = self._command or self._source or self.value.source
        return replace(value, id=name + behind, title=title, source=source)

    def draft(self) -> str:
        """Writes the file of the best so far; not run yet, it expects this invariant alone."""
        return self._text("")

    def _text(self, sentence: str) -> str:
        title = str(self.signature)
        if self._command:
            steps = f"{self.invariant} broken in {self.left} steps"
            why = steps if self.unit == "steps" else title
            title = f"{why}, shrunk from {self.whole} of {self.value.id}"
        return file_of(self._named(self.best.value, title), self.invariant, sentence)


def smallest_example(
    value: Story | Scenario,
    invariant: str | None = None,
    *,
    within_s: float | None = None,
    tries: int | None = None,
    source: str = "",
) -> SmallestExample:
    """Finds the smallest example of a failure.

    Args:
        value: What fails.
        invariant: The invariant of which the first violation counts; None = the first violated.
        within_s: Stop after so many seconds with the best found.
        tries: Stop after so many runs with the best found: the same on any machine.
        source: Where it comes from, for the file.

    Raises:
        BadInput: It violates nothing, or not this.
    """
    budget = Budget(within_s, tries)
    return Case(value, invariant, source=source).shrink(budget, hasty=True)
