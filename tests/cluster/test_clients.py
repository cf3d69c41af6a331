"""Producers and consumers: retries, batches, transactions, readers that cross a migration."""

from dataclasses import replace

import pytest

from sim.protocol.events import (
    Acknowledged,
    Appended,
    AppendRefused,
    Consumed,
    ConsumerReset,
    Event,
    ProducersForgotten,
)
from sim.protocol.log import Control, Record, data_batch
from sim.protocol.replication.reading import answer_consumer_fetch
from sim.protocol.replication.replica import Replica
from sim.protocol.rules import Rules
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.consumer import Consumer
from sim.simulate.scenario.model import Consumer as ConsumerSpec
from sim.simulate.scenario.model import (
    EndTransaction,
    LateMessages,
    Network,
    Send,
    Topic,
    Workload,
)
from tests.cluster.worlds import Story, scenario, sends, tell

LOSSY = Network((1, 5), loss=0.25)


def values(story: Story) -> list[str | None]:
    """Every value that was appended, in order, by whoever led."""
    return [record.value for _, e in story.of(Appended) for record in e.batch.records]


def test_what_waits_for_an_answer_becomes_one_batch() -> None:
    burst = Workload(sends=sends(10, every_ms=0))
    sizes = [len(e.batch.records) for _, e in tell(scenario(workload=burst)).of(Appended)]

    assert sizes == [1, 9]


def test_a_batch_holds_data_of_one_transaction_or_of_none() -> None:
    burst = tuple(
        send._replace(transaction=number)
        for send, number in zip(sends(6, every_ms=0), (0, 0, 1, 1, 2, 2), strict=True)
    )
    batches = [e.batch for _, e in tell(scenario(workload=Workload(sends=burst))).of(Appended)]

    assert [(len(b.records), b.transactional) for b in batches if b.control is None] == [
        (1, False),
        (1, False),
        (2, True),
        (2, True),
    ]


def test_records_of_a_producer_without_idempotence_overtake_each_other() -> None:
    burst = Workload(sends=sends(10, every_ms=1), idempotent=False)
    appended = values(tell(scenario(workload=burst, network=Network((1, 40)))))

    assert appended != sorted(appended, key=lambda value: int(str(value)[1:]))


def test_a_transaction_that_nobody_ends_is_aborted_in_the_end() -> None:
    open_ended = tuple(send._replace(transaction=1) for send in sends(3))
    story = tell(scenario(workload=Workload(sends=open_ended)))
    at, last = story.of(Appended)[-1]

    assert last.batch.control is Control.ABORT
    assert at >= 4_000


def in_transaction(at_ms: int, producer: int, value: str, number: int = 1) -> Send:
    return Send(at_ms, producer, "k", value, at_ms, None, number)


def test_the_next_instance_aborts_what_the_one_before_left_open_and_has_its_id() -> None:
    workload = Workload(
        (in_transaction(100, 1, "old"), in_transaction(500, 2, "new")),
        (EndTransaction(600, 2, 1, commit=True),),
    )
    story = tell(scenario(workload=replace(workload, instances=((2, 1),))))
    batches = [e.batch for _, e in story.of(Appended)]

    assert [batch.control for batch in batches] == [None, Control.ABORT, None, Control.COMMIT]
    assert [(b.producer_id, b.producer_epoch) for b in batches] == [(1, 0), (1, 1), (1, 2), (1, 2)]


def test_the_end_of_a_transaction_brings_the_next_epoch_and_sequences_begin_anew() -> None:
    """KIP-890: a marker has the epoch of what comes next; what has ended is not aborted again."""
    workload = Workload(
        (in_transaction(100, 1, "a"), in_transaction(500, 1, "b", 2), in_transaction(900, 2, "c")),
        (EndTransaction(200, 1, 1, commit=True), EndTransaction(600, 1, 2, commit=False)),
    )
    workload = replace(workload, instances=((2, 1),))
    rules = Rules.of(commit="isr", producer_epochs="per_transaction")
    story = tell(scenario(workload=workload, rules=rules))
    batches = [e.batch for _, e in story.of(Appended)]

    assert [(b.control, b.producer_epoch, b.base_sequence) for b in batches] == [
        (None, 0, 0),
        (Control.COMMIT, 1, -1),
        (None, 1, 0),
        (Control.ABORT, 2, -1),
        (None, 4, 0),
        (Control.ABORT, 5, -1),
    ]


LATE = LateMessages(late=0.1, later_ms=(1_000, 1_000))
AGAIN = LateMessages(repeated=1.0, later_ms=(600, 600))


@pytest.mark.parametrize("epochs", ["per_instance", "per_transaction"])
def test_the_marker_that_fences_comes_again_and_ends_nothing_of_the_new_instance(
    epochs: str,
) -> None:
    """TransactionMetadata.prepareFenceProducerEpoch: it is in an epoch of its own."""
    workload = Workload(
        (in_transaction(200, 1, "old"), in_transaction(1_000, 2, "new")),
        (EndTransaction(3_000, 2, 1, commit=True),),
    )
    workload = replace(workload, instances=((2, 1),))
    rules = Rules.of(commit="isr", producer_epochs=epochs)
    story = tell(scenario(workload=workload, rules=rules, late_messages=AGAIN))
    ends = [e.batch.control for _, e in story.of(Appended) if e.batch.control is not None]

    assert ends == [Control.ABORT, Control.COMMIT]
    assert "producer_fenced" in {e.reason for _, e in story.of(AppendRefused)}


