"""Runs of a sweep without a verdict that should have one: exceptions, and bounds that were hit."""

from __future__ import annotations

from typing import Any, NamedTuple

from sim.simulate.run.timed import LEFT_THE_CONTRACT


class Unjudged(NamedTuple):
    """Numbers of runs without a verdict.

    Attributes:
        errors: Runs that ended in an exception.
        unfinished: Inconclusive runs that did not leave the durability contract.
        first_run: The lowest number of one; None in a green sweep.
    """

    errors: int
    unfinished: int
    first_run: int | None

    def in_words(self, runs: int) -> str:
        """One line about them in a sweep of so many runs; empty for a green sweep."""
        counts = {"ended in an exception": self.errors, "hit a bound": self.unfinished}
        told = " and ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        return f"not green: of {runs:,} runs {told}" if told else ""


def unjudged(content: dict[str, Any]) -> Unjudged:
    """Counts them in the statistics; runs that left the durability contract need no verdict."""
    errors = unfinished = 0
    first: list[int] = []
    for entry in content["rule_sets"]:
        verdicts, reasons = entry["counts"]["verdict"], dict(entry["counts"]["reason"])
        failed = verdicts["error"]["runs"]
        outside = reasons.pop(LEFT_THE_CONTRACT, {"runs": 0})["runs"]
        cut_off = verdicts["inconclusive"]["runs"] - outside
        errors, unfinished = errors + failed, unfinished + cut_off
        if failed:
            first.append(verdicts["error"]["first_run"])
        first += [seen["first_run"] for seen in reasons.values()]
    return Unjudged(errors, unfinished, min(first, default=None))
