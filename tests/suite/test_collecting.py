"""A suite takes what says one of its formats, refuses what says none, and counts the rest."""

import os
import re
from pathlib import Path

import pytest
import yaml

from sim.api.failures import save_result
from sim.errors import BadInput
from sim.files.formats import NOT_RUN, WRITTEN
from sim.study.suite import collect, format_of, run_suite, scenario_files
from sim.study.suite.scenario_files import IN_A_SUITE, Collected
from tests.commands import ROOT
from tests.suite.conftest import GOOD, Fill
from tests.suite.red import LOG, STORY

NO_FORMAT = yaml.safe_load(Path(__file__).with_name("no_format.yaml").read_text("utf-8"))


def names(found: Collected) -> list[str]:
    return [str(path) for path in found.files]


def test_what_is_no_scenario_is_counted_with_what_it_is(fill: Fill) -> None:
    schema = '{"$schema": "https://json-schema.org/draft/2020-12/schema"}'
    trace = '{"format":"replog-trace/1","id":"x"}\n{"at":0}\n'
    folder = fill(
        {
            "a.yaml": GOOD,
            "plan.yaml": "format: replog-sweep/1\n",
            "other.yml": "title: x\nformat: 'replog-sweep/1'  # a plan\n",
            "schema.json": schema,
            "trace.json": trace,
            "report.json": '{"format": "replog-report/1"}',
            "README.md": GOOD,
            "table.csv": "",
            ".git/config.yaml": "a: 1\n",
            ".hidden.yaml": "a: 1\n",
        }
    )
    (folder / "deeper").mkdir()
    (folder / "link").symlink_to("deeper", target_is_directory=True)

    found = collect([folder])

    assert names(found) == ["s/a.yaml"]
    assert found.refused == {}
    assert found.not_run == (
        "1 JSON Schema, 1 file that a command wrote, 2 sweep plans, 1 trace, "
        "2 other files (.csv, .md)"
    )


@pytest.mark.parametrize(("name", "text", "wrong"), NO_FORMAT)
def test_yaml_or_json_that_says_no_known_format_is_refused_with_its_line(
    fill: Fill, name: str, text: str, wrong: str
) -> None:
    folder = fill({"a.yaml": GOOD, name: text})

    found = collect([folder])

    assert names(found) == ["s/a.yaml", f"s/{name}"]
    (message,) = found.refused.values()
    assert message.startswith(f"s/{wrong}")


@pytest.mark.parametrize(
    "text",
    [
        "format: replog-story/1",
        "'format': \"replog-story/1\"  # quoted",
        "# first\n---\ntitle: a\nformat:   replog-story/1\n",
        "{title: a, format: replog-story/1}",
        '{"title": "a",\n "format": "replog-story/1"}',
        "consumers:\n  format: 3\nformat: replog-story/1\n",
    ],
)
def test_the_format_is_the_one_of_the_whole_file_however_it_is_written(
    fill: Fill, text: str
) -> None:
    assert format_of(fill({"x.yaml": text}) / "x.yaml") == "replog-story/1"


def test_a_suite_knows_every_format_that_replog_writes() -> None:
    """One that it does not know it refuses: results of a sweep may lie beside scenarios."""
    found = {
        match.partition("/")[0]
        for path in (ROOT / "sim").rglob("*.py")
        for match in re.findall(r'"(replog-[a-z-]+/\d+)"', path.read_text(encoding="utf-8"))
    }

    known = {form.partition("/")[0] for form in (*IN_A_SUITE, *NOT_RUN)}
    assert found == known.union(WRITTEN)


