"""Every audit that listens to events can be violated, and takes no near miss for a violation."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.audits.registering import LAWS, audited
from tests.audits.sends import Sends
from tests.check.text import Case, cases_of, place

FOLDER = Path(__file__).parent
SENDS = cases_of("pairs/sends.txt", FOLDER)
OF_LAWS = [
    case for name in ("promises", "protocol") for case in cases_of(f"pairs/{name}.txt", FOLDER)
]


@pytest.fixture(autouse=True)
def _audited() -> Iterator[None]:
    with audited():
        yield


@pytest.mark.parametrize("case", OF_LAWS, ids=[f"{n}-{one.head}" for n, one in enumerate(OF_LAWS)])
def test_a_violation_is_found_where_it_is_and_its_near_miss_is_not(case: Case) -> None:
    broken, near_miss = (case.checked(case.name, side=side) for side in "-+")

    assert [place(one.replica, one.offset, one.key) for one in broken.violations] == case.places
    assert all("{" not in one.sentence for one in broken.violations)
    assert near_miss.violations == []


@pytest.mark.parametrize("case", SENDS, ids=[one.head for one in SENDS])
def test_what_producers_send_is_judged_by_the_scenario(case: Case) -> None:
    assert reported(case, "-") == [(case.name, one) for one in case.places]
    assert reported(case, "+") == []


def reported(case: Case, side: str) -> list[tuple[str, str]]:
    told: list[tuple[str, str]] = []
    values = [value for line in case.notes["places"] for value in line]
    patience_ms = sum(int(line[0]) for line in case.notes["patience"])
    sends = Sends(
        lambda name, _, replica, offset: told.append((name, place(replica, offset))),
        {value: number for number, value in enumerate(values)},
        patience_ms,
    )
    for at, event in case.happened(side):
        sends.after(at, event)
    return told


@pytest.mark.parametrize("law", LAWS)
def test_an_audit_has_a_violation_and_two_near_misses_at_least(law: type) -> None:
    cases = [case for case in OF_LAWS if case.name == law.name]  # type: ignore[attr-defined]

    assert any(case.places for case in cases)
    assert sum(bool(case.sides["+"] or not case.places) for case in cases) >= 2
