"""The sections of `reports/conformance.md` on bugs that real brokers showed, as predicted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.conformance.broker_index_seek import SeekResult
from tests.conformance.cluster_all import RealResult
from tests.conformance.cluster_moments import STORIES
from tests.conformance.cluster_run import ClusterResult


def real_sections(real: RealResult) -> Iterator[str]:
    """Both sections."""
    yield from _index_seek(real.seek)
    yield from _clusters(real.clusters)


def _index_seek(seek: SeekResult) -> Iterator[str]:
    """The bug of Kafka's own that a stock broker shows, and its near miss."""
    yield "## A deleted key comes back on a stock broker"
    yield ""
    yield (
        "A broker whose offset map holds three keys cleans topics that differ in one marker, or in"
        " `index.interval.bytes`: K=old is committed, a transaction is ended, 4.5 KB follow, and K"
        " is deleted. The first pass ends before the delete; the second reads its map from where"
        " the offset index says, behind the marker. [The cause](kafka_index_seek.md). Disk, indexes"
        " of aborted transactions and readers were compared with the prediction after both passes,"
        " as above."
    )
    yield ""
    yield "| topic | a new read_committed consumer | passes | with Replog |"
    yield "|---|---|---|---|"
    agree = "all agree" if seek.difference is None else "they differ"
    for name, said in seek.outcomes.items():
        passes = len(seek.runs[name][0].passes)
        yield f"| {name.replace('_', ' ')} | {said} | {passes} | {agree} |"
    yield ""
    yield f"Kafka {seek.version}, {seek.seconds:.0f} seconds."
    yield ""


def _clusters(clusters: Sequence[ClusterResult]) -> Iterator[str]:
    """What the replicas of real clusters held, beside what stories predict."""
    yield "## Real clusters"
    yield ""
    yield (
        "A controller and three brokers on loopback, for each release. A broker that is away stands"
        " still (SIGSTOP) until the controller has fenced it, and goes on where it was. At each"
        " moment that a story notes, the batches in the segment files of every replica and its"
        " leader epoch cache on disk must be those of the story, and in the end what a new consumer"
        " reads. The recordings are in `tests/data/kafka_cluster`."
    )
    yield ""
    yield "| Kafka | story | moments | what a new consumer reads in the end |"
    yield "|---|---|---|---|"
    for result in clusters:
        for story, seen in result.seen.items():
            link = f"[{story}](../{STORIES}/{story}.yaml)"
            read = [
                " ".join(held["consumer"]["reads"]) for held in seen.values() if "consumer" in held
            ]
            yield f"| {result.version} | {link} | {', '.join(seen)} | {'; '.join(read)} |"
    yield ""
    took = "; ".join(f"{result.version}: {result.seconds:.0f} seconds" for result in clusters)
    yield f"The moments that are named agree. {took}."
    yield ""
