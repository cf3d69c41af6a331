"""What stops a pass of Kafka's, where a log of 2.8's ends after a cut, what no segment holds."""

from typing import Any

import pytest

from sim.errors import BadInput
from sim.simulate.logfile.answer import answer
from sim.simulate.logfile.file import log_file_from
from tests.logfile.writer import Json
from tests.logfile.writer import batch as written_batch


def batch(first: int, *keys: str, **fields: Any) -> Json:
    """A batch with a value for each key, and a delete for a key in capitals."""
    words = [key.lower() if key.isupper() else f"{key}=v" for key in keys]
    return written_batch(first, *words, **fields)


def log(*segments: list[Json], rules: Json | None = None) -> Json:
    bound = segments[-1][0]["base_offset"]
    clean = {"op": "clean", "now_ms": 1000, "first_dirty_offset": 0, "upper_bound": bound}
    made: Json = {"format": "replog-log/1", "segments": [*segments], "steps": [clean]}
    return made | {"rules": rules or {}}


NO_SEQUENCE = {"producer_id": 7, "producer_epoch": 0, "base_sequence": -1}
SEQUENCE = NO_SEQUENCE | {"base_sequence": 0}


@pytest.mark.parametrize("preset", ["kafka-4.0", "kafka-3.8", "kafka-2.8"])
def test_a_batch_without_a_sequence_stops_the_pass_that_would_write_it_anew(preset: str) -> None:
    rewritten = [batch(0, "a", "b", **NO_SEQUENCE), batch(2, "a")]
    document = log(rewritten, [batch(3, "z")], rules={"preset": preset})
    stopped = answer(document)["steps"][0]

    assert stopped["failed_at"] == 0
    assert "negative sequence number" in stopped["failure"]
    assert (stopped["surviving_offsets"], stopped["removed"]) == ([0, 1, 2, 3], {})
    document["segments"][0][0] |= SEQUENCE
    assert answer(document)["steps"][0]["surviving_offsets"] == [1, 2, 3]


def test_a_tombstone_without_a_sequence_cannot_get_its_horizon() -> None:
    document = log([batch(0, "A", **NO_SEQUENCE)], [batch(1, "z")])

    assert answer(document)["steps"][0]["failed_at"] == 0


def test_a_marker_has_no_sequence_but_needs_an_epoch() -> None:
    def stamped(epoch: int) -> Json:
        marker = {
            "base_offset": 0,
            "last_offset": 0,
            "producer_id": 7,
            "producer_epoch": epoch,
            "transactional": True,
            "control": "COMMIT",
            "records": [{"offset": 0, "marker": "COMMIT"}],
        }
        found: Json = answer(log([marker], [batch(1, "z")]))["steps"][0]
        return found

    assert stamped(0)["batches"][0]["delete_horizon_ms"] == 86_401_000
    assert "negative producer epoch" in stamped(-1)["failure"]


@pytest.mark.parametrize(
    "covered",
    [
        [batch(0, "a", "b", **NO_SEQUENCE)],
        [batch(0, "a", **NO_SEQUENCE), batch(1, "a")],
        [batch(0, "a", **NO_SEQUENCE), batch(1, "a", **NO_SEQUENCE), batch(2, "a")],
    ],
    ids=["all of it stays", "all of it goes", "only its header stays"],
)
def test_a_batch_without_a_sequence_that_is_not_written_anew_stops_nothing(
    covered: list[Json],
) -> None:
    last = covered[-1]["last_offset"]

    assert "failure" not in answer(log(covered, [batch(last + 1, "z")]))["steps"][0]


def cut_in_a_batch(preset: str, *steps: Json) -> Json:
    """The second call of a cleaner wrote one batch, whose last record that stays is below the cut.

    By 2.8's rules its index entry has that record's offset, so a cut in the middle leaves it.
    """
    first, second = [batch(0, "a", "b")], [batch(2, "c", "d", "e", "e")]
    rules = {"preset": preset, "index_interval_bytes": 1}
    document = log(first, second, [batch(6, "e")], [batch(7, "z")], rules=rules)
    document["steps"][0]["upper_bound"] = 7
    document["steps"] += [{"op": "truncate", "offset": 5}, *steps]
    return document


RELOAD: Json = {"op": "reload"}
APPEND: Json = {"op": "append", "batches": [batch(5, "y")]}


@pytest.mark.parametrize(
    ("preset", "steps", "end"),
    [
        ("kafka-2.8", [], 5),
        ("kafka-2.8", [RELOAD], 0),
        ("kafka-2.8", [RELOAD, RELOAD], 0),
        ("kafka-2.8", [APPEND, RELOAD], 6),
        ("kafka-4.0", [RELOAD], 2),
    ],
)
def test_after_a_cut_in_a_batch_and_a_reload_the_log_ends_where_an_entry_dangles(
    preset: str, steps: list[Json], end: int
) -> None:
    last = answer(cut_in_a_batch(preset, *steps))["steps"][-1]

    assert last["log_end_offset"] == end
    assert last["surviving_offsets"][:2] == [0, 1]


def test_nothing_is_appended_below_what_is_there() -> None:
    refused = r"^steps\[3\].batches: the log ends at 0, below what its active segment holds"
    with pytest.raises(BadInput, match=refused):
        answer(cut_in_a_batch("kafka-2.8", RELOAD, {"op": "append", "batches": [batch(0, "y")]}))


@pytest.mark.parametrize("as_object", [True, False])
def test_a_segment_reaches_2_147_483_647_offsets_behind_its_base(as_object: bool) -> None:
    def spanning(offsets: int) -> Json:
        batches = [batch(5, "a"), batch(5 + offsets, "b")]
        segment = {"base_offset": 5, "batches": batches} if as_object else batches
        return {"format": "replog-log/1", "segments": [segment, []], "steps": []}

    assert log_file_from(spanning(2**31 - 1))
    with pytest.raises(BadInput, match=r"^segments\[0\]: ends 2147483648 offsets behind its base"):
        log_file_from(spanning(2**31))
