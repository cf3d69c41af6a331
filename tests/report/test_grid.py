"""One rule of a sweep against the others: which rule sets belong together, and what is counted."""

from itertools import combinations

import pytest

from sim.errors import BadInput
from sim.study.report import grid_as_markdown
from sim.study.report.pairs import blocks_of
from sim.study.report.sweep_folder import SweepFolder
from tests.report.folders import entry, folder_of, pair, rule_set


def swept(index: int, fix: str, strategy: str) -> dict[str, object]:
    own = {"label": "abcd"[index], "swept": {"fix": fix, "strategy": strategy}}
    return rule_set(index, fix, strategy) | own


@pytest.fixture
def folder() -> SweepFolder:
    """Two fixes under two strategies; the fix cures under one of them."""
    reuse = {"invariant": {"no-offset-reuse": 9, "tombstone-safety": 2}}
    stays = {"invariant": {"tombstone-safety": 2}}
    little = {"bytes_retained": 100_000}
    paid = {"bytes_retained": 110_000, "empty_batches": 50}
    entries = [
        entry(0, "a", {"holds": 89, "violated": 11}, counts=reuse, totals=little),
        entry(1, "b", {"holds": 98, "violated": 2}, counts=stays, totals=paid),
        entry(2, "c", {"holds": 100}, totals=little),
        entry(3, "d", {"holds": 100}, totals=little),
    ]
    kept = {"holds/holds": 88, "violated/holds": 10, "violated/violated": 1, "holds/violated": 1}
    pairs = [pair(*sides, {"holds/holds": 100}) for sides in combinations(range(4), 2)]
    pairs[0] = pair(0, 1, kept)
    rule_sets = [
        swept(0, "none", "header"),
        swept(1, "empty_batch", "header"),
        swept(2, "none", "offset"),
        swept(3, "empty_batch", "offset"),
    ]
    return folder_of(rule_sets, entries, pairs)


def test_rule_sets_that_agree_in_all_else_are_a_block(folder: SweepFolder) -> None:
    first, second = blocks_of(folder, "fix")

    assert (first.label, first.values, first.places) == ("", ("none", "empty_batch"), (0, 1))
    assert (second.label, second.places) == ("strategy=offset", (2, 3))
    by_strategy = blocks_of(folder, "strategy")
    assert [block.label for block in by_strategy] == ["", "fix=empty_batch"]
    assert [block.places for block in by_strategy] == [(0, 2), (1, 3)]
    with pytest.raises(BadInput, match="does not vary truncation; it varies fix, strategy"):
        grid_as_markdown(folder, "truncation")


def test_each_block_has_its_rates_its_cases_and_its_prices(folder: SweepFolder) -> None:
    text = grid_as_markdown(folder, "fix")
    header, _, offset = text.partition("### `strategy=offset`, plain")

    for row in (
        "| none | 89 | 11 | 0 | 0 | 11.0 % (5.62 to 18.8 %) |",
        "| empty_batch | 98 | 2 | 0 | 0 | 2.00 % (0.24 to 7.04 %) |",
        "| empty_batch | 2 of 100 (2.00 %) | \u22129.00 points (\u221216.9 to \u22121.64) |",
        "| no-offset-reuse | log divergence | 9 (4.20 to 16.4 %) | 0 (0 to 3.62 %) |",
        "| bytes retained | 1,000 | 1,100<br>the same in every case |",
    ):
        assert row in header, row
    assert "| empty_batch | 100 | 0 | 0 | 0 | none (0 to 3.62 %) |" in offset
