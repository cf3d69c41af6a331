"""A failure of a suite in about ten lines: expected, found, the sentences, how to run it again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sim.check import Violation
from sim.suite.result import BAD_INPUT, ERROR, CaseResult

LINES = 4
"""So many differences are shown, and so many sentences; the command shows them all."""


def failure_lines(result: CaseResult, *, whole: bool = False) -> list[str]:
    """What a developer needs of a result that is not as expected; the path stands elsewhere.

    Args:
        result: The result.
        whole: All differences and violations, for a file that a machine reads.
    """
    return [*_what(result, LINES if not whole else None), f"reproduce: {result.command}"]


def _what(result: CaseResult, lines: int | None) -> Iterator[str]:
    if result.verdict in (BAD_INPUT, ERROR):
        yield f"{result.verdict}: {result.reason}"
        return
    if result.title:
        yield result.title
    told: set[str] = set()
    unexpected: list[Violation] = []
    if result.expected is not None:
        violations = _that_count(result)
        unexpected = [one for one in violations if one.invariant not in result.expected]
        found = _verdict(violation.invariant for violation in violations)
        yield f"expected: {_verdict(result.expected)}"
        yield f"found: {found if result.reason is None else f'{found}; {result.complaints[0]}'}"
        told = {*result.expected, *(violation.invariant for violation in violations)}
    elif result.reason is not None:
        yield result.complaints[0]
    differences = [line for line in result.differences if line.split()[0] not in told]
    yield from _first(lines, differences, "differences")
    yield from _first(lines, [_sentence(one, result) for one in unexpected], "violations")


def _that_count(result: CaseResult) -> list[Violation]:
    """The first violation of each invariant that is expected, or that is not and is checked."""
    counts = {*(result.expected or ()), *(line.split()[0] for line in result.differences)}
    first: dict[str, Violation] = {}
    for violation in result.violations:
        if violation.invariant in counts:
            first.setdefault(violation.invariant, violation)
    return list(first.values())


def _verdict(violated: Iterable[str]) -> str:
    names = ", ".join(violated)
    return f"violated: {names}" if names else "holds"


def _sentence(violation: Violation, result: CaseResult) -> str:
    when = f"step {violation.at}" if result.is_story else f"{violation.at} ms"
    return f"{violation.invariant} ({when}): {violation.sentence}"


def _first(count: int | None, lines: list[str], what: str) -> list[str]:
    if count is None or len(lines) <= count:
        return lines
    return [*lines[: count - 1], f"... and {len(lines) - count + 1} more {what}"]
