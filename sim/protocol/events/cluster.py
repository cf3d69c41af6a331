"""The base of all events; events of replicas, their roles, logs and readers; faults, settings."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from sim.protocol.log.epochs import EpochEntry
from sim.protocol.log.record import Batch, Record


class Event(Struct, frozen=True, gc=False, array_like=True):
    """An event of a run; the name of its class is its kind.

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
"""The last known leader, in no set since a crash; needs no `unclean.leader.election.enable`."""

ANY_REPLICA: Final = "any replica will do"
"""Any live replica, with `unclean.leader.election.enable`."""

ADMINISTRATOR: Final = "an administrator wants it"
"""The replica in an ElectLeaders request with election type UNCLEAN."""


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


ResetCause = Literal["below_log_start", "above_log_end", "log_truncated"]
"""Why a consumer's position moved other than by reading."""


class Appended(Event, frozen=True):
    """A leader gave offsets to a batch."""

    batch: Batch


class Acknowledged(Event, frozen=True):
    """A leader acknowledged a batch of a producer; a repeated request is acknowledged again.

    The answer may still be lost on its way. Ends of transactions have no such event.

    Attributes:
        replica: The leader.
        producer_id: Who sent the batch; -1 = a producer without an id.
        base_sequence: Sequence number of its first record, as the request says; -1 = none.
        first_offset: Offset of its first record (inclusive), as the answer says.
        last_offset: Offset of its last record (inclusive), as the answer says.
        epoch: The epoch of the leader that answers; a repeated batch may be of an earlier one.
        acks: What the producer waited for: `all` = it is committed, `1` = the leader has it.
    """

    producer_id: int
    base_sequence: int
    first_offset: int
    last_offset: int
    epoch: int
    acks: Literal["all", "1"]


class AppendRefused(Event, frozen=True):
    """A leader refused a batch because of a record with `key`; None = because of the whole batch.

    `reason`: `late_version` (below that of a removed delete); `unreadable_version` (cannot be
    compared); `null_value` (without the flag in a format that has one, KIP-87); `client_version`
    (the leader does not know the producer's version, KIP-87); `not_enough_replicas` (fewer than
    `min.insync.replicas` are in sync); `producer_fenced` (a later instance of the producer has a
    newer epoch of its id, KIP-98); `not_in_transaction` (the coordinator has no transaction under
    way to which it belongs, KIP-890).
    """

    key: str | None
    reason: str = "late_version"


class ProducersForgotten(Event, frozen=True):
    """A replica forgot idempotent producers that were silent for `producer.id.expiration.ms`.

    It knows none of the sequence numbers of the ids in `producers` any more.

    Says: {replica} forgets the producers {producers}
    """

    producers: tuple[int, ...]


class Converted(Event, frozen=True):
    """A replica converted records to an older format, for its own log or for a reader (KIP-87).

    `reader` is a consumer, a follower, or the replica itself, which stores what a producer sent;
    `size_bytes` is that of the stored batches which could not be sent as they are, 0 for its own
    log; `values_lost` are the offsets of the deletes that go on without their value.
    """

    reader: str
    size_bytes: int
    values_lost: tuple[int, ...]


class Copied(Event, frozen=True):
    """A follower appended batches of its leader verbatim; gaps between them come along.

    `fetch_offset` is its log end offset before, `log_end_offset` the one after.

    Says: {replica} copies {batches} from {leader}, log end {log_end_offset}
    """

    leader: str
    fetch_offset: int
    batches: tuple[Batch, ...]
    log_end_offset: int


class FetchingFailed(Event, frozen=True):
    """A follower could not append what it fetched: a batch begins below its log end.

    It fetches no more before it restarts, or follows a leader of another epoch
    (UnexpectedAppendOffsetException; AbstractFetcherThread.markPartitionFailed, .addPartitions).
    `base_offset` is the first offset of that batch (inclusive).

    Says: {replica} fetches no more from {leader}: a batch begins at {base_offset}, and its log ends
        at {log_end_offset}
    """

    leader: str
    base_offset: int
    log_end_offset: int


class GapLearned(Event, frozen=True):
    """A follower learned that its leader holds nothing from its log end up to another offset.

    `fetch_offset` is its log end offset before, `log_end_offset` the one after. `epochs` are those
    that started in between, which the leader tells with it.

    Says: {replica} learns from {leader} that nothing is left from {fetch_offset} to
        {log_end_offset}
    """

    leader: str
    fetch_offset: int
    log_end_offset: int
    epochs: tuple[EpochEntry, ...] = ()


class EpochCacheChanged(Event, frozen=True):
    """A replica's whole leader epoch cache is now `epochs`, which other events do not tell.

    A follower took over epochs without a batch (`epoch_cache: copied`), a restart found an epoch
    checkpoint that was behind or ahead of the log, or a cut removed no record, but the epochs that
    start there.
    """

    epochs: tuple[EpochEntry, ...]


class Pushed(Event, frozen=True):
    """A follower appended a copy at an offset of its own choice (`follower_assigned`).

    Says: {replica} appends a copy of {batch} of {leader} at its own end
    """

    leader: str
    batch: Batch


class Truncated(Event, frozen=True):
    """A follower cut its log at `target`; `high_watermark` and `log_start_offset` are from before.

    `log_end_offset` is the one from before, too; `leading` must be false. A batch that straddles
    the target went whole: `lowest` is the lowest offset that did, None = the target.
    `kept_high_watermark` is true when the high watermark was not lowered to the new log end.

    Says: {replica} truncates from {log_end_offset} to {target}
    """

    target: int
    log_end_offset: int
    high_watermark: int
    log_start_offset: int
    leading: bool
    lowest: int | None = None
    kept_high_watermark: bool = False


class HighWatermarkMoved(Event, frozen=True):
    """A replica's high watermark is now `high_watermark`; a leader's commits what is below."""

    high_watermark: int
    leading: bool


class Consumed(Event, frozen=True):
    """A consumer read data of a replica below `end` (exclusive) and moved there.

    `start` is its position before; `now_ms` the time of the read; `records` are what it was given.
    `committed` is true for a consumer with `isolation.level=read_committed`.
    """

    consumer: str
    start: int
    end: int
    records: tuple[Record, ...]
    now_ms: int
    committed: bool = False


class ConsumerReset(Event, frozen=True):
    """A consumer's position moved other than by reading: it goes on at `position` (inclusive).

    The answer of `replica` moved it. `cause`: `below_log_start` and `above_log_end` where its log
    begins later or ends earlier (`auto.offset.reset`), `log_truncated` where its log diverges from
    what the consumer has read (KIP-320).
    """

    consumer: str
    position: int
    cause: ResetCause


class ReadingEnded(Event, frozen=True):
    """A reader that reads to the end has done so, or waits although no more records come.

    Attributes:
        replica: Name of the replica that it read last.
        consumer: Its name.
        until: How it tells the end: `position`, `last_offset` or `count`.
        start: Its position when it began (inclusive).
        end: What it took for the end then (exclusive).
        position: Its position now.
        last_offset: Offset of the last record it was given; -1 = none.
        given: Number of records it was given.

    Says: {consumer} wanted to read {replica} up to {end} by {until}: it is at {position} and was
        given {given} records, the last at {last_offset}
    """

    consumer: str
    until: str
    start: int
    end: int
    position: int
    last_offset: int
    given: int


class Understood(Event, frozen=True):
    """A consumer of a declared version (KIP-87) took each keyed record for a value or a delete.

    `values` are those it keeps as the state of their keys, `deletes` those it removes keys for.
    """

    consumer: str
    values: tuple[Record, ...]
    deletes: tuple[Record, ...]


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
