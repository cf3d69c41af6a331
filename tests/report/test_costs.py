"""What rules cost: means, and what differs on the same cases, with an interval where one can be."""

import pytest

from sim.study.report.costs import CostOfRuleSet
from sim.study.sweep.stats import Interval, mean_difference


def fix(**own: object) -> CostOfRuleSet:
    values: dict[str, object] = {"difference": 10.0, "differing": 9, "ratio": 1.2} | own
    return CostOfRuleSet("empty_batch", "none", 400, 60.0, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (fix(interval=Interval(9.0, 11.0)), "\u00d71.200, +10.0 (+9.00 to +11.0)"),
        (fix(differing=1), "\u00d71.200, +10.0 (other in 1 case)"),
        (fix(differing=0, difference=0.0), "the same in every case"),
        (fix(ratio=None, interval=Interval(9.0, 11.0)), "+10.0 (+9.00 to +11.0)"),
        (CostOfRuleSet("none", "none", 400, 50.0), ""),
    ],
)
def test_a_cost_says_how_much_more_and_how_sure_that_is(cost: CostOfRuleSet, text: str) -> None:
    assert cost.paired_text == text


def test_what_every_case_pays_alike_is_known_exactly() -> None:
    assert mean_difference(7 * 400, 49 * 400, 400, 400) == (7, 7)


def test_one_case_has_no_interval_and_few_have_a_wide_one() -> None:
    assert mean_difference(5, 25, 1, 400) is None
    few = mean_difference(4, 4, 4, 400)
    assert few is not None
    assert few.low < 0 < few.high  # four of four are 12 % by chance
