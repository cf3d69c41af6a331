"""Coordinators in simulated time: how long they load, and who waits meanwhile."""

from dataclasses import replace

from sim.faults.migrate import Migrate
from sim.rules import Rules, settings_from
from sim.scenario.generate import Mix, generate
from sim.scenario.model import Ask, Send, Timers, Topic, Workload
from sim.timed_run import run_scenario
from sim.trace import Acknowledged, CoordinatorAnswered, CoordinatorLoaded
from tests.cluster.worlds import Story, scenario, tell

SENDS = tuple(Send(100 + 10 * n, 1, f"k{n % 3}", f"v{n}", 100 + 10 * n) for n in range(30))
MOVED = (Migrate(50, "r1"), Migrate(1_000, "r2"))


def told(*, us: int = 10_000, at_ms: int = 1_050, **rules: object) -> Story:
    """r1 leads, takes 30 records and hands over to r2; a client asks for k2."""
    values = {"preset": "kafka-4.0", "coordinator": "group", **rules}
    return tell(
        scenario(
            *MOVED,
            rules=settings_from(values).rules,
            workload=Workload(sends=(*SENDS, Send(1_100, 1, "k0", "late", 1_100))),
            topic=Topic(segment_bytes=1 << 20, segment_ms=None),  # nothing is cleaned
            timers=Timers(load_us_per_record=us),
            asks=(Ask(at_ms, "k2"),),
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


def test_who_writes_waits_as_well_and_loses_nothing() -> None:
    story = told()
    [_, (loaded_ms, _)] = story.of(CoordinatorLoaded)
    late = [at for at, event in story.of(Acknowledged) if event.last_offset == 30]

    assert late
    assert min(late) >= loaded_ms


def test_without_a_time_per_record_nobody_waits() -> None:
    story = told(us=0)

    assert {event.error for _, event in story.of(CoordinatorAnswered)} == {"NONE"}
    assert [event.took_ms for _, event in story.of(CoordinatorLoaded)] == [0, 0]


def test_a_leader_that_goes_while_it_loads_never_serves() -> None:
    base = scenario(
        *MOVED,
        Migrate(1_100, "r3"),
        rules=Rules.of(commit="isr", coordinator="group"),
        workload=Workload(sends=SENDS),
        timers=Timers(load_us_per_record=10_000),
        asks=(Ask(1_050, "k2"),),
        duration_ms=4_000,
    )
    story = tell(base)

    assert [event.replica for _, event in story.of(CoordinatorLoaded)] == ["r1", "r3"]
    [served] = [e for _, e in story.of(CoordinatorAnswered) if e.error == "NONE"]
    assert served.replica == "r3"


def test_random_clusters_never_serve_less_than_was_committed_before_their_epoch() -> None:
    """Whatever fails; tombstones stay, since a lost one is a delete that is not served."""
    rules = settings_from(
        {"preset": "kafka-4.0", "tombstone_removal": "never", "coordinator": "group"}
    ).rules
    answered = 0
    for seed in range(25):
        case = generate(seed, Mix(transactional=0.0, tail_hunts=0.0))
        keys = sorted({send.key for send in case.workload.sends})
        asks = tuple(Ask(at, keys[at % len(keys)]) for at in range(300, case.duration_ms, 700))
        timers = replace(case.timers, load_us_per_record=1_000)
        run = run_scenario(replace(case, asks=asks, timers=timers).with_rules(rules))
        assert "coordinator-serves-loaded" not in run.violated, (seed, run.violations)
        answered += run.counters["logs_loaded"]
    assert answered > 50


def test_a_coordinator_that_serves_at_once_is_caught_in_random_clusters() -> None:
    values = {"preset": "kafka-4.0", "coordinator": "group", "coordinator_loads": "lazily"}
    violated = 0
    for seed in range(8):
        case = generate(seed, Mix(transactional=0.0, tail_hunts=0.0))
        keys = sorted({send.key for send in case.workload.sends})
        asks = tuple(Ask(at, keys[at % len(keys)]) for at in range(300, case.duration_ms, 50))
        timers = replace(case.timers, load_us_per_record=20_000)
        run = run_scenario(
            replace(case, asks=asks, timers=timers).with_rules(settings_from(values))
        )
        violated += "coordinator-serves-loaded" in run.violated
    assert violated
