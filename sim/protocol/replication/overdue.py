"""What a broker does not act on, of what comes late on a connection that its sender gave up.

Most requests say themselves whether they are out of date: a produce request by its sequence number
and epoch, a marker by its epoch, a vote by its epoch, OffsetsForLeaderEpoch and FetchSnapshot by
the leader epoch they were sent in. A fetch says it by two more things, which matter only here,
since of fetches in order none is older than what the leader knows of its follower.
"""

from __future__ import annotations

from typing import Any

from sim.protocol.replication.messages import FetchRequest
from sim.protocol.replication.replica import Replica
from sim.protocol.rules.rules import Rules


def is_refused(replica: Replica, message: Any, *, rules: Rules) -> bool:
    """Whether a message that comes late is refused for the leader epoch that it was sent in.

    A fetch of an older epoch is told FENCED_LEADER_EPOCH (Partition.checkCurrentLeaderEpoch,
    KafkaRaftClient.validateLeaderOnlyRequest), which nobody waits for. One in time is answered
    here: that is how a follower learns of the epoch.
    """
    leadership = replica.leadership
    return (
        isinstance(message, FetchRequest)
        and leadership is not None
        and rules.replication.fencing
        and message.epoch < leadership.epoch
    )


def is_of_an_older_session(
    request: FetchRequest, *, newest: int, replica_epoch: int, rules: Rules
) -> bool:
    """Whether a late fetch belongs to a fetch session that its follower has begun anew since.

    Then its session epoch is not the next one, and it is told INVALID_FETCH_SESSION_EPOCH, or that
    there is no such session (KIP-227, FetchManager.newContext). `newest` is the highest number of
    a fetch that the leader has from the follower's life `replica_epoch`. Voters of a quorum fetch
    without sessions: what they ask is believed however late (LeaderState.updateReplicaState).
    """
    return (
        rules.replication.commit == "isr"
        and request.replica_epoch == replica_epoch
        and request.correlation_id <= newest
    )
