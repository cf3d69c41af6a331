"""A failure of a suite in about ten lines: expected, found, the sentence, the logs, the command."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sim.check.judged import not_as_expected
from sim.files.foreign.lines import LONGEST, one_line
from sim.study.suite.result import BAD_INPUT, ERROR, CaseResult

DIFFERENCES = 4
SENTENCES = 2
"""Of differences, and of violations, so many lines are shown; the command shows them all."""


def failure_lines(result: CaseResult, *, whole: bool = False) -> list[str]:
    """What a developer needs of a result that is not as expected, but for its path and title.

    Args:
        result: The result.
        whole: All differences and violations, for a file that a machine reads.
    """
    told = (one_line(line, longest=LONGEST) for line in _what(result, whole=whole))
    return [*told, f"reproduce: {result.command}"]


def found_and_expected(result: CaseResult) -> list[str]:
    """The verdict that was expected and the one that came; empty where a file cannot say one."""
    if result.expected is None:
        return []
    violated = {violation.invariant for violation in result.outcome.violations}
    names = [name for name in result.expected if name in violated]
    names += [violation.invariant for violation in result.unexpected]
    found = [] if result.reason is None else [f"{result.verdict}: {result.reason}"]
    found += [_verdict(names)] if names or not found else []
    return [f"expected: {_verdict(result.expected)}", f"found: {'; '.join(found)}"]


def beside(result: CaseResult, *, whole: bool = False) -> Iterator[str]:
    """What is told of a failure as a whole: the records concerned, notes, what replicas held."""
    yield from _first(None if whole else SENTENCES, list(result.why), "records")
    yield from result.notes
    yield from result.strip.split("\n") if result.strip else ()


def _what(result: CaseResult, *, whole: bool) -> Iterator[str]:
    if result.verdict in (BAD_INPUT, ERROR):
        yield from f"{result.verdict}: {result.reason}".splitlines()
        return
    told: set[str] = set()
    if result.expected is not None:
        yield from found_and_expected(result)
        violated = {violation.invariant for violation in result.outcome.violations}
        told = set(not_as_expected(violated, result.expected, ended=True))
    elif result.reason is not None:
        yield result.complaints[0]
    differences = [line for line in result.differences if line not in told]
    yield from _first(None if whole else DIFFERENCES, differences, "differences")
    unit = "{} ms" if result.run is None or result.run.unit == "ms" else "step {}"
    sentences = [
        f"{one.invariant} ({unit.format(one.at)}): {one.sentence}" for one in result.unexpected
    ]
    yield from _first(None if whole else SENTENCES, sentences, "violations")
    yield from beside(result, whole=whole)


def _verdict(violated: Iterable[str]) -> str:
    names = ", ".join(violated)
    return f"violated: {names}" if names else "holds"


def _first(count: int | None, lines: list[str], what: str) -> list[str]:
    if count is None or len(lines) <= count:
        return lines
    return [*lines[: count - 1], f"... and {len(lines) - count + 1} more {what}"]
