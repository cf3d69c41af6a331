"""Answers of `replog clean` to log files, as JSON and in lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import asdict

from sim.protocol.compaction import TOMBSTONE_MARKS
from sim.protocol.log import Batch, Log
from sim.protocol.log.formats import OldBatch
from sim.simulate.logfile.batches import MAGIC
from sim.simulate.logfile.file import LogFile, log_file_from
from sim.simulate.logfile.run import PassResult, StepResult, run_steps
from sim.simulate.logfile.steps import Clean, ProduceDuplicate, Step

Answer = dict[str, Any]

REASON_TEXTS = {
    "tombstone": "tombstone past its horizon",
    "aborted": "aborted",
    "marker": "marker past its horizon",
    "no key": "no key",
    "unmapped": "version below that of a missing key",
}
"""Texts of the reasons for a removal; that of a superseded record names its winner."""


def answer(document: dict[str, Any]) -> Answer:
    """Answer to a log file: `{"steps": [...]}`, one object per step, in order.

    Raises:
        BadInput: `path: what is wrong`, for what no log file may say.
    """
    return answer_to(log_file_from(document))


def answer_to(file: LogFile) -> Answer:
    """Answer to a log file that was read."""
    return {"steps": [step_answer(result, file) for result in run_steps(file)]}


def step_answer(result: StepResult, file: LogFile) -> Answer:
    """Answer to one step, made before the next step changes the log."""
    log, replica = result.log, result.replica
    out = _log_answer(log, file.rules.rules.cleaner.tombstone_mark)
    if result.cleaned is not None:
        out |= _pass_answer(result.cleaned)
    if isinstance(result.step, ProduceDuplicate):
        out["duplicate"] = result.duplicate_of is not None
        if result.duplicate_of is not None:
            out["first_offset"] = result.duplicate_of.first_offset
            out["last_offset"] = result.duplicate_of.last_offset
    return out | {
        "log_start_offset": log.log_start_offset,
        "high_watermark": log.high_watermark,
        "last_stable_offset": replica.last_stable_offset(),
        "checkpoint": replica.checkpoint,
        "epochs": [list(entry) for entry in log.epochs.entries],
    }


def _log_answer(log: Log, tombstone_mark: str) -> Answer:
    """The whole log as it is now, with its producers and aborted transactions."""
    is_tombstone = TOMBSTONE_MARKS[tombstone_mark]
    batches = list(log.batches())
    return {
        "batches": [
            _batch_answer(batch, segment.base_offset)
            for segment in log.segments
            for batch in segment.batches
        ],
        "surviving_offsets": [record.offset for batch in batches for record in batch.records],
        "tombstone_offsets": [
            record.offset
            for batch in batches
            if batch.control is None
            for record in batch.records
            if is_tombstone(record)
        ],
        "log_end_offset": log.log_end_offset,
        "last_sequences": {
            str(producer_id): sequence
            for producer_id, sequence in sorted(log.producers.last_sequences().items())
        },
        "aborted_txns": [asdict(entry) for segment in log.segments for entry in segment.aborted],
    }


def _batch_answer(batch: Batch, segment: int) -> Answer:
    """Object about a batch in an answer; without a `magic` it is of magic 2.

    `segment` is the base offset of its segment.
    """
    return {
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "record_offsets": [record.offset for record in batch.records],
        "delete_horizon_ms": batch.delete_horizon_ms,
        "control": None if batch.control is None else batch.control.value,
        "max_timestamp_ms": batch.timestamp_ms,
        "size_bytes": batch.size_bytes,
        "segment": segment,
        **({"magic": batch.magic} if isinstance(batch, OldBatch) else {}),
    }


def _pass_answer(result: PassResult) -> Answer:
    """Answer about one pass."""
    cleaning, decision = result.cleaning, result.decision
    out: Answer = {
        "effective_upper_bound": result.plan.upper_bound,
        "next_dirty_offset": cleaning.next_dirty_offset,
        "messages_read": cleaning.messages_read,
        "messages_written": cleaning.messages_written,
        # The counts of a pass that failed are lost with it.
        "invalid_messages": 0 if result.failed is not None else len(cleaning.removed["no key"]),
        "removed": {
            str(one.offset): REASON_TEXTS.get(one.reason, f"superseded by {one.winner_offset}")
            for one in cleaning.removals
        },
    }
    if decision is not None:
        out |= {"selected": decision.eligible, **decision.numbers}
        out |= {"why": decision.why, "outlook": decision.outlook}
    if cleaning.unended:
        markers = sorted(cleaning.unended.items())
        out["counted_as_aborted"] = {str(at): f"ABORT at {by}" for at, by in markers}
    if result.failed is not None:
        out |= {
            "uncleanable": True,
            "failed_at": result.failed.offset,
            "failure": str(result.failed),
            "swapped_segments": [segment.base_offset for segment in cleaning.segments],
        }
    return out


_OFFSETS_SHOWN = 12


def heading(file: LogFile) -> str:
    """The preset, and the rules that the file sets in addition to it, in a line."""
    beside = [f"{name}={value}" for name, value in file.rules.given.items()]
    return ", ".join([file.rules.preset, *beside])


def log_lines(number: int, step: Step, answer: dict[str, Any]) -> Iterator[str]:
    """Lines about a step and its effect, printed above the table of batches."""
    yield f"step {number}: {step.text}"
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
                bases = some_of([str(base) for base in answer["swapped_segments"]])
                yield f"  cleaned before it failed: the segments that begin at {bases}"
        for offset, marker in answer.get("counted_as_aborted", {}).items():
            yield f"  counts as aborted: {offset}, though it comes after the {marker}"
        for reason, offsets in _by_reason(answer["removed"]).items():
            yield f"  removed {some_of(offsets)}: {reason}"
    if isinstance(step, ProduceDuplicate):
        yield (
            f"  a duplicate of offsets {answer['first_offset']} to {answer['last_offset']}"
            if answer["duplicate"]
            else "  no duplicate of any of the producer's last five batches"
        )
    yield f"  log end offset {answer['log_end_offset']}{_state(answer)}"


def _decision(answer: dict[str, Any]) -> Iterator[str]:
    """Decision of the cleaner's manager in lines; if there is no pass, why, and until when."""
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
    """Reason -> offsets, in order of first appearance; superseded ones with their winners."""
    found: dict[str, list[str]] = {}
    for offset, reason in removed.items():
        winner = reason.removeprefix("superseded by ")
        if winner != reason:
            found.setdefault("superseded", []).append(f"{offset} (by {winner})")
        else:
            found.setdefault(reason, []).append(offset)
    return found


def some_of(items: list[str]) -> str:
    """The first dozen of texts, and how many more there are."""
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
    """A row for each batch of the log, with the formats if one is older than magic 2."""
    tombstones = set(answer["tombstone_offsets"])
    mixed = any("magic" in batch for batch in answer["batches"])
    return [
        {
            "batch": f"{batch['base_offset']}..{batch['last_offset']}",
            "segment": batch["segment"],
            "offsets kept": some_of(
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
