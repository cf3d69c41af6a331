"""What rules cost: means, and what differs on the same cases, with an interval where one can be."""

from typing import Any

import pytest

from sim.study.report.page import cost_of
from sim.study.sweep.numbers import mean_difference
from tests.report.folders import entry, pair

CASES = 100
COUNTER = "bytes_retained"


def costing(base: int, own: int, *, squares: int, differing: int) -> dict[str, Any]:
    """An environment of two rule sets with these sums over all cases."""
    entries = [
        entry(at, "", {"holds": CASES}, totals={COUNTER: total})
        for at, total in enumerate((base, own))
    ]
    sums = {"differences": own - base, "squares": squares, "differing": differing}
    named = {name: {COUNTER: value} for name, value in sums.items()}
    return {"rule_sets": entries, "pairs": [pair(0, 1, {"holds/holds": CASES}, **named)]}


@pytest.mark.parametrize(
    ("environment", "text", "differs"),
    [
        (costing(5000, 6000, squares=10_400, differing=90), "60.0 (×1.200, +9.60 to +10.4)", True),
        (
            costing(5000, 6000, squares=990_000, differing=90),
            "60.0 (×1.200, −9.77 to +29.8)",
            False,
        ),
        (costing(5000, 6000, squares=1, differing=1), "60.0 (×1.200, other in 1 case)", False),
        (costing(5000, 5000, squares=0, differing=0), "50.0 (same)", False),
        (costing(0, 1000, squares=10_400, differing=90), "10.0 (+9.60 to +10.4)", True),
    ],
)
def test_a_cost_says_how_much_more_and_how_sure_that_is(
    environment: dict[str, Any], text: str, differs: bool
) -> None:
    cost = cost_of(environment, COUNTER, 1, 0)

    assert (cost.text, cost.differs) == (text, differs)
    assert not cost_of(environment, COUNTER, 0, 0).differs


def test_what_every_case_pays_alike_is_known_exactly() -> None:
    assert mean_difference(7 * 400, 49 * 400, 400, 400) == (7, 7)


def test_one_case_has_no_interval_and_few_have_a_wide_one() -> None:
    assert mean_difference(5, 25, 1, 400) is None
    few = mean_difference(4, 4, 4, 400)
    assert few is not None
    assert few.low < 0 < few.high  # four of four are 12 % by chance
