"""The methods by which an object listens to events: `on_leader_elected` takes LeaderElected.

A method named after a group takes all events of the group, except those with a method of their own.
The group of `on_any_of` is the attribute `any_of` of the class.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from sim.errors import did_you_mean
from sim.protocol.events import (
    Appended,
    Copied,
    Event,
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
"""Events that add records to a log."""

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
"""Events that replace a log as a whole."""

Handler = Callable[[Any], None]
"""A function that takes an event of one class, such as a bound `on_...` method."""

GROUPS: Final[dict[str, tuple[type, ...]]] = {
    "on_written": WRITTEN,
    "on_cut": CUT,
    "on_replaced": REPLACED,
    "on_any_of": (),
}
"""The methods that take groups of events; that of `on_any_of` is named by the class."""


def handlers_of(listener: object, *, prefix: str = "") -> dict[type, Callable[..., Any]]:
    """The methods of a listener by the class of events that they take; names may have a prefix."""
    of: Any = type(listener)
    return {kind: getattr(listener, prefix + name) for kind, name in methods_of(of, prefix).items()}


def methods_of(listener: Any, prefix: str = "") -> dict[type, str]:
    """The names, less the prefix, of the methods of a class by the class of events they take.

    Raises:
        ValueError: A method `on_...` is not named after an event or a group.
    """
    return _methods_of(listener, prefix)


@cache
def _methods_of(listener: Any, prefix: str) -> dict[type, str]:
    events = {_method_for(kind): kind for kind in Event.__subclasses__()}
    groups = GROUPS | {"on_any_of": getattr(listener, "any_of", ())}
    start = f"{prefix}on_"
    methods = [name.removeprefix(prefix) for name in dir(listener) if name.startswith(start)]
    for name in methods:
        if name not in events and name not in groups:
            raise ValueError(f"{name}: there is no such event{did_you_mean(name, events)}")
    found = {kind: name for name in methods for kind in groups.get(name, ())}
    return found | {events[name]: name for name in methods if name in events}


@cache
def _method_for(kind: type) -> str:
    """The name of the method for a class of events: `on_leader_elected` takes LeaderElected."""
    return "on_" + re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()
