"""What keeps a voter from a vote, and how long a vote binds (Raft 5.4.1, KIP-595)."""

import pytest

from sim.protocol.replication.elections import answer_vote, is_free, votes_for, wins
from sim.protocol.replication.messages import VoteRequest, VoteResponse
from sim.protocol.replication.replica import Replica, crash, restart
from sim.protocol.rules import Rules
from tests.replication.replicas import RULES, leading, with_log


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
