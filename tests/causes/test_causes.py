"""The causes of a sweep: its failing runs add up, each cause has an example and a story."""

import json
import shutil
from pathlib import Path

import pytest

from sim.cli.studies import causes as causes_command
from sim.diagnose.explain import so_since
from sim.diagnose.explain.past import Past
from sim.diagnose.explain.questions import first_signatures
from sim.errors import BadInput
from sim.files.formats import STORY_FORMAT
from sim.simulate.run.stories import run_story
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.derived import promise_of
from sim.simulate.story import load_story
from sim.study.causes import Causes, TrackRecord, causes_of
from sim.study.suite.scenario_files import format_of, scenario_files
from sim.study.sweep.numbers import clopper_pearson
from sim.study.sweep.runner import run_sweep
from sim.study.sweep.table import scenario_of_run
from tests.commands import SCENARIOS
from tests.sweeps.fakes import plan, simulating_here
from tests.sweeps.tables import load_sweep, load_violations

LATE = "a late write outlives its delete: lower version came after its delete was gone"


PLAN: dict[str, object] = {
    "count": 3,
    "seed": 2,
    "rules": {"tombstone_removal": "immediate"},
    "rule_sets": [{"strategy": "offset"}, {"strategy": "header"}],
}
"""Of its six runs four fail, for two causes; of those of its first case one."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("causes") / "out"
    with simulating_here():
        run_sweep(plan(**PLAN), out=out, engine="process", partitions=1)
    return out


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A track record of two stories."""
    record = tmp_path_factory.mktemp("record")
    for name in ("23_late_write_after_an_expired", "81_late_version_shown_until_the_next"):
        found = next((SCENARIOS / "kip280").glob(f"kip280_{name}*"))
        shutil.copy(found, record)
    return record


@pytest.fixture(scope="module")
def causes(folder: Path, stories: Path) -> Causes:
    return causes_of(folder, stories=stories)


def test_causes_add_up_with_exact_intervals_and_the_run_that_fails_earliest(
    folder: Path, causes: Causes
) -> None:
    runs, found = load_sweep(folder), load_violations(folder)
    failing = runs[runs.verdict == "violated"]

    assert causes.text == "4 failing runs, 2 causes"
    assert causes.failing == len(failing) == 4
    assert {each.text: each.runs for each in causes.causes} == dict(failing.cause.value_counts())
    for cause in causes.causes:
        assert sum(cause.invariants.values()) == sum(s.runs for s in cause.shares) == cause.runs
        example = cause.example
        assert example.at_ms == min(runs[runs.cause == cause.text].first_violation_ms)
        row = found[(found.run_id == example.run_id) & (found.position == 0)]
        assert row.sentence.item() == example.sentence
    offset, header = causes.causes[0].shares
    assert (offset.label, offset.runs, offset.judged) == ("offset", 0, 3)
    assert (header.label, header.runs, header.judged) == ("header", 3, 3)
    assert header.interval == clopper_pearson(3, 3)


def test_the_tables_say_since_when(folder: Path) -> None:
    runs, found = load_sweep(folder), load_violations(folder)

    firsts = found[found.position == 0].set_index("run_id").since_ms
    assert runs.set_index("run_id").first_since_ms.dropna().to_dict() == firsts.to_dict()
    assert (found.since_ms < found.at_ms).any()
    last = found[found.run_id == found.run_id.max()]
    run_id = int(found.run_id.max())
    run = run_scenario(scenario_of_run(folder, run_id), keep_events=True)
    events = run.events
    rules = promise_of(scenario_of_run(folder, run_id)).rules
    again = [so_since(Past(events, rules), run.violations[place]) for place in last.position]
    assert last.since_ms.tolist() == again


def test_a_cause_that_a_story_shows_is_known_and_another_one_is_not(causes: Causes) -> None:
    late, other = causes.causes

    assert late.text == LATE
    assert late.story is not None
    assert late.story.path.name == "kip280_81_late_version_shown_until_the_next_write.yaml"
    assert other.story is None
    with pytest.raises(BadInput, match="no such folder of stories"):
        causes_of(causes.folder, stories="nowhere")


@pytest.mark.parametrize(
    ("name", "rule", "other"),
    [
        ("kip101_07_no_truncation", "truncation", "epoch_diverging"),
        ("files_01_file_of_epochs_is_behind", "epoch_recovery", "from_batches"),
        ("kip280_81_late_version_shown_until_the_next_write", "late_versions", "floor"),
        ("snap_16_log_emptied_by_the_first_chunk", "min_isr", 2),  # of no known kind
    ],
)
def test_a_story_under_rules_that_decide_otherwise_is_not_what_happened(
    name: str, rule: str, other: object, tmp_path: Path
) -> None:
    path = next(SCENARIOS.rglob(f"{name}*"))
    shutil.copy(path, tmp_path)
    known, run = TrackRecord(tmp_path), run_story(load_story(path))
    rules = run.rules

    for found in first_signatures(Past(run.events, rules), run.violations).values():
        assert known.story_of(found, rules)
        assert known.story_of(found, rules.with_values({rule: other})) is None


@pytest.mark.parametrize("lost", ["txn_01_abort_marker", "txn_02_commit_marker"])
def test_a_lost_marker_is_known_by_a_story_that_loses_one_that_says_the_same(
    lost: str, tmp_path: Path
) -> None:
    stories = {path.stem[:6]: path for path in (SCENARIOS / "transactions").glob("txn_0[12]*")}
    run = run_story(load_story(stories[lost[:6]]))
    found = first_signatures(Past(run.events, run.rules), run.violations).values()

    for name, path in stories.items():
        (tmp_path / name).mkdir()
        shutil.copy(path, tmp_path / name)
        known = TrackRecord(tmp_path / name)
        shown = {known.story_of(one, run.rules) is not None for one in found}
        assert shown == {lost.startswith(name)}


def test_a_story_that_violates_something_is_known_for_what_it_shows() -> None:
    known, shown = TrackRecord(SCENARIOS), 0
    for path in [*scenario_files(SCENARIOS)][::3]:
        story = load_story(path) if format_of(path) == STORY_FORMAT else None
        if story is not None and story.expect.violated:
            shown += 1
            run = run_story(story)
            for found in first_signatures(Past(run.events, story.rules), run.violations).values():
                assert known.story_of(found, story.rules), path
    assert shown > 30


def test_the_command_and_its_document_say_the_same(
    folder: Path,
    stories: Path,
    causes: Causes,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sim.study.causes.shipped_folder", lambda: stories)

    assert causes_command(folder) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == causes.text
    assert f"1. {LATE}" in lines
    assert any("not known: no story" in line for line in lines)
    causes_command(folder, as_json=True)
    shown = json.loads(capsys.readouterr().out)
    assert shown["failing"] == 4
    assert [one["cause"] for one in shown["causes"]] == [each.text for each in causes.causes]
    assert shown["causes"][1]["story"] is None
