"""In-sync sets in simulated time: too few replicas, acknowledgements, who may lead."""

from itertools import pairwise

import pytest

from sim.faults.migrate import Migrate
from sim.rules import rules_from
from sim.scenario.generate import BUILT_IN_MIXES, generate
from sim.scenario.model import Fault, FaultKind, Network, Send, Workload
from sim.timed_run import run_scenario
from sim.trace import (
    Acknowledged,
    Appended,
    AppendRefused,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    UncleanElection,
)
from tests.cluster.worlds import THREE, Story, fault, scenario, sends, tell

KAFKA = rules_from({"preset": "kafka-4.0", "min_isr": 2})
CUT = fault(FaultKind.PARTITION, 500, "r1", 2_500, peers=("r2", "r3"))
WRITES = sends(60)


def told(*faults: Fault, workload: Workload | None = None, **rules: str | int | bool) -> Story:
    """Three replicas, two of which have to be in sync."""
    work = workload or Workload(sends=WRITES)
    return tell(scenario(*faults, rules=KAFKA.with_values(rules), workload=work))


def test_a_leader_with_too_few_in_sync_takes_nothing_from_who_wants_all() -> None:
    story = told(CUT)
    alone = [at for at, e in story.of(Appended) if 1_500 < at < 2_900]

    assert alone == []
    assert story.outcome.counts.not_enough_replicas > 0


def test_a_refused_producer_pauses_twice_as_long_each_time() -> None:
    late = Send(2_000, 2, "k", "late", 2_000)
    story = told(CUT, workload=Workload(sends=(*sends(9), late)))
    refused = [at for at, _ in story.of(AppendRefused) if at > late.at_ms]
    pauses = [second - first for first, second in pairwise(refused)]

    assert pauses == pytest.approx([100, 200, 400], abs=15)
    assert story.outcome.counts.sends_given_up > 0


def test_a_patient_producer_gets_everything_in_with_the_sequence_numbers_it_had() -> None:
    story = told(CUT, workload=Workload(sends=WRITES, retries=50))
    batches = [e.batch for _, e in story.of(Appended)]

    assert story.outcome.counts.not_enough_replicas > 2
    assert [b.base_sequence for b in batches] == [b.base_offset for b in batches]
    assert sum(len(b.records) for b in batches) == len(WRITES)


def test_with_one_required_the_leader_goes_on_alone() -> None:
    story = told(CUT, min_isr=1)

    assert [at for at, e in story.of(Appended) if 1_500 < at < 2_900]
    assert story.outcome.counts.not_enough_replicas == 0


def test_who_is_content_with_the_leader_is_served_and_told_at_once() -> None:
    story = told(CUT, workload=Workload(sends=WRITES, acks="1"))
    early = {at for at, e in story.of(Acknowledged) if e.acks == "1"}
    committed = [at for at, e in story.of(HighWatermarkMoved) if e.leading and 1_500 < at < 2_900]

    assert early == {at for at, _ in story.of(Appended)}
    assert any(1_500 < at < 2_900 for at in early)
    assert committed == []
    assert story.outcome.counts.not_enough_replicas == 0


def test_by_default_nobody_is_told_before_the_commit() -> None:
    events = [event for _, event in told(CUT).events]
    committed, acknowledged = 0, 0
    for event in events:
        if isinstance(event, HighWatermarkMoved) and event.leading:
            committed = max(committed, event.high_watermark)
        elif isinstance(event, Acknowledged):
            assert (event.acks, event.last_offset < committed) == ("all", True)
            acknowledged += 1

    assert acknowledged >= len([e for e in events if isinstance(e, Appended)]) // 2


def test_an_eligible_replica_leads_cleanly_where_the_in_sync_set_is_down() -> None:
    down = fault(FaultKind.CRASH, 1_800, "r1", 1_000)
    classic = told(CUT, down).of(LeaderElected)
    eligible = told(CUT, down, eligible_leaders="elr").of(LeaderElected)

    assert [e.replica for _, e in classic] == ["r1", "r1"]
    assert eligible[1][1].replica in ("r2", "r3")
    assert eligible[1][0] < 2_800
    assert eligible[1][1].isr == (eligible[1][1].replica,)


def test_an_unclean_election_takes_anybody_when_nobody_may_lead_cleanly() -> None:
    down = fault(FaultKind.CRASH, 1_800, "r1", 1_000)
    waits = told(CUT, down, min_isr=1).of(LeaderElected)
    elected = told(CUT, down, min_isr=1, unclean_election=True).of(LeaderElected)

    assert waits[1][1].replica == "r1"
    assert elected[1][1].replica in ("r2", "r3")
    assert elected[1][1].epoch_start_offset < waits[1][1].epoch_start_offset


