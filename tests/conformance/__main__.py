"""`make conformance`: Replog's cleaner against Kafka's own, on random logs and on a real broker.

Exit status: 0 if all agree and every feature occurred; 1 if not; 2 if it cannot run, as with bad
usage, without Java or network; 130 if interrupted.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from sim.errors import BadInput
from sim.files.atomic import check_writable
from tests.conformance.broker_compare import compare_broker_run
from tests.conformance.broker_index_seek import compare_index_seek, record_index_seek
from tests.conformance.broker_run import run_on_broker
from tests.conformance.jvm import KAFKA_VERSION, kafka_jars
from tests.conformance.kafka import KafkaCleaner
from tests.conformance.page import ConformanceResult, summary, write_page
from tests.conformance.partitions import compare_partitions
from tests.conformance.random_runs import compare_random, other_comparisons
from tests.conformance.recordings import Collection, compare_seen, write_file, write_recordings
from tests.conformance.stories import CLUSTERS, run_on_cluster

PAGE = Path("reports/conformance.md")
BROKER_PRESET = "kafka-4.0"
LINE_EVERY_SECONDS = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the comparisons that the command line names; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    status = Console(stderr=True, soft_wrap=True, highlight=False)
    try:
        return _run(_parser().parse_args(given), given, status)
    except BadInput as error:
        status.print(str(error), style="red")
        return 2
    except KeyboardInterrupt:
        status.print("interrupted")
        return 130


def _run(chosen: argparse.Namespace, given: list[str], status: Console) -> int:
    if chosen.out.parent.is_dir():
        check_writable(chosen.out)
    kafka = KafkaCleaner(chosen.kafka)
    kept = Collection()
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
            progress=_Lines(status, chosen.count),
            agreed=kept.add,
        )
        seen = compare_seen(chosen.kafka, kafka.answer, record=chosen.record is not None)
        others = None if wait_for_others is None else wait_for_others()
    broker = seek = None
    if with_broker:
        say: Callable[[str], None] = lambda text: status.print(f"broker: {text}")  # noqa: E731
        run = run_on_broker(kafka_jars(chosen.kafka), chosen.seed, say=say)
        broker = compare_broker_run(run)
    clusters, partitions = [], []
    if with_broker and is_newest:
        seek = compare_index_seek(chosen.kafka, say=status.print)
        clusters = [run_on_cluster(version, say=status.print) for version in CLUSTERS]
        partitions = compare_partitions(chosen.seed, say=status.print)
    result = ConformanceResult(
        chosen.kafka,
        kafka.preset,
        compared,
        seen,
        "make conformance" if is_plain else " ".join(["python -m tests.conformance", *given]),
        others=others,
        broker=broker,
        seek=seek,
        clusters=clusters,
        partitions=partitions,
    )
    write_page(result, chosen.out)
    output = Console(soft_wrap=True, highlight=False)
    for line in summary(result):
        output.print(line)
    for complaint in result.complaints:
        output.print(complaint, style="red")
    for name, one in (("difference", compared), ("broker", broker)):
        if one is not None and one.difference is not None and one.document is not None:
            path = write_file(chosen.out.with_name(f"{chosen.out.stem}-{name}.json"), one.document)
            output.print(json.dumps(one.document, indent=1), markup=False)
            output.print(f"the log file that shows it: {path}; replog clean {path}")
    if chosen.record and not result.complaints:
        written = [write_recordings(kept.chosen(chosen.record), version=chosen.kafka)]
        written += [] if seek is None else record_index_seek(seek)
        written += [path for cluster in clusters for path in cluster.record()]
        for path in written:
            output.print(f"recording: {path}")
    output.print(f"report: {chosen.out}")
    return 1 if result.complaints else 0


class _Lines:
    """Prints progress every ten seconds, when an activity begins, and at the end."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
        self._doing = ""
        self._next = time.monotonic() + LINE_EVERY_SECONDS

    def __call__(self, done: int, doing: str) -> None:
        now = time.monotonic()
        news = self._doing not in {doing, ""}
        self._doing = doing
        if news or done == self._total or now >= self._next:
            self._next = now + LINE_EVERY_SECONDS
            self._console.print(f"{done:,} of {self._total:,} random logs: {doing}")


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
