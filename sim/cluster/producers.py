"""All producers of a scenario: when they decide to write something, and a file of changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from sim.changelog.reader import read_changes
from sim.cluster.producer import Producer
from sim.cluster.sending import Line
from sim.scenario.model import Change, Send, TraceSource

if TYPE_CHECKING:
    from sim.cluster.context import World


class Producers:
    """All producers of a scenario, and the moments at which they decide something."""

    def __init__(self, world: World) -> None:
        """They start with `start`."""
        self._world = world
        workload = world.scenario.workload
        transactional = {send.producer for send in workload.sends if send.transaction}
        transactional |= {end.producer for end in workload.ends}
        numbers = {send.producer for send in workload.sends} | transactional
        self._producers = {
            number: Producer(
                world, number, idempotent=workload.idempotent or number in transactional
            )
            for number in sorted(numbers)
        }
        self._transactional = sorted(transactional)
        lines = [(send.at_ms, 0, Line((send,))) for send in workload.sends]
        lines += [(end.at_ms, 1, Line((), end)) for end in workload.ends]
        lines.sort(key=lambda entry: entry[:2])
        self._lines = deque(lines)
        self._trace: Iterator[Line] | None = None
        self._tracer: Producer | None = None

    def roll_out(self, change: Change) -> list[str]:
        """A producer (0 = all) sends otherwise from now on; the names of those it reaches."""
        reached = [n for n in self._producers if change.producer in (0, n)]
        for producer in (self._producers[number] for number in reached):
            if change.versions is not None:
                producer.versions = change.versions
            if change.format is not None:
                producer.client = change.format
        return [f"producer {number}" for number in reached]

    def start(self) -> None:
        """Begin to decide."""
        if self._lines:
            self._world.clock.after(max(0, self._lines[0][0]), self._decide)
        source = self._world.scenario.workload.trace
        if source is not None:
            number = max(self._producers, default=0) + 1
            tracer = Producer(self._world, number, idempotent=True, patient=True)
            self._tracer = self._producers[number] = tracer
            self._trace = _trace_batches(source, number)
            self._world.clock.after(max(1, source.interval_ms), self._decide_trace)

    def _decide(self) -> None:
        """Everything that is decided now, then wait for the next decision."""
        clock, lines = self._world.clock, self._lines
        now_ms = clock.now_ms
        while lines and lines[0][0] <= now_ms:
            line = lines.popleft()[2]
            number = line.sends[0].producer if line.end is None else line.end.producer
            self._producers[number].decide(line)
        if lines:
            clock.after(lines[0][0] - now_ms, self._decide)

    def _decide_trace(self) -> None:
        assert self._trace is not None
        assert self._tracer is not None
        source = self._world.scenario.workload.trace
        assert source is not None
        if self._tracer.idle:
            line = next(self._trace, None)
            if line is None:
                self._trace = None
                return
            self._tracer.decide(line)
        self._world.clock.after(max(1, source.interval_ms), self._decide_trace)

    @property
    def reads_trace(self) -> bool:
        """A file of changes was not read to its end."""
        return self._trace is not None

    @property
    def finished(self) -> bool:
        """Everything was decided, and answered or given up."""
        if self._lines or self._trace is not None:
            return False
        return all(producer.idle for producer in self._producers.values())

    def stop(self) -> None:
        """Nothing more is sent; transactions that are still open end as their coordinator wants."""
        for producer in self._producers.values():
            producer.stop()
        for number in self._transactional:
            self._producers[number].abort_open_transaction()


def _trace_batches(source: TraceSource, number: int) -> Iterator[Line]:
    """The changes of a file in batches, read as they are needed."""
    changes = islice(read_changes(Path(source.path)), source.limit)
    while batch := tuple(islice(changes, max(1, source.batch_records))):
        sends = tuple(
            Send(0, number, change.key, change.value, change.timestamp_ms, change.version)
            for change in batch
        )
        headers = tuple(change.headers for change in batch)
        yield Line(sends, headers=headers if any(headers) else ())
