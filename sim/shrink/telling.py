"""A story that is being made of a run: how steps are added, and how records are written again."""

from __future__ import annotations

from typing import Any, TypeAlias

from sim.compaction.strategies import ENCODERS, VERSION_HEADER_BYTES, decode_varint
from sim.log import Record
from sim.replication import Replica
from sim.rules import Rules
from sim.story.driver import StoryDriver
from sim.story.steps import Step

Pair: TypeAlias = tuple[Replica, Replica]
"""A follower and its leader."""


class Telling:
    """A story in the making, which runs along.

    Attributes:
        driver: What the story has come to.
        replicas: Those of the story, by name.
        steps: Those taken so far.
        rules: Those of the run.
    """

    def __init__(self, driver: StoryDriver, rules: Rules) -> None:
        """A story without steps, which `driver` runs; `rules` are those of the run."""
        self.driver = driver
        self.replicas = self.driver.replicas
        self.steps: list[Step] = []
        self.rules = rules
        self._followed: set[tuple[str, str, int]] = set()

    def step(self, op: str, **fields: Any) -> None:
        """Take one step; fields that are None are left out."""
        given = {name: value for name, value in fields.items() if value is not None}
        step = Step(len(self.steps) + 1, op, given)
        self.steps.append(step)
        self.driver.take(step)

    def until(self, now_ms: int) -> None:
        """Let time pass up to a moment, unless that is over."""
        if now_ms > self.driver.now_ms:
            self.step("advance", ms=now_ms - self.driver.now_ms)

    def pair(self, follower: str, leader: str | None) -> Pair | None:
        """Both, if the leader leads in the story, too, and both are up."""
        fetcher, source = self.replicas.get(follower), self.replicas.get(leader or "")
        if fetcher is None or source is None or fetcher is source:
            return None
        ready = fetcher.up and source.up and source.leadership is not None
        return (fetcher, source) if ready else None

    def between(self, op: str, pair: Pair, **fields: Any) -> None:
        """Take one step of a follower and its leader."""
        self.step(op, follower=pair[0].name, leader=pair[1].name, **fields)

    def follow(self, pair: Pair) -> None:
        """Become a follower first, where that is a step of its own."""
        mode, leadership = self.rules.replication.truncation, pair[1].leadership
        if mode not in ("high_watermark", "epoch_kip101") or leadership is None:
            return
        known = (pair[0].name, pair[1].name, leadership.epoch)
        if known not in self._followed:
            self._followed.add(known)
            self.between("follow", pair)

    def tell(self, pair: Pair) -> None:
        """The leader hears where the follower is, and the follower what is committed."""
        self.follow(pair)
        self.between("fetch", pair, max=0)


def held_at(replica: Replica, bound: int) -> int:
    """The first batch of a log that begins at an offset or above it, else the log's end."""
    bases = (batch.base_offset for batch in replica.log.batches())
    return next((base for base in bases if base >= bound), replica.log.log_end_offset)


def count(replica: Replica, since: int, below: int | None = None) -> int:
    """Batches of a log with a base offset from `since` on, below an offset or to the end."""
    bases = [batch.base_offset for batch in replica.log.batches()]
    return sum(since <= base and (below is None or base < below) for base in bases)


def fields_of(record: Record, rules: Rules, story: Rules) -> dict[str, Any]:
    """The fields of an `append` step that writes a record of a run again.

    Args:
        record: The record.
        rules: Those of the run: what is a delete there.
        story: Those of the story: what is a delete, and which version decides.
    """
    fields: dict[str, Any] = {"label": f"u{record.uid}", "key": record.key}
    strategy, mark = story.cleaner.strategy, story.cleaner.tombstone_mark
    if strategy == "timestamp":
        fields["ts"] = record.timestamp_ms
    elif strategy != "offset":
        fields |= _version(record, story)
    by_flag = record.flagged and rules.cleaner.tombstone_mark != "null_value"
    marks = {
        "explicit": ("tombstone", record.value is None or by_flag),
        "null_value": ("null_value", record.value is None),
    }
    field, deletes = marks.get(mark, ("flag", record.flagged))
    return fields | {field: True} if deletes else fields


def _version(record: Record, rules: Rules) -> dict[str, Any]:
    """The version headers of a record: the last one, and one before it, which some rules read."""
    form = rules.cleaner.header_form
    own = [value for name, value in record.headers if name == rules.topic.strategy_header]
    numbers = [_number(value, form) for value in own]
    if not own:
        return {}
    if len(own) > 1 and numbers[-2] is not None:
        return {"hdr": numbers[-2], "hdr_bytes": own[-1]}
    return {"hdr_bytes": own[-1]} if numbers[-1] is None else {"hdr": numbers[-1]}


def _number(value: bytes, form: str) -> int | None:
    """The number that a story would write as these bytes; None = there is none."""
    if len(value) == VERSION_HEADER_BYTES:
        found: int | None = int.from_bytes(value, "big", signed=True)
    else:
        found = decode_varint(value)
    return found if found is not None and ENCODERS[form](found) == value else None
