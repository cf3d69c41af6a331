"""What `replog clean --json` answers to a log file."""

from __future__ import annotations

from typing import Any

from sim.protocol.compaction import TOMBSTONE_MARKS, Cleaning
from sim.protocol.events import Removal
from sim.protocol.log import Batch, Log
from sim.protocol.log.old_formats import OldBatch
from sim.simulate.logfile.eligible import numbers_of
from sim.simulate.logfile.file import LogFile, log_file_from
from sim.simulate.logfile.replica import LogReplica
from sim.simulate.logfile.run import PassResult, StepResult, run_steps
from sim.simulate.logfile.steps import ProduceDuplicate

Answer = dict[str, Any]

REASON_TEXTS = {
    "tombstone": "tombstone past its horizon",
    "aborted": "aborted",
    "marker": "marker past its horizon",
    "no key": "no key",
    "unmapped": "version below that of a missing key",
}
"""Why a record went, in the words of a log file; superseded ones name their winner."""


def answer(document: dict[str, Any]) -> Answer:
    """What comes of a log file: `{"steps": [...]}`, one object per step, in order.

    Raises:
        BadInput: `path: what is wrong`, for what no log file may say.
    """
    return answer_to(log_file_from(document))


def answer_to(file: LogFile) -> Answer:
    """The same for a log file that was read."""
    return {"steps": [step_answer(result, file) for result in run_steps(file)]}


def step_answer(result: StepResult, file: LogFile) -> Answer:
    """What came of one step; the log must not have moved on yet."""
    out = log_answer(result.log, file.rules.rules.cleaner.tombstone_mark)
    if result.cleaned is not None:
        out |= pass_answer(result.cleaned)
    if isinstance(result.step, ProduceDuplicate):
        out["duplicate"] = result.duplicate_of is not None
        if result.duplicate_of is not None:
            out["first_offset"] = result.duplicate_of.first_offset
            out["last_offset"] = result.duplicate_of.last_offset
    return out | replica_answer(result.replica)


def log_answer(log: Log, tombstone_mark: str) -> Answer:
    """The whole log as it is now, producers and aborted transactions included."""
    is_tombstone = TOMBSTONE_MARKS[tombstone_mark]
    batches = list(log.batches())
    return {
        "batches": [
            batch_answer(batch, segment.base_offset)
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
        "aborted_txns": [entry._asdict() for segment in log.segments for entry in segment.aborted],
    }


def replica_answer(replica: LogReplica) -> Answer:
    """Where the log starts, how far it is committed, and what lies beside it."""
    log = replica.log
    return {
        "log_start_offset": log.log_start_offset,
        "high_watermark": log.high_watermark,
        "last_stable_offset": replica.last_stable_offset(),
        "checkpoint": replica.checkpoint,
        "epochs": [list(entry) for entry in log.epochs.entries],
    }


def batch_answer(batch: Batch, segment: int) -> Answer:
    """One batch; `segment` is the base offset of its segment, and `magic` 2 unless it is said."""
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


def pass_answer(result: PassResult) -> Answer:
    """What one pass did."""
    cleaning = result.cleaning
    failed: Answer = {}
    unended: Answer = {}
    if cleaning.unended:
        markers = sorted(cleaning.unended.items())
        unended = {"counted_as_aborted": {str(at): f"ABORT at {by}" for at, by in markers}}
    if result.failed is not None:
        failed = {
            "uncleanable": True,
            "failed_at": result.failed.offset,
            "failure": str(result.failed),
            "swapped_segments": [segment.base_offset for segment in cleaning.segments],
        }
    asked: Answer = {}
    if (decision := result.decision) is not None:
        asked = {
            "selected": decision.eligible,
            **numbers_of(decision.dirty, decision.found),
            "why": decision.why,
            "outlook": decision.outlook,
        }
    return {
        "effective_upper_bound": result.plan.upper_bound,
        "next_dirty_offset": cleaning.next_dirty_offset,
        "messages_read": cleaning.messages_read,
        "messages_written": cleaning.messages_written,
        # The counts of a pass that failed are lost with it.
        "invalid_messages": 0 if result.failed is not None else len(cleaning.removed["no key"]),
        "removed": removed(cleaning),
        **asked,
        **unended,
        **failed,
    }


def removed(cleaning: Cleaning) -> dict[str, str]:
    """Why each record went in this pass, by offset."""
    return {str(removal.offset): reason_of(removal) for removal in cleaning.removals}


def reason_of(removal: Removal) -> str:
    """Why a record went."""
    if removal.reason == "superseded":
        return f"superseded by {removal.winner_offset}"
    return REASON_TEXTS[removal.reason]
