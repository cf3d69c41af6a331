"""Epochs, checkpoints and the answers to followers, followed from event to event.

* The leader epoch cache has an entry for each epoch of appended batches, of elections, of gaps
  that a leader announces, and of an installed snapshot; a cut takes what begins at the new end or
  above it, no other event takes anything (LeaderEpochFileCache). `EpochCacheChanged` is believed.
* The cleaner's checkpoint is where the last finished pass ended; a cut lowers it to the end, or to
  the active segment, a log start raises it, and one outside of the log counts as the log start
  (LogCleanerManager.updateCheckpoints, .maybeTruncateCheckpoint, .cleanableOffsets). An older file
  may be found after a crash alone. A log end that a restart takes from the last record lowers it.
* The place and time of the last pass, and up to where all has been compacted, follow the checkpoint
  and the bounds of coordinated removal.
* What a replica knows of removed tombstones grows with those that it removes, and where rules hand
  it on, with what its leader announces; the floor of versions never falls, but with the disk, and
  is that of the leader after an answer, at least.
* A log is given up for a snapshot that it is not ahead of, and for the leader's log start only if
  it ends below that (KafkaMetadataLog.truncateToLatestSnapshot, fetchOffsetAndTruncate).
* A replica is in the highest epoch that it has received in a message, or that it campaigns in; it
  falls back with its disk alone, or where rules keep epochs in memory (QuorumState).
* A follower has fetched from the leader of an epoch when that has answered it since the follower
  last went down, and not before (FetcherThread, KafkaRaftClient.updateFollowerState).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from sim.plugins import Report
from sim.protocol import events as on
from sim.protocol.replication import messages as of
from sim.protocol.replication.messages import NO_ERROR, RECORDS, ErrorCode
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.network import CONTROLLER, Overdue
from sim.simulate.cluster.node import Node
from tests.audits.following import Following
from tests.audits.sending import WITHOUT_ERROR

_TO_A_FOLLOWER: Final = (
    of.FetchResponse,
    of.FetchSnapshotResponse,
    of.OffsetsForLeaderEpochResponse,
)
_ANSWERED: Final = (NO_ERROR, ErrorCode.SNAPSHOT_NOT_FOUND)
"""Answers to a request for a part of a snapshot that come from a leader."""


@dataclass(slots=True)
class Places:
    """The second record of the places and epochs that one replica keeps.

    Attributes:
        epochs: (epoch, first offset), in order.
        first: Base offset of the first segment.
        end: Where the log ends (exclusive).
        checkpoint: Up to where the log was cleaned (exclusive).
        compacted: Up to where each key is there at most once (exclusive).
        last_pass: (end exclusive, time in ms) of the last pass; None before the first.
        number: The number of the last request that was answered.
        removed_end: One above the highest tombstone that it removed or learnt was removed.
        announced_end: The highest such offset in an answer to a fetch.
        floor: The highest version, without its offset, below which it takes no write.
        epoch: The highest epoch it was in.
        message_epoch: The highest epoch in a message that it received.
        answered: (leader, epoch, time in ms) of the newest answer to a fetch, if it follows that
            leader since; None: it has had none.
        told_floor: The floor of versions in that answer, if it was to the present log.
        stray: Whether the checkpoint was outside of the closed segments: the cleaner's next look,
            or a cut that takes nothing, corrects it, and no event tells.
        failed_under: The leader whose records it could not append; empty: it could, of each.
    """

    epochs: list[tuple[int, int]] = field(default_factory=list)
    first: int = 0
    end: int = 0
    checkpoint: int = 0
    compacted: int = 0
    last_pass: tuple[int, int] | None = None
    number: int = 0
    removed_end: int = 0
    announced_end: int = 0
    floor: tuple[int, ...] = ()
    epoch: int = 0
    message_epoch: int = 0
    answered: tuple[str, int, int] | None = None
    told_floor: tuple[int, ...] = ()
    stray: bool = False
    failed_under: str = ""

    def begins(self, epoch: int, offset: int) -> None:
        """Notes that an epoch begins at an offset, or before."""
        if self.epochs and self.epochs[-1][0] == epoch and self.epochs[-1][1] <= offset:
            return
        self.epochs = [one for one in self.epochs if one[0] < epoch and one[1] < offset]
        self.epochs.append((epoch, offset))

    def cut(self, target: int) -> None:
        """Forgets the epochs that begin at `target` or above it."""
        below = [one for one in self.epochs if one[1] < target]
        self.epochs = below if target >= self.first else []
        self.end = target

    def begin_anew(self, offset: int) -> None:
        """Begins with an empty log at `offset`."""
        self.epochs = []
        self.first = self.end = self.checkpoint = self.compacted = offset

    def clean(self, event: on.Cleaned) -> None:
        """Notes the end of a pass that moved the checkpoint, or had nothing dirty.

        Where the log end is that of the last record, the pass may have lowered both.
        """
        self.checkpoint = min(event.upper_bound, event.log_end_offset)
        self.compacted = max(self.compacted, event.upper_bound)
        self.last_pass = event.upper_bound, event.now_ms

    def take(self, event: on.Event) -> None:
        """Takes an event of this replica."""
        match event:
            case on.LeaderElected():
                self.begins(event.epoch, event.epoch_start_offset)
                self.message_epoch = max(self.message_epoch, event.epoch)
            case on.Appended():
                self.begins(event.batch.epoch, event.batch.base_offset)
                self.end = event.batch.last_offset + 1
            case on.Copied():
                for batch in event.batches:
                    self.begins(batch.epoch, batch.base_offset)
                self.end = event.log_end_offset
            case on.GapLearned():
                for entry in event.epochs:
                    self.begins(entry.epoch, entry.start_offset)
                self.end = event.log_end_offset
            case on.EpochCacheChanged():
                self.epochs = [(one.epoch, one.start_offset) for one in event.epochs]
            case on.Truncated():
                self.cut(event.target)
            case on.ReplicaCrashed():
                self.answered = None
                if event.log_end_offset < self.end:
                    self.cut(event.log_end_offset)
            case on.ReplicaRestarted():
                self.end = event.log_end_offset  # a hole at the end is lost
            case on.Cleaned():
                self.end = event.log_end_offset
                gone = [each.offset + 1 for each in event.removals if each.reason == "tombstone"]
                self.removed_end = max([self.removed_end, *gone])
            case on.LogStartMoved() | on.PrefixDeleted():
                self.checkpoint = max(self.checkpoint, event.log_start_offset)
            case on.RemovalBoundMoved():
                self.compacted = max(self.compacted, event.offset)
            case _:
                self._replaced(event)

    def _replaced(self, event: on.Event) -> None:
        """Takes an event that replaces the whole log, or a file."""
        match event:
            case on.ReplicaWiped() | on.LogEmptied():
                self.begin_anew(0)
                self.last_pass = None
                self.removed_end = self.announced_end = 0
                self.floor = self.told_floor = ()
            case on.LogStartedAfresh():
                self.begin_anew(event.log_start_offset)
                self.last_pass = None
            case on.ConfigChanged():
                self.last_pass = None  # an upgrade may write that down anew
            case on.SnapshotInstalled():
                self.begin_anew(event.end_offset)
                self.begins(event.epoch, event.end_offset)
            case on.FetchingFailed():
                self.failed_under = event.leader
            case _:
                pass


class PlacesFollowed(Following):
    """Follows the places of all replicas of a run."""

    name = "places-followed"

    def __init__(self, cluster: Cluster, report: Report) -> None:
        """Starts before the replicas connect."""
        super().__init__(cluster, report)
        self._places: dict[str, Places] = {}
        installs = cluster.context.scenario.rules.snapshots.snapshot_install
        self._keeps_what_is_ahead = installs != "whatever_arrives"

    def over(self, name: str, receive: Callable[[Any], None]) -> Callable[[Any], None]:
        """Notes the epochs and answers in the messages for a replica, and hands them on."""
        if name == CONTROLLER:
            return receive

        def take(message: Any) -> None:
            node, own = self._cluster.nodes[name], self._places.setdefault(name, Places())
            said = message.message if type(message) is Overdue else message
            if node.replica.up:
                self._look_at_fetcher(node, own)
                self._note(node, own, said)
            receive(message)
            self._look_at_epoch(node, own)

        return take

    def _note(self, node: Node, own: Places, said: Any) -> None:
        epoch = getattr(said, "epoch", 0)
        if isinstance(said, of.LeaderAndIsrRequest):
            epoch = said.state.leader_epoch
        own.message_epoch = max(own.message_epoch, epoch)
        records = isinstance(said, of.FetchResponse) and said.answer is RECORDS
        if records:
            own.announced_end = max(own.announced_end, said.removed_tombstone_end)
        chunk = isinstance(said, of.FetchSnapshotResponse) and said.error in _ANSWERED
        if not isinstance(said, _TO_A_FOLLOWER):
            return
        # Of the answers to one request the first counts, unless time ran out in this millisecond.
        fetcher, number = node.fetcher, said.correlation_id
        counts = number == fetcher.number != own.number and not fetcher._answer.triggered
        own.number = number if counts else own.number
        counts = counts or not node.rules.replication.response_fencing
        fetched = isinstance(said, of.FetchResponse) and said.answer in WITHOUT_ERROR
        if counts and (fetched or chunk) and fetcher.leader is not None:
            own.answered = fetcher.leader, fetcher.epoch, node.context.now_ms
            own.told_floor = ()
            if isinstance(said, of.FetchResponse) and number == fetcher.number:
                asked = (node.replica.epoch, node.replica.log.log_end_offset)
                if (said.epoch, said.fetch_offset) == asked:
                    own.told_floor = said.version_floor or ()

    def _look_at_fetcher(self, node: Node, own: Places) -> None:
        """Compares whether a follower has fetched, as it knows it, with the answers so far."""
        fetcher, answered = node.fetcher, own.answered
        follows = None if fetcher.leader is None else (fetcher.leader, fetcher.epoch)
        if follows is None or (answered is not None and answered[:2] != follows):
            own.answered = answered = None
        if follows is not None and node.replica.fetching_failed:
            self.differs(node.name, "fetches no more from", follows[0], own.failed_under)
        late = answered is not None and answered[2] < node.context.now_ms
        late = late and node.rules.replication.response_fencing
        if (
            follows is not None
            and fetcher.fetched != (answered is not None)
            and (fetcher.fetched or late)
        ):
            self.differs(node.name, f"fetched from {follows}", fetcher.fetched, answered)
        floor = node.replica.version_floor or ()
        # A follower that cannot append an answer takes nothing of it.
        if late and not node.replica.fetching_failed and floor < own.told_floor:
            self.differs(node.name, "floor of versions", floor, f"{follows} said {own.told_floor}")

    def _look_at_epoch(self, node: Node, own: Places) -> None:
        replica = node.replica
        campaigns = replica.vote == (replica.epoch, node.name)
        if replica.epoch > own.epoch and replica.epoch > own.message_epoch and not campaigns:
            self.differs(node.name, "epoch", replica.epoch, f"messages have {own.message_epoch}")
        if replica.up and node.rules.replication.fencing:
            follows = node.fetcher.epoch if node.fetcher.leader is not None else 0
            least = max(replica.log.epochs.latest, follows)
            if replica.epoch < least:
                self.differs(node.name, "epoch", replica.epoch, f"its log or leader has {least}")
        if replica.epoch < own.epoch:
            self.differs(node.name, "epoch", replica.epoch, f"it was in {own.epoch}")
        own.epoch = replica.epoch

    def after(self, _at_ms: int, events: Iterable[on.Event]) -> None:
        """Takes some events, and compares the replicas that they are about."""
        happened: dict[str, list[on.Event]] = {}
        events, settles = list(events), bool(self._cluster.context.settling)
        for event in events:
            name = event.replica
            if name in self._cluster.nodes and name is not None:
                own = self._places.setdefault(name, Places())
                self._look_at_replaced(own, event)
                own.take(event)
                if isinstance(event, on.Cleaned) and (
                    # An interrupted pass, or one that fails, moves nothing; at rest nothing is
                    # dirty.
                    event.upper_bound > event.first_dirty_offset
                    or (settles and not isinstance(events[-1], on.CleaningFailed))
                ):
                    own.clean(event)
                happened.setdefault(name, []).append(event)
        for name, seen in happened.items():
            node, own = self._cluster.nodes[name], self._places[name]
            self._compare(node, own, seen)
        if events and isinstance(events[-1], on.Quiesced):
            for name, own in self._places.items():
                if name in self._cluster.nodes:
                    self._look_at_fetcher(self._cluster.nodes[name], own)

    def _look_at_replaced(self, own: Places, event: on.Event) -> None:
        """Judges whether a log may be given up for what is installed, or begins anew there."""
        if isinstance(event, on.LogStartedAfresh):
            if event.log_end_offset >= event.log_start_offset:
                end, start = event.log_end_offset, event.log_start_offset
                self.differs(event.replica, "gives up its log", end, f"it reaches {start}")
        elif isinstance(event, on.SnapshotInstalled | on.SnapshotFetchDropped) and own.epochs:
            epoch = own.epochs[-1][0]
            last, id_ = (own.end, epoch), (event.end_offset, event.epoch)
            ahead = last == id_ or (own.end > event.end_offset and epoch >= event.epoch)
            if isinstance(event, on.SnapshotInstalled):
                wrong = ahead and self._keeps_what_is_ahead
            else:
                wrong = not ahead and "ahead" in event.reason
            if wrong:
                self.differs(event.replica, f"{type(event).__name__} {id_}", last, "otherwise")

    def _compare(self, node: Node, own: Places, events: list[on.Event]) -> None:
        replica, kinds = node.replica, {type(event) for event in events}
        log = replica.log
        what = type(events[-1]).__name__
        start, active = log.log_start_offset, log.active.base_offset
        epochs = [(one.epoch, one.start_offset) for one in log.epochs.entries]
        if self.differs(replica.name, f"epochs after {what}", epochs, own.epochs):
            own.epochs = epochs
        self._compare_checkpoint(node, own, kinds, what)
        lowered = min(own.compacted, own.checkpoint, log.log_end_offset)
        compacted = replica.cleanly_compacted_offset
        raised = max(own.compacted, replica.removal_bound)
        if compacted not in {own.compacted, lowered, min(lowered, active), raised}:
            self.differs(replica.name, f"compacted after {what}", compacted, own.compacted)
        own.compacted, own.first = compacted, log.segments[0].base_offset
        if own.last_pass is not None and replica.last_cleaning is not None:
            end, at_ms = own.last_pass
            allowed = [(min(end, own.checkpoint, max(active, start)), at_ms)]
            allowed += [] if on.Truncated in kinds else [own.last_pass]
            if replica.last_cleaning not in allowed:
                found = replica.last_cleaning
                self.differs(replica.name, f"last pass after {what}", found, allowed)
        own.last_pass = replica.last_cleaning
        self._compare_removed(node, own, what)
        if kinds & {on.ReplicaWiped, on.LogEmptied, on.ReplicaRestarted}:
            own.epoch = replica.epoch
        self._look_at_epoch(node, own)

    def _compare_checkpoint(self, node: Node, own: Places, kinds: set[type], what: str) -> None:
        replica, log = node.replica, node.replica.log
        kept = replica.first_dirty_offset
        start, end = log.log_start_offset, log.log_end_offset
        if on.Truncated in kinds:
            own.checkpoint = min(own.checkpoint, end, max(log.active.base_offset, start))
        if on.ReplicaRestarted in kinds and node.rules.storage.leo_source == "last_record":
            own.checkpoint = min(own.checkpoint, end)
        active = max(log.active.base_offset, start)
        allowed = {own.checkpoint}
        if own.stray or not start <= own.checkpoint <= end:
            allowed |= {start, min(own.checkpoint, active)}
        older = on.ReplicaCrashed in kinds and kept < own.checkpoint
        if kept not in allowed and not older:
            self.differs(replica.name, f"checkpoint after {what}", kept, own.checkpoint)
        own.checkpoint, own.stray = kept, not start <= kept <= active

    def _compare_removed(self, node: Node, own: Places, what: str) -> None:
        """Compares what the replica knows of tombstones that are gone, which it never forgets."""
        replica, learns = node.replica, node.rules.replication.lag_guard == "reset_propagated"
        kept, floor = replica.removed_tombstone_end, replica.version_floor or ()
        highest = max(own.removed_end, own.announced_end if learns else 0)
        if not own.removed_end <= kept <= highest:
            self.differs(node.name, f"removed tombstones after {what}", kept, own.removed_end)
        if floor < own.floor:
            self.differs(node.name, f"floor of versions after {what}", floor, own.floor)
        own.removed_end, own.floor = kept, floor
