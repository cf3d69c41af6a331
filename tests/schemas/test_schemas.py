"""Schemas for editors: each shipped file meets its own, wrong files meet none, all are current."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from sim.errors import BadInput
from sim.files.document import Document
from sim.files.reading import read_document
from sim.simulate.logfile.eligible_file import eligible_file_in, is_eligible_document
from sim.simulate.logfile.file import log_file_in
from sim.simulate.story.format import story_from
from tests.commands import ROOT
from tests.schemas.making import SCHEMA_FILE, SCHEMAS, schema_text

CHOOSING = Draft202012Validator(json.loads(schema_text()))
GOOD = {
    "story": {"format": "replog-story/1", "replicas": ["r1"], "steps": []},
    "plan": {
        "format": "replog-sweep/1",
        "title": "a",
        "source": "b",
        "count": 1,
        "seed": 1,
        "generate": {"mix": "reference"},
        "rule_sets": [{"fix": "none"}],
    },
    "log": {"format": "replog-log/1", "segments": [[]], "steps": []},
    "scenario": {"format": "replog-scenario/1", "seed": 1, "title": "a"},
    None: {},
}
WRONG = yaml.safe_load(Path(__file__).with_name("wrong.yaml").read_text(encoding="utf-8"))


@cache
def shipped() -> list[tuple[Path, dict[str, Any]]]:
    """Every file of the repository that has a schema."""
    found = []
    for path in sorted((ROOT / "scenarios").rglob("*")):
        if path.suffix in (".yaml", ".json"):
            data = read_document(path).data
            if data.get("format") in SCHEMAS:
                found.append((path, data))
    return found


def wrong(data: object) -> list[str]:
    return [f"{one.json_path}: {one.message}" for one in CHOOSING.iter_errors(data)]


def test_the_committed_schema_is_current() -> None:
    """When it is not: `python -m tests.schemas.making`."""
    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text()


def test_every_shipped_file_is_chosen_and_accepted_by_its_format() -> None:
    seen: dict[str, int] = {}
    refused = {}
    for path, data in shipped():
        seen[data["format"]] = seen.get(data["format"], 0) + 1
        if not CHOOSING.is_valid(data):
            refused[str(path)] = wrong(data)[:1]

    assert refused == {}
    assert set(seen) == set(SCHEMAS)
    assert min(seen.values()) >= 5


@pytest.mark.parametrize("case", WRONG, ids=str)
def test_wrong_files_are_refused_and_the_place_is_named(case: dict[str, Any]) -> None:
    found = wrong(GOOD[case.get("of")] | case["with"])

    assert any(case["place"] in one for one in found), found


def mutated(data: Any) -> Iterator[Any]:
    """The same with one field renamed, at every place."""
    if isinstance(data, dict):
        for name, value in data.items():
            rest = {one: other for one, other in data.items() if one != name}
            yield {**rest, f"{name}_x": value}
            yield from ({**data, name: one} for one in mutated(value))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            for one in mutated(value):
                yield [*data[:index], one, *data[index + 1 :]]


def loads(data: dict[str, Any]) -> bool:
    try:
        if data.get("format") == "replog-story/1":
            story_from(data, where="a story")
        else:
            document = Document("a log", data)
            (eligible_file_in if is_eligible_document(document) else log_file_in)(document)
    except BadInput:
        return False
    return True


@pytest.mark.parametrize(
    "name",
    [
        "kip280/kip280_01_followers_assign_offsets.yaml",
        "kip534/log_horizon_deltas_kept.json",
        "kip354/eligible_dirtiest_goes_first.json",
    ],
)
def test_a_field_that_a_loader_does_not_know_is_unknown_to_the_schema_and_no_other(
    name: str,
) -> None:
    data = read_document(ROOT / "scenarios" / name).data
    assert loads(data)

    changed = list(mutated({field: one for field, one in data.items() if field != "expect"}))

    assert len(changed) >= 10
    assert [one for one in changed if loads(one) != CHOOSING.is_valid(one)] == []


def test_the_modelines_of_shipped_files_lead_to_the_schema_that_chooses() -> None:
    named = set()
    for path, _data in shipped():
        first = path.read_text(encoding="utf-8").split("\n", 1)[0]
        line = re.match(r"# yaml-language-server: \$schema=(\S+)$", first)
        if line:
            named.add((path.parent / line[1]).resolve())

    assert named == {SCHEMA_FILE}
