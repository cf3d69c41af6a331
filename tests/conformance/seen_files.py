"""Log files of `scenarios/` that say what Kafka itself answered, asked of that release again.

The `source` of such a file begins with "Seen on Kafka 4.3.1: ".
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.conformance.compare import Answerer, Json, first_difference, normal_step
from tests.conformance.recordings import SEEN, write_file

SCENARIOS = Path("scenarios")
_SEEN = re.compile(r"Seen on Kafka (\d+\.\d+\.\d+): ")


def seen_files(folder: Path = SCENARIOS) -> dict[Path, str]:
    """Every log file with steps below `folder` that was seen on Kafka -> the release."""
    found = {}
    for path in sorted(folder.rglob("log_*.json")):
        source = _SEEN.match(str(json.loads(path.read_text(encoding="utf-8")).get("source", "")))
        if source is not None:
            found[path] = source[1]
    return found


def compare_seen(version: str, kafka: Answerer, *, record: bool = False) -> list[str]:
    """Ask a release about its files: a sentence for each that is answered otherwise.

    Args:
        version: The release.
        kafka: What answers for it.
        record: Write the answers down, so that the comparison runs again without Java.
    """
    differences = []
    for path, release in seen_files().items():
        if release != version:
            continue
        document: Json = json.loads(path.read_text(encoding="utf-8"))
        difference = first_difference(document, kafka=kafka)
        if difference is not None:
            differences.append(f"{path}: {difference}")
        elif record:
            pairs = zip(kafka(document)["steps"], document["steps"], strict=True)
            steps = [normal_step(own, step) for own, step in pairs]
            write_file(SEEN / path.name, {"kafka": version, "steps": steps})
    return differences
