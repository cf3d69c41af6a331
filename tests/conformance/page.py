"""The page `reports/conformance.md`: what was compared with which Kafka, and what came out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sim.files.atomic import replacing
from tests.conformance.beside import BesideResult
from tests.conformance.broker_compare import BrokerResult
from tests.conformance.broker_index_seek import SeekResult
from tests.conformance.cluster_moments import STORIES
from tests.conformance.cluster_run import ClusterResult, RealResult
from tests.conformance.compare import BATCH_FIELDS, CLEAN_FIELDS, STEP_FIELDS
from tests.conformance.noticing import Noticed
from tests.conformance.random_runs import Compared

HAPPENED = "What happened, and in how many of these logs; a row with 0 fails the run:"
NOT_ASKED = (
    "What needs a broker around it is not asked of single classes: that `LogManager` pauses the"
    " cleaner around a truncation (the comparison does what `LogManager.truncateTo` does to the"
    " checkpoint), that `Partition` refuses DeleteRecords for a topic without `delete` in its"
    " policy, and the clocks by which the cleaner wakes and producers expire (log files say when)."
)
BROKER = (
    "One node in KRaft mode on loopback, and Kafka's own clients: values, deletes, records"
    " without a key from before the topic was compacted, idempotent and transactional producers"
    " with commits and aborts, an open transaction that holds the cleaner up. What the disk"
    " holds before the first pass becomes a log file; after each pass of the broker's cleaner"
    " the segment files, the indexes of aborted transactions and the producers' last sequences"
    " must be what Replog answers."
)
CLOCK = (
    "Counts are those of the whole partition just before the pass was made possible and just"
    " after it. The clock of a pass is read off a delete horizon that it wrote. Where it wrote"
    " none it does not matter, unless a horizon lies inside the time of the pass; then both"
    " sides of it are tried."
)
INDEX_SEEK = (
    "A broker whose offset map holds three keys cleans topics that differ in one marker, or in"
    " `index.interval.bytes`: K=old is committed, a transaction is ended, 4.5 KB follow, and K"
    " is deleted. The first pass ends before the delete; the second reads its map from where"
    " the offset index says, behind the marker. [The cause](kafka_index_seek.md). Disk, indexes"
    " of aborted transactions and readers were compared with the prediction after both passes,"
    " as above."
)
CLUSTERS = (
    "A controller and three brokers on loopback, for each release. A broker that is away stands"
    " still (SIGSTOP) until the controller has fenced it, and goes on where it was. At each"
    " moment that a story notes, the batches in the segment files of every replica and its"
    " leader epoch cache on disk must be those of the story, and in the end what a new consumer"
    " reads. The recordings are in `tests/data/kafka_cluster`."
)


@dataclass(frozen=True, slots=True)
class ConformanceResult:
    """A whole conformance run.

    Attributes:
        version: The Kafka release that answered.
        preset: The preset it answers for.
        random: The random comparison.
        seen: A sentence for each file seen on this release that is answered otherwise now.
        command: What made it.
        broker: The comparison with a real broker; None = left out.
        noticed: What came of the planted errors; None = left out.
        real: What brokers and clusters did that show bugs of Kafka; None = left out.
        beside: The comparison with an old release, and of choices among logs; None = left out.
    """

    version: str
    preset: str
    random: Compared
    seen: list[str]
    command: str
    broker: BrokerResult | None = None
    noticed: Sequence[Noticed] | None = None
    real: RealResult | None = None
    beside: BesideResult | None = None

    @property
    def complaints(self) -> list[str]:
        """What is wrong, one sentence each; none = Replog keeps what Kafka keeps."""
        found = [*self.random.complaints("random logs"), *self.seen]
        if self.broker is not None and self.broker.difference is not None:
            found.append(f"broker: {self.broker.difference}")
        for part in (self.real, self.beside):
            found += [] if part is None else part.complaints
        return found + [
            f"planted errors: no log notices that {one.error.what}; raise --count"
            for one in self.noticed or ()
            if one.log is None
        ]


def write_page(result: ConformanceResult, path: Path) -> None:
    """Write the page.

    Raises:
        BadInput: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        text = "\n".join(_page(result)).strip() + "\n"
        file.write(re.sub("\n{3,}", "\n\n", text).encode())


