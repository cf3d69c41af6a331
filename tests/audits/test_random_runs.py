"""A fixed slice of random runs raises no alarm, and meets situations that are rare."""

from tests.audits.random_runs import audit_some, slice_of
from tests.zoo.draws import WIDE


def test_random_runs_raise_no_alarm() -> None:
    found = audit_some(seed=1, count=20)

    assert found.alarms == []
    assert found.runs == 20
    assert found.met["fetch-of-an-earlier-life"] > 1


def test_every_second_run_is_of_the_plan_that_draws_widely() -> None:
    draws = slice_of(1)
    first = [next(draws) for _ in range(40)]

    assert all(one.plan == WIDE for one in first[::2])
    assert len({one.plan for one in first[1::2]}) > 5
    assert next(slice_of(2)) != first[0]
