"""A chunk of a snapshot goes from a leader to a follower; a crash may come before the install."""

from __future__ import annotations

from sim.replication import Replica
from sim.replication.replica import crash
from sim.replication.rules import Rules
from sim.replication.snapshot_fetch import (
    answer_fetch_snapshot,
    receive_snapshot_chunk,
    snapshot_request,
)
from sim.trace import Event


def fetch_chunk(
    fetcher: Replica,
    source: Replica,
    *,
    rules: Rules,
    limit: int | None = None,
    crashes: bool = False,
) -> list[Event]:
    """Ask for the next `limit` entries (None = all) and take them, if a snapshot is being fetched.

    With `crashes` the follower goes down after that: before the install, if this chunk was the
    last one.
    """
    events: list[Event] = []
    request = snapshot_request(fetcher, max_entries=limit)
    if request is not None:
        response = answer_fetch_snapshot(source, request, rules=rules)
        events += receive_snapshot_chunk(
            fetcher, response, rules=rules, crash_before_install=crashes
        )
    return events + (crash(fetcher) if crashes else [])
