"""A log file's answer as lines and rows for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sim.simulate.logfile.batches import MAGIC
from sim.simulate.logfile.file import LogFile
from sim.simulate.logfile.steps import Clean, ProduceDuplicate, Step

_OFFSETS_SHOWN = 12


def heading(file: LogFile) -> str:
    """The preset, and what the file says beside it."""
    beside = [f"{name}={value}" for name, value in file.rules.given.items()]
    return ", ".join([file.rules.preset, *beside])


def log_lines(number: int, step: Step, answer: dict[str, Any]) -> Iterator[str]:
    """What a step was and did, above the table of batches."""
    yield f"step {number}: {step.told()}"
    if isinstance(step, Clean):
        if step.upper_bound is None:
            yield from (f"  {line}" for line in _decision(answer))
        elif answer["effective_upper_bound"] != step.upper_bound:
            yield (
                f"  upper bound {step.upper_bound} is no segment's base: rounded down to "
                f"{answer['effective_upper_bound']}"
            )
        counts = f"read {answer['messages_read']}, kept {answer['messages_written']}"
        keyless = answer["invalid_messages"]
        without = f", without a key {keyless}" if keyless else ""
        yield f"  {counts}, next dirty offset {answer['next_dirty_offset']}{without}"
        if "failed_at" in answer:
            yield f"  failed: {answer['failure']}; no pass is run before a reload"
            if answer["swapped_segments"]:
                bases = _listed([str(base) for base in answer["swapped_segments"]])
                yield f"  cleaned before it failed: the segments that begin at {bases}"
        for offset, marker in answer.get("counted_as_aborted", {}).items():
            yield f"  counts as aborted: {offset}, though it comes after the {marker}"
        for reason, offsets in _by_reason(answer["removed"]).items():
            yield f"  removed {_listed(offsets)}: {reason}"
    if isinstance(step, ProduceDuplicate):
        yield (
            f"  a duplicate of offsets {answer['first_offset']} to {answer['last_offset']}"
            if answer["duplicate"]
            else "  no duplicate of any of the producer's last five batches"
        )
    yield f"  log end offset {answer['log_end_offset']}{_state(answer)}"


def _decision(answer: dict[str, Any]) -> Iterator[str]:
    """What the cleaner's manager decided, with its numbers; of what is not due, why, and when."""
    span = f"[{answer['first_dirty_offset']}, {answer['effective_upper_bound']})"
    total = answer["clean_bytes"] + answer["cleanable_bytes"]
    numbers = f"{answer['cleanable_bytes']} of {total} bytes cleanable"
    if answer["compaction_delay_ms"]:
        numbers += f", {answer['compaction_delay_ms']} ms overdue"
    verdict = f"due: {span}" if answer["selected"] else f"not due: {span} would be cleaned"
    yield f"{verdict}; {numbers}"
    if not answer["selected"]:
        yield answer["why"]
        if answer["outlook"] is not None:
            yield answer["outlook"]


def _by_reason(removed: dict[str, str]) -> dict[str, list[str]]:
    """Reason -> offsets, in order of first appearance; superseded ones name their winner each."""
    found: dict[str, list[str]] = {}
    for offset, reason in removed.items():
        winner = reason.removeprefix("superseded by ")
        if winner != reason:
            found.setdefault("superseded", []).append(f"{offset} (by {winner})")
        else:
            found.setdefault(reason, []).append(offset)
    return found


def _listed(items: list[str]) -> str:
    shown = ", ".join(items[:_OFFSETS_SHOWN])
    more = len(items) - _OFFSETS_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _state(answer: dict[str, Any]) -> str:
    sequences = ", ".join(f"{name}: {last}" for name, last in answer["last_sequences"].items())
    aborted = ", ".join(
        f"{entry['producer_id']}: {entry['first_offset']} to {entry['last_offset']}"
        for entry in answer["aborted_txns"]
    )
    start, committed = answer["log_start_offset"], answer["high_watermark"]
    parts = {
        f"; log start offset {start}": start,
        f"; high watermark {committed}": committed < answer["log_end_offset"],
        f"; last sequences {sequences}": sequences,
        f"; aborted transactions {aborted}": aborted,
    }
    return "".join(text for text, there in parts.items() if there)


def rows_of(answer: dict[str, Any]) -> list[dict[str, object]]:
    """One row for each batch that is there; with the formats where one is older than magic 2."""
    tombstones = set(answer["tombstone_offsets"])
    mixed = any("magic" in batch for batch in answer["batches"])
    return [
        {
            "batch": f"{batch['base_offset']}..{batch['last_offset']}",
            "segment": batch["segment"],
            "offsets kept": _listed(
                [f"{o}{' (tombstone)' * (o in tombstones)}" for o in batch["record_offsets"]]
            )
            or "empty",
            "control": batch["control"] or "-",
            **({"magic": batch.get("magic", MAGIC)} if mixed else {}),
            "delete horizon": _or_dash(batch["delete_horizon_ms"]),
            "largest timestamp": _or_dash(batch["max_timestamp_ms"]),
        }
        for batch in answer["batches"]
    ]


def _or_dash(value: int | None) -> str:
    return "-" if value is None or value < 0 else str(value)
