"""Which events of a run a picture shows: those that led to the violation, unless all are wanted."""

from __future__ import annotations

from sim.check import Violation
from sim.draw.frames import Events, position_of
from sim.explain.causality import Cone
from sim.explain.past import Past
from sim.rules import Rules


def positions_shown(
    events: Events, violation: Violation | None, *, rules: Rules | None, everything: bool
) -> list[int]:
    """Positions in order: of the causal cone, or all; the event that showed the violation, too."""
    if violation is None or everything:
        return list(range(len(events)))
    judged = position_of(events, violation, rules)
    return Cone(Past(events[: judged + 1], rules), violation).positions


def window(count: int, focus: int, most: int | None) -> range:
    """Which of `count` things to show where there is room for `most`: the last, `focus` with them.

    What comes after `focus` goes first where it lies so far back, but for a quarter.
    """
    if most is None or count <= most:
        return range(count)
    start = min(count - most, max(focus - most * 3 // 4, 0))
    return range(start, start + most)


def left_out_in_words(earlier: int, later: int) -> str:
    """How many events are not shown before and after those that are; empty = none."""
    parts = [
        f"{number} {which}" for number, which in ((earlier, "earlier"), (later, "later")) if number
    ]
    if not parts:
        return ""
    return f"{' and '.join(parts)} event{'' if earlier + later == 1 else 's'} left out"
