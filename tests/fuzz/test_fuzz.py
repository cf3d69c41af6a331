"""Mistaken files and legal commands, a few of every kind."""

from tests.fuzz.legal import legal
from tests.fuzz.search import mistaken, tried


def test_a_few_mistakes_for_every_reader() -> None:
    found = {name: tried(name, cases, number=1, examples=3) for name, cases in mistaken().items()}

    assert {name: faults for name, faults in found.items() if faults} == {}


def test_legal_commands_end_as_documented() -> None:
    assert tried("legal commands", legal(), number=1, examples=20) == []
