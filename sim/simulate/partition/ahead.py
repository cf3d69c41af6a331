"""The next passes over a partition: when they come, why not now, and what each of them leaves.

What the cleaner's manager decides is `sim.simulate.logfile.eligible`; here is what a partition's
files say in addition: who has the open transaction, and how fast the log grows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import floor, inf
from typing import Any, Final

from msgspec.structs import replace as replaced

from sim.errors import BadInput
from sim.files.limits import LONG
from sim.protocol.compaction.eligibility import CleanLimit
from sim.protocol.compaction.transactions import TransactionWatch
from sim.protocol.log import Batch, Log, Record
from sim.simulate.logfile.answer import some_of
from sim.simulate.logfile.batches import readable
from sim.simulate.logfile.eligible import LogEligibility
from sim.simulate.logfile.explain import explain_key, records_of
from sim.simulate.logfile.file import LogFile
from sim.simulate.logfile.run import replica_of, run_steps
from sim.simulate.logfile.steps import Clean
from sim.simulate.partition import Partition
from sim.simulate.partition.as_log import AskedPartition
from sim.simulate.partition.segments import Detail

RATE_SEGMENTS: Final = 5
"""Number of closed segments, the last ones, that give the rate of writing."""


@dataclass(frozen=True)
class Due:
    """The decision of the cleaner's manager on a partition, now and later.

    Attributes:
        decision: What its manager decides now.
        log: The log that it was asked about.
        bytes_per_ms: Bytes that are written in a millisecond, by timestamps of the last closed
            segments; None if timestamps do not tell.
        at_rate_ms: When it is due if it goes on growing so, in ms; None if it is due now, if growth
            never makes it due, or without a rate.
        waits_for: A sentence on the open transaction that holds the bound back; None without one.
    """

    decision: LogEligibility
    log: Log
    bytes_per_ms: float | None
    at_rate_ms: int | None
    waits_for: str | None

    def lines(self) -> Iterator[str]:
        """The answer in sentences."""
        decision, found = self.decision, self.decision.found
        yield from filter(None, (decision.why, self.waits_for, decision.outlook))
        if self.bytes_per_ms is not None and not decision.eligible:
            when = f"due at about {self.at_rate_ms} ms" if self.at_rate_ms else "not due soon"
            yield (
                f"it grows by {self.bytes_per_ms * 3_600_000:,.0f} bytes an hour, by the "
                f"timestamps of its last closed segments: at that rate {when}"
            )
        if found.cleanable_bytes:
            total = found.clean_bytes + found.cleanable_bytes
            yield (
                f"a pass reads {total:,} bytes and writes as many at most, for "
                f"{found.cleanable_bytes:,} dirty ones: a lower ratio means more such passes"
            )

    def dirty_at(self, now_ms: int) -> range:
        """Offsets that a pass at `now_ms` would map."""
        return range(self.decision.dirty.offset, self.decision.at(now_ms).bound.effective)

    def forced(self, now_ms: int, map_keys: int) -> Clean:
        """A pass at `now_ms` over what a pass would clean then, whether or not it is due."""
        dirty = self.dirty_at(now_ms)
        bounds: dict[str, Any] = {"first_dirty_offset": dirty.start, "upper_bound": dirty.stop}
        return Clean(op="clean", now_ms=now_ms, map_capacity=map_keys, **bounds)

    @property
    def as_json(self) -> dict[str, Any]:
        """The answer as data."""
        rate = self.bytes_per_ms
        return {
            **self.decision.answer,
            "open_transaction": self.waits_for,
            "bytes_per_hour": None if rate is None else round(rate * 3_600_000),
            "due_at_this_rate_ms": self.at_rate_ms,
        }


def due_of(asked: AskedPartition) -> Due:
    """Decides whether a pass is due, and says why not, when it will be, and what would help.

    Raises:
        BadInput: A file is damaged.
    """
    file = asked.log_file(asked.partition.batches(Detail.HEADERS))
    replica = replica_of(file)
    decision, log = replica.decide(file.topic, now_ms=asked.now_ms), replica.log
    rate, at_rate = _bytes_per_ms(log), None
    if rate is not None and decision.considered and not decision.eligible:
        at_rate = _due_at_rate(decision, log, file.topic.roll_bytes or (1 << 30), rate)
    return Due(decision, log, rate, at_rate, _open_transaction(decision, log))


def _bytes_per_ms(log: Log) -> float | None:
    """The rate of the last closed segments that have timestamps; none if they take no time."""
    closed = [one for one in log.segments[:-1] if one.first_timestamp_ms >= 0][-RATE_SEGMENTS:]
    if not closed:
        return None
    last = log.active.first_timestamp_ms if log.active.batches else closed[-1].largest_timestamp_ms
    took_ms = last - closed[0].first_timestamp_ms
    return sum(one.size_bytes for one in closed) / took_ms if took_ms > 0 else None


def _due_at_rate(decision: LogEligibility, log: Log, full: int, rate: float) -> int | None:
    """Time, in ms, when enough is dirty if what is written comes at that rate and is committed.

    The active segment rolls when it has `full` bytes or is as old as `segment.ms`; what it holds is
    dirty then, and may be cleaned after the minimum lag. Behind an open transaction nothing may.
    """
    config, described, active = decision.log.config, decision.log, log.active
    found = decision.at(decision.now_ms, min_compaction_lag_ms=0)
    ratio, longest_ms = config.min_cleanable_dirty_ratio, config.roll_ms or inf
    stable_before = min(described.high_watermark, active.base_offset)
    if ratio >= 1 or described.last_stable_offset < stable_before:
        return None
    if found.eligible:  # with time alone
        return decision.due_ms
    age_ms = decision.now_ms - active.first_timestamp_ms if active.batches else 0
    wait_ms = min(max(0, full - active.size_bytes) / rate, max(0, longest_ms - age_ms))
    dirty = found.cleanable_bytes + active.size_bytes + wait_ms * rate
    lacking, next_ms = found.clean_bytes * ratio / (1 - ratio) - dirty, min(full / rate, longest_ms)
    rolls = max(0, floor(lacking / (next_ms * rate)) + 1)
    at_ms = int(decision.now_ms + wait_ms + rolls * next_ms) + config.min_compaction_lag_ms
    return at_ms if at_ms <= LONG else None


def _open_transaction(decision: LogEligibility, log: Log) -> str | None:
    """Names the producer of the transaction that holds the bound back, and since when."""
    bound = decision.found.bound
    if bound.limit is not CleanLimit.STABLE_OFFSET:
        return None
    for producer_id, producer in log.producers.producers.items():
        began = producer.open_since
        if began is not None and began <= bound.limited_to:
            there = log.read(began, max_batches=1)
            since = f", since {there[0].timestamp_ms} ms" if there else ""
            return (
                f"producer {producer_id}, epoch {producer.epoch}, has it open from offset "
                f"{began} on{since}; `kafka-transactions abort` ends one that nobody ends any more"
            )
    return None


def look_ahead(
    asked: AskedPartition, key: str | None = None, *, offset: int | None = None
) -> Iterator[str]:
    """Follows the records of a key, or what lies at an offset, through the next two passes.

    Args:
        asked: The partition, with settings and time.
        key: The key; None for what lies at the offset.
        offset: The offset (inclusive); None where a key is given.

    Raises:
        BadInput: Nothing has the key, or nothing lies at the offset.
        Damaged: A batch is not as it was written.
    """
    keys, marker, data = {key}, None, list[Record]()
    if offset is not None:
        found, data = _at(asked.partition, offset)
        keys = {one.key for one in data}
        if found.control is not None:
            marker = found
        elif keys == {None}:
            yield f"offset {offset} is a record without a key: the pass that reaches it removes it"
            return
    ahead, passes = _two_passes(asked, keys)
    if marker is None and all(record.key not in keys for record in records_of(ahead)):
        raise BadInput(f"{asked.partition.place}: no record has the key {readable(key or '')}")
    yield from passes
    if marker is not None:
        yield from _of_marker(ahead, marker, data)
    else:
        about = None if offset is None else {offset}
        yield from explain_key(ahead, keys.pop() or "", about=about).lines()


class _FillingMap:
    """The offset map of a pass, as far as tells where it is full, and batches with few keys.

    Attributes:
        full: The record that fills it and the next one, for which it has no room; fewer where there
            are none.
    """

    def __init__(self, log: Log, dirty: range, map_keys: int) -> None:
        """Starts before the first batch of a log of which the pass maps the offsets `dirty`."""
        self.full: list[Record] = []
        self._dirty, self._most = dirty, map_keys
        self._fills = 0 < map_keys < len(dirty)
        self._hashes = set[int]()  # of keys: these may be many
        self._watch = TransactionWatch(one for part in log.segments for one in part.aborted)

    def room_for(self, keys: Iterable[str | None]) -> int:
        """Number of keys in a map that is full at the same offset, where no others are."""
        return len(self._hashes & {hash(key) for key in (*keys, self.full[0].key)})

    def kept(self, batch: Batch, keys: Iterable[str | None]) -> Batch:
        """The next batch with those of its records that have one of these keys, or are in `full`.

        A marker is as it is.
        """
        is_aborted = self._watch.decides(batch)
        if batch.control is not None:
            return batch
        if self._fills and not is_aborted:
            self._map(batch)
        kept = [one for one in batch.records if one.key in keys or one in self.full]
        return replaced(batch, records=tuple(kept))

    def _map(self, batch: Batch) -> None:
        for record in batch.records:
            if record.key is not None and record.offset in self._dirty and len(self.full) < 2:
                if len(self._hashes) < self._most:
                    self._hashes.add(hash(record.key))
                if len(self._hashes) == self._most:
                    self.full.append(record)


def _at(partition: Partition, offset: int) -> tuple[Batch, list[Record]]:
    """The batch at an offset with the record there, or the data left of a marker's transaction.

    Raises:
        BadInput: Nothing lies there, or a file is damaged.
    """
    there, data = "no batch covers it", defaultdict[int, list[Record]](list)
    for batch in (stored.batch for _, stored in partition.batches(Detail.SIZES)):
        if batch.base_offset <= offset <= batch.last_offset:
            there = "its batch has no record there"
            found = [one for one in batch.records if one.offset == offset]
            if found:
                return batch, found if batch.control is None else data[batch.producer_id]
        if batch.control is not None:
            data.pop(batch.producer_id, None)
        elif batch.transactional:
            data[batch.producer_id] += batch.records
    raise BadInput(f"offset {offset}: {there}; nothing to ask about")


def _two_passes(asked: AskedPartition, keys: Iterable[str | None]) -> tuple[LogFile, list[str]]:
    """The next two passes as steps over the records of some keys, and a sentence about each.

    The first one comes at the earliest time that its settings allow, the second when the horizons
    that it sets are over. Where the offset map of the first is full there is no second one, since
    the next pass begins where that map ends.
    """
    found, map_keys = due_of(asked), asked.given.map_keys
    first_ms, why = _first(found)
    dirty = found.dirty_at(first_ms)
    filling, bound = _FillingMap(found.log, dirty, map_keys), dirty.stop
    stored = asked.partition.batches(Detail.SIZES)
    file = asked.log_file(
        (at, one._replace(batch=filling.kept(one.batch, keys))) for at, one in stored
    )
    covers = f"step 1, {why}: it covers offsets below"
    if len(filling.full) > 1:
        first, end = found.forced(first_ms, filling.room_for(keys)), filling.full[1].offset
        full = f"where its map of {map_keys:,} keys is full; the next pass goes on there"
        return replace(file, steps=(first,)), [f"{covers} {end}, {full}"]
    first = found.forced(first_ms, map_keys)
    times = [b.delete_horizon_ms or 0 for one in file.segments for b in one.batches]
    times.append(first_ms + file.rules.rules.topic.delete_retention_ms)
    second_ms = max([first_ms, *(at_ms for at_ms in times if at_ms <= LONG)])
    second = Clean(
        op="clean",
        now_ms=second_ms,
        first_dirty_offset=bound,
        upper_bound=bound,
        forced_rescan=True,
        map_latest_offset=bound - 1,
    )
    over = f"at {second_ms} ms or later, when the horizons of step 1 are over"
    enough = "it comes when enough is written by then; time alone brings none"
    return replace(file, steps=(first, second)), [
        f"{covers} {bound}",
        f"step 2, the first pass {over}: {enough}",
    ]


def _first(found: Due) -> tuple[int, str]:
    """Time of the next pass, in ms, and how that is known."""
    decision = found.decision
    if decision.eligible:
        return decision.now_ms, f"now, at {decision.now_ms} ms, since a pass is due"
    when = decision.due_ms
    if when is not None:
        return when, f"at {when} ms, when a pass is due if nothing more is written"
    if found.at_rate_ms is not None:
        return found.at_rate_ms, f"at about {found.at_rate_ms} ms, if it goes on growing so"
    return decision.now_ms, "a pass that is not due; had it come now"


def _of_marker(file: LogFile, marker: Batch, data: Sequence[Record]) -> Iterator[str]:
    """The fate of a marker with the data that is left, or of a change of leader."""
    offset, producer = marker.base_offset, marker.producer_id
    kind = "control record" if producer < 0 else f"{marker.control} marker of {producer}"
    left = "no data of its transaction is left"
    if producer < 0:
        left = "a change of leader, or another of no transaction"
    elif data:
        left = f"data of its transaction is left at {some_of([str(one.offset) for one in data])}"
    horizon = "" if marker.delete_horizon_ms is None else f"; horizon {marker.delete_horizon_ms}"
    yield f"offset {offset} is a {kind}; {left}{horizon}"
    for result in run_steps(file):
        there = next((one for one in result.log.batches() if one.base_offset == offset), None)
        if there is None or not there.records:
            stays = "" if there is None else "; the header of its batch stays"
            yield f"it goes in step {result.number}{stays}"
            return
        horizon_ms = there.delete_horizon_ms
        text = "no horizon" if horizon_ms is None else f"the delete horizon {horizon_ms}"
        yield f"after step {result.number} it is there, with {text}"
