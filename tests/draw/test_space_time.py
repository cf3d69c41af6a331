"""The space-time diagram: lanes, bands of leaders, messages, faults, what is down."""

from pathlib import Path

import pytest

from sim.diagnose.draw.scene import Scene
from sim.diagnose.draw.shapes import Rect, Text
from sim.diagnose.draw.space_time import HEAD, ROW, SpaceTime
from sim.protocol import events as on
from sim.protocol.events import Event
from tests.check.text import Case, cases_of
from tests.draw.stories import drawn_events

CASES = cases_of("space_time.txt", Path(__file__).parent)
"""What is drawn of some events, headed by it."""
ADDED = [on.ReplicaAdded("a"), on.ReplicaAdded("b")]
A_LEADS = on.LeaderElected("a", 1, 0, ("a", "b"), ("a", "b"))
B_LEADS = on.LeaderElected("b", 2, 0, ("b",), ("a", "b"))
DOWN, MOVED = on.ReplicaCrashed("b", 0, 0), on.HighWatermarkMoved("a", 0, leading=False)


def seen(*events: Event, shown: int = 0) -> set[str]:
    """What a diagram has, which shows events from one of them on: `look lane row -> lane row`."""
    timed = list(enumerate([*ADDED, *events]))
    positions = range(len(ADDED) + shown, len(timed))
    shapes = SpaceTime(Scene(drawn_events(timed)), positions, (), sentences=False).picture().shapes
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


@pytest.mark.parametrize("case", CASES, ids=[case.head for case in CASES])
def test_what_happened_is_where_it_happened(case: Case) -> None:
    expected = set(case.head.partition(": ")[0].split("; "))
    found = seen(*[event for _, event in case.happened()[len(ADDED) :]])
    looks = {each.split()[0] for each in expected}
    others = looks - {"lane", "down", "fault", "sent", "crash"}  # of these there are no more
    assert expected <= found
    assert {each for each in found if each.split()[0] in others} <= expected
    assert ("fault" in looks) == any(each.startswith("fault") for each in found)


def test_what_is_not_shown_still_counts_for_bands_and_lanes() -> None:
    found = seen(A_LEADS, on.LeaderResigned("a", 1), B_LEADS, DOWN, MOVED, shown=4)

    assert not any(each.startswith("band") for each in found)  # b crashed before
    assert "down b -1 -> b 1" in found
    assert "band0 b -1 -> b 1" in seen(A_LEADS, B_LEADS, MOVED, shown=2)
