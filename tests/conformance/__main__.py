"""`make conformance`: Replog's cleaner against Kafka's own, on random logs and on a real broker.

Exit status: 0 if all agree and every feature occurred; 1 if not; 2 if it cannot run, as with bad
usage, without Java or network; 130 if interrupted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from sim.files.atomic import check_writable
from tests.conformance.broker_compare import compare_broker_run
from tests.conformance.broker_index_seek import compare_index_seek, record_index_seek
from tests.conformance.broker_run import run_on_broker
from tests.conformance.jvm import KAFKA_VERSION
from tests.conformance.page import ConformanceResult, write_page
from tests.conformance.partitions import compare_partitions
from tests.conformance.random_runs import compare_logs, other_comparisons
from tests.conformance.recordings import write_file
from tests.conformance.running import exit_status
from tests.conformance.stories import CLUSTERS, run_on_cluster

PAGE = Path("reports/conformance.md")
BROKER_PRESET = "kafka-4.0"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the comparisons that the command line names; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    chosen = _parser().parse_args(given)
    return exit_status(lambda: _run(chosen, given))


def _run(chosen: argparse.Namespace, given: list[str]) -> int:
    if chosen.out.parent.is_dir():
        check_writable(chosen.out)
    version, seed, record = chosen.kafka, chosen.seed, chosen.record
    is_plain = {**vars(chosen), "record": None} == vars(_parser().parse_args([]))
    command = "make conformance" if is_plain else " ".join(["python -m tests.conformance", *given])
    if chosen.others and version == KAFKA_VERSION:
        with other_comparisons(version, seed, record) as (old, choices):
            random = compare_logs(version, [seed], chosen.count, record)
            result = ConformanceResult(version, command, random, old.result(), choices.result())
    else:
        random = compare_logs(version, [seed], chosen.count, record)
        result = ConformanceResult(version, command, random)
    if chosen.broker and random.preset == BROKER_PRESET:
        result.broker = compare_broker_run(run_on_broker(version, seed))
    if chosen.broker and version == KAFKA_VERSION:
        result.seek = compare_index_seek(version)
        result.clusters = [run_on_cluster(release) for release in CLUSTERS]
        result.partitions = list(compare_partitions(seed))
    write_page(result, chosen.out)
    _print(result, chosen.out)
    if record and not result.complaints:
        written = [] if result.seek is None else list(record_index_seek(result.seek))
        written += [path for cluster in result.clusters for path in cluster.record()]
        for path in written:
            print(f"recording: {path}")
    return 1 if result.complaints else 0


def _print(result: ConformanceResult, page: Path) -> None:
    """Prints the outcome, and the log file that shows a difference."""
    output = Console(soft_wrap=True, highlight=False)
    for part in result.parts:
        output.print(part.summary, markup=False)
        for complaint in part.complaints:
            output.print(complaint, style="red", markup=False)
    for name, one in (("difference", result.random), ("broker", result.broker)):
        if one is not None and one.differences and one.document:
            path = write_file(page.with_name(f"{page.stem}-{name}.json"), one.document)
            output.print(json.dumps(one.document, indent=1), markup=False)
            output.print(f"the log file that shows it: {path}; replog clean {path}")
    output.print(f"report: {page}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance",
        description="Compare Replog's cleaner with Apache Kafka's own.",
    )
    parser.add_argument("--count", type=_count, default=2_000, help="random logs (2000)")
    parser.add_argument("--seed", type=int, default=280, help="of the random logs (280)")
    parser.add_argument("--kafka", default=KAFKA_VERSION, help=f"release ({KAFKA_VERSION})")
    parser.add_argument(
        "--record", type=_count, metavar="N", help="keep N agreed logs, and what brokers held"
    )
    for name, left_out in (
        ("broker", "start no broker"),
        ("others", "neither Kafka 2.8.2 nor choices among several logs"),
    ):
        parser.add_argument(f"--no-{name}", dest=name, action="store_false", help=left_out)
    parser.add_argument("--out", type=Path, default=PAGE, help=f"the report ({PAGE})")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


if __name__ == "__main__":
    sys.exit(main())
