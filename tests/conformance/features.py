"""What really happened in a compared log: a suite in which it never happens proves nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from sim.protocol.log.offset_index import INDEX_INTERVAL_BYTES
from tests.conformance.compare import Json, difference_between, replog_answer
from tests.conformance.disk_log import IO_BYTES

COMPRESSIONS = ("gzip", "snappy", "lz4", "zstd")
MOST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class SeenStep:
    """One step of a log file, and Replog's answers before and after it.

    Attributes:
        step: The step.
        before: The answer to the step before it, or what the log begins with.
        after: The answer to it, removals with their reasons included.
        earlier: Steps before this one.
        written: Each batch as the log file has it, by its last offset and those of its records.
        rules: Those of the log file.
        lag_ms: The minimum compaction lag.
    """

    step: Json
    before: Json
    after: Json
    earlier: list[Json]
    written: Mapping[int, Json]
    rules: Json
    lag_ms: int

    @property
    def is_due(self) -> bool:
        """The step is a pass that the cleaner's manager decided about."""
        return self.step["op"] == "clean" and self.step.get("upper_bound") is None

    @property
    def bound(self) -> int:
        """Upper bound of the pass, exclusive, rounded down to a segment's base."""
        rounded = self.after.get("effective_upper_bound")
        return int(self.step["upper_bound"] if rounded is None else rounded)

    @property
    def cleaned_below(self) -> int:
        """End of what the offset map took, exclusive."""
        return int(self.after["next_dirty_offset"])

    @property
    def ran(self) -> bool:
        """Something was in the offset map: the pass copied segments."""
        given = self.step.get("first_dirty_offset")
        first = self.after["first_dirty_offset"] if given is None else given
        return self.cleaned_below > int(first)

    @property
    def partial(self) -> bool:
        """The pass ended before its bound."""
        return self.ran and self.cleaned_below < self.bound

    @property
    def horizon_ms(self) -> int:
        """The delete horizon that this pass sets, if it fits."""
        return int(self.step["now_ms"]) + int(self.rules["delete_retention_ms"])

    def pairs(self) -> Iterator[tuple[Json, Json | None]]:
        """Each batch below the bound before the pass, and what became of it."""
        after = {batch["last_offset"]: batch for batch in self.after["batches"]}
        for batch in self.before["batches"]:
            if batch["last_offset"] < self.bound:
                yield batch, after.get(batch["last_offset"])

    def survivors(self) -> Iterator[tuple[Json, Json, Json]]:
        """Each batch of `pairs` that is still there: as it was written, before and after it."""
        for before, after in self.pairs():
            if after is not None:
                yield self.written[before["last_offset"]], before, after

    def thinned(self, of: Callable[[Json, Json, Json], object]) -> bool:
        """Whether one of `survivors`, such a one, has lost some of its records, but not all."""
        return any(
            of(written, before, after)
            for written, before, after in self.survivors()
            if 0 < len(after["record_offsets"]) < len(before["record_offsets"])
        )

    def emptied(self) -> Iterator[Json]:
        """Batches that had records before the pass and only a header after it."""
        for _, before, after in self.survivors():
            if before["record_offsets"] and not after["record_offsets"]:
                yield after

    def removed(self, reason: str) -> Iterator[tuple[Json, Json]]:
        """Each record that went for a reason, by the beginning of its words, with its batch."""
        reasons = self.after.get("removed", {})
        for batch in self.before["batches"]:
            whole = self.written[batch["last_offset"]]
            for record in whole["records"]:
                if reasons.get(str(record["offset"]), "").startswith(reason):
                    yield record, whole

    def after_op(self, op: str) -> bool:
        """Whether there was such a step before."""
        return any(step["op"] == op for step in self.earlier)

    def lost(self, name: str) -> bool:
        """Whether there is less of a part of the answer after the step."""
        return len(self.after[name]) < len(self.before[name])

    @property
    def truncated(self) -> bool:
        """The step took something from the log's end."""
        ends = self.after["log_end_offset"], self.before["log_end_offset"]
        return bool(self.step["op"] == "truncate" and ends[0] < ends[1])

    def times(self, segment: int | None = None) -> list[int]:
        """Largest timestamps of batches before the step; of one segment, or of all."""
        batches = self.before["batches"]
        return [b["max_timestamp_ms"] for b in batches if segment in {None, b["segment"]}]


