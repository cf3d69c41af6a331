"""KIP-87's formats: a claim for each sentence of its Proposed Changes and its Migration Plan."""

import pytest
from msgspec.structs import replace

from sim.protocol.log import Batch, Control, Record, control_batch, data_batch
from sim.protocol.log.formats import (
    Served,
    is_allowed,
    magic_of,
    serve,
    stored,
)

VALUE = Record(0, "k", "v")
NULL = Record(1, "k", None)
DELETE = Record(2, "k", "deleted by the owner", flagged=True)
PLAIN_DELETE = Record(3, "k", None, flagged=True)


def records_of(served: Served) -> list[Record]:
    """What a reader is given."""
    return [record for batch in served.batches for record in batch.records]


def test_a_null_value_that_is_no_tombstone_is_not_allowed_at_magic_2() -> None:
    assert not is_allowed(NULL, magic=2)
    assert all(is_allowed(record, magic=2) for record in (VALUE, DELETE, PLAIN_DELETE))
    assert is_allowed(NULL, magic=1)


def test_an_old_consumer_loses_the_value_and_the_broker_its_zero_copy() -> None:
    batches = [
        data_batch((VALUE, replace(VALUE, offset=1)), epoch=1),
        data_batch((DELETE, PLAIN_DELETE), epoch=1),
    ]
    served = serve(batches, understood=2, client=2)

    assert [record.value for record in records_of(served)] == ["v", "v", None, None]
    assert served.converted_bytes == sum(batch.size_bytes for batch in batches)
    assert served.values_lost == (2,)


DOWN = Record(2, "k", None, flagged=None)


@pytest.mark.parametrize(
    ("record", "produced", "message_format", "expected"),
    [
        # A broker of the old message format nulls the tombstones of new producers.
        (DELETE, 2, 1, DOWN),
        (DELETE, 2, 2, DELETE),
        # An old producer's null is flagged by a broker of the new message format.
        (NULL, 1, 2, replace(NULL, flagged=True)),
        (NULL, 1, 1, replace(NULL, flagged=None)),
        (VALUE, 2, 1, replace(VALUE, flagged=None)),
    ],
)
def test_what_a_broker_stores_goes_by_both_versions(
    record: Record, produced: int, message_format: int, expected: Record
) -> None:
    assert stored(record, produced=produced, message_format=message_format) == expected


OLD_BATCH = data_batch((replace(VALUE, flagged=None),), epoch=1)
NEW_BATCH = data_batch((DELETE,), epoch=1)
MARKER = control_batch(0, epoch=1, control=Control.COMMIT, timestamp_ms=0)


@pytest.mark.parametrize(
    ("batch", "understood", "client"),
    [
        (NEW_BATCH, 1, 2),
        (NEW_BATCH, 2, 3),
        (NEW_BATCH, 0, 3),
        # Before the message format is raised no consumer costs zero-copy; markers never do.
        (OLD_BATCH, 2, 2),
        (MARKER, 2, 2),
    ],
)
def test_zero_copy_stays_when_the_consumer_knows_what_is_stored(
    batch: Batch, understood: int, client: int
) -> None:
    assert serve([batch], understood=understood, client=client) == Served((batch,), 0, ())


@pytest.mark.parametrize("stored", [(OLD_BATCH, NEW_BATCH), (NEW_BATCH, OLD_BATCH)])
def test_in_a_log_of_both_formats_only_the_newer_batches_are_converted(
    stored: tuple[Batch, Batch],
) -> None:
    served = serve(stored, understood=2, client=2)
    converted = served.batches[stored.index(NEW_BATCH)]

    assert served.converted_bytes == NEW_BATCH.size_bytes
    assert served.batches[stored.index(OLD_BATCH)] is OLD_BATCH
    assert {magic_of(record) for record in records_of(served)} == {1}
    lost = NEW_BATCH.size_bytes - converted.size_bytes
    assert lost == len("deleted by the owner")
