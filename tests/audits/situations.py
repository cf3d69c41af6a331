"""Situations in which a subtle error of Replog shows, and which random runs seldom meet.

They are counted, not judged: a run that meets none of them says nothing about the guards that they
are for. Most need messages, which no event tells, so they are not in `sim.check.coverage`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from sim.plugins import Report
from sim.protocol.events import (
    Cleaned,
    Event,
    FaultInjected,
    PrefixDeleted,
    RemovalBoundMoved,
    ReplicaCrashed,
)
from sim.protocol.replication import messages as of
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.network import CONTROLLER, Overdue

SITUATIONS: Final[dict[str, str]] = {
    "fetch-of-an-earlier-life": "a fetch came of a life that was over, and none of a later one had",
    "answer-to-an-earlier-life": "an answer came to a request of before the receiver's last crash",
    "word-of-an-earlier-epoch": "a vote or a leader's word came of an epoch that its sender had "
    "left, and nothing newer of that sender had",
    "records-of-an-earlier-epoch": "records came of an epoch that their leader had left, and "
    "nothing newer of that leader had",
    "prefix-deleted-in-batch": "a log start moved into the middle of a batch",
    "marker-at-removal-bound": "a pass met a marker exactly at the bound of coordinated removal",
    "bound-would-fall": "a leader sent a lower bound of removal than its receiver had",
    "consumer-sent-back-by-epoch": "a consumer was past the end of its last epoch in a log",
    "fetches-freed-together": "two fetches waited at different offsets, and one event freed both",
    "crash-before-tombstones-go": "a crash in a pass left tombstones that the next pass removed",
    "crash-after-tombstones-went": "a crash in a pass came when tombstones were gone and the "
    "checkpoint was not saved",
    "crash-between-tombstones": "a crash in a pass left some of the tombstones that it removed",
}
"""Every situation by name, with its meaning."""

_WORDS: Final[dict[type, str]] = {
    of.VoteRequest: "candidate",
    of.VoteResponse: "voter",
    of.BeginQuorumEpochRequest: "leader",
    of.RemovalBoundsRequest: "leader",
}
"""Messages with an epoch, and the field that names their sender."""


class Situations:
    """Notes the situations of one run.

    Attributes:
        met: The names of those that occurred; shared with the caller.
    """

    def __init__(self, cluster: Cluster, _report: Report, met: set[str]) -> None:
        """Starts before the replicas connect."""
        self._nodes = cluster.nodes
        self.met = met
        self._newest: dict[tuple[str, str, str], int] = {}
        self._markers_below: dict[str, int] = {}
        self._cleaned: dict[str, tuple[int, bool]] = {}
        self._interrupted: dict[str, bool] = {}
        self._last_number: dict[str, int] = {}

    def over(self, name: str, receive: Callable[[Any], None]) -> Callable[[Any], None]:
        """Takes the messages for an address, and hands them on."""
        if name == CONTROLLER:
            return receive

        def take(message: Any) -> None:
            said = message.message if type(message) is Overdue else message
            if name in self._nodes and self._nodes[name].replica.up:
                self._note_message(name, said)
            receive(message)

        return take

    def _note_message(self, name: str, said: Any) -> None:
        kind = type(said)
        if kind is of.FetchRequest:
            life = self._life_of(said.follower)
            self._note_stale(name, said.follower, "life", said.replica_epoch, life)
        elif kind is of.FetchResponse:
            self._note_answer(name, said)
            if said.answer is of.RECORDS:
                self._note_stale(name, said.leader, "records", said.epoch, self._epoch(said.leader))
        elif kind in _WORDS:
            sender = getattr(said, _WORDS[kind])
            self._note_stale(name, sender, "word", said.epoch, self._epoch(sender))
            if kind is of.RemovalBoundsRequest:
                self._note_bounds(name, said.bounds)
        elif kind is of.ConsumerFetchRequest:
            self._note_reader(name, said)

    def _life_of(self, name: str) -> int:
        return self._nodes[name].incarnation if name in self._nodes else 0

    def _epoch(self, name: str) -> int:
        return self._nodes[name].replica.epoch if name in self._nodes else 0

    def _note_stale(self, name: str, sender: str, what: str, stamp: int, now: int) -> None:
        """Notes a message that its sender would not send any more, if nothing says so yet."""
        place = (name, sender, what)
        newest = self._newest.get(place, 0)
        replica = self._nodes[name].replica
        unknown = replica.leadership is not None if what == "life" else stamp >= replica.epoch
        if stamp < now and stamp >= newest and unknown:
            self.met.add(_STALE[what])
        self._newest[place] = max(stamp, newest)

    def _note_answer(self, name: str, said: of.FetchResponse) -> None:
        if said.correlation_id <= self._last_number.get(name, 0):
            self.met.add("answer-to-an-earlier-life")

    def _note_bounds(self, name: str, bounds: of.RemovalBounds) -> None:
        replica = self._nodes[name].replica
        known = (replica.removal_bound, replica.marker_removal_bound)
        if bounds.tombstones < known[0] or bounds.markers < known[1]:
            self.met.add("bound-would-fall")

    def _note_reader(self, name: str, said: of.ConsumerFetchRequest) -> None:
        replica = self._nodes[name].replica
        if said.last_epoch < 0 or said.checked_with == (name, replica.epoch):
            return
        if said.leader_only and replica.leadership is None:
            return
        later = (one.base_offset for one in replica.log.batches() if one.epoch > said.last_epoch)
        if next(later, replica.log.log_end_offset) < said.offset:
            self.met.add("consumer-sent-back-by-epoch")

    def after(self, at_ms: int, events: Iterable[Event]) -> None:
        """Looks at replicas, now that these things have happened."""
        for event in events:
            if isinstance(event, Cleaned):
                self._note_pass(at_ms, event)
            elif isinstance(event, RemovalBoundMoved):
                self._markers_below[event.replica] = event.marker_offset
            elif isinstance(event, PrefixDeleted):
                self._note_prefix(event)
            elif isinstance(event, FaultInjected) and "during a pass" in event.detail:
                self._note_crash_in_pass(at_ms, event.replica)
            elif isinstance(event, ReplicaCrashed):
                self._last_number[event.replica] = self._nodes[event.replica].fetcher.number
        for node in self._nodes.values():
            if node.leader is not None and len(node.leader.fetches.waiting) > 1:
                self._note_waiting(node.leader.fetches.waiting.values(), node.replica.log)

    def _note_waiting(self, waiting: Iterable[of.FetchRequest], log: Any) -> None:
        """Notes fetches that wait for what is there now: they are about to be answered."""
        freed = {one.offset for one in waiting if log.read(one.offset)}
        if len(freed) > 1:
            self.met.add("fetches-freed-together")

    def _note_prefix(self, event: PrefixDeleted) -> None:
        start = event.log_start_offset
        first = next(iter(self._nodes[event.replica].replica.log.batches()), None)
        if first is not None and first.base_offset < start <= first.last_offset:
            self.met.add("prefix-deleted-in-batch")

    def _note_pass(self, at_ms: int, event: Cleaned) -> None:
        name, bound = event.replica, self._markers_below.get(event.replica, 0)
        if 0 < bound < event.upper_bound:
            for batch in self._nodes[name].replica.log.read(bound):
                if batch.base_offset == bound and batch.control is not None:
                    self.met.add("marker-at-removal-bound")
                break
        removed = any(one.reason == "tombstone" for one in event.removals)
        self._cleaned[name] = at_ms, removed
        if removed and name in self._interrupted:
            between = self._interrupted.pop(name)
            self.met.add("crash-between-tombstones" if between else "crash-before-tombstones-go")

    def _note_crash_in_pass(self, at_ms: int, name: str) -> None:
        when, removed = self._cleaned.get(name, (-1, False))
        went = when == at_ms and removed
        if went:
            self.met.add("crash-after-tombstones-went")
        self._interrupted[name] = went


_STALE: Final = {
    "life": "fetch-of-an-earlier-life",
    "records": "records-of-an-earlier-epoch",
    "word": "word-of-an-earlier-epoch",
}