Feature = Callable[[SeenStep], object]


def _gets_horizon(run: SeenStep, *, control: bool) -> bool:
    return any(
        bool(before["control"]) is control
        and before["delete_horizon_ms"] is None is not after["delete_horizon_ms"]
        for _, before, after in run.survivors()
    )


def _span(run: SeenStep, offsets: int) -> bool:
    """A segment ends so many offsets above the base of the first one."""
    bases = {batch["segment"] for batch in run.before["batches"]} | {run.bound}
    return run.ran and min(bases) + offsets + 1 in bases


def _limit(run: SeenStep, by: int) -> bool:
    """`segment.bytes` is `by` above what two neighbours had before the pass."""
    sizes = Counter[int]()
    for batch in run.before["batches"]:
        sizes[batch["segment"]] += batch["size_bytes"] * (batch["last_offset"] < run.bound)
    sums = [sizes[one] + sizes[other] + by for one, other in pairwise(sorted(sizes))]
    return run.ran and run.rules.get("segment_bytes") in sums


def _larger_segment(run: SeenStep) -> bool:
    sizes = Counter[int]()
    for batch in run.after["batches"]:
        sizes[batch["segment"]] += batch["size_bytes"] * (batch["segment"] < run.bound)
    return run.ran and max(sizes.values(), default=0) > INDEX_INTERVAL_BYTES


def _is_old(batch: Json) -> bool:
    return int(batch.get("magic", 2)) < 2


def _late_append_time(written: Json, *_: Json) -> bool:
    """The batch keeps the time at which it was appended, which no record of it has."""
    times = [record.get("timestamp_ms") for record in written["records"]]
    return "timestamp_type" in written and written["timestamp_ms"] != max(times)


def _without_horizon(run: SeenStep) -> bool:
    tombstones = set(run.after["tombstone_offsets"])
    return run.ran and any(
        after["delete_horizon_ms"] is None and tombstones.intersection(after["record_offsets"])
        for _, _, after in run.survivors()
    )


def _empty_values_stay(run: SeenStep) -> bool:
    kept = set(run.after["surviving_offsets"])
    return run.ran and any(
        record.get("key") is not None and record["value"] == "" and record["offset"] in kept
        for written, before, _ in run.survivors()
        if before["last_offset"] < run.cleaned_below
        for record in written["records"]
    )


def _after_reload(run: SeenStep) -> bool:
    ops = [step["op"] for step in run.earlier]
    return run.ran and "reload" in ops and "clean" in ops[: ops.index("reload")]


