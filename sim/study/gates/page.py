"""What gates found, for a terminal, a program and a page of continuous integration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sim.files.foreign import markdown
from sim.study.gates.finding import Outcome
from sim.study.gates.judge import Verdict
from sim.study.gates.wanted import LEVEL
from sim.study.suite.annotations import error_command
from sim.study.sweep import wording

ORDER: tuple[Outcome, ...] = ("passed", "undecided", "failed")
"""What failed comes last, where a reader's eye is."""
_WORDS = {"passed": "passed   ", "undecided": "undecided", "failed": "FAILED   "}


def lines(verdict: Verdict) -> Iterator[str]:
    """One line for each finding, and one for all of them."""
    for outcome in ORDER:
        for one in verdict.findings:
            if one.outcome == outcome:
                yield f"{_WORDS[outcome]} {one.text}"
    yield summary(verdict)


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
    reproduce = [f"Reproduce: {markdown.code(verdict.reproduce)}", ""] if verdict.reproduce else []
    return "\n".join(
        [
            f"### {summary(verdict)}",
            "",
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
