"""The comparison of a verdict with a grid: no sentence may claim what a cell denies."""

from collections.abc import Iterable

from sim.study.report.claims import Sentence
from sim.study.report.grid import Grid


def contradictions(grid: Grid, sentences: Iterable[Sentence]) -> list[str]:
    """Every claim that a cell of the grid contradicts, in words; empty for none."""
    said = {
        (claim.hazard, claim.unit, label): one.broken
        for sentence in sentences
        for claim in sentence.claims
        for label, one in claim.findings.items()
    }
    return [
        f"{one.hazard}: {one.unit} {'breaks' if one.broken else 'does not break'} it "
        f"under {one.alternative}"
        for one in grid.findings
        if said.get((one.hazard, one.unit, one.alternative), one.broken) != one.broken
    ]
