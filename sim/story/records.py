"""What an `append` step writes: one record, or one marker, as a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.compaction.strategies import ENCODERS
from sim.log import Batch, Control, Record, control_batch, data_batch
from sim.log.formats import TOMBSTONE_HEADER
from sim.rules import Rules

if TYPE_CHECKING:
    from sim.story.steps import Step


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
    value, flagged = _value_and_flag(step, rules.cleaner.tombstone_mark)
    record = Record(
        offset,
        step["key"],
        value,
        timestamp_ms,
        _headers(step, rules),
        flagged=flagged,
        uid=uid,
    )
    return data_batch(
        (record,),
        epoch=epoch,
        producer_id=step.get("pid", -1),
        transactional="pid" in step.fields,
    )


def _headers(step: Step, rules: Rules) -> tuple[tuple[str, bytes], ...]:
    """`hdr` in the form that the rules read, `hdr_bytes` as they are, then the mark of a delete."""
    values: list[bytes] = []
    if step.get("hdr") is not None:
        values.append(ENCODERS[rules.cleaner.header_form](step["hdr"]))
    if "hdr_bytes" in step.fields:
        values.append(step["hdr_bytes"])
    headers = tuple((rules.topic.strategy_header, value) for value in values)
    marked = rules.cleaner.tombstone_mark == "header" and step.get("flag", False)
    return (*headers, TOMBSTONE_HEADER) if marked else headers


def _value_and_flag(step: Step, mark: str) -> tuple[str | None, bool | None]:
    """The value and the tombstone attribute of what an `append` writes under `tombstone_mark`.

    Only the field that the mark names is looked at. With `magic` a step that gives `flag` writes a
    record of magic 2, and any other one of a format without a flag, in which `null_value` decides.
    With `header` the field `flag` becomes a header.
    """
    label = step["label"]
    if mark == "header":
        return label, False
    if mark == "flag" or (mark == "magic" and "flag" in step.fields):
        return label, step.get("flag", False)
    deleted = step.get("tombstone" if mark == "explicit" else "null_value", False)
    flagged = None if mark == "magic" else deleted and mark == "explicit"
    return None if deleted else label, flagged
