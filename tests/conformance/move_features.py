"""What really happened where a log was cut, started later, was committed further, or was due."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class MoveInLog:
    """One step, and Replog's answers before and after it.

    Attributes:
        step: The step of the log file.
        before: The answer to the step before it.
        after: The answer to it.
        earlier: Steps before it.
        lag_ms: The minimum compaction lag.
    """

    step: Json
    before: Json
    after: Json
    earlier: list[Json]
    lag_ms: int = 0

    def lost(self, name: str) -> bool:
        """Whether there is less of a part of the answer after the step."""
        return len(self.after[name]) < len(self.before[name])

    @property
    def is_due(self) -> bool:
        """The step is a pass that the cleaner's manager decided about."""
        return self.step["op"] == "clean" and self.step.get("upper_bound") is None


def _truncated(move: MoveInLog) -> bool:
    end = move.before["log_end_offset"]
    return bool(move.step["op"] == "truncate" and move.after["log_end_offset"] < end)


def _truncated_inside_a_batch(move: MoveInLog) -> bool:
    offset = move.step.get("offset")
    return _truncated(move) and any(
        batch["base_offset"] < offset <= batch["last_offset"] for batch in move.before["batches"]
    )


def _nothing_truncated(move: MoveInLog) -> bool:
    return move.step["op"] == "truncate" and not _truncated(move)


def _empty_active_segment(move: MoveInLog) -> bool:
    """What is truncated to the base of a segment leaves that segment, empty."""
    offset = move.step.get("offset")
    return _truncated(move) and any(b["segment"] == offset for b in move.before["batches"])


def _checkpoint_lowered(move: MoveInLog) -> bool:
    before, after = move.before["checkpoint"], move.after["checkpoint"]
    cut = move.step["op"] in {"truncate", "truncate_fully"}
    return cut and before is not None and after < before


def _sequence_back(move: MoveInLog) -> bool:
    """A producer's last sequence is an older one again."""
    before, after = move.before["last_sequences"], move.after["last_sequences"]
    return _truncated(move) and any(
        name in after and after[name] != before[name] for name in before
    )


def _log_start_in_mid_segment(move: MoveInLog) -> bool:
    start = move.after["log_start_offset"]
    return move.step["op"] == "delete_records" and any(
        batch["segment"] < start <= batch["last_offset"] for batch in move.after["batches"]
    )


def _cleaned_below_start(move: MoveInLog) -> bool:
    start = move.before["log_start_offset"]
    gone = set(move.before["surviving_offsets"]) - set(move.after["surviving_offsets"])
    return move.step["op"] == "clean" and any(offset < start for offset in gone)


def _invalid_checkpoint(move: MoveInLog) -> bool:
    return move.is_due and bool(move.after["force_update_checkpoint"])


def _bound_inside(move: MoveInLog) -> bool:
    return (
        move.is_due
        and bool(move.after["selected"])
        and move.after["effective_upper_bound"] < move.after["first_uncleanable_offset"]
    )


def _bound_by_high_watermark(move: MoveInLog) -> bool:
    end = move.after["first_uncleanable_offset"] if move.is_due else None
    return bool(end == move.before["high_watermark"] and end < move.before["log_end_offset"])


def _bound_by_transaction(move: MoveInLog) -> bool:
    end = move.after["first_uncleanable_offset"] if move.is_due else None
    stable = move.before["last_stable_offset"]
    return bool(end == stable and stable < move.before["high_watermark"])


def _expired(move: MoveInLog) -> bool:
    return move.step["op"] == "expire_producers" and move.lost("last_sequences")


def _rolled_by_lag(move: MoveInLog) -> bool:
    if move.step["op"] != "append":
        return False
    written = move.step["batches"]
    bases = [batch["segment"] for batch in move.after["batches"]]
    return any(batch["base_offset"] in bases for batch in written[1:])


def _came_back(move: MoveInLog) -> bool:
    """An empty batch goes whose producer was forgotten before."""
    if move.step["op"] != "clean" or not _ops_before(move, "expire_producers"):
        return False
    left = {batch["last_offset"] for batch in move.after["batches"]}
    return any(
        not batch["record_offsets"] and batch["last_offset"] not in left
        for batch in move.before["batches"]
    )


def _undecided_by_nobody(move: MoveInLog) -> bool:
    """Producers are looked for though nobody was known (ProducerStateManager.isEmpty)."""
    before = move.before
    unstable = before["last_stable_offset"] < before["high_watermark"]
    return _truncated(move) and unstable and not before["last_sequences"]


