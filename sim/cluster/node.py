"""One replica in simulated time: the pure replica, its clock, and the parts that drive it."""

from __future__ import annotations

from sim.cluster.context import World
from sim.cluster.converting import follower_is_understood
from sim.cluster.fetching import Fetcher
from sim.cluster.housekeeping import Housekeeper
from sim.cluster.leading import Desk
from sim.cluster.loading import Loader
from sim.cluster.snapshotting import Snapshotter
from sim.log.versions import OLD, Versions
from sim.replication.elections import become_leader
from sim.replication.leader import answer_fetch
from sim.replication.messages import FetchRequest, FetchSnapshotRequest
from sim.replication.recovery import NONE_OLD, OldFiles, crash_with_files, durable_end, recover
from sim.replication.replica import Replica, wipe
from sim.replication.snapshots.fetch import answer_fetch_snapshot
from sim.rules import Rules
from sim.scenario.model import ReplicaSpec
from sim.trace import LeaderResigned

Settings = tuple[Rules, Versions | None]
"""What may change while a replica runs."""


class Node:
    """A replica and its processes.

    Attributes:
        world: The cluster it belongs to.
        spec: Its settings.
        name: What it is called.
        rules: What it goes by: the cluster's, but for what its own software takes for a tombstone,
            and for settings that have changed since the start.
        versions: Its software, protocol and message format (KIP-87); None = not told of.
        replica: Its state; up or down, its disk is here.
        incarnation: Which of its lives this is; what an earlier one was sent may be dropped.
        desk: What it does as a leader; None while it does not lead.
        fetcher: What it does as a follower.
        housekeeper: Its cleaner.
        snapshotter: Its snapshots.
        loader: The loading of its state machine.
        heard_ms: When it last heard from a leader, or let somebody else become one.
    """

    __slots__ = (
        "_settings",
        "desk",
        "fetcher",
        "heard_ms",
        "housekeeper",
        "incarnation",
        "loader",
        "name",
        "replica",
        "rules",
        "snapshotter",
        "spec",
        "versions",
        "world",
    )

    def __init__(self, world: World, spec: ReplicaSpec) -> None:
        """A live replica with an empty disk that knows of no leader."""
        self.world = world
        self.spec = spec
        self.name = spec.name
        mark = spec.tombstone_mark
        rules = world.rules if mark is None else world.rules.with_values({"tombstone_mark": mark})
        self.configure((rules, spec.versions))
        self.replica = Replica(spec.name, world.log_config)
        self.incarnation = 1
        self.desk: Desk | None = None
        self.fetcher = Fetcher(self)
        self.housekeeper = Housekeeper(self)
        self.snapshotter = Snapshotter(self)
        self.loader = Loader(self)
        self.heard_ms = 0

    @property
    def now_ms(self) -> int:
        """The replica's own clock in ms."""
        return self.world.clock.now_ms + self.spec.clock_skew_ms

    @property
    def settings(self) -> Settings:
        """What it is set to, whatever its software can do of it."""
        return self._settings, self.versions

    def configure(self, settings: Settings) -> None:
        """Go by other settings; software that does not know the flag cleans by the null value."""
        self._settings, self.versions = settings
        old = self.versions is not None and self.versions.software == OLD
        rules = self._settings
        self.rules = rules.with_values({"tombstone_mark": "null_value"}) if old else rules

    def lead(self, epoch: int, *, isr: tuple[str, ...], voters: tuple[str, ...]) -> Desk:
        """Become the leader of `epoch`."""
        world = self.world
        self.fetcher.stop()
        self.resign()
        if world.leader is None or world.leader[0] < epoch:
            world.leader = (epoch, self.name)
        events = become_leader(
            self.replica,
            epoch,
            isr=isr,
            voters=voters,
            rules=self.rules,
            now_ms=self.now_ms,
            leader_change_uid=world.take_uid()
            if world.rules.replication.leader_change_record
            else 0,
        )
        desk = self.sit_down(epoch)
        desk.react(events)
        return desk

    def sit_down(self, epoch: int) -> Desk:
        """Begin to work as the leader of `epoch`, which the replica is."""
        self.desk = Desk(self, epoch)
        return self.desk

    def resign(self) -> None:
        """Stop leading, if it leads; whoever waits for an answer gets none."""
        desk = self.desk
        if desk is not None:
            self.desk = None
            self.replica.leadership = None
            self.world.tell([LeaderResigned(self.name, desk.epoch)])

    def forget_position(self, follower: str) -> None:
        """Do not count on what a follower acknowledged before it lost its disk.

        A voter is known by its disk, too (KIP-853, directory ids).
        """
        if self.replica.leadership is not None:
            self.replica.leadership.positions.pop(follower, None)

    def sees(self, epoch: int) -> None:
        """Learn of an epoch; a leader of an older one stops leading."""
        if self.desk is not None and self.desk.epoch < epoch:
            self.resign()
        self.replica.sees(epoch)

    def crash(
        self, *, lost_batches: int = 0, power_loss: bool = False, old: OldFiles = NONE_OLD
    ) -> None:
        """Go down; the last batches are lost, and connections to others are closed.

        With a `power_loss` those are all that were not flushed. `old` files are found later.
        """
        log = self.replica.log
        lost_from = durable_end(log, rules=self.rules) if power_loss else None
        if (
            self.world.rules.replication.commit == "majority"
            and self.rules.election.leader_restart == "resumes"
        ):
            self.desk = None
        self._hang_up()
        self.fetcher.interrupt()
        self.world.tell(
            crash_with_files(
                self.replica,
                rules=self.rules,
                lost_batches=lost_batches,
                lost_from=lost_from,
                old=old,
            )
        )

    def _hang_up(self) -> None:
        """Stop leading, and close connections: nobody waits here, or for this replica."""
        self.resign()
        self.loader.stop()
        self.incarnation += 1
        for node in self.world.nodes.values():
            if node.desk is not None:
                node.desk.parked.pop(self.name, None)

    def leave(self) -> None:
        """Go for good, up or down."""
        self._hang_up()
        self.fetcher.stop()
        self.replica.up = False

    def restart(self) -> None:
        """Come back with what is on disk."""
        self.heard_ms = self.world.clock.now_ms
        self.world.tell(recover(self.replica, rules=self.rules))
        self.fetcher.acknowledged = self.replica.log.log_end_offset
        self.loader.begin()

    def wipe(self) -> None:
        """Lose the disk; the replica is up after."""
        self.fetcher.stop()
        self.world.tell(wipe(self.replica, reason="a new disk"))
        self.world.elections.wiped(self)

    def answer_greeting(self, follower: Node, number: int, epoch: int) -> None:
        """Say hello to a new follower; it may have heard of the election before its leader has."""
        if self.replica.up:
            answer = follower.fetcher.greeted
            self.world.network.send(self.name, follower.name, answer, number, self, epoch)

    def answer_fetch(
        self, follower: Node, incarnation: int, number: int, request: FetchRequest
    ) -> None:
        """Answer a fetch, at once or when there is something to say.

        One from an earlier life of the follower is dropped (KIP-903), and so is one in a version
        that the replica does not know.
        """
        if not self.replica.up or follower.incarnation != incarnation:
            return
        if not follower_is_understood(self, follower):
            return
        if self.desk is not None:
            self.desk.fetch(follower, number, request)
            return
        response, _ = answer_fetch(
            self.replica,
            request,
            rules=self.rules,
            snapshots=self.world.retention is None,
        )
        answer = follower.fetcher.receive
        self.world.network.send(self.name, follower.name, answer, number, response)

    def answer_chunk(self, follower: Node, number: int, request: FetchSnapshotRequest) -> None:
        """Answer with a chunk of a snapshot."""
        if not self.replica.up:
            return
        response = answer_fetch_snapshot(self.replica, request, rules=self.rules)
        if self.desk is not None:
            self.desk.note_contact(follower.name)
        answer = follower.fetcher.receive_chunk
        self.world.network.send(self.name, follower.name, answer, number, response)
