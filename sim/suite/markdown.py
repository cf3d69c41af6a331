"""What came of a suite as a page of Markdown, such as the summary of a job on GitHub."""

from __future__ import annotations

from collections.abc import Sequence

from sim.foreign import markdown
from sim.suite.failure import failure_lines
from sim.suite.result import CaseResult

SLOWEST = 5


def page(results: Sequence[CaseResult], notes: Sequence[str], summary: str) -> str:
    """The page.

    Args:
        results: In order of their files.
        notes: What the command prints behind the failures, such as which files were not run.
        summary: Its last line.
    """
    failed = [result for result in results if not result.expectation_met]
    lines = [f"### Replog: {summary}", ""]
    if failed:
        lines += ["| file | not as expected |", "|---|---|"]
        lines += [
            f"| {markdown.text(str(one.path))} | {markdown.text(one.complaints[0])} |"
            for one in failed
        ]
        lines.append("")
    for one in failed:
        lines += [f"<details><summary>{markdown.in_html(_named(one))}</summary>", ""]
        lines += [markdown.block(failure_lines(one)), "", "</details>", ""]
    noted = [one for one in results if one.expectation_met and one.notes]
    if noted:
        lines += ["| file | as expected, with a note |", "|---|---|"]
        lines += [
            f"| {markdown.text(str(one.path))} | {markdown.text('; '.join(one.notes))} |"
            for one in noted
        ]
        lines.append("")
    slowest = sorted(results, key=lambda one: one.wall_ms, reverse=True)[:SLOWEST]
    told = ", ".join(f"{markdown.text(one.id)} {one.wall_ms:,} ms" for one in slowest)
    lines += [*(f"{markdown.text(note)}  " for note in notes), f"slowest: {told}"]
    return "\n".join(lines) + "\n"


def _named(result: CaseResult) -> str:
    return f"{result.id}: {result.title}" if result.title else result.id
