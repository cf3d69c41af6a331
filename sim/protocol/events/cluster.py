"""Events of replicas and their roles, of faults and of settings."""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class ReplicaAdded(Struct, frozen=True, gc=False, array_like=True):
    """A replica with an empty log joined the cluster."""

    replica: str


class ReplicaRemoved(Struct, frozen=True, gc=False, array_like=True):
    """A replica left the cluster for good, and its disk with it."""

    replica: str


class ReplicaCrashed(Struct, frozen=True, gc=False, array_like=True):
    """A replica went down; its log ends at `log_end_offset` after what the crash lost.

    `epoch` is the highest it had seen.
    """

    replica: str
    log_end_offset: int
    high_watermark: int
    epoch: int = 0


class ReplicaRestarted(Struct, frozen=True, gc=False, array_like=True):
    """A replica came back with the log it found on disk, in the `epoch` it remembers."""

    replica: str
    log_end_offset: int
    high_watermark: int
    epoch: int = 0


REBUILT = "below a removed tombstone"
"""Reason of a wipe by the rule `lag_guard`: the replica throws its own log away."""


class ReplicaWiped(Struct, frozen=True, gc=False, array_like=True):
    """A replica lost its whole log (a new disk, or a rebuild by `lag_guard`)."""

    replica: str
    reason: str


class LeaderElected(Struct, frozen=True, gc=False, array_like=True):
    """A replica leads `epoch` from `epoch_start_offset`, its log end offset, on.

    `isr` is the in-sync set it starts with, `voters` those a majority is counted over.
    """

    replica: str
    epoch: int
    epoch_start_offset: int
    isr: tuple[str, ...]
    voters: tuple[str, ...]


class UncleanElection(Struct, frozen=True, gc=False, array_like=True):
    """A controller elects a replica that may lack committed records.

    It comes before `LeaderElected`, or without: the replica may be down by then. In Kafka the
    partition is RECOVERING until that leader marks it as RECOVERED, which it does at once
    (PartitionChangeBuilder.tryElection; Partition.makeLeader). `because` says which replica the
    controller chose, with none in sync or eligible to lead.
    """

    replica: str
    epoch: int
    because: str


LAST_KNOWN_LEADER: Final = "it led last"
"""It lost its place in the sets by a crash; `unclean.leader.election.enable` is not asked."""

ANY_REPLICA: Final = "any replica will do"
"""With `unclean.leader.election.enable`."""

ADMINISTRATOR: Final = "an administrator wants it"
"""ElectLeaders with election type UNCLEAN."""


class LeaderResigned(Struct, frozen=True, gc=False, array_like=True):
    """A replica stopped leading `epoch`."""

    replica: str
    epoch: int


class PositionRecorded(Struct, frozen=True, gc=False, array_like=True):
    """A leader (`replica`) believes that `follower` has everything below `position`."""

    replica: str
    follower: str
    position: int


class IsrChanged(Struct, frozen=True, gc=False, array_like=True):
    """The in-sync set is now `isr`; `joined` names a replica that was admitted by its position."""

    replica: str
    isr: tuple[str, ...]
    joined: str | None


class FaultInjected(Struct, frozen=True, gc=False, array_like=True):
    """A fault was injected at a replica or a link; `detail` describes it."""

    replica: str
    fault: str
    detail: str


class FaultEnded(Struct, frozen=True, gc=False, array_like=True):
    """The end of a fault at a replica or its links.

    Of several that last, it is the one of kind `fault` that was injected first.
    """

    replica: str
    fault: str


class ConfigChanged(Struct, frozen=True, gc=False, array_like=True):
    """New settings reached a broker, or a producer (then `replica` names that).

    `settings` are pairs of a name and its new value, as text. `initial` is true for a broker that
    starts with settings of its own, where they differ from those of the run, and for a consumer
    that starts in a version without the flag of KIP-87 (`format`): nothing changed then.
    """

    replica: str
    settings: tuple[tuple[str, str], ...]
    initial: bool = False


class Quiesced(Struct, frozen=True, gc=False, array_like=True):
    """The cluster is at rest; `replica` is the leader whose log the others are compared with.

    `synced` is true when faults were healed and every live replica fetched to the end first.
    """

    replica: str | None
    synced: bool
