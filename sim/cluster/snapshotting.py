"""When a replica takes snapshots, and when it deletes old ones with the log before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.compaction.transactions import undivided_end
from sim.replication.cleaning import stable_offset
from sim.replication.snapshots.delete import (
    SnapshotRetention,
    delete_old_snapshots,
    delete_prefix,
    may_delete_prefix,
)
from sim.replication.snapshots.take import take_snapshot

if TYPE_CHECKING:
    from sim.cluster.node import Node


class Snapshotter:
    """The snapshots of one replica; it goes on in its own rhythm, whoever leads.

    Attributes:
        watches: Whether it wants to know what is committed.
    """

    __slots__ = ("_bytes", "_counted", "_node", "_retention", "_since_ms", "_timed", "watches")

    def __init__(self, node: Node) -> None:
        """Nothing runs before `start`."""
        self._node = node
        settings = node.world.scenario.snapshots
        self.watches = False
        self._retention: SnapshotRetention | None = None
        if settings.retention_bytes is not None or settings.retention_ms is not None:
            self._retention = SnapshotRetention(settings.retention_bytes, settings.retention_ms)
        self._bytes = 0
        self._counted = 0
        self._since_ms: int | None = None
        self._timed = False

    def start(self, index: int, of: int) -> None:
        """Begin; replica `index` of `of` does by the clock what it does out of step with others."""
        world = self._node.world
        if world.rules.cleaner.cleanup == "compact":
            return
        timers, settings = world.scenario.timers, world.scenario.snapshots
        self.watches = settings.record_bytes is not None or settings.interval_ms is not None
        if timers.snapshot_interval_ms is not None:
            world.clock.after(max(1, timers.snapshot_interval_ms * (index + 1) // of), self._tick)
        if self._retention is not None:
            world.clock.after(max(1, timers.snapshot_cleaning_ms * (index + 1) // of), self._clean)

    def committed(self) -> None:
        """The high watermark moved: perhaps there is enough for a snapshot (SnapshotGenerator)."""
        world, log = self._node.world, self._node.replica.log
        latest = self._node.replica.latest_snapshot()
        base = max(log.log_start_offset, 0 if latest is None else latest.id.end_offset)
        if base > self._counted or log.high_watermark < self._counted:
            self._counted, self._bytes, self._since_ms = base, 0, None
        for batch in log.read(self._counted):
            if batch.last_offset >= log.high_watermark:
                break
            self._bytes += batch.size_bytes
            self._counted = batch.last_offset + 1
        settings = world.scenario.snapshots
        if settings.record_bytes is not None and self._bytes >= settings.record_bytes:
            self._bytes = 0
            world.clock.after(0, self._take)
        if self._since_ms is None and self._counted > base:
            self._since_ms = world.clock.now_ms
        if settings.interval_ms is not None and not self._timed and self._since_ms is not None:
            self._timed = True
            world.clock.after(settings.interval_ms, self._waited)

    def _waited(self) -> None:
        """Something may be newer than the last snapshot for as long as is allowed (KIP-876)."""
        self._timed = False
        world, since_ms = self._node.world, self._since_ms
        interval_ms = world.scenario.snapshots.interval_ms
        assert interval_ms is not None
        if since_ms is None:
            return
        left_ms = since_ms + interval_ms - world.clock.now_ms
        if left_ms > 0:
            self._timed = True
            world.clock.after(left_ms, self._waited)
        else:
            self._take()

    def _tick(self) -> None:
        """Take one by the clock, whatever has happened since the last one."""
        world = self._node.world
        interval_ms = world.scenario.timers.snapshot_interval_ms
        assert interval_ms is not None
        world.clock.after(max(1, interval_ms), self._tick)
        self._take()

    def _take(self) -> None:
        """Take a snapshot at the own high watermark.

        No snapshot ends within a transaction (KIP-868). Without bounds on what is kept, the
        previous snapshot is where the log starts then, so a follower that reads it has time.
        """
        node = self._node
        world, replica = node.world, node.replica
        if not replica.up or node.loader.loading:
            return
        previous = replica.latest_snapshot()
        log = replica.log
        stable = min(log.high_watermark, stable_offset(replica, rules=node.rules))
        end_offset = undivided_end(tuple(log.batches()), below=stable)
        in_log = node.rules.snapshots.snapshot_placement == "in_log" and node.desk is not None
        uid = world.take_uid() if in_log else 0
        taken = take_snapshot(replica, end_offset, rules=node.rules, now_ms=node.now_ms, uid=uid)
        if not taken:
            return
        self._since_ms = None
        if node.desk is not None:
            node.desk.react(taken)
            node.desk.wake()
        else:
            world.tell(taken)
        if self._retention is None and previous is not None:
            to = previous.id.end_offset
            if self._may_delete(to):
                world.tell(delete_prefix(replica, to))

    def _may_delete(self, to: int) -> bool:
        node = self._node
        live = [n.replica.log.log_end_offset for n in node.world.nodes.values() if n.replica.up]
        return may_delete_prefix(
            node.replica, to, live_ends=live, rules=node.rules, now_ms=node.now_ms
        )

    def _clean(self) -> None:
        """Look for snapshots beyond size or age."""
        node = self._node
        world = node.world
        world.clock.after(max(1, world.scenario.timers.snapshot_cleaning_ms), self._clean)
        assert self._retention is not None
        if node.replica.up:
            world.tell(
                delete_old_snapshots(
                    node.replica,
                    self._retention,
                    now_ms=node.now_ms,
                    may_delete=self._may_delete,
                )
            )