PASSES: dict[str, Feature] = {
    "partial map: the pass ends before its bound": lambda run: run.partial,
    "the map is full in mid-batch": lambda run: (
        run.ran
        and any(
            batch["base_offset"] < run.cleaned_below <= batch["last_offset"]
            for batch in run.before["batches"]
        )
    ),
    "the unmapped tail of a partial pass gets a horizon": lambda run: (
        run.partial
        and any(
            before["base_offset"] >= run.cleaned_below
            and before["delete_horizon_ms"] != after["delete_horizon_ms"]
            for _, before, after in run.survivors()
        )
    ),
    "several groups of segments": lambda run: (
        run.ran
        and len(
            {b["segment"] for b in run.after["batches"] if b["last_offset"] < run.cleaned_below}
        )
        > 1
    ),
    "segments are joined": lambda run: (
        run.ran
        and any(before["segment"] != after["segment"] for _, before, after in run.survivors())
    ),
    "upper bound rounded down to a segment's base": lambda run: (
        run.ran and run.step.get("upper_bound") not in {None, run.bound}
    ),
    "superseded record removed": lambda run: any(run.removed("superseded")),
    "record without a key removed": lambda run: any(run.removed("no key")),
    "batch of a tombstone gets a horizon": partial(_gets_horizon, control=False),
    "horizon not reached yet": lambda run: (
        run.ran
        and any(
            (before["delete_horizon_ms"] or -1) > run.step["now_ms"]
            and before["record_offsets"] == after["record_offsets"]
            for _, before, after in run.survivors()
        )
    ),
    "pass at the very millisecond of a horizon": lambda run: (
        run.ran
        and any(before["delete_horizon_ms"] == run.step["now_ms"] for before, _ in run.pairs())
    ),
    "tombstone removed": lambda run: any(run.removed("tombstone")),
    "aborted data dropped": lambda run: any(run.removed("aborted")),
    "marker gets a horizon": partial(_gets_horizon, control=True),
    "marker removed": lambda run: any(
        before["control"] and after is None for before, after in run.pairs()
    ),
    "marker evicted by a user's key (KAFKA-14055)": lambda run: any(
        "marker" in record for record, _ in run.removed("superseded")
    ),
    "aborted transaction leaves the index": lambda run: run.lost("aborted_txns"),
    "batch kept empty for its producer": lambda run: any(
        batch["last_offset"] + 1 != run.bound for batch in run.emptied()
    ),
    "batch kept empty for the end of the round": lambda run: any(
        batch["last_offset"] + 1 == run.bound
        and run.written[batch["last_offset"]].get("producer_id", -1) == -1
        for batch in run.emptied()
    ),
    "empty batch removed by a later pass": lambda run: any(
        after is None and not before["record_offsets"] for before, after in run.pairs()
    ),
    "empty key superseded": lambda run: any(
        record.get("key") == "" for record, _ in run.removed("superseded")
    ),
    "key that is no text superseded": lambda run: any(
        isinstance(record.get("key"), dict) for record, _ in run.removed("superseded")
    ),
    "key of 64 bytes or more superseded": lambda run: any(
        isinstance(record.get("key"), str) and len(record["key"]) > 63
        for record, _ in run.removed("superseded")
    ),
    "empty value stays": _empty_values_stay,
    "batch larger than the cleaner's I/O buffer loses records": lambda run: run.thinned(
        lambda _, __, after: after["size_bytes"] > IO_BYTES
    ),
    "batch of a hundred records or more loses some": lambda run: run.thinned(
        lambda _, before, __: len(before["record_offsets"]) >= 100
    ),
    "batch with a horizon loses records": lambda run: run.thinned(
        lambda _, before, after: None not in {one["delete_horizon_ms"] for one in (before, after)}
    ),
    "segment above 4,096 bytes": _larger_segment,
    "batch with a log append time loses records": lambda run: run.thinned(_late_append_time),
    **{
        f"batch of {kind} loses records": lambda run, kind=kind: run.thinned(  # type: ignore[misc]
            lambda written, *_: written.get("compression") == kind
        )
        for kind in COMPRESSIONS
    },
    "batch of magic 0 or 1 loses records": lambda run: run.thinned(
        lambda written, *_: _is_old(written)
    ),
    "tombstone of magic 0 or 1 removed": lambda run: any(
        _is_old(batch) for _, batch in run.removed("tombstone")
    ),
    "pass that a batch of magic 0 or 1 stops, which cannot be empty": lambda run: (
        "uncleanable" in run.after and any(map(_is_old, run.written.values()))
    ),
    "change of the leader stays": lambda run: (
        run.ran
        and any(
            after["control"] == "LEADER_CHANGE" and after["record_offsets"]
            for _, _, after in run.survivors()
        )
    ),
    "horizon of 2^63 - 1 ms, the latest there is": lambda run: (
        run.horizon_ms == MOST
        and any(
            before["delete_horizon_ms"] is None and after["delete_horizon_ms"] == MOST
            for _, before, after in run.survivors()
        )
    ),
    "tombstone without a horizon, which would not fit 63 bits": lambda run: (
        run.horizon_ms > MOST and _without_horizon(run)
    ),
    "segments that span one offset less than they may": partial(_span, offsets=2**31 - 2),
    "segments that span as many offsets as they may": partial(_span, offsets=2**31 - 1),
    "segments that span one offset more than they may": partial(_span, offsets=2**31),
    "two segments that fill `segment.bytes` exactly": partial(_limit, by=0),
    "two segments that are a byte larger than `segment.bytes`": partial(_limit, by=-1),
    "clock goes backwards between passes": lambda run: (
        run.ran
        and run.step["now_ms"]
        < ([step["now_ms"] for step in run.earlier if step["op"] == "clean"] or [0])[-1]
    ),
    "pass after a reload of a cleaned log": _after_reload,
    "pass after a truncation": lambda run: run.after_op("truncate"),
    "pass removes records below the log start": lambda run: any(
        offset < run.before["log_start_offset"]
        for offset in {*run.before["surviving_offsets"]} - {*run.after["surviving_offsets"]}
    ),
    "empty batch of a forgotten producer removed": lambda run: (
        run.after_op("expire_producers")
        and any(after is None and not before["record_offsets"] for before, after in run.pairs())
    ),
}
"""What can happen in a pass, and how to see that it did. Order of the table in the report."""


