"""Files that are no log files, and how a complaint names the file, the path and the line."""

import json
from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.simulate.logfile.file import log_file_from, log_file_in, read_log_document
from sim.simulate.logfile.run import log_of
from tests.logfile.writer import Writer


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "case.json: expected fields, not []"),
        ("7", "case.json: expected fields, not 7"),
        (
            '{"format": "replog-log/1", "steps": [], "steps": []}',
            "case.json:1: steps: given twice, first in line 1",
        ),
        (
            '{"format": "replog-log/1", "segments": [[]], "steps": [{"op": "roll", "op": "roll"}]}',
            "case.json:1: steps[0].op: given twice",
        ),
        (
            '{"format": "replog-log/1", "segments": [[]], "steps": [{"op": NaN}]}',
            "case.json:1: is not JSON: NaN is no number",
        ),
        (
            '{"format": "replog-log/1", "segments": [[]], "steps": [], "a\\nb": 1}',
            'case.json: "a\\nb": unknown field',
        ),
    ],
)
def test_a_file_that_cannot_be_read_as_a_log_file_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("case.json").write_bytes(text.encode())

    with pytest.raises(BadInput) as raised:
        log_file_in(read_log_document(Path("case.json")))

    assert str(raised.value).startswith(said)
    assert "\n" not in str(raised.value)


def test_the_file_is_named_with_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = Writer()
    log.singles("a=1")
    log.roll()
    log.data("a=1", "b=1", "c=1", "d=1", "e=1", "f=1", "g=1", "h=1", "i=1", "j=1")
    log.segments[1]["batches"][0]["records"][2:] = [{"offset": 9}, {"offset": 7}]
    document = log.document()
    document["segments"] = [segment["batches"] for segment in log.segments]
    Path("case.json").write_text(json.dumps(document))

    with pytest.raises(BadInput) as raised:
        log_file_in(read_log_document(Path("case.json")))

    assert (
        str(raised.value)
        == "case.json: segments[1][0].records[3].offset: 7 is not above 9 (line 1)"
    )


def test_the_index_of_the_active_segment_counts_from_the_log_end() -> None:
    """What is appended to a segment that was opened counts alone (OffsetIndex, LogSegment)."""
    log = Writer()
    log.singles("k=1", "k=2")

    assert log_of(log_file_from(log.document())).active.index.restarts == [2]
