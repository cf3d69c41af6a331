"""Coordinated removal: what a replica reports, and which bounds it takes over.

Their minimum over all reports: stories of `scenarios/kip630`, and `tests/cluster/test_removal.py`.
"""

from hypothesis import given
from hypothesis import strategies as st

from sim.protocol.events import RemovalBoundMoved
from sim.protocol.replication import Replica
from sim.protocol.replication.cleaning import Cleaner
from sim.protocol.replication.coordination import (
    accept_removal_bounds,
    transaction_free_offset,
)
from sim.protocol.replication.messages import RemovalBounds
from tests.log.producing import data, marker
from tests.replication.replicas import RULES, batch, leading


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


def test_an_accepted_bound_never_falls_and_what_is_below_it_counts_as_clean() -> None:
    replica = Replica("r1")
    said = [(4, 3), (2, 3), (2, 5)]
    told = [accept_removal_bounds(replica, RemovalBounds(*bounds)) for bounds in said]

    assert told == [[RemovalBoundMoved("r1", 4, 3)], [], [RemovalBoundMoved("r1", 4, 5)]]
    assert (replica.removal_bound, replica.cleanly_compacted_offset) == (4, 4)
