"""`make conformance`: Replog's cleaner against Kafka's own, on random logs and on a real broker.

Exit status: 0 if all agree and every feature occurred; 1 if not; 2 if it cannot run, as with bad
usage, without Java or network; 130 if interrupted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from sim.files.atomic import check_writable
from tests.conformance.broker_compare import compare_broker_run
from tests.conformance.broker_index_seek import compare_index_seek, record_index_seek
from tests.conformance.broker_run import run_on_broker
from tests.conformance.jvm import KAFKA_VERSION, kafka_jars
from tests.conformance.kafka import KafkaCleaner
from tests.conformance.page import ConformanceResult, summary, write_page
from tests.conformance.partitions import compare_partitions
from tests.conformance.random_runs import Progress, compare_random, other_comparisons
from tests.conformance.recordings import Collection, compare_seen, write_file, write_recordings
from tests.conformance.running import Say, exit_status
from tests.conformance.stories import CLUSTERS, run_on_cluster

PAGE = Path("reports/conformance.md")
BROKER_PRESET = "kafka-4.0"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the comparisons that the command line names; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    chosen = _parser().parse_args(given)
    return exit_status(lambda say: _run(chosen, given, say))


def _run(chosen: argparse.Namespace, given: list[str], say: Say) -> int:
    if chosen.out.parent.is_dir():
        check_writable(chosen.out)
    kafka, kept = KafkaCleaner(chosen.kafka), Collection()
    with_broker = chosen.broker and kafka.preset == BROKER_PRESET
    is_newest = chosen.kafka == KAFKA_VERSION
    is_plain = {**vars(chosen), "record": None} == vars(_parser().parse_args([]))
    with ExitStack() as stack:
        wait_for_others = None
        if chosen.others and is_newest:
            running = other_comparisons(chosen.kafka, chosen.seed, record=chosen.record)
            wait_for_others = stack.enter_context(running)
        compared = compare_random(
            chosen.count,
            [chosen.seed],
            kafka=kafka.answer,
            preset=kafka.preset,
            progress=_progress(say, chosen.count),
            agreed=kept.add,
        )
        seen = compare_seen(chosen.kafka, kafka.answer, record=chosen.record is not None)
        others = None if wait_for_others is None else wait_for_others()
    result = ConformanceResult(
        chosen.kafka,
        kafka.preset,
        compared,
        seen,
        "make conformance" if is_plain else " ".join(["python -m tests.conformance", *given]),
        others=others,
    )
    if with_broker:
        run = run_on_broker(kafka_jars(chosen.kafka), chosen.seed, say=say)
        result.broker = compare_broker_run(run)
    if with_broker and is_newest:
        result.seek = compare_index_seek(chosen.kafka, say=say)
        result.clusters = [run_on_cluster(version, say=say) for version in CLUSTERS]
        result.partitions = compare_partitions(chosen.seed, say=say)
    write_page(result, chosen.out)
    _print(result, chosen.out)
    if chosen.record and not result.complaints:
        written = [write_recordings(kept.chosen(chosen.record), version=chosen.kafka)]
        written += [] if result.seek is None else record_index_seek(result.seek)
        written += [path for cluster in result.clusters for path in cluster.record()]
        for path in written:
            print(f"recording: {path}")
    return 1 if result.complaints else 0


def _print(result: ConformanceResult, page: Path) -> None:
    """Prints the outcome, and the log file that shows a difference."""
    output = Console(soft_wrap=True, highlight=False)
    for line in summary(result):
        output.print(line)
    for complaint in result.complaints:
        output.print(complaint, style="red")
    for name, one in (("difference", result.random), ("broker", result.broker)):
        if one is not None and one.difference is not None and one.document is not None:
            path = write_file(page.with_name(f"{page.stem}-{name}.json"), one.document)
            output.print(json.dumps(one.document, indent=1), markup=False)
            output.print(f"the log file that shows it: {path}; replog clean {path}")
    output.print(f"report: {page}")


def _progress(say: Say, total: int) -> Progress:
    """Prints every hundredth log, and what is not plain comparing."""

    def show(done: int, doing: str) -> None:
        if done % 100 == 0 or doing != "comparing":
            say(f"{done:,} of {total:,} random logs: {doing}")

    return show


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
