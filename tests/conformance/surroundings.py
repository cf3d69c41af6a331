"""What a log of Kafka needs around it to live on disk alone: a clock, a scheduler, settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.conformance.jvm import java_class, proxy

SETTINGS = {
    "cleanup.policy": "compact",
    "segment.bytes": 2**30,
    "segment.ms": 2**62,
    "segment.jitter.ms": 0,
    "segment.index.bytes": 2**16,
    "max.message.bytes": 2**30,
    "retention.ms": -1,
    "flush.messages": 2**62,
    "flush.ms": 2**62,
    "message.timestamp.type": "CreateTime",
}
"""Nothing rolls, is flushed or is deleted by itself; what is rolled, the log file says."""


class Clock:
    """Kafka's `Time` at a standstill, at `now_ms`."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.time: Any = proxy(
            "common.utils.Time",
            {
                "milliseconds": lambda: self.now_ms,
                "hiResClockMs": lambda: self.now_ms,
                "nanoseconds": lambda: self.now_ms * 1_000_000,
                "sleep": lambda _: None,
            },
        )


class Housekeeping:
    """Kafka's `Scheduler` without threads: it deletes the files of replaced segments when told.

    The leader epochs are flushed at once. What else Kafka schedules is dropped: other flushes,
    and the expiry of producers.

    Args:
        interface: The name of the `Scheduler` of the release.
        run: The method of its tasks that does them.
    """

    def __init__(self, interface: str, *, run: str) -> None:
        self._run = run
        self._due: list[Any] = []
        future = proxy("java.util.concurrent.ScheduledFuture", {"cancel": lambda _: True})

        def keep(name: object, task: Any, *_: object) -> object:
            if "delete" in str(name):
                self._due.append(task)
            elif "leader-epoch-cache-flush" in str(name):
                getattr(task, self._run)()
            return future

        self.scheduler: Any = proxy(
            interface,
            {
                "startup": lambda: None,
                "shutdown": lambda: None,
                "schedule": keep,
                "scheduleOnce": keep,
                "resizeThreadPool": lambda _: None,
                "isStarted": lambda: True,
            },
        )

    def run_due(self) -> None:
        """Do what was put off: delete files."""
        due, self._due = self._due, []
        for task in due:
            getattr(task, self._run)()


def set_modified(folder: Path, at_ms: int) -> None:
    """Let all segments in a folder have been modified at a time in ms."""
    modified_ns = at_ms * 1_000_000
    for file in folder.glob("*.log"):
        os.utime(file, ns=(modified_ns, modified_ns))


def settings(values: Mapping[str, object]) -> Any:
    """A Java map of topic settings: `SETTINGS` and these."""
    properties = java_class("java.util.HashMap")()
    for name, value in {**SETTINGS, **values}.items():
        properties.put(name, str(value))
    return properties
