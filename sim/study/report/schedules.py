"""The shortest schedules that searches prove, each once, as stories with their pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
from sim.study.report.cells import breaks_of
from sim.study.report.grid import Finding, Grid, proven_plans, rules_searched
from sim.study.report.sweep_folder import SweepFolder


@dataclass
class Schedule:
    """A schedule and the broken cells of a grid whose shortest one it is, or begins with.

    Attributes:
        steps: Its steps as a story has them, a line each.
        findings: The findings that it shows.
    """

    steps: Sequence[str]
    findings: list[Finding] = field(default_factory=list)

    def begins_with(self, moves: Sequence[str]) -> bool:
        """Returns True if these are its first steps."""
        return [*self.steps[: len(moves)]] == [*moves]


def schedules_of(folder: SweepFolder, grid: Grid) -> list[Schedule]:
    """The schedules of all cells that a search breaks; one that another begins with is left out."""
    plans = proven_plans(folder.path)
    cells = [grid.cell(hazard, one) for hazard in grid.hazards for one in grid.alternatives]
    wanted = [one for cell in cells for one in breaks_of(cell) if one is not None]
    found: list[Schedule] = []
    for one in sorted(wanted, key=lambda one: -(one.moves or 0)):
        steps = _answer(plans, one)["breaks"][one.invariant]["schedule"]
        moves = [step for step in steps if step not in JUDGING_STEPS]
        start = _start(plans, one)
        begun = (
            each
            for each in found
            if moves and start == _start(plans, each.findings[0]) and each.begins_with(moves)
        )
        schedule = next(begun, None) or Schedule(steps)
        schedule.findings.append(one)
        found += [schedule] if len(schedule.findings) == 1 else []
    return found[::-1]


def _start(plans: Mapping[str, Any], found: Finding) -> tuple[Any, ...]:
    plan = plans[found.unit.name]
    return plan["replicas"], plan["isr"]


def _answer(plans: Mapping[str, Any], found: Finding) -> Mapping[str, Any]:
    answers: list[dict[str, Any]] = plans[found.unit.name]["answers"]
    return next(one for one in answers if one["label"] == found.rule_set)


def anchors_of(schedules: Sequence[Schedule]) -> dict[Finding, str]:
    """Each finding with the anchor of its schedule."""
    numbered = enumerate(schedules, 1)
    return {one: f"schedule-{number}" for number, each in numbered for one in each.findings}


NOTE: Final = (
    "No schedule of fewer moves breaks in its world what is judged at once; before what is judged "
    "at rest, the fetches of resting are not counted. A hazard that an earlier move breaks stands "
    "beside the schedule that goes on."
)


def schedules_in(folder: SweepFolder, schedules: Sequence[Schedule]) -> Iterator[str]:
    """Paragraphs of Markdown: each schedule under a heading, its steps, what they break.

    A comment marks the place of its picture (`pictures_of`).
    """
    yield NOTE
    for number, schedule in enumerate(schedules, 1):
        longest = schedule.findings[0]
        title = markdown.text(f"{longest.unit.name}: {longest.moves} moves")
        yield f'### <a id="schedule-{number}"></a>{title}'
        broken: dict[tuple[str, str], list[str]] = {}
        for one in schedule.findings:
            key = str(one.unit), f"{one.hazard} after {one.moves}"
            broken.setdefault(key, []).append(one.alternative)
        under: dict[tuple[str, str], list[str]] = {}
        for (unit, what), labels in broken.items():
            under.setdefault((unit, listed(labels)), []).append(what)
        yield markdown.text(
            " ".join(
                f"Under {who} ({unit}): {listed(what)}." for (unit, who), what in under.items()
            )
        )
        if schedule.steps:
            yield markdown.block(schedule.steps)
            yield f"<!-- {picture_name(number)} -->"
        else:
            yield "Its moves were not written down; `make explore` does."


def picture_name(number: int) -> str:
    """The name of the picture of a schedule, from 1 on."""
    return f"picture-{number}"


def pictures_of(folder: SweepFolder, schedules: Sequence[Schedule]) -> dict[str, str]:
    """The pictures of schedules as HTML, by name."""
    plans, found = proven_plans(folder.path), {}
    for number, schedule in enumerate(schedules, 1):
        if schedule.steps:
            longest = schedule.findings[0]
            story = story_of(plans[longest.unit.name], longest.rule_set, [*schedule.steps])
            run = run_story(story, also_check=(longest.invariant,))
            violation = next(one for one in run.violations if one.invariant == longest.invariant)
            case = DrawnCase.of(run, violation)
            found[picture_name(number)] = figure_html(case, unit=run.unit)
    return found


def story_of(plan: Mapping[str, Any], label: str, schedule: list[str]) -> Story:
    """A schedule of a search as a story, under the rules of one of its rule sets."""
    rules = Rules().with_values(rules_searched(plan)[label])
    data: dict[str, Any] = {
        "format": STORY_FORMAT,
        "id": f"{plan['plan']}_{label}",
        "title": f"{plan['plan']}, {label}",
        "source": "replog explore",
        "rules": rules.differing_from(STORY_DEFAULTS),
        "replicas": plan["replicas"],
        "isr": plan["isr"],
        "steps": schedule,
    }
    return story_in(Document(plan["plan"], data), default_id=plan["plan"])
