"""What a real broker held and served in the index seek run, as log files and recordings.

A log file, in `scenarios/seen_on_kafka`, expects the broker's outcome. The recording of its name
has all that was compared, so that it is compared again without Java.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from sim.errors import BadInput
from sim.files.atomic import replacing
from tests.conformance.broker_compare import held_after
from tests.conformance.broker_run import BrokerRun
from tests.conformance.compare import Json

SCENARIOS = Path("scenarios/seen_on_kafka")
FOLDER = Path("tests/data/kafka_broker")

_TITLES = {
    "abort": "A deleted key comes back: the map is read from behind an ABORT marker, and what its"
    " producer commits later counts as aborted",
    "abort_without_index": "The same log with an index.interval.bytes of 2^30: the map is read from"
    " the start of the segment, and the deleted key stays deleted",
    "commit": "The same log with COMMIT in place of ABORT: the deleted key stays deleted",
}


def write_index_seek(
    version: str,
    runs: Mapping[str, tuple[BrokerRun, Json]],
    *,
    scenarios: Path = SCENARIOS,
    folder: Path = FOLDER,
) -> Iterator[Path]:
    """Write scenario and recording of each topic; yields each file.

    Args:
        version: The release.
        runs: By topic, what was seen of it, and the log file with the clock's times filled in.
        scenarios: The folder for log files.
        folder: The folder for recordings.

    Raises:
        BadInput: They cannot be written.
    """
    for name, (run, document) in runs.items():
        held = [held_after(passed, document["steps"][passed.step]) for passed in run.passes]
        own = {
            "format": document["format"],
            "title": _TITLES[name],
            "source": f"Seen on Kafka {version}: one broker in `make conformance`."
            " Cleaner.buildOffsetMapForSegment, LocalLog.collectAbortedTransactions",
        }
        expect = [_expected(step) for step in held]
        file = f"log_index_seek_{name}.json"
        yield _write(scenarios / file, {**own, **document, "expect": expect})
        reads = [read.offset for read in run.committed[0]]
        yield _write(folder / file, {"kafka": version, "reads": reads, "held": held})


def read_broker_recordings(folder: Path = FOLDER) -> Iterator[tuple[str, Json]]:
    """Every recording under a folder, with the name of its log file.

    `reads` has the offsets that a read_committed consumer got, `held` what was held after each
    pass.

    Raises:
        BadInput: A file is no recording.
    """
    for path in sorted(folder.glob("*.json")):
        try:
            recording = json.loads(path.read_text(encoding="utf-8"))
            yield path.stem, {key: recording[key] for key in ("kafka", "reads", "held")}
        except (ValueError, KeyError, TypeError):
            raise BadInput(f"{path}: not a recording of a broker") from None


def _expected(held: Json) -> Json:
    """What a log file claims of a step."""
    surviving = [at for batch in held["batches"] for at in batch["record_offsets"]]
    return {
        "next_dirty_offset": held["next_dirty_offset"],
        "surviving_offsets": surviving,
        "log_end_offset": held["log_end_offset"],
        "aborted_txns": held["aborted_txns"],
    }


def _write(path: Path, document: Json) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(_text(document).encode())
    return path


def _text(document: Json) -> str:
    """JSON with a line for each batch, step and record."""
    fields = []
    for name, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            fields.append(f" {json.dumps(name)}: [\n{_items(value, '  ')}\n ]")
        else:
            fields.append(f" {json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _items(values: list[Json], indent: str) -> str:
    lines = []
    for value in values:
        batches = value.get("batches") if isinstance(value, dict) else None
        if batches is None:
            lines.append(indent + json.dumps(value))
            continue
        rest = "".join(
            f"{json.dumps(name)}: {json.dumps(item)}, "
            for name, item in value.items()
            if name != "batches"
        )
        inner = _items(batches, indent + "  ")
        lines.append(f'{indent}{{{rest}"batches": [\n{inner}\n{indent}]}}')
    return ",\n".join(lines)
