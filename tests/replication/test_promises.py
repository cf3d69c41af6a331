"""What a replica remembers of elections, and what it does with answers of the past."""

import pytest

from sim.protocol.replication import Replica
from sim.protocol.replication.elections import is_free, votes_for, wins
from sim.protocol.replication.replica import come_back, crash
from sim.protocol.rules import Rules
from tests.replication.replicas import RULES, leading


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
    come_back(voter, rules=rules)
    assert is_free(voter, 4, "r2", rules=rules) is after_restart


def test_neither_a_leader_nor_who_has_seen_a_higher_epoch_is_free() -> None:
    assert not is_free(leading(epoch=3), 3, "r2", rules=RULES)
    assert not is_free(leading(epoch=3), 2, "r2", rules=RULES)


def test_a_candidate_that_voted_for_another_does_not_win_its_epoch() -> None:
    candidate, voter = Replica("r1"), Replica("r2")
    votes_for(candidate, 2, "r3")

    assert wins(candidate, [voter], voter_count=3, epoch=2, rules=Rules()) is None
    assert wins(candidate, [voter], voter_count=3, epoch=3, rules=Rules()) == [voter]
