"""The workload of a scenario: when its producers decide to write, or a file of changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path

from simpy import Process
from simpy.events import ProcessGenerator

from sim.files.changes import read_changes
from sim.simulate.cluster.context import Context
from sim.simulate.cluster.producer import Decision, Producer
from sim.simulate.scenario.model import Change, EndTransaction, Send, SentHeader, TraceSource


def _when(step: tuple[Send | EndTransaction, tuple[SentHeader, ...]]) -> int:
    return step[0].at_ms


class Timetable:
    """All producers of a scenario, and the moments at which they decide something."""

    def __init__(self, context: Context) -> None:
        """They start with `start`."""
        self._context = context
        workload = context.scenario.workload
        transactional = {send.producer for send in workload.sends if send.transaction}
        transactional |= {end.producer for end in workload.ends}
        numbers = {send.producer for send in workload.sends} | transactional
        self._producers = {
            number: Producer(
                context, number, idempotent=workload.idempotent or number in transactional
            )
            for number in sorted(numbers)
        }
        self._transactional = sorted(transactional)
        # Of what is decided at one moment, the ends of transactions come last.
        headers = dict(context.scenario.applications.headers)
        steps: list[tuple[Send | EndTransaction, tuple[SentHeader, ...]]] = [
            (send, headers.get(index, ())) for index, send in enumerate(workload.sends)
        ]
        self._steps = [*steps, *((end, ()) for end in workload.ends)]
        self._steps.sort(key=_when)
        self._deciding: Process | None = None
        self._reading: Process | None = None

    def roll_out(self, change: Change) -> list[str]:
        """A producer (0 = all) sends otherwise from now on; the names of those it reaches."""
        reached = [
            producer
            for number, producer in self._producers.items()
            if change.producer in (0, number)
        ]
        for producer in reached:
            if change.versions is not None:
                producer.versions = change.versions
            if change.format is not None:
                producer.client = change.format
        return [producer.name for producer in reached]

    def start(self) -> None:
        """Begin to decide."""
        env, source = self._context.env, self._context.scenario.workload.trace
        self._deciding = env.process(self._decide())
        if source is not None:
            number = max(self._producers, default=0) + 1
            producer = Producer(self._context, number, idempotent=True, patient=True)
            self._producers[number] = producer
            self._reading = env.process(self._read_file(source, producer))

    def _decide(self) -> ProcessGenerator:
        """Decide everything at its time."""
        context = self._context
        for at_ms, steps in groupby(self._steps, key=_when):
            yield context.env.timeout(max(0, at_ms - context.now_ms))
            for step, headers in steps:
                if isinstance(step, EndTransaction):
                    self._producers[step.producer].decide((), step)
                else:
                    self._producers[step.producer].decide_one(step, headers)

    def _read_file(self, source: TraceSource, producer: Producer) -> ProcessGenerator:
        """Decide the next batch of the file when the one before is answered."""
        decisions = _batches_of(source, producer.number)
        while True:
            yield self._context.env.timeout(max(1, source.interval_ms))
            if producer.idle:
                decision = next(decisions, None)
                if decision is None:
                    return
                producer.decide(*decision)

    @property
    def reads_file(self) -> bool:
        """A file of changes was not read to its end."""
        return self._reading is not None and self._reading.is_alive

    @property
    def finished(self) -> bool:
        """Everything was decided, and answered or given up."""
        if self.reads_file or (self._deciding is not None and self._deciding.is_alive):
            return False
        return all(producer.idle for producer in self._producers.values())

    def stop(self) -> None:
        """Nothing more is sent; transactions that are still open end as their coordinator wants."""
        for producer in self._producers.values():
            producer.stop()
        for number in self._transactional:
            self._producers[number].abort_open_transaction()


def _batches_of(source: TraceSource, number: int) -> Iterator[Decision]:
    """The changes of a file in batches, read as they are needed."""
    changes = islice(read_changes(Path(source.path)), source.limit)
    while batch := tuple(islice(changes, max(1, source.batch_records))):
        sends = tuple(
            Send(0, number, change.key, change.value, change.timestamp_ms, change.version)
            for change in batch
        )
        headers = tuple(change.headers for change in batch)
        yield sends, None, headers if any(headers) else ()
