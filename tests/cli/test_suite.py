"""`replog suite`: what it runs, what it does not, how it ends, and what it hands over."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn
from xml.etree import ElementTree as ET

import pytest

from sim.scenario.model import Scenario
from sim.timed_run import run_scenario
from tests.cli.conftest import Replog

GOOD = "format: replog-scenario/1\nduration_ms: 300\n"
FAILING = GOOD + "expect: {reached: [marker-removed]}\n"
INCONCLUSIVE = GOOD + "limits: {max_events: 5}\n"
STORY = "format: replog-story/1\nreplicas: [r1]\nsteps:\n  - elect r1 1\n"

Fill = Callable[..., Path]


@pytest.fixture
def fill(here: Path) -> Fill:
    """Makes a folder `s` with these files: name (without .yaml) = text."""

    def make(**files: str) -> Path:
        for name, text in files.items():
            path = Path("s", f"{name}.yaml")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return Path("s")

    return make


def ending(out: str) -> list[str]:
    """The lines behind the rows and the failures, without how long it took."""
    lines = out.rpartition("\n\n")[2].splitlines()
    lines[-1] = lines[-1].rpartition("; ")[0]
    return [line for line in lines if line[:4] not in ("ok  ", "FAIL")]


def failures(out: str) -> list[str]:
    """The lines about failures, which are the last ones but for the ending."""
    return out.partition("\n\n")[2].rpartition("\n\n")[0].splitlines()


def statuses(out: str) -> list[str]:
    return [line.rpartition("  ")[0] for line in out.splitlines() if line[:4] in ("ok  ", "FAIL")]


def test_files_run_in_order_of_their_paths_and_others_are_counted(
    replog: Replog, fill: Fill
) -> None:
    folder = fill(b=GOOD, a=STORY)
    (folder / "notes.md").write_text("format: replog-story/1\n")
    (folder / "deeper").mkdir()
    (folder / "deeper/c.json").write_text('{"format": "replog-scenario/1", "duration_ms": 300}')

    answer = replog("suite", folder)

    assert (answer.status, answer.err) == (0, "")
    assert statuses(answer.out) == ["ok   s/a.yaml", "ok   s/b.yaml", "ok   s/deeper/c.json"]
    assert ending(answer.out) == ["not run: 1 other file (.md)", "3 as expected, 0 not"]


def test_a_single_file_is_a_suite_of_one(replog: Replog, fill: Fill) -> None:
    answer = replog("suite", fill(a=GOOD) / "a.yaml")

    assert (answer.status, statuses(answer.out)) == (0, ["ok   s/a.yaml"])


def test_a_failure_says_what_differs_and_how_to_reproduce_it(replog: Replog, fill: Fill) -> None:
    answer = replog("suite", fill(a=FAILING, b=GOOD))

    assert answer.status == 1
    assert statuses(answer.out) == ["FAIL s/a.yaml", "ok   s/b.yaml"]
    assert failures(answer.out) == [
        "s/a.yaml",
        "  expected: holds",
        "  found: holds",
        "  marker-removed was not reached",
        "  reproduce: replog run s/a.yaml",
    ]
    assert ending(answer.out) == ["1 as expected, 1 not"]


@pytest.mark.parametrize(
    ("files", "status"),
    [
        ({"a": GOOD}, 0),
        ({"a": GOOD, "b": INCONCLUSIVE}, 3),
        ({"a": INCONCLUSIVE, "b": FAILING}, 1),
        ({"a": GOOD + "colour: red\n", "b": FAILING, "c": INCONCLUSIVE}, 2),
    ],
)
def test_the_exit_status_is_that_of_the_worst(
    replog: Replog, fill: Fill, files: dict[str, str], status: int
) -> None:
    assert replog("suite", fill(**files)).status == status


def test_a_file_with_a_mistake_does_not_keep_the_others_from_running(
    replog: Replog, fill: Fill
) -> None:
    answer = replog("suite", fill(a=GOOD + "colour: red\n", b=GOOD))

    assert answer.status == 2
    assert statuses(answer.out) == ["FAIL s/a.yaml", "ok   s/b.yaml"]
    assert "bad input: s/a.yaml:3: colour: " in answer.out


def test_an_exception_in_one_run_is_a_failure_and_the_others_run(
    replog: Replog, fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(scenario: Scenario, **options: Any) -> object:
        return _divide_by_zero() if scenario.id == "a" else run_scenario(scenario, **options)

    monkeypatch.setattr("sim.timed_run.run_scenario", breaks)
    folder = fill(a=GOOD, b=GOOD)

    answer = replog("suite", folder)
    rows = replog("suite", folder, "--json").document

    assert answer.status == 1
    assert statuses(answer.out) == ["FAIL s/a.yaml", "ok   s/b.yaml"]
    assert "  error: ZeroDivisionError: by zero (test_suite.py, line " in answer.out
    assert "  reproduce: replog run s/a.yaml" in answer.out
    assert [row["verdict"] for row in rows] == ["error", "holds"]
    assert rows[0]["reason"].startswith("ZeroDivisionError: by zero")


def _divide_by_zero() -> NoReturn:
    raise ZeroDivisionError("by zero")


def test_json_is_a_list_with_the_path_and_what_run_prints(replog: Replog, fill: Fill) -> None:
    folder = fill(a=STORY, b=GOOD)

    rows = replog("suite", folder, "--json").document

    assert [row["path"] for row in rows] == ["s/a.yaml", "s/b.yaml"]
    for row in rows:
        path = row.pop("path")
        assert row == replog("run", path, "--json").document


def test_junit_counts_failures_and_errors_and_holds_the_reason(replog: Replog, fill: Fill) -> None:
    folder = fill(a=GOOD, b=FAILING, c=GOOD + "colour: red\n", d=INCONCLUSIVE)

    answer = replog("suite", folder, "--junit", "junit.xml")

    root = ET.parse("junit.xml").getroot()  # noqa: S314 - written by this very test
    assert answer.status == 2
    assert (root.tag, root.get("tests"), root.get("failures"), root.get("errors")) == (
        "testsuite",
        "4",
        "2",
        "1",
    )
    cases = {case.get("name"): case for case in root}
    assert list(cases) == ["a", "b", "c", "d"]
    assert cases["a"].get("classname") == "s.a"
    assert list(cases["a"]) == []
    assert [child.tag for name in "bcd" for child in cases[name]] == ["failure", "error", "failure"]
    (failure,) = cases["b"]
    assert failure.get("message") == "marker-removed was not reached"
    assert failure.text is not None
    assert failure.text.splitlines()[-1] == "reproduce: replog run s/b.yaml"
    assert "inconclusive: limits.max_events" in (cases["d"][0].get("message") or "")


def test_junit_holds_the_sentences_of_the_violations(replog: Replog, here: Path) -> None:
    lost_tail = Path(__file__).parents[2] / "scenarios/kip280/timed_lost_tail.yaml"
    (here / "plain.yaml").write_text(lost_tail.read_text().partition("expect:")[0])

    replog("suite", ".", "--junit", "junit.xml")

    (case,) = ET.parse("junit.xml").getroot()  # noqa: S314 - written by this very test
    (failure,) = case
    assert failure.text is not None
    assert "r3 gave offset 3 to E=e" in failure.text
