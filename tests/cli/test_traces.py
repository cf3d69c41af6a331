"""`replog trace git` and `replog trace replay`, on a small repository made here."""

import subprocess
from pathlib import Path

import pytest

from sim.compaction import STRATEGIES
from tests.cli.conftest import Replog

COMMITS = [
    ({"a": "1", "b": "1"}, "2024-01-05T00:00:00Z"),
    ({"a": "2"}, "2024-01-01T00:00:00Z"),  # written before the first one, and applied later
    ({"b": None, "c": "1"}, "2024-01-06T00:00:00Z"),
]


@pytest.fixture
def repository(here: Path) -> Path:
    """Three commits: five changes of three paths, one of them deleted, one written out of order."""
    folder = here / "repository"
    folder.mkdir()

    def git(*arguments: str, **environment: str) -> None:
        identity = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org"}
        identity |= {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org"}
        command = ["git", "-c", "init.defaultBranch=main", "-C", str(folder), *arguments]
        variables = {"PATH": "/usr/bin:/bin:/usr/local/bin", "HOME": str(here), **identity}
        subprocess.run(command, check=True, capture_output=True, env=variables | environment)

    git("init", "-q")
    for number, (files, date) in enumerate(COMMITS):
        for name, content in files.items():
            if content is None:
                (folder / name).unlink()
            else:
                (folder / name).write_text(content)
        git("add", "-A")
        committed = f"2024-02-0{number + 1}T00:00:00Z"
        git("commit", "-qm", "x", GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=committed)
    return folder


def test_a_repositorys_history_becomes_a_trace(
    replog: Replog, repository: Path, here: Path
) -> None:
    answer = replog("trace", "git", repository, "-o", "changes.parquet")

    assert (answer.status, answer.err) == (0, "")
    assert answer.out == "changes.parquet: 5 changes, 1 of them deletions, in 3 commits\n"
    assert {path.name for path in here.iterdir()} == {"repository", "changes.parquet"}


def test_a_trace_without_a_given_name_is_named_after_the_repository(
    replog: Replog, repository: Path, here: Path
) -> None:
    answer = replog("trace", "git", repository)

    assert answer.out.startswith("repository-changelog.parquet: 5 changes")
    assert (here / "repository-changelog.parquet").exists()


def test_a_limit_counts_changes(replog: Replog, repository: Path) -> None:
    answer = replog("trace", "git", repository, "-o", "changes.parquet", "--limit", 2)

    assert answer.out.startswith("changes.parquet: 2 changes, 0 of them deletions, in 1 commits")


def test_a_trace_replayed_says_what_each_strategy_keeps(replog: Replog, repository: Path) -> None:
    replog("trace", "git", repository, "-o", "changes.parquet")

    answer = replog("trace", "replay", "changes.parquet")

    lines = [line.split() for line in answer.out.splitlines()]
    assert answer.status == 0
    assert [line[0] for line in lines] == ["strategy", *STRATEGIES]
    assert [line.split(":")[0] for line in answer.err.splitlines()] == list(STRATEGIES)


def test_a_path_whose_later_change_was_written_earlier_has_another_winner(
    replog: Replog, repository: Path
) -> None:
    replog("trace", "git", repository, "-o", "changes.parquet")

    rows = replog("trace", "replay", "changes.parquet", "--json").document

    differing = {row["strategy"]: row["winners_differing"] for row in rows}
    assert (differing["offset"], differing["timestamp"], differing["header"]) == (0, 1, 0)
    assert {row["records_in"] for row in rows} == {5}
    assert {row["keys"] for row in rows} == {3}
    assert {row["verdict"] for row in rows} == {"holds"}


def test_one_strategy_and_other_rules_may_be_chosen(replog: Replog, repository: Path) -> None:
    replog("trace", "git", repository, "-o", "changes.parquet")
    rules = ("--rule", "strategy=timestamp", "--rule", "preset=kafka-3.8")

    rows = replog("trace", "replay", "changes.parquet", *rules, "--limit", 3, "--json").document

    assert [(row["strategy"], row["records_in"]) for row in rows] == [("timestamp", 3)]


def test_a_scenario_may_have_the_trace_as_its_workload(replog: Replog, repository: Path) -> None:
    replog("trace", "git", repository, "-o", "changes.parquet")
    Path("x.yaml").write_text(
        "format: replog-scenario/1\nduration_ms: 500\nworkload: {trace: changes.parquet}\n"
    )

    document = replog("run", "x.yaml", "--json").document

    assert (document["verdict"], document["counters"]["records"]) == ("holds", 5)
