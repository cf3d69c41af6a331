"""What really happened in a compared log: a suite in which it never happens proves nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sim.protocol.log.offset_index import INDEX_INTERVAL_BYTES
from sim.simulate.logfile.file import log_file_from
from tests.conformance.compare import Json, difference_between, replog_answer
from tests.conformance.disk_log import IO_BYTES
from tests.conformance.move_features import LATE_BOUND, MOVES, move_features

COMPRESSIONS = ("gzip", "snappy", "lz4", "zstd")
MOST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class PassInLog:
    """One cleaning pass: the step, its answer, and the batches before and after it.

    Attributes:
        step: The step of the log file.
        answer: What Replog answers, removals with their reasons included.
        before: Batches before the pass, in the form of the answer.
        earlier: Steps before this one.
        written: Each batch as the log file has it, by its last offset and those of its records:
            one of magic 0 or 1 ends at the last that is left.
        rules: Those of the log file.
    """

    step: Json
    answer: Json
    before: list[Json]
    earlier: list[Json]
    written: Mapping[int, Json]
    rules: Json

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

    @property
    def horizon_ms(self) -> int:
        """The delete horizon that this pass sets, if it fits."""
        return int(self.step["now_ms"]) + int(self.rules["delete_retention_ms"])

    def survivors(self) -> Iterator[tuple[Json, Json, Json]]:
        """Each batch of `pairs` that is still there: as it was written, before and after it."""
        for before, after in self.pairs():
            if after is not None:
                yield self.written[before["last_offset"]], before, after

    def thinned(self) -> Iterator[tuple[Json, Json, Json]]:
        """Those of `survivors` that have lost some of their records, but not all."""
        for written, before, after in self.survivors():
            if 0 < len(after["record_offsets"]) < len(before["record_offsets"]):
                yield written, before, after

    def superseded_keys(self) -> Iterator[Any]:
        """The key of each record that was superseded, as the log file spells it."""
        removed = self.answer.get("removed", {})
        for batch in self.before:
            for record in self.written[batch["last_offset"]]["records"]:
                if removed.get(str(record["offset"]), "").startswith("superseded"):
                    yield record["key"]

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
        batch["last_offset"] + 1 == run.bound
        and run.written[batch["last_offset"]].get("producer_id", -1) == -1
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


def _fits_exactly(run: PassInLog) -> bool:
    return run.horizon_ms == MOST and any(
        before["delete_horizon_ms"] is None and after["delete_horizon_ms"] == MOST
        for _, before, after in run.survivors()
    )


def _does_not_fit(run: PassInLog) -> bool:
    tombstones = set(run.answer["tombstone_offsets"])
    return (
        run.ran
        and run.horizon_ms > MOST
        and any(
            after["delete_horizon_ms"] is None and tombstones.intersection(after["record_offsets"])
            for _, _, after in run.survivors()
        )
    )


def _thinned_with_horizon(run: PassInLog) -> bool:
    return any(
        before["delete_horizon_ms"] is not None and after["delete_horizon_ms"] is not None
        for _, before, after in run.thinned()
    )


def _later_append_time(run: PassInLog) -> bool:
    """The batch keeps the time at which it was appended, which no record of it has."""
    return any(
        written.get("timestamp_type") == "LogAppendTime"
        and written["records"]
        and written["timestamp_ms"] != max(record["timestamp_ms"] for record in written["records"])
        for written, _, _ in run.thinned()
    )


def _leader_change_stays(run: PassInLog) -> bool:
    return run.ran and any(
        after["control"] == "LEADER_CHANGE" and after["record_offsets"]
        for _, _, after in run.survivors()
    )


def _span(run: PassInLog, offsets: int) -> bool:
    """A segment ends so many offsets above the base of the first one."""
    if not run.ran or not run.before:
        return False
    bases = {batch["segment"] for batch in run.before} | {run.bound}
    return min(bases) + offsets + 1 in bases


def _limit(run: PassInLog, by: int) -> bool:
    """`segment.bytes` is `by` above what two neighbours had before the pass."""
    limit = run.rules.get("segment_bytes")
    if limit is None or not run.ran:
        return False
    sizes: dict[int, int] = {}
    for batch in run.before:
        if batch["last_offset"] < run.bound:
            sizes[batch["segment"]] = sizes.get(batch["segment"], 0) + batch["size_bytes"]
    bases = sorted(sizes)
    return any(sizes[one] + sizes[other] + by == limit for one, other in pairwise(bases))


def _empty_values_stay(run: PassInLog) -> bool:
    kept = set(run.answer["surviving_offsets"])
    return run.ran and any(
        record["key"] is not None and record["value"] == "" and record["offset"] in kept
        for written, before, _ in run.survivors()
        if before["last_offset"] < run.cleaned_below
        for record in written["records"]
    )


def _compressed_anew(kind: str) -> Callable[[PassInLog], bool]:
    return lambda run: any(written.get("compression") == kind for written, _, _ in run.thinned())


def _is_old(batch: Json) -> bool:
    return int(batch.get("magic", 2)) < 2


def _old_tombstone_goes(run: PassInLog) -> bool:
    removed = run.answer.get("removed", {})
    return any(
        removed.get(str(record["offset"]), "").startswith("tombstone")
        for batch in run.before
        if _is_old(run.written[batch["last_offset"]])
        for record in run.written[batch["last_offset"]]["records"]
    )


def _larger_segment(run: PassInLog) -> bool:
    sizes = Counter[int]()
    for batch in run.answer["batches"]:
        sizes[batch["segment"]] += batch["size_bytes"]
    return run.ran and any(
        size > INDEX_INTERVAL_BYTES and segment < run.bound for segment, size in sizes.items()
    )


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
    "empty key superseded": lambda run: "" in run.superseded_keys(),
    "key that is no text superseded": lambda run: any(
        isinstance(key, dict) for key in run.superseded_keys()
    ),
    "key of 64 bytes or more superseded": lambda run: any(
        len(key) > 63 for key in run.superseded_keys() if isinstance(key, str)
    ),
    "empty value stays": _empty_values_stay,
    "batch larger than the cleaner's I/O buffer loses records": lambda run: any(
        after["size_bytes"] > IO_BYTES for _, _, after in run.thinned()
    ),
    "batch of a hundred records or more loses some": lambda run: any(
        len(before["record_offsets"]) >= 100 for _, before, _ in run.thinned()
    ),
    "batch with a horizon loses records": _thinned_with_horizon,
    "segment above 4,096 bytes": _larger_segment,
    "batch with a log append time loses records": _later_append_time,
    **{f"batch of {kind} loses records": _compressed_anew(kind) for kind in COMPRESSIONS},
    "batch of magic 0 or 1 loses records": lambda run: any(
        _is_old(written) for written, _, _ in run.thinned()
    ),
    "tombstone of magic 0 or 1 removed": _old_tombstone_goes,
    "pass that a batch of magic 0 or 1 stops, which cannot be empty": lambda run: (
        "uncleanable" in run.answer and any(map(_is_old, run.written.values()))
    ),
    "change of the leader stays": _leader_change_stays,
    "horizon of 2^63 - 1 ms, the latest there is": _fits_exactly,
    "tombstone without a horizon, which would not fit 63 bits": _does_not_fit,
    "segments that span one offset less than they may": lambda run: _span(run, 2**31 - 2),
    "segments that span as many offsets as they may": lambda run: _span(run, 2**31 - 1),
    "segments that span one offset more than they may": lambda run: _span(run, 2**31),
    "two segments that fill `segment.bytes` exactly": lambda run: _limit(run, 0),
    "two segments that are a byte larger than `segment.bytes`": lambda run: _limit(run, -1),
    "clock goes backwards between passes": _clock_backwards,
    "pass after a reload of a cleaned log": _after_reload,
}
"""What can happen in a pass, and how to see that it did. Order of the table in the report."""

SEEK = "map read from behind an ABORT marker, which makes committed records count as aborted"
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
        "batch with a horizon loses records",
        "pass that a batch of magic 0 or 1 stops, which cannot be empty",
        "horizon of 2^63 - 1 ms, the latest there is",
        "tombstone without a horizon, which would not fit 63 bits",
    }
)
_BEFORE_HORIZONS = frozenset({"marker evicted by a user's key (KAFKA-14055)"})


def features_expected(preset: str) -> tuple[str, ...]:
    """What can happen under a preset, in the order of the report's table."""
    absent = _SINCE_HORIZONS | LATE_BOUND if preset == "kafka-2.8" else _BEFORE_HORIZONS
    known = [name for name in (*FEATURES, *MOVES) if name not in absent]
    return (*known, SEEK, RETRY_KNOWN, RETRY_UNKNOWN)


