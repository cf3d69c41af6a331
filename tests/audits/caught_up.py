"""A clock of its own for each follower: when it was caught up, and how its leader acts on that.

A follower is caught up at the time of a fetch at the leader's log end, or of the fetch before, if
it asks for at least what that log end was then (ReplicaState.caughtUpTimeMs). One that finds
nothing, at a hole at the log end, is at the log end with `read_end`. A fetch counts when its leader
answers it with records, or lets it wait; a leader that drops or refuses it, as for an earlier life,
epoch or session, or a version that it does not know, has heard nothing by it.

* A leader believes of no follower more than its clock says.
* No follower leaves the in-sync set that was caught up within `replica.lag.time.max.ms`, and none
  stays that was not for four times as long: a request may be on its way, twice
  (Partition.maybeShrinkIsr).
* `CaughtUp.since_ms` is what `tests.audits.decisions` judges high watermarks by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sim.protocol.events import Appended, Event, IsrChanged, LeaderElected
from sim.protocol.replication import messages as of
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.node import Node
from tests.audits.sending import Answers, Failed

LONG_AGO_MS = -(10**9)


@dataclass(slots=True)
class Clock:
    """The fetches of one follower of one leader.

    Attributes:
        caught_up_ms: When it last had all that its leader had.
        fetch_ms: When it last fetched.
        leader_end: Where its leader's log ended then (exclusive).
        offset: Where it fetched then, or counted as fetching.
        behind_ms: When its leader appended what it has not asked for.
    """

    caught_up_ms: int = LONG_AGO_MS
    fetch_ms: int = LONG_AGO_MS
    leader_end: int = 0
    offset: int = -1
    behind_ms: int = LONG_AGO_MS


class CaughtUp(Answers):
    """The clocks of the followers of all leaders."""

    def __init__(self, cluster: Cluster, failed: Failed) -> None:
        """Starts before the first leader."""
        super().__init__(cluster, failed)
        self._lag_max_ms = cluster.context.scenario.timers.replica_lag_max_ms
        self._clocks: dict[str, dict[str, Clock]] = {}
        self._joined_ms: dict[tuple[str, str], int] = {}
        self._left_ms: dict[tuple[str, str], int] = {}
        self._fetch: tuple[of.FetchRequest, int] | None = None
        self._answered = False

    def after(self, event: Event) -> None:
        """Trusts the in-sync followers of a new leader; notes who joins, by its position alone."""
        if isinstance(event, IsrChanged):
            if event.joined is not None:
                self._joined_ms[event.replica, event.joined] = self.context.now_ms
        elif isinstance(event, Appended):
            leadership = self.nodes[event.replica].replica.leadership
            positions = {} if leadership is None else leadership.positions
            for name, clock in self._clocks.get(event.replica, {}).items():
                # Over a hole at the log end a position may be more than was asked for (read_end).
                if max(clock.offset, positions.get(name, -1)) >= event.batch.base_offset:
                    clock.behind_ms = self.context.now_ms
        elif isinstance(event, LeaderElected):
            now_ms, name = self.context.now_ms, event.replica
            trusted = event.isr if name in event.isr else ()
            self._clocks[name] = {one: Clock(now_ms, now_ms) for one in trusted if one != name}

    def since_ms(self, leader: str, follower: str) -> int:
        """When a follower was caught up last; long ago if it never was."""
        clock = self._clocks.get(leader, {}).get(follower)
        return LONG_AGO_MS if clock is None else clock.caught_up_ms

    def receives(self, name: str, message: Any, *, overdue: bool) -> None:
        """Notes a fetch that a leader may count, and where its log ends."""
        node, self._fetch, self._answered = self.nodes[name], None, False
        if not isinstance(message, of.FetchRequest) or node.leader is None:
            return
        # A late copy of one that waits already does not count; one that comes after its copy does.
        if not overdue or node.leader.fetches.waiting.get(message.follower) is not message:
            self._fetch = message, node.replica.log.log_end_offset

    def sent(self, source: str, target: str, message: Any) -> None:
        """Notes a fetch that is answered with records; judges who is to leave the in-sync set."""
        if isinstance(message, of.FetchResponse):
            if self._fetch is not None and message.answer is of.RECORDS:
                fetch, _ = self._fetch
                asked = (fetch.follower, fetch.correlation_id)
                self._answered = self._answered or asked == (target, message.correlation_id)
        elif isinstance(message, of.AlterPartitionRequest):
            self._judge_leaving(self.nodes[source], message)

    def handled(self, name: str, message: Any) -> None:
        """Counts a fetch that is answered or waits, and looks for followers that lag."""
        node = self.nodes[name]
        if self._fetch is not None and node.leader is not None:
            fetch, end = self._fetch
            if self._answered or node.leader.fetches.waiting.get(fetch.follower) is fetch:
                clock = self._clocks.setdefault(name, {}).setdefault(fetch.follower, Clock())
                self._count(clock, self._believed(node, fetch.offset, end), end)
                self._judge_belief(node, fetch.follower, clock)
                self._look_for_laggards(node)
        self._fetch = None

    def _judge_belief(self, node: Node, follower: str, clock: Clock) -> None:
        """Judges what a leader believes; it may have refused a fetch, and believe less."""
        leadership = node.replica.leadership
        if leadership is None or self.rules.replication.commit != "isr":
            return
        times = leadership.fetch_times.get(follower)
        if times is not None and times.caught_up_ms > clock.caught_up_ms:
            what = f"{follower} was caught up"
            self.wrong(node.name, what, times.caught_up_ms, clock.caught_up_ms)

    def _believed(self, node: Node, offset: int, end: int) -> int:
        """What a fetch says that a follower has: with `read_end` a hole at the log end as well."""
        last = node.replica.log.last_batch()
        if (
            self.rules.replication.follower_position == "request"
            or self.rules.cleaner.fix_applied.announces_gaps
            or (last is not None and last.last_offset >= offset)
        ):
            return offset
        return max(offset, end)

    def _count(self, clock: Clock, offset: int, end: int) -> None:
        now_ms = self.context.now_ms
        if offset >= end:
            clock.caught_up_ms = now_ms
        elif offset >= clock.leader_end and clock.fetch_ms > LONG_AGO_MS:
            clock.caught_up_ms = max(clock.caught_up_ms, clock.fetch_ms)
        clock.fetch_ms, clock.leader_end, clock.offset = now_ms, end, offset

    def _judge_leaving(self, node: Node, request: of.AlterPartitionRequest) -> None:
        leadership, now_ms = node.replica.leadership, self.context.now_ms
        if leadership is None:
            return
        for follower in leadership.isr:
            if follower not in request.new_isr:
                self._left_ms[node.name, follower] = now_ms
                lag_ms = now_ms - self.since_ms(node.name, follower)
                if lag_ms <= self._lag_max_ms:
                    self.wrong(node.name, f"{follower} leaves", f"after {lag_ms} ms", "it stays")

    def _look_for_laggards(self, node: Node) -> None:
        leadership, now_ms, name = node.replica.leadership, self.context.now_ms, node.name
        if leadership is None or self.rules.replication.commit != "isr":
            return
        for follower in leadership.isr:
            at_end = leadership.positions.get(follower) == node.replica.log.log_end_offset
            if follower == name or at_end or follower not in self._clocks[name]:
                continue
            joined_ms = self._joined_ms.get((name, follower), LONG_AGO_MS)
            behind_ms = self._clocks[name][follower].behind_ms
            lag_ms = now_ms - max(joined_ms, behind_ms, self.since_ms(name, follower))
            asked_ms = now_ms - self._left_ms.get((name, follower), LONG_AGO_MS)
            if lag_ms > 4 * self._lag_max_ms and asked_ms > 3 * self._lag_max_ms:
                self.wrong(name, f"{follower} stays", f"after {lag_ms} ms", "it leaves")
