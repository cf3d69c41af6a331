"""Recordings of what Kafka answered, so that the comparison runs again without Java.

A file of lines: each line a log file with Kafka's answer and the version that gave it. They are
chosen to be different in what happens in them, and small. A batch of the answer is written as the
list of its values, in the order of `BATCH_FIELDS`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sim.errors import BadInput
from sim.files.atomic import replacing
from tests.conformance.compare import BATCH_FIELDS, Json, normal_step
from tests.conformance.random_runs import Agreed

FOLDER = Path("tests/data/kafka")

_BATCH_DEFAULTS: dict[str, Any] = {
    "epoch": 0,
    "producer_id": -1,
    "producer_epoch": -1,
    "base_sequence": -1,
    "transactional": False,
    "control": None,
    "delete_horizon_ms": None,
}


class Collection:
    """Keeps the smallest few of each kind of agreed log.

    A kind is the set of features that occurred in the log.
    """

    def __init__(self, *, of_each_kind: int = 8) -> None:
        self._of_each_kind = of_each_kind
        self._kinds: dict[frozenset[str], list[tuple[int, str, Agreed]]] = defaultdict(list)

    def add(self, case: Agreed) -> None:
        """Consider a log; one without any feature is of no use."""
        if not case.features:
            return
        text = json.dumps(case.document)
        kept = self._kinds[case.features]
        kept.append((len(text), text, case))
        kept.sort(key=lambda entry: entry[:2])
        del kept[self._of_each_kind :]

    def chosen(self, count: int, first: Sequence[Agreed] = ()) -> list[Agreed]:
        """At most `count` of them, small ones first.

        Those of `first`, then what it takes to have every feature, then one log of each kind, then
        a second of each, and so on.
        """
        kinds = sorted(self._kinds.values(), key=lambda kept: kept[0][:2])
        places = [(rank, kind) for kind, kept in enumerate(kinds) for rank in range(len(kept))]
        ranked = [kinds[kind][rank][2] for rank, kind in sorted(places)]
        needed: list[Agreed] = list(first)
        for feature in sorted({name for case in ranked for name in case.features}):
            if not any(feature in case.features for case in needed):
                needed.append(next(case for case in ranked if feature in case.features))
        others = [case for case in ranked if case not in needed]
        return [*needed, *others][:count]


def write_recordings(cases: list[Agreed], *, version: str, folder: Path = FOLDER) -> Path:
    """Write the recordings of one Kafka version to one file.

    Returns:
        The file.

    Raises:
        BadInput: It cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"kafka-{version}.jsonl"
    with replacing(path) as file:
        for case in cases:
            line = {
                "kafka": version,
                "features": sorted(case.features),
                "log": _without_defaults(case.document),
                "answer": _compact(case.document, case.kafka),
            }
            file.write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return path


def read_recordings(folder: Path = FOLDER) -> Iterator[tuple[str, Json]]:
    """Every recording under a folder, each with a name such as `kafka-4.3.1.jsonl:7`.

    Raises:
        BadInput: A line is no recording.
    """
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                recording = json.loads(line)
                answer = {"steps": [_whole(step) for step in recording["answer"]["steps"]]}
                recorded = {**recording, "answer": answer}
            except (ValueError, KeyError, TypeError):
                raise BadInput(f"{path}:{number}: not a recording of Kafka's answer") from None
            yield f"{path.name}:{number}", recorded


def _compact(document: Json, kafka: Json) -> Json:
    """Kafka's answer, only what is compared."""
    pairs = zip(document["steps"], kafka["steps"], strict=True)
    return {"steps": [_packed(normal_step(answer, step)) for step, answer in pairs]}


def _packed(step: Json) -> Json:
    batches = [
        [batch[name] for name in (*BATCH_FIELDS, *(["magic"] if "magic" in batch else []))]
        for batch in step["batches"]
    ]
    return {**step, "batches": batches}


def _whole(step: Json) -> Json:
    fields = len(BATCH_FIELDS)
    batches = [
        dict(zip(BATCH_FIELDS, values[:fields], strict=True))
        | dict(zip(["magic"], values[fields:], strict=False))
        for values in step["batches"]
    ]
    return {**step, "batches": batches}


def _without_defaults(document: Json) -> Json:
    """The log file without what it does not have to say."""
    segments = [
        {**segment, "batches": [_short(batch) for batch in segment["batches"]]}
        if isinstance(segment, dict)
        else [_short(batch) for batch in segment]
        for segment in document["segments"]
    ]
    steps = [
        {**step, "batches": [_short(batch) for batch in step["batches"]]}
        if "batches" in step
        else step
        for step in document["steps"]
    ]
    return {**document, "segments": segments, "steps": steps}


def _short(batch: Json) -> Json:
    said = {
        name: value
        for name, value in batch.items()
        if name not in _BATCH_DEFAULTS or value != _BATCH_DEFAULTS[name]
    }
    said["records"] = [
        {name: value for name, value in record.items() if name != "headers" or value}
        for record in batch["records"]
    ]
    return said
