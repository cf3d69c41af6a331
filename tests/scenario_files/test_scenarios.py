"""Timed scenarios and log files in scenarios/ end as they say, and twins differ as they say."""

from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import sim
from sim.files.formats import LOG_FORMAT, SCENARIO_FORMAT
from sim.files.reading import read_document, read_json
from sim.simulate.scenario.file.load import load_scenario
from sim.study.suite import CaseResult, collect, format_of, run_suite, scenario_files

FOLDER = Path(__file__).parents[2] / "scenarios"
PATHS = [p for p in scenario_files(FOLDER) if format_of(p) in (SCENARIO_FORMAT, LOG_FORMAT)]

TWINS = [
    (f"{folder}/{one}", f"{folder}/{other}", apart if isinstance(apart, str) else ", ".join(apart))
    for folder, rows in read_document(Path(__file__).with_name("twins.yaml")).data.items()
    for one, other, apart in rows
]
ABOUT = ("title", "source", "note", "expect")


def differing(one: Any, other: Any, path: str = "") -> set[str]:
    """The places in which two values differ, as dotted paths."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        pairs = [(name, one[name], other[name]) for name in one]
    elif isinstance(one, list | tuple) and len(one) == len(other) and not hasattr(one, "_asdict"):
        pairs = [(str(index), *pair) for index, pair in enumerate(zip(one, other, strict=True))]
    elif hasattr(one, "_asdict"):
        return differing(one._asdict(), other._asdict(), path)
    else:
        return set() if one == other else {path}
    return set().union(*(differing(a, b, f"{path}.{n}".lstrip(".")) for n, a, b in pairs), set())


def settings(path: Path) -> dict[str, Any]:
    """All a scenario depends on, without what it says about itself."""
    said = ("id", "title", "source", "expect", "preset")  # the rules of the preset count
    scenario = load_scenario(path)
    values = asdict(scenario) | {"rules": scenario.rules.as_dict()}
    return {name: value for name, value in values.items() if name not in said}


@cache
def result_of(path: Path) -> CaseResult:
    [result] = run_suite(collect([path]))
    return result


def shown(result: CaseResult) -> object:
    """What a reader of a result can tell it by."""
    assert result.run is not None
    return (
        set(result.run.violated),
        set(result.run.reached),
        {
            name: result.run.counters[name]
            for name in ("oversized_batches", "stale_reads_last", "tombstones_left")
        },
    )


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_ends_as_it_says_and_says_what_it_is_about(path: Path) -> None:
    result = result_of(path)

    assert result.complaints == ()
    assert result.expectation_met
    assert not result.notes
    assert result.outcome.title
    if format_of(path) == SCENARIO_FORMAT:
        assert load_scenario(path).source
    else:
        document = read_json(path).data
        assert document["source"]
        assert document["expect"]


@pytest.mark.parametrize(("one", "other", "apart"), TWINS, ids=lambda value: Path(value).stem)
def test_twins_differ_where_they_say_and_it_shows(one: str, other: str, apart: str) -> None:
    if Path(f"{FOLDER / one}.json").exists():
        places = differing(*map(comparable, documents_of(one, other)))
    else:
        paths = [FOLDER / f"{name}.yaml" for name in (one, other)]
        places = differing(*map(settings, paths))
        assert shown(result_of(paths[0])) != shown(result_of(paths[1]))

    said = apart.split(", ")
    where = {
        place: [name for name in said if f"{place}.".startswith(f"{name}.")] for place in places
    }
    assert [place for place, names in where.items() if not names] == []
    assert {name for names in where.values() for name in names} == set(said)


def documents_of(one: str, other: str) -> list[dict[str, Any]]:
    """Two log files; one of them may have more steps, which are left out."""
    found = [read_json(FOLDER / f"{name}.json").data for name in (one, other)]
    steps = min(len(document.get("steps", [])) for document in found)
    return [{**document, "steps": document.get("steps", [])[:steps]} for document in found]


def comparable(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in ABOUT}


@pytest.mark.parametrize(
    ("name", "rule", "broken"),
    [
        ("kip534/timed_tombstone_too_early", "last_modified", True),
        ("kip534/timed_tombstone_too_early", "horizon", False),
        ("kip534/timed_tombstone_in_time", "last_modified", True),
        ("kip534/timed_tombstone_in_time", "record_horizon", False),
        ("kip534/timed_tombstone_in_time", "immediate", True),
    ],
)
def test_of_all_a_preset_changes_the_removal_rule_decides(
    name: str, rule: str, broken: bool
) -> None:
    found = sim.run(FOLDER / f"{name}.yaml", tombstone_removal=rule).recorded

    assert ("consumer-tombstone-visibility" in {v.invariant for v in found.violations}) is broken
