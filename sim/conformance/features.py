"""What really happened in a compared log: a suite in which it never happens proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from sim.conformance.move_features import LATE_BOUND, MOVES, move_features

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PassInLog:
    """One cleaning pass: the step, its answer, and the batches before and after it.

    Attributes:
        step: The step of the log file.
        answer: What Replog answers, removals with their reasons included.
        before: Batches before the pass, in the form of the answer.
        earlier: Steps before this one.
        producers: Producer id of each batch, by its last offset; -1 = none.
    """

    step: Json
    answer: Json
    before: list[Json]
    earlier: list[Json]
    producers: Mapping[int, int]

    @property
    def bound(self) -> int:
        """Upper bound of the pass, exclusive, rounded down to a segment's base."""
        rounded = self.answer.get("effective_upper_bound")
        return int(self.step["upper_bound"] if rounded is None else rounded)

    @property
    def first_dirty_offset(self) -> int:
        """Where its dirty section began, whoever decided."""
        given = self.step.get("first_dirty_offset")
        return int(self.answer["first_dirty_offset"] if given is None else given)

    @property
    def cleaned_below(self) -> int:
        """End of what the offset map took, exclusive."""
        return int(self.answer["next_dirty_offset"])

    @property
    def ran(self) -> bool:
        """Something was in the offset map: the pass copied segments."""
        return self.cleaned_below > self.first_dirty_offset

    def pairs(self) -> Iterator[tuple[Json, Json | None]]:
        """Each batch below the bound before the pass, and what became of it."""
        after = {batch["last_offset"]: batch for batch in self.answer["batches"]}
        for batch in self.before:
            if batch["last_offset"] < self.bound:
                yield batch, after.get(batch["last_offset"])

    def emptied(self) -> list[Json]:
        """Batches that had records before the pass and only a header after it."""
        return [
            after
            for before, after in self.pairs()
            if before["record_offsets"] and after is not None and not after["record_offsets"]
        ]

    def removed_for(self, reason: str) -> bool:
        """Whether a record was removed for a reason, by the beginning of its words."""
        return any(text.startswith(reason) for text in self.answer.get("removed", {}).values())


def _ends_inside_a_batch(run: PassInLog) -> bool:
    return run.ran and any(
        batch["base_offset"] < run.cleaned_below <= batch["last_offset"] for batch in run.before
    )


def _partial(run: PassInLog) -> bool:
    return run.ran and run.cleaned_below < run.bound


def _several_groups(run: PassInLog) -> bool:
    covered = [b for b in run.answer["batches"] if b["last_offset"] < run.cleaned_below]
    return run.ran and len({batch["segment"] for batch in covered}) > 1


def _segments_joined(run: PassInLog) -> bool:
    pairs = [(before, after) for before, after in run.pairs() if after is not None]
    return run.ran and any(before["segment"] != after["segment"] for before, after in pairs)


def _gets_horizon(run: PassInLog, *, control: bool) -> bool:
    return any(
        after is not None
        and bool(before["control"]) is control
        and before["delete_horizon_ms"] is None
        and after["delete_horizon_ms"] is not None
        for before, after in run.pairs()
    )


def _marker_removed(run: PassInLog) -> bool:
    return any(before["control"] and after is None for before, after in run.pairs())


def _marker_evicted(run: PassInLog) -> bool:
    removed = run.answer.get("removed", {})
    return any(
        str(removed.get(str(offset), "")).startswith("superseded")
        for before, _ in run.pairs()
        if before["control"]
        for offset in before["record_offsets"]
    )


def _kept_for_producer(run: PassInLog) -> bool:
    return any(batch["last_offset"] + 1 != run.bound for batch in run.emptied())


def _kept_for_end_of_round(run: PassInLog) -> bool:
    return any(
        batch["last_offset"] + 1 == run.bound and run.producers[batch["last_offset"]] == -1
        for batch in run.emptied()
    )


def _empty_removed(run: PassInLog) -> bool:
    return any(after is None and not before["record_offsets"] for before, after in run.pairs())


def _tail_gets_horizon(run: PassInLog) -> bool:
    return _partial(run) and any(
        after is not None
        and before["base_offset"] >= run.cleaned_below
        and before["delete_horizon_ms"] != after["delete_horizon_ms"]
        for before, after in run.pairs()
    )


def _horizon_waits(run: PassInLog) -> bool:
    now = int(run.step["now_ms"])
    return run.ran and any(
        after is not None
        and (before["delete_horizon_ms"] or -1) > now
        and before["record_offsets"] == after["record_offsets"]
        for before, after in run.pairs()
    )


def _at_the_horizon(run: PassInLog) -> bool:
    now = int(run.step["now_ms"])
    return run.ran and any(before["delete_horizon_ms"] == now for before, _ in run.pairs())


def _clock_backwards(run: PassInLog) -> bool:
    times = [step["now_ms"] for step in run.earlier if step["op"] == "clean"]
    return run.ran and bool(times) and run.step["now_ms"] < times[-1]


