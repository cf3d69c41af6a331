"""The example of a value in the table of rules is a file in which it makes a difference."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sim.files.formats import LOG_FORMAT, PLAN_FORMAT, SCENARIO_FORMAT, STORY_FORMAT
from sim.protocol.rules import RULES, Rules
from sim.protocol.rules.spec import Value
from sim.simulate.logfile.answer import answer_to
from sim.simulate.logfile.eligible import eligible_answer, select_log
from sim.simulate.logfile.eligible_file import (
    EligibleFile,
    eligible_file_in,
    is_eligible_document,
)
from sim.simulate.logfile.file import LogFile, log_file_in, read_log_document
from sim.simulate.run.stories import run_story
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.file.load import load_scenario
from sim.simulate.scenario.model import Scenario
from sim.simulate.story import Story, load_story
from sim.study.suite import format_of
from sim.study.sweep.plan import load_plan

FOLDER = Path(__file__).parents[2] / "scenarios"
LABELS = {"offset_assignment"}
"""Rules that name a design and change nothing: a story shows the design by a step of its own."""

VALUES = [(name, value) for name, spec in RULES.items() for value in spec.described()]


@cache
def loaded(example: str) -> tuple[str, Any]:
    """The format of a file, and what is in it."""
    path = FOLDER / example
    kind = format_of(path)
    if kind == STORY_FORMAT:
        return kind, load_story(path)
    if kind == SCENARIO_FORMAT:
        return kind, load_scenario(path)
    assert kind == LOG_FORMAT
    document = read_log_document(path)
    if is_eligible_document(document):
        return kind, eligible_file_in(document)
    return kind, log_file_in(document)


def settings_of(example: str) -> Rules:
    """What the file itself goes by."""
    _, content = loaded(example)
    if isinstance(content, Scenario):
        return content.rules
    return content.rules.rules if isinstance(content, LogFile) else content.rules


@cache
def outcome(example: str, rule: str, value: object) -> object:
    """What the file ends with when one rule has this value."""
    kind, content = loaded(example)
    if isinstance(content, EligibleFile):
        file = eligible_file_in(read_log_document(FOLDER / example), rules={rule: value})
        return eligible_answer(select_log(file.logs, now_ms=file.now_ms))
    if kind == LOG_FORMAT:
        file = log_file_in(read_log_document(FOLDER / example), rules={rule: value})
        return answer_to(file)
    if kind == STORY_FORMAT:
        assert isinstance(content, Story)
        told = run_story(replace(content, rules=content.rules.with_values({rule: value})))
        return sorted(told.violated), told.replicas, told.leader
    assert isinstance(content, Scenario)
    run = run_scenario(content.with_rules(content.rules.with_values({rule: value})))
    return run.verdict, run.violations, run.counters


@pytest.mark.parametrize(
    ("rule", "value"), VALUES, ids=lambda part: part if isinstance(part, str) else str(part.name)
)
def test_the_example_of_a_value_goes_by_it_and_ends_otherwise_with_another(
    rule: str, value: Value
) -> None:
    assert (FOLDER / value.example).is_file()
    kind, content = loaded(value.example)
    if kind == PLAN_FORMAT:
        assert {rule: value.name} in load_plan(FOLDER / value.example).rule_sets
    else:
        assert settings_of(value.example).as_dict()[rule] == value.name
    if rule in LABELS:
        assert any(step.op == "push" for step in content.steps) == (value.name != "leader_assigned")
        return

    others = [other for other in RULES[rule].values if other != value.name]
    with_it = outcome(value.example, rule, value.name)
    assert any(outcome(value.example, rule, other) != with_it for other in others)
