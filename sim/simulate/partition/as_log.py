"""A partition as a log file: its batches, its settings, and what the cleaner knows of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from sim.files.document import Document
from sim.protocol.log import Batch, Record
from sim.simulate.logfile.file import LogFile, LogStart, WrittenSegment
from sim.simulate.logfile.rules import DEFAULT_PRESET, rules_at
from sim.simulate.logfile.settings import LogSettings
from sim.simulate.logfile.steps import Clean
from sim.simulate.partition.partition import Partition
from sim.simulate.partition.segments import Detail
from sim.simulate.partition.settings import GivenSettings

Keeps = Callable[[Batch, Record], bool]
"""Decides whether a record of a batch is kept."""


class Question(NamedTuple):
    """The time, the settings and the rules for the questions about a partition.

    Attributes:
        now_ms: The time, in ms.
        settings: Settings of its topic.
        rules: Rules of the cleaner that replace those of the preset, and the preset.
    """

    now_ms: int
    settings: GivenSettings
    rules: Mapping[str, object]

    @property
    def preset(self) -> str:
        """The release whose rules and defaults count."""
        return str(self.rules.get("preset", DEFAULT_PRESET))


def log_file_of(
    partition: Partition, question: Question, detail: Detail, keeps: Keeps | None = None
) -> LogFile:
    """The partition as a log file with one step: a pass now, if one is due.

    Args:
        partition: The partition.
        question: The settings and the time.
        detail: How much of each record is kept.
        keeps: Decides which records are kept in memory; None for all. Batches keep their sizes.

    Raises:
        Damaged: A batch is not as it was written.
        BadInput: A setting has no such value.
    """
    top = Document(str(partition.place), {}).top
    rules = rules_at(question.rules, top.at("rules"))
    given = question.settings
    where = top if given.source is None else Document(str(given.source), {}).top
    settings = LogSettings.read(dict(given.topic), where.at("topic"), rules)
    batches: dict[int, list[Batch]] = {one.base_offset: [] for one in partition.segments}
    for segment, stored in partition.batches(detail):
        batch = stored.batch
        if keeps is not None and batch.control is None:
            batch = replace(batch, records=tuple([r for r in batch.records if keeps(batch, r)]))
        batches[segment.base_offset].append(batch)
    segments = tuple(
        WrittenSegment(
            one.base_offset,
            tuple(batches[one.base_offset]),
            one.last_modified_ms,
            one.aborted,
        )
        for one in partition.segments
    )
    end = max(segments[-1].base_offset, *(b.last_offset + 1 for b in segments[-1].batches), 0)
    committed = None if partition.committed is None else min(partition.committed, end)
    step = Clean(op="clean", now_ms=question.now_ms, map_capacity=question.settings.map_keys)
    return LogFile(
        settings.rules,
        segments,
        (step,),
        settings.topic,
        top.at("steps"),
        notes=partition.notes,
        start=LogStart(
            partition.checkpoint,
            partition.log_start,
            committed,
            question.now_ms - question.settings.expiration_ms,
        ),
    )
