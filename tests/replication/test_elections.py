"""Who may win, and what winning does (Raft 5.4.1, KIP-595)."""

import pytest

from sim.log import Control
from sim.replication import Replica
from sim.replication.elections import answer_vote, grants_vote, last_entry, wins
from sim.replication.messages import VoteRequest, VoteResponse
from sim.replication.replica import crash, restart, wipe
from sim.rules import Rules
from sim.trace import LeaderElected
from tests.replication.replicas import RULES, batch, elect, leading


def replica(name: str, *epochs: int, up: bool = True) -> Replica:
    """A replica with one record per epoch given."""
    made = Replica(name)
    made.up = up
    for offset, epoch in enumerate(epochs):
        made.log.append(batch(offset, epoch=epoch), now_ms=0)
    return made


@pytest.mark.parametrize(
    ("candidate", "granted"),
    [
        ((1, 3), True),
        ((1, 2), True),
        ((1, 1), False),
        ((2, 0), True),
        ((0, 9), False),
        ((-1, 0), False),
    ],
)
def test_a_voter_compares_newest_epoch_first_and_then_log_ends(
    candidate: tuple[int, int], granted: bool
) -> None:
    assert grants_vote(replica("r1", 1, 1), candidate) is granted


def test_an_election_without_a_write_counts_as_the_newest_epoch() -> None:
    made = replica("r1", 1)
    elect(made, epoch=4)

    assert last_entry(made) == (4, 1)


def test_a_majority_counts_the_candidate_itself_once() -> None:
    candidate, second, third = replica("r1", 1), replica("r2", 1), replica("r3", 1)

    assert wins(candidate, [], voter_count=1) == []
    assert wins(candidate, [], voter_count=2) is None
    assert wins(candidate, [candidate], voter_count=3) is None
    assert wins(candidate, [second], voter_count=3) == [second]
    assert wins(candidate, [second], voter_count=4) is None
    assert wins(candidate, [second, third], voter_count=5) == [second, third]


def test_voters_that_are_down_or_ahead_do_not_grant() -> None:
    candidate = replica("r1", 1)

    assert wins(candidate, [replica("r2", 1, up=False)], voter_count=3) is None
    assert wins(candidate, [replica("r2", 1, 1)], voter_count=3) is None


def test_winning_starts_the_epoch_at_the_log_end_and_keeps_the_high_watermark() -> None:
    made = replica("r1", 1, 1)
    made.log.high_watermark = 1
    events = elect(made, epoch=3, isr=("r1", "r2"))

    assert events == [LeaderElected("r1", 3, 2, ("r1", "r2"), ("r1", "r2", "r3"))]
    assert (made.epoch, made.log.high_watermark) == (3, 1)
    assert made.log.epochs.latest == 3
    assert made.leadership is not None
    assert made.leadership.positions == {}


def test_a_leader_change_record_takes_the_first_offset_of_the_epoch() -> None:
    rules = RULES.with_values({"leader_change_record": True})
    made = leading(rules=rules)

    [record] = made.log.batches()
    assert (record.base_offset, record.epoch, record.control) == (0, 1, Control.LEADER_CHANGE)
    assert not record.transactional


def test_seeing_a_higher_epoch_ends_leadership_and_the_same_does_not() -> None:
    made = leading(epoch=2)
    made.sees(2)
    assert made.leadership is not None
    made.sees(1)
    assert made.epoch == 2

    made.sees(3)
    assert (made.leadership, made.epoch) == (None, 3)


def test_a_crash_forgets_positions_and_keeps_leadership() -> None:
    made = leading(records=2)
    assert made.leadership is not None
    made.leadership.positions["r2"] = 2
    crash(made, lost_batches=1)

    assert (made.up, made.log.log_end_offset, made.log.high_watermark) == (False, 1, 1)
    assert made.leadership.positions == {}
    restart(made)
    assert made.up


def test_a_restart_may_derive_the_log_end_from_the_last_batch() -> None:
    made = replica("r1", 1, 1)
    made.log.segments[0].batches.pop()
    made.first_dirty_offset = 2

    restart(made)
    assert made.log.log_end_offset == 2
    restart(made, leo_from_last_record=True)
    assert (made.log.log_end_offset, made.first_dirty_offset) == (1, 1)


def test_a_new_disk_is_empty_and_has_seen_nothing() -> None:
    made = leading(records=2, epoch=4)
    wipe(made, reason="a new disk")

    assert (made.log.log_end_offset, made.epoch, made.leadership, made.up) == (0, 0, None, True)


def vote(voter: Replica, *, pre_vote: bool = False, **changes: bool) -> VoteResponse:
    """The answer to candidate r1 of epoch 2 with a log of epoch 1 that ends at 2."""
    known = {"leader_known": False, "heard_lately": False, "barred": False} | changes
    request = VoteRequest("r1", 2, 1, 2, pre_vote)
    return answer_vote(voter, request, **known, rules=Rules())


def voter(*epochs: int) -> Replica:
    """A voter in epoch 2 with one record per epoch given."""
    made = replica("r2", *epochs)
    made.sees(2)
    return made


def test_a_vote_is_granted_and_promised_to_one_candidate_of_an_epoch() -> None:
    asked = voter(1, 1)

    assert vote(asked) == VoteResponse("r2", 2, granted=True)
    assert asked.vote == (2, "r1")
    other = VoteRequest("r3", 2, 1, 2)
    answer = answer_vote(
        asked, other, leader_known=False, heard_lately=False, barred=False, rules=Rules()
    )
    assert not answer.granted


def test_a_pre_vote_promises_nothing() -> None:
    asked = voter(1, 1)

    assert vote(asked, pre_vote=True) == VoteResponse("r2", 2, granted=True, pre_vote=True)
    assert asked.vote is None


@pytest.mark.parametrize("epochs", [(1, 1, 1), (1, 2)])
def test_a_log_that_ends_later_refuses_both_kinds_of_vote(epochs: tuple[int, ...]) -> None:
    assert not vote(voter(*epochs)).granted
    assert not vote(voter(*epochs), pre_vote=True).granted


@pytest.mark.parametrize(
    ("why", "votes", "pre_votes"),
    [("barred", False, False), ("leader_known", False, True), ("heard_lately", True, False)],
)
def test_what_keeps_a_voter_from_a_vote_and_from_a_pre_vote(
    why: str, votes: bool, pre_votes: bool
) -> None:
    assert vote(voter(1), **{why: True}).granted == votes
    assert vote(voter(1), pre_vote=True, **{why: True}).granted == pre_votes


def test_a_voter_of_another_epoch_refuses_and_says_in_which_it_is() -> None:
    later = voter(1)
    later.sees(5)

    assert vote(later) == VoteResponse("r2", 5, granted=False)
