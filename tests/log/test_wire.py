"""Sizes and timestamps of batches are what Kafka's format 2 makes of them (KIP-98, KIP-534)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from sim.protocol.log import Batch, Control, Record, control_batch, data_batch
from sim.protocol.log.record import BATCH_HEADER_BYTES, CONTROL_RECORD_BYTES, varint_bytes
from sim.simulate.partition.segments import Detail, stored_in
from tests.log.wire import HEADER_BYTES, encode

TIMES = st.one_of(
    st.integers(-1, 300), st.sampled_from([1_700_000_000_000, 2**40, 2**62]), st.integers(0, 2**41)
)
TEXTS = st.one_of(st.none(), st.text(max_size=3), st.integers(60, 70).map(lambda n: "é" * n))


def decode(packed: bytes) -> Batch:
    """The batch as a broker's file would be read, without what KIP-87 adds to it."""
    return stored_in(packed, 0, Detail.WHOLE, frozenset()).batch


def readable(batch: Batch) -> Batch:
    """What can be read back: an emptied control batch does not say of which kind it is."""
    control = Control.COMMIT if batch.control and not batch.records else batch.control
    if control is Control.SNAPSHOT:
        control = Control.LEADER_CHANGE  # both end no transaction
    records = [
        replace(one, uid=one.offset + 1, flagged=one.value is None and control is None)
        for one in batch.records
    ]
    return replace(batch, records=tuple(records), control=control)


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Batches of records near and far apart in offset and in time, with and without headers."""
    base = draw(st.sampled_from([0, 5, 2**40]))
    deltas = draw(
        st.lists(
            st.one_of(st.integers(0, 200), st.integers(8_000, 8_300), st.just(2**31 - 1)),
            min_size=1,
            max_size=4,
            unique=True,
        )
    )
    header = st.tuples(st.text(max_size=2), st.binary(max_size=70))
    many = st.sampled_from([0, 0, 1, 63, 64])
    return data_batch(
        tuple(
            Record(
                base + delta,
                draw(TEXTS),
                draw(TEXTS),
                draw(TIMES),
                tuple([draw(header)] * draw(many)),
                draw(st.booleans()),
            )
            for delta in sorted(deltas)
        ),
        epoch=draw(st.integers(-1, 9)),
        producer_id=draw(st.integers(-1, 2**40)),
        producer_epoch=draw(st.integers(-1, 2**15 - 1)),
        base_sequence=draw(st.integers(-1, 2**31 - 1)),
        transactional=draw(st.booleans()),
    )


@settings(max_examples=40)
@given(batches(), st.data())
def test_a_batch_has_the_size_of_its_bytes_and_reads_back_rebuilt_or_not(
    batch: Batch, data: st.DataObject
) -> None:
    kept = data.draw(st.sets(st.sampled_from(batch.records), min_size=1))
    records = tuple(record for record in batch.records if record in kept)
    rebuilt = batch.rebuilt(records, data.draw(st.one_of(st.none(), st.integers(0, 2**62))))

    for made in (batch, rebuilt):
        assert made.size_bytes == len(encode(made))
        read = decode(encode(made))
        assert read == readable(made)
    assert rebuilt.records == records
    assert rebuilt.timestamp_ms == max(record.timestamp_ms for record in records)


@given(batches(), st.integers(0, 2**41))
def test_an_emptied_batch_is_a_header_that_says_all_but_its_horizon(
    batch: Batch, horizon: int
) -> None:
    empty = replace(batch, delete_horizon_ms=horizon).emptied()

    assert empty.size_bytes == len(encode(empty)) == HEADER_BYTES == BATCH_HEADER_BYTES
    assert decode(encode(empty)) == empty
    assert empty == replace(batch, records=(), size_bytes=61, delete_horizon_ms=None)


@pytest.mark.parametrize("control", Control)
@given(timestamp_ms=TIMES, horizon=st.one_of(st.none(), st.integers(0, 2**41)))
def test_a_control_batch_has_the_size_of_its_bytes_with_and_without_a_horizon(
    control: Control, timestamp_ms: int, horizon: int | None
) -> None:
    marker = control_batch(
        3, epoch=1, control=control, timestamp_ms=timestamp_ms, producer_id=7, producer_epoch=0
    )
    rebuilt = marker.rebuilt(marker.records, horizon)

    assert marker.size_bytes == len(encode(marker)) == BATCH_HEADER_BYTES + CONTROL_RECORD_BYTES
    assert rebuilt.size_bytes == len(encode(rebuilt))
    assert decode(encode(rebuilt)) == readable(rebuilt)
    assert readable(marker.emptied()) == decode(encode(marker.emptied()))


@pytest.mark.parametrize(
    ("number", "size"),
    [(0, 1), (-1, 1), (63, 1), (-64, 1), (64, 2), (-65, 2), (8191, 2), (8192, 3), (2**31 - 1, 5)],
)
def test_a_variable_length_integer_grows_with_its_distance_from_zero(
    number: int, size: int
) -> None:
    assert varint_bytes(number) == size
