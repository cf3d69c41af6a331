"""Mistaken files and legal commands: what was once found, and a few new ones of every kind."""

import json
from pathlib import Path

import pytest

from tests.fuzz.case import from_json
from tests.fuzz.legal import legal
from tests.fuzz.running import judged
from tests.fuzz.search import mistaken, tried

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*/*.json"))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_what_was_found_is_mended(path: Path) -> None:
    expected = json.loads(path.read_text())

    answer, found = judged(from_json(path.read_text()))

    said = answer.err.decode() + answer.out.decode()
    assert found == []
    assert answer.status in expected["status"]
    assert [words for words in expected["says"] if words not in said] == []


def test_a_few_mistakes_for_every_reader() -> None:
    found = {name: tried(name, cases, number=1, examples=4) for name, cases in mistaken().items()}

    assert {name: faults for name, faults in found.items() if faults} == {}


def test_legal_commands_end_as_documented() -> None:
    assert tried("legal commands", legal(), number=1, examples=60) == []
