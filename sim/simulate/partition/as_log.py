"""A partition as a log file, in memory or written: with its keys and values or without them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from string import ascii_letters, digits
from typing import Any, Final, NamedTuple

from msgspec.structs import asdict

from sim.errors import BadInput
from sim.files.atomic import check_writable, replace_text
from sim.files.document import Document
from sim.files.formats import LOG_FORMAT
from sim.protocol.log import Batch, Record
from sim.protocol.log.formats import OldBatch
from sim.protocol.log.record import STRAY_BYTES
from sim.simulate.logfile.batches import bytes_of, written
from sim.simulate.logfile.file import LogFile, LogStart, WrittenSegment
from sim.simulate.logfile.rules import DEFAULT_PRESET, rules_at
from sim.simulate.logfile.settings import LogSettings
from sim.simulate.logfile.steps import Clean
from sim.simulate.partition.partition import Partition
from sim.simulate.partition.segments import Detail, PartitionSegment, Stored
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


Alias = Callable[[str | None], str | None]
"""Gives the text that stands for a key or a value."""
_LETTERS: Final = (ascii_letters + digits).encode()
_BYTES: Final = _LETTERS + bytes(byte for byte in range(256) if byte not in _LETTERS)
_NUMBERED: Final = 8
"""Letters of an alias that its number decides; those behind are all the same."""
_DEFAULTS: Final = dict(
    zip(reversed(Batch.__struct_fields__), reversed(Batch.__struct_defaults__), strict=False)
)
"""Fields of a batch that may be left out, with what stands for them then."""


def aliases() -> Alias:
    """Gives numbered texts for keys and values: of as many bytes, equal ones for equal ones."""
    known: dict[str, str] = {}
    numbers: Counter[int] = Counter()

    def alias(text: str | None) -> str | None:
        if text is not None and text not in known:
            size = len(bytes_of(text))
            base = 62 if size > 3 else 256  # there are fewer texts of three letters than keys
            places = range(min(size, _NUMBERED))
            numbered = bytes(_BYTES[numbers[size] // base**place % base] for place in places)
            known[text] = numbered.ljust(size, b"a").decode(errors=STRAY_BYTES)
            numbers[size] += 1
        return None if text is None else known[text]

    return alias


def write_log(partition: Partition, question: Question, path: Path, *, anonymous: bool) -> None:
    """Writes a partition as a log file whose last step is a pass now, if one is due.

    Raises:
        Damaged: A batch is not as it was written.
        BadInput: The file cannot be written, or there are too many records.
    """
    check_writable(path)
    file, settings = whole_log_file(partition, question), question.settings
    alias = aliases() if anonymous else lambda text: text
    now = {"now_ms": question.now_ms}
    start = file.start._replace(producers_since_ms=None)._asdict()
    document = {
        "format": LOG_FORMAT,
        "title": "A partition" if anonymous else partition.name,
        "rules": {"preset": question.preset, **question.rules},
        "topic": _given(settings.topic),
        **_given(start),
        "segments": [
            {
                **_given(
                    {"base_offset": one.base_offset, "last_modified_ms": one.last_modified_ms}
                ),
                "batches": [_batch(batch, alias) for batch in one.batches],
            }
            for one in file.segments
        ],
        "steps": [
            {"op": "expire_producers", **now, "expiration_ms": settings.expiration_ms},
            {"op": "clean", **now, "map_capacity": settings.map_keys},
        ],
    }
    replace_text(path, json.dumps(document, indent=1) + "\n")


def _given(fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _batch(batch: Batch, alias: Alias) -> dict[str, Any]:
    """A batch as a log file has it; what is its default is left out."""
    fields = asdict(batch).items()
    found = {name: of for name, of in fields if name not in _DEFAULTS or of != _DEFAULTS[name]}
    found["records"] = [_record(one, batch, alias) for one in batch.records]
    return found | ({"magic": batch.magic} if isinstance(batch, OldBatch) else {})


def _record(record: Record, batch: Batch, alias: Alias) -> dict[str, Any]:
    at = {"offset": record.offset, "timestamp_ms": record.timestamp_ms}
    if batch.control is not None:
        return at | {"marker": batch.control}
    key, value = alias(record.key), alias(record.value)
    headers = [
        (name, written(alias(content.decode(errors=STRAY_BYTES))))
        for name, content in record.headers
    ]
    return at | {
        "key": written(key),
        "value": written(value),
        **({"headers": headers} if headers else {}),
    }
