"""A broker or a client with a mistake breaks its law in a few random runs; without it none does."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sim.log.producers import ProducerStates, SentBatch
from sim.replication.messages import ConsumerFetchResponse
from sim.replication.produce import AT_ONCE, ProduceResult, produce
from sim.replication.reading import Fetched, Position, receive_consumer_fetch
from sim.replication.replica import Replica
from sim.rules import Rules, rules_from
from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.scenario.model import Scenario
from sim.timed_run import run_scenario
from sim.trace import Event, PositionRecorded

LAWS = {
    "acknowledged-committed",
    "consumer-continues",
    "high-watermark-advances",
    "producer-sequences",
}
MIX = Mix(
    sends=(40, 80), duration_ms=4_000, not_idempotent=0.0, transactional=0.0, loss=(0.05, 0.1)
)
KAFKA = rules_from({"preset": "kafka-4.0", "fix": "empty_batch"})
RUNS = 30

Plant = Callable[[pytest.MonkeyPatch], None]


def cases() -> list[Scenario]:
    """A few random scenarios."""
    return [generate(seed, MIX).with_rules(KAFKA) for seed in range(RUNS)]


def answer_at_once(patch: pytest.MonkeyPatch) -> None:
    """A broker that answers acks=all as it answers acks=1."""

    def hasty(*args: Any, **more: Any) -> ProduceResult:
        result = produce(*args, **more)
        return ProduceResult(
            result.events,
            result.error,
            result.base_offset,
            result.last_offset,
            AT_ONCE,
            result.uids_used,
            repeated=result.repeated,
        )

    patch.setattr("sim.cluster.produce.produce", hasty)


def forget_what_was_sent(patch: pytest.MonkeyPatch) -> None:
    """A broker that recognises no repetition."""
    patch.setattr(ProducerStates, "overtaken", lambda *_: None)


def take_the_next_for_the_last(patch: pytest.MonkeyPatch) -> None:
    """A broker that takes the batch after the newest one for that one, now and then."""
    overtaken, repeated = ProducerStates.overtaken, ProducerStates.repeated

    def newest(states: ProducerStates, producer_id: int, first: int) -> SentBatch | None:
        producer = states.producers.get(producer_id)
        if producer is not None and producer.batches and first % 7 == 3:
            return producer.batches[-1]
        return overtaken(states, producer_id, first)

    def known(states: ProducerStates, *asked: int) -> SentBatch | None:
        return repeated(states, *asked) or newest(states, asked[0], asked[2])

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

    patch.setattr("sim.cluster.consumer.receive_consumer_fetch", one_back)


def move_the_high_watermark_with_appends_alone(patch: pytest.MonkeyPatch) -> None:
    """A leader that notes positions and does not look what they commit."""

    def noted(leader: Replica, follower: str, position: int, rules: Rules) -> list[Event]:
        assert leader.leadership is not None
        leader.leadership.positions[follower] = position
        return [PositionRecorded(leader.name, follower, position)]

    patch.setattr("sim.replication.leader.record_position", noted)


@pytest.mark.parametrize(
    ("plant", "law"),
    [
        (answer_at_once, "acknowledged-committed"),
        (forget_what_was_sent, "producer-sequences"),
        (take_the_next_for_the_last, "producer-sequences"),
        (read_the_last_offset_again, "consumer-continues"),
        (move_the_high_watermark_with_appends_alone, "high-watermark-advances"),
    ],
)
def test_a_mistake_breaks_its_law_and_no_other_of_these(
    plant: Plant, law: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    found = {name for case in cases() for name in run_scenario(case).violated}

    assert found & LAWS == {law}


def test_without_a_mistake_none_of_these_laws_is_broken() -> None:
    found = {name for case in cases() for name in run_scenario(case).violated}
    acks_one = [replace(case, workload=replace(case.workload, acks="1")) for case in cases()]

    assert found & LAWS == set()
    assert {name for case in acks_one for name in run_scenario(case).violated} & LAWS == set()
