"""What a consumer takes for deletes, judged by hand-made reads (KIP-87)."""

import pytest

from sim.log import Record, data_batch
from sim.rules import Rules
from sim.trace import Event, Understood
from tests.check.events import appended, cluster, violations_of

VALUE = Record(0, "A", "a", uid=1)
DELETE = Record(1, "A", "why", flagged=True, uid=2)
NULL = Record(2, "B", None, uid=3)


def understood(values: tuple[Record, ...], deletes: tuple[Record, ...]) -> list[Event]:
    """A log with one record of each kind, and what a consumer took them for."""
    batches = [data_batch((record,), epoch=1) for record in (VALUE, DELETE, NULL)]
    read = Understood("r1", "c1", values, deletes)
    return [*cluster("r1"), *appended("r1", *batches), read]


@pytest.mark.parametrize(
    ("mark", "values", "deletes", "sentences"),
    [
        ("flag", (VALUE, NULL), (DELETE,), []),
        ("flag", (VALUE,), (DELETE._replace(value=None, flagged=False),), []),
        (
            "flag",
            (DELETE,),
            (NULL,),
            [
                "c1 took the tombstone of A (offset 1) for data: A=why.",
                "c1 took the B=None (offset 2) for a delete.",
            ],
        ),
        ("null_value", (VALUE, DELETE), (NULL,), []),
        ("null_value", (NULL,), (), ["c1 took the tombstone of B (offset 2) for data: B=None."]),
    ],
)
def test_consumer_takes_deletes_by_what_marks_a_tombstone(
    mark: str, values: tuple[Record, ...], deletes: tuple[Record, ...], sentences: list[str]
) -> None:
    rules = Rules.of(commit="isr", tombstone_mark=mark)
    events = understood(values, deletes)

    assert violations_of("consumer-takes-deletes", events, rules=rules) == sentences
