"""What rates are rates of, by family and by environment, and what a plan is about."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sim.check.families import DELETED_KEY_RETURNS, LATE_WRITE, LOG_DIVERGENCE, NO_FAMILY
from sim.report import comparison_table, headline, write_report
from sim.report.about import about_pairs
from sim.report.comparison import compare
from sim.report.conditions import conditions_of
from sim.report.families import families_of
from sim.report.sweep_folder import read_folder
from tests.report.folders import entry, pair, rule_set, write_folder

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


def sweep(out: Path, about: Sequence[str] = ("no-offset-reuse", LOG_DIVERGENCE)) -> Path:
    """Nine cases of 100 with hunts, none without; the fix helps."""

    def entries(reused: int, hunted: int) -> list[dict[str, Any]]:
        return [
            runs(0, "none", reused, hunted=hunted),
            runs(1, "empty_batch", 0, hunted=hunted),
        ]

    plain, hunted = (entries(0, 0), [both(0, 1, 0)]), (entries(9, 70), [both(0, 1, 9)])
    return write_folder(
        out,
        [rule_set(0, "none"), rule_set(1, "empty_batch")],
        entries(9, 70),
        [both(0, 1, 9)],
        environments={"plain": plain, "hunted": hunted},
        plan={"about": list(about)},
    )


def test_a_caption_says_what_the_rates_are_rates_of(tmp_path: Path) -> None:
    plain, hunted = read_folder(sweep(tmp_path)).environments
    rest = (
        "55.0 % of 2.00 outages per case outlast the retention of 86,400,000 ms; "
        "25.0 % of sends late; 0.50 forced rolls per case"
    )

    assert conditions_of(plain).text == f"plain: 100 cases, no hunts; {rest}"
    assert conditions_of(hunted).text == f"hunted: 100 cases, 70.0 % with a scripted hunt; {rest}"


def test_every_table_of_rates_has_its_caption_in_every_environment(tmp_path: Path) -> None:
    out = sweep(tmp_path)
    write_report(out)

    pages = {name: (out / f"report.{name}").read_text() for name in ("md", "html")}
    for environment, tables in (("plain", 6), ("hunted", 7)):  # one of invariants, if any
        assert pages["md"].count(f"\n*{environment}: 100 cases") == tables
        assert pages["html"].count(f'<p class="note">{environment}: 100 cases') == 6
        assert pages["html"].count(f"<figcaption>{environment}: 100 cases") == 1


def test_families_are_counted_per_run_and_per_chance_and_all_are_listed(tmp_path: Path) -> None:
    found = {one.name: one for one in families_of(read_folder(sweep(tmp_path)).environments[1])}

    divergence = found[LOG_DIVERGENCE]
    assert divergence.invariants == ("no-offset-reuse",)
    assert [share.text for share in divergence.shares] == ["9 (4.20 to 16.4 %)", "0 (0 to 3.62 %)"]
    assert divergence.shares[0].per_chance == ("22.5 per 1,000 leader changes",)
    assert divergence.shares[1].per_chance == ()
    assert found[LATE_WRITE].shares[0].per_chance == ()  # no tombstone was removed
    assert {DELETED_KEY_RETURNS, NO_FAMILY} <= set(found)


def test_the_headline_is_what_the_plan_is_about_and_not_any_invariant(tmp_path: Path) -> None:
    reuse, divergence = headline(sweep(tmp_path))

    assert reuse == (
        "Cases of no-offset-reuse under fix none / empty_batch: of 100 plain cases 0 / 0 "
        "(0 is at most 3.62 %); of 100 hunted cases 9 / 0 (0 is at most 3.62 %)."
    )
    assert divergence.startswith("Cases of log divergence under fix none / empty_batch: ")


def test_a_plan_that_is_about_nothing_is_told_as_ever(tmp_path: Path) -> None:
    (sentence,) = headline(sweep(tmp_path, about=()))

    assert sentence.startswith("An invariant was violated under fix none in 9 of 100 runs")
    assert compare(read_folder(tmp_path)).about == ()


def test_rule_sets_are_compared_by_what_the_plan_is_about(tmp_path: Path) -> None:
    (found,) = about_pairs(read_folder(sweep(tmp_path)).environments[1])

    assert (found.left, found.right) == ("none", "empty_batch")
    assert (found.both, found.only_left, found.only_right) == (0, 9, 0)
    assert found.difference == 0.09
    assert found.interval.low > 0
    assert found.adjusted_p == pytest.approx(2 / 2**9)


def test_the_terminal_names_the_environment_of_each_row(tmp_path: Path) -> None:
    rows = comparison_table(sweep(tmp_path))

    assert [(row["environment"], row["rule set"], row["violated"]) for row in rows] == [
        ("plain", "none", "0"),
        ("plain", "empty_batch", "0"),
        ("hunted", "none", "9"),
        ("hunted", "empty_batch", "0"),
    ]


def test_the_document_has_each_environment_beside_all_cases(tmp_path: Path) -> None:
    out = sweep(tmp_path)
    write_report(out)

    content = json.loads((out / "report.json").read_text())

    assert [one["name"] for one in content["environments"]] == ["plain", "hunted"]
    assert [one["rates"][0]["violated"] for one in content["environments"]] == [0, 9]
    assert content["rates"][0]["violated"] == 9


def test_of_many_rule_sets_the_best_comes_first_with_its_price(tmp_path: Path) -> None:
    violated = [20, 7, 0, 9, 9, 9, 9, 9, 0]
    labels = [f"cure {number}" for number in range(9)]
    entries = [
        entry(
            index,
            label,
            {"holds": 100 - count, "violated": count},
            totals=EXPOSURE | {"bytes_retained": 100_000 + 1_000 * index},
            squares={"bytes_retained": 2 * 10**8},
            counts={"about": {"any": count} if count else {}},
        )
        for index, (label, count) in enumerate(zip(labels, violated, strict=True))
    ]
    pairs = [
        pair(
            left,
            right,
            {"holds/holds": 100},
            differences={"bytes_retained": 1_000 * right},
            squares={"bytes_retained": 10_000 * right**2},
        )
        for left in range(9)
        for right in range(left + 1, 9)
    ]
    rule_sets = [
        {**rule_set(index, "none"), "label": label, "swept": {"a": str(index), "b": "x"}}
        for index, label in enumerate(labels)
    ]
    out = write_folder(
        tmp_path, rule_sets, entries, pairs, plan={"about": [DELETED_KEY_RETURNS, "transactions"]}
    )

    best, as_good = headline(out)
    assert best == (
        "Fewest cases of a deleted key returns or transactions: cure 2, none of 100 (0 to 3.62 %; "
        "plain 0), at the price of 1,020 bytes retained instead of 1,000; cure 0 has 20 of 100 "
        "(12.7 to 29.2 %; plain 20)."
    )
    assert as_good == "As few: cure 8, at 1,080 bytes retained instead of 1,000."


def test_strategies_are_told_apart_and_by_what_they_are_for(tmp_path: Path) -> None:
    rule_sets = [
        {
            **rule_set(index, fix, strategy),
            "label": f"{strategy}: {fix}",
            "swept": {"fix": fix, "strategy": strategy},
        }
        for index, (strategy, fix) in enumerate(
            (strategy, fix) for strategy in ("header", "offset") for fix in ("none", "empty_batch")
        )
    ]
    entries = [runs(index, one["label"], 0, hunted=0) for index, one in enumerate(rule_sets)]
    entries[0] = runs(0, "header: none", 9, hunted=0)
    for one, keys in zip(entries, (3, 3, 40, 40), strict=True):
        one["totals"] |= {"keys": 200, "unmeant_keys": keys}
    pairs = [both(left, right, 0) for left in range(4) for right in range(left + 1, 4)]
    out = write_folder(tmp_path, rule_sets, entries, pairs, plan={"about": ["no-offset-reuse"]})

    reused, unmeant = headline(out)
    assert reused == (
        "Cases of no-offset-reuse under fix none / empty_batch: of 100 plain cases header 9 / 0, "
        "offset 0 / 0 (0 is at most 3.62 %)."
    )
    assert unmeant == (
        "Keys that end on what their producer did not mean: in plain cases header 1.50 %, "
        "offset 20.0 %."
    )
    assert [(one.left, one.right) for one in about_pairs(read_folder(out))] == [
        ("header: none", "header: empty_batch"),
        ("offset: none", "offset: empty_batch"),
    ]
