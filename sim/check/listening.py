"""Whoever listens to events has a method for each: `on_leader_elected` takes LeaderElected.

A method named after a group of events takes all of them, but for those that have one of their own.
`on_any_of` is one whose group the class names, as `any_of`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from sim.check.plugged import events_by_method
from sim.protocol.events import (
    Appended,
    Copied,
    LogEmptied,
    LogStartedAfresh,
    LogStartMoved,
    PrefixDeleted,
    Pushed,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SegmentsLost,
    SnapshotInstalled,
    Truncated,
)

WRITTEN: Final = (Appended, Copied, Pushed)
"""Events by which a log gets records."""

CUT: Final = (Truncated, ReplicaCrashed, ReplicaRestarted)
"""Events after which a log may end lower; a restart may take the log end from the last record."""

PART_GONE: Final = (PrefixDeleted, LogStartMoved, SegmentsLost)
"""Events by which a log loses a part that is not its end."""

REPLACED: Final = (
    ReplicaWiped,
    LogEmptied,
    LogStartedAfresh,
    SnapshotInstalled,
)
"""Events by which nothing stays of a log."""

Handler = Callable[[Any], None]
"""What takes an event of one class, such as a bound `on_...` method."""


def handlers_of(listener: object, *, prefix: str = "") -> dict[type, Callable[..., Any]]:
    """Class of event -> the method of a listener that takes it; names may have a prefix."""
    of: Any = type(listener)
    return {kind: getattr(listener, prefix + name) for kind, name in methods_of(of, prefix).items()}


@cache
def methods_of(listener: Any, prefix: str = "") -> dict[type, str]:
    """Class of event -> the name of the method by which a class of listeners takes it, less prefix.

    Raises:
        ValueError: A method `on_...` is not named after an event or a group.
    """
    events = events_by_method()
    groups = {
        "on_written": WRITTEN,
        "on_cut": CUT,
        "on_replaced": REPLACED,
        "on_any_of": getattr(listener, "any_of", ()),
    }
    start = f"{prefix}on_"
    methods = [name.removeprefix(prefix) for name in dir(listener) if name.startswith(start)]
    for name in methods:
        if name not in events and name not in groups:
            raise ValueError(f"{listener.__name__}.{name}: there is no such event")
    found = {kind: name for name in methods for kind in groups.get(name, ())}
    return found | {events[name]: name for name in methods if name in events}
