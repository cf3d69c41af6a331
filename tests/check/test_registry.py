"""What is no invariant is not taken for one."""

import pytest

from sim.check import Checker
from sim.check.registry import INVARIANTS, LISTENERS, Invariant, register
from sim.trace import HighWatermarkMoved, ReplicaAdded
from tests.check.events import RULES, cluster


def test_a_method_that_no_event_is_called_like_is_refused() -> None:
    class Deaf(Invariant):
        name = "deaf"

        def on_apended(self, event: object) -> None:
            """Nobody would ever call it."""

    with pytest.raises(ValueError, match=r"Deaf\.on_apended: there is no such event"):
        register(Deaf)

    assert "deaf" not in INVARIANTS


def test_a_name_is_missing_or_taken() -> None:
    class Nameless(Invariant):
        pass

    class Twin(Invariant):
        name = "twin"

    register(Twin)
    try:
        with pytest.raises(ValueError, match="'twin' is registered twice"):
            register(Twin)
        with pytest.raises(ValueError, match="Nameless has no name"):
            register(Nameless)
    finally:
        del INVARIANTS["twin"]


def test_a_law_is_not_handed_events_that_it_does_not_need() -> None:
    heard: list[object] = []

    class Picky(Invariant):
        name = "picky"

        def needs(self, event: type) -> bool:
            return event is HighWatermarkMoved

        def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
            heard.append(event)

        def on_replica_added(self, event: ReplicaAdded) -> None:
            heard.append(event)

    register(Picky)
    try:
        checker = Checker(RULES, ["picky"])
        for event in [*cluster("r1"), moved := HighWatermarkMoved("r1", 0, leading=False)]:
            checker.on(0, event)
    finally:
        del INVARIANTS["picky"]
        for laws in LISTENERS.values():
            laws[:] = [each for each in laws if each[0] != "picky"]

    assert heard == [moved]
