"""Logs as the checker would have built them from events, made on demand from parts of replicas."""

from __future__ import annotations

from copy import copy
from operator import itemgetter
from typing import Any, Final, NamedTuple

from sim.check.facts import EMPTY, HOLE, ReplicaView
from sim.protocol.log.segment import Segment
from sim.study.explore.parts import LINEAGE, PLACE, Member, Notes, Parts
from sim.study.explore.tables import Numbering

_END: Final = PLACE["log.log_end_offset"]
_SEGMENTS: Final = PLACE["log.segments"]
_SNAPSHOTS: Final = PLACE["snapshots"]
_AS_THEY_ARE: Final = {
    "up": PLACE["up"],
    "first_dirty_offset": PLACE["first_dirty_offset"],
    "high_watermark": PLACE["log.high_watermark"],
    "log_start_offset": PLACE["log.log_start_offset"],
}
"""Attributes that a view takes from the replica unchanged."""


_SHOWN: Final = itemgetter(
    *[_AS_THEY_ARE[name] for name in ("up", "high_watermark", "log_start_offset")],
    *[_SNAPSHOTS, _END, _SEGMENTS],
)
"""The parts of a replica that determine its log for others."""


class HeldLog(NamedTuple):
    """The content of a log; the attributes are those of a view."""

    slots: list[int]
    horizons: dict[int, int]


_ALL: Final = {*_AS_THEY_ARE, *HeldLog._fields, "lineage", "log_end_offset_before", "snapshots"}


class Views:
    """The logs of replicas, each made once.

    Attributes:
        logs: All logs, as views; replicas with equal logs share one.
    """

    def __init__(self, parts: Parts) -> None:
        """Starts without any log."""
        self.parts = parts
        self._held: dict[tuple[int, ...], HeldLog] = {}
        self._logs = Numbering()
        self.logs: list[ReplicaView] = self._logs.values
        self._logs_of: dict[tuple[int, ...], int] = {}

    def of(self, name: str, member: Member) -> WatchedView:
        """The log of a replica under its name in events; nothing of it is compared."""
        return WatchedView(name, self, Notes(self.parts, member))

    def facts_of(self, member: Member) -> list[int]:
        """Facts of a replica: up or not, leader or not, the number of its log."""
        values, parts = self.parts.values, _SHOWN(member)
        log = self._logs_of.get(parts)
        if log is None:
            view = self.of("", member).whole()
            shown = (tuple(view.slots), view.high_watermark, view.log_start_offset, view.up)
            log = self._logs.number((shown, tuple(view.snapshots.items())), view)
            self._logs_of[parts] = log
        return [values[member[PLACE["up"]]], values[member[PLACE["leadership"]]], log]

    def held(self, notes: Notes) -> HeldLog:
        """The content of a replica's log."""
        key = notes.asked((_SEGMENTS, _END))
        found = self._held.get(key)
        if found is None:
            found = self._held[key] = _held(notes.get(_SEGMENTS), notes.get(_END))
        return found


class WatchedView(ReplicaView):
    """A log that is made on demand.

    Attributes:
        notes: The parts that were read.
    """

    def __init__(self, name: str, views: Views, notes: Notes) -> None:
        """Starts with no attribute made."""
        self.name, self.notes, self._views = name, notes, views
        self.unexplained_offsets, self.losses, self.last_batch = set(), 0, None

    @property
    def log_end_offset(self) -> int:
        """Where the next record will be written (exclusive end of the log)."""
        end: int = len(self.slots) if "slots" in vars(self) else self.notes.get(_END)
        return end

    def whole(self) -> WatchedView:
        """Returns this view with every attribute made."""
        for name in _ALL:
            getattr(self, name)
        return self

    def __getattr__(self, name: str) -> Any:
        """Makes an attribute when it is first read."""
        if name not in _ALL:
            raise AttributeError(name)
        value = self._made(name)
        setattr(self, name, value)
        return value

    def _made(self, name: str) -> Any:
        get = self.notes.get
        if name in _AS_THEY_ARE:
            return get(_AS_THEY_ARE[name])
        if name in HeldLog._fields:
            return copy(getattr(self._views.held(self.notes), name))
        if name == "lineage":
            return [*get(PLACE[LINEAGE])]
        if name == "log_end_offset_before":
            return self.log_end_offset
        return {(key[0], key[1]): one.records for key, one in get(_SNAPSHOTS).items()}


def _held(segments: list[Segment], end: int) -> HeldLog:
    slots, horizons = [HOLE] * end, {}
    for batch in [batch for segment in segments for batch in segment.batches]:
        for record in batch.records:
            slots[record.offset] = record.uid
        if not batch.records:
            slots[batch.last_offset] = EMPTY
        if batch.delete_horizon_ms is not None:
            horizons[batch.base_offset] = batch.delete_horizon_ms
    return HeldLog(slots, horizons)
