"""Which of the violations that were seen a scenario has judged: they alone decide its verdict."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from sim.check.violation import Violation


class Judged(NamedTuple):
    """Violations, each part in order of detection.

    Attributes:
        violations: Of what is judged.
        not_judged: Of the rest, for a note.
    """

    violations: tuple[Violation, ...]
    not_judged: tuple[Violation, ...]


def judged(
    seen: Iterable[Violation],
    *,
    expected: Collection[str],
    checked: Collection[str] | None,
    by_default: Collection[str],
) -> Judged:
    """Part what was seen.

    Args:
        seen: In order of detection.
        expected: What is to be violated, which is judged whatever `checked` says.
        checked: What the scenario says is judged; None = it does not say.
        by_default: What is judged where the scenario does not say.
    """
    names = {*expected, *(by_default if checked is None else checked)}
    parts: dict[bool, list[Violation]] = {True: [], False: []}
    for violation in seen:
        parts[violation.invariant in names].append(violation)
    return Judged(tuple(parts[True]), tuple(parts[False]))


def not_as_expected(
    violated: Collection[str], expected: Collection[str], *, ended: bool
) -> list[str]:
    """Where what is violated is not what is expected, a line each.

    What a run that did not end has not shown, it may have been cut off from: that is no difference.
    """
    out = [unexpected(name) for name in sorted({*violated} - {*expected})]
    missing = sorted({*expected} - {*violated}) if ended else []
    return out + [f"{name} was not violated, but expected" for name in missing]


def unexpected(invariant: str) -> str:
    """That an invariant is violated that should not be."""
    return f"{invariant} was violated, not expected"


def not_judged_note(not_judged: Iterable[Violation]) -> list[str]:
    """The line that names what was seen and not judged; none where nothing was."""
    names = dict.fromkeys(violation.invariant for violation in not_judged)
    return [f"not judged here: {', '.join(names)}; `checked` would"] if names else []
