"""From a scenario file to a `Scenario`, with every problem as `file:line: field: what is wrong`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from sim.files.document import Complaints, Document, Location
from sim.files.fields import check_format
from sim.files.formats import SCENARIO_FORMAT
from sim.files.models import check_size, shaped
from sim.files.reading import read_document
from sim.simulate.scenario.file.build import build, check_expectations
from sim.simulate.scenario.file.format import ScenarioFile
from sim.simulate.scenario.model import Scenario

_FILE = TypeAdapter(ScenarioFile)
_COMPARED_WITH = {
    "asks": ("rules", "duration_ms"),
    "broker": ("rules", "topic", "replicas"),
    "changes": (
        *("rules", "topic", "broker", "replicas", "consumers"),
        *("workload", "faults", "duration_ms"),
    ),
    "consumers": ("replicas",),
    "faults": ("replicas", "duration_ms"),
    "last_rounds": ("rules", "topic"),
    "network": ("replicas",),
    "replicas": ("broker",),
    "rules": ("replicas",),
    "topic": ("rules", "broker", "replicas"),
    "workload": ("rules", "topic", "broker", "duration_ms"),
}
"""By field of a file, the others that decide whether it is right."""


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
    check_size(document)
    wrong, unread = Complaints(), set[str]()
    file: ScenarioFile | None = None
    with wrong:
        file = shaped(document.data, document.top, _FILE)
    if file is None:
        file, unread = _readable(document)

    def report(location: Location, text: str) -> None:
        if unread.isdisjoint(_COMPARED_WITH.get(str(location[0]), ())):
            wrong.add(document.problem(location, text))

    scenario = build(file, path=path, seed=seed, report=report)
    check_expectations(file, report, known_invariants=known_invariants, known_reached=known_reached)
    wrong.end(document)
    return scenario


def _readable(document: Document) -> tuple[ScenarioFile, set[str]]:
    """The scenario without the fields that are wrong by themselves, and the names of these.

    What contradicts what in the rest is told beside what is wrong with them.
    """
    read: dict[str, Any] = {}
    for name, value in document.data.items():
        with suppress(ValidationError):
            _read({name: value})
            read[name] = value
    return _read(read), document.data.keys() - read.keys()


def _read(values: Mapping[str, Any]) -> ScenarioFile:
    return ScenarioFile.model_validate_json(json.dumps({"format": SCENARIO_FORMAT, **values}))
