"""`--strict`: what is a note elsewhere is a failure, in every report."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sim.cli.suites import suite
from sim.study.suite import collect, run_suite
from sim.study.suite.reports import write_junit
from tests.suite.conftest import Fill

STORY = "format: replog-story/1\nreplicas: [r1]\nsteps: [elect r1 1, append r1 a A{}]\n"
IDLE = "step 3 did nothing: no time passes"
"""A step without effect, which is meant or not; a replica behind at rest, which nothing judges."""
FILES = {
    "idle.yaml": STORY.format(", advance 0"),
    "meant.yaml": STORY.format(", advance 0 does=nothing"),
    "plain.yaml": STORY.format(""),
    "seen.yaml": "format: replog-story/1\nreplicas: [r1, r2]\nisr: [r1]\n"
    "steps: [elect r1 1, append r1 a A, check]\n",
}


@pytest.mark.parametrize(("strict", "status"), [(False, 0), (True, 1)])
def test_a_suite_fails_on_a_note_where_somebody_is_strict(
    fill: Fill, capsys: pytest.CaptureFixture[str], strict: bool, status: int
) -> None:
    folder = fill(FILES)

    assert suite([folder], strict=strict, failures=folder / "failed") == status
    said = capsys.readouterr()
    assert ("2 as expected, 2 not" in said.out, f"  {IDLE}\n" in said.out) == (strict, strict)
    assert ("note: step 3 did nothing" in said.out) != strict
    assert "only a failure gets a folder" not in said.err


def test_json_and_junit_say_it_too(
    fill: Fill, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = fill(FILES)

    suite([folder], strict=True, as_json=True)
    row = next(one for one in json.loads(capsys.readouterr().out) if one["id"] == "idle")
    assert (row["expectation_met"], row["differences"]) == (False, [IDLE])
    results = [one.strictly() for one in run_suite(collect([folder]))]
    write_junit(tmp_path / "j.xml", results, started=datetime.now(UTC))
    assert (tmp_path / "j.xml").read_text().count("<failure ") == 2


def test_an_id_that_two_files_have_is_a_note_too(
    fill: Fill, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = fill(dict.fromkeys(("a.yaml", "b.yaml"), "id: one\n" + FILES["plain.yaml"]))

    assert (suite([folder]), suite([folder], strict=True)) == (0, 1)
    assert "the same id in 2 files, one: s/a.yaml, s/b.yaml\n" in capsys.readouterr().out
