"""The page `reports/conformance.md`: the comparisons with each release, and their results.

Its text is `page_template.md`, without the parts that were left out of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sim.files.atomic import replacing
from tests.conformance.broker_compare import BrokerResult
from tests.conformance.broker_index_seek import SeekResult
from tests.conformance.cluster import STORIES
from tests.conformance.compare import BATCH_FIELDS, CLEAN_FIELDS, STEP_FIELDS
from tests.conformance.partitions import PartitionsResult
from tests.conformance.random_runs import Compared, OtherResults
from tests.conformance.stories import ClusterResult

PASS_TITLES = (
    *("pass", "up to offset", "batches", "records", "tombstones", "markers"),
    *("empty batches left", "batches with a horizon", "the cleaner's clock"),
)
TEMPLATE = Path(__file__).with_name("page_template.md")


@dataclass(frozen=True, slots=True)
class ConformanceResult:
    """Results of a whole conformance run.

    Attributes:
        version: The Kafka release that answered.
        preset: The preset that models the release.
        random: The random comparison.
        seen: A sentence for each file seen on this release whose answer differs now.
        command: Command line of the run.
        broker: The comparison with a real broker; None if it was left out.
        seek: The comparison with a broker that has a bug of Kafka; None if it was left out.
        clusters: The comparison with a cluster of each release.
        partitions: The comparisons of partitions on disk; empty if they were left out.
        others: The comparisons with an old release and of choices among logs; None if they were
            left out.
    """

    version: str
    preset: str
    random: Compared
    seen: list[str]
    command: str
    broker: BrokerResult | None = None
    seek: SeekResult | None = None
    clusters: Sequence[ClusterResult] = ()
    partitions: Sequence[PartitionsResult] = ()
    others: OtherResults | None = None

    @property
    def complaints(self) -> list[str]:
        """A sentence for each difference or missing feature; empty if all agree."""
        parts = [("broker", self.broker), ("index seek", self.seek)]
        parts += [(f"cluster of Kafka {one.version}", one) for one in self.clusters]  # type: ignore[misc]
        return [
            *self.random.complaints("random logs"),
            *self.seen,
            *(f"{name}: {one.difference}" for name, one in parts if one and one.difference),
            *(f"{one.what}: {text}" for one in self.partitions for text in one.differences),
            *(self.others.complaints if self.others is not None else ()),
        ]


def summary(result: ConformanceResult) -> Iterator[str]:
    """Lines about the outcome for a terminal."""
    random, broker, others = result.random, result.broker, result.others
    yield (
        f"Kafka {result.version}, preset {result.preset}: {random.logs:,} different random logs"
        f" with {random.counts['passes']:,} cleaning passes and {random.counts['records']:,}"
        f" records compared (seed {random.seeds[0]}): {random.verdict}"
    )
    if others is not None:
        old, pools = others.old, others.pools
        yield (
            f"Kafka {others.version}: {old.logs:,} different random logs with"
            f" {old.counts['passes']:,} cleaning passes compared"
            f" (seeds {', '.join(map(str, old.seeds))}): {old.verdict}"
        )
        yield (
            f"choice of a log: {pools.logs:,} sets of {pools.counts['logs']:,} logs"
            f" (seed {pools.seeds[0]}): {pools.verdict}"
        )
    if broker is not None:
        reads = "; ".join(
            f"{isolation} consumer: {count} records up to offset {end}"
            for isolation, (count, end) in broker.reads.items()
        )
        yield f"real broker, {len(broker.rows)} passes of its cleaner; {reads}: {broker.verdict}"
    if result.seek is not None:
        yield result.seek.summary
    yield from (one.summary for one in result.partitions)
    yield from (one.summary for one in result.clusters)


def write_page(result: ConformanceResult, path: Path) -> None:
    """Writes the page to a file.

    Raises:
        BadInput: It cannot be written.
    """
    first, *parts = TEMPLATE.read_text(encoding="utf-8").split("<!-- ")
    fields, said = _fields(result), [first]
    for part in parts:
        name, _, text = part.partition(" -->\n")
        if getattr(result, name):
            said.append(text)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write("".join(said).format_map(fields).encode())


def _fields(result: ConformanceResult) -> dict[str, object]:
    """Values of the fields in the braces of the template."""
    random, wrong = result.random, result.complaints
    fields: dict[str, object] = {
        "version": result.version,
        "preset": result.preset,
        "command": result.command,
        "verdict": " ".join(
            ["**Not as expected.**" if wrong else "**All agree.**", *(f"{one}." for one in wrong)]
        ),
        "random_counts": _table(
            ("", ""),
            ("different logs", f"{random.logs:,}"),
            ("steps, after each of which everything was compared", f"{random.counts['steps']:,}"),
            ("cleaning passes", f"{random.counts['passes']:,}"),
            ("records, markers included", f"{random.counts['records']:,}"),
            ("differences", "0" if random.difference is None else "1, the search ends there"),
            ("seed", random.seeds[0]),
        ),
        "step_fields": _names((*STEP_FIELDS, *CLEAN_FIELDS)),
        "batch_fields": _names(BATCH_FIELDS),
        "random_features": _happened(random),
    }
    if result.others is not None:
        old, pools = result.others.old, result.others.pools
        counts = (f"{old.counts[name]:,}" for name in ("steps", "passes", "records"))
        seeds = ", ".join(map(str, old.seeds))
        fields |= {
            "old_version": result.others.version,
            "old_counts": _table(
                ("seeds", "different logs", "steps", "cleaning passes", "records", "outcome"),
                (seeds, f"{old.logs:,}", *counts, old.verdict),
            ),
            "old_features": _happened(old),
            "pools": f"{pools.logs:,}",
            "pool_logs": f"{pools.counts['logs']:,}",
            "seed": pools.seeds[0],
            "pool_verdict": pools.verdict,
            "pool_features": _happened(pools),
        }
    return fields | _of_brokers(result)


def _of_brokers(result: ConformanceResult) -> dict[str, object]:
    """Values of the fields about a real broker and real clusters."""
    fields: dict[str, object] = {}
    if result.broker is not None:
        fields["passes"] = _table(
            PASS_TITLES,
            *result.broker.rows,
        )
        fields["readers"] = _table(
            ("consumer", "records read", "up to offset", "with Replog"),
            *((name, *read, result.broker.verdict) for name, read in result.broker.reads.items()),
        )
        fields["broker_features"] = "; ".join(sorted(result.broker.features))
    if result.seek is not None:
        seek = result.seek
        fields["seek_seconds"] = seek.seconds
        fields["seek_rows"] = _table(
            ("topic", "a new read_committed consumer", "passes", "with Replog"),
            *(
                (name.replace("_", " "), said, len(seek.runs[name][0].passes), seek.verdict)
                for name, said in seek.outcomes.items()
            ),
        )
    fields["partitions"] = "\n".join(f"- {one.summary}" for one in result.partitions)
    rows = []
    for cluster in result.clusters:
        for story, seen in cluster.seen.items():
            link = f"[{story}](../{STORIES}/{story}.yaml)"
            read = [
                " ".join(one["consumer"]["reads"]) for one in seen.values() if "consumer" in one
            ]
            rows.append((cluster.version, link, ", ".join(seen), "; ".join(read)))
    titles = ("Kafka", "story", "moments", "what a new consumer reads in the end")
    fields["story_rows"] = _table(titles, *rows)
    took = [f"{one.version}: {one.seconds:.0f} seconds" for one in result.clusters]
    fields["cluster_seconds"] = "; ".join(took)
    return fields


def _happened(compared: Compared) -> str:
    rows = ((name, f"{compared.features[name]:,}") for name in compared.expected)
    return _table(("what", "logs"), *rows)


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(titles: Sequence[str], *rows: Sequence[object]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines).replace(
        f"| {' | '.join(['---'] * len(titles))} |", f"|{'---|' * len(titles)}"
    )
