"""Features of compared logs: a comparison in which a feature never occurs proves nothing of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from sim.protocol.log.segment import INDEX_INTERVAL_BYTES
from tests.conformance.batches import batches_of
from tests.conformance.compare import Json, difference_between, replog_answer
from tests.conformance.releases import IO_BYTES

COMPRESSIONS = ("gzip", "snappy", "lz4", "zstd")
MOST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class SeenStep:
    """A step of a log file, with Replog's answers before and after it.

    Attributes:
        step: The step.
        before: The answer to the step before it, or the log before the first step.
        after: The answer to it, with the reasons of removals.
        earlier: Steps before this one.
        written: Each batch as the log file has it, by its last offset and those of its records.
        rules: Rules of the log file.
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
    def bound(self) -> int:
        """Upper bound of the pass, exclusive, rounded down to a segment's base."""
        rounded = self.after.get("effective_upper_bound")
        return int(self.step["upper_bound"] if rounded is None else rounded)

    @property
    def cleaned_below(self) -> int:
        """End of the offset map's range, exclusive."""
        return int(self.after["next_dirty_offset"])

    @property
    def ran(self) -> bool:
        """True if the pass copied segments, as something entered the offset map."""
        given = self.step.get("first_dirty_offset")
        first = self.after["first_dirty_offset"] if given is None else given
        return self.cleaned_below > int(first)

    def pairs(self) -> Iterator[tuple[Json, Json | None]]:
        """Each batch below the bound before the pass, and the same after it; None if it is gone."""
        after = {batch["last_offset"]: batch for batch in self.after["batches"]}
        for batch in self.before["batches"]:
            if batch["last_offset"] < self.bound:
                yield batch, after.get(batch["last_offset"])

    def survivors(self) -> list[tuple[Json, Json, Json]]:
        """Each batch of `pairs` that is still there: as written, before and after the pass."""
        return [
            (self.written[before["last_offset"]], before, after)
            for before, after in self.pairs()
            if after is not None
        ]

    def removed(self, reason: str) -> list[tuple[Json, Json]]:
        """Each record that was removed for a reason that begins so, with its batch."""
        reasons = self.after.get("removed", {})
        wholes = [self.written[batch["last_offset"]] for batch in self.before["batches"]]
        return [
            (record, whole)
            for whole in wholes
            for record in whole["records"]
            if reasons.get(str(record["offset"]), "").startswith(reason)
        ]

    def after_op(self, op: str) -> bool:
        """True if an earlier step has this operation."""
        return any(step["op"] == op for step in self.earlier)

    def lost(self, name: str) -> bool:
        """True if a part of the answer became shorter by the step."""
        return len(self.after[name]) < len(self.before[name])

    def times(self, segment: int | None = None) -> list[int]:
        """Largest timestamps of the batches before the step, in one segment or in all."""
        batches = self.before["batches"]
        return [b["max_timestamp_ms"] for b in batches if segment in {None, b["segment"]}]


Features = dict[str, object]
"""Features in the order of the report's table, each with a value that is true if it occurred."""


def _bounds(run: SeenStep) -> Features:
    """Features of the end of a pass, and of the segments that it merged."""
    before, survivors, below = run.before["batches"], run.survivors(), run.cleaned_below
    covered = {one["segment"] for one in run.after["batches"] if one["last_offset"] < below}
    bases = {batch["segment"] for batch in before} | {run.bound}
    sizes, left = Counter[int](), Counter[int]()
    for batch in before:
        sizes[batch["segment"]] += batch["size_bytes"] * (batch["last_offset"] < run.bound)
    for batch in run.after["batches"]:
        left[batch["segment"]] += batch["size_bytes"] * (batch["segment"] < run.bound)
    neighbours = [sizes[one] + sizes[other] for one, other in pairwise(sorted(sizes))]
    limit = run.rules.get("segment_bytes", MOST)
    partial = below < run.bound
    found: Features = {
        "partial map: the pass ends before its bound": partial,
        "the map is full in mid-batch": any(
            one["base_offset"] < below <= one["last_offset"] for one in before
        ),
        "the unmapped tail of a partial pass gets a horizon": partial
        and any(
            old["base_offset"] >= below and old["delete_horizon_ms"] != new["delete_horizon_ms"]
            for _, old, new in survivors
        ),
        "several groups of segments": len(covered) > 1,
        "segments are joined": any(old["segment"] != new["segment"] for _, old, new in survivors),
        "upper bound rounded down to a segment's base": run.step.get("upper_bound")
        not in {None, run.bound},
        "segment above 4,096 bytes": max(left.values(), default=0) > INDEX_INTERVAL_BYTES,
        "segments that span one offset less than they may": min(bases) + 2**31 - 1 in bases,
        "segments that span as many offsets as they may": min(bases) + 2**31 in bases,
        "segments that span one offset more than they may": min(bases) + 2**31 + 1 in bases,
        "two segments that fill `segment.bytes` exactly": limit in neighbours,
        "two segments that are a byte larger than `segment.bytes`": limit + 1 in neighbours,
    }
    return {name: run.ran and happened for name, happened in found.items()}


