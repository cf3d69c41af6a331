"""Defects planted in the core that only audits find."""

from typing import Any

import pytest

from sim.protocol.compaction.copying import Copier, Fate
from sim.protocol.events import (
    Event,
    PositionRecorded,
)
from sim.protocol.log import Batch, LeaderEpochCache, Log
from sim.protocol.log.producers import ProducerStates, SentBatch
from sim.protocol.replication import produce
from sim.protocol.replication.messages import ConsumerFetchResponse
from sim.protocol.replication.reading import Fetched, Position, receive_consumer_fetch
from sim.protocol.replication.replica import Replica
from sim.protocol.rules import Rules
from sim.simulate.cluster.producer import Producer
from tests.check.defects import Plant, Planted, now_and_then


def producer_skips_a_number(patch: pytest.MonkeyPatch) -> None:
    """Now and then a producer leaves a sequence number out."""
    right, now = Producer._request_of, now_and_then(7)

    def wrong(self: Producer, *decided: Any) -> Any:
        self._sequence += self.idempotent and now()
        return right(self, *decided)

    patch.setattr(Producer, "_request_of", wrong)


def cut_keeps_what_producers_sent(patch: pytest.MonkeyPatch) -> None:
    """After a cut a log knows its producers as before."""
    patch.setattr(Log, "_restore_producers", lambda self: None)


def cut_forgets_open_transactions(patch: pytest.MonkeyPatch) -> None:
    """After a cut nobody is read from the log behind the snapshot of producers."""
    patch.setattr(Log, "_read_producers", lambda self, start: None)


def aborted_index_is_lost_by_cleaning(patch: pytest.MonkeyPatch) -> None:
    """A cleaned segment has no index of aborted transactions."""
    right = Copier.copy_group

    def wrong(self: Copier, group: Any) -> Any:
        merged = right(self, group)
        merged.aborted = []
        return merged

    patch.setattr(Copier, "copy_group", wrong)


def epoch_starts_one_late(patch: pytest.MonkeyPatch) -> None:
    """An epoch that begins with a batch is noted one offset further, now and then."""
    right, now = LeaderEpochCache.assign, now_and_then(3)

    def wrong(self: LeaderEpochCache, epoch: int, start_offset: int) -> None:
        right(self, epoch, start_offset + (1 if epoch > self.latest and now() else 0))

    patch.setattr(LeaderEpochCache, "assign", wrong)


def recovery_point_stays_behind(patch: pytest.MonkeyPatch) -> None:
    """A roll does not flush what it closes."""
    right = Log.roll

    def wrong(self: Log, base_offset: int | None = None, *, now_ms: int) -> None:
        flushed = self.flushed_end
        right(self, base_offset, now_ms=now_ms)
        self.flushed_end = flushed

    patch.setattr(Log, "roll", wrong)


def tombstone_is_overlooked(patch: pytest.MonkeyPatch) -> None:
    """Now and then a tombstone whose time has come stays."""
    right, now = Copier._fate, now_and_then(3)

    def wrong(self: Copier, record: Any, batch: Batch, *, mapped: bool) -> Fate:
        fate = right(self, record, batch, mapped=mapped)
        gone = self.result.removed["tombstone"]
        if fate is Fate.GOES and gone and gone[-1] is record and now():
            gone.pop()
            return Fate.STAYS_AS_TOMBSTONE
        return fate

    patch.setattr(Copier, "_fate", wrong)


def marker_gets_no_time(patch: pytest.MonkeyPatch) -> None:
    """A marker of which nothing is left is copied as it is."""
    right, now = Copier._stamped, now_and_then(2)

    def wrong(self: Copier, batch: Batch, records: Any) -> Batch:
        return batch if batch.control is not None and now() else right(self, batch, records)

    patch.setattr(Copier, "_stamped", wrong)


def answer_at_once(patch: pytest.MonkeyPatch) -> None:
    """A broker that answers acks=all as it answers acks=1."""
    right = produce.produce

    def hasty(*args: Any, **more: Any) -> Any:
        return right(*args, **more)._replace(due_above=produce.AT_ONCE)

    patch.setattr("sim.simulate.cluster.clients.produce", hasty)


