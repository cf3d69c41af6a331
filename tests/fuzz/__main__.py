"""Tries random inputs on every reader of Replog: `make fuzz`, or `python -m tests.fuzz`.

Goes round the readers until the time is up; then, or at Ctrl-C, says what was tried and found. The
smallest case of each finding is kept in build/fuzz/, and `--replay FILE` tries it again. Exit
status: 0 nothing found, 1 something, 2 bad usage, 130 interrupted with nothing found.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path

from tests.fuzz import rounds
from tests.fuzz.case import Case, from_json, to_json
from tests.fuzz.hunting import Finding, Round
from tests.fuzz.oracle import Answer
from tests.fuzz.readers import cases
from tests.fuzz.report import section, table
from tests.fuzz.running import ROOT, SECONDS, Runner
from tests.sections import put_into

CORPUS = Path(__file__).parent / "corpus"
KEPT = ROOT / "build/fuzz"
EXAMPLES = 60
PROGRESS_SECONDS = 30.0


def main() -> int:
    """Reads the arguments and does as they say."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="what is a hang")
    parser.add_argument("--readers", nargs="*", metavar="NAME", help="those alone")
    parser.add_argument("--examples", type=int, default=EXAMPLES, help="a round has so many")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="this case, and no search")
    parser.add_argument("--keep", type=Path, metavar="CLASS/NAME", help="--replay: in the corpus")
    parser.add_argument("--report", type=Path, metavar="FILE", help="put the figures there")
    given = parser.parse_args()
    if given.replay:
        return _replay(given.replay, given.seconds, given.keep)
    totals: dict[str, Round] = {}
    began = time.monotonic()
    interrupted = False
    try:
        for done in _rounds(given, began + given.minutes * 60):
            totals.setdefault(done.reader, Round(done.reader)).add(done)
    except KeyboardInterrupt:
        interrupted = True
    minutes = (time.monotonic() - began) / 60
    print(f"seed {given.seed}, {minutes:.1f} minutes", *table(totals.values()), sep="\n")
    findings = [found for one in totals.values() for found in one.findings.values()]
    if given.report:
        put_into(given.report, "fuzz", section(totals.values(), minutes=minutes, seed=given.seed))
    if findings:
        print(f"{len(findings)} findings, in {KEPT.relative_to(ROOT)}")
        return 1
    return 130 if interrupted else 0


def _rounds(given: argparse.Namespace, until: float) -> Iterator[Round]:
    """The rounds as they end; new findings are kept and told at once."""
    names = given.readers or None
    known: dict[str, Finding] = {}
    number = given.seed * 1_000_003
    told = time.monotonic()
    tried = 0
    pool = ProcessPoolExecutor(
        given.jobs, get_context("spawn"), initializer=rounds.start, initargs=(given.seconds,)
    )
    waiting: set[Future[Round]] = set()
    turn = 0
    try:
        readers = names or pool.submit(rounds.names).result()
        while waiting or time.monotonic() < until:
            while len(waiting) < given.jobs and time.monotonic() < until:
                reader = readers[turn % len(readers)]
                turn, number = turn + 1, number + 1
                left = until - time.monotonic()
                waiting.add(
                    pool.submit(rounds.one, reader, number, given.examples, tuple(known), left)
                )
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for one in done:
                result = one.result()
                tried += result.tried
                for sign, found in result.findings.items():
                    if sign not in known:
                        known[sign] = found
                        _keep(found)
                yield result
            if time.monotonic() - told > PROGRESS_SECONDS:
                told = time.monotonic()
                print(f"{tried} tried, {len(known)} findings", file=sys.stderr, flush=True)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _keep(found: Finding) -> None:
    """Write the case down and tell where."""
    KEPT.mkdir(parents=True, exist_ok=True)
    name = "".join(one if one.isalnum() else "_" for one in found.signature)[:90].strip("_")
    path = KEPT / f"{name}.json"
    path.write_text(to_json(found.case, fault=found.fault, seed=found.seed))
    words = " ".join(found.case.argv)[:100]
    print(f"{found.fault[:300]}\n  replog {words!a}\n  {path.relative_to(ROOT)}", flush=True)


def _replay(path: Path, seconds: float, keep: Path | None) -> int:
    """Try one kept case again and show the answer."""
    case = from_json(path.read_text())
    with Runner(seconds) as runner:
        if case.start:
            cases(runner)
        answer, found = runner.answer(case)
    sys.stdout.write(answer.out.decode(errors="backslashreplace")[:5_000])
    sys.stderr.write(answer.err.decode(errors="backslashreplace")[:5_000])
    print(f"status {answer.status}, {answer.seconds:.1f} s, {answer.peak_bytes >> 20} MB", *found,
          sep="\n")  # fmt: skip
    if keep and not found:
        _into_corpus(case, answer, CORPUS / keep.with_suffix(".json"))
    return 1 if found else 0


def _into_corpus(case: Case, answer: Answer, path: Path) -> None:
    """With what it answers now, to be looked at: the status, and whom the complaint names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    line = next(iter(answer.err.decode().splitlines()), "")
    path.write_text(to_json(case, status=[answer.status], says=[" ".join(line.split(" ")[:2])]))


if __name__ == "__main__":
    sys.exit(main())
