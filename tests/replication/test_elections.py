"""Who may win, and what winning does (Raft 5.4.1, KIP-595)."""

import pytest

from sim.protocol.events import LeaderElected
from sim.protocol.log import Control
from sim.protocol.replication.elections import answer_vote, grants_vote, is_free, votes_for, wins
from sim.protocol.replication.messages import VoteRequest, VoteResponse
from sim.protocol.replication.replica import Replica, crash, restart, wipe
from sim.protocol.rules import Rules
from tests.replication.replicas import RULES, batch, elect, leading, with_log


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
    assert grants_vote(with_log("r1", 1, 1), candidate) is granted


def test_a_majority_counts_the_candidate_itself_once() -> None:
    candidate, second, third = with_log("r1", 1), with_log("r2", 1), with_log("r3", 1)

    assert wins(candidate, [], voter_count=1) == []
    assert wins(candidate, [], voter_count=2) is None
    assert wins(candidate, [candidate], voter_count=3) is None
    assert wins(candidate, [second], voter_count=3) == [second]
    assert wins(candidate, [second], voter_count=4) is None
    assert wins(candidate, [second, third], voter_count=5) == [second, third]


def test_winning_starts_the_epoch_at_the_log_end_and_keeps_the_high_watermark() -> None:
    made = with_log("r1", 1, 1)
    made.log.high_watermark = 1
    events = elect(made, epoch=3, isr=("r1", "r2"))

    assert events == [LeaderElected("r1", 3, 2, ("r1", "r2"), ("r1", "r2", "r3"))]
    assert (made.epoch, made.log.high_watermark) == (3, 1)
    assert made.log.epochs.latest == 3
    assert made.leadership is not None
    assert made.leadership.positions == {}


def test_seeing_a_higher_epoch_ends_leadership_and_the_same_does_not() -> None:
    made = leading(epoch=2)
    made.sees(2)
    assert made.leadership is not None
    made.sees(1)
    assert made.epoch == 2

    made.sees(3)
    assert (made.leadership, made.epoch) == (None, 3)


@pytest.mark.parametrize(
    ("epochs", "known", "granted"),
    [
        ((1, 1), {}, (True, True)),
        # A log that ends later, by its end or by its epoch.
        ((1, 1, 1), {}, (False, False)),
        ((1, 2), {}, (False, False)),
        ((1,), {"barred": True}, (False, False)),
        ((1,), {"leader_known": True}, (False, True)),
        ((1,), {"heard_lately": True}, (True, False)),
    ],
)
def test_what_keeps_a_voter_from_a_vote_and_from_a_pre_vote(
    epochs: tuple[int, ...], known: dict[str, bool], granted: tuple[bool, bool]
) -> None:
    """Candidate r1 of epoch 2 has a log of epoch 1 that ends at 2."""
    told = {"leader_known": False, "heard_lately": False, "barred": False} | known
    for pre_vote in (False, True):
        voter = with_log("r2", *epochs)
        voter.sees(2)
        request = VoteRequest("r1", 2, 1, 2, pre_vote)
        answer = answer_vote(voter, request, **told, rules=Rules())
        assert answer == VoteResponse("r2", 2, granted=granted[pre_vote], pre_vote=pre_vote)
        assert voter.vote == ((2, "r1") if granted[0] and not pre_vote else None)


def test_one_candidate_of_an_epoch_has_the_vote_and_a_voter_of_a_later_one_says_so() -> None:
    free = {"leader_known": False, "heard_lately": False, "barred": False}
    voter = with_log("r2", 1, 1)
    voter.sees(2)
    answers = [
        answer_vote(voter, VoteRequest(name, 2, 1, 2), **free, rules=Rules()).granted
        for name in ("r1", "r3", "r1")
    ]
    voter.sees(5)

    assert answers == [True, False, True]
    late = answer_vote(voter, VoteRequest("r1", 2, 1, 2), **free, rules=Rules())
    assert late == VoteResponse("r2", 5, granted=False)


def test_a_crash_forgets_positions_and_a_new_disk_everything() -> None:
    made = leading(epoch=4, rules=RULES.with_values({"leader_change_record": True}))
    assert made.leadership is not None
    assert [b.control for b in made.log.batches()] == [Control.LEADER_CHANGE]
    for offset in (1, 2):
        made.log.append(batch(offset, epoch=4), now_ms=0)
    made.leadership.positions["r2"] = made.log.high_watermark = 3
    crash(made, lost_batches=1)
    assert (made.up, made.log.log_end_offset, made.log.high_watermark) == (False, 2, 2)
    assert made.leadership.positions == {}

    made.log.segments[0].batches.pop()
    made.first_dirty_offset = 2
    restart(made, rules=Rules())
    assert made.log.log_end_offset == 2
    restart(made, rules=Rules.of(leo_source="last_record"))
    assert (made.log.log_end_offset, made.first_dirty_offset) == (1, 1)

    wipe(made, reason="a new disk")
    assert (made.log.log_end_offset, made.epoch, made.leadership, made.up) == (0, 0, None, True)


@pytest.mark.parametrize(
    ("storage", "kept", "after_restart"),
    [("disk", False, False), ("memory", False, True), ("none", True, True)],
)
def test_a_vote_binds_as_long_as_it_is_remembered(
    storage: str, *, kept: bool, after_restart: bool
) -> None:
    rules = Rules.of(vote_storage=storage)
    voter = Replica("r3")
    votes_for(voter, 4, "r1")

    assert is_free(voter, 4, "r1", rules=rules)
    assert is_free(voter, 5, "r2", rules=rules)
    assert is_free(voter, 4, "r2", rules=rules) is kept
    crash(voter)
    restart(voter, rules=rules)
    assert is_free(voter, 4, "r2", rules=rules) is after_restart


def test_neither_a_leader_nor_who_has_seen_a_higher_epoch_is_free() -> None:
    assert not is_free(leading(epoch=3), 3, "r2", rules=RULES)
    assert not is_free(leading(epoch=3), 2, "r2", rules=RULES)


def test_a_candidate_that_voted_for_another_does_not_win_its_epoch() -> None:
    candidate, voter = Replica("r1"), Replica("r2")
    votes_for(candidate, 2, "r3")

    assert wins(candidate, [voter], voter_count=3, epoch=2, rules=Rules()) is None
    assert wins(candidate, [voter], voter_count=3, epoch=3, rules=Rules()) == [voter]