@pytest.mark.parametrize("leaders", ["isr", "elr"])
def test_who_led_last_is_elected_uncleanly_and_the_last_member_of_a_set_cleanly(
    leaders: str,
) -> None:
    """All crash, one after the other: nobody is eligible, and r1 was the last."""
    away = [
        fault(FaultKind.CRASH, 500, "r2", 2_500),
        fault(FaultKind.CRASH, 1_200, "r3", 2_000),
        fault(FaultKind.CRASH, 1_900, "r1", 1_600),
    ]
    work = Workload(sends=sends(4))
    rules = KAFKA.with_values({"eligible_leaders": leaders})
    story = tell(scenario(*away, rules=rules, workload=work, duration_ms=6_000))
    marked = [(e.replica, e.epoch, e.because) for _, e in story.of(UncleanElection)]
    elected = [(e.replica, e.epoch, e.isr) for _, e in story.of(LeaderElected)]

    assert elected[-1][0] == "r1"
    assert elected[-1][2] == ("r1",)
    assert marked == ([("r1", elected[-1][1], "it led last")] if leaders == "elr" else [])


@pytest.mark.parametrize(
    ("rule", "because"),
    [({}, []), ({"unclean_election": True}, ["any replica will do"])],
)
def test_an_unclean_election_is_marked_and_a_wait_is_none(
    rule: dict[str, bool], because: list[str]
) -> None:
    down = fault(FaultKind.CRASH, 1_800, "r1", 1_000)
    story = told(CUT, down, min_isr=1, **rule)

    assert [e.because for _, e in story.of(UncleanElection)] == because


@pytest.mark.parametrize("leaders", ["isr", "elr"])
@pytest.mark.parametrize("least", [1, 2])
def test_clean_elections_lose_nothing_in_storms(leaders: str, least: int) -> None:
    """Without cleaners: what a cleaned epoch does to a follower is another matter."""
    storm = BUILT_IN_MIXES["storm"]
    weights = storm.weights.model_copy(update={"unclean_migrate": 0.0})
    calm = storm.model_copy(update={"cleaners": 0.0, "weights": weights})
    rules = KAFKA.with_values({"min_isr": least, "eligible_leaders": leaders})
    for seed in range(12):
        run = run_scenario(generate(seed, calm).with_rules(rules))
        assert (run.violated, run.verdict) == ([], "holds"), seed


def test_a_leader_that_is_asked_to_leave_is_followed_by_one_in_sync() -> None:
    move = fault(FaultKind.MIGRATE, 2_000, "leader")
    away = fault(FaultKind.CRASH, 200, "r2", 2_700)

    assert [e.replica for _, e in told(move).of(LeaderElected)] == ["r1", "r2"]
    assert [e.replica for _, e in told(away, move).of(LeaderElected)] == ["r1", "r3"]


def test_pick_says_which_follower_gets_the_lead() -> None:
    move = Migrate(2_000, "leader", pick=1)

    assert [e.replica for _, e in told(move).of(LeaderElected)] == ["r1", "r3"]


def alone_with_a_follower(rule: str, *, away_ms: int) -> Story:
    """Two replicas, one required, a write in every ms; the follower is down for a while."""
    rules = KAFKA.with_values({"min_isr": 1, "high_watermark_waits_for": rule})
    return tell(
        scenario(
            fault(FaultKind.CRASH, 300, "r2", away_ms),
            replicas=THREE[:2],
            rules=rules,
            workload=Workload(sends=sends(1_500, every_ms=1, producers=3)),
            network=Network((3, 3)),
        )
    )


@pytest.mark.parametrize(
    ("rule", "joins_early"),
    [("in_sync_set", False), ("caught_up", True), ("caught_up_eligible", True)],
)
def test_a_follower_of_a_lone_leader_joins_under_load_only_when_it_is_waited_for(
    rule: str, *, joins_early: bool
) -> None:
    """What the comment of Partition.maybeIncrementLeaderHW gives as its reason."""
    story = alone_with_a_follower(rule, away_ms=300)
    [joined] = [at for at, _ in story.of(IsrChanged, lambda e: e.joined == "r2")]
    last_write = max(at for at, _ in story.of(Appended))

    assert (joined < 700) == joins_early
    assert (joined > last_write) != joins_early


@pytest.mark.parametrize(
    ("rule", "held_back"),
    [("in_sync_set", False), ("caught_up", True), ("caught_up_eligible", False)],
)
def test_a_fenced_follower_holds_the_high_watermark_back_until_its_lag_only_before_kafka_15021(
    rule: str, *, held_back: bool
) -> None:
    story = alone_with_a_follower(rule, away_ms=300)
    [left] = [at for at, e in story.of(IsrChanged) if e.isr == ("r1",)]
    moved = [at for at, e in story.of(HighWatermarkMoved) if e.leading and left <= at < left + 5]

    assert left < 300 + 400  # replica.lag.time.max.ms, since it was last caught up
    assert (moved == []) == held_back
