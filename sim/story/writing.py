"""What an `append` step writes: one record, or one marker, as a batch."""

from __future__ import annotations

from sim.compaction.strategies import encode_version
from sim.log import Batch, Control, Record, control_batch, data_batch
from sim.replication import Rules
from sim.story.format import Step
from sim.story.marks import value_and_flag


def label_of(step: Step) -> str:
    """What the record is called in expectations: `C:p` and `A:p` for markers of producer p."""
    if "marker" in step.fields:
        return f"{_control(step)[0]}:{step['pid']}"
    label: str = step["label"]
    return label


def _control(step: Step) -> Control:
    return Control.COMMIT if step["marker"] == "commit" else Control.ABORT


def batch_of(step: Step, offset: int, *, epoch: int, uid: int, now_ms: int, rules: Rules) -> Batch:
    """The batch at `offset` in `epoch`; its timestamp is `now_ms` unless the step gives one."""
    timestamp_ms = step.get("ts", now_ms)
    if "marker" in step.fields:
        return control_batch(
            offset,
            epoch=epoch,
            control=_control(step),
            timestamp_ms=timestamp_ms,
            producer_id=step["pid"],
            uid=uid,
        )
    value, flagged = value_and_flag(step, rules.tombstone_mark)
    version = step.get("hdr")
    record = Record(
        offset,
        step["key"],
        value,
        timestamp_ms,
        () if version is None else ((rules.strategy_header, encode_version(version)),),
        flagged=flagged,
        uid=uid,
    )
    return data_batch(
        (record,),
        epoch=epoch,
        producer_id=step.get("pid", -1),
        transactional="pid" in step.fields,
    )
