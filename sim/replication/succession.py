"""Who follows a leader that resigns, and how long each waits (EndQuorumEpoch, KIP-595)."""

from __future__ import annotations

from collections.abc import Sequence

from sim.replication.replica import Leadership


def successors(leadership: Leadership, leader: str, preferred: str) -> list[str]:
    """The other voters by how far they have fetched, the farthest first.

    Among equals `preferred` comes first, then the order of the voters
    (LeaderState.nonLeaderVotersByDescendingFetchOffset).
    """
    others = [name for name in leadership.voters if name != leader]
    positions = leadership.positions
    return sorted(others, key=lambda name: (-positions.get(name, -1), name != preferred))


def waits(heirs: Sequence[str], longest_ms: int) -> list[tuple[str, int]]:
    """Each successor and how many ms it waits before it stands for election.

    The first one does not wait, each later one twice as long as the one before it, none longer
    than `longest_ms` (KafkaRaftClient.strictExponentialElectionBackoffMs).
    """
    shortest_ms = longest_ms >> max(0, len(heirs) - 1)
    return [
        (name, min(longest_ms, shortest_ms << (place - 1)) if place else 0)
        for place, name in enumerate(heirs)
    ]
