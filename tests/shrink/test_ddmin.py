"""Delta debugging of plain lists: what is left, in how many tries, and where it goes on."""

from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from sim.shrink.ddmin import Budget, Place, Position, Proposal, Reducer, chunks, ddmin, without


@given(st.sets(st.integers(0, 299), max_size=6))
def test_what_is_needed_stays_and_nothing_else(needed: set[int]) -> None:
    reduced = ddmin(range(300), lambda items: needed <= set(items))

    assert list(reduced.value) == sorted(needed)
    assert reduced.complete


def test_three_of_a_thousand_are_found_in_less_than_a_hundred_tries() -> None:
    assert ddmin(range(1000), lambda items: {3, 500, 997} <= set(items)).tries < 100


def test_nothing_is_tried_twice() -> None:
    tried: list[tuple[int, ...]] = []

    def shows(items: Sequence[int]) -> bool:
        tried.append(tuple(items))
        return {2, 9} <= set(items)

    ddmin(range(12), shows)

    assert len(set(tried)) == len(tried)


def test_a_budget_of_tries_cuts_and_says_so() -> None:
    reduced = ddmin(range(100), lambda items: 50 in items, budget=Budget(tries=3))

    assert not reduced.complete
    assert reduced.tries == 3
    assert 1 < len(reduced.value) < 100


def test_a_budget_of_time_cuts_and_says_so() -> None:
    ticks = iter(range(100))
    reduced = _reducer(list(range(100))).run(Budget(within_s=4), clock=lambda: next(ticks))

    assert not reduced.complete
    assert reduced.tries == 3


@given(st.integers(1, 40))
def test_cut_short_anywhere_it_goes_on_as_if_it_had_not_been(cut: int) -> None:
    whole = _reducer(list(range(60))).run()
    first = _reducer(list(range(60)))
    first.run(Budget(tries=cut))

    second = _reducer(first.best, first.place).run()

    assert second.value == whole.value
    assert second.complete


def test_every_item_is_in_one_chunk_of_each_size() -> None:
    sizes: dict[int, list[int]] = {}
    for position, part in chunks(11, ()):
        sizes.setdefault(position[0], []).extend(part)

    assert list(sizes) == [6, 3, 1]
    assert all(sorted(items) == list(range(11)) for items in sizes.values())


def _reducer(items: list[int], place: Place | None = None) -> Reducer[list[int]]:
    """Keeps three numbers of which one is worth replacing by a smaller one."""

    def remove(value: list[int], start: Position) -> Iterator[Proposal[list[int]]]:
        for position, part in chunks(len(value), start):
            yield Proposal(position, without(value, part))

    def lower(value: list[int], start: Position) -> Iterator[Proposal[list[int]]]:
        for index in range(start[0] if start else 0, len(value)):
            yield Proposal((index,), [*value[:index], value[index] - 1, *value[index + 1 :]])

    def shows(value: list[int]) -> list[int] | None:
        return value if {7, 19} <= set(value) and any(item >= 40 for item in value) else None

    return Reducer(
        items,
        [remove, lower],
        shows=shows,
        smaller=lambda a, b: (len(a), a) < (len(b), b),
        key=tuple,
        place=place or Place(),
    )