def passes(document: Json, answer: Json) -> Iterator[PassInLog]:
    """The cleaning passes of a log file with Replog's answer to it, in order."""
    before = _at_the_beginning(document)
    written = {
        offset: batch
        for batch in written_batches(document)
        for offset in (batch["last_offset"], *(record["offset"] for record in batch["records"]))
    }
    aborted: int | None = None
    for number, (step, after) in enumerate(zip(document["steps"], answer["steps"], strict=True)):
        if step["op"] == "clean":
            counted = after if aborted is None else {**after, "aborted_before": aborted}
            earlier = document["steps"][:number]
            yield PassInLog(step, counted, before, earlier, written, document["rules"])
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
    if _misses_a_marker(document, answer):
        found.add(SEEK)
    return frozenset(found) | move_features(document, answer)


def _misses_a_marker(document: Json, answer: Json) -> bool:
    """Whether it matters that the map is not read from the beginning of its first segment."""
    late = any((step.get("first_dirty_offset") or 0) > 0 for step in document["steps"])
    if not late or not any(step["aborted_txns"] for step in answer["steps"]):
        return False
    rules = {**document["rules"], "map_reads_from": "segment_start"}
    other = replog_answer({**document, "rules": rules})
    return difference_between(document, answer, other) is not None


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
    read = log_file_from({**document, "steps": []})
    sizes = iter([batch.size_bytes for segment in read.segments for batch in segment.batches])
    return [
        {
            "control": None,
            "delete_horizon_ms": None,
            **batch,
            "record_offsets": [record["offset"] for record in batch["records"]],
            "segment": segment["base_offset"]
            if isinstance(segment, dict)
            else segment[0]["base_offset"],
            "size_bytes": next(sizes),
        }
        for segment in document["segments"]
        for batch in batches_of(segment)
    ]
