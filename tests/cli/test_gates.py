"""`replog gate`, and gates of `replog sweep`: exit statuses 0, 1, 2 and 3, and what is printed."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.commands import replog
from tests.sweeps.fakes import plan_text

BROKEN = plan_text(
    count=2,
    seed=3,
    generate={"mix": "reference", "duration_ms": 2000},
    rules={"preset": "kafka-4.0", "strategy": "header", "map_range": "full"},
    rule_sets=[{"fix": "none"}, {"truncation": "none"}],
    labels=["as Kafka", "broken"],
)
"""Followers that truncate nothing, beside Kafka."""


def test_a_sweep_ends_with_1_when_a_run_violates_what_it_must_not(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "plan.yaml").write_text(BROKEN)
    sweep = ("sweep", "plan.yaml", "--engine", "process", "--out", "o", "--json")

    swept = replog(*sweep, "--fail-on", "any")
    with monkeypatch.context() as github:
        github.setenv("GITHUB_ACTIONS", "true")
        github.setenv("GITHUB_STEP_SUMMARY", "page.md")
        again = replog("gate", "o", "--fail-on", "any")
    narrowed = replog("gate", "o", "--fail-on", "any", "--rule-set", "as Kafka")

    assert (swept.status, swept.document["gates"], swept.document["errors"]) == (1, "failed", 0)
    assert (again.status, narrowed.status) == (1, 0)
    *_, failed, summary, reproduce, annotation = again.out.splitlines()
    assert annotation.startswith("::error title=replog gate%3A fail-on any::fail-on any [broken]: ")
    assert failed.startswith("FAILED    fail-on any [broken]: ")
    assert summary == "gates failed: 2 comparisons, 1 passed, 1 failed (level 5.00 %)"
    assert (here / "page.md").read_text().startswith(f"### {summary}\n")
    shown = replog(*reproduce.split()[2:])
    assert shown.out.splitlines()[-1].startswith("violated; digest reproduced")


def test_what_no_run_of_a_sweep_judges_cannot_pass(swept: Path) -> None:
    answer = replog("gate", swept, "--fail-on", "leo-convergence")

    assert answer.status == 2
    assert "leo-convergence: no run of a sweep judges it" in answer.complaint


def test_runs_that_failed_fail_the_gate(swept: Path, here: Path) -> None:
    """One that ended in an exception would otherwise be a run that violates nothing."""
    folder = Path(shutil.copytree(swept, here / "o"))
    for path in folder.glob("runs/*.parquet"):
        table = pq.read_table(path)
        rows = table.to_pylist()
        for row in rows:
            if row["run_id"] == 4:
                row |= {"verdict": "error", "error": "KeyError: 'k'\n"}
        pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)

    answer = replog("gate", "o", "--fail-on", "no-offset-reuse")

    assert answer.status == 1
    assert "of 12 runs 1 ended in an exception" in answer.err
    assert "reproduce: replog run o 4" in answer.err
