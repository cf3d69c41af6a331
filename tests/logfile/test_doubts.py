"""A failing log file says what became of the records that it is wrong about."""

import json
from pathlib import Path
from typing import Any

import pytest

from sim.simulate.logfile.expect import checked
from sim.study.suite.cases import load_case
from sim.study.suite.reports import failure_lines

STILL = (
    "offset 1 is a tombstone of 'a'. Still here: its batch got the delete horizon 86401000 in step "
    "1; it goes with the first pass at or after that time: 86,400,000 ms after step 1; nothing was "
    "dirty below the upper bound 2 in step 2"
)
GONE = "offset 0 is a value of 'a'. Gone: step 1 removed it: superseded by 1."


def batch(offset: int, value: str | None) -> dict[str, Any]:
    record = {"offset": offset, "key": "a", "value": value, "timestamp_ms": 0, "headers": []}
    producer = {"producer_id": -1, "producer_epoch": -1, "base_sequence": -1}
    return {
        "base_offset": offset,
        "last_offset": offset,
        "epoch": 0,
        "transactional": False,
        "control": None,
        "timestamp_ms": 0,
        "delete_horizon_ms": None,
        "records": [record],
        **producer,
    }


def log_file(folder: Path, claims: dict[str, Any], *, of_first: bool = False) -> Path:
    """A value and its tombstone: one pass over both, and a second one with nothing dirty."""
    passes = [(1_000, 0), (99_999_999_999, 2)]
    document = {
        "format": "replog-log/1",
        "segments": [[batch(0, "1")], [batch(1, None)], []],
        "steps": [
            {"op": "clean", "now_ms": now_ms, "first_dirty_offset": first, "upper_bound": 2}
            for now_ms, first in passes
        ],
        "expect": [claims, {}] if of_first else [{}, claims],
    }
    path = folder / "log.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"surviving_offsets": []}, [STILL]),
        ({"surviving_offsets": [0, 1]}, [GONE]),
        ({"tombstone_offsets": []}, [STILL]),
        ({"surviving_keys": ["a"]}, [GONE, STILL]),
        ({"removed": {"1": "tombstone past its horizon"}}, [STILL]),
        ({"batches": []}, [STILL]),
        ({"batches": [{"record_offsets": [1], "delete_horizon_ms": 5}]}, [STILL]),
        ({"batches": [{"record_offsets": [1], "base_offset": 7}]}, []),
        ({"next_dirty_offset": 7}, []),
        ({"removed": [1], "batches": [5, {"record_offsets": 5}]}, [STILL]),
        ({"surviving_offsets": [[1]], "batches": 5}, [STILL]),
        ({"surviving_offsets": [1]}, []),
    ],
)
def test_the_records_in_doubt_are_explained(
    tmp_path: Path, claims: dict[str, Any], why: list[str]
) -> None:
    found = checked(log_file(tmp_path, claims)).why

    assert len(found) == len(why)
    assert all(said.startswith(start) for said, start in zip(found, why, strict=True))


@pytest.mark.parametrize(
    ("removed", "why"),
    [
        ({"0": "superseded by 7"}, [GONE]),
        ({"0": "superseded by 1", "1": "aborted"}, [STILL]),
        ({"0": "superseded by 1"}, []),
    ],
)
def test_a_removal_is_in_doubt_where_its_reason_is(
    tmp_path: Path, removed: dict[str, str], why: list[str]
) -> None:
    found = checked(log_file(tmp_path, {"removed": removed}, of_first=True)).why

    assert [said[:8] for said in found] == [said[:8] for said in why]


def test_a_key_that_should_have_gone_is_explained(tmp_path: Path) -> None:
    path = log_file(tmp_path, {"surviving_keys_must_not_include": ["a"]})
    path.write_text(path.read_text().replace('"value": null', '"value": "2"'))

    assert [said[:8] for said in checked(path).why] == ["offset 0", "offset 1"]


def test_a_suite_tells_it(tmp_path: Path) -> None:
    result = load_case(log_file(tmp_path, {"surviving_offsets": []})).run()

    lines = failure_lines(result)
    assert lines[0] == "steps[1].surviving_offsets is [1], expected []"
    assert lines[1].startswith(STILL)
    assert result.as_json()["why"] == list(result.why)
