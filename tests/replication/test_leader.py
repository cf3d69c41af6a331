"""What a leader does: append, commit, answer fetches, keep the in-sync set."""

import pytest

from sim.protocol.events import HighWatermarkMoved, IsrChanged, PositionRecorded
from sim.protocol.replication import Replica, leader
from sim.protocol.replication.follower import receive_fetch
from sim.protocol.replication.messages import Answer
from tests.replication.replicas import RULES, ask, batch, elect, fetch, leading, with_log

MAJORITY = RULES.with_values({"commit": "majority"})


@pytest.mark.parametrize(
    ("positions", "expected"), [((), 0), ((2,), 2), ((1, 3), 3), ((3, 3), 3), ((0, 0), 0)]
)
def test_a_majority_of_voters_decides_and_the_unknown_count_as_zero(
    positions: tuple[int, ...], expected: int
) -> None:
    replica = leading(records=3, rules=MAJORITY)
    for name, position in zip(("r2", "r3"), positions, strict=False):
        leader.record_position(replica, name, position, rules=MAJORITY)

    assert replica.log.high_watermark == expected


@pytest.mark.parametrize(
    ("last_epoch", "offset", "answer"),
    [(1, 2, Answer.RECORDS), (1, 3, Answer.DIVERGING), (2, 2, Answer.DIVERGING)],
)
def test_a_fetch_diverges_by_a_smaller_epoch_or_an_end_below_it(
    last_epoch: int, offset: int, answer: Answer
) -> None:
    """The leader's epochs are 1 from 0 and 3 from 2."""
    source = leading(records=2)
    elect(source, epoch=3)
    fetcher = Replica("r2")
    fetcher.log.append(batch(0), now_ms=0)
    while fetcher.log.log_end_offset < offset:
        fetcher.log.append(batch(fetcher.log.log_end_offset, epoch=last_epoch), now_ms=0)

    response, events = ask(source, fetcher)
    assert response.answer is answer
    if answer is Answer.DIVERGING:
        assert response.diverging == (1, 2)
        assert events == []


@pytest.mark.parametrize(
    ("rule", "position", "joins"),
    [
        ("epoch_start", None, False),
        ("epoch_start", 1, False),
        ("epoch_start", 2, False),
        ("epoch_start", 3, True),
        ("hw_only", 1, False),
        ("hw_only", 2, True),
    ],
)
def test_joining_needs_the_high_watermark_and_the_epoch_s_start(
    rule: str, position: int | None, joins: bool
) -> None:
    """The high watermark is 2, epoch 2 starts at 3."""
    rules = RULES.with_values({"isr_join": rule})
    source = Replica("r1")
    for offset in range(3):
        source.log.append(batch(offset), now_ms=0)
    source.log.high_watermark = 2
    elect(source, epoch=2, isr=("r1", "r3"))
    if position is not None:
        leader.record_position(source, "r2", position, rules=rules)

    events = leader.expand_isr(source, "r2", rules=rules)
    assert (events == [IsrChanged("r1", ("r1", "r3", "r2"), "r2")]) is joins


def test_a_smaller_in_sync_set_may_commit_at_once() -> None:
    source = leading(records=2, isr=("r1", "r2"))
    events = leader.set_isr(source, ("r1",), rules=RULES)

    assert events == [IsrChanged("r1", ("r1",), None), HighWatermarkMoved("r1", 2, leading=True)]


@pytest.mark.parametrize(
    ("isr", "min_isr", "positions", "high_watermark"),
    [
        (("r1",), 1, [], 3),
        (("r1",), 2, [], 0),  # too small a set commits nothing
        (("r1", "r2"), 1, [], 0),  # an unknown position holds it
        (("r1", "r2"), 1, [("r2", 1)], 1),
        (("r1", "r2"), 1, [("r2", 3), ("r2", 1)], 3),  # it never falls
        (("r1", "r2"), 1, [("r2", 9)], 3),  # up to the log end
        (("r1", "r2", "r3"), 1, [("r2", 3), ("r3", 2)], 2),  # the slowest decides
    ],
)
def test_what_all_in_sync_have_is_committed(
    isr: tuple[str, ...], min_isr: int, positions: list[tuple[str, int]], high_watermark: int
) -> None:
    rules = RULES.with_values({"min_isr": min_isr})
    replica = leading(records=3, isr=isr, rules=rules)
    for name, position in positions:
        leader.record_position(replica, name, position, rules=rules)

    assert replica.log.high_watermark == high_watermark


