"""Elections by majority in simulated time: pre-votes, check quorum, succession, restarts."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from sim.protocol.events import (
    HighWatermarkMoved,
    LeaderElected,
    LeaderResigned,
    ReplicaRestarted,
)
from sim.protocol.log.epochs import EpochEnd
from sim.protocol.replication.elections import successors, waits
from sim.protocol.replication.messages import (
    Answer,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    SnapshotId,
    VoteRequest,
    VoteResponse,
)
from sim.protocol.replication.replica import Leadership
from sim.protocol.rules import Rules, rules_from
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.node import Node
from sim.simulate.cluster.quorum import QuorumMembership
from sim.simulate.faults import FaultKind
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import BUILT_IN_MIXES, generate
from sim.simulate.scenario.model import Network, ReplicaSpec, Timers
from tests.cluster.worlds import THREE, Story, fault, scenario, tell
from tests.replication.replicas import batch

KRAFT = rules_from({"preset": "kraft"})
RAFT = {
    "election-safety",
    "leader-append-only",
    "log-matching",
    "leader-completeness",
    "state-machine-safety",
}
"""Raft's five properties."""


def kraft(**values: str | int | bool) -> Rules:
    """The preset with some rules changed."""
    return KRAFT.with_values(values)


def leaders(story: Story) -> list[tuple[str, int]]:
    """Who was elected, in which epoch, in order."""
    return [(e.replica, e.epoch) for _, e in story.of(LeaderElected)]


def vacant_ms(story: Story) -> int:
    """How long nobody led between the first resignation and the next election."""
    resigned_ms = story.of(LeaderResigned)[0][0]
    return next(at for at, _ in story.of(LeaderElected) if at > resigned_ms) - resigned_ms


def test_successors_are_ordered_by_offset_and_each_waits_twice_as_long() -> None:
    voters = ("r1", "r2", "r3", "r4", "r5")
    positions = {"r2": 5, "r3": 9, "r4": 9}
    leadership = Leadership(1, 0, (), voters, positions)

    assert successors(leadership, "r1", "r2") == ["r3", "r4", "r2", "r5"]
    assert successors(leadership, "r1", "r4") == ["r4", "r3", "r2", "r5"]
    assert waits(["r3", "r4", "r2", "r5"], 800) == [
        ("r3", 0),
        ("r4", 100),
        ("r2", 200),
        ("r5", 400),
    ]
    assert waits([], 800) == []


def test_a_leader_that_names_one_who_is_behind_leaves_a_gap_and_by_offset_none() -> None:
    def story(rule: str) -> Story:
        slow = fault(FaultKind.SLOW_FETCHER, 300, "r3", 2_500)
        move = fault(FaultKind.MIGRATE, 1_500, "r3")
        patient = Timers(fetch_wait_ms=200, election_timeout_ms=(700, 900))
        return tell(scenario(slow, move, rules=kraft(successors=rule), timers=patient))

    named, ordered = story("named"), story("by_offset")

    assert leaders(ordered)[1] == ("r2", 2)
    assert vacant_ms(ordered) < 50
    assert vacant_ms(named) > 200


def test_the_next_in_line_stands_when_the_first_does_not_answer() -> None:
    cut = fault(FaultKind.PARTITION, 1_499, "r2", 2_000)
    move = fault(FaultKind.MIGRATE, 1_500, "r2")
    story = tell(scenario(cut, move, rules=kraft(successors="by_offset")))

    assert leaders(story)[1][0] == "r3"
    assert 250 < vacant_ms(story) < 400  # 600 >> 1, and the messages


@pytest.mark.parametrize(("pre_vote", "successor"), [(False, "r2"), (True, "r3")])
def test_of_five_voters_the_second_in_line_wins_where_those_who_wait_refuse_pre_votes(
    *, pre_vote: bool, successor: str
) -> None:
    """Who has fetched from the leader refuses until its own turn (FollowerState.canGrantVote).

    So the first in line has its own pre-vote and that of the leader, which has resigned.
    """
    five = tuple(ReplicaSpec(f"r{number}") for number in range(1, 6))
    move = fault(FaultKind.MIGRATE, 1_500, "leader")
    story = tell(scenario(move, rules=kraft(pre_vote=pre_vote), replicas=five))

    assert leaders(story) == [("r1", 1), (successor, 2)]
    assert (vacant_ms(story) > 75) is pre_vote  # 600 >> 3


