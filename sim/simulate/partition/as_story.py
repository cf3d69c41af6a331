"""Replicas as they are, as the beginning of a story: what-if, matrix, explain go on from there.

Every record that a replica holds is appended and copied, then a step `cleaned` takes from each
replica what it does not hold. Offsets count from the first one that the story has.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator
from itertools import islice
from operator import attrgetter
from typing import Any, Final, NamedTuple

from sim.files import limits
from sim.files.formats import STORY_FORMAT
from sim.protocol.log import Batch, Control, Record
from sim.protocol.rules import RULES
from sim.simulate.logfile.batches import readable
from sim.simulate.partition.as_log import Alias, AskedPartition, aliases
from sim.simulate.partition.replicas import Comparison, Finding, ReplicaLog
from sim.simulate.partition.segments import Detail
from sim.simulate.story.format import Story, story_from

SPAN_MAX: Final = 1_000
"""Most offsets of a log of which a story has all; of a longer one it has some (`_choose`)."""


class Held(NamedTuple):
    """A record, or a marker, that some replica holds.

    Attributes:
        batch: Its batch.
        record: The record.
    """

    batch: Batch
    record: Record


_IDENTITY: Final = attrgetter("batch.epoch", "batch.control", "record.key", "record.timestamp_ms")
"""Gives what is equal where two replicas hold the same record."""


class Beginning(NamedTuple):
    """A story that begins with the replicas of a partition.

    Attributes:
        story: The story.
        notes: Lines about what is not as on the disks.
    """

    story: Story
    notes: list[str]


def story_of(compared: Comparison, asked: AskedPartition, *, anonymous: bool) -> Beginning:
    """Makes the beginning of a story of a partition's replicas.

    After the moment `start` it goes on with a failover to the first replica that is not safe.

    Args:
        compared: The comparison of the replicas.
        asked: One of them, with settings and time.
        anonymous: Keys become hashes of the same size, and the topic is not named.

    Raises:
        BadInput: A setting has no such value.
        Damaged: A batch is not as it was written.
    """
    writer = _Writer(compared, asked, aliases() if anonymous else lambda key: key)
    steps = [*writer.written(), *writer.cleaned(), {"op": "moment", "name": "start"}]
    steps += writer.failover()
    writer.notes += [
        f"the story's index of aborted transactions is whole; that of {log.name} is not"
        for log in compared.logs
        if log.unlisted
    ]
    name = "a partition" if anonymous else compared.logs[0].partition.name
    given = asked.checked().rules.given.items()
    rules = {"strategy_header" if name == "header_key" else name: value for name, value in given}
    document = {
        "format": STORY_FORMAT,
        "id": "replicas",
        "title": f"The replicas of {name}",
        "rules": {"preset": asked.preset, **{n: rules[n] for n in rules if n in RULES}},
        "replicas": [log.name for log in compared.logs],
        "steps": steps,
    }
    return Beginning(story_from(document, where="story of the replicas"), writer.notes)


class _Writer:
    """Writes the steps of the beginning.

    Attributes:
        notes: Lines about what is not as on the disks.
    """

    def __init__(self, compared: Comparison, asked: AskedPartition, alias: Alias) -> None:
        self.notes: list[str] = []
        self._away: list[str] = []
        self._findings, self._logs = compared.findings, compared.logs
        self._asked, self._alias = asked, alias
        self._leader = max(compared.logs, key=attrgetter("end"))
        self._held = {log.name: _held_by(log) for log in compared.logs}
        others = reversed(self._held.values())
        self._records = ChainMap({}, self._held[self._leader.name], *others)
        self._deduced = self._deduce()
        self._chosen = self._choose()
        self._place = {offset: place for place, offset in enumerate(self._chosen)}
        records = [self._records[at].record for at in self._chosen if at in self._records]
        times = [one.timestamp_ms for one in records if one.timestamp_ms >= 0]
        self._begin_ms = min(times, default=0)
        epochs = (one.batch.epoch for one in self._records.values())
        self._epoch = max(0, min(epochs, default=0))  # batches before magic 2 have none

    def _choose(self) -> list[int]:
        """Offsets that the story has, in order.

        Of a long log these are the records, and those of the keys, that violations are about, and
        all markers.
        """
        start, end = max(log.start for log in self._logs), self._leader.end
        if start > min(log.start for log in self._logs):
            self.notes.append(f"the story begins at offset {start}, the highest log start")
        if end - start <= SPAN_MAX:
            return list(range(start, end))
        keys = {one.key for one in self._findings} - {None}
        asked = {one.offset for one in self._findings}
        about = {
            at
            for at, (batch, record) in self._records.items()
            if batch.control is not None or record.key in keys or at in asked
        }
        chosen = [at for at in sorted(about | self._deduced.keys()) if at >= start]
        self.notes.append(
            f"of {end - start:,} offsets the story has {len(chosen):,}: markers, and the records "
            "of keys that violations are about"
        )
        return chosen

    def _deduce(self) -> dict[int, dict[str, Any]]:
        """Offset -> step that appends what no replica holds any more, though it must have been.

        That is the tombstone of a key, or the marker of a transaction. It is given the first
        offset above the value, or the data, at which no replica holds anything.
        """
        found: dict[int, dict[str, Any]] = {}
        for finding in self._findings:
            what, step = self._lost(finding)
            if step is not None and step not in found.values():
                free = range(finding.offset + 1, self._leader.end)
                is_free = (at for at in free if at not in self._records and at not in found)
                for at in islice(is_free, 1):
                    found[at] = step
                    self.notes.append(f"{what} is taken to have been at offset {at}")
        return found

    def _lost(self, finding: Finding) -> tuple[str, dict[str, Any] | None]:
        """The tombstone or marker that decided about a record and is gone: in words, and as a step.

        An empty text and None without one.
        """
        held, key = self._records.get(finding.offset), finding.key
        producer = -1 if held is None else held.batch.producer_id
        kinds = {log.first_marker_after(producer, finding.offset)[1] for log in self._logs}
        marker = {"pid": producer, "marker": "abort"}
        if finding.invariant == "txn-isolation" and Control.ABORT not in kinds:
            return f"the ABORT marker of producer {producer}", marker
        if finding.invariant == "txn-marker-safety" and kinds == {None}:
            return f"the marker of producer {producer}", marker
        if finding.invariant == "no-resurrection" and any(
            key not in one.newest for one in self._logs
        ):
            label, shown = f"gone{finding.offset}", self._key(key)
            return f"the tombstone of {shown}", {"label": label, "key": shown, "null_value": True}
        return "", None

    def written(self) -> Iterator[dict[str, Any]]:
        """Steps that append every record, and copy the log to each replica up to its own end.

        One that has all that is committed is in sync, and learns the high watermark at the end.
        """
        leader = self._leader.name
        yield {"op": "elect", "leader": leader, "epoch": self._epoch}
        behind = [log for log in self._logs if log is not self._leader]
        in_sync = [log.name for log in self._logs]
        committed, copied = max(log.committed for log in self._logs), self._leader
        for offset in [*self._chosen, self._leader.end]:
            for log in [one for one in behind if one.end <= offset]:
                behind.remove(copied := log)
                yield {"op": "sync", "follower": log.name, "leader": leader}
                if log.end < committed:
                    self._away.append(log.name)
                    in_sync.remove(log.name)
                    yield {"op": "crash", "replica": log.name}
                    yield {"op": "isr", "isr": list(in_sync)}
            if offset in self._place:
                yield from self._append(offset)
        for log in self._logs:
            if log.name in in_sync and log not in (self._leader, copied):
                yield {"op": "fetch", "follower": log.name, "leader": leader, "max": 0}
        yield from ({"op": "restart", "replica": name} for name in self._away)

    def _append(self, offset: int) -> Iterator[dict[str, Any]]:
        held, leader = self._records.get(offset), self._leader.name
        if held is not None and held.batch.epoch > self._epoch:
            self._epoch = held.batch.epoch
            yield {"op": "elect", "leader": leader, "epoch": self._epoch}
        step: dict[str, Any] = {"op": "append", "leader": leader}
        if held is None:
            yield step | self._deduced.get(offset, {"label": f"gone{offset}", "key": None})
            return
        batch, record = held
        if record.timestamp_ms >= 0:
            step["ts"] = record.timestamp_ms - self._begin_ms
        if batch.transactional:
            step["pid"] = batch.producer_id
        if batch.control is not None:
            yield step | {"marker": str(batch.control).lower()}
            return
        deletes = record.value is None
        step |= {"label": f"{'d' if deletes else 'v'}{offset}"}
        step |= {"key": None if record.key is None else self._key(record.key)}
        yield step | ({"null_value": True} if deletes else {})

    def cleaned(self) -> Iterator[dict[str, Any]]:
        """Steps that take from each replica what it does not hold."""
        passed_ms = self._asked.now_ms - self._begin_ms
        if 0 < passed_ms <= limits.ADVANCE.most:
            yield {"op": "advance", "ms": passed_ms}
        for log in self._logs:
            held = self._held[log.name]
            reached = [at for at in self._chosen if at < log.end]
            horizons = [
                [self._place[at], max(0, horizon_ms - self._begin_ms)]
                for at in self._chosen
                if at in held and (horizon_ms := held[at].batch.delete_horizon_ms) is not None
            ]
            gone = [
                self._place[at]
                for at in reached
                if at not in held or _IDENTITY(held[at]) != _IDENTITY(self._records[at])
            ]
            upto = sum(at < (log.partition.checkpoint or 0) for at in reached)
            step = {"offsets": gone, "horizons": horizons, "upto": upto}
            given = {name: value for name, value in step.items() if value}
            if given:
                yield {"op": "cleaned", "replica": log.name, **given}

    def failover(self) -> Iterator[dict[str, Any]]:
        """Steps of a failover to the first replica that is not safe; none where all are."""
        for finding in self._findings[:1]:
            if finding.replica in self._away:
                leader = self._leader.name
                yield {"op": "sync", "follower": finding.replica, "leader": leader}
            if self._away:
                yield {"op": "isr", "isr": [log.name for log in self._logs]}
            yield {"op": "elect", "leader": finding.replica, "epoch": self._epoch + 1}
            yield {"op": "quiesce"}

    def _key(self, key: str | None) -> str:
        return readable(self._alias(key) or "") or "(empty)"


def _held_by(log: ReplicaLog) -> dict[int, Held]:
    """The records and markers of a replica by offset, without changes of leader."""
    return {
        record.offset: Held(stored.batch, record)
        for _, stored in log.partition.batches(Detail.SIZES)
        if stored.batch.control is not Control.LEADER_CHANGE
        for record in stored.batch.records
    }
