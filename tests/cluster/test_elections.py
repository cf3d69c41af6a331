"""Elections by majority in simulated time: pre-votes, check quorum, succession, restarts."""

from collections.abc import Iterator

import pytest

from sim.replication.elections import successors, waits
from sim.replication.replica import Leadership
from sim.rules import Rules, rules_from
from sim.scenario.generate import BUILT_IN_MIXES, generate
from sim.scenario.model import FaultKind, Network, ReplicaSpec, Timers
from sim.timed_run import run_scenario
from sim.trace import LeaderElected, LeaderResigned
from tests.cluster.worlds import Story, fault, log_ends, scenario, tell

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


@pytest.mark.parametrize(("pre_vote", "undisturbed"), [(False, False), (True, True)])
def test_a_voter_that_was_cut_off_disturbs_the_others_only_without_pre_votes(
    *, pre_vote: bool, undisturbed: bool
) -> None:
    away = fault(FaultKind.PARTITION, 500, "r3", 2_500)
    story = tell(scenario(away, rules=kraft(pre_vote=pre_vote)))

    assert (leaders(story) == [("r1", 1)]) is undisturbed
    assert len(set(log_ends(story).values())) == 1


def test_a_crashed_leader_is_replaced_with_pre_votes_too() -> None:
    story = tell(scenario(fault(FaultKind.CRASH, 800, "r1", 2_500), rules=kraft(pre_vote=True)))

    assert [epoch for _, epoch in leaders(story)] == [1, 2]
    assert leaders(story)[1][0] != "r1"
    assert len(set(log_ends(story).values())) == 1


@pytest.mark.parametrize("resigns", [True, False])
def test_a_leader_without_a_majority_resigns_by_check_quorum(*, resigns: bool) -> None:
    cut = fault(FaultKind.PARTITION, 800, "leader", 3_000)
    story = tell(scenario(cut, rules=kraft(check_quorum=resigns), duration_ms=5_000))
    resigned_ms = story.of(LeaderResigned, lambda e: e.replica == "r1")[0][0]

    assert (resigned_ms < 3_800) is resigns


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


def test_a_leader_may_retire_without_naming_anybody() -> None:
    move = fault(FaultKind.MIGRATE, 1_500, "leader")

    assert leaders(tell(scenario(move, rules=kraft(successors="named")))) == [("r1", 1)]
    assert leaders(tell(scenario(move, rules=kraft(successors="by_offset")))) == [
        ("r1", 1),
        ("r2", 2),
    ]


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


def test_a_candidate_that_backs_off_raises_the_epoch_less_often() -> None:
    away = fault(FaultKind.PARTITION, 500, "r3", 9_000)

    def epochs(backoff: str) -> int:
        rules = kraft(pre_vote=False, election_backoff=backoff)
        return leaders(tell(scenario(away, rules=rules, duration_ms=11_000)))[-1][1]

    assert 5 < epochs("exponential") < 0.7 * epochs("none")


def test_a_partition_between_two_replicas_leaves_the_others_alone() -> None:
    cut = fault(FaultKind.PARTITION, 500, "r1", 1_500, peers=("r3",))
    story = tell(scenario(cut))
    isr = [set(e.isr) for _, e in story.of(LeaderElected)]

    assert leaders(story) == [("r1", 1)]
    assert isr == [{"r1", "r2", "r3"}]
    assert len(set(log_ends(story).values())) == 1


def test_a_leader_that_resumes_leads_its_epoch_again() -> None:
    down = fault(FaultKind.CRASH, 800, "r1", 60)

    assert leaders(tell(scenario(down, rules=kraft(leader_restart="resumes")))) == [("r1", 1)]
    assert len(leaders(tell(scenario(down, rules=kraft(leader_restart="resigned"))))) > 1


def choices() -> Iterator[Rules]:
    """Every way in which a quorum that keeps its promises may elect."""
    for pre_vote in (False, True):
        for check_quorum in (True, False):
            for rule in ("named", "by_offset"):
                yield kraft(pre_vote=pre_vote, check_quorum=check_quorum, successors=rule)


@pytest.mark.parametrize("mix", ["kraft", "storm"])
def test_no_way_to_elect_breaks_one_of_raft_s_five_properties(mix: str) -> None:
    elections = dict.fromkeys((False, True), 0)
    for rules in choices():
        for seed in range(8):
            run = run_scenario(generate(seed, BUILT_IN_MIXES[mix]).with_rules(rules))
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
            for seed in range(4)
        ]
        return [tell(case).digest() for case in cases]

    assert digests(fenced=True) != digests(fenced=False)
