"""What a consumer is given of the records that a replica holds."""

from __future__ import annotations

from collections.abc import Sequence

from sim.compaction.tombstones import without_record_horizon
from sim.log import Record
from sim.replication.rules import Rules


def as_read(records: Sequence[Record], *, rules: Rules) -> tuple[Record, ...]:
    """The records as a reader sees them: the cleaner's own header is taken off, if it is hidden."""
    if rules.tombstone_removal != "record_horizon" or rules.horizon_header == "visible":
        return tuple(records)
    return tuple(without_record_horizon(record) for record in records)
