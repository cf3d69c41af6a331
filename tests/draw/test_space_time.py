"""The space-time diagram: lanes, bands of leaders, messages, faults, what is down."""

import pytest

from sim.diagnose.draw import DrawnCase
from sim.diagnose.draw.scene import Scene
from sim.diagnose.draw.shapes import Rect, Text
from sim.diagnose.draw.space_time import HEAD, ROW, SpaceTime
from sim.protocol import events as on
from sim.protocol.events import Event
from sim.protocol.log import Record
from sim.protocol.log.record import data_batch

BATCH = data_batch((Record(0, "k", "v", uid=1),), epoch=1)
WRITTEN = on.Appended("a", BATCH)
ADDED = [on.ReplicaAdded("a"), on.ReplicaAdded("b")]
A_LEADS = on.LeaderElected("a", 1, 0, ("a", "b"), ("a", "b"))
B_LEADS = on.LeaderElected("b", 2, 0, ("b",), ("a", "b"))
DOWN, BACK = on.ReplicaCrashed("b", 0, 0), on.ReplicaRestarted("b", 0, 0)
CUT_OFF = on.FaultInjected("b", "partition", "for 2 ms")
HEALED = on.FaultEnded("b", "partition")


def seen(*events: Event, shown: int = 0) -> set[str]:
    """What a diagram has, which shows events from one of them on: `look lane row -> lane row`."""
    timed = list(enumerate([*ADDED, *events]))
    positions = range(len(ADDED) + shown, len(timed))
    shapes = SpaceTime(Scene(DrawnCase(timed)), positions, (), sentences=False).picture().shapes
    lanes = {one.x: one.text for one in shapes if isinstance(one, Text) and one.anchor == "middle"}
    found = set()
    for shape in shapes:
        if isinstance(shape, Text):
            continue
        points = getattr(shape, "points", ())
        if isinstance(shape, Rect):
            middle = shape.x + shape.width / 2
            points = ((middle, shape.y), (middle, shape.y + shape.height))
        start, end = (
            f"{lanes[min(lanes, key=lambda lane, x=x: abs(lane - x))]} {int((y - HEAD) // ROW)}"
            for x, y in (points[0], points[-1])
        )
        found.add(f"{shape.look} {start} -> {end}")
    return found


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (  # a leader is a band until it stops, whatever is elected elsewhere
            (A_LEADS, WRITTEN, on.LeaderResigned("a", 1), B_LEADS),
            {"band1 a 0 -> a 2", "band0 b 3 -> b 4"},
        ),
        ((A_LEADS, B_LEADS), {"band1 a 0 -> a 2", "band0 b 1 -> b 2"}),
        (  # a copy goes from its leader to the follower, and the position back
            (WRITTEN, on.Copied("b", "a", 0, (BATCH,), 1), on.PositionRecorded("a", "b", 1)),
            {"append a 0 -> a 0", "message a 1 -> b 1", "answer b 2 -> a 2"},
        ),
        (  # clients and the controller have lanes where they have a part
            (WRITTEN, on.Consumed("a", "reader", 0, 1, BATCH.records, 5)),
            {"message a 1 -> reader 1"},
        ),
        ((on.UncleanElection("b", 2, "so"),), {"answer controller 0 -> b 0"}),
        (  # who is down has a dotted lane until it is back
            (WRITTEN, DOWN, WRITTEN, BACK),
            {"crash b 1 -> b 1", "down b 1 -> b 3", "lane b 3 -> b 4"},
        ),
        (  # a fault that lasts has a line beside the lane; one that is over at once has none
            (CUT_OFF, WRITTEN, HEALED),
            {"crash b 0 -> b 0", "fault b 0 -> b 2"},
        ),
        ((CUT_OFF, CUT_OFF, HEALED), {"fault b 0 -> b 3"}),
        ((on.FaultInjected("a", "roll", ""), WRITTEN), {"other a 0 -> a 0"}),
        ((on.SnapshotTaken("a", 0, 0, ()),), {"snapshot a 0 -> a 0"}),
        ((on.HighWatermarkMoved("a", 0, leading=False),), {"advance a 0 -> a 0"}),
    ],
)
def test_what_happened_is_where_it_happened(events: tuple[Event, ...], expected: set[str]) -> None:
    found, looks = seen(*events), {each.split()[0] for each in expected}
    others = looks - {"lane", "down", "fault", "sent", "crash"}  # of these there are no more
    assert expected <= found
    assert {each for each in found if each.split()[0] in others} <= expected
    assert ("fault" in looks) == any(each.startswith("fault") for each in found)


def test_what_is_not_shown_still_counts_for_bands_and_lanes() -> None:
    found = seen(A_LEADS, on.LeaderResigned("a", 1), B_LEADS, DOWN, WRITTEN, shown=4)

    assert not any(each.startswith("band") for each in found)  # b crashed before
    assert "down b -1 -> b 1" in found
    assert "band0 b -1 -> b 1" in seen(A_LEADS, B_LEADS, WRITTEN, shown=2)
