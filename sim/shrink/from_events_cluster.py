"""How the steps of a story write, lead and follow as the events of a run say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeAlias

from sim.log import Batch, Control
from sim.replication import Replica
from sim.replication.elections import wins
from sim.shrink.from_events_log import fields_of
from sim.shrink.from_events_making import Making
from sim.trace import (
    Appended,
    Copied,
    Event,
    GapLearned,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    PositionRecorded,
    Truncated,
    UncleanElection,
)

_AT_ONCE = 3
"""So many rounds of fetching until a follower has what it is to have: to part, and to copy."""

Handlers: TypeAlias = dict[type, Callable[[Any], None]]
"""What takes the events of a class."""


class Writing:
    """Records and markers are appended."""

    def __init__(self, making: Making, events: Sequence[tuple[int, Event]]) -> None:
        self.making = making
        self._transactions = _transactions(events, making.choice.records)
        self.handlers: Handlers = {
            Appended: self._appended,
        }

    def _appended(self, event: Appended) -> None:
        replica, batch = self.making.replica(event.replica), event.batch
        if replica is None:
            return
        if batch.control in (Control.COMMIT, Control.ABORT):
            if batch.producer_id in self._transactions:
                marker = "commit" if batch.control is Control.COMMIT else "abort"
                fields = {"marker": marker, "pid": batch.producer_id}
                self._append(replica, batch, batch.base_offset, fields)
            return
        if batch.control is not None:
            self._note_last(replica, batch)
            return
        wanted = self.making.choice.records
        for record in batch.records:
            if wanted is None or record.uid in wanted:
                label = f"u{record.uid}"
                fields = fields_of(
                    record, label, rules=self.making.rules, story=self.making.driver.rules
                )
                if batch.transactional:
                    fields["pid"] = batch.producer_id
                self._append(replica, batch, record.offset, fields)

    def _append(self, replica: Replica, batch: Batch, offset: int, fields: dict[str, Any]) -> None:
        leadership = replica.leadership
        zombie = leadership is None or leadership.epoch != batch.epoch
        epoch = batch.epoch if zombie else None
        end = replica.log.log_end_offset
        self.making.step("append", leader=replica.name, **fields, epoch=epoch)
        if replica.log.log_end_offset > end:
            self._note_last(replica, None, offset)

    def _note_last(self, replica: Replica, batch: Batch | None, offset: int = 0) -> None:
        """What the story's log ends with is what the run has at `offset`, or as `batch`."""
        held = list(replica.log.batches())
        if held and (batch is None or held[-1].control is batch.control):
            self.making.map.note(held[-1], offset if batch is None else batch.base_offset)


