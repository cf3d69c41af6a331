"""Every sentence of KIP-87 that promises something, one test each, in a cluster that runs.

The names of the sections stand in the docstrings. Of the formats alone: tests/log/test_formats.py;
of the bit: tests/log/test_attributes.py.
"""

from typing import Any

from sim.log.versions import NEW, OLD, Versions
from sim.rules import Rules
from sim.scenario.model import Change, Consumer, ReplicaSpec, Send, Workload
from sim.trace import Appended, AppendRefused, Consumed
from tests.cluster.worlds import Story, scenario, tell

DELETE = Send(500, 1, "A", "deleted by the owner", 500, flag=True)
SENDS = (Send(100, 1, "A", "a", 100), Send(200, 1, "B", "b", 200), DELETE)
AT_ONCE = Rules.of(commit="isr", tombstone_mark="magic", tombstone_removal="immediate")
PINNED = Versions(NEW, OLD, OLD)


def told(
    *changes: Change,
    versions: Versions = PINNED,
    producer: int = 3,
    consumers: tuple[Consumer, ...] = (),
    sends: tuple[Send, ...] = SENDS,
    followers: Versions | None = None,
    **more: Any,
) -> Story:
    """Two replicas of these versions, a producer of that version, and these consumers."""
    replicas = (
        ReplicaSpec("r1", versions=versions),
        ReplicaSpec("r2", versions=followers or versions),
    )
    start = Change(0, producer=0, versions=None, format=producer)  # type: ignore[arg-type]
    return tell(
        scenario(
            rules=more.pop("rules", AT_ONCE),
            replicas=replicas,
            workload=Workload(sends=sends, idempotent=False),
            consumers=consumers,
            changes=(start, *changes),
            **more,
        )
    )


def stored(story: Story) -> list[tuple[str | None, bool | None]]:
    """Value and flag of the records leaders wrote."""
    records = [record for _, event in story.of(Appended) for record in event.batch.records]
    return [(record.value, record.flagged) for record in records]


def given(story: Story) -> list[str | None]:
    """The values that consumers were given, in order."""
    return [record.value for _, event in story.of(Consumed) for record in event.records]


# Migration Plan, step by step.


def test_a_consumer_is_given_the_value_from_its_own_upgrade_on() -> None:
    """Migration Plan: consumers are upgraded one by one."""
    change = Change(400, versions=None, consumer="c1", format=3)
    story = told(change, versions=Versions(NEW), consumers=(Consumer("c1", format=2),))

    assert given(story) == ["a", "b", "deleted by the owner"]


def test_a_producer_that_went_back_sends_again_in_the_version_it_has_now() -> None:
    back = Change(600, producer=0, format=2)
    story = told(back, versions=Versions(OLD, OLD, OLD), sends=(DELETE,))

    refused = [at for at, event in story.of(AppendRefused) if event.reason == "client_version"]
    assert refused
    assert max(refused) < 600
    assert stored(story) == [(None, None)]
