"""The shortest schedule of each broken cell that a search proves, as a story with its picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sim.diagnose.draw import Case, figure_html
from sim.files.document import Document
from sim.files.formats import STORY_FORMAT
from sim.protocol.rules import Rules
from sim.simulate.run.stories import run_story
from sim.simulate.story.format import STORY_DEFAULTS, Story, story_in
from sim.study.report.grid import SEARCH, UNCLEAN, Finding, Grid, proven_plans, rules_searched
from sim.study.report.parts import Code, Heading, Note, Part, Picture
from sim.study.report.sweep_folder import SweepFolder


def schedules_of(folder: SweepFolder, grid: Grid) -> Iterator[Part]:
    """The schedule and the picture of each cell that a search breaks, clean elections first."""
    plans = proven_plans(folder.path)
    for hazard in grid.hazards:
        for label in grid.alternatives:
            broken = [
                one for one in grid.cell(hazard, label) if one.unit.kind == SEARCH and one.broken
            ]
            if broken:
                shortest = min(broken, key=lambda one: (UNCLEAN in one.unit.beside, one.moves or 0))
                yield Heading(
                    f"{hazard}, {label}: {shortest.moves} moves, none shorter in that world"
                )
                yield from _shown(plans[shortest.unit.name], shortest)


def _shown(plan: Mapping[str, Any], found: Finding) -> Iterator[Part]:
    answer = next(one for one in plan["answers"] if one["label"] == found.rule_set)
    schedule = answer["breaks"][found.invariant]["schedule"]
    if not schedule:
        yield Note("Its moves were not written down; `make explore` does.")
        return
    story = story_of(plan, answer["label"], schedule)
    run = run_story(story, also_check=(found.invariant,))
    violation = next(one for one in run.violations if one.invariant == found.invariant)
    yield Note(f"{found.unit}: {found.invariant}: {violation.sentence}")
    yield Code("\n".join(schedule))
    yield Picture(figure_html(Case.of(run, violation), unit=run.unit))


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
