"""Running a scenario: the same value anywhere, a verdict, and what it differs in from the wish."""

from dataclasses import replace
from typing import Any

import pytest

from sim.check import Violation
from sim.files.yaml_text import parse_yaml
from sim.protocol.events import Cleaned, Consumed, LeaderElected, ReplicaCrashed
from sim.protocol.rules import Rules, rules_from
from sim.simulate.run import Run
from sim.simulate.run.timed import LEFT_THE_CONTRACT, differences, run_scenario
from sim.simulate.run.value import digest_of
from sim.simulate.scenario.derived import environment_digest
from sim.simulate.scenario.file.load import load_scenario
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.model import Expect, Limits, Scenario, Send, Workload
from tests.commands import ROOT

LOST_TAIL = load_scenario(ROOT / "scenarios/kip280/timed_lost_tail.yaml")
NOBODY_WRITES_ON = load_scenario(ROOT / "scenarios/kip534/timed_tombstone_nobody_writes_on.yaml")
QUIET = Mix.model_validate("quiet")
RULE_SETS = [
    rules_from({"preset": preset, "delete_retention_ms": 1000})
    for preset in ("kafka-2.8", "kafka-4.0", "kip-280", "redpanda-25.3")
]


def at_rest(run: Run) -> dict[str, int]:
    """Counters of a run, with the increases by settling."""
    more = {} if run.settling is None else run.settling.counters
    return {name: count + more.get(name, 0) for name, count in run.counters.items()}


def made(**changes: object) -> Run:
    """A run that never happened."""
    content = Scenario("x", seed=1)
    fields: dict[str, object] = {"content": content, "rules": content.rules, "verdict": "holds"}
    return Run(**fields | changes)  # type: ignore[arg-type]


def violation(name: str) -> Violation:
    return Violation(name, 5, "r1", 3, None, "It happened.")


def test_the_same_scenario_twice_is_the_same_value() -> None:
    for seed in range(4):
        scenario = generate(seed, Mix())
        run, kept = run_scenario(scenario), run_scenario(scenario, keep_events=True)
        assert replace(kept, events=()) == replace(run, events=())
        assert len(kept.events) == at_rest(run)["events"]
        assert digest_of(kept.events) == run.digest


def test_all_rule_sets_of_a_case_meet_the_same_environment_and_fare_differently() -> None:
    cases = [generate(seed, QUIET) for seed in range(4)]
    for case in cases:
        runs = [run_scenario(case.with_rules(rules)) for rules in RULE_SETS]
        assert len({run.environment for run in runs}) == 1
        assert len({run.digest for run in runs}) > 1
    assert len({environment_digest(case) for case in cases}) == len(cases)


def test_the_digest_depends_on_every_event() -> None:
    """Another value of the same length: sizes, times and counters are the same."""
    first, *rest = LOST_TAIL.workload.sends
    other = replace(LOST_TAIL.workload, sends=(first, *rest[:-1], rest[-1]._replace(value="f")))

    here, there = run_scenario(LOST_TAIL), run_scenario(replace(LOST_TAIL, workload=other))

    assert here.counters == there.counters
    assert here.digest != there.digest


POWER_FAILURE = load_scenario(ROOT / "scenarios/durability/timed_power_failure.yaml")


def test_a_run_that_leaves_the_durability_contract_has_no_verdict_and_says_why() -> None:
    run = run_scenario(POWER_FAILURE)

    assert (run.verdict, run.violations) == ("inconclusive", ())
    assert run.reason is not None
    assert run.reason.startswith("outside-durability: ")
    assert run.outside is not None
    assert "r3 lost committed offset 0" in run.outside
    assert "outside-durability" in run.reached
    hoping = replace(POWER_FAILURE, expect=Expect(violated=("no-offset-reuse",)))
    assert run.differences == ()
    assert differences(hoping, run) == ("no-offset-reuse was not violated, but expected",)


def test_a_violation_from_before_a_run_left_the_contract_counts_and_what_came_after_does_not() -> (
    None
):
    dark = Mix(power_failures=1.0, duration_ms=4_000, sends=(30, 60))
    rules = rules_from({"preset": "kafka-2.8", "flush": "interval"})
    runs = [run_scenario(generate(seed, dark).with_rules(rules)) for seed in range(8)]
    left = [(seed, run) for seed, run in enumerate(runs) if run.outside is not None]
    seed, run = next(pair for pair in left if pair[1].violations)

    assert (run.verdict, run.reason) == ("violated", LEFT_THE_CONTRACT)
    assert {run.verdict for _, run in left if not run.violations} == {"inconclusive"}
    events = run_scenario(generate(seed, dark).with_rules(rules), keep_events=True).events
    lost = [at for at, event in events if isinstance(event, ReplicaCrashed)]
    assert all(violation.at <= max(lost) for violation in run.violations)


