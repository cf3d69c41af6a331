"""Runs for notebooks: from whatever a scenario comes, to tables, reasons and comparisons."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

import sim
from sim.api import sweeps, tables
from sim.protocol.events import (
    Cleaned,
    CleanerLooked,
    Event,
    FetchingFailed,
    ReplicaCrashed,
    ReplicaRestarted,
    SnapshotChunkFetched,
)
from sim.simulate.run.stories import run_story
from sim.simulate.story.format import load_story
from tests.commands import STORY
from tests.commands import TIMED as TIMED_LOST_TAIL

TIMED = """\
format: replog-scenario/1
title: nothing goes wrong
duration_ms: 1000
"""


def test_a_scenario_is_the_same_from_a_file_its_text_its_data_and_json() -> None:
    text = STORY.read_text()
    data = yaml.safe_load(text)
    runs = [sim.run(source) for source in (STORY, str(STORY), text, data, json.dumps(data))]

    assert {run.digest for run in runs} == {runs[0].digest}
    assert runs[0].as_expected
    assert runs[0].violated[0] == "follower-position-sound"


def test_rules_replace_those_of_the_scenario() -> None:
    run = sim.run(STORY, fix="leo_retention")

    assert run.verdict == "holds"
    assert not run.as_expected
    assert run.scenario.changed_rules["fix"] == "leo_retention"
    assert run.command == f"replog run {STORY} --rule=fix=leo_retention"


def test_a_seed_replaces_that_of_a_timed_scenario_and_is_refused_for_a_story() -> None:
    run = sim.run(TIMED, seed=5)

    assert run.scenario.seed == 5
    assert run.scenario.kind == "timed"
    with pytest.raises(sim.BadInput, match="a story has no randomness to seed"):
        sim.run(STORY, seed=5)


BAD = {
    "a path that is not there": ("none.yaml", "none.yaml: cannot be read: No such file"),
    "text that is no scenario": ("a: 1\nb: 2\n", "the text:1: format: missing; allowed: "),
    "a field that is not there": (
        TIMED + "faluts: []\n",
        "the text:4: faluts: unknown field (did you mean 'faults'?)",
    ),
    "data of the wrong kind": (
        {"format": "replog-story/1", "steps": ["elect 1 1"]},
        "the text: replicas: missing",
    ),
    "a seed out of range": (-1, "seed -1: a seed is between 0 and "),
    "something else": (
        3.5,
        "load: a float; allowed: a path, a text, a mapping, a seed, or a list of folders",
    ),
}


@pytest.mark.parametrize(("source", "complaint"), BAD.values(), ids=BAD)
def test_what_is_no_scenario_is_told_in_one_line(source: object, complaint: str) -> None:
    with pytest.raises(sim.BadInput) as raised:
        sim.run(source)  # type: ignore[arg-type]

    assert str(raised.value).startswith(complaint)
    assert len(str(raised.value).splitlines()) == 1


def test_a_shipped_scenario_is_loaded_by_its_id() -> None:
    assert sim.load("kip280_03") == sim.load(sim.load("kip280_03").path)
    assert sim.run("kip280_03").scenario.id == sim.load("kip280_03").id
    plan, file = sweeps._plan("demo")
    assert (plan.count, Path(file or "").name) == (2_000, "demo.yaml")


def test_an_unknown_rule_is_told_in_one_line() -> None:
    with pytest.raises(sim.BadInput, match=r"unknown rule 'fixx' \(did you mean 'fix'\?\)"):
        sim.run(STORY, fixx="none")


def test_the_tables_of_a_run_have_the_documented_columns_and_types() -> None:
    run = sim.run(STORY)

    for table in ("events", "violations", "replicas", "records"):
        first = ["step"] if table in ("events", "violations") else []
        names = [*first, *getattr(tables, table.upper()).split()]
        assert list(getattr(run, table).columns) == names
        documented = getattr(sim.Run, table).__doc__
        assert all(f"`{name}`" in documented for name in names)
    assert str(run.events.offset.dtype) == "Int64"
    assert str(run.events.event.dtype) == "string"
    assert "at_ms" in sim.run(7).events


def test_the_offset_of_an_event_is_the_one_it_is_about() -> None:
    """Not another one that it has, too: a high watermark, a number of entries, a log end."""
    at_five: list[Event] = [
        ReplicaCrashed("r1", log_end_offset=5, high_watermark=3),
        ReplicaRestarted("r1", log_end_offset=5, high_watermark=3),
        FetchingFailed("r1", "r2", base_offset=5, log_end_offset=7),
        SnapshotChunkFetched("r1", "r2", 5, epoch=1, position=2, entries=1, size_bytes=9),
        Cleaned("r1", 5, 9, (), (), (), (), None, 12, 3, (1, 1), (), False, 0, (), 0),
        CleanerLooked("r1", 0, True, 5, 9, 11, 0, 0, 0, None),
    ]
    recorded: Any = SimpleNamespace(events=[(1, event) for event in at_five])

    assert tables.events_table(recorded, "step").offset.tolist() == [5] * len(at_five)


def test_a_table_without_rows_has_the_same_types() -> None:
    holds, violated = sim.run(STORY, fix="empty_batch").violations, sim.run(STORY).violations

    assert len(holds) == 0
    assert holds.dtypes.equals(violated.dtypes)


def test_what_replicas_hold_is_what_the_story_says() -> None:
    run, told = sim.run(STORY), run_story(load_story(STORY))
    replicas = run.replicas.set_index("replica")

    for name, view in told.replicas.items():
        held = run.records[(run.records.replica == name) & (run.records.kind != "hole")]
        assert held.offset.tolist() == view.offsets
        for column in ("log_end_offset", "high_watermark", "log_start_offset"):
            assert replicas.loc[name, column] == getattr(view, column)


def test_an_explanation_is_about_the_invariant_that_was_asked_for() -> None:
    run = sim.run(STORY)

    assert run.explain().about == "follower-position-sound"
    about = run.explain("no-offset-reuse")
    assert about.about == "no-offset-reuse"
    assert about.decided_by
    assert about.decided_by in str(about)
    assert "gave offset 3 to e@3" in about[0]
    assert str(about).count("\n") == len(about) - 1
    assert "\n" not in repr(about)


def test_to_explain_what_is_not_violated_is_bad_input() -> None:
    with pytest.raises(sim.BadInput, match="nothing is violated here; verdict: holds"):
        sim.run(STORY, fix="empty_batch").explain()
    with pytest.raises(sim.BadInput, match=r"did you mean 'no-offset-reuse'\?"):
        sim.run(STORY).explain("no-offset-reus")


def test_several_rules_are_compared_each_with_each() -> None:
    compared = sim.run(STORY).compare(fix=["none", "empty_batch"], strategy=["header", "offset"])

    assert list(compared) == [
        "fix=none, strategy=header",
        "fix=none, strategy=offset",
        "fix=empty_batch, strategy=header",
        "fix=empty_batch, strategy=offset",
    ]
    with pytest.raises(sim.BadInput, match="not among them"):
        _ = compared["fix=empty"]


def test_without_a_name_every_fix_is_compared() -> None:
    from sim.protocol.compaction import FIXES

    assert set(sim.run(STORY).compare()) == set(FIXES)


HOSTILE = """\
format: replog-story/1
id: "<script>alert(1)</script>"
title: "<b>&"
replicas: [n1, n2]
steps:
  - elect n1 1
  - append n1 a <i>
  - append n1 b <i>
  - elect n2 1
