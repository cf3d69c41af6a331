"""In-sync sets in simulated time: too few replicas, acknowledgements, who may lead."""

from itertools import pairwise

import pytest

from sim.protocol.events import (
    Appended,
    AppendRefused,
    IsrChanged,
)
from sim.protocol.replication.messages import FetchRequest
from sim.protocol.rules import Rules, rules_from
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.faults import Fault, FaultKind
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import BUILT_IN_MIXES, generate
from sim.simulate.scenario.model import Send, Workload
from tests.cluster.worlds import Story, fault, scenario, sends, tell

KAFKA = rules_from({"preset": "kafka-4.0", "min_isr": 2})
CUT = fault(FaultKind.PARTITION, 500, "r1", 2_500, peers=("r2", "r3"))
WRITES = sends(60)


def told(*faults: Fault, workload: Workload | None = None, **rules: str | int | bool) -> Story:
    """Three replicas, two of which have to be in sync."""
    work = workload or Workload(sends=WRITES)
    return tell(scenario(*faults, rules=KAFKA.with_values(rules), workload=work))


def test_a_refused_producer_pauses_twice_as_long_each_time() -> None:
    late = Send(2_000, 2, "k", "late", 2_000)
    story = told(CUT, workload=Workload(sends=(*sends(9), late)))
    refused = [at for at, _ in story.of(AppendRefused) if at > late.at_ms]
    pauses = [second - first for first, second in pairwise(refused)]

    assert pauses == pytest.approx([100, 200, 400], abs=15)
    assert all(r.value != "late" for _, e in story.of(Appended) for r in e.batch.records)


def test_a_patient_producer_gets_everything_in_with_the_sequence_numbers_it_had() -> None:
    story = told(CUT, workload=Workload(sends=WRITES, retries=50))
    batches = [e.batch for _, e in story.of(Appended)]

    assert len(story.of(AppendRefused)) > 2
    assert [b.base_sequence for b in batches] == [b.base_offset for b in batches]
    assert sum(len(b.records) for b in batches) == len(WRITES)


def test_a_broker_whose_registration_was_lost_registers_again_when_it_can_talk() -> None:
    cut = fault(FaultKind.PARTITION, 400, "r2", 1_500)
    down = fault(FaultKind.CRASH, 500, "r2", 300)
    story = tell(scenario(cut, down))
    joined = [at for at, e in story.of(IsrChanged) if e.joined == "r2"]

    assert [at > 1_900 for at in joined] == [True]
    assert story.outcome.inconclusive is None


@pytest.mark.parametrize("leaders", ["isr", "elr"])
@pytest.mark.parametrize("least", [1, 2])
def test_clean_elections_lose_nothing_in_storms(leaders: str, least: int) -> None:
    """Without cleaners: what a cleaned epoch does to a follower is another matter."""
    storm = BUILT_IN_MIXES["storm"]
    weights = storm.weights.model_copy(update={"unclean_migrate": 0.0})
    calm = storm.model_copy(update={"cleaners": 0.0, "weights": weights})
    rules = KAFKA.with_values({"min_isr": least, "eligible_leaders": leaders})
    for seed in range(4):
        run = run_scenario(generate(seed, calm).with_rules(rules))
        assert (run.violated, run.verdict) == ([], "holds"), seed


@pytest.mark.parametrize(("position", "caught_up"), [("read_end", True), ("request", False)])
def test_a_follower_at_a_hole_at_the_log_end_is_caught_up_where_it_is_believed_to_be_there(
    position: str, *, caught_up: bool
) -> None:
    """Partition.fetchRecords judges both by one and the same offset."""
    rules = Rules.of(commit="isr", follower_position=position)
    cluster = Cluster(scenario(rules=rules), lambda *_: None)
    cluster.start()
    cluster.context.env.run(until=50)
    node = cluster.nodes["r1"]
    leadership, log = node.replica.leadership, node.replica.log
    assert node.leader is not None
    assert leadership is not None
    log.log_end_offset += 1
    node.leader.fetch(FetchRequest("r2", 1, log.log_end_offset - 1, -1, correlation_id=99))

    assert (leadership.fetch_times["r2"].caught_up_ms == 50) is caught_up
