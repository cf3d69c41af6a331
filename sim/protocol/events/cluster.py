"""The base of all events; events of replicas and their roles, of faults and of settings."""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Event(Struct, frozen=True, gc=False, array_like=True):
    """An event that the core reports; the name of its class is its kind.

    Attributes:
        replica: The replica that it happened at, or whose log it concerns.
    """

    replica: str


class ReplicaAdded(Event, frozen=True):
    """A replica with an empty log joined the cluster.

    Says: {replica} joins with an empty log
    """


class ReplicaRemoved(Event, frozen=True):
    """A replica left the cluster for good, and its disk with it.

    Says: {replica} leaves for good
    """


class ReplicaCrashed(Event, frozen=True):
    """A replica went down; its log ends at `log_end_offset` after what the crash lost.

    `epoch` is the highest it had seen.

    Says: {replica} crashes, log end {log_end_offset}
    """

    log_end_offset: int
    high_watermark: int
    epoch: int = 0


class ReplicaRestarted(Event, frozen=True):
    """A replica came back with the log it found on disk, in the `epoch` it remembers.

    Says: {replica} is back, log end {log_end_offset}
    """

    log_end_offset: int
    high_watermark: int
    epoch: int = 0


REBUILT = "below a removed tombstone"
"""Reason of a wipe by the rule `lag_guard`: the replica throws its own log away."""


class ReplicaWiped(Event, frozen=True):
    """A replica lost its whole log (a new disk, or a rebuild by `lag_guard`).

    Says: {replica} loses its log: {reason}
    """

    reason: str


class LeaderElected(Event, frozen=True):
    """A replica leads `epoch` from `epoch_start_offset`, its log end offset, on.

    `isr` is the in-sync set it starts with, `voters` those a majority is counted over.

    Says: {replica} leads epoch {epoch} from {epoch_start_offset}, in sync: {isr}
    """

    epoch: int
    epoch_start_offset: int
    isr: tuple[str, ...]
    voters: tuple[str, ...]


class UncleanElection(Event, frozen=True):
    """A controller elects a replica that may lack committed records.

    It comes before `LeaderElected`, or without: the replica may be down by then. In Kafka the
    partition is RECOVERING until that leader marks it as RECOVERED, which it does at once
    (PartitionChangeBuilder.tryElection; Partition.makeLeader). `because` says which replica the
    controller chose, with none in sync or eligible to lead.

    Says: {replica} is made leader of epoch {epoch} uncleanly: {because}
    """

    epoch: int
    because: str


LAST_KNOWN_LEADER: Final = "it led last"
"""It lost its place in the sets by a crash; `unclean.leader.election.enable` is not asked."""

ANY_REPLICA: Final = "any replica will do"
"""With `unclean.leader.election.enable`."""

ADMINISTRATOR: Final = "an administrator wants it"
"""ElectLeaders with election type UNCLEAN."""


class LeaderResigned(Event, frozen=True):
    """A replica stopped leading `epoch`.

    Says: {replica} stops leading epoch {epoch}
    """

    epoch: int


class PositionRecorded(Event, frozen=True):
    """A leader (`replica`) believes that `follower` has everything below `position`.

    Says: {replica} records {follower} at {position}
    """

    follower: str
    position: int


class IsrChanged(Event, frozen=True):
    """The in-sync set is now `isr`; `joined` names a replica that was admitted by its position."""

    isr: tuple[str, ...]
    joined: str | None


class FaultInjected(Event, frozen=True):
    """A fault was injected at a replica or a link; `detail` describes it.

    Says: fault {fault} at {replica}: {detail}
    """

    fault: str
    detail: str


class FaultEnded(Event, frozen=True):
    """The end of a fault at a replica or its links.

    Of several that last, it is the one of kind `fault` that was injected first.

    Says: fault {fault} at {replica} is over
    """

    fault: str


class ConfigChanged(Event, frozen=True):
    """New settings reached a broker, or a producer (then `replica` names that).

    `settings` are pairs of a name and its new value, as text. `initial` is true for a broker that
    starts with settings of its own, where they differ from those of the run, and for a consumer
    that starts in a version without the flag of KIP-87 (`format`): nothing changed then.
    """

    settings: tuple[tuple[str, str], ...]
    initial: bool = False


class Quiesced(Event, frozen=True):
    """The cluster is at rest; `replica` is the leader whose log the others are compared with.

    `synced` is true when faults were healed and every live replica fetched to the end first.
    """

    replica: str | None  # type: ignore[assignment]  # there may be no leader
    synced: bool