def _age_unknown(run: SeenStep) -> bool:
    """A segment waits for the lag whose records are old enough: its file's time counts."""
    if not run.lag_ms or not run.after_op("reload"):
        return False
    end = run.after["first_uncleanable_offset"]
    times = run.times(end)
    active = max((b["segment"] for b in run.before["batches"]), default=end)
    if run.earlier[-1]["op"] == "roll":
        active = run.before["log_end_offset"]
    return bool(
        end < min(active, run.before["last_stable_offset"])
        and times
        and 0 <= max(times) <= run.step["now_ms"] - run.lag_ms
    )


LATE_BOUND = "high watermark holds the cleaner up"
"""Not before KAFKA-13194."""
DUE: dict[str, Feature] = {
    "truncation after a reload leaves a segment to the time of its file": _age_unknown,
    "pass at the very millisecond of the minimum compaction lag": lambda run: (
        run.lag_ms and run.step["now_ms"] - run.lag_ms in run.times()
    ),
    "log is due": lambda run: run.after["selected"],
    "log is not due": lambda run: not run.after["selected"],
    "invalid checkpoint replaced": lambda run: run.after["force_update_checkpoint"],
    "bound decided in mid-segment and rounded down": lambda run: (
        run.after["selected"]
        and run.after["effective_upper_bound"] < run.after["first_uncleanable_offset"]
    ),
    LATE_BOUND: lambda run: (
        run.after["first_uncleanable_offset"]
        == run.before["high_watermark"]
        < run.before["log_end_offset"]
    ),
    "transaction holds the cleaner up": lambda run: (
        run.after["first_uncleanable_offset"]
        == run.before["last_stable_offset"]
        < run.before["high_watermark"]
    ),
    "maximum compaction lag makes a log overdue": lambda run: run.after["compaction_delay_ms"] > 0,
}
"""What can happen in a pass that Kafka's manager decides about."""

