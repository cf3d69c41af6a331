"""Random environment with losses of power and crashes during a pass or an install."""

from dataclasses import replace

from sim.protocol.events import FaultInjected
from sim.protocol.rules import Rules, rules_from
from sim.simulate.faults import FaultKind
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.derived import environment_digest
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix

DARK = Mix(power_losses=0.5, power_failures=0.5, cleaning_crashes=0.5, flush_settings=0.5)
SNAPSHOTS = Mix(mix="kraft", replicas=(3, 5), faults=(2, 12), outage_ms=(100, 6_000))
INTERRUPTED = SNAPSHOTS.model_copy(update={"install_crashes": 0.5})
FINISHED = rules_from(
    {"preset": "kraft", "install_recovery": "finished", "held_snapshot": "ignored"}
)
BY_THE_OS = Rules.of(commit="isr", fix="empty_batch", flush="interval")
ALWAYS = Rules.of(commit="isr", fix="empty_batch", flush="on_append")


def test_every_kind_of_hard_crash_is_drawn() -> None:
    faults = [fault for seed in range(60) for fault in generate(seed, DARK).faults]
    topics = [generate(seed, DARK).topic for seed in range(60)]

    assert {type(fault.during) for fault in faults} == {type(None), int}
    assert any(fault.during is not None and fault.power_loss for fault in faults)
    assert any(topic.flush_messages and topic.flush_ms for topic in topics)
    assert len({environment_digest(generate(seed, DARK)) for seed in range(60)}) == 60


def test_some_runs_leave_the_contract_when_nothing_is_flushed_and_none_when_everything_is() -> None:
    cases = [generate(seed, DARK) for seed in range(12)]
    by_the_os = [run_scenario(case.with_rules(BY_THE_OS)) for case in cases]
    always = [run_scenario(case.with_rules(ALWAYS)) for case in cases]

    left = [run for run in by_the_os if run.outside]

    assert not any(run.outside for run in always)
    assert "inconclusive" in {run.verdict for run in left}
    assert all((run.verdict == "inconclusive") is not bool(run.violations) for run in left)


def test_crashes_during_an_install_are_added_and_nothing_else_differs() -> None:
    cases = [(generate(seed, SNAPSHOTS), generate(seed, INTERRUPTED)) for seed in range(40)]
    added = [fault for _, case in cases for fault in case.faults if fault.during == "install"]

    assert len(added) > 40
    assert {fault.kind for fault in added} == {FaultKind.CRASH}
    for usual, case in cases:
        kept = tuple(fault for fault in case.faults if fault.during != "install")
        assert replace(case, faults=kept) == usual
    without_snapshots = INTERRUPTED.model_copy(update={"snapshots": 0.0})
    assert all(not f.during for seed in range(40) for f in generate(seed, without_snapshots).faults)


def test_random_installs_are_interrupted_and_a_restart_that_finishes_them_is_safe() -> None:
    """What does not finish them, `tests/cluster/test_interrupted.py` shows."""
    runs = [
        run_scenario(generate(seed, INTERRUPTED).with_rules(FINISHED), keep_events=True)
        for seed in range(12)
    ]
    events = [event for run in runs for _, event in run.events]
    details = [event.detail for event in events if isinstance(event, FaultInjected)]

    assert sum("before a snapshot is installed" in detail for detail in details) > 2
    assert {run.verdict for run in runs} == {"holds"}