def choices() -> Iterator[Rules]:
    """Every way in which a quorum that keeps its promises may elect."""
    for pre_vote in (False, True):
        for check_quorum in (True, False):
            for rule in ("named", "by_offset"):
                yield kraft(pre_vote=pre_vote, check_quorum=check_quorum, successors=rule)


def test_no_way_to_elect_breaks_one_of_raft_s_five_properties() -> None:
    elections = dict.fromkeys((False, True), 0)
    for rules in choices():
        for seed in range(3):
            run = run_scenario(generate(seed, BUILT_IN_MIXES["storm"]).with_rules(rules))
            assert not RAFT & set(run.violated), (seed, rules)
            assert run.verdict != "inconclusive", (seed, rules)
            elections[rules.election.pre_vote] += run.counters["elections"]

    assert elections[True] < elections[False]


def test_late_answers_are_acted_on_where_responses_are_not_fenced() -> None:
    slow, quick = Network((1, 120)), Timers(election_timeout_ms=(20, 40), fetch_wait_ms=30)

    def digests(*, fenced: bool) -> list[str]:
        rules = kraft(response_fencing=fenced)
        cases = [
            scenario(rules=rules, seed=seed, network=slow, timers=quick, duration_ms=2_000)
            for seed in (11, 14)
        ]
        return [tell(case).digest() for case in cases]

    assert digests(fenced=True) != digests(fenced=False)


@pytest.mark.parametrize(
    ("epoch", "asks_again", "wins"), [(1, False, False), (2, False, True), (2, True, False)]
)
def test_a_candidate_counts_the_votes_of_its_present_candidacy(
    *, epoch: int, asks_again: bool, wins: bool
) -> None:
    """A vote comes late, when it campaigns for the second time or asks for pre-votes again."""
    rules = kraft(successors="by_offset")
    cluster = Cluster(scenario(rules=rules), lambda _at, _event: None)
    cluster.elections.start()  # r1 campaigns in epoch 1
    candidate = cluster.nodes["r1"]
    assert isinstance(candidate.membership, QuorumMembership)
    candidate.membership.campaign()
    if asks_again:
        candidate.receive(EndQuorumEpochRequest(2, ("r1",)))
        cluster.context.env.run(until=1)
    candidate.receive(VoteResponse("r2", epoch, granted=True))

    assert (candidate.leader is not None) is wins


@pytest.mark.parametrize(("elected", "epoch"), [(False, 3), (True, 2)])
def test_a_candidate_that_hears_of_a_leader_in_its_pause_campaigns_no_more(
    *, elected: bool, epoch: int
) -> None:
    cluster = settled(election_backoff="exponential")
    candidate = cluster.nodes["r3"]
    assert isinstance(candidate.membership, QuorumMembership)
    candidate.membership.campaign()
    for voter in ("r1", "r2"):
        candidate.receive(VoteResponse(voter, 2, granted=False))
    if elected:
        candidate.receive(BeginQuorumEpochRequest("r2", 2))
    cluster.context.env.run(until=500)

    assert candidate.replica.epoch == epoch


def test_a_voter_that_is_alone_elects_itself_again_after_a_crash() -> None:
    crash = fault(FaultKind.CRASH, 1_000, "r1", 300)
    story = tell(scenario(crash, rules=KRAFT, replicas=(ReplicaSpec("r1"),)))

    assert leaders(story) == [("r1", 1), ("r1", 2)]


def test_a_leader_alone_in_its_cluster_resumes_with_all_of_its_log_committed() -> None:
    restart = fault(FaultKind.CRASH, 1_000, "r1", 100, high_watermark=2)
    rules = Rules.of(commit="majority", leader_restart="resumes")
    story = tell(scenario(restart, rules=rules, replicas=THREE[:1]))
    [(back_ms, back)] = story.of(ReplicaRestarted)

    assert back.high_watermark == 2 < back.log_end_offset
    assert (back_ms, HighWatermarkMoved("r1", back.log_end_offset, leading=True)) in story.events


