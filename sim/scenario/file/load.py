"""From a scenario file to a `Scenario`, with every problem as `file:line: field: what is wrong`."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from sim.files.document import Document, Location, told_together
from sim.files.fields import check_format
from sim.files.formats import SCENARIO_FORMAT
from sim.files.models import validate
from sim.files.reading import read_document
from sim.scenario.file.build import build, check_expectations
from sim.scenario.file.format import ScenarioFile
from sim.scenario.model import Scenario


def load_scenario(
    path: Path,
    *,
    seed: int | None = None,
    known_invariants: Collection[str] = (),
    known_reached: Collection[str] = (),
) -> Scenario:
    """The scenario in a YAML or JSON file, `format: replog-scenario/1`.

    `seed` replaces the file's own, also for a random workload. The names in `expect` are looked up
    in `known_invariants` and `known_reached` unless those are empty.

    Raises:
        BadInput: One line per problem, `file:line: field: what is wrong, what is allowed`.
    """
    return scenario_in(
        read_document(path),
        path=path,
        seed=seed,
        known_invariants=known_invariants,
        known_reached=known_reached,
    )


def scenario_in(
    document: Document,
    *,
    path: Path,
    seed: int | None = None,
    known_invariants: Collection[str] = (),
    known_reached: Collection[str] = (),
) -> Scenario:
    """The scenario in a document, wherever that was read. Else as `load_scenario`.

    `path` names the scenario without an `id`, and what it names itself is looked for beside it.
    """
    check_format(document, (SCENARIO_FORMAT,))
    file = validate(document, ScenarioFile)
    found: list[tuple[int, str]] = []

    def report(location: Location, text: str) -> None:
        found.append((document.line_of(location) or 0, document.problem(location, text)))

    scenario = build(file, path=path, seed=seed, report=report)
    check_expectations(file, report, known_invariants=known_invariants, known_reached=known_reached)
    if found:
        raise told_together(list(dict.fromkeys(line for _number, line in sorted(found))))
    return scenario