@pytest.mark.parametrize(("rule", "expected"), [("strict", 0), ("off_by_one", 2), ("none", 2)])
def test_a_majority_at_the_epoch_s_start_commits_unless_the_rule_is_strict(
    rule: str, expected: int
) -> None:
    rules = MAJORITY.with_values({"epoch_commit_rule": rule})
    replica = with_log("r1", 1, 1)
    elect(replica, epoch=2, rules=rules)
    leader.record_position(replica, "r2", 2, rules=rules)

    assert replica.log.high_watermark == expected


def test_a_fetch_is_answered_with_what_follows_and_records_its_position_first_and_once() -> None:
    source, fetcher = leading(records=2, isr=("r1", "r2")), Replica("r2")
    nothing, events = ask(source, fetcher, most=0)
    response, again = ask(source, fetcher)

    assert (nothing.batches, [each.base_offset for each in response.batches]) == ((), [0, 1])
    assert (events, again) == ([PositionRecorded("r1", "r2", 0)], [])
    assert response.high_watermark == 0


def test_only_the_leader_of_the_newest_epoch_answers() -> None:
    source, fetcher = leading(records=1), Replica("r2")
    fetcher.sees(2)
    unfenced = RULES.with_values({"fencing": False})

    assert ask(Replica("r1"), fetcher)[0].answer is Answer.NOT_LEADER
    assert ask(source, fetcher)[0].answer is Answer.STALE_LEADER
    assert ask(source, fetcher, rules=unfenced)[0].answer is Answer.RECORDS


@pytest.mark.parametrize(
    ("guard", "offset", "rebuilt"),
    [
        ("none", 1, False),
        ("reset_local", 0, False),
        ("reset_local", 1, True),
        ("reset_local", 2, True),
        ("reset_local", 3, False),
        ("reset_propagated", 2, True),
    ],
)
def test_below_a_removed_tombstone_and_above_zero_a_follower_is_rebuilt(
    guard: str, offset: int, rebuilt: bool
) -> None:
    """The highest removed tombstone is handed on with the records under one rule alone."""
    source, fetcher = leading(records=3), with_log("r2", *[1] * offset)
    source.removed_tombstone_end = 3
    rules = RULES.with_values({"lag_guard": guard})

    assert (fetch(source, fetcher, rules=rules) is Answer.REBUILD) is rebuilt
    assert fetcher.log.log_end_offset == (0 if rebuilt else 3)
    fetch(source, fetcher, rules=rules)
    assert fetcher.removed_tombstone_end == (3 if guard == "reset_propagated" else 0)


def test_a_follower_does_not_forget_what_it_has_removed_itself() -> None:
    rules = RULES.with_values({"lag_guard": "reset_propagated"})
    source, fetcher = leading(records=3), Replica("r2")
    source.removed_tombstone_end, fetcher.removed_tombstone_end = 1, 2

    fetch(source, fetcher, rules=rules)

    assert fetcher.removed_tombstone_end == 2


def test_a_follower_that_was_rebuilt_is_again_when_it_misses_what_was_removed_since() -> None:
    rules = RULES.with_values({"lag_guard": "reset_local"})
    source, fetcher = leading(records=6), Replica("r2")
    answers = []
    for removed in (3, 3, 6, 6):
        source.removed_tombstone_end = removed
        response, _ = ask(source, fetcher, most=1, rules=rules)
        receive_fetch(fetcher, response, rules=rules, now_ms=0)
        answers.append((response.answer, fetcher.log.log_end_offset))

    assert answers == [
        (Answer.RECORDS, 1),
        (Answer.RECORDS, 2),
        (Answer.REBUILD, 0),
        (Answer.RECORDS, 1),
    ]
