"""A chunk of a snapshot goes from a leader to a follower; a crash may come before the install."""

from __future__ import annotations

from sim.replication import Replica
from sim.replication.messages import FetchSnapshotResponse
from sim.replication.replica import crash
from sim.replication.snapshot_fetch import (
    answer_fetch_snapshot,
    receive_snapshot_chunk,
    snapshot_request,
)
from sim.rules.rules import Rules
from sim.trace import Event


def ask_chunk(
    fetcher: Replica, source: Replica, *, rules: Rules, limit: int | None = None
) -> FetchSnapshotResponse | None:
    """The answer to a request for the next `limit` entries (None = all).

    None where no snapshot is being fetched.
    """
    request = snapshot_request(fetcher, max_entries=limit)
    return None if request is None else answer_fetch_snapshot(source, request, rules=rules)


def take_chunk(
    fetcher: Replica,
    response: FetchSnapshotResponse | None,
    *,
    rules: Rules,
    crashes: bool = False,
) -> list[Event]:
    """Take an answer, if there is one.

    With `crashes` the follower goes down after that: before the install, if this chunk was the
    last one.
    """
    events: list[Event] = []
    if response is not None:
        events += receive_snapshot_chunk(
            fetcher, response, rules=rules, crash_before_install=crashes
        )
    return events + (crash(fetcher) if crashes else [])