def _removals(run: SeenStep) -> Features:
    """Features of the records and batches that a pass removed or kept."""
    survivors, pairs, superseded = run.survivors(), list(run.pairs()), run.removed("superseded")
    keys = [record.get("key") for record, _ in superseded]
    emptied = [
        (written, new)
        for written, old, new in survivors
        if old["record_offsets"] and not new["record_offsets"]
    ]
    kept, gone = ({*one["surviving_offsets"]} for one in (run.after, run.before))
    empty_gone = any(new is None and not old["record_offsets"] for old, new in pairs)
    return {
        "superseded record removed": superseded,
        "record without a key removed": run.removed("no key"),
        "tombstone removed": run.removed("tombstone"),
        "aborted data dropped": run.removed("aborted"),
        "marker removed": any(old["control"] and new is None for old, new in pairs),
        EVICTED: any("marker" in record for record, _ in superseded),
        "aborted transaction leaves the index": run.lost("aborted_txns"),
        "batch kept empty for its producer": any(
            new["last_offset"] + 1 != run.bound for _, new in emptied
        ),
        "batch kept empty for the end of the round": any(
            new["last_offset"] + 1 == run.bound and written.get("producer_id", -1) == -1
            for written, new in emptied
        ),
        "empty batch removed by a later pass": empty_gone,
        "empty key superseded": "" in keys,
        "key that is no text superseded": any(isinstance(key, dict) for key in keys),
        "key of 64 bytes or more superseded": any(
            isinstance(key, str) and len(key) > 63 for key in keys
        ),
        "empty value stays": run.ran
        and any(
            record.get("key") is not None and record["value"] == "" and record["offset"] in kept
            for written, old, _ in survivors
            if old["last_offset"] < run.cleaned_below
            for record in written["records"]
        ),
        "change of the leader stays": run.ran
        and any(
            new["control"] == "LEADER_CHANGE" and new["record_offsets"] for _, _, new in survivors
        ),
        "pass removes records below the log start": any(
            offset < run.before["log_start_offset"] for offset in gone - kept
        ),
        "empty batch of a forgotten producer removed": empty_gone
        and run.after_op("expire_producers"),
    }


def _horizons(run: SeenStep) -> Features:
    """Features of delete horizons that a pass sets, waits for or reaches, and of the clock."""
    survivors, now_ms = run.survivors(), run.step["now_ms"]
    set_ms = now_ms + run.rules["delete_retention_ms"]
    new_horizons = [
        (bool(old["control"]), new["delete_horizon_ms"])
        for _, old, new in survivors
        if old["delete_horizon_ms"] is None is not new["delete_horizon_ms"]
    ]
    tombstones = {*run.after["tombstone_offsets"]}
    ops = [step["op"] for step in run.earlier]
    earlier_ms = [step["now_ms"] for step in run.earlier if step["op"] == "clean"]
    return {
        "batch of a tombstone gets a horizon": any(not control for control, _ in new_horizons),
        "marker gets a horizon": any(control for control, _ in new_horizons),
        "horizon not reached yet": run.ran
        and any(
            (old["delete_horizon_ms"] or -1) > now_ms
            and old["record_offsets"] == new["record_offsets"]
            for _, old, new in survivors
        ),
        "pass at the very millisecond of a horizon": run.ran
        and any(old["delete_horizon_ms"] == now_ms for old, _ in run.pairs()),
        "horizon of 2^63 - 1 ms, the latest there is": set_ms == MOST
        and any(horizon_ms == MOST for _, horizon_ms in new_horizons),
        "tombstone without a horizon, which would not fit 63 bits": run.ran
        and set_ms > MOST
        and any(
            new["delete_horizon_ms"] is None and tombstones.intersection(new["record_offsets"])
            for _, _, new in survivors
        ),
        "clock goes backwards between passes": run.ran and now_ms < [0, *earlier_ms][-1],
        "pass after a reload of a cleaned log": run.ran
        and "reload" in ops
        and "clean" in ops[: ops.index("reload")],
        "pass after a truncation": "truncate" in ops,
    }


