"""The shortest schedules that searches prove, each once, as stories with their pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sim.diagnose.draw import DrawnCase, figure_html
from sim.diagnose.explain.case import listed
from sim.files import markdown
from sim.files.document import Document
from sim.files.formats import STORY_FORMAT
from sim.protocol.rules import Rules
from sim.simulate.run.stories import run_story
from sim.simulate.story.format import STORY_DEFAULTS, Story, story_in
from sim.study.explore.judging import JUDGING_STEPS
from sim.study.report.cells import breaks_of, moves_of
from sim.study.report.grid import Finding, Grid, rules_searched


@dataclass
class Schedule:
    """A schedule, and the broken cells of a grid whose shortest schedule is this or its beginning.

    Attributes:
        plan: The proven plan of its search.
        steps: Its steps as a story has them, a line each.
        findings: The findings that it shows, the one with the most moves first.
    """

    plan: Mapping[str, Any]
    steps: Sequence[str]
    findings: list[Finding]

    def begins_with(self, other: Schedule) -> bool:
        """True if the moves of another schedule are its first steps, from the same start."""
        moves = [step for step in other.steps if step not in JUDGING_STEPS]
        same = all(self.plan[name] == other.plan[name] for name in ("replicas", "isr"))
        return same and bool(moves) and [*self.steps[: len(moves)]] == moves


def schedules_of(grid: Grid) -> list[Schedule]:
    """The schedules of all cells that a search breaks, those of fewer moves first.

    A schedule with which another one begins is left out; the other one has its findings.
    """
    cells = [grid.cell(hazard, one) for hazard in grid.hazards for one in grid.alternatives]
    wanted = [one for cell in cells for one in breaks_of(cell)]
    found: list[Schedule] = []
    for one in sorted(wanted, key=moves_of, reverse=True):
        plan = grid.plans[one.unit.name]
        answer = next(each for each in plan["answers"] if each["label"] == one.rule_set)
        own = Schedule(plan, answer["breaks"][one.invariant]["schedule"], [one])
        known = next((each for each in found if each.begins_with(own)), None)
        if known is None:
            found.append(own)
        else:
            known.findings.append(one)
    return found[::-1]


def anchors_of(schedules: Sequence[Schedule]) -> dict[Finding, str]:
    """Each finding with the anchor of its schedule."""
    numbered = enumerate(schedules, 1)
    return {one: f"schedule-{number}" for number, each in numbered for one in each.findings}


NOTE: Final = (
    "No schedule of fewer moves breaks in its world what is judged at once; before what is judged "
    "at rest, the fetches of resting are not counted. A hazard that an earlier move breaks stands "
    "beside the schedule that goes on."
)


def schedules_in(schedules: Sequence[Schedule]) -> Iterator[str]:
    """Paragraphs of Markdown: each schedule under a heading, its steps, what they break.

    A comment marks the place of its picture (`pictures_of`).
    """
    yield NOTE
    for number, schedule in enumerate(schedules, 1):
        longest = schedule.findings[0]
        title = markdown.text(f"{longest.unit.name}: {longest.moves} moves")
        yield f'### <a id="schedule-{number}"></a>{title}'
        broken: dict[str, list[str]] = {}
        for one in schedule.findings:
            what = f"{one.hazard} after {one.moves} ({one.unit})"
            broken.setdefault(what, []).append(one.alternative)
        texts = (f"{what} under {listed(labels)}" for what, labels in broken.items())
        yield f"Shows {markdown.text('; '.join(texts))}."
        yield markdown.block(schedule.steps)
        yield f"<!-- picture-{number} -->"


def pictures_of(schedules: Sequence[Schedule]) -> dict[str, str]:
    """The pictures of schedules as HTML, by the comment that marks their place."""
    found = {}
    for number, schedule in enumerate(schedules, 1):
        longest = schedule.findings[0]
        story = story_of(schedule.plan, longest.rule_set, [*schedule.steps])
        run = run_story(story, also_check=(longest.invariant,))
        violation = next(one for one in run.violations if one.invariant == longest.invariant)
        found[f"<!-- picture-{number} -->"] = figure_html(DrawnCase(run, violation))
    return found


def story_of(plan: Mapping[str, Any], label: str, schedule: list[str]) -> Story:
    """A schedule of a search as a story, under the rules of one of its rule sets."""
    rules = Rules().with_values(rules_searched(plan)[label])
    data: dict[str, Any] = {
        "format": STORY_FORMAT,
        "title": f"{plan['plan']}, {label}",
        "source": "replog explore",
        "rules": rules.differing_from(STORY_DEFAULTS),
        "steps": schedule,
    } | {name: plan[name] for name in ("replicas", "isr")}
    return story_in(Document(plan["plan"], data), default_id=f"{plan['plan']}_{label}")
