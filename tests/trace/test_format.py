"""The lines of a trace have the fields that the page of the format describes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sim.files.formats import STORY_FORMAT
from sim.protocol.events import NAMES
from sim.protocol.events.cleaning import Cleaned, Removal
from sim.protocol.log import Batch, Record
from sim.protocol.rules import PRESETS, rules_from
from sim.simulate.run import Run
from sim.simulate.run.stories import run_story
from sim.simulate.run.timed import run_scenario
from sim.simulate.run.trace_file import trace_lines
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.story import load_story
from sim.study.suite import format_of, scenario_files

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "sim/protocol/events/FORMAT.md").read_text(encoding="utf-8")
STORIES = [path for path in scenario_files(ROOT / "scenarios") if format_of(path) == STORY_FORMAT]
KINDS = {name: kind.__struct_fields__ for kind, name in NAMES.items()}
"""Fields of each kind of event."""
NAMED = set(re.findall(r"[`\"](\w+)[`\"]", PAGE))
"""Names of fields that the page mentions."""

Row = dict[str, Any]


def written(run: Run, mix: Mix | None = None) -> list[Row]:
    return [json.loads(line) for line in trace_lines(run, mix=mix)]


def fields_of(part: Any) -> tuple[str, ...]:
    """The fields of a struct or a named tuple."""
    found: tuple[str, ...] = getattr(part, "__struct_fields__", None) or part._fields
    return found


def assert_as_the_page_says(rows: list[Row]) -> None:
    header, *events, verdict = rows
    assert set(header) | set(verdict) <= NAMED
    for row in events:
        assert list(row) == ["at", "event", *KINDS[row["event"]]]
    assert verdict["event"] == "Verdict"
    assert verdict["events"] == len(events)
    assert [row["at"] for row in events] == sorted(row["at"] for row in events)


def test_every_line_of_every_tenth_storys_trace_is_as_the_page_says() -> None:
    for path in STORIES[::10]:
        assert_as_the_page_says(written(run_story(load_story(path))))


@pytest.mark.parametrize("number", range(len(PRESETS)))
def test_every_line_of_a_random_runs_trace_is_as_the_page_says(number: int) -> None:
    preset = list(PRESETS)[number % len(PRESETS)]
    built_in = "kraft" if preset == "kraft" else ("reference", "storm", "quiet")[number % 3]
    mix = Mix(mix=built_in, duration_ms=1_500, small_fetches=0.5)
    scenario = generate(number, mix)
    scenario = scenario.with_rules(rules_from({"preset": preset}, base=scenario.rules))
    run = run_scenario(scenario, keep_events=True)

    rows = written(run, mix)

    assert_as_the_page_says(rows)
    assert rows[0]["environment"]["mix"] == built_in
    assert rows[-1]["digest"] == run.digest


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "Cleaned"])
def test_the_page_describes_every_event_and_each_of_its_fields(kind: str) -> None:
    (row,) = re.findall(rf"^\| `{kind}` \|.*$", PAGE, re.MULTILINE)
    fields = {*KINDS[kind]} - {"replica"}

    assert fields <= set(re.findall(r"`(\w+)`", row))
    assert set(re.findall(r"`(\w+)`", row.split("|")[2])) == fields


@pytest.mark.parametrize("part", [Cleaned, Removal, Batch, Record], ids=str)
def test_the_page_names_every_field_of_a_pass_a_batch_and_a_record(part: Any) -> None:
    assert {*fields_of(part)} <= NAMED


def test_a_record_says_whether_it_is_a_tombstone_by_the_newest_mark_of_the_run() -> None:
    """That is what the run is judged by; see `sim.simulate.scenario.model`."""
    from dataclasses import replace

    from sim.simulate.scenario.model import Change, Scenario, Send, Workload

    sends = (Send(10, 1, "k", "v", 10, flag=True), Send(20, 1, "k", None, 20, flag=False))
    flagged = Change(5, "all", (("tombstone_mark", "flag"),))
    scenario = Scenario("marks", duration_ms=300, workload=Workload(sends=sends))
    for changes, marks in (((), [False, True]), ((flagged,), [True, False])):
        changed = replace(scenario, changes=changes)
        rows = written(run_scenario(changed, keep_events=True))
        batches = [row["batch"] for row in rows if row.get("event") == "Appended"]

        assert [record["tombstone"] for b in batches for record in b["records"]] == marks
        assert rows[0]["tombstone_mark"] == ("flag" if changes else "null_value")
        assert rows[0]["rules"]["tombstone_mark"] == "null_value"
