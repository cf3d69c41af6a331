"""Which files pytest takes for scenarios, by what it selects them, and what it says of bad ones."""

import tomllib
from pathlib import Path

import pytest

from tests.commands import ROOT, python
from tests.pytest_plugin.conftest import GREEN, Replies
from tests.suite.red import LOG, RED, STORY

STRANGERS = {
    "compose.yaml": "services: {web: {image: x}}\n",
    "broken.json": "{",
    "ci.yml": "run: |\n  echo 'format: replog-story/1'\n",
    "list.json": '["format: replog-story/1"]',
    "plan.yaml": "format: replog-sweep/1\n",
    "README.md": STORY,
    "latin.yaml": "caf\udce9: 1\n",
}
"""Files of other people, and of ours what is not run."""


def strangers(folder: Path) -> None:
    for name, text in STRANGERS.items():
        (folder / name).write_bytes(text.encode("utf-8", "surrogateescape"))


def test_only_files_that_say_one_of_the_formats_are_items(
    pytester: pytest.Pytester, says: Replies
) -> None:
    strangers(pytester.path)

    said = says({"a/x.yaml": GREEN, **RED}, "--collect-only", "-q")

    assert said.ret == 0
    assert said.outlines[:4] == [
        "a/x.yaml::x",
        "log.json::log",
        "story.yaml::shorter",
        "timed.yaml::timed",
    ]
    assert "4 tests collected" in said.outlines[5]


def test_nobody_who_runs_no_scenarios_imports_the_simulator(pytester: pytest.Pytester) -> None:
    """The plugin comes with the package, and so into every run of pytest beside it.

    Other people's plugins, which come in the same way, are left out: they import a lot.
    """
    strangers(pytester.path)
    pytester.makepyfile(
        test_loaded="""
        import sys

        def test_what_is_loaded():
            ours = {name for name in sys.modules if name.partition(".")[0] == "sim"}
            assert ours == {"sim", "sim.version", "sim.pytest_plugin"}
        """
    )
    (pytester.path / "scenario.yaml").write_text(STORY)  # beside what is run

    words = ("-m", "pytest", "-p", "sim.pytest_plugin", "-q", "test_loaded.py")
    said = python(*words, cwd=pytester.path, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")

    assert said.status == 0, said.out + said.err


@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        (["-m", "kip280 and not timed"], ["y"]),
        (["-m", "kip-534 or log"], ["y", "log"]),
        (["-k", "first_one and kip-534 and story"], ["y"]),
    ],
)
def test_kind_folder_and_tags_are_markers_and_the_id_is_a_name(
    says: Replies, arguments: list[str], taken: list[str]
) -> None:
    green = STORY.partition("  - elect r2")[0].replace("id: shorter", "id: first_one")
    files = {
        "kip280/x.yaml": GREEN,
        "kip280/y.yaml": green + "tags: [kip-534, slow]\n",
        "other/log.json": LOG.replace("7", "0"),
    }

    said = says(files, "--strict-markers", "-q", "--collect-only", *arguments)

    names = {"x": "kip280/x.yaml::x", "y": "kip280/y.yaml::first_one", "log": "other/log.json::log"}
    assert [line for line in said.outlines if "::" in line] == [names[one] for one in taken]


def test_no_tag_makes_a_red_scenario_pass(says: Replies) -> None:
    """A marker that has an effect in pytest would: a tag of its name is a word for -k alone."""
    tags = ("skip", "xfail", "skipif", "timeout")

    said = says({f"{tag}.yaml": f"{STORY}tags: [{tag}]\n" for tag in tags}, "-k", " or ".join(tags))

    said.assert_outcomes(failed=4)


BAD = {
    "a.yaml": ("format: replog-sory/1\n", '1: format: unknown format "replog-sory/1" (did you '),
    "b.yaml": (STORY + "tags: [a b]\n", '10: tags[0]: "a b" is no tag; allowed: '),
    "c.yaml": (STORY.replace("elect r2", "elct r2"), "9: step 4: op: unknown op 'elct' (did you "),
    "d.yaml": (GREEN + "colour: red\n", "3: colour: unknown field"),
    "e.yaml": ("format: replog-story/1\na: [\n", "3: "),
}


def test_a_bad_file_fails_in_a_line_for_each_mistake_and_others_are_run(
    says: Replies,
) -> None:
    said = says({"kip280/x.yaml": STORY} | {name: text for name, (text, _) in BAD.items()})

    assert said.ret == pytest.ExitCode.TESTS_FAILED
    said.assert_outcomes(failed=len(BAD) + 1)  # the good one ends otherwise than it says
    for name, (_, wrong) in BAD.items():
        start = next(
            n
            for n, line in enumerate(said.outlines)
            if line.startswith("____") and f" {name[0]} " in line
        )
        assert said.outlines[start + 1].startswith(f"{name}:{wrong}")
        rest = [one for one in said.outlines[start + 1 :] if not one.startswith(f"{name}:")]
        assert rest[0].startswith(("____", "===="))


@pytest.mark.parametrize("chosen", [("-k", "kip280"), ("-m", "timed"), ("-k", "not e.yaml")])
def test_a_bad_file_elsewhere_does_not_decide_and_no_file_counts_twice(
    says: Replies, chosen: tuple[str, ...]
) -> None:
    said = says({"kip280/x.yaml": GREEN, "e.yaml": BAD["e.yaml"][0]}, *chosen)

    said.assert_outcomes(passed=1, deselected=1)


@pytest.mark.parametrize(
    ("module", "wrong"),
    [
        ("no_such", "plugin no_such: cannot be imported: ModuleNotFoundError: No module named"),
        ("json", "plugin json: registers nothing; allowed: register_strategy"),
    ],
)
def test_a_plugin_of_replog_that_cannot_be_used_stops_pytest_in_one_line(
    pytester: pytest.Pytester, says: Replies, module: str, wrong: str
) -> None:
    pytester.makeini(f"[pytest]\nreplog_plugins = {module}\n")

    said = says({"x.yaml": GREEN})

    assert said.ret == pytest.ExitCode.USAGE_ERROR
    assert said.errlines[0].startswith(f"ERROR: {wrong}")


def test_the_plugin_may_be_named_beside_its_entry_point(
    pytester: pytest.Pytester, says: Replies
) -> None:
    """An installed package brings it; a `-p` or a conftest that names it as well does no harm."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    points = project["entry-points"]["pytest11"]
    installed = pytester.mkdir("installed")
    info = installed / "beside-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: beside\nVersion: 1.0\n")
    named = "".join(f"{name} = {module}\n" for name, module in points.items())
    (info / "entry_points.txt").write_text(f"[pytest11]\n{named}")
    pytester.syspathinsert(installed)
    pytester.makeconftest("pytest_plugins = ['sim.pytest_plugin']")

    said = says({"x.yaml": GREEN})

    said.assert_outcomes(passed=1)
    assert any(line.startswith("plugins: ") and "beside-1.0" in line for line in said.outlines)
    assert points == {"sim.pytest_plugin": "sim.pytest_plugin"}
