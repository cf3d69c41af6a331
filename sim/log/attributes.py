"""The attribute bits of Kafka's record formats: who has which, and two claims to one are an error.

Magic 0 and 1, `attributes` of a message, 8 bits. Magic 2, `attributes` of a batch, 16 bits, and of
each record in it, 8 bits:

| bits | message, magic 0 and 1  | batch, magic 2           | record, magic 2 |
|------|-------------------------|--------------------------|-----------------|
| 0-2  | compression             | compression              | free            |
| 3    | timestamp type (KIP-32) | timestamp type (KIP-32)  | free            |
| 4    | free                    | transactional (KIP-98)   | free            |
| 5    | free; KIP-87 asks       | control (KIP-98)         | free            |
| 6    | free                    | delete horizon (KIP-534) | free            |
| 7    | free                    | free                     | free            |
| 8-15 | -                       | free                     | -               |

Sources: DefaultRecordBatch (ATTRIBUTES_OFFSET and the masks), DefaultRecord.writeTo, LegacyRecord.
KIP-87 asked for bit 5 of a message while it was free, at a magic 2 that was to differ from magic 1
by that bit alone. The magic 2 that came (KIP-98) gave the bit of that number to control batches. A
tombstone is one record's, so the flag would now stand in the record's own attributes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sim.errors import BadInput
from sim.log.record import Batch


class BitField(NamedTuple):
    """A claim to bits of an attributes field.

    Attributes:
        name: What the bits say.
        first: Lowest bit (inclusive, from 0).
        last: Highest bit (inclusive).
        source: Who claims them.
    """

    name: str
    first: int
    last: int
    source: str

    @property
    def mask(self) -> int:
        """The bits themselves."""
        return (1 << (self.last + 1)) - (1 << self.first)

    @property
    def bits(self) -> str:
        """`bit 5` or `bits 0-2`."""
        return f"bit {self.first}" if self.first == self.last else f"bits {self.first}-{self.last}"


class Layout(NamedTuple):
    """An attributes field and what its bits mean; made by `layout`.

    Attributes:
        name: Where the field stands.
        width: Its size in bits.
        fields: The claims, none of which overlap.
    """

    name: str
    width: int
    fields: tuple[BitField, ...]

    def free(self) -> tuple[int, ...]:
        """Bits nobody claims, lowest first."""
        taken = sum(field.mask for field in self.fields)
        return tuple(bit for bit in range(self.width) if not taken >> bit & 1)


def layout(name: str, width: int, *fields: BitField) -> Layout:
    """A layout of `width` bits with these claims.

    Raises:
        BadInput: Two claims share a bit or a name, or one is outside the field.
    """
    made = Layout(name, width, ())
    for field in fields:
        made = claim(made, field)
    return made


def claim(current: Layout, field: BitField) -> Layout:
    """`current` with one claim more: what a proposal for a new attribute asks for.

    Raises:
        BadInput: The bits or the name are taken, or the bits are outside the field; says by whom
            and which bits are free.
    """
    free = ", ".join(str(bit) for bit in current.free()) or "none"
    asked = f"{current.name}: {field.name} ({field.source}) asks for {field.bits}"
    if not 0 <= field.first <= field.last < current.width:
        raise BadInput(f"{asked} of {current.width}; allowed: a range within 0-{current.width - 1}")
    for other in current.fields:
        if other.mask & field.mask:
            taken = f"{other.bits} {'is' if other.first == other.last else 'are'}"
            raise BadInput(f"{asked}, but {taken} {other.name} ({other.source}); free: {free}")
        if other.name == field.name:
            raise BadInput(f"{asked}, but {other.source} has that name at {other.bits}")
    return current._replace(fields=(*current.fields, field))


def pack(current: Layout, values: Mapping[str, int]) -> int:
    """The attributes with these values; fields that are not given are 0.

    Raises:
        BadInput: There is no such field, or a value does not fit into its bits.
    """
    known = {field.name: field for field in current.fields}
    attributes = 0
    for name, value in values.items():
        if name not in known:
            raise BadInput(f"{current.name}: no field {name!r}; allowed: {', '.join(known)}")
        field = known[name]
        most = field.mask >> field.first
        if not 0 <= value <= most:
            raise BadInput(f"{current.name}: {name} is {value}; allowed: 0 to {most}")
        attributes |= value << field.first
    return attributes


def unpack(current: Layout, attributes: int) -> dict[str, int]:
    """The value of every field.

    Raises:
        BadInput: A bit is set that nobody claims: the data are newer than the layout.
    """
    unknown = attributes & ~sum(field.mask for field in current.fields)
    if unknown:
        known = ", ".join(f"{field.name} ({field.bits})" for field in current.fields) or "none"
        raise BadInput(
            f"{current.name}: attributes {attributes:#x} have {unknown:#x} set, which nobody "
            f"claims; known: {known}"
        )
    return {field.name: (attributes & field.mask) >> field.first for field in current.fields}


COMPRESSION = BitField("compression", 0, 2, "CompressionType")
TIMESTAMP_TYPE = BitField("timestamp_type", 3, 3, "KIP-32")
TRANSACTIONAL = BitField("transactional", 4, 4, "KIP-98")
CONTROL = BitField("control", 5, 5, "KIP-98")
DELETE_HORIZON = BitField("delete_horizon", 6, 6, "KIP-534")
TOMBSTONE = BitField("tombstone", 5, 5, "KIP-87, Proposed Changes")

MESSAGE_V1 = layout("message of magic 1", 8, COMPRESSION, TIMESTAMP_TYPE)
"""What KIP-87 set out from. Magic 0 has no timestamp type."""

MESSAGE_KIP_87 = claim(MESSAGE_V1._replace(name="message of KIP-87's magic 2"), TOMBSTONE)
"""What KIP-87 asked for."""

BATCH_V2 = layout(
    "batch of magic 2", 16, COMPRESSION, TIMESTAMP_TYPE, TRANSACTIONAL, CONTROL, DELETE_HORIZON
)
"""What Kafka has: no room for KIP-87's bit 5."""

RECORD_V2 = layout("record of magic 2", 8)
"""What Kafka has in each record: nothing is claimed yet."""

RECORD_WITH_TOMBSTONE = claim(RECORD_V2, TOMBSTONE)
"""Where the flag of KIP-87 has room today; `Record.flagged` stands for it."""


def attributes_of(batch: Batch) -> int:
    """The attributes of an uncompressed batch with create times, as Kafka writes them."""
    return pack(
        BATCH_V2,
        {
            "transactional": batch.transactional,
            "control": batch.control is not None,
            "delete_horizon": batch.delete_horizon_ms is not None,
        },
    )
