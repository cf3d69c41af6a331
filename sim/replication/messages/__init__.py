"""What replicas, clients and the controller say to each other, by Kafka's own names.

A message is an immutable value: it holds no replica, no log and no function. Whoever gets one knows
no more of its sender than it says.
"""

from sim.replication.messages.consume import ConsumerFetchRequest, ConsumerFetchResponse
from sim.replication.messages.controller import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    LeaderAndIsrRequest,
    PartitionState,
)
from sim.replication.messages.coordinate import CoordinatorRequest, CoordinatorResponse
from sim.replication.messages.errors import NO_ERROR, ErrorCode
from sim.replication.messages.fetch import (
    RECORDS,
    Answer,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
    SnapshotId,
)
from sim.replication.messages.produce import (
    ACKS_ALL,
    ACKS_LEADER,
    ProduceRequest,
    ProduceResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from sim.replication.messages.quorum import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    VoteRequest,
    VoteResponse,
)
from sim.replication.messages.removal import (
    RemovalBounds,
    RemovalBoundsRequest,
    RemovalBoundsResponse,
    RemovalReport,
)
