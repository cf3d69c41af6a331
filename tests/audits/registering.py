"""Registers all audits, for good or for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sim.check.registry import forget_invariants, registered_invariants
from sim.plugins import forget_observers, observing, register_invariant, register_observer
from tests.audits.acknowledged_committed import AcknowledgedCommitted
from tests.audits.commits_own_epoch import CommitsOwnEpoch
from tests.audits.consumer_continues import ConsumerContinues
from tests.audits.derived import DerivedState
from tests.audits.following import Following
from tests.audits.high_watermark_advances import HighWatermarkAdvances
from tests.audits.law import Law
from tests.audits.observer import Observer
from tests.audits.producer_sequences import ProducerSequences
from tests.audits.second_reading_passes import SecondReading
from tests.audits.state_places import PlacesFollowed
from tests.audits.state_producers import ProducersFollowed
from tests.audits.state_snapshots import SnapshotsFollowed
from tests.audits.transactions_end import TransactionsEnd

LAWS: tuple[type[Law], ...] = (
    AcknowledgedCommitted,
    CommitsOwnEpoch,
    ConsumerContinues,
    HighWatermarkAdvances,
    ProducerSequences,
    TransactionsEnd,
)
FOLLOWING: tuple[type[Following], ...] = (
    SecondReading,
    DerivedState,
    ProducersFollowed,
    PlacesFollowed,
    SnapshotsFollowed,
)
OBSERVED = (
    "answer-true",
    "decision-justified",
    "out-of-date-ignored",
    "restart-finds-disk",
    "sends-in-order",
)
"""Violations that `Observer` alone reports."""
AUDITS = frozenset({*OBSERVED, *[law.name for law in LAWS], *[one.name for one in FOLLOWING]})
"""The names of all violations that audits report."""


def register() -> None:
    """Have every run of this process audited."""
    for law in LAWS:
        register_invariant(law)
    register_observer(Observer)
    for following in FOLLOWING:
        register_observer(following)


@contextmanager
def audited() -> Iterator[None]:
    """Have the runs of a block audited."""
    laws, observers = len(registered_invariants()), len(observing(lambda *_: None))
    register()
    try:
        yield
    finally:
        forget_invariants(laws)
        forget_observers(observers)
