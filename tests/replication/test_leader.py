"""What a leader does: append, commit, answer fetches, keep the in-sync set."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from sim.protocol.events import HighWatermarkMoved, IsrChanged, PositionRecorded
from sim.protocol.replication import Replica, leader
from sim.protocol.replication.follower import fetch_request, receive_fetch
from sim.protocol.replication.messages import Answer, FetchRequest
from sim.protocol.rules import Rules
from tests.replication.replicas import RULES, ask, batch, elect, fetch, leading, with_log

OTHERS = ("r2", "r3")
COMMITS = st.builds(
    Rules.of,
    commit=st.sampled_from(["isr", "majority"]),
    min_isr=st.integers(1, 3),
    epoch_commit_rule=st.sampled_from(["strict", "off_by_one", "none"]),
)


def may_commit(replica: Replica, end: int, rules: Rules) -> bool:
    """Whether everything below `end` is committed by the definition of the rules."""
    leadership = replica.leadership
    assert leadership is not None
    has_all = {n for n in OTHERS if leadership.positions.get(n, -1) >= end} | {"r1"}
    if rules.replication.commit == "isr":
        awaited = {*leadership.isr, *leadership.awaited}
        return awaited <= has_all and len(leadership.isr) >= rules.topic.min_isr
    start = leadership.epoch_start_offset
    lowest = {"strict": start + 1, "off_by_one": start, "none": 0}
    return len(has_all) >= 2 and end >= lowest[rules.replication.epoch_commit_rule]


@given(
    rules=COMMITS,
    ends=st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)),
    positions=st.dictionaries(st.sampled_from(OTHERS), st.integers(0, 9)),
    others=st.tuples(st.sets(st.sampled_from(OTHERS)), st.sets(st.sampled_from(OTHERS))),
)
def test_a_leader_commits_what_all_in_sync_or_a_majority_have_of_its_log_and_it_never_falls(
    rules: Rules,
    ends: tuple[int, int, int],
    positions: dict[str, int],
    others: tuple[set[str], set[str]],
) -> None:
    replica = with_log("r1", *[1] * ends[0])
    elect(replica, epoch=2, isr=("r1", *others[0]))
    for offset in range(ends[0], ends[0] + ends[1]):
        replica.log.append(batch(offset, epoch=2), now_ms=0)
    before = replica.log.high_watermark = min(ends[2], replica.log.log_end_offset)
    assert replica.leadership is not None
    replica.leadership.positions, replica.leadership.awaited = positions, tuple(others[1])
    allowed = [end for end in range(sum(ends[:2]) + 1) if may_commit(replica, end, rules)]

    events = leader.advance_high_watermark(replica, rules=rules)

    committed = max([before, *allowed])
    assert replica.log.high_watermark == committed
    moved = HighWatermarkMoved("r1", committed, leading=True)
    assert events == ([moved] if committed > before else [])


@given(
    st.dictionaries(st.sampled_from([*OTHERS, "r4"]), st.integers(0, 3)),
    st.sampled_from([3, 4]),
    st.integers(0, 3),
)
def test_a_voter_may_go_if_most_of_those_that_stay_have_what_is_committed(
    positions: dict[str, int], count: int, committed: int
) -> None:
    """KIP-853: the smaller set of voters is one of which nobody has committed anything yet."""
    voters = ("r1", *OTHERS, "r4")[:count]
    replica = with_log("r1", 1, 1, 1)
    elect(replica, epoch=2, voters=voters)
    assert replica.leadership is not None
    replica.leadership.positions = positions
    for name in voters:
        rest = [each for each in voters if each != name]
        has_all = [each for each in rest if {"r1": 3, **positions}.get(each, 0) >= committed]
        expected = name != "r1" and 2 * len(has_all) > len(rest)
        assert leader.can_do_without(replica, name, committed) is expected


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
    source = with_log("r1", 1, 1, 1)
    source.log.high_watermark = 2
    elect(source, epoch=2, isr=("r1", "r3"))
    if position is not None:
        leader.record_position(source, "r2", position, rules=rules)

    events = leader.expand_isr(source, "r2", rules=rules)
    assert (events == [IsrChanged("r1", ("r1", "r3", "r2"), "r2")]) is joins
    assert joins is (leader.expand_isr(source, "r2", rules=rules) == [] != events)


def test_a_smaller_in_sync_set_may_commit_at_once() -> None:
    source = leading(records=2, isr=("r1", "r2"))
    events = leader.set_isr(source, ("r1",), rules=RULES)

    assert events == [IsrChanged("r1", ("r1",), None), HighWatermarkMoved("r1", 2, leading=True)]


FETCH = {
    "follower": st.sampled_from(OTHERS),
    "epoch": st.integers(1, 4),
    "offset": st.integers(0, 5),
    "last_epoch": st.integers(-1, 4),
    "max_batches": st.sampled_from([None, 1, 2]),
    "max_bytes": st.sampled_from([None, 1, 150]),
    "high_watermark": st.integers(0, 4),
    "correlation_id": st.integers(0, 3),
}


@settings(max_examples=300)
@given(
    st.builds(FetchRequest, **FETCH),
    st.sampled_from([*FETCH, "last_epoch", "last_epoch"]).flatmap(
        lambda name: st.fixed_dictionaries({name: FETCH[name]})
    ),
    st.sampled_from(["epoch_diverging", "high_watermark"]),
)
def test_fetches_that_ask_the_same_are_answered_the_same_and_each_by_its_number(
    request: FetchRequest, changes: dict[str, Any], truncation: str
) -> None:
    source = leading(records=2)
    elect(source, epoch=3)
    for offset in (2, 3):
        leader.append(source, batch(offset, epoch=3), rules=RULES, now_ms=0)
    rules = RULES.with_values({"truncation": truncation})
    other = replace(request, **changes)
    one, two = (leader.answer_fetch(source, each, rules).response for each in (request, other))

    assert (one.correlation_id, two.correlation_id) == (
        request.correlation_id,
        other.correlation_id,
    )
    if request.asks_the_same_as(other):
        assert replace(one, correlation_id=two.correlation_id) == two


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
    assert (fetcher.log.log_end_offset, fetcher.epoch) == (0 if rebuilt else 3, 1)
    fetch(source, fetcher, rules=rules)
    assert fetcher.removed_tombstone_end == (3 if guard == "reset_propagated" else 0)


def test_a_follower_that_begins_at_the_log_start_of_retention_is_not_rebuilt() -> None:
    source, fetcher = leading(records=3), Replica("r2")
    source.removed_tombstone_end = 3
    source.log.delete_prefix(1)
    rules, answers = RULES.with_values({"lag_guard": "reset_local"}), []
    for _ in range(2):
        request = fetch_request(fetcher)
        response = leader.answer_fetch(source, request, rules=rules, snapshots=False).response
        receive_fetch(fetcher, response, rules=rules, now_ms=0)
        answers.append((response.answer, fetcher.log.log_end_offset))

    assert answers == [(Answer.OUT_OF_RANGE, 1), (Answer.RECORDS, 3)]


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


@pytest.mark.parametrize(("commit", "recorded"), [("isr", 4), ("majority", 3)])
def test_a_broker_records_the_position_of_a_fetch_when_it_comes_a_voter_also_when_it_is_answered(
    commit: str, recorded: int
) -> None:
    rules = Rules.of(commit=commit, follower_position="read_end")
    source = leading(rules=rules)
    source.log.advance_to(4)  # nothing is left at 3
    request = FetchRequest("r2", epoch=1, offset=3, last_epoch=-1)
    leader.answer_fetch(source, request, rules)
    leader.append(source, batch(4), rules=rules, now_ms=0)
    answered = leader.answer_fetch(source, request, rules, has_waited=True)

    assert [each.base_offset for each in answered.response.batches] == [4]
    assert source.leadership is not None
    assert source.leadership.positions["r2"] == recorded
