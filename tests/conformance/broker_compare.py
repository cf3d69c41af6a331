"""Compares what a real broker did with what Replog predicts: its disk after each pass, its readers.

The cleaner's clock cannot be seen. It is read off a delete horizon that a pass wrote, if it wrote
one, and must lie between the times at which the pass was made possible and seen to be over. Else
every reading of the clock in between that could make a difference is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.conformance.broker_clients import Read
from tests.conformance.broker_run import RETENTION_MS, BrokerPass, BrokerRun
from tests.conformance.compare import Json, first_unequal, normal_step, replog_answer, shown
from tests.conformance.features import features_of, written_batches
from tests.conformance.raw_log import RawLog


@dataclass(frozen=True, slots=True)
class PassRow:
    """One pass in the report's table.

    Attributes:
        number: Counted from 1.
        bound: The checkpoint it ended at.
        batches: Batches before and after, those of the active segment included.
        records: Records likewise, markers included.
        tombstones: Tombstones likewise.
        markers: Markers with their record likewise.
        empty: Empty batches afterwards.
        horizons: Batches with a delete horizon afterwards.
        clock: How the time of the pass is known: `read off a horizon` that it wrote; `tried`, where
            a horizon lies inside the time it may have begun; else it `does not matter`.
    """

    number: int
    bound: int
    batches: tuple[int, int]
    records: tuple[int, int]
    tombstones: tuple[int, int]
    markers: tuple[int, int]
    empty: int
    horizons: int
    clock: str


@dataclass(frozen=True, slots=True)
class BrokerResult:
    """What the comparison with a broker found.

    Attributes:
        rows: One for each pass that agrees.
        reads: Records each kind of consumer read, with the end it was told, by isolation level.
        features: What happened in the passes.
        difference: The first difference in one sentence; None = all agree.
        document: The log file of the run, with the clock's times filled in.
    """

    rows: tuple[PassRow, ...]
    reads: dict[str, tuple[int, int]]
    features: frozenset[str]
    difference: str | None
    document: Json


def compare_broker_run(run: BrokerRun) -> BrokerResult:
    """Compare a run with what Replog answers to its log file."""
    document = {**run.document, "steps": [dict(step) for step in run.document["steps"]]}
    rows: list[PassRow] = []
    difference = None
    for number, passed in enumerate(run.passes, start=1):
        difference, clock = _compare_pass(document, passed)
        if difference is not None:
            difference = f"pass {number}: {difference}"
            break
        rows.append(_row(number, passed, document, clock))
    answer = replog_answer(document)
    if difference is None:
        difference = _compare_readers(run, document, answer)
    if difference is None and not run.held_up:
        difference = "the cleaner passed while a transaction was open in the segment it passed to"
    return BrokerResult(
        rows=tuple(rows),
        reads={
            "read_uncommitted": (len(run.uncommitted[0]), run.uncommitted[1]),
            "read_committed": (len(run.committed[0]), run.committed[1]),
        },
        features=features_of(document, answer),
        difference=difference,
        document=document,
    )


def _compare_pass(document: Json, passed: BrokerPass) -> tuple[str | None, str]:
    """The first difference after a pass, and how its clock is known; sets the step's `now_ms`."""
    written = _horizons_written(passed)
    if len(written) > 1:
        return f"the broker wrote different horizons in one pass: {sorted(written)}", ""
    if written:
        clock = "read off a horizon"
        times = [written.pop() - RETENTION_MS]
        if not passed.from_ms <= times[0] <= passed.to_ms:
            window = f"[{passed.from_ms}, {passed.to_ms}]"
            return f"a horizon speaks of a pass at {times[0]} ms, which is not in {window}", clock
    else:
        times = list(_times_that_matter(passed))
        clock = "does not matter" if len(times) == 1 else "tried"
    first = None
    for now_ms in times:
        document["steps"][passed.step]["now_ms"] = now_ms
        prefix = {**document, "steps": document["steps"][: passed.step + 1]}
        difference = _difference_after(
            passed, prefix["steps"][-1], replog_answer(prefix)["steps"][-1]
        )
        if difference is None:
            return None, clock
        first = first or difference
    return first, clock


def _horizons_written(passed: BrokerPass) -> set[int]:
    """Delete horizons that are on the disk after a pass and were not before."""
    before = {b["last_offset"]: b["delete_horizon_ms"] for b in passed.before.batches}
    return {
        batch["delete_horizon_ms"]
        for batch in passed.after.batches
        if batch["delete_horizon_ms"] is not None and before.get(batch["last_offset"]) is None
    }


