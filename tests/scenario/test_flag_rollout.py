"""Random upgrades to KIP-87: what is drawn, which order the rule makes of it, and what it does."""

from dataclasses import replace

import pytest

from sim.faults import Fault
from sim.faults.add_replica import AddReplica
from sim.log.versions import NEW, OLD, Versions
from sim.rules import RULES, settings_from
from sim.scenario.environment import environment_digest
from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.scenario.model import Change, Consumer, ReplicaSpec, Scenario
from sim.scenario.model.changes import changed
from sim.scenario.model.promises import changes_of
from sim.scenario.model.rollouts import FlagRollout
from sim.timed_run import run_scenario

ORDERS = [str(value) for value in RULES["flag_rollout"].values]
ALL_OLD, ALL_NEW = Versions(OLD, OLD, OLD), Versions(NEW, NEW, NEW)
PHASES_MS = (1_000, 2_000, 3_000, 4_000, 5_000)
PLAN = FlagRollout(PHASES_MS, (10, 20), (1, 2), (3, 4), (50,), (60,), 6_000)
SCENARIO = Scenario(
    id="s",
    replicas=(ReplicaSpec("r1", versions=ALL_OLD), ReplicaSpec("r2", versions=ALL_OLD)),
    consumers=(Consumer("c1", format=2),),
    flag_rollout=PLAN,
)
MIX = Mix(flag_upgrade=1.0)
SHORT = {"software": "software", "inter.broker.protocol.version": "protocol"}
QUIET = Mix(
    mix="quiet",
    flag_upgrade=1.0,
    faults=(0, 0),
    sends=(150, 150),
    delete_share=(0.5, 0.5),
    consumers=(3, 3),
    replicas=(3, 3),
    tail_hunts=0.0,
    transactional=0.0,
)
CALM = (2, 6, 9)
"""Seeds without faults; together they show what each order does."""


def in_order(scenario: Scenario, order: str) -> Scenario:
    """The scenario with its upgrade in this order."""
    return scenario.with_rules(settings_from({"flag_rollout": order}))


def under(order: str, *faults: Fault) -> tuple[Change, ...]:
    """The changes of the small upgrade in this order."""
    return changes_of(in_order(replace(SCENARIO, faults=faults), order))


def phases(order: str) -> list[tuple[int, str]]:
    """(ms, who or which setting of r1) of the small upgrade in this order."""
    found = []
    for one in under(order):
        if one.replica == "r1":
            found += [(one.at_ms, SHORT.get(name, "format")) for name, _ in one.settings]
        elif one.replica is None:
            found.append((one.at_ms, "producers" if one.consumer is None else "consumers"))
    return found


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (
            "clients_before_format",
            "software 1010, protocol 2001, consumers 3060, producers 4050, format 5003",
        ),
        (
            "producers_last",
            "software 1010, protocol 2001, consumers 3060, format 4003, producers 5050",
        ),
        (
            "consumers_last",
            "software 1010, protocol 2001, format 3003, producers 4050, consumers 5060",
        ),
        (
            "format_before_protocol",
            "software 1010, consumers 2060, producers 3050, protocol 5001, format 5001",
        ),
        (
            "protocol_before_software",
            "software 2010, protocol 2010, consumers 3060, format 4003, producers 5050",
        ),
        (
            "producers_first",
            "producers 1050, software 2010, protocol 3001, consumers 4060, format 5003",
        ),
    ],
)
def test_the_rule_says_which_phase_comes_when(order: str, expected: str) -> None:
    assert ", ".join(f"{what} {at_ms}" for at_ms, what in phases(order)) == expected


def test_an_upgrade_is_taken_back_from_the_clients_first_and_then_broker_by_broker() -> None:
    [*upgraded, producers, consumers, first, second] = under("taken_back")
    old = (("software", OLD), ("inter.broker.protocol.version", OLD))

    assert upgraded == [*under("producers_last")]
    assert producers == Change(6_000, producer=0, versions=None, format=2)
    assert consumers == Change(6_000, versions=None, consumer="c1", format=2)
    assert [(one.at_ms, one.replica) for one in (first, second)] == [(6_010, "r1"), (6_020, "r2")]
    assert first.settings == second.settings == (*old, ("log.message.format.version", OLD))