def _timestamps(move: MoveInLog, segment: int | None = None) -> list[int]:
    """Largest timestamps of batches before the step; of one segment, or of all."""
    batches = move.before["batches"]
    return [b["max_timestamp_ms"] for b in batches if segment in {None, b["segment"]}]


def _age_unknown(move: MoveInLog) -> bool:
    """A segment waits for the lag whose records are old enough: its file's time counts."""
    if not move.is_due or not move.lag_ms or not _ops_before(move, "reload"):
        return False
    end = move.after["first_uncleanable_offset"]
    times = _timestamps(move, end)
    active = max((b["segment"] for b in move.before["batches"]), default=end)
    if move.earlier[-1]["op"] == "roll":
        active = move.before["log_end_offset"]
    return bool(
        end < min(active, move.before["last_stable_offset"])
        and times
        and 0 <= max(times) <= move.step["now_ms"] - move.lag_ms
    )


def _at_the_lag(move: MoveInLog) -> bool:
    return (
        move.is_due and bool(move.lag_ms) and move.step["now_ms"] - move.lag_ms in _timestamps(move)
    )


def _silent_exactly(move: MoveInLog) -> bool:
    step = move.step
    return _expired(move) and step["now_ms"] - step["expiration_ms"] in _timestamps(move)


def _ops_before(move: MoveInLog, op: str) -> bool:
    return any(step["op"] == op for step in move.earlier)


MOVES: Mapping[str, Callable[[MoveInLog], bool]] = {
    "log truncated": _truncated,
    "log truncated in mid-batch": _truncated_inside_a_batch,
    "truncation to the log end or above takes nothing": _nothing_truncated,
    "truncation to a segment's base leaves it empty": _empty_active_segment,
    "log truncated fully": lambda move: move.step["op"] == "truncate_fully",
    "truncation lowers the cleaner's checkpoint": _checkpoint_lowered,
    "aborted transaction leaves the index by truncation": (
        lambda move: _truncated(move) and move.lost("aborted_txns")
    ),
    "truncation takes an epoch": lambda move: _truncated(move) and move.lost("epochs"),
    "truncation brings an older sequence of a producer back": _sequence_back,
    "pass after a truncation": (
        lambda move: move.step["op"] == "clean" and _ops_before(move, "truncate")
    ),
    "log start moves into mid-segment": _log_start_in_mid_segment,
    "segments below the log start deleted": (
        lambda move: move.step["op"] == "delete_old_segments" and move.lost("batches")
    ),
    "pass removes records below the log start": _cleaned_below_start,
    "truncation looks for producers, as a transaction is decided above the high watermark": (
        _undecided_by_nobody
    ),
    "truncation after a reload leaves a segment to the time of its file": _age_unknown,
    "pass at the very millisecond of the minimum compaction lag": _at_the_lag,
    "producer forgotten at the very millisecond": _silent_exactly,
    "producer forgotten": _expired,
    "empty batch of a forgotten producer removed": _came_back,
    "log is due": lambda move: move.is_due and bool(move.after["selected"]),
    "log is not due": lambda move: move.is_due and not move.after["selected"],
    "invalid checkpoint replaced": _invalid_checkpoint,
    "bound decided in mid-segment and rounded down": _bound_inside,
    "high watermark holds the cleaner up": _bound_by_high_watermark,
    "transaction holds the cleaner up": _bound_by_transaction,
    "maximum compaction lag makes a log overdue": (
        lambda move: move.is_due and move.after["compaction_delay_ms"] > 0
    ),
    "append rolls the log by its maximum compaction lag": _rolled_by_lag,
}
"""What can happen in a step, and how to see that it did. Order of the table in the report."""

LATE_BOUND = frozenset({"high watermark holds the cleaner up"})
"""Not before KAFKA-13194."""


def moves(document: Json, answer: Json) -> Iterator[MoveInLog]:
    """The steps of a log file with Replog's answers; the first has its own for want of another."""
    told = answer["steps"]
    for number, step in enumerate(document["steps"]):
        before = told[max(number - 1, 0)]
        lag_ms = document.get("topic", {}).get("min.compaction.lag.ms", 0)
        yield MoveInLog(step, before, told[number], document["steps"][:number], lag_ms)


def move_features(document: Json, answer: Json) -> frozenset[str]:
    """Which of `MOVES` occurred while a log file was answered."""
    return frozenset(
        name for move in moves(document, answer) for name, seen in MOVES.items() if seen(move)
    )
