"""What a suite hands over: JUnit, Markdown; each says what is red, and how."""

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from xml.etree import ElementTree as ET

from sim.check import Violation
from sim.study.suite import CaseResult, collect, run_suite
from sim.study.suite.reports import failure_lines, page, write_junit
from tests.suite.conftest import GOOD, Fill
from tests.suite.junit_schema import problems
from tests.suite.red import RED, STORY

BEGAN = datetime(2026, 7, 1, 14, 0, tzinfo=timezone(timedelta(hours=2)))


def violated(invariant: str, sentence: str) -> Violation:
    return Violation(invariant, at=3, replica=None, offset=None, key=None, says=sentence)


def junit(results: Sequence[CaseResult]) -> ET.Element:
    write_junit(Path("out.xml"), results, started=BEGAN)
    return ET.parse("out.xml").getroot()  # noqa: S314 - written by this very test


def test_junit_is_as_its_schema_says_and_names_each_file(results: list[CaseResult]) -> None:
    root = junit(results)

    assert problems(root) == []
    counted = {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counted == {"tests": "5", "failures": "3", "errors": "1", "skipped": "0"}
    assert {case.get("file"): [child.tag for child in case] for case in root} == {
        "s/a.yaml": [],
        "s/log.json": ["failure"],
        "s/story.yaml": ["failure"],
        "s/timed.yaml": ["failure"],
        "s/z.yaml": ["error"],
    }
    assert (root.get("timestamp"), bool(root.get("hostname"))) == ("2026-07-01T12:00:00", True)
    kinds = [child.get("type") for case in root for child in case]
    assert kinds == ["not as expected", "violated", "not as expected", "bad input"]
    text = root[2][0].text or ""
    assert text.splitlines()[0] == "A leader with a shorter log"
    assert "» r2 leads 2 ▕       hw 0 end 0" in text
    assert text.splitlines()[-1] == "reproduce: replog run s/story.yaml"


def test_a_page_has_a_row_and_a_block_for_each_red_file(results: list[CaseResult]) -> None:
    lines = page(results, ["not run: 1 sweep plan"], "1 as expected, 4 not; 0.1 s").splitlines()

    assert lines[0] == "### Replog: 1 as expected, 4 not; 0.1 s"
    assert "| s/story.yaml | leader-completeness was violated, not expected |" in lines
    assert sum(line.startswith("| s/") for line in lines) == 4
    assert sum(line.startswith("reproduce: replog ") for line in lines) == 4
    assert lines.count("```") == 8
    assert "<details><summary>shorter: A leader with a shorter log</summary>" in lines
    assert lines[-1] == "not run: 1 sweep plan  "


TWO_MISTAKES = STORY.replace("elect r2", "elct r2") + "expect: {leder: r1}\n"
OPEN = "format: replog-scenario/1\nduration_ms: 300\nlimits: {max_events: 5}\n"


def test_mistakes_of_one_file_are_lines_of_their_own(fill: Fill) -> None:
    results = list(run_suite(collect([fill({"x.yaml": TWO_MISTAKES})])))

    (case,) = junit(results)
    first, second = (case[0].get("message") or "").split("\n")
    assert first.startswith("bad input: s/x.yaml:9: step 4: op: unknown op 'elct'")
    assert second.startswith("s/x.yaml:10: expect.leder: unknown field")
    raw = Path("out.xml").read_text(encoding="utf-8")
    assert ("&#10;s/x.yaml:10: " in raw, "\\n" in raw) == (True, False)
    lines = page(results, [], "").splitlines()
    assert (second in lines, any("\\n" in line for line in lines)) == (True, False)


def test_what_is_inconclusive_is_counted_apart(fill: Fill) -> None:
    root = junit(list(run_suite(collect([fill({"a.yaml": GOOD, "x.yaml": OPEN, **RED})]))))

    assert (root.get("failures"), root.get("errors")) == ("3", "1")
    assert [(one.get("name"), one.get("value")) for one in root.iter("property")] == [
        ("inconclusive", "1")
    ]
    assert [one.get("type") for one in root.iter("error")] == ["inconclusive"]


def test_what_was_expected_and_did_not_happen_is_told(fill: Fill) -> None:
    expecting = STORY + "expect:\n  violated: [log-matching, leader-completeness]\n"
    (result,) = run_suite(collect([fill({"x.yaml": expecting})]))

    assert failure_lines(result)[:2] == [
        "expected: violated: log-matching, leader-completeness",
        "found: violated: leader-completeness",
    ]


def test_an_inconclusive_run_says_why(fill: Fill) -> None:
    (result,) = run_suite(collect([fill({"x.yaml": OPEN})]))

    assert result.open
    assert "| file | inconclusive |" in page([result], [], "").splitlines()
    assert "not as expected" not in page([result], [], "")
    expected, found, reproduce = failure_lines(result)
    assert expected == "expected: holds"
    assert found.startswith("found: inconclusive: limits.max_events: 5 simulator events were used")
    assert reproduce == "reproduce: replog run s/x.yaml"