def _times_that_matter(passed: BrokerPass) -> Iterator[int]:
    """The beginning of the window and every horizon inside it."""
    yield passed.from_ms
    horizons = {b["delete_horizon_ms"] for b in passed.before.batches} - {None}
    yield from sorted(at for at in horizons if passed.from_ms < at <= passed.to_ms)


def held_after(passed: BrokerPass, step: Json) -> Json:
    """What was seen after a pass, in the form in which answers are compared."""
    seen = {
        "batches": passed.after.answered(),
        "log_end_offset": passed.after.end,
        "last_sequences": passed.last_sequences,
        "aborted_txns": list(passed.after.aborted),
        "next_dirty_offset": passed.reached,
    }
    normal = normal_step(seen, step)
    return {name: normal[name] for name in seen}


def _difference_after(passed: BrokerPass, step: Json, answered: Json) -> str | None:
    ours, theirs = normal_step(answered, step), held_after(passed, step)
    for name in theirs:
        found = first_unequal(ours[name], theirs[name], name)
        if found is not None:
            path, mine, yours = found
            return f"{path}: Replog says {shown(mine)}, the broker has {shown(yours)}"
    return None


def _compare_readers(run: BrokerRun, document: Json, answer: Json) -> str | None:
    """The first difference between what consumers read and what is predicted."""
    predicted = list(_predicted(document, answer))
    end = answer["steps"][-1]["log_end_offset"]
    stable = _last_stable_offset(document, end)
    aborted = answer["steps"][-1]["aborted_txns"]
    uncommitted = [read for read, _ in predicted]
    committed = [
        read
        for read, batch in predicted
        if read.offset < stable and not _is_aborted(read.offset, batch, aborted)
    ]
    return _compare_reader("read_uncommitted", (uncommitted, end), run.uncommitted) or (
        _compare_reader("read_committed", (committed, stable), run.committed)
    )


def _compare_reader(
    isolation: str, predicted: tuple[Sequence[Read], int], read: tuple[Sequence[Read], int]
) -> str | None:
    if predicted[1] != read[1]:
        return f"{isolation}: Replog says it ends at {predicted[1]}, the broker says {read[1]}"
    for number in range(max(len(predicted[0]), len(read[0]))):
        mine = predicted[0][number] if number < len(predicted[0]) else "no more records"
        theirs = read[0][number] if number < len(read[0]) else "no more records"
        if mine != theirs:
            return f"{isolation}: record {number}: Replog says {mine}, the consumer gets {theirs}"
    return None


def _predicted(document: Json, answer: Json) -> Iterator[tuple[Read, Json]]:
    """The data records that are left, as a consumer gets them, with the batch that wrote each."""
    written = {
        record["offset"]: (record, batch)
        for batch in written_batches(document)
        for record in batch["records"]
    }
    for offset in answer["steps"][-1]["surviving_offsets"]:
        record, batch = written[offset]
        if batch["control"] is None:
            time = record["timestamp_ms"]
            yield Read(offset, record["key"], record["value"], time), batch


def _is_aborted(offset: int, batch: Json, aborted: Sequence[Json]) -> bool:
    return batch["transactional"] and any(
        entry["producer_id"] == batch["producer_id"]
        and entry["first_offset"] <= offset <= entry["last_offset"]
        for entry in aborted
    )


def _last_stable_offset(document: Json, end: int) -> int:
    """First offset of a transaction that is still open, else the log end offset."""
    first: dict[int, int] = {}
    for batch in written_batches(document):
        if batch["control"]:
            first.pop(batch["producer_id"], None)
        elif batch["transactional"]:
            first.setdefault(batch["producer_id"], batch["base_offset"])
    return min(first.values(), default=end)


def _row(number: int, passed: BrokerPass, document: Json, clock: str) -> PassRow:
    before, after = passed.before, passed.after
    return PassRow(
        number=number,
        bound=passed.reached,
        batches=(len(before.batches), len(after.batches)),
        records=(_records(before), _records(after)),
        tombstones=(_tombstones(before), _tombstones(after)),
        markers=(_markers(before), _markers(after)),
        empty=sum(1 for batch in after.batches if not batch["records"]),
        horizons=sum(1 for batch in after.batches if batch["delete_horizon_ms"] is not None),
        clock=clock,
    )


def _records(log: RawLog) -> int:
    return sum(len(batch["records"]) for batch in log.batches)


def _tombstones(log: RawLog) -> int:
    return sum(
        1
        for batch in log.batches
        for record in batch["records"]
        if batch["control"] is None and record["value"] is None
    )


def _markers(log: RawLog) -> int:
    return sum(1 for batch in log.batches if batch["control"] and batch["records"])
