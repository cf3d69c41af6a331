"""How long voters wait for their leader, a leader for its voters, and candidates for each other."""

from __future__ import annotations

from typing import NamedTuple

from sim.scenario.model import Timers

CHECK_QUORUM_FACTOR = 1.5
"""A leader without fetches from a majority for so many fetch timeouts resigns (LeaderState)."""


class Timeouts(NamedTuple):
    """Times in ms.

    Attributes:
        election_ms: Range of the election timeout, drawn anew each time.
        wait_ms: How much longer a follower waits: no word is due before a waiting fetch ends.
        loyal_ms: After the last word of a leader nobody else gets a pre-vote for so long.
        check_quorum_ms: A voter that was not heard for so long does not count for the leader.
        half_ms: How often a leader looks.
    """

    election_ms: tuple[int, int]
    wait_ms: int
    loyal_ms: int
    check_quorum_ms: int
    half_ms: int


def timeouts_of(timers: Timers) -> Timeouts:
    """The timeouts that follow from a cluster's timers."""
    lowest_ms, highest_ms = timers.election_timeout_ms
    fetch_timeout_ms = timers.fetch_wait_ms + highest_ms
    return Timeouts(
        timers.election_timeout_ms,
        timers.fetch_wait_ms,
        timers.fetch_wait_ms + lowest_ms,
        int(CHECK_QUORUM_FACTOR * fetch_timeout_ms),
        max(1, fetch_timeout_ms // 2),
    )
