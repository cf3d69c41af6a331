"""A sweep against an earlier one: in pairs where cases are the same, as two samples elsewhere."""

import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import fisher_exact

from sim.check.families import LOG_DIVERGENCE, READERS
from sim.errors import BadInput
from sim.gates.baseline import compare_with
from sim.gates.cells import cells_of
from sim.gates.finding import Finding
from sim.gates.judge import corrected
from sim.report.sweep_folder import SweepFolder
from sim.sweeps.table import open_table
from tests.gates.planted import folder
from tests.report.folders import rule_set
from tests.report.tables import write_rows


def with_tables(
    path: Path,
    violated: Collection[int],
    *,
    cases: int,
    seed: int = 1,
    weather: str = "w",
    unjudged: Collection[int] = (),
) -> SweepFolder:
    """A sweep of one rule set; these cases of it violate `readers`."""
    of_cases = range(cases)
    verdicts = ["violated" if case in violated else "holds" for case in of_cases]
    for case in unjudged:
        verdicts[case] = "inconclusive"
    document = {
        "format": "replog-sweep-output/3",
        "schema_version": 5,
        "package_version": "1",
        "count": cases,
        "seed": seed,
        "runs": cases,
        "rule_sets": [rule_set(0, "none")],
        "plan": {"title": "a sweep", "source": "none"},
    }
    path.mkdir()
    (path / "plan.json").write_text(json.dumps(document))
    found = [{"invariant": "consistent-read", "family": READERS}]
    write_rows(
        path,
        [
            {
                "verdict": verdicts[case],
                "weather": f"{weather}{seed} {case}",
                "violations": found if case in violated else [],
            }
            for case in of_cases
        ],
    )
    planted = folder({"one": {READERS: len(violated)}}, cases=cases)
    return replace(planted, path=path, name=path.name, table=open_table(path))


def compared(now: SweepFolder, earlier: SweepFolder) -> Finding:
    found, _notes = compare_with(cells_of(now), now, earlier, [READERS])
    (finding,) = corrected(found)
    return finding


def test_the_same_cases_are_compared_one_by_one_and_the_new_failure_is_shown(
    tmp_path: Path,
) -> None:
    earlier = with_tables(tmp_path / "a", range(100), cases=300)
    now = with_tables(tmp_path / "b", range(3, 110), cases=300)

    found = compared(now, earlier)

    assert found.pairs is not None
    assert (found.pairs.cases, found.pairs.only_now, found.pairs.only_earlier) == (300, 10, 3)
    assert (found.outcome, found.shows) == ("failed", 100)
    assert "on 300 common cases only now 10, only earlier 3" in found.text
    assert found.text.endswith(": more frequent (p = 0.046)")


def test_a_shorter_sweep_is_paired_with_the_start_of_a_longer_one(tmp_path: Path) -> None:
    earlier = with_tables(tmp_path / "a", [], cases=500)
    now = with_tables(tmp_path / "b", range(8), cases=200, unjudged=[20])

    found = compared(now, earlier)

    assert found.pairs is not None
    assert (found.pairs.cases, found.pairs.only_now) == (199, 8)
    assert found.outcome == "failed"


@pytest.mark.parametrize("other", [{"seed": 9_000}, {"weather": "another generator's"}])
def test_other_cases_are_two_samples(tmp_path: Path, other: dict[str, object]) -> None:
    earlier = with_tables(tmp_path / "a", range(10), cases=300)
    now = with_tables(tmp_path / "b", range(20), cases=300, **other)

    found = compared(now, earlier)

    assert found.pairs is None
    assert (found.seen.violated, found.earlier and found.earlier.violated) == (20, 10)
    assert found.p == pytest.approx(
        fisher_exact([[20, 280], [10, 290]], alternative="greater").pvalue
    )


def test_two_samples_of_another_mix_are_not_compared_and_pairs_need_no_mix(tmp_path: Path) -> None:
    earlier = folder({"one": {}}, cases=9, generate={"mix": "reference", "faults": [1, 2]})
    now = folder({"one": {}}, cases=9, generate={"mix": "reference", "faults": [3, 4]})

    with pytest.raises(BadInput, match=r"drawn from another mix \(faults\)"):
        compare_with(cells_of(now), now, earlier, [READERS])

    newer = folder({"one": {}}, cases=9, generate={"mix": "reference", "faults": [1, 2], "new": 0})
    assert compare_with(cells_of(newer), newer, earlier, [READERS])


def test_so_few_runs_that_no_result_could_fail_decide_nothing() -> None:
    tiny = folder({"one": {READERS: 2}}, cases=2)

    found = compared(tiny, folder({"one": {READERS: 0}}, cases=2))

    assert found.outcome == "undecided"
    assert found.text.endswith("not decided, no result of so few runs could fail this gate")


def test_names_that_neither_sweep_saw_cost_no_power() -> None:
    now, earlier = (
        folder({"one": {READERS: 11}}, cases=300),
        folder({"one": {READERS: 3}}, cases=300),
    )
    names = [READERS, LOG_DIVERGENCE, "no-offset-reuse", "consistent-read"]
    found, _notes = compare_with(cells_of(now), now, earlier, names)

    first, *others = corrected(found)

    assert (first.outcome, first.adjusted_p) == ("failed", first.p)
    assert {one.outcome for one in others} == {"passed"}


def test_what_is_in_one_sweep_only_or_has_other_rules_is_said() -> None:
    earlier, now = (
        folder({"old": {}, "kept": {}}, cases=99),
        folder({"new": {}, "kept": {}}, cases=99),
    )
    earlier.plan["rule_sets"][1]["rules"] = {"fix": "none"}

    found, notes = compare_with(cells_of(now), now, earlier, [READERS])

    assert [one.finding.place.rule_set for one in found] == ["kept"]
    assert notes == [
        "not in the baseline: new",
        "other rules in kept: fix was none and is kept",
    ]
    with pytest.raises(BadInput, match="no rule set of this sweep is in that one"):
        compare_with(cells_of(now)[:1], now, earlier, [READERS])
