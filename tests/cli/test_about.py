"""`replog list`, --help and --version."""

from pathlib import Path

import pytest

from sim.check.coverage import SITUATIONS
from sim.check.registry import INVARIANTS
from sim.protocol.rules import DEFAULTS, PRESETS, RULES
from tests.commands import replog

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = [
    (),
    ("run",),
    ("suite",),
    ("sweep",),
    ("report",),
    ("draw",),
    ("list",),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(command: tuple[str, ...]) -> None:
    answer = replog(*command, "--help")

    assert (answer.status, answer.err) == (0, "")
    assert answer.out.splitlines()[0].startswith(" ".join(["Usage: replog", *command]))
    assert replog(*command, "-h") == answer


def test_no_command_at_all_shows_the_help_and_is_bad_usage() -> None:
    answer = replog()

    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("Usage: replog ")


@pytest.mark.parametrize(
    ("what", "names", "columns"),
    [
        ("presets", PRESETS, ["preset", "models", "sets", "source"]),
        ("invariants", INVARIANTS, ["invariant", "kind", "family", "says", "source"]),
        ("reached", SITUATIONS, ["situation", "means"]),
    ],
)
def test_a_list_has_a_row_for_each_thing_in_the_code(
    what: str, names: dict[str, object], columns: list[str]
) -> None:
    rows = replog("list", what, "--json").document

    assert [next(iter(row.values())) for row in rows] == list(names)
    assert all(list(row) == columns and all(row.values()) for row in rows)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_a_list_fits_the_terminal_and_nothing_is_cut(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setattr("sim.cli.output.width", lambda: columns)

    for what in ("presets", "invariants", "reached"):
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