def forget_what_was_sent(patch: pytest.MonkeyPatch) -> None:
    """A broker that recognises no repetition."""
    patch.setattr(ProducerStates, "overtaken", lambda *_: None)


def take_the_next_for_the_last(patch: pytest.MonkeyPatch) -> None:
    """A broker that takes the batch after the newest one for that one, now and then."""
    overtaken, repeated = ProducerStates.overtaken, ProducerStates.repeated

    def newest(
        states: ProducerStates, producer_id: int, epoch: int, first: int
    ) -> SentBatch | None:
        producer = states.producers.get(producer_id)
        if producer is not None and producer.batches and first % 7 == 3:
            return producer.batches[-1]
        return overtaken(states, producer_id, epoch, first)

    def known(states: ProducerStates, *asked: int) -> SentBatch | None:
        return repeated(states, *asked) or newest(states, *asked[:3])

    patch.setattr(ProducerStates, "overtaken", newest)
    patch.setattr(ProducerStates, "repeated", known)


def read_the_last_offset_again(patch: pytest.MonkeyPatch) -> None:
    """A consumer that goes on one offset too early."""

    def one_back(
        position: Position, response: ConsumerFetchResponse, *, committed: bool
    ) -> Fetched:
        fetched = receive_consumer_fetch(position, response, committed=committed)
        if fetched.end > fetched.start + 1:
            position.offset -= 1
        return fetched

    patch.setattr("sim.simulate.cluster.consumer.receive_consumer_fetch", one_back)


def move_the_high_watermark_with_appends_alone(patch: pytest.MonkeyPatch) -> None:
    """A leader that notes positions and does not look what they commit."""

    def noted(leader: Replica, follower: str, position: int, rules: Rules) -> list[Event]:
        assert leader.leadership is not None
        leader.leadership.positions[follower] = position
        return [PositionRecorded(leader.name, follower, position)]

    patch.setattr("sim.protocol.replication.leader.record_position", noted)


LOSSY = {
    "sends": (40, 80),
    "duration_ms": 4_000,
    "not_idempotent": 0.0,
    "transactional": 0.0,
    "loss": (0.05, 0.1),
}


def _promise(plant: Plant, found_by: str) -> Planted:
    """A mistake of a broker or a client that keeps replicas equal."""
    return Planted(plant, found_by, {"fix": "empty_batch"}, "kafka-4.0", LOSSY)


PLANTED: dict[str, Planted] = {
    "a producer that skips a sequence number": _promise(
        producer_skips_a_number, "producer-sequences"
    ),
    "a cut after which producers are known as before": Planted(
        cut_keeps_what_producers_sent, "derived-state", mix="storm"
    ),
    "a cut after which producers are not read": Planted(
        cut_forgets_open_transactions, "derived-state", mix="storm"
    ),
    "a cleaner that loses the index of aborted transactions": Planted(
        aborted_index_is_lost_by_cleaning, "derived-state", mix="storm"
    ),
    "an epoch that is noted one offset further": Planted(epoch_starts_one_late, "derived-state"),
    "a roll that flushes nothing": Planted(recovery_point_stays_behind, "derived-state"),
    "a cleaner that overlooks a tombstone that is due": Planted(
        tombstone_is_overlooked, "removed-when-due"
    ),
    "a cleaner that forgets to give a marker its time": Planted(
        marker_gets_no_time, "removed-when-due", mix="storm"
    ),
    "a broker that answers before the commit": _promise(answer_at_once, "acknowledged-committed"),
    "a broker that recognises no repetition": _promise(forget_what_was_sent, "producer-sequences"),
    "a broker that takes the next batch for the last": _promise(
        take_the_next_for_the_last, "producer-sequences"
    ),
    "a consumer that reads the last offset again": _promise(
        read_the_last_offset_again, "consumer-continues"
    ),
    "a leader that commits with appends alone": _promise(
        move_the_high_watermark_with_appends_alone, "high-watermark-advances"
    ),
}
"""What is planted, by its name."""
