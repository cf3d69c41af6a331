"""Recordings of Kafka's answers and of brokers' logs, so that comparisons run again without Java.

Recordings of random logs, and of choices among several logs, are lines of one file: each is a log
file with Kafka's answer and the version that gave it. They are small, and differ in the features
that occur in them. A batch of an answer is the list of its values, in the order of `BATCH_FIELDS`.
Recordings of brokers and of single log files are files of their own.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from sim.errors import BadInput
from sim.files.atomic import replace_text
from tests.conformance.compare import (
    BATCH_FIELDS,
    Answerer,
    Json,
    both_answers,
    normal_step,
)

LOGS = Path("tests/data/kafka")
CHOICES = Path("tests/data/kafka-choices")
BROKERS = Path("tests/data/kafka_broker")
CLUSTERS = Path("tests/data/kafka_cluster")
SEEN = Path("tests/data/kafka_seen")
SCENARIOS = Path("scenarios")
STORIES = SCENARIOS / "seen_on_kafka"
LINE = 100
"""Number of characters above which a line is broken up, where that is possible."""
_SOURCE = re.compile(r"Seen on Kafka (\d+\.\d+\.\d+): ")


class Judged(NamedTuple):
    """A log file, or a set of logs, that both sides have answered.

    Attributes:
        document: The log file.
        kafka: Kafka's answer.
        features: Features that occurred in it.
        counts: Numbers of steps, passes, records or logs in it, by name.
        difference: First difference in one sentence; None if both sides agree.
    """

    document: Json
    kafka: Json
    features: frozenset[str] = frozenset()
    counts: Mapping[str, int] = MappingProxyType({})
    difference: str | None = None


class Collection:
    """Keeps the smallest few agreed logs of each kind, which is the set of their features."""

    def __init__(self, *, of_each_kind: int = 8) -> None:
        self._of_each_kind = of_each_kind
        self._kinds: dict[frozenset[str], list[tuple[int, str, Judged]]] = defaultdict(list)

    def add(self, case: Judged) -> None:
        """Adds a log, unless it has no features or larger ones of its kind are not kept."""
        if not case.features:
            return
        text = json.dumps(case.document)
        kept = self._kinds[case.features]
        kept.append((len(text), text, case))
        kept.sort(key=lambda entry: entry[:2])
        del kept[self._of_each_kind :]

    def chosen(self, count: int) -> list[Judged]:
        """At most `count` of the logs, small ones first.

        First come logs that together have every feature, then one log of each kind, then a second
        of each, and so on.
        """
        kinds = sorted(self._kinds.values(), key=lambda kept: kept[0][:2])
        places = [(rank, kind) for kind, kept in enumerate(kinds) for rank in range(len(kept))]
        ranked = [kinds[kind][rank][2] for rank, kind in sorted(places)]
        needed: list[Judged] = []
        for feature in sorted({name for case in ranked for name in case.features}):
            if not any(feature in case.features for case in needed):
                needed.append(next(case for case in ranked if feature in case.features))
        others = [case for case in ranked if case not in needed]
        return [*needed, *others][:count]


def write_recordings(cases: Sequence[Judged], *, version: str, folder: Path = LOGS) -> Path:
    """Writes the recordings of one Kafka version to one file.

    Raises:
        BadInput: It cannot be written.
    """
    lines = [
        {
            "kafka": version,
            "features": sorted(case.features),
            "log": case.document,
            "answer": _packed(case) if "steps" in case.kafka else case.kafka,
        }
        for case in cases
    ]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    return _write(folder / f"kafka-{version}.jsonl", text)


def read_recordings(folder: Path = LOGS) -> Iterator[tuple[str, Json]]:
    """All recorded lines in a folder, each with a name such as `kafka-4.3.1.jsonl:7`.

    Raises:
        BadInput: A line is no recording.
    """
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                recording = json.loads(line)
                answer = recording["answer"]
                if "steps" in answer:
                    answer = {"steps": [_whole(step) for step in answer["steps"]]}
                yield f"{path.name}:{number}", {**recording, "answer": answer}
            except (ValueError, KeyError, TypeError):
                raise BadInput(f"{path}:{number}: not a recording of Kafka's answer") from None


def write_file(path: Path, document: Json) -> Path:
    """Writes a recording, or a log file, as JSON with lines of readable length.

    Raises:
        BadInput: It cannot be written.
    """
    return _write(path, _text(document, "") + "\n")


def read_files(folder: Path) -> dict[str, Json]:
    """All recordings of a folder of files, by file name without the ending."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def seen_files(folder: Path = SCENARIOS) -> dict[Path, str]:
    """Log files with steps below `folder` whose source is a Kafka release, with that release."""
    found = {}
    for path in sorted(folder.rglob("log_*.json")):
        source = _SOURCE.match(str(json.loads(path.read_text(encoding="utf-8")).get("source", "")))
        if source is not None:
            found[path] = source[1]
    return found


def compare_seen(version: str, kafka: Answerer, *, record: bool = False) -> list[str]:
    """Asks a release about its files of `seen_files`; returns a sentence for each difference.

    Args:
        version: The release.
        kafka: Function that answers for it.
        record: True to record the answers, so that the comparison runs again without Java.
    """
    differences = []
    for path in (path for path, release in seen_files().items() if release == version):
        document: Json = json.loads(path.read_text(encoding="utf-8"))
        _, answer, difference = both_answers(document, kafka)
        if difference is not None:
            differences.append(f"{path}: {difference}")
        elif record:
            pairs = zip(answer["steps"], document["steps"], strict=True)
            steps = [normal_step(own, step) for own, step in pairs]
            write_file(SEEN / path.name, {"kafka": version, "steps": steps})
    return differences


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, text)
    return path


def _text(value: Any, indent: str) -> str:
    whole = json.dumps(value)
    if len(indent) + len(whole) <= LINE or not isinstance(value, (dict, list)):
        return whole
    inner = indent + " "
    if isinstance(value, list):
        items, ends = [_text(item, inner) for item in value], "[]"
    else:
        items = [f"{json.dumps(name)}: {_text(item, inner)}" for name, item in value.items()]
        ends = "{}"
    lines = ",\n".join(inner + item for item in items)
    return f"{ends[0]}\n{lines}\n{indent}{ends[1]}"


def _packed(case: Judged) -> Json:
    """The compared fields of Kafka's answer, as a recording has them."""
    steps = []
    for step, answer in zip(case.document["steps"], case.kafka["steps"], strict=True):
        normal = normal_step(answer, step)
        batches = [
            [batch[name] for name in (*BATCH_FIELDS, *(["magic"] if "magic" in batch else []))]
            for batch in normal["batches"]
        ]
        steps.append({**normal, "batches": batches})
    return {"steps": steps}


def _whole(step: Json) -> Json:
    names = (*BATCH_FIELDS, "magic")
    return {**step, "batches": [dict(zip(names, one, strict=False)) for one in step["batches"]]}
