"""The page `reports/conformance.md`: what was compared with which Kafka, and what came out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sim.files.atomic import replacing
from tests.conformance.beside import BesideResult
from tests.conformance.beside_page import beside_lines, beside_sections
from tests.conformance.broker_compare import BrokerResult
from tests.conformance.cluster_all import RealResult
from tests.conformance.cluster_page import real_sections
from tests.conformance.compare import BATCH_FIELDS, CLEAN_FIELDS, STEP_FIELDS
from tests.conformance.features import features_expected
from tests.conformance.noticing import Noticed, section, unnoticed
from tests.conformance.random_runs import Compared


@dataclass(frozen=True, slots=True)
class ConformanceResult:
    """A whole conformance run.

    Attributes:
        version: The Kafka release that answered.
        random: The random comparison.
        broker: The comparison with a real broker; None = left out.
        command: What made it.
        noticed: What came of the planted errors; None = left out.
        real: What brokers and clusters did that show bugs of Kafka; None = left out.
        beside: The comparison with an old release, and of choices among logs; None = left out.
    """

    version: str
    random: Compared
    broker: BrokerResult | None
    command: str
    noticed: Sequence[Noticed] | None = None
    real: RealResult | None = None
    beside: BesideResult | None = None

    @property
    def complaints(self) -> list[str]:
        """What is wrong, one sentence each; none = Replog keeps what Kafka keeps."""
        found = []
        if self.random.difference is not None:
            found.append(f"random logs: {self.random.difference}")
        found.extend(
            f"random logs: in none of them: {name}; raise --count"
            for name in (self.random.never if self.random.difference is None else ())
        )
        if self.broker is not None and self.broker.difference is not None:
            found.append(f"broker: {self.broker.difference}")
        if self.real is not None:
            found.extend(self.real.complaints)
        if self.beside is not None:
            found.extend(self.beside.complaints)
        return [*found, *unnoticed(self.noticed or ())]


def write_page(result: ConformanceResult, path: Path) -> None:
    """Write the page.

    Raises:
        BadInput: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(("\n".join(_page(result)) + "\n").encode())


def summary(result: ConformanceResult) -> list[str]:
    """The outcome in a few lines for a terminal."""
    random, broker = result.random, result.broker
    first = (
        f"Kafka {result.version}, preset {random.preset}: {random.logs:,} different random logs"
        f" with {random.passes:,} cleaning passes and {random.records:,} records compared (seed"
        f" {random.seed}): {_verdict(random.difference)}"
    )
    lines = [first]
    if result.beside is not None:
        lines += beside_lines(result.beside)
    if broker is not None:
        reads = "; ".join(
            f"{isolation} consumer: {count} records up to offset {end}"
            for isolation, (count, end) in broker.reads.items()
        )
        lines.append(
            f"real broker, {len(broker.rows)} passes of its cleaner; {reads}:"
            f" {_verdict(broker.difference)}"
        )
    if result.real is not None:
        lines.extend(result.real.summary)
    if result.noticed is not None:
        found = [one.log for one in result.noticed if one.log is not None]
        lines.append(f"planted errors: {len(found)} of {len(result.noticed)} noticed")
    return lines


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
    yield ""
    yield from _random(result.random)
    if result.beside is not None:
        yield from beside_sections(result.beside)
    if result.noticed is not None:
        yield from section(result.noticed)
    if result.broker is not None:
        yield from _broker(result.broker)
    if result.real is not None:
        yield ""
        yield from real_sections(result.real)


def _random(random: Compared) -> Iterator[str]:
    yield "## Random logs"
    yield ""
    yield (
        "Each log goes through Kafka's own cleaner classes, on segment files on disk, and through"
        f" `replog clean` with the preset `{random.preset}`."
    )
    yield ""
    yield from _table(
        ("", ""),
        (
            ("different logs", f"{random.logs:,}"),
            ("steps, after each of which everything was compared", f"{random.steps:,}"),
            ("cleaning passes", f"{random.passes:,}"),
            ("records, markers included", f"{random.records:,}"),
            ("differences", "0" if random.difference is None else "1, the search ends there"),
            ("seed", str(random.seed)),
        ),
    )
    yield ""
    compared = (*STEP_FIELDS, *CLEAN_FIELDS)
    yield f"Compared after every step: {_names(compared)}; of each batch {_names(BATCH_FIELDS)}."
    yield ""
    yield "What happened, and in how many of these logs; a row with 0 fails the run:"
    yield ""
    counts = ((name, f"{random.features[name]:,}") for name in features_expected(random.preset))
    yield from _table(("what", "logs"), counts)
    yield ""


def _broker(broker: BrokerResult) -> Iterator[str]:
    yield "## A real broker"
    yield ""
    yield (
        "One node in KRaft mode on loopback, and Kafka's own clients: values, deletes, records"
        " without a key from before the topic was compacted, idempotent and transactional producers"
        " with commits and aborts, an open transaction that holds the cleaner up. What the disk"
        " holds before the first pass becomes a log file; after each pass of the broker's cleaner"
        " the segment files, the indexes of aborted transactions and the producers' last sequences"
        " must be what Replog answers."
    )
    yield ""
    rows = (
        (
            str(row.number),
            str(row.bound),
            _change(row.batches),
            _change(row.records),
            _change(row.tombstones),
            _change(row.markers),
            str(row.empty),
            str(row.horizons),
            row.clock,
        )
        for row in broker.rows
    )
    titles = ("pass", "up to offset", "batches", "records", "tombstones", "markers")
    after = ("empty batches left", "batches with a horizon", "the cleaner's clock")
    yield from _table((*titles, *after), rows)
    yield ""
    yield (
        "Counts are those of the whole partition just before the pass was made possible and just"
        " after it. The clock of a pass is read off a delete horizon that it wrote. Where it wrote"
        " none it does not matter, unless a horizon lies inside the time of the pass; then both"
        " sides of it are tried."
    )
    yield ""
    reads = (
        (isolation, str(count), str(end), _verdict(broker.difference))
        for isolation, (count, end) in broker.reads.items()
    )
    yield from _table(("consumer", "records read", "up to offset", "with Replog"), reads)
    yield ""
    yield f"What happened in these passes: {'; '.join(sorted(broker.features))}."


def _change(pair: tuple[int, int]) -> str:
    return f"{pair[0]} → {pair[1]}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{'---|' * len(titles)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
