"""A partition as a log file, in memory or written: with its keys and values, or their hashes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import shake_256
from pathlib import Path
from string import ascii_letters, digits
from typing import Any, Final

from msgspec.structs import asdict, fields

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
from sim.simulate.partition import Partition
from sim.simulate.partition.segments import Detail, PartitionSegment, Stored
from sim.simulate.partition.settings import GivenSettings

RECORDS_MAX = 1_000_000
"""Records of a partition that are held in memory at once: about 500 bytes each."""


@dataclass(frozen=True)
class AskedPartition:
    """A partition with the time, the settings and the rules that a question is asked under.

    Attributes:
        partition: Its files.
        now_ms: The time, in ms.
        given: Settings of its topic.
        rules: Rules of the cleaner that replace those of the preset, and the preset.
    """

    partition: Partition
    now_ms: int
    given: GivenSettings
    rules: Mapping[str, object]

    @property
    def preset(self) -> str:
        """The release whose rules and defaults count."""
        return str(self.rules.get("preset", DEFAULT_PRESET))

    @property
    def settings(self) -> str:
        """The settings that were given, and the defaults, in a sentence."""
        return self.given.sentence(self.preset)

    def checked(self) -> LogSettings:
        """Settings and rules, checked.

        Raises:
            BadInput: A setting or a rule has no such value.
        """
        place = self.partition.place
        where = Document(str(self.given.source or place), {}).top.at("topic")
        rules = rules_at(self.rules, Document(str(place), {}).top.at("rules"))
        return LogSettings.read(dict(self.given.topic), where, rules)

    def record_count(self) -> int:
        """Number of the records, markers among them. Raises Damaged."""
        return sum(stored.record_count for _, stored in self.partition.batches(Detail.HEADERS))

    def log_file(self, read: Iterable[tuple[PartitionSegment, Stored]] | None = None) -> LogFile:
        """The partition as a log file with one step: a pass now, if one is due.

        Args:
            read: Its batches with the records that are kept; a batch keeps its size on disk.
                None for all records.

        Raises:
            BadInput: A file is damaged, a setting has no such value, or there are more than
                `RECORDS_MAX` records, and all are to be kept.
        """
        partition, given = self.partition, self.given
        if read is None:
            count = self.record_count()
            if count > RECORDS_MAX:
                raise BadInput(
                    f"{partition.place}: {count:,} records; at most {RECORDS_MAX:,} are held in "
                    "memory: ask for one key or offset, or for the contents (replog log)"
                )
            read = partition.batches(Detail.WHOLE)
        top, settings = Document(str(partition.place), {}).top, self.checked()
        batches: dict[int, list[Batch]] = {one.base_offset: [] for one in partition.segments}
        end, start, committed = max(batches), partition.log_start, partition.committed
        for segment, stored in read:
            batches[segment.base_offset].append(stored.batch)
            end = max(end, stored.batch.last_offset + 1)
        return LogFile(
            settings.rules,
            tuple(
                WrittenSegment(at, tuple(batches[at]), one.last_modified_ms, one.aborted)
                for at, one in zip(batches, partition.segments, strict=True)
            ),
            (Clean(op="clean", now_ms=self.now_ms, map_capacity=given.map_keys),),
            settings.topic,
            top.at("steps"),
            notes=partition.notes,
            start=LogStart(
                partition.checkpoint,
                None if start is None else min(start, end),
                None if committed is None else min(max(committed, start or 0), end),
                self.now_ms - given.expiration_ms,
            ),
        )


Alias = Callable[[str | None], str | None]
"""Gives the text that stands for a key or a value."""
_LETTERS: Final = (ascii_letters + digits + "-_").encode() * 4
_FEW: Final = 3
"""Largest size in bytes with fewer texts of letters (64 to that power) than `RECORDS_MAX`."""
_DEFAULTS: Final = {one.name: one.default for one in fields(Batch)}


def aliases() -> Alias:
    """Makes an alias that gives hashes of as many bytes, equal ones for equal texts alone.

    A text has the same hash in every command, unless a text of the same size has it already.
    """
    known: dict[str, str] = {}
    texts: dict[str, str] = {}

    def alias(text: str | None) -> str | None:
        if text is None:
            return None
        content, salt = bytes_of(text), 0
        while text not in known:
            hashed = shake_256(b"%d %b" % (salt, content)).digest(len(content))
            shown = hashed if len(content) <= _FEW else hashed.translate(_LETTERS)
            chosen = shown.decode(errors=STRAY_BYTES)
            if texts.setdefault(chosen, text) == text:
                known[text] = chosen
            salt += 1
        return known[text]

    return alias


def write_log(asked: AskedPartition, path: Path, *, anonymous: bool = False) -> None:
    """Writes a partition as a log file whose last step is a pass now, if one is due.

    Args:
        asked: The partition, with settings and time.
        path: The file to write.
        anonymous: Keys, values and values of headers become hashes of the same size; names of
            headers stay.

    Raises:
        BadInput: A file is damaged, the file cannot be written, or there are too many records.
    """
    check_writable(path)
    file, given = asked.log_file(), asked.given
    alias = aliases() if anonymous else lambda text: text
    now = {"now_ms": asked.now_ms}
    document = {
        "format": LOG_FORMAT,
        "title": "A partition" if anonymous else asked.partition.name,
        "rules": {"preset": asked.preset, **asked.rules},
        "topic": _present(given.topic),
        **_present(file.start._replace(producers_since_ms=None)._asdict()),
        "segments": [
            _present({"base_offset": one.base_offset, "last_modified_ms": one.last_modified_ms})
            | {"batches": [_batch(batch, alias) for batch in one.batches]}
            for one in file.segments
        ],
        "steps": [
            {"op": "expire_producers", **now, "expiration_ms": given.expiration_ms},
            {"op": "clean", **now, "map_capacity": given.map_keys},
        ],
    }
    replace_text(path, json.dumps(document, indent=1) + "\n")


def _present(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _batch(batch: Batch, alias: Alias) -> dict[str, Any]:
    """A batch as a log file has it; what is its default is left out."""
    found = {name: of for name, of in asdict(batch).items() if of != _DEFAULTS.get(name, of)}
    found["records"] = [_record(one, batch, alias) for one in batch.records]
    return found | ({"magic": batch.magic} if isinstance(batch, OldBatch) else {})


def _record(record: Record, batch: Batch, alias: Alias) -> dict[str, Any]:
    at = {"offset": record.offset, "timestamp_ms": record.timestamp_ms}
    if batch.control is not None:
        return at | {"marker": batch.control}
    headers = [
        (name, written(alias(content.decode(errors=STRAY_BYTES))))
        for name, content in record.headers
    ]
    content = {"key": written(alias(record.key)), "value": written(alias(record.value))}
    return at | content | ({"headers": headers} if headers else {})