def test_what_commands_wrote_into_a_folder_of_scenarios_is_no_test_of_it(fill: Fill) -> None:
    folder = fill(
        {
            "a.yaml": STORY,
            "b.yaml": LOG,
            "swept/plan.json": '{"format": "replog-sweep-output/3"}',
            "swept/small/x.yaml": GOOD,
            "searched/explored.json": '{"format": "replog-explored/1"}',
            "searched/rules/x.near_miss.yaml": GOOD,
            "mine/plan.json": '{"format": "replog-sweep/1"}',
            "mine/failure.json": "{",
        }
    )
    (result,) = run_suite(collect([folder / "a.yaml"]))
    assert save_result(result, folder / "failures") is not None

    found = collect([folder])

    assert names(found) == ["s/a.yaml", "s/b.yaml", "s/mine/failure.json"]
    assert found.not_run == "3 folders that commands wrote, 1 sweep plan"
    assert [str(path) for path in scenario_files(folder / "swept/small")] == [
        "s/swept/small/x.yaml"
    ]
    (folder / "mine/failure.json").unlink()
    assert scenario_files(folder) == [folder / "a.yaml", folder / "b.yaml"]
    with pytest.raises(BadInput, match="no scenario files; not run: 1 folder that a command wrote"):
        collect([folder / "failures"])
    kept = next(path for path in sorted((folder / "failures").iterdir()) if path.is_dir())
    assert [path.name for path in collect([kept]).files] == ["scenario.yaml", "shrunk.yaml"]


def test_a_folder_that_cannot_be_looked_into_is_a_failure_and_the_others_are_run(
    fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = fill({"a.yaml": GOOD, "b/c.yaml": GOOD})
    scandir = os.scandir

    def refuses(path: str) -> object:
        if Path(path).name == "b":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuses)

    found = collect([folder])

    assert found.files == (folder / "a.yaml", folder / "b")
    assert found.refused == {folder / "b": "s/b: cannot be read: Permission denied"}
    with pytest.raises(BadInput, match=r"^s/b: cannot be read: Permission denied$"):
        collect([folder / "b"])


def test_several_paths_are_one_suite_and_a_file_is_run_once(fill: Fill) -> None:
    folder = fill({"b/x.yaml": GOOD, "a/y.yaml": GOOD, "b/plan.yaml": "format: replog-sweep/1"})

    found = collect([folder / "b", folder / "a/y.yaml", folder, Path.cwd() / "s/a"])

    assert names(found) == ["s/b/x.yaml", "s/a/y.yaml"]


def test_a_file_that_is_named_is_never_left_out(fill: Fill) -> None:
    folder = fill({"plan.yaml": "format: replog-sweep/1\n", "notes.md": "# Notes\n"})

    found = collect([folder / "plan.yaml", folder / "notes.md"])

    assert [message.partition(": ")[2] for message in found.refused.values()] == [
        "format: replog-sweep/1: a sweep plan; run it with: replog sweep s/plan.yaml",
        "expected fields, not null",
    ]


def test_skipped_files_are_counted(fill: Fill) -> None:
    folder = fill({"a.yaml": GOOD, "b/compose.yaml": "services: {}\n", "b/x.yaml": GOOD})

    found = collect([folder], skip=["compose.*", "s/b/x*"])

    assert names(found) == ["s/a.yaml"]
    assert (dict(found.refused), found.not_run) == ({}, "2 left out by --skip")


def test_what_is_no_file_is_a_failure_and_nobody_waits_for_it(fill: Fill) -> None:
    folder = fill({"a.yaml": GOOD, "b/c.yaml": GOOD})
    os.mkfifo(folder / "pipe.yaml")
    os.mkfifo(folder / "pipe")
    (folder / "self.yaml").symlink_to("self.yaml")
    (folder / "up").symlink_to("..")
    (folder / "zero.json").symlink_to("/dev/zero")
    odd = folder / os.fsdecode(b"\xff\n.yaml")
    odd.write_text("format: 0")

    found = collect([folder])

    assert {path.name: told.partition(": ")[2] for path, told in found.refused.items()} == {
        "pipe.yaml": "is a pipe, and is read more than once here; save what comes through it first",
        "self.yaml": "cannot be read: Too many levels of symbolic links",
        "zero.json": "is a device; allowed: a regular file, or a pipe",
        odd.name: found.refused[odd].partition(": ")[2],
    }
    assert len(found.files) == 6
    assert found.not_run == "1 other file (without a suffix)"


def test_everything_in_the_scenarios_folder_is_run_or_known() -> None:
    found = collect([ROOT / "scenarios"])

    assert found.refused == {}
    assert len(found.files) > 600
    wanted = {"sweep plan", "search plan", "JSON Schema", "file that a command wrote", ".md"}
    of_a_broker = {".log", ".index", ".snapshot", ".metadata", "."}
    assert set(found.others) == wanted | of_a_broker
