"""One verdict, of what is judged, whoever is asked; what else was seen is a note."""

import json
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import sim
from sim.files import markdown
from sim.study.suite import CaseResult, collect, run_suite
from sim.study.suite.reports import error_commands, failure_lines, page, write_junit
from tests.suite.conftest import Fill

QUIET = """\
format: replog-story/1
replicas: [r1, r2]
isr: [r1]
steps: [elect r1 1, append r1 a A, check, append r2 b B, fetch r1 r2]
"""
"""r2 is behind when all is at rest: leo-convergence, which nothing names. Two steps do nothing."""
FILES = {
    "as_expected.yaml": QUIET,
    "otherwise.yaml": QUIET + "expect: {leader: r2}\n",
    "judged.yaml": QUIET + "expect: {checked: [leo-convergence]}\n",
    "expected.yaml": QUIET + "expect: {violated: [leo-convergence]}\n",
    "timed.yaml": "format: replog-scenario/1\nduration_ms: 300\n",
}
IDLE = "steps 4, 5 did nothing: r2 does not lead"
NOTES = ["not judged here: leo-convergence; `checked` would", IDLE]


@pytest.fixture
def results(fill: Fill) -> dict[str, CaseResult]:
    return {one.path.stem: one for one in run_suite(collect([fill(FILES)]))}


def test_what_is_judged_decides(results: dict[str, CaseResult]) -> None:
    assert {name: (one.verdict, one.exit_code, [*one.notes]) for name, one in results.items()} == {
        "as_expected": ("holds", 0, NOTES),
        "otherwise": ("holds", 1, NOTES),
        "judged": ("violated", 1, [IDLE]),
        "expected": ("violated", 0, [IDLE]),
        "timed": ("holds", 0, []),
    }
    for one in results.values():
        assert bool(one.as_json()["violated"]) == (one.verdict == "violated")
        assert one.as_json()["notes"] == [*one.notes]
        assert sim.run(one.path).verdict == one.verdict
        assert sim.run(one.path).notes == [*one.notes]


def test_a_failure_tells_it_wherever_it_is_told(results: dict[str, CaseResult]) -> None:
    lines = failure_lines(results["otherwise"])

    told = ["expected: holds", "found: holds", "leader is r1, expected r2", *NOTES]
    assert lines[: len(told)] == told
    assert failure_lines(results["judged"])[1] == "found: violated: leo-convergence"
    assert results["expected"].unexpected == ()
    (command,) = error_commands([results["otherwise"]])
    assert "found: holds%0A" in command
    assert all(note in command for note in NOTES)


def test_what_is_green_has_its_notes_in_every_report(results: dict[str, CaseResult]) -> None:
    green = results["as_expected"]
    write_junit(Path("out.xml"), [green], started=datetime.now(UTC))
    (case,) = ET.parse("out.xml").getroot()  # noqa: S314 - written by this very test

    assert [(child.tag, child.text) for child in case] == [("system-out", "\n".join(NOTES))]
    assert f"| {markdown.text('; '.join(NOTES))} |" in page([green], [], "")


def test_a_folder_has_the_same_verdict(results: dict[str, CaseResult], tmp_path: Path) -> None:
    folder = sim.run(results["otherwise"].path).save(tmp_path / "failures")

    document = json.loads((folder / "failure.json").read_text())
    assert (document["verdict"], document["invariant"], document["notes"]) == ("holds", None, NOTES)
    assert "| verdict | holds |" in (folder / "README.md").read_text()
    last = json.loads((folder / "trace.ndjson").read_text().splitlines()[-1])
    assert (last["verdict"], [one["invariant"] for one in last["violations"]]) == (
        "holds",
        ["leo-convergence"],  # a trace tells all that was seen, so that others can judge it
    )


def test_what_is_not_judged_can_be_asked_for_by_its_name(results: dict[str, CaseResult]) -> None:
    run = sim.run(results["as_expected"].path)

    assert run.explain("leo-convergence").about == "leo-convergence"
    with pytest.raises(sim.BadInput, match="nothing is violated here; verdict: holds"):
        run.explain()