def summary(result: ConformanceResult) -> Iterator[str]:
    """The outcome in a few lines for a terminal."""
    random, broker, beside = result.random, result.broker, result.beside
    yield (
        f"Kafka {result.version}, preset {result.preset}: {random.logs:,} different random logs"
        f" with {random.counts['passes']:,} cleaning passes and {random.counts['records']:,}"
        f" records compared (seed {random.seed}): {_verdict(random.difference)}"
    )
    if beside is not None:
        old, pools = beside.together, beside.pools
        seeds = ", ".join(str(one.seed) for one in beside.old)
        yield (
            f"Kafka {beside.version}: {old.logs:,} different random logs with"
            f" {old.counts['passes']:,} cleaning passes compared (seeds {seeds}):"
            f" {_verdict(old.difference)}"
        )
        yield (
            f"choice of a log: {pools.logs:,} sets of {pools.counts['logs']:,} logs (seed"
            f" {pools.seed}): {_verdict(pools.difference)}"
        )
    if broker is not None:
        reads = "; ".join(
            f"{isolation} consumer: {count} records up to offset {end}"
            for isolation, (count, end) in broker.reads.items()
        )
        passes = f"real broker, {len(broker.rows)} passes of its cleaner"
        yield f"{passes}; {reads}: {_verdict(broker.difference)}"
    if result.real is not None:
        yield from result.real.summary
    if result.noticed is not None:
        found = [one for one in result.noticed if one.log is not None]
        yield f"planted errors: {len(found)} of {len(result.noticed)} noticed"


def _verdict(difference: str | None) -> str:
    return "all agree" if difference is None else "they differ"


def _page(result: ConformanceResult) -> Iterator[str]:
    yield "# Conformance with Apache Kafka"
    yield ""
    yield f"What Replog's cleaner keeps, compared with Apache Kafka **{result.version}**."
    yield f"Made by `{result.command}`."
    yield ""
    complaints = result.complaints
    verdict = "**They differ.**" if complaints else "**All agree.**"
    yield " ".join([verdict, *(f"{complaint}." for complaint in complaints)])
    yield from _random(result)
    if result.beside is not None:
        yield from _old(result.beside)
        yield from _choices(result.beside.pools)
    if result.noticed is not None:
        yield from _planted(result.noticed)
    if result.broker is not None:
        yield from _broker(result.broker)
    if result.real is not None:
        yield from _index_seek(result.real.seek)
        yield from _clusters(result.real.clusters)


def _random(result: ConformanceResult) -> Iterator[str]:
    random = result.random
    yield from _section(
        "Random logs",
        "Each log goes through Kafka's own cleaner classes, on segment files on disk, and through"
        f" `replog clean` with the preset `{result.preset}`.",
    )
    counts = random.counts
    yield from _table(
        ("", ""),
        ("different logs", f"{random.logs:,}"),
        ("steps, after each of which everything was compared", f"{counts['steps']:,}"),
        ("cleaning passes", f"{counts['passes']:,}"),
        ("records, markers included", f"{counts['records']:,}"),
        ("differences", "0" if random.difference is None else "1, the search ends there"),
        ("seed", random.seed),
    )
    compared = (*STEP_FIELDS, *CLEAN_FIELDS)
    yield f"Compared after every step: {_names(compared)}; of each batch {_names(BATCH_FIELDS)}."
    yield ""
    yield from _happened(HAPPENED, random)


def _old(beside: BesideResult) -> Iterator[str]:
    yield from _section(
        f"Random logs, Kafka {beside.version}",
        f"The same against the classes of Kafka {beside.version}, before KIP-534, with the preset"
        " `kafka-2.8` and several seeds. A pass after which Kafka calls a log uncleanable"
        " has to end so here, too.",
    )
    yield from _table(
        ("seed", "different logs", "steps", "cleaning passes", "records", "outcome"),
        *(
            (
                one.seed,
                f"{one.logs:,}",
                *(f"{one.counts[name]:,}" for name in ("steps", "passes", "records")),
                _verdict(one.difference),
            )
            for one in beside.old
        ),
    )
    yield from _happened(HAPPENED, beside.together)