def settled(**values: Any) -> Cluster:
    """Voters that r1 leads in epoch 1; from now on nothing that they send arrives."""
    rules = kraft(successors="by_offset", **values)
    cluster = Cluster(scenario(rules=rules), lambda _at, _event: None)
    cluster.start()
    cluster.context.env.run(until=300)
    network: Any = cluster.context.network
    network.send = lambda *_message: None
    return cluster


def with_a_new_disk() -> Node:
    """A voter that is about to catch up after the loss of a disk that knew epoch 3."""
    voter = settled().nodes["r3"]
    voter.receive(VoteRequest("r2", 3, 1, 1))
    voter.crash()
    voter.wipe()
    voter.membership.rebuilt(1)
    voter.restart()
    return voter


@pytest.mark.parametrize(
    ("epoch", "follows", "answers"),
    [
        (1, None, [BeginQuorumEpochResponse(3)]),
        (2, None, [BeginQuorumEpochResponse(3)]),
        (3, "r2", []),
        (4, "r2", []),
    ],
)
def test_a_voter_with_a_new_disk_tells_a_leader_of_an_earlier_epoch_the_last_one_it_knew(
    epoch: int, follows: str | None, answers: list[Any]
) -> None:
    voter, sent = with_a_new_disk(), []
    network: Any = voter.network
    network.send = lambda _source, _target, message: sent.append(message)
    voter.receive(BeginQuorumEpochRequest("r2", epoch))

    assert voter.fetcher.leader == follows
    assert [one for one in sent if isinstance(one, BeginQuorumEpochResponse)] == answers


@pytest.mark.parametrize(
    ("pre_vote", "epoch", "granted"), [(True, 3, True), (False, 3, False), (False, 4, True)]
)
def test_a_voter_with_a_new_disk_votes_in_no_epoch_in_which_it_may_have_voted_before(
    *, pre_vote: bool, epoch: int, granted: bool
) -> None:
    """A pre-vote binds nobody: without it two voters might ask each other for ever."""
    voter, answers = with_a_new_disk(), []
    voter.receive(BeginQuorumEpochRequest("r2", 3))
    voter.replica.log.append(batch(0, epoch=3), now_ms=0)  # caught up
    voter.receive(EndQuorumEpochRequest(3, ("r1", "r3")))
    network: Any = voter.network
    network.send = lambda _source, _target, message: answers.append(message)
    voter.receive(VoteRequest("r1", epoch, 3, 1, pre_vote))

    assert [answer.granted for answer in answers] == [granted]


@pytest.mark.parametrize(
    ("answer", "counts"),
    [("RECORDS", True), ("DIVERGING", True), ("SNAPSHOT", True), ("NOT_LEADER", False)],
)
def test_a_voter_has_heard_of_its_leader_by_any_answer_without_an_error(
    answer: str, *, counts: bool
) -> None:
    """KafkaRaftClient.handleFetchResponse resets the timer after each of them."""
    cluster = settled()
    voter = cluster.nodes["r3"]
    cluster.context.env.run(until=310)
    number, end = voter.fetcher.number, voter.replica.log.log_end_offset
    diverging = EpochEnd(1, end)
    response = FetchResponse(
        Answer[answer], "r1", 1, end, diverging=diverging, snapshot=SnapshotId(9, 1)
    )
    voter.fetcher.fetched = False
    voter.receive(replace(response, correlation_id=number))
    cluster.context.env.run(until=311)

    assert (voter.heard_ms == 310, voter.fetcher.fetched) == (counts, counts)


@pytest.mark.parametrize("leader_is_heard", [False, True])
def test_a_replica_campaigns_by_pre_votes_unless_it_has_heard_of_a_leader_since_it_asked(
    *, leader_is_heard: bool
) -> None:
    cluster = settled()
    asking = cluster.nodes["r3"]
    asking.receive(EndQuorumEpochRequest(1, ("r3", "r2")))
    cluster.context.env.run(until=301)
    if leader_is_heard:
        asking.receive(BeginQuorumEpochRequest("r2", 1))
    asking.receive(VoteResponse("r2", 1, granted=True, pre_vote=True))

    assert asking.replica.epoch == (1 if leader_is_heard else 2)


