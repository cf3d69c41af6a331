"""A delete horizon in the place of a batch's base timestamp, and the records' deltas to it.

KIP-534 found no room for the horizon in the header of a batch, so it took the base timestamp's. The
timestamps of the records are stored as distances to the base: a cleaner has to write them anew, or
every timestamp moves (rule `horizon_rebase`). Source: MemoryRecords.buildRetainedRecordsInto,
DefaultRecord.readFrom.
"""

from __future__ import annotations

from sim.log import Batch, Record


def with_horizon(
    batch: Batch, records: tuple[Record, ...], horizon_ms: int, *, keeps_deltas: bool
) -> Batch:
    """The batch with those of its `records` that stay, and a delete horizon in ms.

    Args:
        batch: As it was before the pass; not empty.
        records: At least one.
        horizon_ms: The base from now on.
        keeps_deltas: The deltas stay as they are: a record reads as far from the horizon as it was
            from the old base. The maximum timestamp, a field of its own, stays that of the records
            as they were, and the batch does not grow.
    """
    if not keeps_deltas:
        return batch.rebuilt(records, horizon_ms)
    moved_ms = horizon_ms - base_timestamp(batch)
    moved = tuple(
        record._replace(timestamp_ms=record.timestamp_ms + moved_ms) for record in records
    )
    latest_ms = max(record.timestamp_ms for record in records)
    return batch.rebuilt(moved, horizon_ms)._replace(timestamp_ms=latest_ms)


def base_timestamp(batch: Batch) -> int:
    """What the deltas of a batch count from, in ms: its horizon, or else its first record's time.

    A batch that has records; a cleaner that sets no horizon takes the first one it keeps
    (MemoryRecordsBuilder).
    """
    horizon = batch.delete_horizon_ms
    return batch.records[0].timestamp_ms if horizon is None else horizon
