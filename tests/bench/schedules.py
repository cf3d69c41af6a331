"""Searches of every schedule: transitions per second, against a plain search that copies."""

from __future__ import annotations

import time
from copy import deepcopy
from pathlib import Path
from typing import Any

from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.format import Story
from sim.study.explore.plan import Plan, load_plan
from sim.study.explore.search import Search
from sim.study.explore.space import Space
from sim.study.explore.witness import schedule_of, story_of

ROOT = Path(__file__).resolve().parents[2]
PLAN = ROOT / "scenarios" / "explore" / "three_replicas.yaml"
COPYING_SECONDS = 2.0


def schedules(depth: int | None = None) -> dict[str, Any]:
    """Rates per second of processor time, of the first rules of a plan, to a depth."""
    plan = load_plan(PLAN)
    label, rules = plan.searched()[0]
    search = Search(Space(plan.world_of(), rules))
    began = time.process_time()
    levels = search.run(depth=depth).levels
    searching = time.process_time() - began
    transitions = sum(level.transitions for level in levels)
    rate, plain = transitions / searching, _copying(_longest(plan, search))
    return {
        "world": f"{plan.title}; rules: {label}",
        "states": search.result.states,
        "transitions": transitions,
        "transitions_per_second": round(rate),
        "copying_transitions_per_second": round(plain),
        "over_copying": round(rate / plain),
    }


def _longest(plan: Plan, search: Search) -> Story:
    """The schedule, of those that were found, with the most moves."""
    found = max(search.result.found.values(), key=lambda one: one.depth)
    rules = plan.searched()[0][1]
    return story_of(
        plan.world_of(), rules, schedule_of(search, found), ends_with=found.ends_with, name=""
    )


def _copying(story: Story) -> float:
    """Steps per second of who copies all replicas before each, so as to come back to them."""
    taken, began = 0, time.process_time()
    while time.process_time() - began < COPYING_SECONDS:
        driver = StoryDriver(story, invariants=())
        for step in story.steps:
            never_changes = {id(one): one for one in (story, story.rules, story.expect)}
            driver = deepcopy(driver, never_changes)
            driver.take(step)
            taken += 1
    return taken / (time.process_time() - began)