"""


def test_markup_in_a_scenario_is_shown_as_text() -> None:
    run = sim.run(HOSTILE)
    shown = [
        run._repr_html_(),
        run.scenario._repr_html_(),
        run.compare("empty_batch")._repr_html_(),
        run.explain()._repr_html_(),
    ]

    assert "&lt;script&gt;" in shown[0]
    for html in shown:
        assert "<script" not in html
        assert "<b>" not in html
        assert "<i>" not in html


def test_a_loaded_scenario_shows_its_rules_and_its_steps() -> None:
    scenario = sim.load(STORY)

    assert scenario.changed_rules["strategy"] == "header"
    assert scenario.rules["fix"] == "none"
    assert "elect_from_isr r3 2" in scenario._repr_html_()
    assert scenario.command == f"replog run {STORY}"
    assert sim.load(STORY.read_text()).command is None


def test_the_changes_that_heal_a_story_heal_it() -> None:
    heals = sim.run(STORY).heals("no-offset-reuse")

    whole = heals[(heals.still == "") & (heals.kind == "rule")]
    assert "fix: empty_batch" in whole.change.tolist()
    assert "fix: none" not in heals.change.tolist()
    assert sim.run(STORY, fix="empty_batch").violated == []
    assert {"rule", "step"} == set(heals.kind)


def test_a_violation_is_sealed_at_the_latest_when_it_is_found() -> None:
    run = sim.run(TIMED_LOST_TAIL)
    points = run.no_return("no-offset-reuse", tries=2, within_s=None)

    assert points.at_ms.is_monotonic_increasing
    assert points.sealed.tolist() == sorted(points.sealed)
    assert points.iloc[-1].sealed
    assert points.iloc[-1].share == 1.0
    assert ((points.low <= points.share) & (points.share <= points.high)).all()
    with pytest.raises(sim.BadInput, match="a story has no chance in it"):
        sim.run(STORY).no_return()
