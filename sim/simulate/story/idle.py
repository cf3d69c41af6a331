"""Steps of a story that did nothing: the state is as it was, and nothing was reported.

Many steps do nothing by the format: an election without a majority, an append to a replica that
does not lead, a chunk of a snapshot that no leader offered. Others do nothing though they are
events: a pass that finds nothing to clean, the crash of a replica that is down, a read at the end.
The author of a story wants to know them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

from sim.protocol import events

_ATOMS = (str, bytes, int, float, type(None), tuple, frozenset, Enum)
"""Types that are compared as they are; a tuple holds nothing that changes."""

_SURE: Final = (
    events.ReplicaAdded,
    events.ReplicaRemoved,
    events.Appended,
    events.Copied,
    events.Pushed,
    events.HighWatermarkMoved,
    events.ConsumerReset,
    events.SnapshotTaken,
    events.SnapshotInstalled,
    events.PrefixDeleted,
)
"""Events that a step which does nothing never causes."""


class IdleStep(NamedTuple):
    """A step that did nothing, with the reason.

    Attributes:
        number: Number of the step, from 1.
        line: The step as a line.
        why: Reason for which it did nothing, without a full stop.
    """

    number: int
    line: str
    why: str


def idle_notes(steps: Iterable[IdleStep]) -> list[str]:
    """A line for each reason, such as `steps 4, 5, 6 did nothing: r2 does not lead`."""
    by_reason: dict[str, list[str]] = {}
    for step in steps:
        by_reason.setdefault(step.why, []).append(str(step.number))
    return [
        f"step{'s' if len(numbers) > 1 else ''} {', '.join(numbers)} did nothing: {why}"
        for why, numbers in by_reason.items()
    ]


def shows_effect(event: events.Event) -> bool:
    """True for an event that shows an effect of its step; else the state has to be compared."""
    if isinstance(event, events.Consumed):
        return bool(event.records)
    if isinstance(event, events.ReadingEnded):
        return event.position < event.end
    if isinstance(event, events.Cleaned):
        return bool(event.removals)
    return isinstance(event, _SURE)


def state_of(world: Any, *, loses_power: bool) -> object:
    """Copy of the state of a driver that a step may change, to compare with a later one.

    `loses_power` is true if a step of the story is a loss of power.
    """
    rules = world.rules
    dated = rules.cleaner.tombstone_removal == "cleaning_checkpoint"
    asked = rules.cleaner.lost_disk_report == "dropped" or rules.snapshots.bootstrap_snapshot
    unread = {
        # A refused fetch moves it, too; it matters only at a power loss.
        "acknowledged_end": not loses_power,
        # Any pass moves it; only `tombstone_removal: cleaning_checkpoint` reads it.
        "last_cleaning": not dated,
        # It grows with any restart; the offset index that it is for has no effect in short stories.
        "restarts": True,
        # A wipe replaces it; a new disk differs from an empty one only under certain rules.
        "disk": not asked,
    }
    ignored = tuple(name for name, is_unread in unread.items() if is_unread)
    parts = (
        world.replicas,
        world.delayed,
        world.coordinator,
        # A consumer that asks another replica has not moved.
        {name: (p.offset, p.epoch) for name, p in world.positions.items() if p.offset > 0},
    )
    copies = [_plain(part, ignored) for part in parts]
    return world.now_ms, sorted(world.isr), world.leader, len(world.moments), copies


def _plain(value: Any, ignored: tuple[str, ...]) -> object:
    """Copy of a value to compare with a later one, without the attributes to ignore."""
    if isinstance(value, _ATOMS):
        return value
    if isinstance(value, Mapping):
        return [(key, _plain(item, ignored)) for key, item in value.items()]
    if isinstance(value, list | deque):
        return [_plain(item, ignored) for item in value]
    if isinstance(value, set):
        return frozenset(value)
    names = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    names += getattr(value, "__dict__", ())
    values = [(name, getattr(value, name, None)) for name in names if name not in ignored]
    return [
        (name, sorted(held) if name == "isr" and held else _plain(held, ignored))
        for name, held in values
    ]
