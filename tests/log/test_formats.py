"""KIP-87's formats: a claim for each sentence of its Proposed Changes and its Migration Plan."""

import pytest

from sim.compaction import TOMBSTONE_MARKS
from sim.errors import BadInput
from sim.log import Control, Record, control_batch, data_batch
from sim.log.formats import (
    Served,
    check_allowed,
    down_convert,
    magic_of,
    produced,
    serve,
    stored,
    up_convert,
)

BY_VALUE, BY_FLAG = TOMBSTONE_MARKS["null_value"], TOMBSTONE_MARKS["flag"]
VALUE = Record(0, "k", "v")
NULL = Record(1, "k", None)
DELETE = Record(2, "k", "deleted by the owner", flagged=True)
PLAIN_DELETE = Record(3, "k", None, flagged=True)


def records_of(served: Served) -> list[Record]:
    """What a reader is given."""
    return [record for batch in served.batches for record in batch.records]


def test_before_magic_2_the_null_value_is_used_for_compaction() -> None:
    assert [BY_VALUE(r) for r in (VALUE, NULL, DELETE, PLAIN_DELETE)] == [
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("mark", ["flag", "magic"])
def test_at_magic_2_the_tombstone_bit_is_used_for_compaction(mark: str) -> None:
    assert [TOMBSTONE_MARKS[mark](r) for r in (VALUE, NULL, DELETE, PLAIN_DELETE)] == [
        False,
        False,
        True,
        True,
    ]


def test_a_null_value_that_is_no_tombstone_is_not_allowed_at_magic_2() -> None:
    with pytest.raises(BadInput, match="'k': a null value without the tombstone flag"):
        check_allowed(NULL, magic=2)
    for record in (VALUE, DELETE, PLAIN_DELETE):
        check_allowed(record, magic=2)
    check_allowed(NULL, magic=1)


def test_down_conversion_makes_a_tombstones_value_null() -> None:
    assert down_convert(DELETE) == Record(2, "k", None, flagged=None)
    assert down_convert(VALUE) == VALUE._replace(flagged=None)


def test_a_delete_stays_a_delete_both_ways() -> None:
    for record in (VALUE, DELETE, PLAIN_DELETE):
        down = down_convert(record)
        assert BY_VALUE(down) == BY_FLAG(record)
        assert BY_FLAG(up_convert(down)) == BY_FLAG(record)


def test_a_value_lost_on_the_way_down_does_not_come_back() -> None:
    assert up_convert(down_convert(DELETE)) == DELETE._replace(value=None)


def test_a_broker_of_the_old_message_format_nulls_the_tombstones_of_new_producers() -> None:
    assert stored(DELETE, produced=2, message_format=1) == Record(2, "k", None, flagged=None)
    assert stored(DELETE, produced=2, message_format=2) == DELETE


def test_an_old_producers_null_is_flagged_by_a_broker_of_the_new_message_format() -> None:
    assert stored(NULL, produced=1, message_format=2) == NULL._replace(flagged=True)
    assert stored(NULL, produced=1, message_format=1) == NULL._replace(flagged=None)


def test_what_is_not_allowed_is_not_stored() -> None:
    with pytest.raises(BadInput):
        stored(NULL, produced=2, message_format=2)


def test_an_old_consumer_loses_the_value_and_the_broker_its_zero_copy() -> None:
    batches = [
        data_batch((VALUE, VALUE._replace(offset=1)), epoch=1),
        data_batch((DELETE, PLAIN_DELETE), epoch=1),
    ]
    served = serve(batches, understood=2, client=2)

    assert [record.value for record in records_of(served)] == ["v", "v", None, None]
    assert served.converted_bytes == sum(batch.size_bytes for batch in batches)
    assert served.values_lost == (2,)


@pytest.mark.parametrize(("understood", "client"), [(1, 2), (1, 3), (2, 3), (0, 3)])
def test_zero_copy_stays_when_the_consumer_knows_what_the_broker_knows(
    understood: int, client: int
) -> None:
    batch = data_batch((DELETE,), epoch=1)

    assert serve([batch], understood=understood, client=client) == ((batch,), 0, ())


def test_before_the_message_format_is_raised_no_consumer_costs_zero_copy() -> None:
    old = data_batch((VALUE._replace(flagged=None),), epoch=1)

    assert serve([old], understood=2, client=2) == ((old,), 0, ())


def test_in_a_log_of_both_formats_only_the_newer_batches_are_converted() -> None:
    old = data_batch((VALUE._replace(flagged=None),), epoch=1)
    new = data_batch((Record(1, "k", "v"),), epoch=1)
    served = serve([old, new], understood=2, client=2)

    assert served.converted_bytes == new.size_bytes
    assert served.batches[0] is old
    assert {magic_of(record) for record in records_of(served)} == {1}


def test_markers_are_alike_in_every_format() -> None:
    marker = control_batch(0, epoch=1, control=Control.COMMIT, timestamp_ms=0)

    assert serve([marker], understood=2, client=2) == ((marker,), 0, ())


def test_a_producer_of_version_2_has_no_flag_and_deletes_by_null() -> None:
    assert produced(DELETE, client=2) == Record(2, "k", None, flagged=None)
    assert produced(DELETE, client=3) == DELETE


def test_conversion_makes_a_batch_smaller_by_the_values_it_loses() -> None:
    lossy, lossless = data_batch((DELETE,), epoch=1), data_batch((VALUE,), epoch=1)

    served = serve([lossy, lossless], understood=2, client=2).batches

    assert lossy.size_bytes - served[0].size_bytes == len("deleted by the owner")
    assert served[1].size_bytes == lossless.size_bytes


def test_a_topic_that_is_not_compacted_keeps_and_shows_the_flag() -> None:
    """What is stored does not depend on the topic's clean-up, and a reader asks the record."""
    kept = stored(DELETE, produced=2, message_format=2)

    assert (kept.value, BY_FLAG(kept)) == ("deleted by the owner", True)


def test_unknown_formats_and_clients_are_refused() -> None:
    with pytest.raises(BadInput, match="magic 3; allowed: 0, 1, 2"):
        stored(VALUE, produced=3, message_format=2)
    with pytest.raises(BadInput, match="version 4; allowed: 2, 3"):
        serve([], understood=2, client=4)