@pytest.mark.parametrize(
    ("rules", "written", "reasons"),
    [
        ({}, ["late", None], []),
        ({"verification": "first_batch"}, [], ["not_in_transaction"]),
        ({"producer_epochs": "per_transaction"}, [None], ["producer_fenced"]),
    ],
)
def test_data_that_comes_after_its_transaction_has_ended(
    rules: dict[str, str], written: list[str | None], reasons: list[str]
) -> None:
    """KIP-890: it opens what nobody knows of, or is refused by the coordinator or by its epoch.

    With seed 0 the data comes late, and the marker does not.
    """
    workload = Workload(
        (in_transaction(1_000, 7, "late"),), (EndTransaction(1_100, 7, 1, commit=False),)
    )
    workload = replace(workload, retries=0, retry_ms=300)
    own = Rules.of(commit="isr", **rules)
    story = tell(scenario(workload=workload, rules=own, late_messages=LATE, seed=0))

    assert values(story) == written
    assert [e.reason for _, e in story.of(AppendRefused)] == reasons


def test_an_instance_that_was_replaced_writes_and_commits_nothing() -> None:
    """Its open transaction is refused by the leader, another one by the coordinator."""
    workload = Workload(
        (
            in_transaction(100, 1, "old"),
            in_transaction(500, 2, "new"),
            in_transaction(700, 1, "late"),
            in_transaction(900, 1, "later", 2),
        ),
        (
            EndTransaction(600, 2, 1, commit=True),
            EndTransaction(800, 1, 1, commit=True),
            EndTransaction(950, 1, 2, commit=True),
        ),
    )
    story = tell(scenario(workload=replace(workload, instances=((2, 1),))))

    assert values(story) == ["old", None, "new", None]
    assert [e.reason for _, e in story.of(AppendRefused)] == ["producer_fenced"]
    assert story.outcome.inconclusive is None


def test_a_repetition_is_not_appended_again_and_acknowledged_as_the_first_time() -> None:
    story = tell(scenario(network=LOSSY, workload=Workload(sends=sends(), retries=20)))
    appended = [e.batch for _, e in story.of(Appended)]
    acknowledged = [e for _, e in story.of(Acknowledged)]
    told = {(e.producer_id, e.base_sequence, e.first_offset, e.last_offset) for e in acknowledged}

    assert values(story) == [f"v{index}" for index in range(40)]
    assert told == {
        (b.producer_id, b.base_sequence, b.base_offset, b.last_offset) for b in appended
    }
    assert len(acknowledged) > len(told)


def test_a_producer_that_is_silent_for_too_long_is_forgotten_and_that_is_told() -> None:
    expiring = Topic(segment_bytes=600, segment_ms=500, producer_expiration_ms=1_000)
    early = Workload(sends=sends(5, producers=2))
    story = tell(scenario(topic=expiring, workload=early))
    forgotten = story.of(ProducersForgotten)

    assert {e.replica for _, e in forgotten} == {"r1", "r2", "r3"}
    assert {e.producers for _, e in forgotten} <= {(1,), (2,), (1, 2)}
    assert min(at for at, _ in forgotten) >= 1_100
    assert tell(scenario(workload=early)).of(ProducersForgotten) == []


def test_a_consumer_is_reset_once_where_its_position_is_no_longer_in_the_log() -> None:
    deleting = Topic(segment_bytes=600, segment_ms=300, deletes=True, retention_ms=500)
    late = ConsumerSpec("late", starts_ms=2_500)
    story = tell(scenario(topic=deleting, consumers=(late, ConsumerSpec("c1"))))
    [(_, reset)] = story.of(ConsumerReset)
    first = next(e for _, e in story.of(Consumed) if e.consumer == "late")

    assert (reset.consumer, reset.cause) == ("late", "below_log_start")
    assert reset.position == first.start > 0


def test_a_poll_before_a_pause_waits_no_longer_than_until_the_pause_begins() -> None:
    """The writes stop at 950 ms; what comes at 1100 is read when the reader polls again."""
    writes = (*sends(18), *sends(1, start_ms=1_100))
    paused = ConsumerSpec("c1", pauses=((1_000, 2_000),))
    story = tell(scenario(workload=Workload(sends=writes), consumers=(paused,)))
    read = [at for at, e in story.of(Consumed) if at > 1_000]

    assert read
    assert min(read) >= 2_000


@pytest.mark.parametrize(("start", "given"), [(0, [0, 1, 2, 3]), (1, [1, 2, 3]), (3, [3])])
def test_a_consumer_in_mid_batch_is_given_what_is_at_its_position_and_above(
    start: int, given: list[int]
) -> None:
    """A broker gives whole batches; the client passes over what is below its position."""
    events: list[Event] = []
    cluster = Cluster(scenario(), lambda _at, new: events.extend(new))
    replica = Replica("r1")
    records = tuple(Record(offset, "k", f"v{offset}", 0) for offset in range(3))
    replica.log.append(data_batch(records, epoch=1), now_ms=0)
    replica.log.append(data_batch((Record(3, "k", "v3", 0),), epoch=1), now_ms=0)
    replica.log.log_start_offset, replica.log.high_watermark = start, 4
    Consumer(cluster.context, ConsumerSpec("c2", replica="r1")).read_to_the_end(
        lambda request: answer_consumer_fetch(replica, request, rules=Rules()).response
    )

    read = [record.offset for e in events if isinstance(e, Consumed) for record in e.records]
    assert read == given
