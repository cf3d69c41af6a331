"""Coordinated removal: reports, their minimum, and who may clean how far."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sim.protocol.events import RemovalBoundMoved
from sim.protocol.replication import Replica
from sim.protocol.replication.cleaning import Cleaner, stable_offset
from sim.protocol.replication.coordination import (
    RemovalCoordinator,
    accept_removal_bounds,
    report_of,
    transaction_free_offset,
)
from sim.protocol.replication.messages import RemovalBounds, RemovalReport
from sim.protocol.replication.replica import wipe
from sim.protocol.rules import Rules
from tests.log.producing import data, marker
from tests.replication.replicas import RULES, batch, leading

COORDINATED = Rules.of(tombstone_removal="coordinated")


@given(st.lists(st.sampled_from("dem-"), max_size=6), st.integers(0, 6), st.integers(0, 6))
def test_a_log_is_free_of_transactions_below_the_first_data_of_one_as_far_as_it_is_committed(
    kinds: list[str], high_watermark: int, accepted: int
) -> None:
    """Decided or not, with records or emptied; below a bound that was accepted all is free."""
    replica = Replica("r1")
    for offset, kind in enumerate(kinds):
        made = {"d": data(offset), "e": data(offset).emptied(), "m": marker(offset)}
        replica.log.append(made.get(kind, batch(offset)), now_ms=0)
    replica.log.high_watermark = min(high_watermark, len(kinds))
    accept_removal_bounds(replica, RemovalBounds(0, accepted))
    free = [end for end in range(high_watermark + 1) if {*kinds[:end]}.isdisjoint("de")]

    assert transaction_free_offset(replica) == max(min(max(free), len(kinds)), accepted)


def test_a_pass_moves_the_clean_point_and_what_is_reported() -> None:
    replica = leading(records=3)
    [event] = Cleaner(RULES).run(replica, upper_bound=2, now_ms=0).events

    assert (event.first_dirty_offset, event.upper_bound) == (0, 2)  # type: ignore[union-attr]
    assert (replica.first_dirty_offset, replica.cleanly_compacted_offset) == (2, 2)
    Cleaner(RULES).run(replica, upper_bound=1, now_ms=0)
    assert replica.first_dirty_offset == 2


Round = tuple[dict[str, tuple[int, int]], tuple[str, ...], tuple[int, int] | None]


@pytest.mark.parametrize(
    ("marker_watermark", "rounds"),
    [
        # No bound while one replica has never reported.
        ("shared", [({"r1": (5, 0)}, ("r1", "r2"), None), ({"r2": (3, 0)}, ("r1", "r2"), (3, 3))]),
        # Who joined has to report; who left is not waited for.
        (
            "shared",
            [
                ({"r1": (3, 0), "r2": (3, 0)}, ("r1", "r2"), (3, 3)),
                ({"r1": (9, 0), "r2": (8, 0)}, ("r1", "r2", "r3"), None),
                ({}, ("r1", "r2"), (8, 8)),
                # It never falls.
                ({"r2": (0, 0)}, ("r1", "r2"), (8, 8)),
            ],
        ),
        # Markers of their own watermark go by the transaction-free offsets.
        (
            "own",
            [
                ({"r1": (9, 4), "r2": (5, 7)}, ("r1", "r2"), (5, 4)),
                ({"r1": (9, 1)}, ("r1", "r2"), (5, 4)),
            ],
        ),
    ],
)
def test_the_bound_is_the_minimum_of_the_last_reports_of_all_members(
    marker_watermark: str, rounds: list[Round]
) -> None:
    rules = COORDINATED.with_values({"marker_watermark": marker_watermark})
    coordinator = RemovalCoordinator()
    for reports, members, bounds in rounds:
        for name, (compacted, free) in reports.items():
            coordinator.report(name, RemovalReport(1, compacted, free))
        found = coordinator.advance(dict.fromkeys(members, 1), rules=rules)
        assert found == (None if bounds is None else RemovalBounds(*bounds))


@pytest.mark.parametrize(("rule", "bounds"), [("kept", (3, 3)), ("dropped", None)])
def test_what_was_said_of_a_lost_disk_counts_or_not(
    rule: str, bounds: tuple[int, int] | None
) -> None:
    coordinator, replica = RemovalCoordinator(), Replica("r1")
    coordinator.report("r1", replace(report_of(replica), cleanly_compacted_offset=3))
    wipe(replica, reason="a new disk")
    rules = COORDINATED.with_values({"lost_disk_report": rule})

    found = coordinator.advance({"r1": replica.disk}, rules=rules)
    assert found == (None if bounds is None else RemovalBounds(*bounds))


def test_an_accepted_bound_never_falls_and_what_is_below_it_counts_as_clean() -> None:
    replica = Replica("r1")
    said = [(4, 3), (2, 3), (2, 5)]
    told = [accept_removal_bounds(replica, RemovalBounds(*bounds)) for bounds in said]

    assert told == [[RemovalBoundMoved("r1", 4, 3)], [], [RemovalBoundMoved("r1", 4, 5)]]
    assert (replica.removal_bound, replica.cleanly_compacted_offset) == (4, 4)


def test_the_stable_offset_is_the_watermark_or_the_log_end_but_below_an_open_transaction() -> None:
    replica = leading(records=3, isr=("r1", "r2"))
    to_the_end = RULES.with_values({"cleaner_bound": "leo"})
    assert [stable_offset(replica, rules=rules) for rules in (RULES, to_the_end)] == [0, 3]

    replica.log.append(replace(batch(3), producer_id=7, transactional=True), now_ms=0)
    replica.log.append(batch(4), now_ms=0)
    replica.log.high_watermark = 5
    assert stable_offset(replica, rules=RULES) == 3
