"""Log files that say what Kafka answered: it did, and Replog answers the same; needs no Java."""

import json
from pathlib import Path

import pytest

from tests.conformance.compare import difference_between, replog_answer
from tests.conformance.old_batches import old_bytes
from tests.conformance.seen_files import recorded_answer, seen_files

ROOT = Path(__file__).parents[2]
SEEN = seen_files(ROOT / "scenarios")
RECORDINGS = ROOT / "tests" / "data" / "kafka_seen"


@pytest.mark.parametrize("path", SEEN, ids=lambda path: path.stem)
def test_a_file_that_was_seen_on_kafka_is_answered_as_kafka_did(path: Path) -> None:
    recorded = recorded_answer(path, RECORDINGS)
    document = json.loads(path.read_text())

    assert recorded["kafka"] == SEEN[path]
    assert difference_between(document, replog_answer(document), recorded) is None


def test_every_recording_is_of_a_file_that_says_so() -> None:
    assert {path.name for path in RECORDINGS.iterdir()} == {path.name for path in SEEN}


def test_a_difference_would_be_told() -> None:
    path = next(path for path in SEEN if path.stem == "log_old_tombstone_goes_at_sight")
    document = json.loads(path.read_text())
    recorded = recorded_answer(path, RECORDINGS)
    later = json.loads(path.read_text().replace('"last_modified_ms": 17', '"last_modified_ms": 16'))
    document["segments"][0]["last_modified_ms"] += 1

    told = difference_between(document, replog_answer(document), recorded)
    assert told is not None
    assert told.startswith("steps[0].")
    assert difference_between(later, replog_answer(later), recorded) is None, (
        "ages count, not times"
    )


def test_a_message_of_magic_0_is_what_kafka_0_8_wrote() -> None:
    record = {"offset": 3, "key": "K", "value": None}
    batch = {"magic": 0, "base_offset": 3, "last_offset": 3, "records": [record]}

    # Offset, size, CRC-32, magic, attributes, length of the key, the key, no value.
    assert old_bytes(batch).hex(" ", -4) == (
        "00000000 00000003 0000000f 51432bf2 00000000 00014bff ffffff"
    )


def test_several_records_are_one_compressed_message_at_the_last_ones_offset() -> None:
    records = [{"offset": at, "key": "K", "value": "v", "timestamp_ms": at} for at in (5, 7)]
    written = old_bytes({"magic": 1, "base_offset": 5, "last_offset": 7, "records": records})

    assert int.from_bytes(written[:8], "big") == 7
    assert written[16:18].hex() == "0101", "magic 1, gzip"
    assert int.from_bytes(written[18:26], "big") == 7, "the largest timestamp"
