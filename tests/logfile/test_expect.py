"""What a log file expects, and what is said when it is not so."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from sim.errors import BadInput
from sim.files.document import Document
from sim.files.yaml_text import parse_yaml
from sim.simulate.logfile.answer import answer
from sim.simulate.logfile.expect import checked
from tests.conformance.random_logs import documents
from tests.logfile.many_logs import asked, differences, document, log
from tests.logfile.writer import Json, Writer

_FILE = Path(__file__).with_name("expectations.yaml")
SAID = parse_yaml(_FILE.read_text(encoding="utf-8"), str(_FILE)).data


def cleaned(*expected: Json) -> list[str]:
    """The differences between these expectations and a pass over `a=1, b=1, a=2, c, unkeyed`."""
    written = Writer({"preset": "kafka-3.8"})
    written.singles("a=1", "b=1", "a=2", "c")
    written.roll()
    written.data("=x", "d=")
    written.clean(bound=4)
    written.step("reload")
    return differences(Document("", written.document(expect=list(expected))))


@pytest.mark.parametrize("claims", SAID["met"])
def test_an_expectation_is_a_subset_of_the_answer(claims: Json) -> None:
    assert cleaned(claims, {}) == []


@pytest.mark.parametrize(("claims", "difference"), SAID["differs"])
def test_a_difference_names_the_place_and_both_sides(claims: Json, difference: str) -> None:
    found = cleaned(claims, {})

    assert found[0].startswith(difference)


def test_all_differences_are_told() -> None:
    claims = {"surviving_keys": [], "log_end_offset": 9, "removed": {"0": "aborted", "1": "no key"}}

    assert len(cleaned(claims, {"log_end_offset": 7})) == 5


@pytest.mark.parametrize(("expected", "said"), SAID["refused"])
def test_an_expectation_that_no_answer_can_meet_is_bad_input(expected: Any, said: str) -> None:
    written = Writer()
    written.singles("a=1", "b=1", "a=2", "c")
    written.roll()
    written.clean(now=5)
    written.step("reload")

    with pytest.raises(BadInput) as raised:
        differences(Document("", written.document(expect=expected)))

    assert str(raised.value).startswith(said)


def test_a_choice_of_logs_may_have_an_expectation_too() -> None:
    logs = {"a": log(0, 5, end=5), "b": log(0, 5, end=5, in_progress=True)}
    expected = {"selected": "b", "logs": {"a": {"eligible": True}, "b": {"clean_bytes": 1}}}

    assert asked(**logs)["selected"] == "a"
    assert differences(Document("", document(**logs) | {"expect": expected})) == [
        'selected is "a", expected "b"',
        "logs.b.clean_bytes is 0, expected 1",
    ]
    assert differences(Document("", document(**logs))) == []


def test_a_file_says_who_it_is_and_what_answers_it(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    path.write_text(json.dumps(document() | {"id": "c1", "title": "none at all"}))

    found = checked(path)

    assert (found.id, found.title, found.command) == ("c1", "none at all", "replog eligible")
    assert found.differences == ()


@settings(max_examples=60)
@given(documents())
def test_every_removal_is_explained_and_nothing_else_goes(random_log: Json) -> None:
    before: list[int] = [
        record["offset"]
        for segment in random_log["segments"]
        for batch in (segment["batches"] if isinstance(segment, dict) else segment)
        for record in batch["records"]
    ]
    for step, told in zip(random_log["steps"], answer(random_log)["steps"], strict=True):
        if step["op"] == "append":
            before += [r["offset"] for batch in step["batches"] for r in batch["records"]]
        removed = [int(offset) for offset in told.get("removed", {})]
        if step["op"] in {"truncate", "truncate_fully", "delete_old_segments", "reload"}:
            assert set(told["surviving_offsets"]) <= set(before)  # whole ends of the log go
            before = told["surviving_offsets"]
        assert sorted(told["surviving_offsets"] + removed) == before
        assert json.loads(json.dumps(told)) == told
        before = told["surviving_offsets"]
