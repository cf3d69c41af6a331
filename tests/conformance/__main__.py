"""`make conformance`: Replog's cleaner against Kafka's own, on random logs and on a real broker.

Exit status: 0 all agree and everything that can happen did; 1 not so; 2 it cannot be run: bad
usage, no Java, no network; 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from sim.errors import BadInput
from sim.files.atomic import check_writable
from tests.conformance.beside import Beside
from tests.conformance.broker_compare import BrokerResult, compare_broker_run
from tests.conformance.broker_run import run_on_broker
from tests.conformance.cluster_run import run_real
from tests.conformance.jars import KAFKA_VERSION, kafka_jars
from tests.conformance.kafka import KafkaCleaner
from tests.conformance.noticing import KeptLogs, Noticed, notice
from tests.conformance.page import ConformanceResult, summary, write_page
from tests.conformance.random_runs import Compared, compare_random
from tests.conformance.recordings import Agreed, Collection, write_file, write_recordings
from tests.conformance.seen_files import compare_seen

PAGE = Path("reports/conformance.md")
BROKER_PRESET = "kafka-4.0"
LINE_EVERY_SECONDS = 10.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    chosen = _parser().parse_args(given)
    status = Console(stderr=True)
    try:
        return _run(chosen, given, status)
    except BadInput as error:
        status.print(str(error), style="red", highlight=False, soft_wrap=True)
        return 2
    except KeyboardInterrupt:
        status.print("interrupted", highlight=False)
        return 130


def _run(chosen: argparse.Namespace, given: list[str], status: Console) -> int:
    if chosen.out.parent.is_dir():
        check_writable(chosen.out)
    kafka = KafkaCleaner(chosen.kafka)
    kept = Collection()
    is_newest, is_new = chosen.kafka == KAFKA_VERSION, kafka.preset == BROKER_PRESET
    under_way = None
    if chosen.beside and is_newest:
        under_way = Beside(chosen.kafka, chosen.seed, record=chosen.record)
    try:
        compared, noticed, noticing = _with_logs(chosen, kafka, kept, status)
    except BaseException:
        if under_way is not None:
            under_way.stop()
        raise
    seen = compare_seen(chosen.kafka, kafka.answer, record=chosen.record is not None)
    result = ConformanceResult(
        chosen.kafka,
        kafka.preset,
        compared,
        seen,
        _command(given),
        beside=None if under_way is None else under_way.result(),
        broker=_with_broker(chosen, status) if chosen.broker and is_new else None,
        noticed=noticed,
        real=run_real(say=_said(status)) if chosen.broker and is_newest else None,
    )
    write_page(result, chosen.out)
    output = Console(soft_wrap=True, highlight=False)
    for line in summary(result):
        output.print(line)
    for complaint in result.complaints:
        output.print(complaint, style="red")
    _show_documents(result, chosen.out, output)
    if chosen.record and not result.complaints:
        first = write_recordings(kept.chosen(chosen.record, noticing), version=chosen.kafka)
        for path in (first, *(result.real.record() if result.real is not None else ())):
            output.print(f"recording: {path}")
    output.print(f"report: {chosen.out}")
    return 1 if result.complaints else 0


def _with_logs(
    chosen: argparse.Namespace, kafka: KafkaCleaner, kept: Collection, status: Console
) -> tuple[Compared, list[Noticed] | None, list[Agreed]]:
    """Compare the random logs; then let them find the planted errors, None = not asked for.

    Beside both the logs that found one.
    """
    with TemporaryDirectory(prefix="replog-conformance-") as folder:
        answered = KeptLogs(Path(folder) / "logs.jsonl")

        def keep(case: Agreed) -> None:
            kept.add(case)
            answered.add(case)

        compared = compare_random(
            chosen.count,
            chosen.seed,
            kafka=kafka.answer,
            preset=kafka.preset,
            progress=_Lines(status, chosen.count),
            agreed=keep,
        )
        answered.close()
        if chosen.planted and compared.difference is None and kafka.preset == BROKER_PRESET:
            noticed = _with_planted(answered.path, status)
            return compared, noticed, answered.those_that_notice(noticed)
    return compared, None, []


def _with_planted(logs: Path, status: Console) -> list[Noticed]:
    def say(one: Noticed) -> None:
        outcome = "noticed by none" if one.log is None else f"noticed by log {one.log:,}"
        status.print(f"planted: {one.error.what}: {outcome}", highlight=False, soft_wrap=True)

    return notice(logs, progress=say)


class _Lines:
    """A line every ten seconds, when something else begins, and at the end."""

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
            line = f"{done:,} of {self._total:,} random logs: {doing}"
            self._console.print(line, highlight=False, soft_wrap=True)


def _with_broker(chosen: argparse.Namespace, status: Console) -> BrokerResult:
    say = _said(status, "broker: ")
    return compare_broker_run(run_on_broker(kafka_jars(chosen.kafka), chosen.seed, say=say))


def _said(status: Console, before: str = "") -> Callable[[str], None]:
    return lambda text: status.print(f"{before}{text}", highlight=False, soft_wrap=True)


def _show_documents(result: ConformanceResult, page: Path, output: Console) -> None:
    """Write the log files that show a difference beside the page; print the random one."""
    if result.random.document is not None:
        path = write_file(page.with_name(f"{page.stem}-difference.json"), result.random.document)
        output.print(json.dumps(result.random.document, indent=1), markup=False)
        output.print(f"the log file that shows it: {path}; replog clean {path}")
    if result.broker is not None and result.broker.difference is not None:
        path = write_file(page.with_name(f"{page.stem}-broker.json"), result.broker.document)
        output.print(f"the log file of the broker: {path}; replog clean {path}")


def _command(given: Sequence[str]) -> str:
    return " ".join(["python -m tests.conformance", *given]) if given else "make conformance"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance",
        description="Compare Replog's cleaner with Apache Kafka's own.",
    )
    parser.add_argument("--count", type=_count, default=2_000, help="random logs (2000)")
    parser.add_argument("--seed", type=int, default=280, help="of the random logs (280)")
    parser.add_argument("--kafka", default=KAFKA_VERSION, help=f"release ({KAFKA_VERSION})")
    parser.add_argument(
        "--record",
        type=_count,
        metavar="N",
        help="keep N agreed logs, and what brokers held",
    )
    parser.add_argument("--no-broker", dest="broker", action="store_false", help="start no broker")
    parser.add_argument(
        "--no-planted", dest="planted", action="store_false", help="plant no errors in the cleaner"
    )
    parser.add_argument(
        "--no-beside",
        dest="beside",
        action="store_false",
        help="neither Kafka 2.8.2 nor choices among several logs",
    )
    parser.add_argument("--out", type=Path, default=PAGE, help=f"the report ({PAGE})")
    return parser


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


if __name__ == "__main__":
    sys.exit(main())