def _formats(run: SeenStep) -> Features:
    """Features of batches, by size and format, that lost some of their records but not all."""
    thinned = [
        (written, old, new)
        for written, old, new in run.survivors()
        if 0 < len(new["record_offsets"]) < len(old["record_offsets"])
    ]
    written = [one for one, _, _ in thinned]
    return {
        "batch larger than the cleaner's I/O buffer loses records": any(
            new["size_bytes"] > IO_BYTES for _, _, new in thinned
        ),
        "batch of a hundred records or more loses some": any(
            len(old["record_offsets"]) >= 100 for _, old, _ in thinned
        ),
        "batch with a horizon loses records": any(
            None not in {old["delete_horizon_ms"], new["delete_horizon_ms"]}
            for _, old, new in thinned
        ),
        "batch with a log append time loses records": any(  # a time that no record of it has
            one["timestamp_ms"] != max(record["timestamp_ms"] for record in one["records"])
            for one in written
            if "timestamp_type" in one
        ),
        **{
            f"batch of {kind} loses records": any(one.get("compression") == kind for one in written)
            for kind in COMPRESSIONS
        },
        "batch of magic 0 or 1 loses records": any(map(_is_old, written)),
        "tombstone of magic 0 or 1 removed": any(
            _is_old(batch) for _, batch in run.removed("tombstone")
        ),
        "pass that a batch of magic 0 or 1 stops, which cannot be empty": "uncleanable" in run.after
        and any(map(_is_old, run.written.values())),
    }


def _is_old(batch: Json) -> bool:
    return int(batch.get("magic", 2)) < 2


def _decided(run: SeenStep) -> Features:
    """Features of a pass that Kafka's manager decides about."""
    due, before, now_ms = run.after, run.before, run.step["now_ms"]
    bound = due["first_uncleanable_offset"]
    times = run.times(bound)
    active = max((b["segment"] for b in before["batches"]), default=bound)
    if run.earlier[-1:] == [{"op": "roll"}]:
        active = before["log_end_offset"]
    return {
        # A segment waits whose records are old enough: the time of its file counts.
        "truncation after a reload leaves a segment to the time of its file": run.lag_ms > 0
        and run.after_op("reload")
        and bound < min(active, before["last_stable_offset"])
        and 0 <= max(times, default=-1) <= now_ms - run.lag_ms,
        "pass at the very millisecond of the minimum compaction lag": run.lag_ms > 0
        and now_ms - run.lag_ms in run.times(),
        "log is due": due["selected"],
        "log is not due": not due["selected"],
        "invalid checkpoint replaced": due["force_update_checkpoint"],
        "bound decided in mid-segment and rounded down": due["selected"]
        and due["effective_upper_bound"] < bound,
        LATE_BOUND: bound == before["high_watermark"] < before["log_end_offset"],
        "transaction holds the cleaner up": bound
        == before["last_stable_offset"]
        < before["high_watermark"],
        "maximum compaction lag makes a log overdue": due["compaction_delay_ms"] > 0,
    }


