"""Every sentence of KIP-87 that promises something, one test each, in a cluster that runs.

The names of the sections stand in the docstrings. Of the formats alone: tests/log/test_formats.py;
of the bit: tests/log/test_attributes.py.
"""

from typing import Any

import pytest

from sim.compaction import TOMBSTONE_MARKS
from sim.log import Record
from sim.log.attributes import MESSAGE_KIP_87, MESSAGE_V1, TOMBSTONE, unpack
from sim.log.versions import MESSAGE_FORMAT, NEW, OLD, PROTOCOL, SOFTWARE, Versions
from sim.rules import Rules
from sim.scenario.model import Change, Consumer, ReplicaSpec, Send, Topic, Workload
from sim.trace import Appended, AppendRefused, Cleaned, Consumed, Converted, Copied, Understood
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


def deletes(story: Story) -> list[str | None]:
    """Keys of what consumers took for deletes."""
    return [record.key for _, event in story.of(Understood) for record in event.deletes]


def raised(setting: str, *, at_ms: int = 0) -> Change:
    """Every broker gets the new version of a setting."""
    return Change(at_ms, "all", ((setting, NEW),))


# What is asked for.


def test_a_delete_can_carry_a_value_and_takes_its_key_away() -> None:
    """Motivation: envelopes, and information that has to be delivered with a delete."""
    sends = (*SENDS, Send(2_000, 1, "C", "c", 2_000), Send(3_000, 1, "D", "d", 3_000))
    story = told(versions=Versions(NEW), sends=sends)

    assert ("deleted by the owner", True) in stored(story)
    removed = [r for _, event in story.of(Cleaned) for r in event.removals]
    assert {(r.offset, r.reason) for r in removed} == {(0, "superseded"), (2, "tombstone")}


def test_the_flag_is_one_bit_that_is_free_before_magic_2() -> None:
    """Proposed Changes: attribute bit 5; the others mean what they meant."""
    assert TOMBSTONE.first == TOMBSTONE.last == 5
    assert 5 in MESSAGE_V1.free()
    assert set(unpack(MESSAGE_KIP_87, 0)) == {*unpack(MESSAGE_V1, 0), TOMBSTONE.name}


def test_a_reader_asks_the_record_whether_it_is_a_tombstone() -> None:
    """Public Interfaces: isTombstone of the records of producers and consumers."""
    consumer = Consumer("c1", format=3)
    story = told(versions=Versions(NEW), consumers=(consumer,))

    assert given(story) == ["a", "b", "deleted by the owner"]
    assert deletes(story) == ["A"]


def test_a_producer_that_says_nothing_of_the_flag_deletes_by_null_as_before() -> None:
    """Public Interfaces: the flag of a record that is given none goes by its value."""
    sends = (Send(100, 1, "A", "a", 100), Send(200, 1, "A", None, 200))

    assert stored(told(versions=Versions(NEW), sends=sends)) == [("a", False), (None, True)]


# Migration Plan, step by step.


def test_first_the_software_and_nothing_changes() -> None:
    """Migration Plan: a rolling upgrade of the code, at the old protocol and message format."""
    before, after = (
        told(versions=versions, producer=2, consumers=(Consumer("c1", format=2),))
        for versions in (Versions(OLD, OLD, OLD), PINNED)
    )

    assert stored(before) == stored(after) == [("a", None), ("b", None), (None, None)]
    assert given(before) == given(after)
    assert deletes(before) == deletes(after) == ["A"]


def test_then_the_protocol_so_that_followers_are_given_all_that_will_come() -> None:
    """Migration Plan: a rolling bounce for the protocol, before the message format."""
    leader, late = Versions(NEW), Versions(NEW, OLD, OLD)
    lost = told(versions=leader, followers=late)
    copied = [r for _, event in lost.of(Copied) for b in event.batches for r in b.records]
    whole = told(versions=leader, followers=Versions(NEW, NEW, OLD))

    assert [(r.value, r.flagged) for r in copied] == [("a", None), ("b", None), (None, None)]
    assert [event.values_lost for _, event in lost.of(Converted)][-1] == (2,)
    assert whole.of(Converted) == []


def test_a_follower_of_the_new_protocol_gets_nothing_from_old_software() -> None:
    """Migration Plan: the code is everywhere before the protocol is raised anywhere."""
    change = Change(3_000, "r1", ((SOFTWARE, NEW),))
    story = told(change, versions=Versions(OLD), followers=Versions(NEW, NEW, OLD), producer=2)

    assert min(at for at, _ in story.of(Copied)) > 3_000


def test_a_flagged_delete_is_made_null_before_the_message_format_is_raised() -> None:
    """Migration Plan: ProduceRequest V3 at a broker of the old message format."""
    story = told(Change(0, "all", ((PROTOCOL, NEW),)))

    assert stored(story) == [("a", None), ("b", None), (None, None)]
    assert [(e.reader, e.values_lost) for _, e in story.of(Converted)] == [("r1", (2,))]


def test_an_old_producer_works_as_it_did() -> None:
    """Migration Plan: ProduceRequest V2; its null is a delete in either format."""
    sends = (Send(100, 1, "A", "a", 100), Send(200, 1, "A", None, 200))
    consumer = (Consumer("c1", format=3),)
    for versions in (Versions(OLD), PINNED, Versions(NEW)):
        story = told(versions=versions, producer=2, sends=sends, consumers=consumer)
        assert deletes(story) == ([] if versions.software == OLD else ["A"])


