"""Attribute bits: Kafka's own, KIP-87's claim, and clashes that are errors."""

import pytest

from sim.errors import BadInput
from sim.log import Control, Record, control_batch, data_batch
from sim.log.attributes import (
    BATCH_V2,
    DELETE_HORIZON,
    MESSAGE_KIP_87,
    MESSAGE_V1,
    RECORD_WITH_TOMBSTONE,
    TOMBSTONE,
    TRANSACTIONAL,
    BitField,
    attributes_of,
    claim,
    layout,
    pack,
    unpack,
)


def test_the_masks_are_kafkas() -> None:
    """DefaultRecordBatch: 0x07, 0x08, 0x10, 0x20 and 0x40."""
    assert {field.name: field.mask for field in BATCH_V2.fields} == {
        "compression": 0x07,
        "timestamp_type": 0x08,
        "transactional": 0x10,
        "control": 0x20,
        "delete_horizon": 0x40,
    }
    assert BATCH_V2.free() == (7, 8, 9, 10, 11, 12, 13, 14, 15)


def test_bit_5_was_free_when_kip_87_asked_for_it() -> None:
    assert MESSAGE_V1.free() == (4, 5, 6, 7)
    assert pack(MESSAGE_KIP_87, {"tombstone": 1, "timestamp_type": 1}) == 0x28


def test_kip_87_and_the_control_flag_claim_the_same_bit() -> None:
    with pytest.raises(BadInput) as error:
        claim(BATCH_V2, TOMBSTONE)

    assert str(error.value) == (
        "batch of magic 2: tombstone (KIP-87, Proposed Changes) asks for bit 5, but bit 5 is "
        "control (KIP-98); free: 7, 8, 9, 10, 11, 12, 13, 14, 15"
    )


def test_a_claim_that_only_overlaps_is_a_clash_too() -> None:
    wide = BitField("codec", 2, 7, "a proposal")

    with pytest.raises(BadInput, match=r"bits 2-7, but bits 0-2 are compression"):
        claim(BATCH_V2, wide)


def test_a_clash_between_two_proposals_is_found_whichever_comes_first() -> None:
    first, second = BitField("a", 7, 8, "one"), BitField("b", 8, 9, "other")

    for pair in ((first, second), (second, first)):
        with pytest.raises(BadInput, match="asks for bits"):
            layout("field", 16, *pair)


def test_a_name_can_be_claimed_once() -> None:
    with pytest.raises(BadInput, match="KIP-98 has that name at bit 4"):
        claim(BATCH_V2, TRANSACTIONAL._replace(first=9, last=9))


@pytest.mark.parametrize(("first", "last"), [(8, 8), (7, 8), (-1, 0), (5, 4)])
def test_a_claim_outside_the_field_is_refused(first: int, last: int) -> None:
    with pytest.raises(BadInput, match="a range within 0-7"):
        claim(MESSAGE_V1, BitField("far", first, last, "a proposal"))


@pytest.mark.parametrize("attributes", range(0x80))
def test_what_is_packed_is_unpacked(attributes: int) -> None:
    assert pack(BATCH_V2, unpack(BATCH_V2, attributes)) == attributes


def test_a_bit_that_nobody_claims_is_an_error() -> None:
    """A reader that knows no delete horizons must not take one for something else."""
    old = layout("batch before KIP-534", 16, *BATCH_V2.fields[:-1])

    with pytest.raises(BadInput, match=r"0x50 have 0x40 set, which nobody claims"):
        unpack(old, DELETE_HORIZON.mask | TRANSACTIONAL.mask)


def test_a_value_has_to_fit_its_bits() -> None:
    with pytest.raises(BadInput, match="compression is 8; allowed: 0 to 7"):
        pack(BATCH_V2, {"compression": 8})
    with pytest.raises(BadInput, match=r"no field 'tombstone'; allowed: compression"):
        pack(BATCH_V2, {"tombstone": 1})


def test_a_record_has_room_for_the_flag_where_the_batch_has_none() -> None:
    assert unpack(RECORD_WITH_TOMBSTONE, 0x20) == {"tombstone": 1}


def test_attributes_say_what_a_batch_is() -> None:
    data = data_batch((Record(0, "k", "v", 5),), epoch=1)
    marker = control_batch(1, epoch=1, control=Control.ABORT, timestamp_ms=5, producer_id=7)
    change = control_batch(2, epoch=1, control=Control.LEADER_CHANGE, timestamp_ms=5)

    assert attributes_of(data) == 0
    assert attributes_of(data._replace(transactional=True)) == 0x10
    assert attributes_of(data._replace(delete_horizon_ms=9)) == 0x40
    assert attributes_of(marker) == 0x30
    assert attributes_of(marker._replace(delete_horizon_ms=9)) == 0x70
    assert attributes_of(change) == 0x20
