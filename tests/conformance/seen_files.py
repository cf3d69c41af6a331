"""Log files of `scenarios/` that say what Kafka itself answered, and those answers, recorded.

The `source` of such a file begins with "Seen on Kafka 4.3.1: ".
`python -m tests.conformance.seen_files VERSION` asks that release about its files and compares;
with `--record` it writes down the answers, so that the comparison runs again without Java.
Exit status 1: there is a difference; 2: Kafka cannot be asked.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from sim.errors import BadInput
from sim.files.atomic import replacing
from tests.conformance.compare import Json, first_difference, normal_step
from tests.conformance.jars import KAFKA_VERSION

SCENARIOS = Path("scenarios")
RECORDINGS = Path("tests/data/kafka_seen")
_SEEN = re.compile(r"Seen on Kafka (\d+\.\d+\.\d+): ")


def seen_files(folder: Path = SCENARIOS) -> dict[Path, str]:
    """Every log file with steps below `folder` that was seen on Kafka -> the release."""
    found = {}
    for path in sorted(folder.rglob("log_*.json")):
        source = _SEEN.match(str(json.loads(path.read_text(encoding="utf-8")).get("source", "")))
        if source is not None:
            found[path] = source[1]
    return found


def recorded_answer(path: Path, folder: Path = RECORDINGS) -> Json:
    """What Kafka answered to a file, `kafka` beside it for the release.

    Raises:
        OSError: It was not recorded.
    """
    recorded: Json = json.loads((folder / path.name).read_text(encoding="utf-8"))
    return recorded


def main(arguments: Sequence[str]) -> int:
    """Ask a release about its files."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.seen_files")
    parser.add_argument("version", nargs="?", default=KAFKA_VERSION)
    parser.add_argument("--record", action="store_true")
    chosen = parser.parse_args(arguments)
    try:
        return _compare(chosen.version, record=chosen.record)
    except BadInput as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _compare(version: str, *, record: bool) -> int:
    from tests.conformance.kafka import KafkaCleaner

    kafka = KafkaCleaner(version)
    differing = 0
    for path, release in seen_files().items():
        if release != version:
            continue
        document: Json = json.loads(path.read_text(encoding="utf-8"))
        difference = first_difference(document, kafka=kafka.answer)
        sys.stdout.write(f"{path}: {difference or 'agrees'}\n")
        differing += difference is not None
        if record and difference is None:
            _record(path, version, document, kafka.answer(document))
    return 1 if differing else 0


def _record(path: Path, version: str, document: Json, answer: Json) -> None:
    pairs = zip(answer["steps"], document["steps"], strict=True)
    steps = [normal_step(own, step) for own, step in pairs]
    RECORDINGS.mkdir(parents=True, exist_ok=True)
    lines = ",\n  ".join(json.dumps(step) for step in steps)
    text = f'{{"kafka": "{version}", "steps": [\n  {lines}\n]}}\n'
    with replacing(RECORDINGS / path.name) as file:
        file.write(text.encode())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