def _aborted_entry_gone(run: PassInLog) -> bool:
    return int(run.answer.get("aborted_before", 0)) > len(run.answer["aborted_txns"])


def _bound_rounded(run: PassInLog) -> bool:
    asked = run.step.get("upper_bound")
    return run.ran and asked is not None and run.bound != asked


def _after_reload(run: PassInLog) -> bool:
    ops = [step["op"] for step in run.earlier]
    return run.ran and "reload" in ops and "clean" in ops[: ops.index("reload")]


FEATURES: dict[str, Callable[[PassInLog], bool]] = {
    "partial map: the pass ends before its bound": _partial,
    "the map is full in mid-batch": _ends_inside_a_batch,
    "the unmapped tail of a partial pass gets a horizon": _tail_gets_horizon,
    "several groups of segments": _several_groups,
    "segments are joined": _segments_joined,
    "upper bound rounded down to a segment's base": _bound_rounded,
    "superseded record removed": lambda run: run.removed_for("superseded"),
    "record without a key removed": lambda run: run.removed_for("no key"),
    "batch of a tombstone gets a horizon": lambda run: _gets_horizon(run, control=False),
    "horizon not reached yet": _horizon_waits,
    "pass at the very millisecond of a horizon": _at_the_horizon,
    "tombstone removed": lambda run: run.removed_for("tombstone"),
    "aborted data dropped": lambda run: run.removed_for("aborted"),
    "marker gets a horizon": lambda run: _gets_horizon(run, control=True),
    "marker removed": _marker_removed,
    "marker evicted by a user's key (KAFKA-14055)": _marker_evicted,
    "aborted transaction leaves the index": _aborted_entry_gone,
    "batch kept empty for its producer": _kept_for_producer,
    "batch kept empty for the end of the round": _kept_for_end_of_round,
    "empty batch removed by a later pass": _empty_removed,
    "clock goes backwards between passes": _clock_backwards,
    "pass after a reload of a cleaned log": _after_reload,
}
"""What can happen in a pass, and how to see that it did. Order of the table in the report."""

RETRY_KNOWN = "retry of an old batch recognised"
RETRY_UNKNOWN = "retry of an old batch not recognised"

_SINCE_HORIZONS = frozenset(
    {
        "the unmapped tail of a partial pass gets a horizon",
        "batch of a tombstone gets a horizon",
        "horizon not reached yet",
        "pass at the very millisecond of a horizon",
        "marker gets a horizon",
        "batch kept empty for the end of the round",
    }
)
_BEFORE_HORIZONS = frozenset({"marker evicted by a user's key (KAFKA-14055)"})


def features_expected(preset: str) -> tuple[str, ...]:
    """What can happen under a preset, in the order of the report's table."""
    absent = _SINCE_HORIZONS | LATE_BOUND if preset == "kafka-2.8" else _BEFORE_HORIZONS
    known = [name for name in (*FEATURES, *MOVES) if name not in absent]
    return (*known, RETRY_KNOWN, RETRY_UNKNOWN)


def passes(document: Json, answer: Json) -> Iterator[PassInLog]:
    """The cleaning passes of a log file with Replog's answer to it, in order."""
    before = _at_the_beginning(document)
    producers = {batch["last_offset"]: batch["producer_id"] for batch in written_batches(document)}
    aborted: int | None = None
    for number, (step, after) in enumerate(zip(document["steps"], answer["steps"], strict=True)):
        if step["op"] == "clean":
            counted = after if aborted is None else {**after, "aborted_before": aborted}
            yield PassInLog(step, counted, before, document["steps"][:number], producers)
        before = after["batches"]
        aborted = len(after["aborted_txns"])


def features_of(document: Json, answer: Json) -> frozenset[str]:
    """Which features occurred while a log file was answered."""
    found = {
        name for run in passes(document, answer) for name, seen in FEATURES.items() if seen(run)
    }
    for step in answer["steps"]:
        if "duplicate" in step:
            found.add(RETRY_KNOWN if step["duplicate"] else RETRY_UNKNOWN)
    return frozenset(found) | move_features(document, answer)


def batches_of(segment: Any) -> list[Json]:
    """The batches of a segment of a log file, whichever way it is written."""
    batches: list[Json] = segment["batches"] if isinstance(segment, dict) else segment
    return batches


def written_batches(document: Json) -> Iterator[Json]:
    """Every batch a log file mentions: those it begins with and those it appends."""
    for segment in document["segments"]:
        yield from batches_of(segment)
    for step in document["steps"]:
        yield from step.get("batches", ())


def _at_the_beginning(document: Json) -> list[Json]:
    """The batches a log file begins with, in the form of an answer."""
    return [
        {
            **batch,
            "record_offsets": [record["offset"] for record in batch["records"]],
            "segment": segment["base_offset"]
            if isinstance(segment, dict)
            else segment[0]["base_offset"],
        }
        for segment in document["segments"]
        for batch in batches_of(segment)
    ]
