"""What travels to a cluster: everything a worker imports, and little else."""

import sys
import zipfile
from pathlib import Path

import pytest

from sim.errors import BadInput
from sim.plugins import NO_PLUGINS, Plugins
from sim.sweeps.code_digest import simulating
from sim.sweeps.engines import shipping
from sim.sweeps.engines.same_code import difference, facts

PLUGIN = """
import {helper}
from sim.plugins import register_strategy
"""


def names_in(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


@pytest.fixture
def small_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Only one small distribution is needed; the cache is here."""
    monkeypatch.setattr(shipping, "NEEDED", ("annotated-types",))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_what_is_needed_brings_what_it_requires_and_no_extras() -> None:
    names = {one.name.lower().replace("_", "-") for one in shipping.with_requirements(["pydantic"])}

    assert {"pydantic", "pydantic-core", "typing-extensions", "annotated-types"} <= names
    assert "email-validator" not in names


def test_a_distribution_that_is_not_installed_is_named() -> None:
    with pytest.raises(BadInput, match="need no-such-package here"):
        shipping.with_requirements(["no-such-package"])


def test_headers_and_tests_of_arrow_stay_at_home() -> None:
    [arrow] = (one for one in shipping.with_requirements(["pyarrow"]) if one.name == "pyarrow")

    files = shipping.files_of(arrow)

    assert {"pyarrow/__init__.py", "pyarrow/parquet/core.py"} <= files.keys()
    assert not [name for name in files if name.startswith(("pyarrow/include/", "pyarrow/tests/"))]
    size = sum(path.stat().st_size for path in files.values())
    assert size < 0.8 * sum(
        path.stat().st_size for path in Path(arrow.locate_file("pyarrow")).rglob("*.*")
    )


def test_the_code_travels_without_what_no_row_depends_on(small_needs: Path) -> None:
    _needs, code = shipping.pack(NO_PLUGINS, folder=small_needs)

    assert names_in(code) == set(simulating())
    assert "sim/sweeps/engines/tasks.py" in names_in(code)
    assert not [name for name in names_in(code) if name.startswith(("sim/cli/", "sim/report/"))]


def test_an_archive_of_distributions_is_made_once(small_needs: Path) -> None:
    first, _ = shipping.pack(NO_PLUGINS, folder=small_needs)
    before = first.stat().st_ino
    again, _ = shipping.pack(NO_PLUGINS, folder=small_needs)

    assert first.parent == small_needs / "cache" / "replog"
    assert (again, again.stat().st_ino) == (first, before)
    assert [path.name for path in first.parent.iterdir()] == [first.name]  # no draft is left


def test_another_version_of_a_distribution_is_another_archive(
    small_needs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = shipping.pack(NO_PLUGINS, folder=small_needs)
    monkeypatch.setattr(shipping, "NEEDED", ("typing-extensions",))
    second, _ = shipping.pack(NO_PLUGINS, folder=small_needs)

    assert first.name != second.name


def test_the_same_files_make_the_same_bytes(tmp_path: Path) -> None:
    files = {}
    for name in ("b.py", "a.py"):
        files[name] = tmp_path / name
        files[name].write_text(name)
    shipping.write_archive(tmp_path / "one.zip", files)
    shipping.write_archive(tmp_path / "two.zip", dict(reversed(files.items())))

    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_a_draft_that_cannot_be_finished_does_not_stay(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        shipping.write_archive(tmp_path / "one.zip", {"gone.py": tmp_path / "gone.py"})

    assert list(tmp_path.iterdir()) == []


def test_a_plugin_travels_with_what_it_imports_from_its_folder(
    small_needs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = small_needs / "project"
    folder.mkdir()
    (folder / "my_plugin.py").write_text(PLUGIN.format(helper="my_helper"))
    (folder / "my_helper.py").write_text("")
    (folder / "not_imported.py").write_text("")
    monkeypatch.syspath_prepend(folder)
    for name in ("my_plugin", "my_helper"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    __import__("my_plugin")

    _needs, code = shipping.pack(Plugins(("my_plugin",), str(folder)), folder=small_needs)

    assert names_in(code) - set(simulating()) == {"my_plugin.py", "my_helper.py"}


def test_a_folder_that_cannot_be_written_is_one_line(small_needs: Path) -> None:
    with pytest.raises(BadInput, match=r"no/such/folder.*archive for the cluster"):
        shipping.pack(NO_PLUGINS, folder=Path("no/such/folder"))


def test_what_differs_is_named_with_both_values() -> None:
    here = facts(NO_PLUGINS)

    assert difference(here, here) is None
    assert {"Python", "replog", "pyarrow", "code", "build"} <= here.keys()
    assert difference(here | {"pyarrow": "18.0.0"}, here) == (
        f"pyarrow 18.0.0 there, {here['pyarrow']} here"
    )


def test_a_plugin_that_is_missing_on_one_side_is_a_difference() -> None:
    here = facts(NO_PLUGINS)

    assert difference(here, here | {"plugin mine": "0123"}) == "plugin mine none there, 0123 here"
    assert difference(here | {"plugin mine": "0123"}, here) == "plugin mine 0123 there, none here"
