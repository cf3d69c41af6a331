"""`replog suite`: what it runs, what it does not, how it ends, and what it hands over."""

import re
from pathlib import Path

import pytest

from tests.commands import replog
from tests.suite.conftest import GOOD, Fill
from tests.suite.red import RED, TIMED

TIMES = re.compile(r" +[\d.]+ m?s$", re.MULTILINE)


def test_json_is_a_list_with_the_path_and_what_run_prints_and_nothing_else(fill: Fill) -> None:
    folder = fill({"a.yaml": GOOD, "b.yaml": TIMED, "plan.yaml": "format: replog-sweep/1\n"})

    answer = replog("suite", folder, "--json")

    assert answer.err == "replog: not run: 1 sweep plan\n"
    assert [row["path"] for row in answer.document] == ["s/a.yaml", "s/b.yaml"]
    for row in answer.document:
        path = row.pop("path")
        assert row == replog("run", path, "--json").document


def test_processes_say_the_same_in_the_same_order(fill: Fill) -> None:
    files = {f"a{n}.yaml": GOOD for n in range(6)}
    folder = fill(files | {"b.yaml": TIMED, "c.yaml": "a: 1\n", "d.yaml": GOOD})

    one, two = (replog("suite", folder, "-j", jobs) for jobs in (1, 2))

    assert (one.status, TIMES.sub("", one.out)) == (two.status, TIMES.sub("", two.out))


def test_annotations_come_on_github(fill: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = fill({"a.yaml": TIMED})

    def annotated(text: str) -> list[str]:
        return [line for line in text.splitlines() if line.startswith("::error ")]

    assert annotated(replog("suite", folder).out) == []
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (line,) = annotated(replog("suite", folder).out)
    assert line.startswith("::error file=s/a.yaml,line=3,title=a%3A not as expected::expected: ")
    with_json = replog("suite", folder, "--json")
    assert (len(with_json.document), annotated(with_json.err)) == (1, [line])


@pytest.mark.parametrize(
    ("summary", "complaint"),
    [
        ("summary.md", ""),
        ("no/x.md", "replog: GITHUB_STEP_SUMMARY: no/x.md: No such file or directory\n"),
    ],
)
def test_markdown_is_added_to_the_summary_of_a_job_and_a_bad_summary_is_no_failure(
    fill: Fill, monkeypatch: pytest.MonkeyPatch, summary: str, complaint: str
) -> None:
    folder = fill({"a.yaml": GOOD})
    Path("summary.md").write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", summary)

    answer = replog("suite", folder)

    assert (answer.status, answer.err) == (0, complaint)
    page = Path("summary.md").read_text().removeprefix("before\n")
    assert page.startswith("### Replog: 1 as expected, 0 not; ") is (not complaint)


def test_on_a_terminal_the_last_line_says_how_far_it_is(fill: Fill) -> None:
    folder = fill({"a.yaml": GOOD, "b.yaml": TIMED})

    rows = replog("suite", folder, terminal=True)
    as_json = replog("suite", folder, "--json", terminal=True)

    assert "\r\x1b[K1 of 2, 0 not as expected\r\x1b[K\r\x1b[K2 of 2, 1 not as expected" in rows.err
    assert rows.err.endswith("\r\x1b[K")
    assert "\x1b" not in rows.out
    assert "\r\x1b[K1 of 2, 0 not as expected" in as_json.err
    assert len(as_json.document) == 2


def test_each_failure_of_a_run_gets_a_folder_when_asked_for(fill: Fill) -> None:
    folder = fill({**RED, "bad.yaml": "a: 1\n", "green.yaml": GOOD})

    answer = replog("suite", folder, "--failures", "kept", "--json")
    told = replog("suite", folder, "--failures", "kept").out

    assert answer.status == 2
    saved = {row["path"]: row["failure"] for row in answer.document if "failure" in row}
    assert saved == {
        "s/story.yaml": "kept/s-story-shorter-leader-completeness",
        "s/timed.yaml": "kept/s-timed-not-as-expected",
    }
    assert [line for line in told.splitlines() if line.startswith("  failure: ")] == [
        f"  failure: {folder}" for folder in saved.values()
    ]


def test_two_files_of_one_name_have_a_folder_each(fill: Fill) -> None:
    files = fill({"a/x.yaml": TIMED, "b/x.yaml": TIMED})

    rows = replog("suite", files, "--failures", "kept", "--json").document

    folders = [Path(row["failure"]) for row in rows]
    assert [path.name for path in folders] == ["s-a-x-not-as-expected", "s-b-x-not-as-expected"]
    for row, folder in zip(rows, folders, strict=True):
        assert f"`replog run {row['path']}`" in (folder / "README.md").read_text()


def test_a_folder_of_failures_that_cannot_be_written_costs_no_result(fill: Fill) -> None:
    folder = fill({"story.yaml": RED["story.yaml"]})
    Path("kept").write_text("a file\n")

    answer = replog("suite", folder, "--failures", "kept")

    assert answer.status == 1
    assert "\n0 as expected, 1 not; " in answer.out
    assert answer.err.startswith("replog: --failures kept: kept: is a file; ")