MOVES: dict[str, Feature] = {
    "log truncated": lambda move: move.truncated,
    "log truncated in mid-batch": lambda move: (
        move.truncated
        and any(
            batch["base_offset"] < move.step["offset"] <= batch["last_offset"]
            for batch in move.before["batches"]
        )
    ),
    "truncation to the log end or above takes nothing": lambda move: (
        move.step["op"] == "truncate" and not move.truncated
    ),
    "truncation to a segment's base leaves it empty": lambda move: (
        move.truncated
        and any(batch["segment"] == move.step["offset"] for batch in move.before["batches"])
    ),
    "log truncated fully": lambda move: move.step["op"] == "truncate_fully",
    "truncation lowers the cleaner's checkpoint": lambda move: (
        move.step["op"] in {"truncate", "truncate_fully"}
        and move.before["checkpoint"] is not None
        and move.after["checkpoint"] < move.before["checkpoint"]
    ),
    "aborted transaction leaves the index by truncation": lambda move: (
        move.truncated and move.lost("aborted_txns")
    ),
    "truncation takes an epoch": lambda move: move.truncated and move.lost("epochs"),
    "truncation brings an older sequence of a producer back": lambda move: (
        move.truncated
        and any(
            move.after["last_sequences"].get(name, last) != last
            for name, last in move.before["last_sequences"].items()
        )
    ),
    "log start moves into mid-segment": lambda move: (
        move.step["op"] == "delete_records"
        and any(
            batch["segment"] < move.after["log_start_offset"] <= batch["last_offset"]
            for batch in move.after["batches"]
        )
    ),
    "segments below the log start deleted": lambda move: (
        move.step["op"] == "delete_old_segments" and move.lost("batches")
    ),
    "truncation looks for producers, as a transaction is decided above the high watermark": (
        # though none was known (ProducerStateManager.isEmpty)
        lambda move: (
            move.truncated
            and move.before["last_stable_offset"] < move.before["high_watermark"]
            and not move.before["last_sequences"]
        )
    ),
    "producer forgotten at the very millisecond": lambda move: (
        move.step["op"] == "expire_producers"
        and move.lost("last_sequences")
        and move.step["now_ms"] - move.step["expiration_ms"] in move.times()
    ),
    "producer forgotten": lambda move: (
        move.step["op"] == "expire_producers" and move.lost("last_sequences")
    ),
    "append rolls the log by its maximum compaction lag": lambda move: (
        move.step["op"] == "append"
        and any(
            batch["base_offset"] in {one["segment"] for one in move.after["batches"]}
            for batch in move.step["batches"][1:]
        )
    ),
    "retry of an old batch recognised": lambda move: move.after.get("duplicate") is True,
    "retry of an old batch not recognised": lambda move: move.after.get("duplicate") is False,
}
"""What can happen in any step."""

SEEK = "map read from behind an ABORT marker, which makes committed records count as aborted"
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
        LATE_BOUND,
    }
)
_BEFORE_HORIZONS = frozenset({"marker evicted by a user's key (KAFKA-14055)"})


def features_expected(preset: str) -> tuple[str, ...]:
    """What can happen under a preset, in the order of the report's table."""
    absent = _SINCE_HORIZONS if preset == "kafka-2.8" else _BEFORE_HORIZONS
    return (*(name for name in (*PASSES, *DUE, *MOVES) if name not in absent), SEEK)


def seen_steps(document: Json, answer: Json) -> Iterator[SeenStep]:
    """The steps of a log file with Replog's answers, in order."""
    (before,) = replog_answer({**document, "steps": [{"op": "roll"}]})["steps"]
    written: dict[int, Json] = {}
    lag_ms = document.get("topic", {}).get("min.compaction.lag.ms", 0)
    batches = [batch for segment in document["segments"] for batch in batches_of(segment)]
    for number, (step, after) in enumerate(zip(document["steps"], answer["steps"], strict=True)):
        written = {**written, **{at: batch for batch in batches for at in _offsets(batch)}}
        batches = step.get("batches", [])
        earlier = document["steps"][:number]
        yield SeenStep(step, before, after, earlier, written, document["rules"], lag_ms)
        before = after


def _offsets(batch: Json) -> list[int]:
    """Where the batch may end: one of magic 0 or 1 ends at the last record that is left."""
    return [*(record["offset"] for record in batch["records"]), batch["last_offset"]]


def features_of(document: Json, answer: Json) -> frozenset[str]:
    """Which features occurred while a log file was answered."""
    found = {SEEK} if _misses_a_marker(document, answer) else set()
    for step in seen_steps(document, answer):
        known = {**(PASSES if step.step["op"] == "clean" else {}), **(DUE if step.is_due else {})}
        found.update(name for name, seen in {**known, **MOVES}.items() if seen(step))
    return frozenset(found)


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
