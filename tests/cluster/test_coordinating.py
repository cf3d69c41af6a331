"""Coordinators in simulated time: how long they load, and who waits meanwhile."""

from dataclasses import replace

from sim.cluster.cluster import Cluster
from sim.faults.migrate import Migrate
from sim.replication.messages import CoordinatorRequest
from sim.rules import settings_from
from sim.scenario.generate import Mix, generate
from sim.scenario.model import Ask, Send, Timers, Topic, Workload
from sim.timed_run import run_scenario
from sim.trace import CoordinatorAnswered, CoordinatorLoaded, Event
from tests.cluster.worlds import Story, scenario, tell
from tests.replication.replicas import batch

SENDS = tuple(Send(100 + 10 * n, 1, f"k{n % 3}", f"v{n}", 100 + 10 * n) for n in range(30))
MOVED = (Migrate(50, "r1"), Migrate(1_000, "r2"))


def told(**rules: object) -> Story:
    """r1 leads, takes 30 records and hands over to r2; a client asks for k2."""
    values = {"preset": "kafka-4.0", "coordinator": "group", **rules}
    return tell(
        scenario(
            *MOVED,
            rules=settings_from(values).rules,
            workload=Workload(sends=(*SENDS, Send(1_100, 1, "k0", "late", 1_100))),
            topic=Topic(segment_bytes=1 << 20, segment_ms=None),  # nothing is cleaned
            timers=Timers(load_us_per_record=10_000),
            asks=(Ask(1_050, "k2"),),
            duration_ms=4_000,
        )
    )


def test_a_load_takes_its_time_per_record_and_clients_wait_for_its_end() -> None:
    story = told()
    [(_, first), (loaded_ms, load)] = story.of(CoordinatorLoaded)
    answers = story.of(CoordinatorAnswered)

    assert (first.replica, first.log_records) == ("r1", 0)
    assert (load.replica, load.log_records, load.took_ms) == ("r2", 30, 300)
    refused = [at for at, event in answers if event.error == "COORDINATOR_LOAD_IN_PROGRESS"]
    assert refused
    assert max(refused) <= loaded_ms
    [(at, served)] = [(at, event) for at, event in answers if event.error == "NONE"]
    assert at >= loaded_ms
    assert served.below >= load.end_offset


def test_a_leader_that_resigns_coordinates_no_more_and_loads_anew_when_it_leads_again() -> None:
    """An epoch passes in which others write."""
    rules = settings_from({"preset": "kafka-4.0", "coordinator": "group"}).rules
    quick = scenario(rules=rules, timers=Timers(load_us_per_record=0), workload=Workload(sends=()))
    events: list[Event] = []
    cluster = Cluster(quick, lambda _at, new: events.extend(new))
    cluster.start()
    node = cluster.nodes["r1"]

    def asked(epoch: int | None) -> list[tuple[int, int]]:
        """The coordinator's epoch and end, if it answers."""
        if epoch is None:
            node.resign()
        else:
            node.replica.log.append(batch(node.replica.log.log_end_offset, epoch=epoch), now_ms=0)
            node.lead(epoch, isr=("r1",), replicas=("r1", "r2", "r3"))
        events.clear()
        node.receive(CoordinatorRequest("c", "k"))
        return [(e.epoch, e.below) for e in events if isinstance(e, CoordinatorAnswered)]

    assert [asked(7), asked(None), asked(9)] == [[(7, 1)], [], [(9, 2)]]


def test_random_clusters_never_serve_less_than_was_committed_before_their_epoch() -> None:
    """Whatever fails; tombstones stay, since a lost one is a delete that is not served."""
    rules = settings_from(
        {"preset": "kafka-4.0", "tombstone_removal": "never", "coordinator": "group"}
    ).rules
    answered = 0
    for seed in range(10):
        case = generate(seed, Mix(transactional=0.0, tail_hunts=0.0))
        keys = sorted({send.key for send in case.workload.sends})
        asks = tuple(Ask(at, keys[at % len(keys)]) for at in range(300, case.duration_ms, 700))
        timers = replace(case.timers, load_us_per_record=1_000)
        run = run_scenario(replace(case, asks=asks, timers=timers).with_rules(rules))
        assert "coordinator-serves-loaded" not in run.violated, (seed, run.violations)
        answered += run.counters["logs_loaded"]
    assert answered > 20
