"""A broker's disk and readers are compared with the prediction; every kind of difference shows."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.conformance.broker_clients import Read
from tests.conformance.broker_compare import compare_broker_run
from tests.conformance.broker_run import RETENTION_MS, BrokerPass, BrokerRun
from tests.conformance.compare import replog_answer
from tests.conformance.log_builder import Data, Entry, LogBuilder, Marker, Write
from tests.conformance.raw_log import RawLog, RawSegment

Json = dict[str, Any]

PASS_MS = 5_000
WRITES: tuple[Write, ...] = (
    Data((Entry("a", "old"), Entry("b", "only")), producer=1),
    Data((Entry("a", None),)),
    Data((Entry("c", "never"),), producer=3),
    Marker(3, commit=False),
)
ACTIVE: tuple[Write, ...] = (
    Data((Entry("d", "aborted"),), producer=4),
    Marker(4, commit=False),
    Data((Entry("e", "open"),), producer=3),
)


def batches(document: Json) -> tuple[list[Json], list[Json]]:
    closed, active = document["segments"]
    return closed["batches"], active["batches"]


def log_file() -> Json:
    builder = LogBuilder(0, (0,))
    closed = [builder.write(write) for write in WRITES]
    base = builder.end
    active = [builder.write(write) for write in ACTIVE]
    step = {"op": "clean", "now_ms": 4_990, "first_dirty_offset": 0, "upper_bound": base}
    return {
        "format": "replog-log/1",
        "rules": {"preset": "kafka-4.0", "delete_retention_ms": RETENTION_MS},
        "segments": [
            {"base_offset": 0, "batches": closed},
            {"base_offset": base, "batches": active},
        ],
        "steps": [step],
    }


def on_disk(base: int, batches: list[Json]) -> RawSegment:
    """A segment of the broker's, with the sizes that Replog gives these batches."""
    document = {"format": "replog-log/1", "segments": [batches, []], "steps": [{"op": "reload"}]}
    (answer,) = replog_answer(document)["steps"] if batches else [{"batches": []}]
    sizes = tuple(batch["size_bytes"] for batch in answer["batches"])
    return RawSegment(base, tuple(batches), sizes)


def raw(document: Json, *, cleaned: bool) -> RawLog:
    """The disk, with what a pass at `PASS_MS` leaves of the first segment if it is `cleaned`."""
    closed, active = batches(document)
    if cleaned:
        first, tombstone, aborted, marker = closed
        closed = [
            {**first, "records": first["records"][1:]},
            {**tombstone, "delete_horizon_ms": PASS_MS + RETENTION_MS},
            marker,
        ]
        assert aborted["producer_id"] == 3  # its producer wrote again, in the active segment
    entries = [(3, 3, 4, 5), (4, 5, 6, 7)]
    names = ("producer_id", "first_offset", "last_offset", "last_stable_offset")
    return RawLog(
        (on_disk(0, closed), on_disk(5, active)),
        tuple(dict(zip(names, entry, strict=True)) for entry in entries),
    )


@pytest.fixture
def run() -> BrokerRun:
    document = log_file()
    passed = BrokerPass(
        step=0,
        from_ms=4_990,
        to_ms=5_010,
        before=raw(document, cleaned=False),
        after=raw(document, cleaned=True),
        last_sequences={1: 1, 3: 1, 4: 0},
        reached=5,
    )
    b, tombstone = Read(1, "b", "only", 0), Read(2, "a", None, 0)
    aborted, undecided = Read(5, "d", "aborted", 0), Read(7, "e", "open", 0)
    return BrokerRun(
        document=document,
        passes=(passed,),
        uncommitted=([b, tombstone, aborted, undecided], 8),
        committed=([b, tombstone], 7),
        held_up=True,
    )


def difference(run: BrokerRun) -> str | None:
    return compare_broker_run(run, replog_answer).difference


def changed_disk(run: BrokerRun, change: Callable[[list[Json]], object]) -> BrokerRun:
    """The run with other batches on the disk after the pass."""
    (passed,) = run.passes
    first, active = passed.after.segments
    left = [dict(batch) for batch in first.batches]
    change(left)
    after = replace(passed.after, segments=(on_disk(0, left), active))
    return replace(run, passes=(replace(passed, after=after),))


def test_a_broker_that_does_as_predicted_agrees(run: BrokerRun) -> None:
    result = compare_broker_run(run, replog_answer)

    assert result.difference is None
    assert result.reads == {"read_uncommitted": (4, 8), "read_committed": (2, 7)}
    (row,) = result.rows
    assert (row.batches, row.records, row.tombstones, row.markers) == (
        (7, 6),
        (8, 6),
        (1, 1),
        (2, 2),
    )
    assert "aborted data dropped" in result.features


