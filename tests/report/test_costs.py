"""What rules cost: means, and what differs on the same cases, with an interval where one can be."""

import pytest

from sim.study.report.sections import Cost
from sim.study.sweep.stats import Interval, mean_difference


def fix(**own: object) -> Cost:
    values: dict[str, object] = {"difference": 10.0, "differing": 9, "ratio": 1.2} | own
    return Cost(60.0, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cost", "text", "differs"),
    [
        (fix(interval=Interval(9.0, 11.0)), "60.0 (\u00d71.200, +9.00 to +11.0)", True),
        (fix(interval=Interval(-1.0, 11.0)), "60.0 (\u00d71.200, \u22121.00 to +11.0)", False),
        (fix(differing=1), "60.0 (\u00d71.200, other in 1 case)", False),
        (fix(differing=0, difference=0.0), "60.0 (same)", False),
        (fix(ratio=None, interval=Interval(9.0, 11.0)), "60.0 (+9.00 to +11.0)", True),
        (Cost(50.0), "50.0", False),
    ],
)
def test_a_cost_says_how_much_more_and_how_sure_that_is(
    cost: Cost, text: str, differs: bool
) -> None:
    assert (cost.text, cost.differs) == (text, differs)


def test_what_every_case_pays_alike_is_known_exactly() -> None:
    assert mean_difference(7 * 400, 49 * 400, 400, 400) == (7, 7)


def test_one_case_has_no_interval_and_few_have_a_wide_one() -> None:
    assert mean_difference(5, 25, 1, 400) is None
    few = mean_difference(4, 4, 4, 400)
    assert few is not None
    assert few.low < 0 < few.high  # four of four are 12 % by chance
