"""Late messages of a closed connection that a broker refuses.

Most requests show by themselves that they are out of date: a produce request by its sequence number
and epoch, a marker by its epoch, a vote by its epoch, OffsetsForLeaderEpoch and FetchSnapshot by
the leader epoch they were sent in. A fetch shows it by two more fields, which matter only here:
fetches in order are never older than what the leader knows of its follower.
"""

from __future__ import annotations

from sim.protocol.replication.messages import FetchRequest
from sim.protocol.rules.rules import Rules


def is_of_an_older_session(
    request: FetchRequest, *, newest: int, replica_epoch: int, rules: Rules
) -> bool:
    """Decides whether a late fetch belongs to a fetch session that its follower has replaced.

    Then its session epoch is not the next one, and it gets INVALID_FETCH_SESSION_EPOCH, or an
    unknown session (KIP-227, FetchManager.newContext). `newest` is the highest number of a fetch
    that the leader has from the follower with broker epoch `replica_epoch`. Voters of a quorum
    fetch without sessions: their positions count however late (LeaderState.updateReplicaState).
    """
    return (
        rules.replication.commit == "isr"
        and request.replica_epoch == replica_epoch
        and request.correlation_id <= newest
    )
