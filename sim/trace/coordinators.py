"""Coordinators load the state of their partition, and answer by it."""

from __future__ import annotations

from typing import NamedTuple

from sim.log.record import Record


class CoordinatorLoaded(NamedTuple):
    """The leader of `epoch` has replayed its log below `end_offset` (exclusive), and serves.

    It read `snapshot_records` of a snapshot and `log_records` of the log, which took `took_ms`.
    `pending` are the records of transactions that it completes now, since they were decided.
    """

    replica: str
    epoch: int
    end_offset: int
    snapshot_records: int
    log_records: int
    took_ms: int
    pending: tuple[Record, ...] = ()


class CoordinatorAnswered(NamedTuple):
    """The coordinator of `epoch` told a client the state of a key, or why it does not.

    `records` has the record with the state, and is empty if the key has none; `below` is up to
    where it went by its log (exclusive); `error` is NONE or COORDINATOR_LOAD_IN_PROGRESS.
    """

    replica: str
    epoch: int
    client: str
    key: str
    records: tuple[Record, ...]
    below: int
    error: str = "NONE"
