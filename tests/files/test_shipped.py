"""Shipped scenarios: found by path or id from anywhere, and part of a wheel."""

import re
from collections import Counter
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from sim.errors import BadInput
from sim.files import shipped
from sim.files.shipped import shipped_folder, shipped_path
from sim.study.suite.scenario_files import scenario_files
from tests.commands import ROOT

STORY = ROOT / "scenarios/kip280/kip280_07_log_end_from_last_record.yaml"

_ID = re.compile(r"""^ ?"?id"?: *"?([^"\s]+)""", re.MULTILINE)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("scenarios/kip280/" + STORY.name, STORY),
        ("kip280/" + STORY.name, STORY),
        (STORY.stem, STORY),
        ("kip280_07", STORY),
        ("kip280", ROOT / "scenarios/kip280"),
        ("leo_fixes", ROOT / "scenarios/sweeps/leo_fixes.yaml"),
    ],
)
def test_what_is_shipped_is_found_from_anywhere(elsewhere: Path, name: str, found: Path) -> None:
    assert shipped_path(name) == found


def test_what_is_here_comes_first(elsewhere: Path) -> None:
    (elsewhere / "kip280").mkdir()

    assert shipped_path("kip280") == Path("kip280")


@pytest.mark.parametrize("name", ["none.yaml", "no/such/file.yaml", "../pyproject.toml", "zzzz"])
def test_what_is_nowhere_is_left_to_who_reads_it(elsewhere: Path, name: str) -> None:
    assert shipped_path(name) == Path(name)


def test_no_two_shipped_scenarios_share_an_id() -> None:
    """Neither the name of the file, by which one asks for it, nor what it says; folders may."""
    files = scenario_files(shipped_folder())
    names = Counter(path.stem for path in files)
    said = Counter(found[1] for found in map(_ID.search, map(Path.read_text, files)) if found)

    assert [name for name, count in names.items() if count > 1] == []
    assert [name for name, count in said.items() if count > 1] == []


def test_a_wheel_has_its_scenarios_beside_the_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kip280").mkdir()
    (tmp_path / "kip280/kip280_07_mine.yaml").touch()
    monkeypatch.setattr(shipped, "IN_A_WHEEL", tmp_path)

    assert shipped_folder() == tmp_path
    assert shipped_path("kip280_07_mine").parent.parent == tmp_path


def test_an_installation_without_any_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped, "_REPOSITORY", tmp_path)

    with pytest.raises(BadInput, match="this installation has no scenarios"):
        shipped_folder()


def test_the_wheel_takes_every_file_of_scenarios_and_nothing_large() -> None:
    builder = WheelBuilder(str(ROOT))
    taken = {
        Path(one.distribution_path).relative_to("sim/shipped"): Path(one.path)
        for one in builder.recurse_included_files()
        if one.distribution_path.startswith("sim/shipped/")
    }

    files = [path for path in (ROOT / "scenarios").rglob("*") if path.is_file()]
    assert set(taken) == {path.relative_to(ROOT / "scenarios") for path in files}
    of_a_broker = {".log", ".index", ".snapshot", ".metadata", ""}
    assert {path.suffix for path in taken} == {".yaml", ".json", ".md"} | of_a_broker
    assert sum(path.stat().st_size for path in taken.values()) < 4_000_000
