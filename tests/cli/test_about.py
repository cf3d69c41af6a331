"""`replog list`, --help and --version."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from sim.check.coverage import SITUATIONS
from sim.check.registry import INVARIANTS
from sim.cli import COMMANDS
from sim.protocol.rules import DEFAULTS, PRESETS, RULES
from sim.simulate.faults import FaultKind
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.story.ops import OPS
from tests.commands import ROOT, replog

TOLD = ("kind", "family", "says", "models", "sets", "means", "source")
"""Columns in which there is something for each thing that has them."""


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_command_explains_itself(command: str) -> None:
    answer = replog(*command.split(), "--help")

    assert (answer.status, answer.err) == (0, "")
    assert answer.out.splitlines()[0].startswith(f"Usage: replog {command}")
    assert replog(*command.split(), "-h") == answer


def test_no_command_at_all_shows_the_help_and_is_bad_usage() -> None:
    answer = replog()

    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("Usage: replog ")


@pytest.mark.parametrize(
    ("what", "names"),
    [
        ("presets", PRESETS),
        ("invariants", INVARIANTS),
        ("reached", SITUATIONS),
        ("mixes", [name for name in Mix.model_fields if name != "weights"]),
        ("ops", [*OPS, "(every step)"]),
        ("faults", [kind.value for kind in FaultKind]),
    ],
)
def test_a_list_has_a_row_for_each_thing_in_the_code_and_every_row_says_what_it_means(
    what: str, names: Iterable[str]
) -> None:
    rows = replog("list", what, "--json").document

    assert [next(iter(row.values())) for row in rows] == list(names)
    assert all(row[column] for row in rows for column in TOLD if column in row)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_a_list_fits_the_terminal_and_nothing_is_cut(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setattr("sim.cli.output.width", lambda: columns)

    for what in ("presets", "invariants", "reached", "mixes", "columns"):
        out = replog("list", what).out
        texts = [text for row in replog("list", what, "--json").document for text in row.values()]
        words = {word for text in texts for word in text.split() if len(word) < 12}
        assert max(map(len, out.splitlines())) <= columns
        assert {word for word in words if word not in out} == set()
        assert "…" not in out


def test_rules_are_listed_with_each_value_its_meaning_its_source_and_an_example() -> None:
    rows = replog("list", "rules", "--json").document

    assert [row["rule"] for row in rows] == list(RULES)
    for row, spec in zip(rows, RULES.values(), strict=True):
        assert row["kind"] in {"text", "number", "yes or no"}
        assert row["default"] == str(DEFAULTS[spec.name]).lower()
        assert bool(row["source"]) == (row["values"] == [])
        assert [value["value"] for value in row["values"]] == [str(v).lower() for v in spec.values]
        for value in row["values"]:
            assert list(value) == ["value", "means", "source", "example", "plugin"]
            assert value["means"]
            assert value["source"]
            assert (ROOT / value["example"]).is_file()
    out = replog("list", "rules").out
    shown = {line.split()[0] for line in out.splitlines() if line[2:3].strip()}
    assert {value["value"] for row in rows for value in row["values"]} <= shown
    assert all(row["rule"] in shown for row in rows)
    assert "kip280_47_offset_strategy_ignores_versions" in out


def test_scenarios_are_listed_with_title_and_source(here: Path) -> None:
    folder = here / "scenarios"
    folder.mkdir()
    (folder / "a.yaml").write_text(
        "format: replog-story/1\ntitle: 'Ends: here'\nsource: KIP-1\nreplicas: [r]\nsteps: []\n"
    )
    (folder / "b.json").write_text('{"format": "replog-scenario/1"}')

    rows = replog("list", "scenarios", "--json").document

    assert rows == [
        {"file": "scenarios/a.yaml", "kind": "story", "title": "Ends: here", "source": "KIP-1"},
        {"file": "scenarios/b.json", "kind": "timed", "title": "", "source": ""},
    ]


def test_the_shipped_scenarios_are_listed_from_anywhere(here: Path) -> None:
    rows = replog("list", "scenarios", "--json").document

    assert len(rows) > 600
    assert all(Path(row["file"]).is_file() for row in rows)
