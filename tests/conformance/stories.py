"""The stories of `scenarios/seen_on_kafka`, done on real clusters of the releases that they name.

Each drive takes a running cluster through one outage. For a network partition or a restart in a
story, a broker is paused (SIGSTOP) until the controller has fenced it, and then goes on.

`python -m tests.conformance.stories clusters --kafka 3.9.0` runs on one release alone, as does
`index-seek`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.conformance.broker_index_seek import LARGE, SMALL, SeekResult, compare_index_seek
from tests.conformance.clients import Administrator, java_failures
from tests.conformance.cluster import Differs, Topic, coordinate_on, let_fetches_end
from tests.conformance.compare import Json, Result
from tests.conformance.jvm import KAFKA_VERSION, start_jvm
from tests.conformance.nodes import BROKERS, Cluster, running_cluster
from tests.conformance.recordings import CLUSTERS as RECORDINGS
from tests.conformance.recordings import write_file
from tests.conformance.running import exit_status, say

DAY_MS = 86_400_000
HOUR_MS = 3_600_000
LOST_TOMBSTONE, KEPT_TOMBSTONE = "kafka_01_lost_tombstone", "kafka_02_tombstone_kept"
LOST_END, KEPT_END = "kafka_03_lost_log_end", "kafka_04_log_end_kept"
READ, KEPT_BACK = "kafka_05_aborted_record_is_read", "kafka_06_aborted_record_is_kept_back"
HANGS = "kafka_07_transaction_hangs"
NOBODY, KNOWN = "kafka_08_cut_marker_nobody_known", "kafka_09_cut_marker_producer_known"


@contextmanager
def lone_leader(cluster: Cluster, topic: Topic) -> Iterator[None]:
    """Has broker 1 lead without broker 2, and then be away until broker 2 leads."""
    with ExitStack() as away:
        with cluster.paused(2):
            let_fetches_end()
            yield
            away.enter_context(cluster.paused(1))
        topic.await_epoch(2, 1)  # the controller has fenced broker 1
        topic.moment("failed_over")


def log_end(cluster: Cluster, administrator: Administrator, *, story: str) -> list[Topic]:
    """KAFKA-17076: a log ends with an empty segment after all its last records are gone.

    Broker 1 leads and rolls with a record that broker 2 never gets; it is away until broker 2
    leads, and truncates the record, which leaves its active segment empty. Then the topic becomes a
    compacted one, records without a key go, and broker 3 is filled from that log and elected.
    Before KAFKA-17076 it gives committed offsets to other records (3.8.0); since then an empty
    batch stays and keeps them (4.3.1).
    """
    say("a log end: three records without a key behind one with a key, on brokers 1 and 2")
    policy = {"cleanup.policy": "delete"}
    with closing(Topic(cluster, administrator, story, (1, 2), policy, acks="1")) as topic:
        topic.write("A", "A")
        for value in ("u1", "u2", "u3"):
            topic.write(None, value)
        topic.await_end(4, 2)
        topic.moment("written")
        say("a log end: broker 1 is away with a record that broker 2 never got")
        with lone_leader(cluster, topic):
            topic.roll("T", "T")
            topic.moment("tail")
        topic.await_leader(2, (1, 2))
        topic.await_end(4, 1)
        topic.moment("truncated")
        administrator.change(story, {"cleanup.policy": "compact"})
        topic.await_cleaned(4, 1)
        topic.moment("cleaned")
        say("a log end: broker 1 leads again, broker 3 is filled from it, and is elected")
        topic.elect(1, 2)
        topic.moment("back")
        administrator.reassign(story, (3, 1, 2))
        topic.await_leader(1, BROKERS)
        topic.moment("joined")
        topic.elect(3, 1, 2)
        topic.connect(3)
        topic.write("E", "E")
        topic.moment("elected", leader=3)
    return [topic]


def tombstones(cluster: Cluster, administrator: Administrator) -> list[Topic]:
    """The lost tombstone and its near miss, in one outage.

    Two topics differ in `delete.retention.ms` alone: broker 3 is away for longer than that of one
    topic, and for less than that of the other. It comes back, joins the in-sync set, and is
    elected.
    """
    say("a tombstone: written by three replicas in sync")
    with ExitStack() as stack:
        topics = []
        for story, retention_ms in ((LOST_TOMBSTONE, 2_000), (KEPT_TOMBSTONE, HOUR_MS)):
            settings = {"delete.retention.ms": str(retention_ms)}
            topic = Topic(cluster, administrator, story, settings=settings)
            topics.append(stack.enter_context(closing(topic)))
            topic.write("K", "K=v")
            topic.write("X", "X")
            topic.moment("written")
        with cluster.paused(3):
            let_fetches_end()
            say("a tombstone: broker 3 is away until after delete.retention.ms")
            for topic in topics:
                topic.write("K", None)  # acknowledged when the controller has fenced broker 3
                topic.roll("Y", "Y")
            for topic in topics:
                topic.await_cleaned(3, 1, 2)
                topic.moment("first_pass")
            topics[0].await_horizons(1, 2)
            for topic in topics:
                topic.roll("Z", "Z")
                topic.await_cleaned(4, 1, 2)
                topic.moment("second_pass")
        say("a tombstone: broker 3 is back, and is elected")
        for topic in topics:
            topic.await_leader(1, BROKERS)
            topic.await_cleaned(4, 3)
            topic.moment("back")
            topic.elect(3, 1, 2)
            topic.write("W", "W")
            topic.moment("elected", leader=3)
    return topics


def aborted(cluster: Cluster, administrator: Administrator) -> list[Topic]:
    """Aborted transactions while a broker is away, in one outage.

    Broker 3 has the transaction's record and misses its ABORT marker. The topics differ in how long
    markers are kept, and in whether the producer writes another transaction.
    """
    say("an ABORT marker: its transaction is begun with three replicas in sync")
    coordinate_on(administrator, BROKERS)
    with ExitStack() as stack:
        ends: dict[Topic, int] = {}
        for story, retention_ms in ((READ, 0), (KEPT_BACK, HOUR_MS), (HANGS, 0)):
            settings = {"delete.retention.ms": str(retention_ms)}
            topic = Topic(cluster, administrator, story, settings=settings, transactional=True)
            ends[stack.enter_context(closing(topic))] = 2
            topic.write_in_transaction("K", "K=aborted")
            topic.moment("written")
        with cluster.paused(3):
            let_fetches_end()
            say("an ABORT marker: broker 3 is away until it is cleaned away")
            for topic in ends:
                topic.transactions.end(commit=False)  # when the controller has fenced broker 3
                topic.await_end(2, 1, 2)
                if topic.story != HANGS:
                    topic.write_in_transaction("L", "L=good")
                    topic.transactions.end(commit=True)
                    topic.await_end(4, 1, 2)
                    ends[topic] = 4
            for key, moment in (("X", "first_pass"), ("Y", "second_pass"), ("Z", "third_pass")):
                for topic, end in ends.items():
                    topic.roll(key, key)
                    topic.await_cleaned(end, 1, 2)
                    topic.moment(moment)
                    ends[topic] = end + 1
        say("an ABORT marker: broker 3 is back, and is elected")
        for topic, end in ends.items():
            topic.await_leader(1, BROKERS)
            if topic.story != HANGS:
                topic.await_cleaned(end - 1, 3)
            topic.moment("back")
            topic.elect(3, 1, 2)
            topic.write("W", "W")
            topic.moment("elected", leader=3, isolation="read_committed")
    return list(ends)


def cut_markers(cluster: Cluster, administrator: Administrator) -> list[Topic]:
    """An ABORT marker is truncated by a broker whose producer state has expired.

    Broker 1 alone has the marker, and is replaced by broker 2, which never got it (an unclean
    election). The transaction is open again on both; an operator aborts it once more; broker 1
    leads. In the near miss, a longer `producer.id.expiration.ms` keeps the producer state.
    """
    coordinate_on(administrator, (3, 1, 2))
    done = []
    for story, expiration_ms in ((KNOWN, DAY_MS), (NOBODY, 1_500)):
        say(f"a cut marker: producers are known for {expiration_ms} ms")
        administrator.expire_producers_after(expiration_ms)
        unclean = {"unclean.leader.election.enable": "true"}
        with closing(
            Topic(cluster, administrator, story, (1, 2), unclean, transactional=True)
        ) as topic:
            topic.write("K", "K=old")
            topic.write_in_transaction("K", "K=aborted")
            topic.moment("written")
            say("a cut marker: broker 1 writes it alone, and is away until broker 2 leads")
            with lone_leader(cluster, topic):
                topic.transactions.end(commit=False)  # when the controller has fenced broker 2
                topic.await_end(3, 1)
                topic.moment("aborted")
                if story == NOBODY:
                    administrator.await_forgotten(story, 1)
            say("a cut marker: broker 1 is back, the transaction is aborted again, broker 1 leads")
            topic.await_leader(2, (1, 2))
            topic.await_end(2, 1)
            topic.moment("truncated")
            administrator.expire_producers_after(DAY_MS)  # what follows is known on both brokers
            administrator.abort_open(story)
            topic.moment("aborted_again")
            topic.elect(1, 2)
            topic.write("W", "W")
            topic.moment("elected", leader=1, isolation="read_committed")
            topic.roll("Z", "Z")
            topic.await_cleaned(4, 1, 2)
            topic.moment("cleaned", leader=1, isolation="read_committed")
        done.append(topic)
    return done


Drive = Callable[[Cluster, Administrator], list[Topic]]
CLUSTERS: dict[str, tuple[Drive, ...]] = {
    "3.8.0": (partial(log_end, story=LOST_END),),
    KAFKA_VERSION: (partial(log_end, story=KEPT_END), tombstones, aborted, cut_markers),
}
"""Drives of each release, which share one cluster."""


@dataclass
class ClusterResult(Result):
    """Result of the comparison with a cluster of one release.

    Attributes:
        version: The release.
        seen: State of the cluster by story and moment, as far as it agrees.
    """

    version: str = ""
    seen: dict[str, dict[str, Json]] = field(default_factory=dict)

    def record(self) -> Iterator[Path]:
        """Writes the recordings of all stories; yields each file."""
        for story, moments in self.seen.items():
            recording = {"kafka": self.version, "story": story, "moments": moments}
            yield write_file(RECORDINGS / f"{story}.json", recording)


def run_on_cluster(version: str) -> ClusterResult:
    """Runs the stories of a release on a cluster of its own; about four minutes for the newest.

    A release without stories runs the cut markers, to see whether it has that bug.

    Raises:
        BadInput: The cluster does not start, or a condition is not met in time.
    """
    result = ClusterResult(f"real cluster, Kafka {version}", version=version)
    start_jvm()
    say(f"Kafka {version}: starting a controller and three brokers")
    with java_failures(f"Kafka {version}"), running_cluster(version) as cluster:
        brokers = ",".join(broker.address for broker in cluster.brokers.values())
        with closing(Administrator(brokers, cluster.controller)) as administrator:
            administrator.await_live(BROKERS)
            try:
                for drive in CLUSTERS.get(version, (cut_markers,)):
                    for topic in drive(cluster, administrator):
                        result.seen[topic.story] = topic.seen
                        result.counts["stories"] += 1
                        result.counts["moments"] += len(topic.seen)
            except Differs as found:
                result.differences.append(str(found))
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one release alone; returns 0 if all is as predicted, 1 if not, 2 if it cannot run."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.stories")
    parser.add_argument("what", choices=("clusters", "index-seek"))
    parser.add_argument("--kafka", default=KAFKA_VERSION, help=f"release ({KAFKA_VERSION})")
    parser.add_argument("--large", action="store_true", help="600 KB between marker and delete")
    chosen = parser.parse_args(arguments)

    def run() -> int:
        result: SeekResult | ClusterResult
        if chosen.what == "clusters":
            result = run_on_cluster(chosen.kafka)
        else:
            result = compare_index_seek(chosen.kafka, LARGE if chosen.large else SMALL)
        print(result.summary, *result.differences, sep="\n")
        return int(bool(result.differences))

    return exit_status(run)


if __name__ == "__main__":
    sys.exit(main())
