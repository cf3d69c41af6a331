"""Steps of a story that did nothing: the state is as it was, and nothing was reported.

Much does nothing by the format: an election without a majority, an append to a replica that does
not lead, a chunk of a snapshot that no leader offered. So does much that is an event: a pass that
finds nothing to clean, the crash of a replica that is down, a reader at the end. The author of a
story wants to know.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

from sim.protocol.events import (
    Appended,
    Cleaned,
    Consumed,
    ConsumerReset,
    Copied,
    Event,
    HighWatermarkMoved,
    PrefixDeleted,
    Pushed,
    ReadingEnded,
    ReplicaAdded,
    ReplicaRemoved,
    SnapshotInstalled,
    SnapshotTaken,
)

_ATOMS = (str, bytes, int, float, type(None), tuple, frozenset, Enum)
"""Compared as they are; tuples, with names or without, hold what never changes."""
_FETCHED_TO = "acknowledged_end"
"""A refused fetch moves it, too; only a loss of power makes a difference of it."""
_CLEANED_AT = "last_cleaning"
"""Any pass moves it; only `tombstone_removal: cleaning_checkpoint` reads it."""
_RESTARTED_AT = "restarts"
"""Any restart adds to it; it says where an index begins anew, for which stories are too short."""
_DISK = "disk"
"""A wipe brings another one, which differs from an empty one only if a rule asks for it."""

_SURE: Final = (
    ReplicaAdded,
    ReplicaRemoved,
    Appended,
    Copied,
    Pushed,
    HighWatermarkMoved,
    ConsumerReset,
    SnapshotTaken,
    SnapshotInstalled,
    PrefixDeleted,
)
"""Events that never come of a step that does nothing."""


class IdleStep(NamedTuple):
    """A step that did nothing.

    Attributes:
        number: Its number, from 1.
        line: The step as a line.
        why: Why nothing came of it, without a full stop.
    """

    number: int
    line: str
    why: str


def idle_notes(steps: Iterable[IdleStep]) -> list[str]:
    """A line for each reason: `steps 4, 5, 6 did nothing: r2 does not lead`."""
    by_reason: dict[str, list[str]] = {}
    for step in steps:
        by_reason.setdefault(step.why, []).append(str(step.number))
    return [
        f"step{'s' if len(numbers) > 1 else ''} {', '.join(numbers)} did nothing: {why}"
        for why, numbers in by_reason.items()
    ]


def surely_tells(event: Event) -> bool:
    """Whether an event shows by itself that its step did something; else the state is compared."""
    if isinstance(event, Consumed):
        return bool(event.records)
    if isinstance(event, ReadingEnded):
        return event.position < event.end
    if isinstance(event, Cleaned):
        return bool(event.removals)
    return isinstance(event, _SURE)


def state_of(world: Any, *, loses_power: bool) -> object:
    """Copy of the state of a driver that a step may change, to compare with later.

    `loses_power` says whether a later step may take its power.
    """
    rules = world.rules
    dated = rules.cleaner.tombstone_removal == "cleaning_checkpoint"
    asked = rules.cleaner.lost_disk_report == "dropped" or rules.snapshots.bootstrap_snapshot
    unread = {
        _FETCHED_TO: not loses_power,
        _CLEANED_AT: not dated,
        _RESTARTED_AT: True,
        _DISK: not asked,
    }
    ignored = tuple(name for name, nobody_reads in unread.items() if nobody_reads)
    parts = (
        world.replicas,
        world.delayed,
        world.coordinator,
        # Whom a consumer asked last is no move.
        {name: (p.offset, p.epoch) for name, p in world.positions.items() if p.offset > 0},
    )
    copies = [_plain(part, ignored) for part in parts]
    return world.now_ms, sorted(world.isr), world.leader, len(world.moments), copies


def _plain(value: Any, ignored: tuple[str, ...]) -> object:
    """A copy to compare with later, without the attributes to ignore."""
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
