"""What a trace looks like: the schema and the page say it, and every trace keeps to it."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator

from sim.cli.schemas.formats import trace_schema
from sim.files.formats import STORY_FORMAT
from sim.protocol.events import Event
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
PARTS = trace_schema()["$defs"]
KINDS = [kind.__name__ for kind in get_args(Event)]

Row = dict[str, Any]


def written(run: Run, mix: Mix | None = None) -> list[Row]:
    return [json.loads(line) for line in trace_lines(run, mix=mix)]


@cache
def strict(kind: str) -> Draft202012Validator:
    """What one kind of line has to look like, where no unknown field is allowed."""
    return Draft202012Validator(spelt_out(PARTS[kind]))


def spelt_out(part: Any) -> Any:
    """A part of the schema with what it refers to in its place, which is checked faster."""
    if isinstance(part, list):
        return [spelt_out(one) for one in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return spelt_out(PARTS[part["$ref"].removeprefix("#/$defs/")])
    closed = {"additionalProperties": False} if "required" in part else {}
    return {name: spelt_out(one) for name, one in part.items()} | closed


def assert_as_the_schema_says(rows: list[Row]) -> None:
    header, *events, verdict = rows
    strict("Header").validate(header)
    for row in events:
        assert row["event"] in KINDS
        strict(row["event"]).validate(row)
    strict("Verdict").validate(verdict)
    assert verdict["events"] == len(events)
    assert [row["at"] for row in events] == sorted(row["at"] for row in events)


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(trace_schema())


def test_every_line_of_every_third_storys_trace_is_as_the_schema_says() -> None:
    for path in STORIES[::3]:
        assert_as_the_schema_says(written(run_story(load_story(path))))


@pytest.mark.parametrize("number", range(len(PRESETS)))
def test_every_line_of_a_random_runs_trace_is_as_the_schema_says(number: int) -> None:
    preset = list(PRESETS)[number % len(PRESETS)]
    built_in = "kraft" if preset == "kraft" else ("reference", "storm", "quiet")[number % 3]
    mix = Mix(mix=built_in, duration_ms=1_500, small_fetches=0.5)
    scenario = generate(number, mix)
    scenario = scenario.with_rules(rules_from({"preset": preset}, base=scenario.rules))
    run = run_scenario(scenario, keep_events=True)

    rows = written(run, mix)

    assert_as_the_schema_says(rows)
    assert rows[0]["environment"]["mix"] == built_in
    assert rows[-1]["digest"] == run.digest


def test_the_whole_schema_takes_a_line_of_any_kind_and_refuses_a_wrong_one() -> None:
    whole = Draft202012Validator(trace_schema())
    rows = written(run_story(load_story(STORIES[0])))

    assert all(whole.is_valid(row) for row in rows)
    assert whole.is_valid({"at": 3, "event": "OfTomorrow", "replica": "r1", "anything": []})
    assert whole.is_valid(rows[1] | {"more": 1})
    elected = next(row for row in rows if row.get("event") == "LeaderElected")
    assert not whole.is_valid({name: elected[name] for name in elected if name != "epoch"})
    assert not whole.is_valid(elected | {"epoch": "1"})
    assert not whole.is_valid({name: rows[0][name] for name in rows[0] if name != "rules"})
    assert not whole.is_valid(rows[-1] | {"verdict": "perhaps"})


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "Cleaned"])
def test_the_page_tells_of_every_event_and_of_each_of_its_fields(kind: str) -> None:
    (row,) = re.findall(rf"^\| `{kind}` \|.*$", PAGE, re.MULTILINE)
    fields = set(PARTS[kind]["properties"]) - {"at", "event", "replica"}

    assert fields <= set(re.findall(r"`(\w+)`", row))
    assert set(re.findall(r"`(\w+)`", row.split("|")[2])) == fields


@pytest.mark.parametrize("part", ["Cleaned", "Removal", "Batch", "Record", "Header", "Verdict"])
def test_the_page_tells_of_every_field_of_a_pass_a_batch_a_record_and_both_ends(part: str) -> None:
    said = set(re.findall(r"[`\"](\w+)[`\"]", PAGE))

    assert set(PARTS[part]["properties"]) <= said


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
