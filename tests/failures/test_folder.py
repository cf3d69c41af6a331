"""The folder of a failure: all there is about it, whole or not there, never overwritten."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

import sim
from sim.diagnose.failures import FILES
from sim.simulate.run.timed import run_scenario
from tests.commands import ROOT, STORY, TIMED, replog

SETTLED = ROOT / "scenarios/durability/timed_power_failure.yaml"


@pytest.mark.parametrize("file", [STORY, TIMED], ids=["story", "timed"])
def test_its_command_runs_in_it_as_it_stands_and_fails_in_the_same_way(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = sim.run(file)
    folder = run.save(tmp_path / "failures")

    assert {path.name for path in folder.iterdir()} == {*FILES, "README.md"}
    monkeypatch.chdir(folder)
    program, *words = shlex.split(json.loads((folder / "failure.json").read_text())["command"])
    assert program == "replog"
    out = replog(*words, "--json").out
    assert json.loads(out)["violations"][0]["sentence"] in (folder / "README.md").read_text()
    assert sim.run(folder / "scenario.yaml").digest == run.digest
    lines = (folder / "trace.ndjson").read_text().splitlines()
    assert json.loads(lines[0])["format"] == "replog-trace/1"
    assert (json.loads(lines[-1])["digest"], len(lines)) == (run.digest, len(run.events) + 2)
    small = sim.run(folder / "shrunk.yaml")
    assert small.as_expected
    assert (small.scenario.kind, small.cause) == ("story", run.cause)
    assert len(small.events) < len(run.events)
    assert "</svg>" in (folder / "shrunk.svg").read_text()


def test_a_random_run_under_other_rules_is_the_same_run_in_its_folder(tmp_path: Path) -> None:
    run = sim.run(TIMED, strategy="header", seed=11)
    changed = sim.run(run.scenario, fix="leo_retention")
    for number, one in enumerate((run, changed)):
        text = one.scenario.as_file(tmp_path)
        (tmp_path / f"{number}.yaml").write_text(text)
        assert sim.run(tmp_path / f"{number}.yaml").digest == one.digest
    assert run_scenario(run.scenario.content).digest == run.digest  # type: ignore[arg-type]


def test_it_is_about_the_invariant_that_was_asked_for(tmp_path: Path) -> None:
    folder = sim.run(STORY).save(tmp_path, "no-offset-reuse")

    document = json.loads((folder / "failure.json").read_text())
    assert folder.name.endswith("-no-offset-reuse")
    assert document["invariant"] == "no-offset-reuse"
    assert "log end fell by cleaning" in document["cause"]
    assert document["sentence"].startswith("no-offset-reuse at step 16: ")
    readme = (folder / "README.md").read_text()
    for name in document["files"]:
        assert f"]({name})" in readme
    assert "no-offset-reuse at step 16: " in readme
    assert "](picture.svg)" in readme
    assert document["digest"] in readme


def test_the_same_failure_is_there_once_and_another_of_its_name_beside_it(tmp_path: Path) -> None:
    folder = sim.run(STORY).save(tmp_path)
    (folder / "notes.txt").write_text("mine")
    again = sim.run(STORY).save(tmp_path)
    other = sim.run(STORY, delete_retention_ms=1000).save(tmp_path)

    assert again == folder
    assert (folder / "notes.txt").read_text() == "mine"
    assert other == folder.with_name(f"{folder.name}-2")


def test_a_folder_of_somebody_else_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(STORY.parent)
    taken = tmp_path / f"{STORY.stem}-follower-position-sound"
    taken.mkdir()
    (taken / "thesis.txt").write_text("mine")
    folder = sim.run(STORY).save(tmp_path)

    assert folder != taken
    assert [path.name for path in taken.iterdir()] == ["thesis.txt"]


def test_what_cannot_be_written_whole_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object, **_more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sim.diagnose.failures.trace_lines", no_space)
    with pytest.raises(sim.BadInput, match="No space left on device"):
        sim.run(STORY).save(tmp_path / "failures")
    assert list((tmp_path / "failures").iterdir()) == []


@pytest.mark.parametrize("as_expected", [7, SETTLED], ids=["holds", "outside the contract"])
def test_a_run_that_is_as_it_should_be_has_no_folder(
    as_expected: int | Path, tmp_path: Path
) -> None:
    with pytest.raises(sim.BadInput, match="all is as expected; only a failure gets a folder"):
        sim.run(as_expected).save(tmp_path)


def test_its_page_opens_with_what_was_expected_and_missed_and_nothing_is_green(
    tmp_path: Path,
) -> None:
    text = "format: replog-story/1\nreplicas: [r1]\nsteps: [elect r1 1]\nexpect: {leader: r2}\n"
    folder = sim.run(text.replace("[r1]", "[r1, r2]")).save(tmp_path)

    assert folder.name.endswith("-not-as-expected")
    page = (folder / "picture.html").read_text()
    red = page[page.index('<section class="violation missed">') : page.index("</section>")]
    lines = ["expected: holds; leader: r2", "leader is r1, expected r2"]
    assert re.findall("<li>(.*)</li>", red) == lines
    assert page.index('class="violation missed"') < page.index("Nothing is violated.")
    assert 'class="calm"' not in page
    readme = (folder / "README.md").read_text()
    assert "- leader is r1, expected r2\n" in readme
    assert "| expected | holds; leader: r2 |" in readme


def test_a_name_keeps_the_case_and_what_failed_however_long_the_path_is(tmp_path: Path) -> None:
    deep = Path("/".join(["deep"] * 90)) / "x.yaml"
    run = sim.run(replace(sim.load(STORY), path=deep))
    long = run.save(tmp_path)

    assert long.name.endswith(f"-deep-x-{run.id}-follower-position-sound")
    assert len(long.name.encode()) <= 150


def test_run_writes_a_folder_on_failure_only(tmp_path: Path) -> None:
    failures = tmp_path / "failures"
    asked = ("--failures", failures)
    ended = replog("run", STORY, *asked)
    assert (ended.status, failures.exists()) == (0, False)
    assert "failure:" not in ended.out

    changed = ("--rule", "fix=leo_retention", *asked)
    ended = replog("run", STORY, *changed)
    (folder,) = (path for path in failures.iterdir() if path.is_dir())
    assert ended.status == 1
    assert ended.out.splitlines()[-1] == f"failure: {folder}"
    document = json.loads((folder / "failure.json").read_text())
    assert document["made_by"] == f"replog run {STORY} --rule=fix=leo_retention"

    assert json.loads(replog("run", STORY, *changed, "--json").out)["failure"] == str(folder)
