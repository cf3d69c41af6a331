"""The workload of a scenario: when its producers decide to write, or a file of changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from sim.changelog.reader import read_changes
from sim.cluster.checking import CheckingApplication
from sim.cluster.context import Context
from sim.cluster.producer import Decision, Producer
from sim.scenario.model import Change, EndTransaction, Send, SentHeader, TraceSource


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
        applications = context.scenario.applications
        self._producers = {
            number: Producer(
                context, number, idempotent=workload.idempotent or number in transactional
            )
            for number in sorted(numbers)
        }
        self._checking = {
            number: CheckingApplication(context, producer)
            for number, producer in self._producers.items()
            if applications.check_before_send
        }
        self._transactional = sorted(transactional)
        # Of what is decided at one moment, the ends of transactions come last.
        headers = dict(applications.headers)
        steps: list[tuple[Send | EndTransaction, tuple[SentHeader, ...]]] = [
            (send, headers.get(index, ())) for index, send in enumerate(workload.sends)
        ]
        self._steps = [*steps, *((end, ()) for end in workload.ends)]
        self._steps.sort(key=_when)
        self._next = 0
        self._file: Iterator[Decision] | None = None
        self._file_producer: Producer | None = None

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
        context = self._context
        if self._steps:
            context.after(max(0, self._steps[0][0].at_ms), self._decide)
        source = self._context.scenario.workload.trace
        if source is not None:
            number = max(self._producers, default=0) + 1
            producer = Producer(self._context, number, idempotent=True, patient=True)
            self._file_producer = self._producers[number] = producer
            self._file = _batches_of(source, number)
            context.after(max(1, source.interval_ms), self._read_file, max(1, source.interval_ms))

    def _decide(self) -> None:
        """Everything that is decided now, then wait for the next decision."""
        context, steps, index = self._context, self._steps, self._next
        now_ms, count = context.now_ms, len(steps)
        while index < count:
            step, headers = steps[index]
            if step.at_ms > now_ms:
                context.after(step.at_ms - now_ms, self._decide)
                break
            index += 1
            if self._checking:
                self._checking[step.producer].decide(step)
            elif isinstance(step, EndTransaction):
                self._producers[step.producer].decide((), step)
            else:
                self._producers[step.producer].decide_one(step, headers)
        self._next = index

    def _read_file(self, interval_ms: int) -> None:
        """Decide the next batch of the file when the one before is answered."""
        assert self._file is not None
        assert self._file_producer is not None
        if self._file_producer.idle:
            decision = next(self._file, None)
            if decision is None:
                self._file = None
                return
            self._file_producer.decide(*decision)
        self._context.after(interval_ms, self._read_file, interval_ms)

    @property
    def reads_file(self) -> bool:
        """A file of changes was not read to its end."""
        return self._file is not None

    @property
    def finished(self) -> bool:
        """Everything was decided, and answered or given up."""
        if self._next < len(self._steps) or self._file is not None:
            return False
        if not all(application.idle for application in self._checking.values()):
            return False
        return all(producer.idle for producer in self._producers.values())

    def stop(self) -> None:
        """Nothing more is sent; transactions that are still open end as their coordinator wants."""
        for application in self._checking.values():
            application.stop()
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
