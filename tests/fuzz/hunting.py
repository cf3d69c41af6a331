"""Looks for cases with a faulty answer, and makes each it finds small."""

import random
import re
import time
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import HypothesisWarning

from tests.fuzz.case import Case
from tests.fuzz.oracle import Answer, kind_of
from tests.fuzz.readers import Cases
from tests.fuzz.running import Runner

SHRINK_TRIES = 150
SHRINK_SECONDS = 12.0
TWICE_EVERY = 60
"""One case in so many is run again, in a new process with another hash seed."""


@dataclass(frozen=True)
class Finding:
    """A case whose answer has a fault.

    Attributes:
        signature: The same for what is most likely the same defect.
        fault: What is wrong, as the oracle said.
        case: The smallest that was met.
        seed: Of the round that found it.
    """

    signature: str
    fault: str
    case: Case
    seed: int


@dataclass
class Round:
    """What some cases of one reader gave.

    Attributes:
        reader: Which.
        answers: How many ended with each status.
        twice: How many were run twice.
        slowest_seconds: The longest that one took.
        peak_bytes: The most memory one had.
        findings: By signature.
    """

    reader: str
    answers: Counter[str] = field(default_factory=Counter)
    twice: int = 0
    slowest_seconds: float = 0.0
    peak_bytes: int = 0
    findings: dict[str, Finding] = field(default_factory=dict)

    @property
    def tried(self) -> int:
        """Cases in all."""
        return sum(self.answers.values())

    def add(self, other: "Round") -> None:
        """Count another round of the same reader in."""
        self.answers += other.answers
        self.twice += other.twice
        self.slowest_seconds = max(self.slowest_seconds, other.slowest_seconds)
        self.peak_bytes = max(self.peak_bytes, other.peak_bytes)
        for signature, found in other.findings.items():
            known = self.findings.get(signature)
            if known is None or found.case.size < known.case.size:
                self.findings[signature] = found


class _Enough(BaseException):
    """Ends a search from inside: nothing catches it but `hunt`."""


class _Found(Exception):
    """A fault to be made small."""


def signature(case: Case, fault: str) -> str:
    """What a fault has in common with others of the same defect: no numbers, no names of files."""
    plain = re.sub(r"'[^']*'|\"[^\"]*\"|0x[0-9a-f]+|[0-9]+", "_", fault)
    place = f"{case.reader}, {case.command}: "
    if kind_of(fault) == "traceback":
        place = ""
    elif kind_of(fault) in ("form", "text"):
        place = f"{case.reader}: "
    elif case.stdout != "file":
        place = f"{case.stdout} stdout: "
    return f"{place}{plain[:110]}"


STATUS = {0: "accepted", 1: "failed", 2: "refused", 3: "inconclusive", 130: "interrupted"}


def hunt(
    runner: Runner,
    reader: str,
    cases: Cases,
    *,
    number: int,
    examples: int,
    known: Iterable[str] = (),
    until: float = float("inf"),
) -> Round:
    """Try so many cases of a reader, the same for the same `number`.

    What is `known` is counted, and not made small again. Ends at `until`, of `time.monotonic`.
    """
    result = Round(reader)
    seen = set(known)
    chance = random.Random(number)
    small: list[str] = []  # the signature that is being made small, when there is one
    tries = 0
    stop = until

    def attempt(case: Case) -> None:
        nonlocal tries, stop
        if time.monotonic() > stop or tries > SHRINK_TRIES:
            raise _Enough
        case = replace(case, reader=reader)
        answer, found = runner.answer(case)
        if not small:
            _count(result, answer)
            if not found and chance.random() < 1 / TWICE_EVERY:
                result.twice += 1
                found = differences(case, answer, runner.again(case))
        new = {signature(case, one): one for one in found}
        for sign, fault in new.items():
            best = result.findings.get(sign)
            if sign not in seen and (best is None or case.size < best.case.size):
                result.findings[sign] = Finding(sign, fault, case, number)
        if not small:
            fresh = [sign for sign in new if sign not in seen]
            if not fresh:
                return
            small.append(fresh[0])
            # Making a hang small takes twenty seconds a try; two are worth it.
            stop = min(until, time.monotonic() + SHRINK_SECONDS)
        if small[0] in new:
            tries += 1
            raise _Found(small[0])

    search = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    warnings.simplefilter("ignore", HypothesisWarning)  # on cases that are large: so they are
    try:
        seed(number)(search(given(cases)(attempt)))()
    except (_Enough, _Found, Exception) as ended:
        if isinstance(ended, AssertionError | KeyboardInterrupt) or not (
            small or isinstance(ended, _Enough)
        ):
            raise
    return result


def _count(result: Round, answer: Answer) -> None:
    result.answers[STATUS.get(answer.status, "other")] += 1
    result.slowest_seconds = max(result.slowest_seconds, answer.seconds)
    result.peak_bytes = max(result.peak_bytes, answer.peak_bytes)


def differences(case: Case, first: Answer, second: tuple[int, bytes, bytes]) -> list[str]:
    """What is not the same when the same is asked twice; durations may differ."""
    status, out, err = second
    if 3 in (first.status, status) or case.stdout != "file" or case.command == "doctor":
        return []  # a bound on the time may be hit once; the second has no closed stdout
    if status != first.status:
        return [f"twice: status {first.status}, then {status}: {err[-300:]!r}"]
    for name, one, other in (("stdout", first.out, out), ("stderr", first.err, err)):
        if _timeless(one) != _timeless(other):
            return [f"twice: {name} differs: {_difference(_timeless(one), _timeless(other))}"]
    return []


def _timeless(content: bytes) -> str:
    text = content.decode(errors="replace")
    text = re.sub(r"replog-fuzz-\w+", "*", text)
    text = re.sub(r"(?m) +\d+\.\d$", "*", text)  # the last column of a table, `seconds`
    return re.sub(r"[\d,.]+ ?(ms|s|runs/s|MB)\b|\"[a-z_]*(seconds|_ms|time)\": [\d.]+", "*", text)


def _difference(one: str, other: str) -> str:
    for left, right in zip(one.splitlines(), other.splitlines(), strict=False):
        if left != right:
            return f"{left[:150]!r} and {right[:150]!r}"
    return f"{len(one)} and {len(other)} characters"
