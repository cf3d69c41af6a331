"""Settings that change during a run: what a file may say, and by what the run is judged."""

from pathlib import Path

from sim.faults import Fault
from sim.faults.add_replica import AddReplica
from sim.rules import RULES, Rules, settings_from
from sim.scenario.environment import environment_digest
from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.scenario.model import Change, Scenario
from sim.scenario.model.promises import changes_of, promise_of
from sim.scenario.model.rollouts import Rollout
from tests.scenario.texts import load

NAMES = ("r1", "r2", "r3")
TO_HEADER = (("strategy", "header"),)


def promised(*changes: Change) -> tuple[str, list[str]]:
    """The strategy that is promised in the end, and those that may have cleaned before."""
    rules, earlier = promise_of(
        Scenario(id="s", rules=Rules.of(strategy="offset"), changes=changes)
    )
    return rules.cleaner.strategy, [one.cleaner.strategy for one in earlier]


def test_changes_are_made_in_the_order_of_their_times(tmp_path: Path) -> None:
    text = (
        "changes:\n"
        "  - {at: 900, producer: all, versions: false}\n"
        "  - {at: 100, replica: r2, set: {strategy: header, delete_retention_ms: 5}}\n"
    )

    assert load(tmp_path, text).changes == (
        Change(100, replica="r2", settings=(*TO_HEADER, ("delete_retention_ms", 5))),
        Change(900, producer=0, versions=False),
    )


def test_the_newest_settings_are_the_promise_whoever_has_them() -> None:
    assert promised() == ("offset", [])
    assert promised(Change(5, "r1", TO_HEADER)) == ("header", ["offset"])
    assert promised(Change(0, producer=0, versions=False)) == ("offset", [])


def test_after_a_rollback_the_promise_is_the_old_one_again() -> None:
    there, back = Change(5, "all", TO_HEADER), Change(9, "r3", (("strategy", "offset"),))

    assert promised(back, there) == ("offset", ["header"])


def test_a_tombstone_may_go_after_the_shortest_retention_there_was() -> None:
    longer = Change(5, "all", (("delete_retention_ms", 900),))
    rules = Rules.of(delete_retention_ms=100)

    assert promise_of(Scenario(id="s", rules=rules, changes=(longer,))).rules == rules


def upgraded(rollout: str, *faults: Fault) -> list[tuple[int, str]]:
    """(ms, who) of the changes of one upgrade, after those at its start."""
    plan = Rollout((1_000, 2_000, 3_000), (10, 20, 30), (40, 50), (1, 2, 3), 3_500)
    settings = settings_from({"strategy": "header", "rollout": rollout})
    case = Scenario(id="s", rollout=plan, faults=faults).with_rules(settings)
    found = changes_of(case)
    assert found[:2] == (
        Change(0, "all", (("strategy", "offset"),)),
        Change(0, producer=0, versions=False),
    )
    return [(one.at_ms, one.replica or f"producer {one.producer}") for one in found[2:]]


def test_the_recommended_order_is_brokers_then_producers_then_the_strategy() -> None:
    producers, strategy = [(2_040, "producer 1"), (2_050, "producer 2")], [3_001, 3_002, 3_003]

    assert upgraded("brokers_first") == [*producers, *zip(strategy, NAMES, strict=True)]


def test_producers_may_be_rolled_out_before_the_brokers() -> None:
    producers, strategy = [(1_040, "producer 1"), (1_050, "producer 2")], [3_001, 3_002, 3_003]

    assert upgraded("producers_first") == [*producers, *zip(strategy, NAMES, strict=True)]


def test_with_the_strategy_first_a_broker_has_it_as_soon_as_it_has_the_software() -> None:
    producers, strategy = [(3_040, "producer 1"), (3_050, "producer 2")], [2_010, 2_020, 2_030]

    assert upgraded("strategy_first") == [*zip(strategy, NAMES, strict=True), *producers]


def test_a_rollback_takes_the_strategy_back_from_one_broker_after_the_other() -> None:
    back = [(3_501, "r1"), (3_502, "r2"), (3_503, "r3")]

    assert upgraded("rolled_back") == [*upgraded("brokers_first"), *back]


def test_a_whole_rollback_has_the_topic_and_the_producers_one_after_the_other() -> None:
    """KIP-280 asks for the topic first; the other way round is there to show why."""
    there = upgraded("brokers_first")
    first, second = 3_500, (3_500 + 10_000) // 2
    topic_first = upgraded("topic_back_first")[len(there) :]
    producers_first = upgraded("producers_back_first")[len(there) :]

    assert topic_first == [
        *((first + after, name) for after, name in zip((1, 2, 3), NAMES, strict=True)),
        (second + 20, "producer 1"),
        (second + 25, "producer 2"),
    ]
    assert producers_first == [
        (first + 20, "producer 1"),
        (first + 25, "producer 2"),
        *((second + after, name) for after, name in zip((1, 2, 3), NAMES, strict=True)),
    ]


def test_a_replica_that_joins_is_upgraded_with_the_first() -> None:
    joins = AddReplica(500, "r4")

    assert [at_ms for at_ms, who in upgraded("strategy_first", joins) if who == "r4"] == [2_010]


def test_an_upgrade_is_drawn_with_the_environment_and_ends_with_the_run() -> None:
    mix = Mix(upgrade=1.0)
    cases = [generate(seed, mix) for seed in range(20)]

    for case in cases:
        for rollout in RULES["rollout"].values:
            rules = settings_from({"strategy": "header", "rollout": rollout})
            found = changes_of(case.with_rules(rules))
            assert all(0 <= one.at_ms < case.duration_ms for one in found)
            promised_in_the_end = "offset" if "back" in str(rollout) else "header"
            assert promise_of(case.with_rules(rules)).rules.cleaner.strategy == promised_in_the_end
    assert len({environment_digest(case) for case in cases}) == len(cases)
    assert all(generate(seed, Mix()).rollout is None for seed in range(20))
    assert generate(3, mix).faults == generate(3, Mix()).faults
