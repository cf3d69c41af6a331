"""The page `reports/conformance.md`: the comparisons with each release, and their results.

Its text is `page_template.md`, without the parts that were left out of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from sim.files.atomic import replacing
from tests.conformance.broker_compare import BrokerResult
from tests.conformance.broker_index_seek import SeekResult
from tests.conformance.cluster import STORIES
from tests.conformance.compare import BATCH_FIELDS, CLEAN_FIELDS, STEP_FIELDS
from tests.conformance.partitions import PartitionsResult
from tests.conformance.random_runs import Compared, OtherResults
from tests.conformance.stories import ClusterResult

TEMPLATE = Path(__file__).with_name("page_template.md")


@dataclass(slots=True)
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
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - Markdown
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["number"] = "{:,}".format
    page = environment.from_string(TEMPLATE.read_text(encoding="utf-8")).render(
        result=result,
        step_fields=(*STEP_FIELDS, *CLEAN_FIELDS),
        batch_fields=BATCH_FIELDS,
        stories=STORIES,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(page.encode())
