"""A vote, a campaign or a fetch that the state of a voter speaks against is reported."""

import pytest
from msgspec.structs import replace

from sim.protocol import events as on
from sim.protocol.replication import messages as of
from sim.protocol.rules import Rules
from sim.simulate.cluster.node import Node
from tests.audits.test_answers import World, records
from tests.audits.test_messages import BY_MAJORITY, asks, counts, grants


def test_a_candidate_that_asks_for_pre_votes_has_no_candidacy() -> None:
    world = World(BY_MAJORITY)
    voter = world.follower
    vote = grants(voter, 0)
    assert world.receive(voter, vote, counts) == []
    world.says(voter.name, "r9", asks(voter, pre_vote=True))
    assert world.receive(voter, vote, counts)[-1:] == ["message VoteResponse of another candidacy"]


def asked(world: World, voter: Node, request: of.VoteRequest, *, granted: bool) -> list[str]:
    world.hears(voter, request)
    vote = of.VoteResponse(voter.name, voter.replica.epoch, granted, request.pre_vote)
    return world.says(voter.name, "r9", vote)


def test_a_voter_without_its_disk_grants_nothing_before_it_has_caught_up() -> None:
    world = World(BY_MAJORITY)
    voter = world.follower
    end = voter.replica.log.log_end_offset
    voter.fetcher.leader = None
    request = asks(voter, epoch=0)
    world.sees(on.ReplicaWiped(voter.name, "a new disk"))
    voter.replica.log.log_end_offset = 1

    assert asked(world, voter, request, granted=False) == []
    assert asked(world, voter, request, granted=True) == [
        "vote for r9 while it lacks records below"
    ]
    assert world.says(voter.name, "r9", replace(request, candidate=voter.name)) == [
        "asks for votes and lacks records below"
    ]
    voter.replica.log.log_end_offset = end
    assert asked(world, voter, request, granted=True) == []


def test_a_vote_that_nothing_speaks_against_is_granted() -> None:
    world = World(BY_MAJORITY)
    voter = world.follower
    voter.fetcher.leader, voter.replica.vote = None, None

    assert asked(world, voter, asks(voter, epoch=0), granted=False) == ["vote for r9"]
    assert asked(world, voter, asks(voter, epoch=0, behind=1), granted=False) == []
    assert asked(world, voter, asks(voter, epoch=0, behind=1), granted=True) == [
        "vote for r9, whose log is behind"
    ]
    voter.replica.vote = (voter.replica.epoch, "r8")
    assert asked(world, voter, asks(voter, epoch=0), granted=False) == []
    refused = of.VoteResponse(voter.name, voter.replica.epoch - 1, granted=False)
    assert world.says(voter.name, "r9", refused) == ["votes in epoch"]


def test_a_voter_fetches_from_who_was_elected_in_the_newest_epoch_that_it_knows() -> None:
    world = World(BY_MAJORITY)
    voter, leader = world.follower, world.leader
    epoch = voter.replica.epoch + 1
    world.sees(on.LeaderElected(leader.name, epoch, 0, (), ()))
    fetch = of.FetchRequest(voter.name, 1, epoch, 1, correlation_id=10**6)
    assert world.says(voter.name, leader.name, fetch) == []
    newer = replace(fetch, epoch=epoch + 1)
    assert world.says(voter.name, leader.name, newer) == [f"fetches in epoch {epoch + 1} from"]


def test_nobody_campaigns_against_a_leader_whose_answer_has_just_come() -> None:
    world = World(BY_MAJORITY)
    voter = world.follower
    world.hears(voter, replace(records(world.leader, 0), correlation_id=voter.fetcher.number))
    request = replace(asks(voter, epoch=1), candidate=voter.name)
    assert world.says(voter.name, "r9", request) == []  # its timer may have been first
    world.hears(voter, replace(records(world.leader, 0), correlation_id=voter.fetcher.number))
    world.wait(1)
    assert world.says(voter.name, "r9", request) == ["asks for votes"]
    world.wait(60_000)
    assert world.says(voter.name, "r9", request) == []


def test_the_last_pre_vote_may_come_before_an_answer_of_the_same_millisecond() -> None:
    world = World(Rules.of(commit="majority", pre_vote=True))
    voter = world.follower
    request = replace(asks(voter, epoch=1), candidate=voter.name)
    world.says(voter.name, "r9", replace(request, epoch=request.epoch - 1, pre_vote=True))
    world.wait(5)
    world.hears(voter, replace(records(world.leader, 0), correlation_id=voter.fetcher.number))
    assert world.says(voter.name, "r9", request) == []
    world.wait(1)
    assert world.says(voter.name, "r9", request) == ["asks for votes"]


@pytest.mark.parametrize(("waited_ms", "told"), [(1, ["asks for votes"]), (60_000, []), (None, [])])
def test_a_replica_that_restarted_waits_before_it_asks_for_votes(
    waited_ms: int | None, told: list[str]
) -> None:
    world = World(BY_MAJORITY)
    voter = world.follower
    world.sees(on.ReplicaRestarted(voter.name, 0, 0, 1))
    if waited_ms is None:
        world.hears(voter, of.EndQuorumEpochRequest(1, (voter.name,)))
    world.wait(waited_ms or 1)
    request = replace(asks(voter, epoch=0), candidate=voter.name)

    assert world.says(voter.name, "r9", request) == told


def test_a_follower_that_heard_of_its_leader_lately_grants_no_pre_vote() -> None:
    world = World(BY_MAJORITY)
    voter, leader = world.follower, world.leader
    request = asks(voter, epoch=0, pre_vote=True)
    heard = replace(records(leader, 0), correlation_id=voter.fetcher.number)
    world.hears(voter, heard)
    world.wait(1)

    assert asked(world, voter, request, granted=False) == []
    assert asked(world, voter, request, granted=True) == ["pre-vote for r9 while it follows"]
    world.wait(60_000)
    assert asked(world, voter, request, granted=True) == []
