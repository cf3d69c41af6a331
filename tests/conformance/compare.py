"""Compares Replog's answer to a log file with Kafka's, step by step, up to the first difference.

Kafka is right by definition. Parts that only one side can know are left out: Replog alone gives
reasons of removals, an emptied marker no longer shows whether it was a COMMIT or an ABORT, and the
size of a compressed batch depends on the library.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, TypeAlias

from sim.simulate.logfile.answer import answer

Json: TypeAlias = dict[str, Any]
Answerer: TypeAlias = Callable[[Json], Json]
"""Function from a log file to an answer, `{"steps": [...]}`."""
replog_answer: Answerer = answer
"""Replog's own answer to a log file."""

BATCH_FIELDS = (
    "base_offset",
    "last_offset",
    "record_offsets",
    "delete_horizon_ms",
    "control",
    "max_timestamp_ms",
    "size_bytes",
    "segment",
)
STEP_FIELDS = (
    "batches",
    "surviving_offsets",
    "tombstone_offsets",
    "log_end_offset",
    "last_sequences",
    "aborted_txns",
)
REPLICA_FIELDS = (
    "log_start_offset",
    "high_watermark",
    "last_stable_offset",
    "checkpoint",
    "epochs",
)
"""Fields that older recordings do not have."""
CLEAN_FIELDS = (
    "effective_upper_bound",
    "next_dirty_offset",
    "messages_read",
    "messages_written",
    "invalid_messages",
    "uncleanable",
)
DUE_FIELDS = (
    "selected",
    "first_dirty_offset",
    "first_uncleanable_offset",
    "force_update_checkpoint",
    "clean_bytes",
    "cleanable_bytes",
    "cleanable_ratio",
    "compaction_delay_ms",
)
"""Fields of a pass that the cleaner's manager decides about."""
DUPLICATE_FIELDS = ("duplicate", "first_offset", "last_offset")


@dataclass
class Result:
    """Result of a comparison.

    Attributes:
        what: Its name, such as `broker of Kafka 3.8.0`.
        counts: Numbers of logs, passes or records that were compared, by name.
        differences: A sentence for each difference.
    """

    what: str
    counts: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """The outcome in two words."""
        return "they differ" if self.differences else "all agree"

    @property
    def complaints(self) -> list[str]:
        """A sentence for each reason why the run fails."""
        return [f"{self.what}: {text}" for text in self.differences]

    @property
    def summary(self) -> str:
        """The outcome in one line."""
        counts = ", ".join(f"{number:,} {name}" for name, number in self.counts.items())
        return f"{self.what}: {counts}: {self.verdict}"

    def compare(self, ours: object, theirs: object, place: str) -> None:
        """Notes the first difference between two JSON values, if there is one."""
        found = first_unequal(ours, theirs, place)
        self.differences += [] if found is None else [found]


def normal_step(answered: Mapping[str, Any], step: Mapping[str, Any]) -> Json:
    """The compared fields of one step of an answer, in the same form for both sides.

    Args:
        answered: The answer to the step, by either side.
        step: The step, whose operation decides which fields there are.
    """
    normal: Json = {name: answered.get(name) for name in STEP_FIELDS}
    normal.update({name: answered[name] for name in REPLICA_FIELDS if name in answered})
    normal["batches"] = [_normal_batch(batch) for batch in answered["batches"]]
    sequences = answered["last_sequences"].items()
    normal["last_sequences"] = {str(producer): value for producer, value in sequences}
    normal["aborted_txns"] = sorted(
        (dict(entry) for entry in answered["aborted_txns"]), key=lambda entry: entry["last_offset"]
    )
    if step["op"] == "clean":
        normal.update({name: answered.get(name) for name in CLEAN_FIELDS})
        normal["uncleanable"] = bool(normal["uncleanable"])
        if step.get("upper_bound") is None:
            normal.update({name: answered.get(name) for name in DUE_FIELDS})
        elif normal["effective_upper_bound"] is None:
            normal["effective_upper_bound"] = step["upper_bound"]
    if step["op"] == "produce_duplicate":
        normal.update({name: answered.get(name) for name in DUPLICATE_FIELDS})
    return normal