def test_a_replica_that_joins_is_upgraded_with_the_first() -> None:
    found = under("producers_last", AddReplica(500, "r9"))

    times = {name: [c.at_ms for c in found if c.replica == name] for name in ("r1", "r2", "r9")}
    assert times["r9"] == times["r1"] != times["r2"]


@pytest.mark.parametrize("order", ORDERS)
def test_every_broker_would_start_after_every_change(order: str) -> None:
    for seed in range(30):
        case = in_order(generate(seed, MIX), order)
        now = {replica.name: replica.versions for replica in case.replicas}
        assert set(now.values()) == {ALL_OLD}
        for change in changes_of(case):
            assert 0 <= change.at_ms < case.duration_ms
            if change.replica in now:
                _, versions = changed(case.rules, now[change.replica], change)
                assert versions is not None
                assert versions.contradiction() is None
                now[change.replica] = versions
        assert set(now.values()) == {ALL_OLD if order == "taken_back" else ALL_NEW}


def test_phases_do_not_overlap_and_the_run_goes_on_after_them() -> None:
    for seed in range(100):
        case = generate(seed, MIX)
        plan = case.flag_rollout
        assert plan is not None
        ends = [*plan.phases_ms[1:], plan.taken_back_ms]
        delays = (*plan.software_ms, *plan.protocol_ms, *plan.format_ms)
        longest_ms = max((*delays, *plan.producers_ms, *plan.consumers_ms))
        for start_ms, end_ms in zip(plan.phases_ms, ends, strict=True):
            assert start_ms + longest_ms < end_ms
        assert plan.taken_back_ms + longest_ms < case.duration_ms


def test_an_upgrade_is_laid_over_the_environment_that_was_there() -> None:
    for seed in range(50):
        bare, case = generate(seed, Mix()), generate(seed, MIX)
        sends = [
            send if send.flag is None else send._replace(value=None, flag=None)
            for send in case.workload.sends
        ]
        without = replace(
            case,
            replicas=tuple(replace(one, versions=None) for one in case.replicas),
            workload=replace(case.workload, sends=tuple(sends)),
            consumers=tuple(replace(one, format=None, starts_ms=0) for one in case.consumers),
            flag_rollout=None,
        )
        assert without == bare
        assert bare.flag_rollout is None


def test_some_deletes_say_something_some_do_not_and_some_readers_come_late() -> None:
    cases = [generate(seed, MIX) for seed in range(50)]
    sends = [send for case in cases for send in case.workload.sends]
    starts = [consumer.starts_ms for case in cases for consumer in case.consumers]

    assert {send.flag for send in sends if send.value is None} == {None}
    told = [send.value for send in sends if send.flag]
    assert len(told) > 100
    assert all(value is not None and value.startswith("deleted ") for value in told)
    assert any(send.value is None for send in sends)
    assert 0.1 < sum(1 for start_ms in starts if start_ms) / len(starts) < 0.4


def test_the_timetable_belongs_to_the_environment_and_the_order_does_not() -> None:
    case = generate(3, MIX)
    assert case.flag_rollout is not None
    later = replace(case.flag_rollout, taken_back_ms=case.flag_rollout.taken_back_ms + 1)

    assert environment_digest(case) != environment_digest(replace(case, flag_rollout=later))
    assert len({environment_digest(in_order(case, o)) for o in ORDERS}) == 1


def shown(order: str) -> set[str]:
    """What some calm cases show in this order: invariants violated, and the claims about it."""
    base = {"preset": "kafka-4.0", "tombstone_mark": "magic", "tombstone_removal": "never"}
    rules = settings_from({**base, "flag_rollout": order})
    claims = {"delete-value-dropped", "delete-value-withheld", "append-refused", "isr-shrunk"}
    found: set[str] = set()
    for seed in CALM:
        run = run_scenario(generate(seed, QUIET).with_rules(rules))
        found |= {*run.violated, *claims.intersection(run.reached)}
    return found


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("clients_before_format", {"delete-value-dropped"}),
        ("producers_last", set()),
        ("consumers_last", {"delete-value-withheld"}),
        ("format_before_protocol", {"delete-value-dropped", "record-immutable"}),
        ("protocol_before_software", {"isr-shrunk"}),
        ("producers_first", {"append-refused", "delete-value-dropped"}),
        ("taken_back", {"consumer-takes-deletes", "isr-shrunk"}),
    ],
)
def test_each_order_loses_its_own_without_any_fault(order: str, expected: set[str]) -> None:
    assert shown(order) == expected
