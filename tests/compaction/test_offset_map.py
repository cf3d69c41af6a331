"""How far an offset map reaches, and whom it holds (Cleaner.buildOffsetMap)."""

from typing import NamedTuple

import pytest

from sim.compaction import STRATEGIES
from sim.compaction.offset_map import build_map
from sim.log import Segment
from tests.compaction.logs import batch, indexed, marker, plan, record, segment


class Reach(NamedTuple):
    """A map over a log: how many keys fit, from where to where, and what comes of it."""

    log: list[Segment]
    capacity: int | None
    latest: int
    winners: dict[str, int]
    first_dirty: int = 0
    bound: int = 100
    full: bool = False
    strategy: str = "offset"


def single(*keys: str | None, base: int = 0) -> Segment:
    """A segment of batches of one record each."""
    return segment(*(batch(record(base + i, key)) for i, key in enumerate(keys)), base=base)


def together(*keys: str | None, base: int = 0) -> Segment:
    """A segment of one batch."""
    return segment(batch(*(record(base + i, key) for i, key in enumerate(keys))))


def wide(key: str, offset: int, last_offset: int) -> Segment:
    """A segment of one batch whose last records are gone."""
    return segment(batch(record(offset, key))._replace(last_offset=last_offset))


def aborted_between() -> list[Segment]:
    """A value, an aborted one of the same key, the marker, another key."""
    return indexed(
        segment(
            batch(record(0, "a")),
            batch(record(1, "a"), record(2, "x"), pid=7),
            marker(3, 7, commit=False),
            batch(record(4, "b")),
            batch(record(5, "c")),
        )
    )


def marker_in_the_next_segment() -> list[Segment]:
    """The bound lies between the data of an aborted transaction and its marker."""
    return indexed(
        segment(batch(record(0, "a")), batch(record(1, "a"), pid=7)),
        segment(marker(2, 7, commit=False)),
        segment(base=3),
    )


def versions() -> list[Segment]:
    """Versions 5, 3, 4 of one key, and another key."""
    made = [record(offset, "a", version=version) for offset, version in enumerate([5, 3, 4])]
    return [segment(*(batch(each) for each in made), batch(record(3, "b")))]


ALL = {"a": 0, "b": 1, "c": 2}
CASES = {
    # Full is asked before each put.
    "one key more than fits": Reach([single("a", "b", "c")], 2, 1, {"a": 0, "b": 1}),
    "all keys fit": Reach([single("a", "b", "c")], 3, 99, ALL),
    "no limit": Reach([single("a", "b", "c")], None, 99, ALL),
    "full stops also at a key that is in it": Reach(
        [single("a", "b", "b")], 2, 1, {"a": 0, "b": 1}
    ),
    "not yet full takes a key again": Reach([single("a", "b", "b")], 3, 99, {"a": 0, "b": 2}),
    "full and nobody asks": Reach([single("a", "b", None)], 2, 99, {"a": 0, "b": 1}),
    "records without a key take no room": Reach([single(None, "a", None, "b")], 1, 2, {"a": 1}),
    "nothing fits": Reach([single("a")], 0, -1, {}),
    # Where it stops.
    "in the middle of a batch": Reach([together("a", "b", "c")], 2, 1, {"a": 0, "b": 1}),
    "after a record, not after the unkeyed one behind it": Reach(
        [together("a", None, "b")], 1, 0, {"a": 0}
    ),
    "at the end of the batch before": Reach([single("a"), wide("b", 5, 9)], 1, 4, {"a": 0}),
    "in a batch that begins with a put": Reach(
        [together("a", "b"), single("c", base=2)], 1, 0, {"a": 0}
    ),
    # Gaps cannot stop it.
    "a batch counts up to its header's last offset": Reach(
        [segment(*wide("a", 0, 4).batches, batch(record(7, "b")))], 1, 4, {"a": 0}
    ),
    "a segment counts up to the next one's base": Reach(
        [single("a"), single("b", base=10)], 1, 9, {"a": 0}
    ),
    "an empty segment counts as well": Reach(
        [single("a"), segment(base=5), single("b", base=10)], 1, 9, {"a": 0}
    ),
    "the last segment counts up to the bound": Reach([single("a")], 1, 49, {"a": 0}, bound=50),
    "an empty batch counts": Reach(
        [segment(batch(record(0, "a")), batch(record(1, "b")).emptied(), batch(record(2, "c")))],
        1,
        1,
        {"a": 0},
    ),
    # The dirty section.
    "from the middle of a batch": Reach([together("a", "b", "c")], 1, 1, {"b": 1}, first_dirty=1),
    "nothing of the clean section": Reach(
        [single("a", "b", "c")], None, 99, {"c": 2}, first_dirty=2
    ),
    "a full map takes the clean section without asking for room": Reach(
        [single("a", "a", "b", "c", "d")], 1, 2, {"a": 1, "b": 2}, first_dirty=2, full=True
    ),
    "not one that is superseded by a dirty record": Reach(
        [single("a", "b", "a", "c")], 1, 2, {"a": 2, "b": 1}, first_dirty=2, full=True
    ),
    # The bound.
    "records at the bound stay out": Reach(
        [single("a", "b", "c")], 9, 1, {"a": 0, "b": 1}, bound=2
    ),
    "a batch that reaches it stays out whole": Reach(
        [single("a"), together("b", "c", base=1)], 9, 1, {"a": 0}, bound=2
    ),
    "the same without a limit": Reach(
        [single("a"), together("b", "c", base=1)], None, 1, {"a": 0}, bound=2
    ),
    # Transactions.
    "aborted data stays out and moves the end": Reach(aborted_between(), 1, 3, {"a": 0}),
    "the marker, too": Reach(aborted_between(), 2, 4, {"a": 0, "b": 4}),
    "aborted data whose marker is beyond the bound": Reach(
        marker_in_the_next_segment(), None, 1, {"a": 0}, bound=2
    ),
    "the same with a small map": Reach(marker_in_the_next_segment(), 3, 1, {"a": 0}, bound=2),
    # Versions.
    "the highest version wins": Reach(versions(), None, 99, {"a": 0, "b": 3}, strategy="header"),
    "the dirty one wins with a dirty map": Reach(
        versions(), None, 99, {"a": 2, "b": 3}, first_dirty=1, strategy="header"
    ),
    "the clean one wins with a full map": Reach(
        versions(), None, 99, {"a": 0, "b": 3}, first_dirty=1, full=True, strategy="header"
    ),
    "a put that loses moves the end": Reach(versions(), 1, 0, {"a": 0}, strategy="header"),
    "with room it moves it as well": Reach(versions(), 2, 99, {"a": 0, "b": 3}, strategy="header"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_where_a_map_ends_and_who_is_in_it(case: Reach) -> None:
    built = build_map(
        case.log,
        plan(
            strategy=STRATEGIES[case.strategy],
            full_map=case.full,
            first_dirty_offset=case.first_dirty,
            upper_bound=case.bound,
            map_capacity=case.capacity,
        ),
    )

    assert built.latest_offset == case.latest
    assert {key: winner.offset for key, winner in built.winners.items()} == case.winners
