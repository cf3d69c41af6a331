"""Deltas: what each record does to the state, and that snapshots keep it where cleaners do not."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sim.protocol.compaction import TOMBSTONE_MARKS
from sim.protocol.compaction.fold import apply_delta, fold_deltas
from sim.protocol.log import Control, Record, control_batch, data_batch
from sim.protocol.log.record import Batch
from sim.protocol.replication import Replica
from sim.protocol.replication.snapshots import delete_prefix, take_snapshot
from sim.protocol.rules import Rules

NULL = TOMBSTONE_MARKS["null_value"]
DELTAS = Rules.of(commit="isr", state_machine="deltas")


LONG = "1" + "0" * 4_300
"""More digits than Python reads or writes."""
KEYS = ("b1/x", "b1/y", "b2/x", "b1/*", "b*", "*")
WRITES = st.lists(
    st.tuples(st.sampled_from(KEYS), st.sampled_from(["+1", "-3", "-10", "5", "x", "", None])),
    max_size=25,
)


def test_a_change_of_too_many_digits_is_a_value_and_a_sum_of_too_many_counts_from_0() -> None:
    state: dict[str, Record] = {}
    values = ["+" + LONG, "-1", LONG, "+2", "9" * 4_000, "+1", "+7"]
    found = []
    for offset, value in enumerate(values):
        apply_delta(state, Record(offset, "k", value), deleted=False)
        found.append(state["k"].value)

    assert found == ["+" + LONG, "-1", LONG, "2", "9" * 4_000, "1" + "0" * 4_000, "7"]


@given(WRITES)
def test_changes_add_up_other_values_replace_and_a_delete_takes_all_that_begins_like_it(
    writes: list[tuple[str, str | None]],
) -> None:
    state: dict[str, Record] = {}
    expected: dict[str, int | str] = {}
    for offset, (key, value) in enumerate(writes):
        apply_delta(state, Record(offset, key, value), deleted=value is None)
        before = expected.get(key, 0)
        if value is None:
            begin = key[:-1] if key.endswith("*") else None
            for other in [*expected]:
                if other == key or (begin is not None and other.startswith(begin)):
                    del expected[other]
        elif value[:1] in ("+", "-"):
            expected[key] = (before if isinstance(before, int) else 0) + int(value)
        else:
            expected[key] = int(value) if value.isdigit() else value

    assert {key: record.value for key, record in state.items()} == {
        key: str(value) for key, value in expected.items()
    }


def batch(offset: int, key: str, value: str | None, **more: Any) -> Batch:
    return data_batch((Record(offset, key, value, 0, uid=offset + 1),), epoch=1, **more)


def test_deltas_of_aborted_and_open_transactions_do_not_count() -> None:
    batches = [
        batch(0, "a", "+1"),
        batch(1, "a", "+10", producer_id=7, transactional=True),
        control_batch(2, epoch=1, control=Control.ABORT, timestamp_ms=0, producer_id=7),
        batch(3, "a", "+100", producer_id=7, transactional=True),
        control_batch(4, epoch=1, control=Control.COMMIT, timestamp_ms=0, producer_id=7),
        batch(5, "a", "+1000", producer_id=7, transactional=True),
    ]

    def value(below: int) -> str | None:
        return fold_deltas(batches, below=below, is_tombstone=NULL)["a"].value

    assert [value(below) for below in (1, 3, 4, 5, 6)] == ["1", "1", "1", "101", "101"]


@given(WRITES, st.data())
def test_a_snapshot_and_the_log_after_it_come_to_what_the_whole_log_does(
    writes: list[tuple[str, str | None]], data: st.DataObject
) -> None:
    replica = Replica("r1")
    for offset, (key, value) in enumerate(writes):
        replica.log.append(batch(offset, key, value), now_ms=0)
    whole = fold_deltas(replica.log.batches(), below=len(writes), is_tombstone=NULL)
    ends = st.sets(st.integers(1, len(writes)), max_size=3) if writes else st.just(set[int]())
    for end in sorted(data.draw(ends)):
        take_snapshot(replica, end, rules=DELTAS)
        delete_prefix(replica, end)
    base = replica.base_snapshot()
    after = fold_deltas(
        replica.log.batches(),
        below=len(writes),
        is_tombstone=NULL,
        base=() if base is None else base.records,
    )

    assert {k: r.value for k, r in after.items()} == {k: r.value for k, r in whole.items()}
