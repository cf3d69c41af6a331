"""An observer of a user sees messages and events, and what it reports is a violation."""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import sim
from sim.check.registry import INVARIANTS
from sim.plugins import Report, forget_observers, load_plugins, register_observer
from sim.protocol.events import Event, LeaderElected
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.file.load import load_scenario
from tests.commands import TIMED
from tests.plugins.plugged import folder, forgetting_plugins, replog

__all__ = ["folder"]

MODULE = """
from sim.plugins import register_observer
from tests.commands import SCENARIOS, TIMED


@register_observer
class Election:
    def __init__(self, cluster, report):
        self.report = report

    def over(self, address, receive):
        return receive

    def after(self, at_ms, events):
        for event in events:
            if type(event).__name__ == "LeaderElected" and event.epoch > 1:
                said = f"{event.replica} leads epoch {event.epoch} at {at_ms} ms."
                self.report("one-leader-is-enough", said, event.replica, None)
"""


class Watching:
    """Counts messages by address, and reports elections."""

    def __init__(self, cluster: Any, report: Report) -> None:
        self.cluster, self.report = cluster, report
        self.messages: dict[str, int] = {}

    def over(self, address: str, receive: Callable[[Any], None]) -> Callable[[Any], None]:
        def take(message: Any) -> None:
            self.messages[address] = self.messages.get(address, 0) + 1
            receive(message)

        return take

    def after(self, at_ms: int, events: Iterable[Event]) -> None:
        assert at_ms == self.cluster.context.now_ms
        for event in events:
            if isinstance(event, LeaderElected):
                self.report("an-election", f"{event.replica} leads.", event.replica, None)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test registers is gone after it."""
    yield
    forget_observers(0)


def test_an_observer_sees_messages_and_changes_no_digest() -> None:
    made: list[Watching] = []
    before = sim.run(TIMED)

    @register_observer
    def watch(cluster: Any, report: Report) -> Watching:
        made.append(Watching(cluster, report))
        return made[-1]

    after = sim.run(TIMED)

    assert after.digest == before.digest
    assert {"controller", "r1"} <= made[0].messages.keys() <= {"controller", *made[0].cluster.nodes}
    assert "an-election" not in INVARIANTS


def test_what_it_reports_is_judged_in_the_order_of_the_run() -> None:
    register_observer(Watching)
    run = run_scenario(load_scenario(TIMED), keep_events=True)
    found, kept = run.violations, reversed(run.events)
    elected = {event.replica: at for at, event in kept if isinstance(event, LeaderElected)}

    assert {one.replica: one.at for one in found if one.invariant == "an-election"} == elected
    assert [one.position for one in found] == sorted(one.position for one in found)


def test_a_plugin_of_an_observer_alone_is_one(folder: Path) -> None:
    (folder / "watching.py").write_text(MODULE)
    told = replog(folder, "run", TIMED, "--plugin", "watching")

    assert told.status == 1
    assert "one-leader-is-enough" in told.out


def test_a_plugin_of_an_observer_may_have_been_imported_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "seen.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    with forgetting_plugins():
        import_module("seen")
        load_plugins(["seen"])
