"""A partition written as a log file, with its keys and values or without them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any, Final

from sim.files.atomic import check_writable, replace_text
from sim.files.formats import LOG_FORMAT
from sim.protocol.log import Batch, Record
from sim.protocol.log.formats import OldBatch
from sim.simulate.logfile.batches import bytes_of, written
from sim.simulate.partition.as_log import Question
from sim.simulate.partition.partition import Partition
from sim.simulate.partition.segments import Detail, Stored

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz234567"


class Aliases:
    """Hashes that stand for keys and values: of the same size, equal for equal ones.

    A secret that nobody keeps is hashed with them, so that guesses cannot be tried.
    """

    def __init__(self) -> None:
        """Starts with a secret of its own."""
        self._secret = secrets.token_bytes(16)
        self._of: dict[str, str] = {}
        self._taken: set[str] = set()

    def of(self, text: str | None) -> str | None:
        """The text that stands for another one; the same each time."""
        if text is None:
            return None
        known = self._of.get(text)
        if known is None:
            known = next(one for one in self._tries(bytes_of(text)) if one not in self._taken)
            self._of[text] = known
            self._taken.add(known)
        return known

    def _tries(self, content: bytes) -> Iterator[str]:
        """Texts of as many bytes; short ones may be taken, until all letters are tried."""
        for number in count():
            size = len(content)
            text, part = "", 0
            while len(text) < size:
                seed = b"%d %d " % (number, part) + content
                digest = blake2b(seed, key=self._secret).digest()
                text += "".join(_LETTERS[byte % 32] for byte in digest)
                part += 1
            if number > 64 * 32 and size < 3:  # more texts of that size than letters can tell apart
                yield bytes(secrets.token_bytes(size)).decode(errors="surrogateescape")
            yield text[:size]


def write_log(partition: Partition, question: Question, path: Path, *, anonymous: bool) -> None:
    """Writes a partition as a log file whose last step is a pass now, if one is due.

    Raises:
        Damaged: A batch is not as it was written.
        BadInput: The file cannot be written.
    """
    check_writable(path)
    aliases = Aliases() if anonymous else None
    batches: dict[int, list[dict[str, Any]]] = {one.base_offset: [] for one in partition.segments}
    end = partition.segments[-1].base_offset
    for segment, stored in partition.batches(Detail.WHOLE):
        batches[segment.base_offset].append(_batch(stored, aliases))
        end = max(end, stored.batch.last_offset + 1)
    settings = question.settings
    committed = None if partition.committed is None else min(partition.committed, end)
    state = {
        "checkpoint": partition.checkpoint,
        "log_start_offset": partition.log_start,
        "high_watermark": committed,
    }
    document = {
        "format": LOG_FORMAT,
        "title": "A partition" if anonymous else partition.name,
        "rules": {"preset": question.preset, **question.rules},
        "topic": {name: value for name, value in settings.topic.items() if value is not None},
        **{name: value for name, value in state.items() if value is not None},
        "segments": [
            {
                "base_offset": one.base_offset,
                **(
                    {}
                    if one.last_modified_ms is None
                    else {"last_modified_ms": one.last_modified_ms}
                ),
                "batches": batches[one.base_offset],
            }
            for one in partition.segments
        ],
        "steps": [
            {
                "op": "expire_producers",
                "now_ms": question.now_ms,
                "expiration_ms": settings.expiration_ms,
            },
            {"op": "clean", "now_ms": question.now_ms, "map_capacity": settings.map_keys},
        ],
    }
    replace_text(path, json.dumps(document, indent=1) + "\n")


def _batch(stored: Stored, aliases: Aliases | None) -> dict[str, Any]:
    """A batch as a log file has it; what is its default is left out."""
    batch = stored.batch
    records = [_record(one, batch, aliases) for one in batch.records]
    found: dict[str, Any] = {
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "records": records,
    }
    if stored.codec != "none" and records:
        found["compression"] = stored.codec
    if isinstance(batch, OldBatch):
        return found | {"magic": batch.magic}
    found |= {"epoch": batch.epoch, "timestamp_ms": batch.timestamp_ms}
    optional = {
        "producer_id": (batch.producer_id, -1),
        "producer_epoch": (batch.producer_epoch, -1),
        "base_sequence": (batch.base_sequence, -1),
        "transactional": (batch.transactional, False),
        "control": (None if batch.control is None else str(batch.control), None),
        "delete_horizon_ms": (batch.delete_horizon_ms, None),
    }
    return found | {name: value for name, (value, none) in optional.items() if value != none}


def _record(record: Record, batch: Batch, aliases: Aliases | None) -> dict[str, Any]:
    if batch.control is not None:
        marker = str(batch.control)
        return {"offset": record.offset, "marker": marker, "timestamp_ms": record.timestamp_ms}
    key, value = record.key, record.value
    headers = [(name, content.decode(errors="surrogateescape")) for name, content in record.headers]
    if aliases is not None:
        key, value = aliases.of(key), aliases.of(value)
        headers = [(name, aliases.of(content) or "") for name, content in headers]
    found: dict[str, Any] = {"offset": record.offset, "key": written(key), "value": written(value)}
    if record.timestamp_ms >= 0:
        found["timestamp_ms"] = record.timestamp_ms
    if headers:
        found["headers"] = [[name, written(content)] for name, content in headers]
    return found
