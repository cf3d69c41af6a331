"""Audits of what producers send, by what the scenario says that they are to send.

* `sends-in-order`: with place(x) the place of value x among all that is sent, and x and y appended,
  x first, by an idempotent producer in one epoch under sequence numbers s(x) and s(y)::

      s(x) < s(y)  =>  place(x) < place(y)

  since it has one request in flight (KIP-98, Idempotent Producer Guarantees;
  RecordAccumulator.append and .drain). Judged as data is appended whose numbers are above all that
  were; the others are repeated, or late, which `producer-sequences` judges. Excused: deletes, which
  no value tells apart, and values that are sent twice.
* `producer-sequences`: no number is left out between two batches that came too soon one after the
  other for a producer to have given anything up: within half of the time P that it takes at least
  (`patience_of`). Excused: a fault that lasts, and whatever else happened to the cluster,
  or was refused, since 2 P before the first of the two. Of two producer epochs the second begins
  at 0 (TransactionManager.resetSequenceNumbers).
"""

from __future__ import annotations

from collections.abc import Mapping

from sim.plugins import Report
from sim.protocol.events import (
    Appended,
    AppendRefused,
    Event,
    FaultEnded,
    FaultInjected,
    LeaderElected,
    LeaderResigned,
)
from sim.protocol.log import Batch
from sim.protocol.log.record import Record
from sim.simulate.faults import INSTANT_FAULTS
from sim.simulate.scenario.model import Scenario

Sender = tuple[int, int]
"""Producer id and producer epoch."""
_DISTURBING = (FaultInjected, FaultEnded, AppendRefused, LeaderElected, LeaderResigned)


class Sends:
    """Follows what is appended of each producer."""

    def __init__(self, report: Report, places: Mapping[str, int], patience_ms: int) -> None:
        """Starts with nothing sent.

        `places` has the place of each value among all that is sent, empty = not judged;
        `patience_ms` is the time before which no producer gives a batch up, 0 = not judged.
        """
        self._report = report
        self._places = places
        self._patience_ms = patience_ms
        self._highest: dict[Sender, int] = {}
        self._before: dict[Sender, Record] = {}
        self._newest_ms: dict[int, int] = {}
        self._disturbed_ms = -1
        self._going_on = 0

    def after(self, at_ms: int, event: Event) -> None:
        """Take an event."""
        if isinstance(event, Appended):
            self._appended(at_ms, event.replica, event.batch)
        elif isinstance(event, _DISTURBING):
            self._disturbed_ms = at_ms
            if isinstance(event, FaultInjected):
                self._going_on += event.fault not in INSTANT_FAULTS
            elif isinstance(event, FaultEnded):
                self._going_on -= 1

    def late(self, at_ms: int) -> None:
        """A write comes late: others of its producer may have been given up before it."""
        self._disturbed_ms = at_ms

    def _appended(self, at_ms: int, replica: str, batch: Batch) -> None:
        first, producer = batch.base_sequence, batch.producer_id
        sender = (producer, batch.producer_epoch)
        highest = self._highest.get(sender, -1)
        if first <= highest or not batch.records:
            return
        if highest < first - 1 and producer in self._newest_ms:
            self._look_for_gap(at_ms, replica, batch, highest + 1)
        self._newest_ms[producer] = at_ms
        self._highest[sender] = first + batch.last_offset - batch.base_offset
        if batch.control is None:
            self._look_at_order(replica, batch, sender)

    def _look_for_gap(self, at_ms: int, replica: str, batch: Batch, missing: int) -> None:
        """Nobody has appended `missing`."""
        before_ms, patience_ms = self._newest_ms[batch.producer_id], self._patience_ms
        in_peace = not self._going_on and self._disturbed_ms < before_ms - 2 * patience_ms
        waited_ms = at_ms - before_ms
        if in_peace and 2 * waited_ms < patience_ms:
            said = f"{replica} appended sequence number {batch.base_sequence} of producer "
            said += f"{batch.producer_id} at offset {batch.base_offset}; {missing} was never "
            said += f"appended, and {waited_ms} ms are too few to give it up."
            self._report("producer-sequences", said, replica, batch.base_offset)

    def _look_at_order(self, replica: str, batch: Batch, sender: Sender) -> None:
        for record in batch.records:
            place = self._places.get(record.value or "")
            if place is None:
                continue
            before = self._before.get(sender)
            if before is not None and place < self._places[before.value or ""]:
                said = f"{replica} appended {record.value} of producer {sender[0]} after "
                said += f"{before.value}, sent later."
                self._report("sends-in-order", said, replica, record.offset)
            self._before[sender] = record


def places_of(scenario: Scenario) -> dict[str, int]:
    """The order in which values are sent; empty where one is sent twice."""
    values = [send.value for send in scenario.workload.sends if send.value is not None]
    places = {value: place for place, value in enumerate(values)}
    return places if len(places) == len(values) else {}


def patience_of(scenario: Scenario) -> int:
    """When producers give up at the earliest, in ms; 0 where no event tells of refusals.

    Every second try may follow at once, if another replica leads by then; a leader that loads its
    state makes the producer wait 100 ms at least (KIP-580).
    """
    refuses, workload = scenario.topic.timestamp_difference_max_ms is not None, scenario.workload
    return 0 if refuses else min(workload.retry_ms, 100) * ((workload.retries + 1) // 2)