@pytest.mark.parametrize("client", [2, 3])
def test_no_consumer_costs_zero_copy_before_the_message_format_is_raised(client: int) -> None:
    """Migration Plan: FetchRequest V2 and V3 at the old message format."""
    consumer = Consumer("c1", format=client)  # type: ignore[arg-type]
    story = told(raised(PROTOCOL), consumers=(consumer,))

    assert [event for _, event in story.of(Converted) if event.reader == "c1"] == []
    assert deletes(story) == ["A"]


def test_then_the_message_format_and_what_a_delete_says_is_kept() -> None:
    """Migration Plan: the message format is raised when the clients are upgraded."""
    both = Change(300, "all", ((PROTOCOL, NEW), (MESSAGE_FORMAT, NEW)))

    assert stored(told(both)) == [("a", None), ("b", None), ("deleted by the owner", True)]


def test_after_that_an_old_consumer_costs_zero_copy_and_is_given_null() -> None:
    """Migration Plan: FetchRequest V2 at the new message format; the note on the downgrade."""
    story = told(versions=Versions(NEW), consumers=(Consumer("c1", format=2),))
    [*_, last] = [event for _, event in story.of(Converted)]

    assert given(story) == ["a", "b", None]
    assert deletes(story) == ["A"]
    assert last.values_lost == (2,)
    assert sum(event.size_bytes for _, event in story.of(Converted)) == sum(
        event.batch.size_bytes for _, event in story.of(Appended)
    )


def test_a_consumer_is_given_the_value_from_its_own_upgrade_on() -> None:
    """Migration Plan: consumers are upgraded one by one."""
    change = Change(400, versions=None, consumer="c1", format=3)
    story = told(change, versions=Versions(NEW), consumers=(Consumer("c1", format=2),))

    assert given(story) == ["a", "b", "deleted by the owner"]


@pytest.mark.parametrize(
    ("record", "is_delete"),
    [
        (Record(0, "k", None, flagged=None), True),
        (Record(0, "k", "v", flagged=None), False),
        (Record(0, "k", None, flagged=True), True),
        (Record(0, "k", "v", flagged=True), True),
        (Record(0, "k", "v", flagged=False), False),
    ],
)
def test_the_cleaner_asks_the_null_before_magic_2_and_the_bit_from_then_on(
    record: Record, is_delete: bool
) -> None:
    """Migration Plan: from log compaction point of view."""
    assert TOMBSTONE_MARKS["magic"](record) is is_delete


def test_deletes_of_both_formats_go_from_one_log() -> None:
    """Migration Plan: what was written before the new message format is cleaned as before."""
    sends = (
        *SENDS[:2],
        Send(300, 1, "B", None, 300),
        DELETE,
        Send(2_000, 1, "C", "c", 2_000),
        Send(3_000, 1, "D", "d", 3_000),
    )
    both = Change(400, "all", ((PROTOCOL, NEW), (MESSAGE_FORMAT, NEW)))
    story = told(both, sends=sends)

    gone = [r for _, event in story.of(Cleaned) for r in event.removals if r.reason == "tombstone"]
    assert {r.offset for r in gone} == {2, 3}


def test_a_null_value_that_is_no_delete_is_refused_and_the_producer_is_told() -> None:
    """Migration Plan, NOTE."""
    sends = (Send(100, 1, "A", None, 100, flag=False), Send(200, 1, "B", "b", 200))
    story = told(versions=Versions(NEW), sends=sends)

    assert [event for _, event in story.of(AppendRefused)] == [
        AppendRefused("r1", "A", "null_value")
    ]
    assert stored(story) == [("b", False)]
    assert story.outcome.counts.sends_given_up == 1


def test_a_new_producer_is_refused_by_old_software_until_it_is_upgraded() -> None:
    """Migration Plan: brokers come before clients."""
    story = told(raised(SOFTWARE, at_ms=600), versions=Versions(OLD, OLD, OLD), sends=(DELETE,))

    assert story.of(AppendRefused)[0][1] == AppendRefused("r1", None, "client_version")
    assert stored(story) == [(None, None)]


def test_a_producer_that_went_back_sends_again_in_the_version_it_has_now() -> None:
    back = Change(600, producer=0, format=2)
    story = told(back, versions=Versions(OLD, OLD, OLD), sends=(DELETE,))

    refused = [at for at, event in story.of(AppendRefused) if event.reason == "client_version"]
    assert refused
    assert max(refused) < 600
    assert stored(story) == [(None, None)]


def test_without_compaction_the_flag_is_there_to_read_and_deletes_nothing() -> None:
    """Proposed Changes: the flag belongs to the message, whatever becomes of the topic."""
    sends = (*SENDS, Send(2_000, 1, "C", "c", 2_000), Send(3_000, 1, "D", "d", 3_000))
    topic = Topic(segment_bytes=600, segment_ms=500, deletes=True, compacts=False)
    late = Consumer("c1", format=3, pauses=((0, 3_500),))
    story = told(versions=Versions(NEW), sends=sends, topic=topic, consumers=(late,))

    assert story.of(Cleaned) == []
    assert given(story) == ["a", "b", "deleted by the owner", "c", "d"]
    assert deletes(story) == ["A"]