def test_the_clock_of_a_pass_is_read_off_the_horizon_it_wrote(run: BrokerRun) -> None:
    result = compare_broker_run(run, replog_answer)

    assert result.document["steps"][0]["now_ms"] == PASS_MS
    assert result.rows[0].clock == "read off a horizon"
    assert run.document["steps"][0]["now_ms"] == 4_990


def test_a_horizon_outside_the_time_of_the_pass_differs(run: BrokerRun) -> None:
    (passed,) = run.passes
    late = replace(run, passes=(replace(passed, from_ms=5_001),))

    found = difference(late)

    assert found == "pass 1: a horizon speaks of a pass at 5000 ms, which is not in [5001, 5010]"


def test_two_horizons_of_one_pass_differ(run: BrokerRun) -> None:
    found = difference(changed_disk(run, lambda left: left[2].update(delete_horizon_ms=7)))

    assert found is not None
    assert "different horizons in one pass: [7, 11000]" in found


def test_a_record_that_is_still_on_the_disk_differs(run: BrokerRun) -> None:
    whole = batches(run.document)[0][0]

    found = difference(changed_disk(run, lambda left: left[0].update(whole)))

    assert found is not None
    assert found.startswith(
        "pass 1: batches[0].record_offsets: Replog says [1], the broker has [0,"
    )


def test_a_batch_that_is_gone_from_the_disk_differs(run: BrokerRun) -> None:
    found = difference(changed_disk(run, lambda left: left.pop(2) and None))

    assert found is not None
    assert found.startswith("pass 1: batches[2]")


def test_another_last_sequence_differs(run: BrokerRun) -> None:
    (passed,) = run.passes
    other = replace(run, passes=(replace(passed, last_sequences={1: 1, 3: 1, 4: 5}),))

    found = difference(other)

    assert found == "pass 1: last_sequences.4: Replog says 0, the broker has 5"


def test_another_index_of_aborted_transactions_differs(run: BrokerRun) -> None:
    (passed,) = run.passes
    after = replace(passed.after, aborted=passed.after.aborted[1:])

    found = difference(replace(run, passes=(replace(passed, after=after),)))

    assert found is not None
    assert found.startswith("pass 1: aborted_txns")


def test_a_consumer_that_gets_another_record_differs(run: BrokerRun) -> None:
    reads, end = run.uncommitted

    found = difference(replace(run, uncommitted=(reads[1:], end)))

    assert found is not None
    assert found.startswith("read_uncommitted: record 0: Replog says Read(offset=1")


def test_a_consumer_of_committed_records_that_gets_an_aborted_one_differs(run: BrokerRun) -> None:
    found = difference(replace(run, committed=(run.uncommitted[0][:3], 7)))

    assert found is not None
    assert found.startswith("read_committed: record 2: Replog says no more records")


def test_a_consumer_that_is_told_another_end_differs(run: BrokerRun) -> None:
    found = difference(replace(run, committed=(run.committed[0], 8)))

    assert found == "read_committed: Replog says it ends at 7, the broker says 8"


def test_a_cleaner_that_an_open_transaction_did_not_hold_up_differs(run: BrokerRun) -> None:
    found = difference(replace(run, held_up=False))

    assert found is not None
    assert "while a transaction was open" in found


def test_without_a_new_horizon_any_time_of_the_pass_may_explain_it(run: BrokerRun) -> None:
    """The tombstone's horizon, from an earlier pass, lies inside the time of this one."""
    document = run.document
    batches(document)[0][1]["delete_horizon_ms"] = PASS_MS
    (passed,) = run.passes

    def expire(left: list[Json]) -> None:
        del left[1]

    before = raw(document, cleaned=False)
    gone = changed_disk(replace(run, passes=(replace(passed, before=before),)), expire)
    reads, end = run.uncommitted
    without = [read for read in reads if read.key != "a"]
    committed = [read for read in run.committed[0] if read.key != "a"]
    result = compare_broker_run(
        replace(gone, uncommitted=(without, end), committed=(committed, 7)), replog_answer
    )

    assert result.difference is None
    assert result.rows[0].clock == "tried"
    assert result.document["steps"][0]["now_ms"] == PASS_MS


def test_a_log_ends_at_an_empty_active_segment() -> None:
    assert RawLog((on_disk(0, []), on_disk(9, [])), ()).end == 9
