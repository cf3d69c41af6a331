"""The oracle: committed history, lineage, holes and their reasons, offsets committed twice."""

import pytest

from sim.check import Checker
from tests.check.text import Case, cases_of, shown


def answer(checker: Checker, question: str) -> object:
    """What `r1.slots`, `r1.missing` (the first committed offset) or `history.name(uid)` is."""
    of, _, name = question.partition(".")
    history = checker.history
    asked, _, uid = name.partition("(")
    if asked == "missing":
        return history.first_missing(history.replicas[of], 9, twice_counts=True)
    found = getattr(history if of == "history" else history.replicas[of], asked)
    return found(int(uid[:-1])) if uid else found


@pytest.mark.parametrize("case", cases_of("cases/history.txt"))
def test_what_the_history_knows_after_events(case: Case) -> None:
    checker = case.checked()

    assert case.notes["is"]
    for question, expected in case.notes["is"]:
        assert shown(answer(checker, question)) == expected, question


def test_a_sentence_names_a_record_by_key_value_and_offset() -> None:
    [case] = cases_of("cases/records.txt")
    describe = case.checked().history.describe

    assert [str(describe(uid)) for uid in (100, 101, 102, 0)] == [
        "k=old (offset 0)",
        "tombstone of k (offset 1)",
        "COMMIT marker of producer 7 (offset 2)",
        "nothing",
    ]
