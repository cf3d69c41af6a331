"""Compares a real broker with Replog's prediction: its disk after each pass, and its readers.

The cleaner's clock cannot be observed. If a pass wrote a delete horizon, the clock is derived from
that, and must lie between the times at which the pass became possible and was seen to be over. Else
every time in between that could make a difference is tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from tests.conformance.batches import written_batches
from tests.conformance.broker_run import RETENTION_MS, BrokerPass, Reads, WatchedTopic
from tests.conformance.clients import Read
from tests.conformance.compare import Json, Result, first_unequal, normal_step, replog_answer
from tests.conformance.features import features_of


@dataclass
class BrokerResult(Result):
    """Result of the comparison with a broker.

    Attributes:
        reads: Records that each kind of consumer got, and the end offset it was given, by isolation
            level.
        features: Features that occurred in the passes.
        document: Log file of the run, with the times of the clock filled in.
    """

    reads: Reads = field(default_factory=dict)
    features: frozenset[str] = frozenset()
    document: Json = field(default_factory=dict)


def compare_broker_run(run: WatchedTopic) -> BrokerResult:
    """Compares a run with Replog's answer to its log file, up to the first difference."""
    document = {**run.document, "steps": [dict(step) for step in run.document["steps"]]}
    result = BrokerResult(f"broker, topic {run.topic}", reads=run.reads, document=document)
    for isolation, (read, _) in run.reads.items():
        result.counts[f"records for a {isolation} consumer"] = len(read)
    for number, passed in enumerate(run.passes, start=1):
        difference = _compare_pass(document, passed)
        if difference is not None:
            result.differences = [f"pass {number}: {difference}"]
            return result
        result.counts["passes of its cleaner"] += 1
    answer = replog_answer(document)
    result.features = features_of(document, answer)
    difference = _compare_readers(run, document, answer)
    if difference is None and not run.held_up:
        difference = "the cleaner passed while a transaction was open in the segment it passed to"
    result.differences += [] if difference is None else [difference]
    return result


def _compare_pass(document: Json, passed: BrokerPass) -> str | None:
    """First difference after a pass; sets the step's `now_ms`."""
    before = {b["last_offset"]: b["delete_horizon_ms"] for b in passed.before.batches}
    after = {b["last_offset"]: b["delete_horizon_ms"] for b in passed.after.batches}
    written = {horizon for at, horizon in after.items() if before.get(at) is None} - {None}
    inside = [at for at in before.values() if at and passed.from_ms < at <= passed.to_ms]
    times = [horizon - RETENTION_MS for horizon in written] or [passed.from_ms, *sorted(inside)]
    if written and not (len(written) == 1 and passed.from_ms <= times[0] <= passed.to_ms):
        window = f"between {passed.from_ms} and {passed.to_ms} ms"
        return f"the horizons that it wrote are not of one pass {window}: {sorted(written)}"
    differences = []
    for now_ms in times:
        document["steps"][passed.step]["now_ms"] = now_ms
        steps = document["steps"][: passed.step + 1]
        answered = normal_step(replog_answer({**document, "steps": steps})["steps"][-1], steps[-1])
        held = held_after(passed, steps[-1])
        found = first_unequal({name: answered[name] for name in held}, held)
        if found is None:
            return None
        differences.append(found)
    return differences[0]


def held_after(passed: BrokerPass, step: Json) -> Json:
    """State of the log after a pass, in the form in which answers are compared."""
    seen = {
        "batches": passed.after.answered()["batches"],
        "log_end_offset": passed.after.end,
        "last_sequences": passed.last_sequences,
        "aborted_txns": passed.after.aborted,
        "next_dirty_offset": passed.reached,
    }
    normal = normal_step(seen, step)
    return {name: normal[name] for name in seen}


def _compare_readers(run: WatchedTopic, document: Json, answer: Json) -> str | None:
    """First difference between the records that consumers read and those predicted."""
    last = answer["steps"][-1]
    predicted = list(_predicted(document, answer))
    ends = {
        "read_uncommitted": last["log_end_offset"],
        "read_committed": last["last_stable_offset"],
    }
    for isolation, (read, reported_end) in run.reads.items():
        end = ends[isolation]
        expected = [
            record
            for record, aborted in predicted
            if record.offset < end and not (aborted and isolation == "read_committed")
        ]
        pairs = zip_longest(expected, read)
        found = [f"record {at}: {one}" for at, one in enumerate(pairs) if one[0] != one[1]]
        if end != reported_end:
            found = [f"its end: {(end, reported_end)}", *found]
        if found:
            return f"{isolation} consumer, as Replog says and as it was: {found[0]}"
    return None


def _predicted(document: Json, answer: Json) -> Iterator[tuple[Read, bool]]:
    """Data records that are left, as a consumer gets them, each with True if it is aborted."""
    written = {
        record["offset"]: (record, batch)
        for batch in written_batches(document)
        for record in batch["records"]
    }
    for offset in answer["steps"][-1]["surviving_offsets"]:
        record, batch = written[offset]
        if batch["control"] is None:
            aborted = batch["transactional"] and any(
                entry["producer_id"] == batch["producer_id"]
                and entry["first_offset"] <= offset <= entry["last_offset"]
                for entry in answer["steps"][-1]["aborted_txns"]
            )
            yield Read(offset, record["key"], record["value"], record["timestamp_ms"]), aborted
