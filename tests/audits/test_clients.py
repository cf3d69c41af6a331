"""What a consumer and a producer say and do that is not true of them is reported."""

from typing import Any

import pytest
from msgspec.structs import replace

from sim.protocol import events as on
from sim.protocol.log.record import Record, data_batch
from sim.protocol.replication import messages as of
from tests.audits.clients import Clients
from tests.audits.test_answers import CHECKED, World
from tests.audits.test_messages import BY_CONTROLLER


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"offset": 5, "last_epoch": 1}, []),
        ({"offset": 6, "last_epoch": 0, "checked_with": ("r1", 1)}, []),
        ({"offset": 6, "last_epoch": 1, "checked_with": ("r1", 1)}, ["reads on at"]),
        ({"offset": 7, "last_epoch": 0, "checked_with": ("r1", 1)}, ["reads on at"]),
        ({"offset": 6, "last_epoch": 0}, ["reads on at"]),
    ],
)
def test_a_consumer_asks_from_where_it_was_or_an_answer_has_led_it(
    change: dict[str, Any], told: list[str]
) -> None:
    world = World(BY_CONTROLLER.with_values({"consumer_validation": "epoch"}))
    clients = next(one for one in world.observer.answers if isinstance(one, Clients))
    answer = of.ConsumerFetchResponse(of.NO_ERROR, "r1", 1, start=6, diverging_epoch=0)
    clients.sent("c1", "r1", CHECKED)
    clients.sent("r1", "c1", answer)
    clients.sent("c1", "r1", replace(CHECKED, **change))

    assert world.told == [f"answer {one}" for one in told]


@pytest.mark.parametrize("late_ms", [0, 1])
def test_what_a_consumer_takes_was_read_when_the_answer_left(late_ms: int) -> None:
    world = World(BY_CONTROLLER)
    left_ms = world.cluster.context.now_ms
    world.says("c1", "r1", CHECKED)
    world.says("r1", "c1", of.ConsumerFetchResponse(of.NO_ERROR, "r1", 1, start=5, end=6))
    world.wait(late_ms)
    consumed = on.Consumed("r1", "c1", 5, 6, (), left_ms + late_ms)

    assert world.sees(consumed) == ["c1 reads at"] * late_ms


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("error", [of.NO_ERROR, of.ErrorCode.INVALID_TIMESTAMP])
def test_a_transaction_is_committed_when_all_of_its_batches_are_written(
    error: of.ErrorCode, *, committed: bool
) -> None:
    """By whichever of its tries: nobody answers the first one."""
    world = World(BY_CONTROLLER)
    for number in (1, 2):
        data = of.ProduceRequest("p1", (), -1, 7, 0, 0, transactional=True, correlation_id=number)
        world.says("p1", "r1", data)
    world.says("r1", "p1", of.ProduceResponse(error, 2))
    marker = of.WriteTxnMarkersRequest("p1", 7, 0, committed=committed)
    told = ["commits without"] * (committed and error is not of.NO_ERROR)

    assert world.says("p1", "r1", marker) == told
    assert world.says("p1", "r1", marker) == []


def test_a_new_instance_ends_what_is_under_way() -> None:
    world = World(BY_CONTROLLER)
    ends = of.WriteTxnMarkersRequest("p2", 7, 1, committed=False, fences=True)
    data = of.ProduceRequest("p1", (), -1, producer_id=7, transactional=True)

    assert world.says("p1", "r1", data) == world.says("p2", "r1", ends) == []
    assert world.says("p2", "r1", ends) == []
    assert world.says("p3", "r1", replace(ends, producer_epoch=2)) == [
        "ends a transaction of before"
    ]
    late = replace(data, producer_epoch=2)
    assert world.says("p2", "r1", late) == []
    assert world.says("p3", "r1", late) == ["writes in the epoch of the marker before it"]
    world.hears(world.leader, ends)
    world.leader.loader.loading = True  # then it handles no write
    world.hears(world.leader, ends)
    assert world.told[1:] == ["answer ends 7 of before"]


@pytest.mark.parametrize(
    ("verification", "begun", "told"),
    [
        ("first_batch", False, ["answer begins a transaction of 7"]),
        ("first_batch", True, []),
        ("none", False, []),
    ],
)
def test_data_begins_a_transaction_that_is_under_way(
    verification: str, begun: bool, told: list[str]
) -> None:
    """A repetition that comes while the marker is on its way begins nothing."""
    world = World(BY_CONTROLLER.with_values({"verification": verification}))
    record, producers = Record(0, "k", "v", 0), world.leader.replica.log.producers
    data = of.ProduceRequest("p1", (record,), -1, 7, 0, 0, transactional=True)
    if begun:
        assert world.says("p1", "r1", data) == []
    for audit in world.observer.answers:
        audit.receives("r1", data, overdue=True)
    producers.note(
        data_batch((record,), epoch=1, producer_id=7, producer_epoch=0, transactional=True)
    )
    for audit in world.observer.answers:
        audit.handled("r1", data)
    ends = of.WriteTxnMarkersRequest("p1", 7, 0, committed=False)
    assert world.told == told
    assert world.says("p1", "r1", ends) == []
    world.hears(world.leader, data, late=True)
    assert world.told == []
