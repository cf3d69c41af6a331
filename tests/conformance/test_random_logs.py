"""Random logs are answered, made again by their choices, and smaller by fewer.

That Kafka could hold them, Kafka says in `make conformance`, and the reader of log files here.
"""

from typing import Any

import pytest

from sim.simulate.logfile.answer import answer
from tests.conformance.batches import written_batches
from tests.conformance.log_books import LogBooks
from tests.conformance.random_batches import Choices, numbered, smallest
from tests.conformance.random_logs import random_log


@pytest.mark.parametrize("preset", ["kafka-4.0", "kafka-2.8"])
def test_a_random_log_begins_with_a_pass_and_is_answered(preset: str) -> None:
    for number in range(40):
        document = random_log(numbered(7, number), preset)
        assert document["steps"][0]["op"] == "clean"
        assert len(answer(document)["steps"]) == len(document["steps"])


def test_a_log_is_made_again_by_its_choices_and_smaller_by_fewer() -> None:
    made = numbered(7, 0)
    document = random_log(made)

    def has_a_marker(choices: Any) -> bool:
        return any("control" in batch for batch in written_batches(random_log(Choices(choices))))

    assert random_log(Choices(made.made)) == document
    assert has_a_marker(made.made)
    least = random_log(Choices(smallest(made.made, has_a_marker)))
    assert len(list(written_batches(least))) == len(least["steps"]) == 1


def test_sequences_count_what_is_gone_wrap_and_begin_anew_with_a_producer_epoch() -> None:
    books = LogBooks(0, (2**31 - 2,))
    records = [{"key": "a", "value": "v", "timestamp_ms": 0}]
    written = [
        books.data(records, 1),
        books.data(records, 1, skip=2, skip_after=1),
        books.data(records, 1),
        books.data(records, 1, bump=True),
    ]

    assert [batch["base_sequence"] for batch in written] == [2**31 - 2, 1, 3, 0]
    assert [batch["producer_epoch"] for batch in written] == [0, 0, 0, 1]