def _normal_batch(batch: Mapping[str, Any]) -> Json:
    normal = {name: batch.get(name) for name in BATCH_FIELDS}
    if "magic" in batch:
        normal["magic"] = batch["magic"]
    if not normal["record_offsets"] and normal["control"]:
        normal["control"] = "emptied"
    return normal


def difference_between(document: Json, replog: Json, kafka: Json) -> str | None:
    """The first difference between two answers to a log file, as a sentence with its JSON path.

    None if they agree.
    """
    ours, theirs = replog["steps"], kafka["steps"]
    if len(ours) != len(theirs):
        return f"steps: Replog answers {len(ours)} of them, Kafka {len(theirs)}"
    for number, (step, our, their) in enumerate(zip(document["steps"], ours, theirs, strict=True)):
        mine, yours = normal_step(our, step), normal_step(their, step)
        for name in REPLICA_FIELDS:
            if name not in yours:
                mine.pop(name, None)
        _leave_out_unknown_sizes(mine["batches"], yours["batches"])
        found = first_unequal(mine, yours, f"steps[{number}]")
        if found is not None:
            return f"{found}, after step {number} ({_summary(step)})"
    return None


def _leave_out_unknown_sizes(ours: list[Json], theirs: list[Json]) -> None:
    """Removes sizes that Kafka's side does not give: those of compressed batches."""
    for our, their in zip(ours, theirs, strict=False):
        if their["size_bytes"] is None:
            our["size_bytes"] = None


def _summary(step: Mapping[str, Any]) -> str:
    """A step in a few words."""
    if step["op"] != "clean":
        return str(step["op"])
    capacity = f", room for {step['map_capacity']} keys" if "map_capacity" in step else ""
    if step.get("upper_bound") is None:
        return f"clean if due at {step['now_ms']} ms{capacity}"
    span = f"[{step['first_dirty_offset']}, {step['upper_bound']})"
    return f"clean {span} at {step['now_ms']} ms{capacity}"


def first_unequal(ours: object, theirs: object, place: str = "") -> str | None:
    """The first place where two JSON values differ, as a sentence; None if they are equal.

    Args:
        ours: Replog's value.
        theirs: Kafka's value.
        place: Path of both values.
    """
    found = _unequal(ours, theirs, place)
    if found is None:
        return None
    path, mine, yours = found
    return f"{path.lstrip('.')}: Replog says {_shown(mine)}, Kafka says {_shown(yours)}"


def _shown(value: object) -> str:
    """A value as JSON, or `there is none`."""
    return json.dumps(value) if value is not ABSENT else "there is none"


ABSENT = object()
"""Stands for a value that one side does not have."""


def _unequal(ours: Any, theirs: Any, path: str) -> tuple[str, object, object] | None:
    """Path and both values of the first place where two JSON values differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in [*ours, *(name for name in theirs if name not in ours)]:
            pair = ours.get(name, ABSENT), theirs.get(name, ABSENT)
            found = _unequal(*pair, f"{path}.{name}")
            if found is not None:
                return found
        return None
    if _are_objects(ours) and _are_objects(theirs):
        for number, pair in enumerate(zip_longest(ours, theirs, fillvalue=ABSENT)):
            found = _unequal(*pair, f"{path}[{number}]")
            if found is not None:
                return found
        return None
    same = type(ours) is type(theirs) and ours == theirs
    return None if same else (path, ours, theirs)


def _are_objects(value: object) -> bool:
    """True for a list of objects: it is compared item by item, a list of numbers as a whole."""
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def both_answers(document: Json, kafka: Answerer) -> tuple[Json, Json, str | None]:
    """Replog's answer to a log file, Kafka's, and their first difference; None if they agree.

    A side that gives no answer differs, too, as the log is valid; both answers are empty then.

    Args:
        document: The log file.
        kafka: Kafka's side, such as `KafkaCleaner().answer`.
    """
    found = []
    for side, answerer in (("Replog", replog_answer), ("Kafka", kafka)):
        try:
            found.append(answerer(document))
        except Exception as error:  # noqa: BLE001 - whatever it is, the log is valid
            return {}, {}, f"{side} gives no answer: {type(error).__name__}: {error}"
    ours, theirs = found
    return ours, theirs, difference_between(document, ours, theirs)