def _moves(move: SeenStep) -> Features:
    """Features of all steps, above all of those that move an end of the log."""
    step, before, after, op = move.step, move.before, move.after, move.step["op"]
    cut = op == "truncate" and after["log_end_offset"] < before["log_end_offset"]
    to, start = step.get("offset", -1), after["log_start_offset"]
    forgotten = op == "expire_producers" and move.lost("last_sequences")
    bases = {batch["segment"] for batch in after["batches"]}
    return {
        "log truncated": cut,
        "log truncated in mid-batch": cut
        and any(one["base_offset"] < to <= one["last_offset"] for one in before["batches"]),
        "truncation to the log end or above takes nothing": op == "truncate" and not cut,
        "truncation to a segment's base leaves it empty": cut
        and any(one["segment"] == to for one in before["batches"]),
        "log truncated fully": op == "truncate_fully",
        "truncation lowers the cleaner's checkpoint": op in {"truncate", "truncate_fully"}
        and before["checkpoint"] is not None
        and after["checkpoint"] < before["checkpoint"],
        "aborted transaction leaves the index by truncation": cut and move.lost("aborted_txns"),
        "truncation takes an epoch": cut and move.lost("epochs"),
        "truncation brings an older sequence of a producer back": cut
        and any(
            after["last_sequences"].get(name, last) != last
            for name, last in before["last_sequences"].items()
        ),
        "log start moves into mid-segment": op == "delete_records"
        and any(one["segment"] < start <= one["last_offset"] for one in after["batches"]),
        "segments below the log start deleted": op == "delete_old_segments"
        and move.lost("batches"),
        # Though none was known (ProducerStateManager.isEmpty).
        "truncation looks for producers, as a transaction is decided above the high watermark": cut
        and before["last_stable_offset"] < before["high_watermark"]
        and not before["last_sequences"],
        "producer forgotten at the very millisecond": forgotten
        and step["now_ms"] - step["expiration_ms"] in move.times(),
        "producer forgotten": forgotten,
        "append rolls the log by its maximum compaction lag": op == "append"
        and any(batch["base_offset"] in bases for batch in step["batches"][1:]),
        "retry of an old batch recognised": after.get("duplicate") is True,
        "retry of an old batch not recognised": after.get("duplicate") is False,
    }


OF_PASSES = (_bounds, _removals, _horizons, _formats)
EVICTED = "marker evicted by a user's key (KAFKA-14055)"
"""A feature of releases before KAFKA-14055."""
LATE_BOUND = "high watermark holds the cleaner up"
"""A feature of releases since KAFKA-13194."""
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
_ANY_LOG: Json = {
    "format": "replog-log/1",
    "rules": {"preset": "kafka-4.0", "delete_retention_ms": 0},
    "segments": [[]],
    "steps": [{"op": "clean", "now_ms": 0}],
}


def features_expected(preset: str) -> tuple[str, ...]:
    """Features that can occur under a preset, in the order of the report's table."""
    (step,) = seen_steps(_ANY_LOG, replog_answer(_ANY_LOG))
    absent = _SINCE_HORIZONS if preset == "kafka-2.8" else {EVICTED}
    known = [name for of in (*OF_PASSES, _decided, _moves) for name in of(step)]
    return (*(name for name in known if name not in absent), SEEK)


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
    """Offsets at which the batch may end: of magic 0 or 1 that of the last record that is left."""
    return [*(record["offset"] for record in batch["records"]), batch["last_offset"]]


def features_of(document: Json, answer: Json) -> frozenset[str]:
    """Features that occurred while a log file was answered."""
    found = {SEEK} if _misses_a_marker(document, answer) else set()
    for step in seen_steps(document, answer):
        is_pass = step.step["op"] == "clean"
        due = is_pass and step.step.get("upper_bound") is None
        for of in (*OF_PASSES[: 4 * is_pass], *[_decided][:due], _moves):
            found.update(name for name, happened in of(step).items() if happened)
    return frozenset(found)


def _misses_a_marker(document: Json, answer: Json) -> bool:
    """True if the answer would differ with a map read from the beginning of its first segment."""
    late = any((step.get("first_dirty_offset") or 0) > 0 for step in document["steps"])
    if not late or not any(step["aborted_txns"] for step in answer["steps"]):
        return False
    rules = {**document["rules"], "map_reads_from": "segment_start"}
    other = replog_answer({**document, "rules": rules})
    return difference_between(document, answer, other) is not None
