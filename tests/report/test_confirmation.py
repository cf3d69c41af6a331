"""A second seed beside the first: both rates, and whether they agree."""

import json
from pathlib import Path
from typing import Any

import pytest

from sim.errors import BadInput
from sim.study.report import quote, read_folder, write_report
from sim.study.report.confirmation import confirm
from tests.report.folders import entry, pair, rule_set, write_folder

PLAN = {"about": ["no-offset-reuse"], "confirmation_seed": 99}


def sweep(out: Path, reused: int, *, seed: int, plan: dict[str, Any] | None = None) -> Path:
    """1,000 cases under two fixes, the second of which holds."""
    counts = {"invariant": {"no-offset-reuse": reused}} if reused else {}
    verdicts = {"holds": 1_000 - reused, "violated": reused}
    exposure = {"outages": 1_000, "outages_beyond_retention": 500, "keys": 10, "unmeant_keys": 2}
    return write_folder(
        out,
        [rule_set(0, "none"), rule_set(1, "empty_batch")],
        [
            entry(0, "none", verdicts, counts=counts, totals=exposure),
            entry(1, "empty_batch", {"holds": 1_000}, totals=exposure),
        ],
        [pair(0, 1, {"violated/holds": reused, "holds/holds": 1_000 - reused})],
        seed=seed,
        plan=PLAN if plan is None else plan,
    )


def test_seeds_that_agree_are_said_to(tmp_path: Path) -> None:
    first, second = sweep(tmp_path / "a", 40, seed=1), sweep(tmp_path / "b", 45, seed=99)

    found = confirm(read_folder(first), read_folder(second))

    assert [(one["development"].runs, one["confirmation"].runs) for one in found["rates"]] == [
        (40, 45),
        (0, 0),
    ]
    assert found["text"] == (
        "Of 2 rates under seed 1 and the confirmation seed 99 none differs "
        "(Fisher's exact test, p values Holm's)."
    )


def test_a_rate_that_does_not_hold_up_is_named(tmp_path: Path) -> None:
    first, second = sweep(tmp_path / "a", 5, seed=1), sweep(tmp_path / "b", 45, seed=99)

    text = confirm(read_folder(first), read_folder(second))["text"]

    assert "1 differ" in text
    assert "no-offset-reuse under none (plain) 5 of 1,000 against 45 of 1,000" in text


@pytest.mark.parametrize(
    ("seed", "plan", "told"),
    [
        (98, PLAN, "made with seed 98; the plan's confirmation seed is 99"),
        (99, {**PLAN, "about": []}, "another plan than in"),
    ],
)
def test_what_confirms_nothing_is_refused(
    tmp_path: Path, seed: int, plan: dict[str, Any], told: str
) -> None:
    first, second = sweep(tmp_path / "a", 5, seed=1), sweep(tmp_path / "b", 5, seed=seed, plan=plan)

    with pytest.raises(BadInput, match=told):
        confirm(read_folder(first), read_folder(second))


def test_a_plan_without_a_confirmation_seed_is_told_so(tmp_path: Path) -> None:
    first, second = (sweep(tmp_path / name, 5, seed=1, plan={"about": []}) for name in "ab")

    with pytest.raises(BadInput, match="its plan gives no confirmation_seed") as caught:
        confirm(read_folder(first), read_folder(second))

    assert "None" not in str(caught.value)


def test_the_report_has_both_rates_and_both_commands(tmp_path: Path) -> None:
    first, second = sweep(tmp_path / "a", 40, seed=1), sweep(tmp_path / "b", 45, seed=99)
    write_report(first, confirmed_by=second)

    text, content = (
        (first / "report.md").read_text(),
        json.loads((first / "report.json").read_text()),
    )
    row = "| plain | no-offset-reuse | none | 40 (2.87 to 5.41 %) | 45 (3.30 to 5.98 %) |"
    assert row in text
    assert text.count(" --seed 99 ") == 1
    assert f"--confirmed-by {second}" in text
    assert content["confirmation"]["rates"][0]["confirmation"]["runs"] == 45
    assert "seed 99" in (first / "report.html").read_text()


def test_the_short_table_is_quoted_between_its_marks(tmp_path: Path) -> None:
    out, page = sweep(tmp_path / "a", 40, seed=1), tmp_path / "README.md"
    page.write_text("before\n<!-- short table of a plan.yaml -->\nold\n<!-- end -->\nafter\n")

    quote(out, page)
    quote(out, page)

    text = page.read_text()
    assert text.startswith(
        "before\n<!-- short table of a plan.yaml -->\n\n| `none` / `empty_batch`"
    )
    assert "| no-offset-reuse | 40 / 0 |" in text
    assert "end on what their producer did not mean" not in text
    assert "old" not in text
    assert text.endswith("\n<!-- end -->\nafter\n")


def test_a_page_without_a_place_for_it_is_bad_input(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("nothing\n")

    with pytest.raises(BadInput, match="no lines <!-- short table of a plan"):
        quote(sweep(tmp_path / "a", 40, seed=1), page)
