"""How long cleaners pass over what is due, judged on hand-made passes."""

from sim.check import Checker
from sim.check.removal_delays import RemovalDelays
from sim.trace import Event, ReplicaWiped
from tests.check.events import (
    RULES,
    appended,
    batch,
    cleaned,
    cluster,
    committed,
    marker,
    removed,
)

NOTHING = {
    "tombstone_wait_ms": 0,
    "marker_wait_ms": 0,
    "tombstones_waiting": 0,
    "markers_waiting": 0,
}


def waits(*steps: tuple[int, Event], until_ms: int = 10_000) -> dict[str, int]:
    """The counters after a log of k=v, the tombstone of k and a COMMIT has met (ms, event)."""
    checker = Checker(RULES, [])
    delays = RemovalDelays(checker.history, until_ms=until_ms)
    checker.listen(delays.handlers)
    log = appended("r1", batch(0, "k"), batch(1, "k", None), marker(2, 7, commit=True))
    start = [*cluster("r1", "r2"), *log, committed("r1", 3)]
    for at_ms, event in [*[(0, event) for event in start], *steps]:
        delays.now_ms = at_ms
        checker.on(at_ms, event)
    return delays.counters()


def test_a_tombstone_waits_from_its_retention_to_the_last_pass_that_leaves_it() -> None:
    met, early, late = cleaned("r1", 3), cleaned("r1", 3), cleaned("r1", 3)

    assert waits((50, met), (149, early)) == NOTHING
    assert waits((50, met), (400, late)) == NOTHING | {
        "tombstone_wait_ms": 250,
        "tombstones_waiting": 1,
    }


def test_a_pass_that_removes_it_passes_over_nothing() -> None:
    met, gone = cleaned("r1", 3), cleaned("r1", 3, removed(1, "k", "tombstone"))

    assert waits((50, met), (400, gone)) == NOTHING
    assert waits((50, met), (300, met), (400, gone)) == NOTHING | {"tombstone_wait_ms": 150}


def test_a_marker_is_due_after_the_pass_that_gave_it_a_horizon() -> None:
    met, stamped = cleaned("r1", 3), cleaned("r1", 3, horizons=((2, 180),))
    found = waits((0, met), (80, stamped), (200, met))

    assert (found["marker_wait_ms"], found["markers_waiting"]) == (20, 1)


def test_what_is_above_the_pass_is_not_met() -> None:
    assert waits((50, cleaned("r1", 1)), (400, cleaned("r1", 1))) == NOTHING


def test_what_goes_with_the_disk_waits_no_more() -> None:
    wiped = ReplicaWiped("r1", "a new disk")

    assert waits((50, cleaned("r1", 3)), (100, wiped), (400, cleaned("r1", 0))) == NOTHING


def test_passes_after_the_faults_do_not_count() -> None:
    met, late = cleaned("r1", 3), cleaned("r1", 3)

    assert waits((50, met), (400, late), until_ms=400) == NOTHING