def test_what_was_violated_before_the_bound_was_hit_counts() -> None:
    whole = run_scenario(LOST_TAIL)
    used = at_rest(whole)["simulator_events"]
    expect = replace(LOST_TAIL.expect, violated=(*whole.violated, "election-safety"))
    bound = Limits(max_events=used - 5)
    run = run_scenario(replace(LOST_TAIL, limits=bound, expect=expect))

    assert (run.verdict, run.violations) == ("violated", whole.violations)
    assert run.reason is not None
    assert (run.differences, run.exit_code) == ((), 3), "the rest might have come later"
    assert made(verdict="violated", reason="wall time", cut_off=True).exit_code == 3
    cut = run_scenario(replace(LOST_TAIL, limits=Limits(max_events=50)))
    assert (cut.settling, cut.as_json()["settling"]) == (None, None)


def test_a_cluster_that_does_not_come_to_rest_makes_a_run_inconclusive() -> None:
    """Two in-sync replicas are asked for, and the only one there is cannot be two."""
    scenario = Scenario(
        "alone",
        duration_ms=500,
        rules=Rules.of(commit="isr", min_isr=2),
        replicas=LOST_TAIL.replicas[:1],
        workload=Workload((Send(100, 1, "k", "v", 100),), retries=10_000),
    )

    run = run_scenario(scenario)

    assert run.verdict == "inconclusive"
    assert run.reason is not None
    assert "did not come to rest in 60000 ms: a producer still waits" in run.reason


def test_liveness_is_judged_only_where_it_is_asked_for() -> None:
    """Nobody writes after the tail is gone: r3 never learns how far the log goes."""
    quiet = replace(
        LOST_TAIL,
        faults=LOST_TAIL.faults[:2],
        workload=replace(LOST_TAIL.workload, sends=LOST_TAIL.workload.sends[:-1]),
        expect=Expect(),
    )

    assert "leo-convergence" not in run_scenario(quiet).violated
    assert "leo-convergence" in run_scenario(quiet, also_check=["leo-convergence"]).violated
    asked = replace(quiet, expect=Expect(checked=("leo-convergence",)))
    assert run_scenario(asked).differences == ("leo-convergence was violated, not expected",)


def test_what_is_not_judged_decides_nothing_and_is_kept() -> None:
    asked = replace(LOST_TAIL, expect=Expect(checked=("election-safety",)))

    run = run_scenario(asked)

    assert (run.verdict, run.violated, run.differences) == ("holds", [], ())
    assert "no-offset-reuse" in {found.invariant for found in run.not_judged}
    assert run.seen == run.not_judged
    assert "no-offset-reuse" in run_scenario(asked, also_check=["no-offset-reuse"]).violated


CASES = parse_yaml((ROOT / "tests/expectations.yaml").read_text("utf-8"), "expectations").data


@pytest.mark.parametrize("case", CASES)
def test_what_differs_from_the_expectation(case: dict[str, Any]) -> None:
    happened = case.get("run", {})
    run = made(**happened | {"violations": tuple(map(violation, happened.get("violations", ())))})
    expect = {name: tuple(names) for name, names in case.get("expect", {}).items()}

    assert [*differences(Scenario("x", expect=Expect(**expect)), run)] == case["differs"]


def test_a_tombstone_that_only_settling_removes_is_not_removed_in_the_run() -> None:
    """Kafka's cleaner takes a log with nothing dirty for nobody; the tombstone stays for ever."""
    run = run_scenario(NOBODY_WRITES_ON, keep_events=True)
    events = run.events

    assert run.settling is not None
    assert (run.counters["tombstones_removed"], run.counters["tombstones_left"]) == (0, 1)
    assert "tombstone-removed" not in run.reached
    assert run.settling.from_ms == NOBODY_WRITES_ON.duration_ms
    assert run.settling.counters["tombstones_removed"] == 1
    assert run.settling.reached == ("tombstone-removed",)
    assert (
        at_rest(run)["tombstones_removed"],
        at_rest(run)["tombstones_left"],
    ) == (1, 0)
    assert run.digest == digest_of(events)  # of all that was recorded


def test_a_run_counts_what_its_events_before_the_end_say() -> None:
    for seed in range(8):
        scenario = generate(seed, Mix())
        run = run_scenario(scenario, keep_events=True)
        events = run.events

        assert run.settling is not None
        proper = events[: run.settling.position]
        assert all(at <= scenario.duration_ms for at, _ in proper)
        assert all(at >= scenario.duration_ms for at, _ in events[run.settling.position :])
        for name, count in (
            ("cleanings", Cleaned),
            ("reads", Consumed),
            ("elections", LeaderElected),
        ):
            counted = sum(
                len(getattr(e, "records", [0])) for _, e in proper if isinstance(e, count)
            )
            assert run.counters[name] == counted, name


def test_a_violation_after_the_end_says_that_it_was_judged_at_rest() -> None:
    seek = load_scenario(ROOT / "scenarios/transactions/timed_index_seek.yaml")
    run = run_scenario(seek)
    rest = {"materialized-state-equivalence", "no-resurrection"}

    assert {row["invariant"] for row in run.as_json()["violations"] if row["at_rest"]} == rest
    told = {found.invariant: run.when(found) for found in run.violations}
    assert told["no-resurrection"] == "8000 ms, at rest"
    assert told["clean-prefix"] == "1800 ms"
