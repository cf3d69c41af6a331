"""When runs go wrong: since when the first thing that they violate was so."""

import json
from pathlib import Path

import pytest

from sim.study.report import write_report
from sim.study.report.onset import onsets_of
from sim.study.report.sweep_folder import read_folder
from tests.report.folders import entry, pair, rule_set, write_folder
from tests.report.tables import write_tables

RUNS = 8
VIOLATIONS = [
    (0, "no-offset-reuse", 2_000),
    (0, "tombstone-safety", 500),
    (2, "no-resurrection", 4_000),  # judged at rest, and so for long
    (4, "no-offset-reuse", 7_500),
    (6, "no-offset-reuse", 10_050),
    (8, "no-offset-reuse", 1),  # of a run that has no verdict
]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Eight cases under two rule sets; every odd run holds."""
    seen = {"no-offset-reuse": 3, "no-resurrection": 2, "tombstone-safety": 1}
    verdicts = {"holds": 3, "violated": 4, "inconclusive": 1}
    entries = [
        entry(0, "none", verdicts, counts={"invariant": seen}),
        entry(1, "empty_batch", {"holds": RUNS}),
    ]
    rule_sets = [rule_set(0, "none"), rule_set(1, "empty_batch")]
    folder = write_folder(tmp_path, rule_sets, entries, [pair(0, 1, {"holds/holds": RUNS})])
    plan = json.loads((folder / "plan.json").read_text())
    plan["plan"]["generate"] = {"duration_ms": 10_000}
    (folder / "plan.json").write_text(json.dumps(plan))
    violated = {0, 2, 4, 6}
    verdict = ["violated" if run in violated else "holds" for run in range(2 * RUNS)]
    verdict[8] = "inconclusive"
    nothing = [(0, 0)] * RUNS
    return write_tables(folder, {"bytes_retained": nothing}, VIOLATIONS, verdicts=verdict)


def test_runs_are_counted_by_the_time_of_their_first_violation(out: Path) -> None:
    none, empty_batch = onsets_of(read_folder(out))

    assert [(one.at_ms, one.runs) for one in none.by_time] == [
        (2_500, 1),
        (5_000, 2),
        (7_500, 3),
        (10_000, 3),
    ]
    assert none.times_ms == (500, 4_000, 7_500, 10_050)
    assert none.later == 1
    assert none.judged == RUNS - 1  # one has no verdict
    assert [one.runs for one in empty_batch.by_time] == [0, 0, 0, 0]


def test_the_report_tells_the_times_and_how_costs_have_their_intervals(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sim.study.report.page.causes_in", lambda *_, **__: None
    )  # of runs made up here
    write_report(out)

    for name in ("report.html", "report.md"):
        text = (out / name).read_text().replace("\u00a0", " ")
        assert "When does it go wrong?" in text
        assert "3 (9.90 to 81.6 %)" in text
        assert "studentised bootstrap" in text
