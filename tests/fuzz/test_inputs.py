"""Absurd inputs: what was once found, each with its answer, and a few new ones of every reader.

`make fuzz` searches for an hour; what it finds, once mended, is kept in `corpus/`, by the class of
what was wrong.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz.case import SWEEP, from_json
from tests.fuzz.folders import SWEEPING
from tests.fuzz.hunting import hunt
from tests.fuzz.readers import cases
from tests.fuzz.running import Runner

CORPUS = Path(__file__).parent / "corpus"
EXAMPLES = 3
SLOW_MACHINE_SECONDS = 60.0


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(SLOW_MACHINE_SECONDS, fully=False) as one:
        yield one


def test_what_was_found_is_mended(runner: Runner, subtests: pytest.Subtests) -> None:
    paths = sorted(CORPUS.glob("*/*.json"))
    assert paths
    for path in paths:
        with subtests.test(path.relative_to(CORPUS).as_posix()):
            expected = json.loads(path.read_text())
            case = from_json(path.read_text())
            if case.start == SWEEP:
                runner.prepare(SWEEP, SWEEPING)

            answer, found = runner.answer(case)

            said = answer.err.decode() + answer.out.decode()
            assert found == []
            assert answer.status in expected["status"]
            assert [words for words in expected["says"] if words not in said] == []


def test_a_few_new_ones_of_every_reader(runner: Runner, subtests: pytest.Subtests) -> None:
    for reader, strategy in cases(runner).items():
        with subtests.test(reader):
            result = hunt(runner, reader, strategy, number=1, examples=EXAMPLES)

            assert [found.fault for found in result.findings.values()] == []
            assert result.tried == EXAMPLES
