"""The clock: calls, SimPy's own events and processes, and the bound on all of them."""

from collections.abc import Generator
from typing import Any

import pytest
import simpy

from sim.cluster.clock import Clock, EventLimitReached


def test_what_happens_at_one_moment_happens_in_the_order_it_was_scheduled_in() -> None:
    clock, found = Clock(limit=10), []

    def note(*what: Any) -> None:
        found.append((clock.now_ms, *what))

    clock.after(5, note, "b", 1)
    clock.call(5, note, "c")
    clock.after(2, note)
    clock.call(7, note, "late")
    clock.run_until(7)

    assert found == [(2,), (5, "b", 1), (5, "c")]
    assert (clock.now_ms, clock.environment.now, clock.processed) == (7, 7, 3)


@pytest.mark.parametrize("own_loop", [True, False])
def test_processes_of_simpy_run_beside_calls(*, own_loop: bool) -> None:
    clock, found = Clock(limit=100), []

    def process() -> Generator[simpy.Event, Any, None]:
        for _ in range(3):
            yield clock.environment.timeout(10)
            found.append(("process", clock.now_ms))

    clock.environment.process(process())
    clock.call(10, found.append, ("call", 10))
    clock.after(20, found.append, ("call", 20))
    if own_loop:
        clock.run_until(25)
    else:
        clock.environment.run(until=25)

    assert found == [("call", 10), ("process", 10), ("call", 20), ("process", 20)]


def test_an_event_that_fails_and_nobody_waits_for_ends_the_run() -> None:
    clock = Clock(limit=10)
    clock.environment.event().fail(ValueError("lost"))

    with pytest.raises(ValueError, match="lost"):
        clock.run_until(1)


def test_the_clock_stops_before_the_event_that_is_one_too_many() -> None:
    clock, found = Clock(limit=2), []
    for at_ms in (1, 2, 3):
        clock.call(at_ms, found.append, at_ms)

    with pytest.raises(EventLimitReached):
        clock.run_until(10)
    assert found == [1, 2]
    assert clock.processed == 2


def test_an_urgent_event_of_simpy_comes_before_what_is_left_of_its_moment() -> None:
    clock, found = Clock(limit=100), []

    def process(name: str) -> Generator[simpy.Event, Any, None]:
        found.append(name)
        yield clock.environment.timeout(0)
        found.append(f"{name} again")

    def start(*names: str) -> None:
        for name in names:
            clock.environment.process(process(name))

    clock.after(5, start, "a", "b")
    clock.call(5, found.append, "call")
    clock.run_until(6)

    assert found == ["a", "b", "call", "a again", "b again"]


def test_a_clock_that_stopped_at_its_limit_goes_on_with_what_was_next() -> None:
    clock, found = Clock(limit=1), []
    for name in ("a", "b", "c"):
        clock.call(1, found.append, name)

    with pytest.raises(EventLimitReached):
        clock.run_until(10)
    assert clock.environment.peek() == 1
    clock.limit = 10
    clock.environment.step()
    clock.run_until(10)

    assert found == ["a", "b", "c"]
    assert (clock.processed, clock.environment.peek()) == (3, float("inf"))
