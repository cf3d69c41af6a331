"""The loop of every shrink, over plain lists: what is left, in how many tries, where it goes on."""

from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.check import Violation
from sim.diagnose.shrink.engine import (
    Pass,
    Reducer,
    ShownTarget,
    ShrinkBudget,
    ShrinkKind,
    chunks,
    plainer,
    without,
)
from sim.protocol.rules import Rules

List = tuple[int, ...]
SAME = Violation("made-up", 0, None, None, None, "Nothing.")


def lower(shown: ShownTarget[List]) -> Iterator[List]:
    for index, item in enumerate(shown.value):
        yield (*shown.value[:index], max(0, item - 1), *shown.value[index + 1 :])


CHUNKS: Pass[List] = Pass(
    lambda shown: chunks(len(shown.value)),
    lambda shown, left_out: [tuple(without(shown.value, *left_out))],
)


class Lists(Reducer[List]):
    """Shrinks a list that has to have some numbers and one of at least 40."""

    def __init__(
        self,
        value: List,
        needed: set[int],
        passes: tuple[Pass[List], ...] = (CHUNKS, Pass(lower)),
    ) -> None:
        self.needed, self.tried = needed, list[List]()
        kind = ShrinkKind(passes, size=lambda shown: (len(shown.value), shown.value), key=tuple)
        super().__init__(ShownTarget(value, SAME, ()), kind, self.shown_by)

    def shown_by(self, value: List) -> ShownTarget[List] | None:
        self.tried.append(value)
        found = self.needed <= {*value} and any(item >= 40 for item in value)
        return ShownTarget(value, SAME, ()) if found else None


@given(st.sets(st.integers(0, 39), max_size=6))
def test_what_is_needed_stays_and_nothing_else(needed: set[int]) -> None:
    lists = Lists(tuple(range(80)), needed)

    assert lists.run(ShrinkBudget())
    assert lists.best.value == (*sorted(needed), 40)
    assert len({*lists.tried}) == len(lists.tried)


def test_three_of_a_thousand_are_found_in_less_than_a_hundred_tries() -> None:
    lists = Lists(tuple(range(1000)), {3, 500, 997}, passes=(CHUNKS,))

    assert lists.run(ShrinkBudget(tries=100))
    assert lists.best.value == (3, 500, 997)


@given(st.integers(1, 60))
def test_cut_short_anywhere_it_goes_on_as_if_it_had_not_been(cut: int) -> None:
    whole, first = (Lists(tuple(range(60)), {7, 19}) for _ in range(2))
    whole.run(ShrinkBudget())
    heard: list[bool] = []
    budget = ShrinkBudget(tries=2 * cut)

    assert first.run(budget, share=0.5, report=heard.append) == (len(whole.tried) < cut)
    assert budget.tries == len(first.tried) == len(heard) == min(cut, len(whole.tried))

    assert first.run(ShrinkBudget())
    assert first.best.value == whole.best.value


def test_a_budget_of_time_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.monotonic", partial(next, iter(range(1000))))
    lists, budget = Lists(tuple(range(100)), {7}), ShrinkBudget(4)

    in_time = lists.run(budget)
    monkeypatch.undo()

    assert not in_time
    assert budget.tries == 3


def test_rules_go_back_to_their_defaults_all_at_once_and_one_by_one() -> None:
    own, default = Rules.of(fix="leo_retention", truncation="none"), Rules()

    left = [plain.differing_from(default) for plain in plainer(own, default)]

    assert left[0] == {}
    assert {"fix": "leo_retention"} in left
    assert {"truncation": "none"} in left
