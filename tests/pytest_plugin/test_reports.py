"""What pytest says of scenarios that ran, and that a red one is red in every way."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.pytest_plugin.conftest import GREEN, Replies
from tests.suite.red import LOG, RED, STORY


def test_a_failure_is_ten_lines_without_a_traceback(says: Replies) -> None:
    said = says({"x.yaml": STORY, "y.yaml": GREEN})

    said.assert_outcomes(failed=1, passed=1)
    start = next(n for n, line in enumerate(said.outlines) if "_ shorter _" in line)
    end = next(n for n, line in enumerate(said.outlines) if "short test summary" in line)
    told = Path(__file__).with_name("failure.txt").read_text(encoding="utf-8")
    assert said.outlines[start + 1 : end] == told.splitlines()


def test_folders_of_failures_are_no_tests_unless_they_are_named(
    pytester: pytest.Pytester, says: Replies
) -> None:
    files = {"s/x.yaml": STORY, "s/log.json": LOG}

    for _ in range(2):
        said = says(files, "--replog-failures", "s/failed")
        said.assert_outcomes(failed=2)

    saved = sorted(path for path in (pytester.path / "s/failed").iterdir() if path.is_dir())
    assert [path.name for path in saved] == ["s-x-shorter-leader-completeness"]  # of a log none
    assert "failure: s/failed/s-x-shorter-leader-completeness" in said.outlines
    said = says({}, str(saved[0] / "scenario.yaml"))
    said.assert_outcomes(failed=1)
    said = says({}, str(saved[0]))
    said.assert_outcomes(passed=1, failed=1)  # what is shrunk expects its violation


def test_notes_of_what_passes_are_told_at_the_end(says: Replies) -> None:
    idle = STORY.partition("  - elect r2")[0] + "  - append r2 b B\n"

    said = says({"x.yaml": idle, "y.yaml": GREEN})

    said.assert_outcomes(passed=2)
    start = next(n for n, line in enumerate(said.outlines) if "Replog: notes" in line)
    assert said.outlines[start + 1] == "x.yaml::shorter: step 4 did nothing: r2 does not lead"
    assert "did nothing" not in said.outlines[start + 2]


def test_a_note_is_a_failure_where_the_ini_file_says_so(
    pytester: pytest.Pytester, says: Replies
) -> None:
    pytester.makeini("[pytest]\nreplog_strict = true\n")
    idle = STORY.partition("  - elect r2")[0] + "  - append r2 b B\n"

    said = says({"x.yaml": idle, "y.yaml": GREEN})

    said.assert_outcomes(passed=1, failed=1)
    assert "step 4 did nothing: r2 does not lead" in said.outlines


def test_what_no_answer_has_is_one_line(says: Replies) -> None:
    said = says({"x.json": LOG.replace("log_end_offset", "log_end")})

    said.assert_outcomes(failed=1)
    assert any(line.startswith("x.json: expect[0].log_end: no answer") for line in said.outlines)
    assert "Traceback" not in str(said.outlines)


def test_an_exception_keeps_its_traceback(says: Replies, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim.simulate.run.stories.run_story", lambda *_story, **_more: 1 // 0)

    said = says({"x.yaml": STORY})

    said.assert_outcomes(failed=1)
    assert "E   ZeroDivisionError: integer division or modulo by zero" in said.outlines


def test_workers_of_xdist_tell_the_same(says: Replies) -> None:
    said = says({"x.yaml": STORY, "y.yaml": GREEN}, "-n", "1")

    said.assert_outcomes(failed=1, passed=1)
    assert "» r2 leads 2 ▕       hw 0 end 0" in said.outlines


@pytest.mark.parametrize("name", RED)
def test_a_red_scenario_is_red_to_pytest_and_in_junit_with_its_file(
    pytester: pytest.Pytester, says: Replies, name: str
) -> None:
    said = says({name: RED[name]}, "--junit-xml=out.xml", "-o", "junit_family=xunit1")

    assert said.ret == pytest.ExitCode.TESTS_FAILED
    (suite,) = ET.parse(pytester.path / "out.xml").getroot()  # noqa: S314 - pytest wrote it
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")
    (case,) = suite
    assert case.get("file") == name
    assert [child.tag for child in case] == ["failure"]
    assert "reproduce: replog " in (case[0].text or "")
