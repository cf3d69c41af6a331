"""The vocabulary of events: everything that the core reports.

Checks, counters, timelines, saved traces and digests all read these and nothing else. Every event
names its replica first. Times are not part of an event: the recorder adds them.
"""

from __future__ import annotations

from typing import Final, get_args

from sim.protocol.events.cleaning import *
from sim.protocol.events.cluster import *
from sim.protocol.events.logs import *

Event = (
    ReplicaAdded
    | ReplicaRemoved
    | ReplicaCrashed
    | ReplicaRestarted
    | ReplicaWiped
    | LeaderElected
    | UncleanElection
    | LeaderResigned
    | Appended
    | Acknowledged
    | AppendRefused
    | ProducersForgotten
    | Converted
    | Copied
    | FetchingFailed
    | GapLearned
    | EpochCacheChanged
    | Pushed
    | Truncated
    | HighWatermarkMoved
    | PositionRecorded
    | IsrChanged
    | Cleaned
    | CleanerLooked
    | CleaningFailed
    | SegmentsLost
    | SnapshotTaken
    | SnapshotDeleted
    | PrefixDeleted
    | LogStartMoved
    | LogStartedAfresh
    | SnapshotOffered
    | SnapshotChunkFetched
    | SnapshotFetchDropped
    | SnapshotFetched
    | LogEmptied
    | StateLoaded
    | SnapshotInstalled
    | RemovalBoundMoved
    | RoundsEnded
    | Consumed
    | ConsumerReset
    | ReadingEnded
    | Understood
    | TombstoneProbed
    | FaultInjected
    | FaultEnded
    | ConfigChanged
    | Quiesced
)
"""Any event. The name of its class is its kind."""

NAMES: Final[dict[type, str]] = {kind: kind.__name__ for kind in get_args(Event)}
"""Class of event -> its kind, as digests and traces have it."""