@pytest.mark.parametrize(
    "message",
    [
        FetchRequest("r2", 2, 0, 1),
        VoteRequest("r2", 2, 1, 0),
        VoteResponse("r2", 2, granted=False),
        BeginQuorumEpochRequest("r2", 2),
        BeginQuorumEpochResponse(2),
        EndQuorumEpochRequest(2, ("r3", "r1")),
    ],
    ids=lambda message: type(message).__name__,
)
def test_any_message_of_a_later_epoch_ends_the_leadership_and_is_remembered(message: Any) -> None:
    """Raft 5.1: a server that sees a larger term takes it over, and becomes a follower."""
    leader = settled().nodes["r1"]
    assert leader.leader is not None
    leader.receive(message)

    assert (leader.leader, leader.replica.leadership, leader.replica.epoch) == (None, None, 2)


def test_a_leader_that_only_observers_fetch_from_resigns() -> None:
    """LeaderState.timeUntilCheckQuorumExpires counts voters alone."""
    story = tell(
        scenario(
            fault("add_replica", 300, "r4"),
            fault("partition", 1_000, "r1", 3_000, peers=("r2", "r3")),
            fault("partition", 1_000, "r4", 3_000, peers=("r2", "r3")),
            rules=KRAFT,
        )
    )

    assert [event.replica for at, event in story.of(LeaderResigned) if at < 4_000] == ["r1"]


def test_no_voter_is_removed_before_a_majority_of_the_others_has_a_record() -> None:
    """Here nothing is committed: if r2 left, r3 could neither vote nor acknowledge."""
    cluster = settled(leader_change_record=False)
    leader, other = cluster.nodes["r1"], cluster.nodes["r2"]
    assert not cluster.elections.may_remove(other)
    leader.replica.log.append(batch(0, epoch=1), now_ms=0)
    assert not cluster.elections.may_remove(other)
    assert leader.replica.leadership is not None
    leader.replica.leadership.positions["r3"] = 1
    assert cluster.elections.may_remove(other)


def test_a_leader_that_is_told_of_another_leader_of_its_epoch_leads_no_more() -> None:
    """Two may be elected where votes do not bind; Kafka's client stops with an error there."""
    leader = settled().nodes["r1"]
    leader.receive(BeginQuorumEpochRequest("r2", 1))

    assert (leader.leader, leader.replica.leadership) == (None, None)
    assert leader.fetcher.leader == "r2"


@pytest.mark.parametrize(("storage", "follows"), [("disk", "r1"), ("memory", None)])
def test_a_restarted_voter_forgets_its_leader_with_the_epoch(
    storage: str, follows: str | None
) -> None:
    """Both are in one file (QuorumStateStore)."""
    voter = settled(epoch_storage=storage).nodes["r3"]
    voter.crash()
    voter.restart()

    assert voter.fetcher.leader == follows


@pytest.mark.parametrize("by_leader", [False, True])
def test_a_voter_that_lost_its_log_does_not_vote_before_it_has_what_was_committed_or_it_had(
    *, by_leader: bool
) -> None:
    cluster = settled()
    voter = cluster.nodes["r3"]
    if by_leader:
        for offset in range(voter.replica.log.log_end_offset, 3):
            voter.replica.log.append(batch(offset), now_ms=0)
        number = voter.fetcher.number
        voter.receive(FetchResponse(Answer.REBUILD, "r1", 1, 3, correlation_id=number))
        cluster.context.env.run(until=301)
    else:
        cluster.context.committed = 3
        voter.wipe()
        cluster.elections.wiped(voter)
    barred = []
    for offset in range(4):
        assert isinstance(voter.membership, QuorumMembership)
        barred.append(voter.membership.barred)
        voter.replica.log.append(batch(offset), now_ms=0)

    assert barred == [True, True, True, False]


def test_a_voter_that_lost_its_disk_is_barred_as_far_after_it_was_told_to_rebuild() -> None:
    voter = settled().nodes["r3"]
    assert isinstance(voter.membership, QuorumMembership)
    voter.membership.rebuilt(3)
    voter.membership.rebuilt(1)

    assert voter.replica.log.log_end_offset == 1
    assert voter.membership.barred
