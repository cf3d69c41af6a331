"""Settings that change during a run: what a file may say, and by what the run is judged."""

from pathlib import Path

from sim.protocol.rules import Rules
from sim.simulate.scenario.derived import promise_of
from sim.simulate.scenario.model import Change, Scenario
from tests.scenario.texts import load

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
