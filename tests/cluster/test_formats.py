"""Consumers of KIP-87's versions 2 and 3 at replicas that know the flag, or do not."""

from typing import Literal

import pytest

from sim.rules import Rules
from sim.scenario.model import Consumer, ReplicaSpec, Send, Workload
from sim.trace import Appended, Consumed, Converted, Understood
from tests.cluster.worlds import Story, scenario, tell

SAYS_WHY = Send(200, 1, "A", "deleted by the owner", 200, flag=True)
SENDS = (Send(100, 1, "A", "a", 100), SAYS_WHY, Send(300, 1, "B", None, 300, flag=False))


def told(*consumers: Consumer, mark: Literal["null_value", "flag"] | None = None) -> Story:
    """A value, a delete that says why, an unflagged null, and these consumers."""
    return tell(
        scenario(
            rules=Rules.of(commit="isr", tombstone_mark="flag"),
            replicas=(ReplicaSpec("r1"), ReplicaSpec("r2", tombstone_mark=mark)),
            workload=Workload(sends=SENDS),
            consumers=consumers,
        )
    )


def given(story: Story) -> list[str | None]:
    """The values that consumers were given, in order."""
    return [record.value for _, event in story.of(Consumed) for record in event.records]


def deletes(story: Story) -> list[tuple[str | None, int]]:
    """What consumers took for deletes: key and offset."""
    return [(r.key, r.offset) for _, event in story.of(Understood) for r in event.deletes]


def converted_bytes(story: Story) -> int:
    """Stored bytes that were written anew."""
    return sum(event.size_bytes for _, event in story.of(Converted))


def appended_bytes(story: Story) -> int:
    """Size of all that leaders appended."""
    return sum(event.batch.size_bytes for _, event in story.of(Appended))


def test_a_new_consumer_is_given_what_is_stored() -> None:
    story = told(Consumer("new", format=3))

    assert given(story) == ["a", "deleted by the owner", None]
    assert deletes(story) == [("A", 1)]
    assert converted_bytes(story) == 0


def test_an_old_consumer_is_given_null_and_all_batches_are_rewritten_for_it() -> None:
    story = told(Consumer("old", format=2))

    assert given(story) == ["a", None, None]
    assert deletes(story) == [("A", 1), ("B", 2)]
    assert converted_bytes(story) == appended_bytes(story)


def test_a_replica_that_does_not_know_the_flag_converts_nothing() -> None:
    story = told(Consumer("old", format=2, replica="r2"), mark="null_value")

    assert given(story) == ["a", "deleted by the owner", None]
    assert deletes(story) == [("B", 2)]
    assert converted_bytes(story) == 0


def test_an_application_that_asks_for_null_does_so_on_a_new_client_too() -> None:
    story = told(Consumer("unchanged", format=3, deletes_by="null_value"))

    assert given(story) == ["a", "deleted by the owner", None]
    assert deletes(story) == [("B", 2)]


@pytest.mark.parametrize("mark", [None, "null_value"])
def test_a_consumer_without_a_version_reads_as_ever(
    mark: Literal["null_value", "flag"] | None,
) -> None:
    story = told(Consumer("c1", replica="r2"), mark=mark)

    assert given(story) == ["a", "deleted by the owner", None]
    assert story.of(Understood) == []
