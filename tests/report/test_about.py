"""What rates are rates of, by family and by environment, and what a plan is about."""

import json
from typing import Any

import pytest

from sim.check.families import FAMILIES, LATE_WRITE, LOG_DIVERGENCE
from sim.study.report import comparison_table
from sim.study.report.conditions import exposure_of, hunts_text
from sim.study.report.pairs import counted_in, paired, pairs_within, share_of
from sim.study.report.sweep_folder import SweepFolder
from tests.report.folders import entry, folder_of, pages_of, pair, rule_set

EXPOSURE = {
    "outages": 200,
    "outages_beyond_retention": 110,
    "sends": 1_000,
    "late_sends": 250,
    "rolls": 50,
    "leader_changes": 400,
    "tombstones_removed": 0,
}


def runs(index: int, label: str, reused: int, *, hunted: int) -> dict[str, Any]:
    """100 cases, some of which give an offset away."""
    return entry(
        index,
        label,
        {"holds": 100 - reused, "violated": reused},
        totals=EXPOSURE,
        counts={
            "invariant": {"no-offset-reuse": reused, "no-resurrection": 1} if reused else {},
            "family": {LOG_DIVERGENCE: reused, LATE_WRITE: 1} if reused else {},
            "about": {"any": reused} if reused else {},
            "hunted": {"hunted": hunted} if hunted else {},
        },
    )


def both(left: int, right: int, reused: int) -> dict[str, Any]:
    verdicts = {"violated/holds": reused, "holds/holds": 100 - reused}
    return pair(left, right, verdicts, about={"both": 0, "only_left": reused, "only_right": 0})


def sweep() -> SweepFolder:
    """Nine cases of 100 with hunts, none without; the fix helps."""

    def entries(reused: int, hunted: int) -> list[dict[str, Any]]:
        return [
            runs(0, "none", reused, hunted=hunted),
            runs(1, "empty_batch", 0, hunted=hunted),
        ]

    twins = [{**one, "twins": 100, "changed": 55} for one in entries(9, 70)]
    plain, hunted = (entries(0, 0), [both(0, 1, 0)]), (twins, [both(0, 1, 9)])
    return folder_of(
        [rule_set(0, "none"), rule_set(1, "empty_batch")],
        entries(9, 70),
        [both(0, 1, 9)],
        environments={"plain": plain, "hunted": hunted},
        plan={"about": ["no-offset-reuse", LOG_DIVERGENCE]},
    )


@pytest.fixture(scope="module")
def out() -> SweepFolder:
    return sweep()


def test_what_the_cases_are_is_said_once_for_all_tables(out: SweepFolder) -> None:
    plain, hunted = out.environments
    hunts = (
        "hunted: the same 100 seeds, 70.0 % with a scripted hunt; 110 of 200 runs are not as in "
        "plain"
    )

    assert hunts_text(plain) == "plain: 100 seeds, no hunts"
    assert hunts_text(hunted) == hunts
    exposure = {
        "outages per case": "2.00",
        "of them longer than 86,400,000 ms": "55.0 %",
        "sends late": "25.0 %",
        "forced rolls per case": "0.50",
    }
    assert exposure_of(plain) == exposure_of(hunted) == exposure
    pages = pages_of(out)
    for page in ("report.md", "report.html"):
        text = pages[page].replace("\u00a0", " ")
        assert text.count(hunts) == 1
        assert "100 seeds in plain and hunted, drawn from 280, 2 rule sets, 400 runs" in text
        assert "of them longer than 86,400,000 ms" in text


def test_families_are_counted_per_run_and_per_chance_and_all_are_listed(out: SweepFolder) -> None:
    entries = out.environments[1].statistics["rule_sets"]
    found = {name: [share_of(entry, "family", name) for entry in entries] for name in FAMILIES}

    divergence = found[LOG_DIVERGENCE]
    assert [share.text for share in divergence] == ["9 (4.20 to 16.4 %)", "0 (0 to 3.62 %)"]
    assert divergence[0].per_chance == ("22.5 per 1,000 leader changes",)
    assert divergence[1].per_chance == ()
    assert found[LATE_WRITE][0].per_chance == ()  # no tombstone was removed
    assert "deleted key returns" in pages_of(out)["report.md"]


def test_rule_sets_are_compared_by_what_the_plan_is_about(out: SweepFolder) -> None:
    hunted = out.environments[1]
    (pair,) = pairs_within(hunted)
    found = paired(pair, counted_in(hunted, pair))

    assert (pair["left"], pair["right"]) == (0, 1)
    assert (found.both, found.only_left, found.only_right) == (0, 9, 0)
    assert found.difference is not None
    assert found.difference.value == 0.09
    assert found.difference.interval.low > 0
    assert found.p == pytest.approx(2 / 2**9)


def test_terminal_and_document_have_each_environment_beside_all_cases(out: SweepFolder) -> None:
    rows = comparison_table(out)
    content = json.loads(pages_of(out)["report.json"])

    assert [(row["environment"], row["rule set"], row["violated"]) for row in rows] == [
        ("plain", "none", "0"),
        ("plain", "empty_batch", "0"),
        ("hunted", "none", "9"),
        ("hunted", "empty_batch", "0"),
    ]
    counted = content["statistics"]
    for parts, violated in ((counted["environments"], [0, 9]), ([counted], [9])):
        verdicts = [one["rule_sets"][0]["counts"]["verdict"] for one in parts]
        assert [one["violated"]["runs"] for one in verdicts] == violated
