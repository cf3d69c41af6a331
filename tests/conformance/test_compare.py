"""The comparison finds any difference, names its place, and ignores what only one side can know."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.compare import (
    Json,
    both_answers,
    difference_between,
    first_unequal,
    replog_answer,
)
from tests.conformance.recordings import (
    Collection,
    Judged,
    read_recordings,
    write_file,
    write_recordings,
)
from tests.logfile.writer import Writer


def log() -> Json:
    """Aborted and committed data, a tombstone, a record without a key, and a retry."""
    written = Writer({"preset": "kafka-4.0"})
    written.data("a=v", "b", producer=1, transactional=False)
    written.data("a=v", producer=3)
    written.abort(3)
    written.data("=v")
    written.data("c=v", producer=4)
    written.commit(4)
    written.roll()
    written.data("a=v")
    written.clean(now=1_000, bound=7)
    batch = {"producer_id": 4, "producer_epoch": 0, "base_sequence": 0, "keys": ["c"]}
    written.step("produce_duplicate", **batch)
    return written.document()


LOG = log()
OURS = replog_answer(LOG)


def leaves(value: Any, path: str) -> Iterator[tuple[Any, Any, str]]:
    """Each place in an answer that holds no object, with its path."""
    for name in value if isinstance(value, dict) else range(len(value)):
        below = f"{path}.{name}" if isinstance(value, dict) else f"{path}[{name}]"
        inner = value[name]
        is_whole = isinstance(inner, list) and not any(isinstance(each, dict) for each in inner)
        if not isinstance(inner, (dict, list)) or is_whole:
            yield value, name, below
        elif name != "removed":  # the reasons, which Kafka does not give
            yield from leaves(inner, below)


def test_every_value_that_differs_is_told_with_its_place() -> None:
    untold = []
    theirs = copy.deepcopy(OURS)
    for holder, name, path in list(leaves(theirs["steps"], "steps")):
        before, holder[name] = holder[name], "other"
        told = difference_between(LOG, OURS, theirs)
        holder[name] = before
        if told is None or not told.startswith(f"{path}: Replog says "):
            untold.append(path)

    assert untold == []


def test_true_is_not_one() -> None:
    assert first_unequal(True, 1, "path") == "path: Replog says true, Kafka says 1"


def test_what_only_one_side_can_know_is_no_difference() -> None:
    theirs = copy.deepcopy(OURS)
    theirs["steps"][0].pop("removed")
    assert difference_between(LOG, OURS, theirs) is None

    markers = [copy.deepcopy(OURS), copy.deepcopy(OURS)]
    for answer, kind in zip(markers, ("ABORT", "COMMIT"), strict=True):
        answer["steps"][0]["batches"][2].update(record_offsets=[], control=kind)
    assert difference_between(LOG, *markers) is None


@pytest.mark.parametrize(
    ("missing", "path"),
    [
        (["batches", 0], "steps[0].batches[0].base_offset: Replog says 0, Kafka says 2"),
        (["batches", 5], "steps[0].batches[5]: Replog says "),
        (["last_sequences", "4"], "steps[0].last_sequences.4: Replog says 0, Kafka says there is"),
    ],
)
def test_what_one_side_does_not_have_is_a_difference(missing: list[Any], path: str) -> None:
    theirs = copy.deepcopy(OURS)
    part, which = missing
    del theirs["steps"][0][part][which]

    assert str(difference_between(LOG, OURS, theirs)).startswith(path)


def test_a_side_with_fewer_steps_or_without_an_answer_differs() -> None:
    def refuse(log: Json) -> Json:
        raise ValueError("no such thing")

    one_step = {"steps": OURS["steps"][:1]}
    assert difference_between(LOG, OURS, one_step) == "steps: Replog answers 2 of them, Kafka 1"
    *_, refused = both_answers(LOG, kafka=refuse)
    assert refused == "Kafka gives no answer: ValueError: no such thing"


def test_a_recording_is_read_as_it_was_answered(tmp_path: Path) -> None:
    write_recordings([Judged(LOG, OURS, frozenset({"it"}))], version="4.3.1", folder=tmp_path)
    ((name, recording),) = read_recordings(tmp_path)

    assert name == "kafka-4.3.1.jsonl:1"
    assert replog_answer(recording["log"]) == OURS
    assert difference_between(recording["log"], OURS, recording["answer"]) is None

    path = write_file(tmp_path / "file.json", LOG)
    assert json.loads(path.read_text()) == LOG
    assert max(map(len, path.read_text().splitlines())) < 200


def test_recorded_are_the_smallest_log_of_each_kind() -> None:
    kept = Collection(of_each_kind=1)
    small, large, other, bare = (
        Judged({"log": "x" * size}, {}, frozenset(features))
        for size, features in ((1, "a"), (9, "a"), (5, "ab"), (0, ""))
    )
    for case in (large, small, other, bare):
        kept.add(case)

    assert kept.chosen(10) == [small, other]
    assert kept.chosen(1) == [small]
