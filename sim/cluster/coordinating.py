"""A coordinator in time: it loads while its clients wait, and writes what it has to complete."""

from __future__ import annotations

from simpy.events import ProcessGenerator

from sim.cluster.broker import Broker
from sim.cluster.waiting import Lives
from sim.log import Record
from sim.replication.coordinator import (
    Coordinator,
    answer,
    apply_committed,
    begin_loading,
    completion,
    finish_loading,
    load_some,
    to_load,
)
from sim.replication.leader import append
from sim.replication.messages import CoordinatorRequest


class Coordinating:
    """The coordinator of one replica; there is none while it does not lead."""

    def __init__(self, broker: Broker) -> None:
        """Nobody leads yet."""
        self._broker = broker
        self._coordinator: Coordinator | None = None
        self._began_ms = 0
        self._lives = Lives(broker.env)
        self._us_per_record = broker.context.scenario.timers.load_us_per_record

    @property
    def keeps_waiting(self) -> bool:
        """Whether it is loading, and takes no requests meanwhile."""
        coordinator = self._coordinator
        if coordinator is None or coordinator.active:
            return False
        return self._broker.rules.coordinator.coordinator_loads == "before_serving"

    def begin(self) -> None:
        """The replica leads: read the log to its end."""
        broker = self._broker
        if broker.rules.coordinator.coordinator == "none":
            return
        self._coordinator = coordinator = begin_loading(broker.replica)
        if coordinator is None:
            return
        self._began_ms = broker.context.now_ms
        took_ms = -(-sum(to_load(coordinator, broker.replica)) * self._us_per_record // 1_000)
        if took_ms:
            self._lives.start(self._load(coordinator, took_ms))
        else:
            self._finish(coordinator, 0)

    def _load(self, coordinator: Coordinator, took_ms: int) -> ProcessGenerator:
        """Read for a while, unless the end of the leadership interrupts that."""
        yield self._broker.env.timeout(took_ms)
        self._finish(coordinator, took_ms)

    def committed(self) -> None:
        """The high watermark has moved."""
        coordinator = self._coordinator
        if coordinator is not None and coordinator.active:
            apply_committed(coordinator, self._broker.replica, rules=self._broker.rules)

    def stop(self) -> None:
        """The leadership is over, and what was in memory with it."""
        self._coordinator = None
        self._lives.interrupt()

    def _finish(self, coordinator: Coordinator, took_ms: int) -> None:
        """It has read everything."""
        broker = self._broker
        loaded = finish_loading(coordinator, broker.replica, rules=broker.rules, took_ms=took_ms)
        broker.context.emit_all(loaded.events)
        for record in loaded.pending:
            self._complete(coordinator, record)

    def _complete(self, coordinator: Coordinator, record: Record) -> None:
        broker = self._broker
        batch = completion(
            record,
            offset=broker.replica.log.log_end_offset,
            epoch=coordinator.epoch,
            uid=broker.context.take_uid(),
            now_ms=broker.now_ms,
        )
        written = append(broker.replica, batch, rules=broker.rules, now_ms=broker.now_ms)
        broker.publish(list(written.events))

    def receive(self, request: CoordinatorRequest) -> None:
        """A client asks for a key."""
        broker, coordinator = self._broker, self._coordinator
        if coordinator is not None and not coordinator.active:
            elapsed_us = (broker.context.now_ms - self._began_ms) * 1_000
            load_some(coordinator, broker.replica, elapsed_us // max(1, self._us_per_record))
        answered = answer(broker.replica, coordinator, request, rules=broker.rules)
        broker.context.emit_all(answered.events)
        broker.send(request.client_id, answered.response)
