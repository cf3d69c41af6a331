"""What a leader does: append, commit, answer fetches, keep the in-sync set."""

import pytest

from sim.compaction.strategies import encode_version
from sim.replication import Replica, leader
from sim.replication.cleaning import Cleaner
from sim.replication.messages import Answer
from sim.rules import Rules
from sim.trace import HighWatermarkMoved, IsrChanged, PositionRecorded
from tests.replication.replicas import RULES, ask, batch, elect, fetch, leading

MAJORITY = RULES.with_values({"commit": "majority"})
READ_END = RULES
REQUEST = RULES.with_values({"follower_position": "request"})


def test_a_leader_commits_at_once_what_no_other_replica_in_sync_has_to_copy() -> None:
    alone, waiting = leading(), leading(isr=("r1", "r2"))

    done = [leader.append(one, batch(0), rules=RULES, now_ms=0) for one in (alone, waiting)]
    assert [(one.accepted, len(one.events)) for one in done] == [(True, 2), (True, 1)]


def test_a_leader_alone_in_sync_commits_what_it_appends() -> None:
    replica = leading()
    events = leader.append(replica, batch(0), rules=RULES, now_ms=0).events

    assert events[1:] == [HighWatermarkMoved("r1", 1, leading=True)]


def test_an_append_has_to_start_at_or_above_the_log_end() -> None:
    replica = leading(records=2)

    with pytest.raises(ValueError, match="below the log end offset 2"):
        leader.append(replica, batch(1), rules=RULES, now_ms=0)


def test_an_unknown_position_in_the_in_sync_set_holds_the_high_watermark() -> None:
    replica = leading(records=2, isr=("r1", "r2"))
    assert replica.log.high_watermark == 0

    leader.record_position(replica, "r2", 1, rules=RULES)
    assert replica.log.high_watermark == 1


def test_the_slowest_in_sync_replica_decides() -> None:
    replica = leading(records=3, isr=("r1", "r2", "r3"))
    leader.record_position(replica, "r2", 3, rules=RULES)
    leader.record_position(replica, "r3", 2, rules=RULES)

    assert replica.log.high_watermark == 2


def test_a_high_watermark_never_falls_with_a_position() -> None:
    replica = leading(records=3, isr=("r1", "r2"))
    leader.record_position(replica, "r2", 3, rules=RULES)
    leader.record_position(replica, "r2", 1, rules=RULES)

    assert replica.log.high_watermark == 3


def test_a_position_above_the_log_end_commits_up_to_the_log_end() -> None:
    replica = leading(records=1, isr=("r1", "r2"))
    leader.record_position(replica, "r2", 9, rules=RULES)

    assert replica.log.high_watermark == 1


@pytest.mark.parametrize(("min_isr", "expected"), [(1, 1), (2, 0)])
def test_too_small_an_in_sync_set_commits_nothing(min_isr: int, expected: int) -> None:
    replica = leading(records=1, rules=RULES.with_values({"min_isr": min_isr}))

    assert replica.log.high_watermark == expected


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


@pytest.mark.parametrize(("rule", "expected"), [("strict", 0), ("off_by_one", 2), ("none", 2)])
def test_a_majority_at_the_epoch_s_start_commits_unless_the_rule_is_strict(
    rule: str, expected: int
) -> None:
    rules = MAJORITY.with_values({"epoch_commit_rule": rule})
    replica = Replica("r1")
    replica.log.append(batch(0), now_ms=0)
    replica.log.append(batch(1), now_ms=0)
    elect(replica, epoch=2, rules=rules)
    leader.record_position(replica, "r2", 2, rules=rules)

    assert replica.log.high_watermark == expected


def test_a_fetch_is_answered_with_what_follows_and_the_position_is_recorded_first() -> None:
    source, fetcher = leading(records=2, isr=("r1", "r2")), Replica("r2")
    response, events = ask(source, fetcher)

    assert [each.base_offset for each in response.batches] == [0, 1]
    assert events == [PositionRecorded("r1", "r2", 0)]
    assert response.high_watermark == 0


def test_a_position_that_is_known_already_is_not_told_again() -> None:
    source, fetcher = leading(records=1), Replica("r2")
    ask(source, fetcher)

    assert ask(source, fetcher)[1] == []


def test_who_does_not_lead_does_not_answer() -> None:
    assert ask(Replica("r1"), Replica("r2"))[0].answer is Answer.NOT_LEADER


def test_a_leader_of_an_older_epoch_is_refused_by_who_has_seen_a_newer_one() -> None:
    source, fetcher = leading(records=1), Replica("r2")
    fetcher.sees(2)

    assert ask(source, fetcher)[0].answer is Answer.STALE_LEADER
    unfenced = RULES.with_values({"fencing": False})
    assert ask(source, fetcher, rules=unfenced)[0].answer is Answer.RECORDS


def emptied_tail() -> Replica:
    """A leader whose last record lost and is gone: log end 2, nothing at 1."""
    header = RULES.with_values({"strategy": "header"})
    replica = leading()
    for offset, version in ((0, 2), (1, 1)):
        made = batch(offset)
        record = made.records[0]._replace(headers=(("version", encode_version(version)),))
        leader.append(replica, made._replace(records=(record,)), rules=header, now_ms=0)
    Cleaner(header).run(replica, upper_bound=2, now_ms=0)
    return replica


@pytest.mark.parametrize(("rules", "position"), [(READ_END, 2), (REQUEST, 1)])
def test_an_empty_read_below_the_log_end_is_believed_to_be_at_the_log_end(
    rules: Rules, position: int
) -> None:
    source, fetcher = emptied_tail(), Replica("r2")
    fetcher.log.append(batch(0), now_ms=0)
    _, events = ask(source, fetcher, rules=rules)

    assert events == [PositionRecorded("r1", "r2", position)]


def test_at_most_so_many_batches_are_answered_and_an_empty_answer_is_no_empty_read() -> None:
    source, fetcher = leading(records=2), Replica("r2")
    response, events = ask(source, fetcher, most=0)

    assert response.batches == ()
    assert events == [PositionRecorded("r1", "r2", 0)]


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


@pytest.mark.parametrize(("offset", "offered"), [(0, True), (1, True), (2, False), (3, False)])
def test_below_the_log_start_and_at_zero_a_snapshot_is_offered(offset: int, offered: bool) -> None:
    source = leading(records=3)
    source.log.delete_prefix(2)
    fetcher = Replica("r2")
    for each in range(offset):
        fetcher.log.append(batch(each), now_ms=0)

    response, _ = ask(source, fetcher)
    assert (response.answer is Answer.SNAPSHOT) is offered


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
    source = leading(records=3)
    source.removed_tombstone_end = 3
    fetcher = Replica("r2")
    for each in range(offset):
        fetcher.log.append(batch(each), now_ms=0)

    rules = RULES.with_values({"lag_guard": guard})
    assert (fetch(source, fetcher, rules=rules) is Answer.REBUILD) is rebuilt
    assert fetcher.log.log_end_offset == (0 if rebuilt else 3)


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


def test_a_member_joins_once() -> None:
    source = leading(records=0)
    leader.record_position(source, "r2", 0, rules=RULES)

    assert leader.expand_isr(source, "r2", rules=RULES) != []
    assert leader.expand_isr(source, "r2", rules=RULES) == []


def test_a_smaller_in_sync_set_may_commit_at_once() -> None:
    source = leading(records=2, isr=("r1", "r2"))
    events = leader.set_isr(source, ("r1",), rules=RULES)

    assert events == [IsrChanged("r1", ("r1",), None), HighWatermarkMoved("r1", 2, leading=True)]
