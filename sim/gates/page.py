"""What gates found, for a terminal, a program and a page of continuous integration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sim.foreign import markdown
from sim.gates.finding import Finding, Outcome
from sim.gates.judge import Verdict
from sim.gates.wanted import LEVEL
from sim.suite.reports import error_command
from sim.sweeps import wording

ORDER: tuple[Outcome, ...] = ("passed", "undecided", "failed")
"""What failed comes last, where a reader's eye is."""
_WORDS = {"passed": "passed   ", "undecided": "undecided", "failed": "FAILED   "}


def lines(verdict: Verdict, *, passed: int) -> Iterator[str]:
    """One line for each finding; of those that passed no more than `passed`, then their number."""
    by_outcome = {
        outcome: [one for one in verdict.findings if one.outcome == outcome] for outcome in ORDER
    }
    for note in verdict.notes:
        yield f"note: {note}"
    telling = [one for one in by_outcome["passed"] if _says_something(one)]
    shown = sorted(telling, key=_interest)[:passed]
    for one in by_outcome["passed"]:
        if one in shown:
            yield f"{_WORDS['passed']} {one.text}"
    folded = {
        "more": len(telling) - len(shown),
        "seen in neither sweep": len(by_outcome["passed"]) - len(telling),
    }
    for what, count in folded.items():
        if count:
            yield f"{_WORDS['passed']} {count} {what}; --json has them all"
    for outcome in ORDER[1:]:
        for one in by_outcome[outcome]:
            yield f"{_WORDS[outcome]} {one.text}"
    yield summary(verdict)


def _says_something(one: Finding) -> bool:
    """Whether there is more to tell than that nothing was ever seen in either of two sweeps."""
    return one.earlier is None or bool(one.seen.violated or one.earlier.violated)


def _interest(one: Finding) -> tuple[int, float]:
    """What was violated comes first, and of it what came near to failing."""
    return (0 if one.seen.violated else 1, 1.0 if one.p is None else one.p)


def summary(verdict: Verdict) -> str:
    """All of it in one line."""
    told = wording.counted(len(verdict.findings), "comparison")
    outcomes = [one.outcome for one in verdict.findings]
    counts = ", ".join(
        f"{outcomes.count(outcome)} {outcome}" for outcome in ORDER if outcome in outcomes
    )
    return f"gates {verdict.outcome}: {told}, {counts} (level {wording.share(LEVEL)})"


def as_document(verdict: Verdict) -> dict[str, Any]:
    """For JSON."""
    return {
        "gates": verdict.outcome,
        "level": LEVEL,
        "notes": list(verdict.notes),
        "findings": [one.as_document() for one in verdict.findings],
        "reproduce": verdict.reproduce,
    }


def as_markdown(verdict: Verdict) -> str:
    """A heading and a table, with what failed first: a page is read from its top."""
    rows = [
        f"| {'**failed**' if one.outcome == 'failed' else one.outcome} "
        f"| {' | '.join(map(markdown.text, (one.asked, one.place.text, one.numbers)))} |"
        for outcome in reversed(ORDER)
        for one in verdict.findings
        if one.outcome == outcome
    ]
    notes = [f"- {markdown.text(note)}" for note in verdict.notes]
    reproduce = [f"Reproduce: {markdown.code(verdict.reproduce)}", ""] if verdict.reproduce else []
    return "\n".join(
        [
            f"### {summary(verdict)}",
            "",
            *([*notes, ""] if notes else []),
            "| | gate | runs | what was counted |",
            "|---|---|---|---|",
            *rows,
            "",
            *reproduce,
        ]
    )


def error_commands(verdict: Verdict) -> Iterator[str]:
    """Annotations of GitHub Actions, one for each comparison that failed, with a run of its own."""
    for one in verdict.failed:
        told = filter(None, [one.text, verdict.shown_by(one)])
        yield error_command("\n".join(told), title=f"replog gate: {one.asked}")
