"""A partition as a log file: its batches, its settings, and what the cleaner knows of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sim.errors import BadInput
from sim.files.document import Document
from sim.protocol.log import Batch
from sim.simulate.logfile.file import LogFile, LogStart, WrittenSegment
from sim.simulate.logfile.rules import DEFAULT_PRESET, rules_at
from sim.simulate.logfile.settings import LogSettings
from sim.simulate.logfile.steps import Clean
from sim.simulate.partition.partition import Partition
from sim.simulate.partition.records import Detail, Stored
from sim.simulate.partition.segments import PartitionSegment
from sim.simulate.partition.settings import GivenSettings

RECORDS_MAX = 1_000_000
"""Records of a partition that are held in memory at once: about 500 bytes each."""


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


def records_in(partition: Partition) -> int:
    """Number of a partition's records, its markers among them. Raises Damaged."""
    return sum(stored.record_count for _, stored in partition.batches(Detail.HEADERS))


def whole_log_file(partition: Partition, question: Question) -> LogFile:
    """The partition with all records as a log file with one step: a pass now, if one is due.

    Raises:
        Damaged: A batch is not as it was written.
        BadInput: A setting has no such value, or there are more than `RECORDS_MAX` records.
    """
    count = records_in(partition)
    if count > RECORDS_MAX:
        raise BadInput(
            f"{partition.place}: {count:,} records; at most {RECORDS_MAX:,} are held in memory: "
            "ask for one key or offset, or for the contents (replog log)"
        )
    return log_file_of(partition, question, partition.batches(Detail.WHOLE))


def log_file_of(
    partition: Partition, question: Question, read: Iterable[tuple[PartitionSegment, Stored]]
) -> LogFile:
    """The partition as a log file with one step: a pass now, if one is due.

    Args:
        partition: The partition.
        question: The settings and the time.
        read: Its batches with the records that are kept; they have their sizes in the file.

    Raises:
        Damaged: A batch is not as it was written.
        BadInput: A setting has no such value.
    """
    top, given = Document(str(partition.place), {}).top, question.settings
    where = top if given.source is None else Document(str(given.source), {}).top
    rules = rules_at(question.rules, top.at("rules"))
    settings = LogSettings.read(dict(given.topic), where.at("topic"), rules)
    batches: dict[int, list[Batch]] = {one.base_offset: [] for one in partition.segments}
    end, committed = partition.segments[-1].base_offset, partition.committed
    for segment, stored in read:
        batches[segment.base_offset].append(stored.batch)
        end = max(end, stored.batch.last_offset + 1)
    return LogFile(
        settings.rules,
        tuple(
            WrittenSegment(base, tuple(batches[base]), one.last_modified_ms, one.aborted)
            for one in partition.segments
            for base in (one.base_offset,)
        ),
        (Clean(op="clean", now_ms=question.now_ms, map_capacity=given.map_keys),),
        settings.topic,
        top.at("steps"),
        notes=partition.notes,
        start=LogStart(
            partition.checkpoint,
            None if partition.log_start is None else min(partition.log_start, end),
            None if committed is None else min(max(committed, partition.log_start or 0), end),
            question.now_ms - given.expiration_ms,
        ),
    )