class Leading:
    """Leaders are elected, and the in-sync set changes."""

    def __init__(self, making: Making) -> None:
        self.making = making
        self._unclean: set[tuple[str, int]] = set()
        self.handlers: Handlers = {
            IsrChanged: self._isr_changed,
            LeaderElected: self._elected,
            UncleanElection: self._unclean_election,
        }

    def _unclean_election(self, event: UncleanElection) -> None:
        self._unclean.add((event.replica, event.epoch))

    def _elected(self, event: LeaderElected) -> None:
        driver = self.making.driver
        candidate = self.making.replica(event.replica)
        if candidate is None:
            return
        if not candidate.up:
            self.making.step("restart", replica=event.replica)
        votes = None
        op = "elect"
        if self.making.rules.replication.commit == "isr":
            unclean = (event.replica, event.epoch) in self._unclean
            if not unclean and event.replica in driver.isr:
                op = "elect_from_isr" if driver.leader is not None else "elect"
        elif driver.leader is not None:
            votes = self._votes(candidate, event.epoch)
        self.making.step(op, leader=event.replica, epoch=event.epoch, votes=votes)
        if self.making.rules.replication.commit == "isr":
            self._set_isr(event.isr)

    def _votes(self, candidate: Replica, epoch: int) -> tuple[str, ...] | None:
        """A majority that votes for the candidate in the story; None = none does or has to."""
        driver = self.making.driver
        voters = driver.story.voters
        asked = [driver.replicas[name] for name in voters if name in driver.replicas]
        granting = wins(candidate, asked, voter_count=len(voters), epoch=epoch, rules=driver.rules)
        if granting is None:
            return None
        ranked = sorted(granting, key=lambda voter: voter.leadership is not None)
        return tuple(voter.name for voter in ranked[: len(voters) // 2]) or None

    def _set_isr(self, isr: tuple[str, ...]) -> None:
        known = tuple(name for name in isr if name in self.making.driver.replicas)
        if set(known) != set(self.making.driver.isr):
            self.making.step("isr", isr=known)

    def _isr_changed(self, event: IsrChanged) -> None:
        driver = self.making.driver
        if event.replica != driver.leader:
            return
        if event.joined is not None and event.joined not in driver.isr:
            if event.joined in driver.replicas:
                self.making.report(event.replica, event.joined)
                self.making.step("expand_isr", replica=event.joined)
            return
        self._set_isr(event.isr)


class Following:
    """Followers copy, cut and learn what is committed, and leaders where they are."""

    def __init__(self, making: Making) -> None:
        self.making = making
        self.handlers: Handlers = {
            Copied: self._copied,
            GapLearned: self._gap,
            HighWatermarkMoved: self._high_watermark,
            PositionRecorded: self._position,
            Truncated: self._truncated,
        }

    def _position(self, event: PositionRecorded) -> None:
        pair = self.making.pair(event.follower, event.replica)
        if pair is None:
            return
        fetcher, source = pair
        assert source.leadership is not None
        wanted = self.making.map.in_story(source, event.position)
        if source.leadership.positions.get(event.follower) != wanted:
            self.making.follow(fetcher, source)
            self.making.fetch(fetcher, source, 0)

    def _copied(self, event: Copied) -> None:
        self._bring(event.replica, event.leader, event.log_end_offset)

    def _gap(self, event: GapLearned) -> None:
        self._bring(event.replica, event.leader, event.log_end_offset)

    def _bring(self, follower: str, leader: str, bound: int) -> None:
        """Fetch until the follower has what its leader has below a bound of the run."""
        pair = self.making.pair(follower, leader)
        if pair is None:
            return
        fetcher, source = pair
        for _ in range(_AT_ONCE):
            end = fetcher.log.log_end_offset
            wanted = self.making.map.in_story(source, bound)
            if end >= wanted:
                return
            count = self.making.map.count_below(source, end, bound)
            everything = count == self.making.map.count_below(source, end, 1 << 62)
            self.making.follow(fetcher, source)
            free = everything or not self.making.choice.exact
            self.making.fetch(fetcher, source, None if free else count)
            if not count or fetcher.log.log_end_offset >= max(wanted, end + 1):
                return

    def _truncated(self, event: Truncated) -> None:
        fetcher, leader = self.making.replica(event.replica), self.making.driver.leader
        pair = None if leader is None else self.making.pair(event.replica, leader)
        if fetcher is None or pair is None:
            return
        target = event.target if event.lowest is None else event.lowest
        end = fetcher.log.log_end_offset
        # What stood at the end may be cleaned away: then its place says nothing of the target.
        if end <= self.making.map.in_story(fetcher, target) and end <= pair[1].log.log_end_offset:
            return
        if self.making.rules.replication.truncation == "epoch_diverging":
            self.making.fetch(*pair)
        else:
            self.making.follow(*pair)

    def _high_watermark(self, event: HighWatermarkMoved) -> None:
        fetcher, leader = self.making.replica(event.replica), self.making.driver.leader
        if event.leading or fetcher is None or leader is None:
            return
        pair = self.making.pair(event.replica, leader)
        wanted = self.making.map.in_story(fetcher, event.high_watermark)
        known = fetcher.log.high_watermark
        if pair is None or not known < wanted <= fetcher.log.log_end_offset:
            return
        if pair[1].log.high_watermark > known:
            self.making.follow(*pair)
            self.making.fetch(*pair, 0)


def _transactions(
    events: Sequence[tuple[int, Event]], wanted: Collection[int] | None
) -> frozenset[int]:
    """The ids of the producers whose transactions are in the story."""
    return frozenset(
        event.batch.producer_id
        for _, event in events
        if isinstance(event, Appended)
        and event.batch.transactional
        and (wanted is None or any(record.uid in wanted for record in event.batch.records))
    )