def _choices(pools: Compared) -> Iterator[str]:
    yield from _section(
        "The choice of a log",
        f"{pools.logs:,} sets of one to four random logs, {pools.counts['logs']:,} in all (seed"
        f" {pools.seed}), are opened by Kafka's `UnifiedLog`. Its `LogCleanerManager` says of each"
        " where it is dirty, up to where it may be cleaned, how many bytes that is and how overdue"
        " it is, and grabs one; `replog eligible` must say the same of what Kafka tells of the"
        f" segments: {_verdict(pools.difference)}.",
    )
    yield from _happened("", pools)
    yield NOT_ASKED


def _planted(noticed: Sequence[Noticed]) -> Iterator[str]:
    yield from _section(
        "Errors planted in the cleaner",
        f"{len(noticed)} errors, each in a copy of Replog of its own that answered the same random"
        " logs until its answer was not Kafka's. A row without a number fails the run.",
    )
    yield from _table(
        ("what the copy does wrong", "file in `sim/`", "first log that notices", "by"),
        *(
            (
                one.error.what,
                f"`{one.error.module}`",
                "none" if one.log is None else f"{one.log:,}",
                one.difference.partition(":")[0].replace("|", "\\|"),
            )
            for one in noticed
        ),
    )


def _broker(broker: BrokerResult) -> Iterator[str]:
    yield from _section("A real broker", BROKER)
    titles = ("pass", "up to offset", "batches", "records", "tombstones", "markers")
    after = ("empty batches left", "batches with a horizon", "the cleaner's clock")
    rows = []
    for row in broker.rows:
        pairs = (row.batches, row.records, row.tombstones, row.markers)
        changes = [f"{before} → {after}" for before, after in pairs]
        rows.append((row.number, row.bound, *changes, row.empty, row.horizons, row.clock))
    yield from _table((*titles, *after), *rows)
    yield CLOCK
    yield ""
    yield from _table(
        ("consumer", "records read", "up to offset", "with Replog"),
        *(
            (isolation, count, end, _verdict(broker.difference))
            for isolation, (count, end) in broker.reads.items()
        ),
    )
    yield f"What happened in these passes: {'; '.join(sorted(broker.features))}."


def _index_seek(seek: SeekResult) -> Iterator[str]:
    yield from _section("A deleted key comes back on a stock broker", INDEX_SEEK)
    yield from _table(
        ("topic", "a new read_committed consumer", "passes", "with Replog"),
        *(
            (
                name.replace("_", " "),
                said,
                len(seek.runs[name][0].passes),
                _verdict(seek.difference),
            )
            for name, said in seek.outcomes.items()
        ),
    )
    yield f"Kafka {seek.version}, {seek.seconds:.0f} seconds."


def _clusters(clusters: Sequence[ClusterResult]) -> Iterator[str]:
    yield from _section("Real clusters", CLUSTERS)
    rows = []
    for result in clusters:
        for story, seen in result.seen.items():
            link = f"[{story}](../{STORIES}/{story}.yaml)"
            read = [
                " ".join(held["consumer"]["reads"]) for held in seen.values() if "consumer" in held
            ]
            rows.append((result.version, link, ", ".join(seen), "; ".join(read)))
    yield from _table(("Kafka", "story", "moments", "what a new consumer reads in the end"), *rows)
    took = "; ".join(f"{result.version}: {result.seconds:.0f} seconds" for result in clusters)
    yield f"The moments that are named agree. {took}."


def _section(title: str, about: str) -> Iterator[str]:
    yield from ("", f"## {title}", "", about, "")


def _happened(about: str, compared: Compared) -> Iterator[str]:
    if about:
        yield from (about, "")
    yield from _table(
        ("what", "logs"), *((name, f"{compared.features[name]:,}") for name in compared.expected)
    )


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(titles: tuple[str, ...], *rows: tuple[object, ...]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"
    for row in rows:
        yield f"| {' | '.join(map(str, row))} |"
    yield ""
