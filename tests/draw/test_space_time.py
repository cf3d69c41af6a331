"""The space-time diagram: lanes, bands of leaders, messages, faults, what is down."""

import pytest

from sim.draw import Case
from sim.draw.scene import Scene
from sim.draw.shapes import Path, Picture, Rect, Text
from sim.draw.space_time import HEAD, ROW, SpaceTime
from sim.log import Record
from sim.log.record import data_batch
from sim.trace import (
    Appended,
    Consumed,
    Copied,
    Event,
    FaultEnded,
    FaultInjected,
    HighWatermarkMoved,
    LeaderElected,
    LeaderResigned,
    PositionRecorded,
    ReplicaAdded,
    ReplicaCrashed,
    ReplicaRestarted,
    SnapshotTaken,
    UncleanElection,
)

BATCH = data_batch((Record(0, "k", "v", uid=1),), epoch=1)
ADDED: list[Event] = [ReplicaAdded("a"), ReplicaAdded("b")]


def drawn(*events: Event, shown: list[int] | None = None) -> Picture:
    timed = [(at, event) for at, event in enumerate([*ADDED, *events])]
    positions = list(range(len(ADDED), len(timed))) if shown is None else shown
    return SpaceTime(Scene(Case(timed)), positions).picture()


def row_of(y: float) -> int:
    """In which row a height is."""
    return int((y - HEAD) // ROW)


def lanes(picture: Picture) -> dict[str, float]:
    """Name -> the middle of its lane."""
    return {
        shape.text: shape.x
        for shape in picture.shapes
        if isinstance(shape, Text) and shape.anchor == "middle"
    }


def lines(picture: Picture, look: str) -> list[Path]:
    return [each for each in picture.shapes if isinstance(each, Path) and each.look == look]


def bands(picture: Picture) -> list[Rect]:
    found = [each for each in picture.shapes if isinstance(each, Rect)]
    return [each for each in found if each.look.startswith("band")]


def test_a_leader_is_a_band_from_its_election_until_it_stops() -> None:
    picture = drawn(
        LeaderElected("a", 1, 0, ("a", "b"), ("a", "b")),
        Appended("a", BATCH),
        LeaderResigned("a", 1),
        LeaderElected("b", 2, 1, ("b",), ("a", "b")),
    )

    first, second = bands(picture)
    assert (row_of(first.y), row_of(first.y + first.height)) == (0, 2)
    assert first.title == "a leads epoch 1"
    assert row_of(second.y) == 3
    assert second.y + second.height == picture.height
    assert {first.look, second.look} == {"band0", "band1"}


def test_a_copy_goes_from_its_leader_to_the_follower_and_the_position_back() -> None:
    picture = drawn(
        Appended("a", BATCH), Copied("b", "a", 0, (BATCH,), 1), PositionRecorded("a", "b", 1)
    )
    at = lanes(picture)

    (copy,), (position,) = lines(picture, "message"), lines(picture, "answer")
    assert abs(copy.points[0][0] - at["a"]) < 5
    assert abs(copy.points[1][0] - at["b"]) < 10
    assert abs(position.points[0][0] - at["b"]) < 5
    assert abs(position.points[1][0] - at["a"]) < 10
    assert row_of(copy.points[1][1]) == 1
    assert row_of(position.points[1][1]) == 2


def test_clients_and_the_controller_have_lanes_where_they_have_a_part() -> None:
    nobody = drawn(Appended("a", BATCH))
    both = drawn(
        Consumed("a", "reader", 0, 1, BATCH.records, 5), UncleanElection("b", 2, "it led last")
    )

    assert list(lanes(nobody)) == ["a", "b"]
    assert list(lanes(both)) == ["a", "b", "reader", "controller"]


def test_who_is_down_has_a_dotted_lane_until_it_is_back() -> None:
    picture = drawn(
        Appended("a", BATCH),
        ReplicaCrashed("b", 0, 0),
        Appended("a", BATCH),
        ReplicaRestarted("b", 0, 0),
    )

    (down,) = lines(picture, "down")
    assert [row_of(y) for _, y in down.points] == [1, 3]


@pytest.mark.parametrize(
    ("event", "sign"),
    [
        (Appended("a", BATCH), "append"),
        (LeaderElected("a", 1, 0, ("a",), ("a",)), "election"),
        (FaultInjected("a", "roll", "a new segment"), "other"),  # over at once
        (FaultInjected("a", "partition", "for 2 ms"), "crash"),
        (SnapshotTaken("a", 0, 0, ()), "snapshot"),
        (HighWatermarkMoved("a", 0, leading=False), "advance"),
    ],
)
def test_what_a_replica_does_by_itself_is_a_sign_on_its_lane(event: Event, sign: str) -> None:
    picture = drawn(event)
    ((*_, (x, _)),) = [each.points for each in lines(picture, sign)]
    assert abs(x - lanes(picture)["a"]) < 10


def test_a_fault_that_lasts_has_a_line_beside_the_lane() -> None:
    picture = drawn(
        FaultInjected("b", "partition", "for 2 ms"),
        Appended("a", BATCH),
        FaultEnded("b", "partition"),
        FaultInjected("a", "roll", "a new segment"),
        FaultInjected("a", "slow_cleaner", "for ever"),
    )

    partition, slow = lines(picture, "fault")
    assert [row_of(y) for _, y in partition.points] == [0, 2]
    assert row_of(slow.points[0][1]) == 4
    assert slow.points[1][1] == picture.height
    assert len(lines(picture, "crash")) == 2


def test_what_is_not_shown_still_counts_for_bands_and_lanes() -> None:
    picture = drawn(
        LeaderElected("a", 1, 0, ("a",), ("a",)),
        LeaderResigned("a", 1),
        LeaderElected("b", 2, 0, ("b",), ("b",)),
        ReplicaCrashed("a", 0, 0),
        Appended("b", BATCH),
        shown=[6],
    )

    (band,) = bands(picture)
    assert band.title == "b leads epoch 2"
    assert len(lines(picture, "down")) == 1
