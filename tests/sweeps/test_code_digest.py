"""The digest of the code that simulates: what changes it, and what does not."""

import shutil
from pathlib import Path

import grimp
import pytest

from sim.plugins import NO_PLUGINS, Plugins
from sim.study.sweep import code_digest as code
from tests.sweeps.conftest import ROOT


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of a few files in the place of `sim`."""
    package = tmp_path / "sim"
    for name in ("protocol/log/record.py", "study/sweep/row.py", "cli/sweeps.py", "errors.py"):
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "sim" / name, package / name)
    spec = type("Spec", (), {"submodule_search_locations": [str(package)]})
    monkeypatch.setattr(code, "find_spec", lambda _name: spec)
    return package


def digest_and_build() -> tuple[str, str]:
    code.code_digest.cache_clear()
    code.build.cache_clear()
    try:
        return code.code_digest(), code.build()
    finally:
        code.code_digest.cache_clear()
        code.build.cache_clear()


def test_a_change_of_what_simulates_is_another_digest(copied: Path) -> None:
    before = digest_and_build()
    with (copied / "protocol/log/record.py").open("a") as file:
        file.write("\n# one line more\n")

    assert digest_and_build()[0] != before[0]


def test_commands_and_bytecode_do_not_count(copied: Path) -> None:
    before = digest_and_build()
    (copied / "cli/sweeps.py").write_text("")
    (copied / "__pycache__").mkdir()
    (copied / "__pycache__/errors.cpython-311.pyc").write_bytes(b"bytecode")

    assert digest_and_build() == before


def test_compiled_and_pure_have_one_digest_and_are_two_builds(copied: Path) -> None:
    digest, build = digest_and_build()
    library = copied / "protocol/log/record.cpython-311-x86_64-linux-gnu.so"
    library.write_bytes(b"a library")
    compiled = digest_and_build()
    library.write_bytes(b"another")
    again = digest_and_build()

    assert build == "pure Python"
    assert compiled[0] == again[0] == digest
    assert compiled[1].startswith("compiled ")
    assert compiled[1] != again[1]


def test_what_is_left_out_is_what_sweeps_do_not_import() -> None:
    graph = grimp.build_graph("sim", exclude_type_checking_imports=True, cache_dir=None)
    used = graph.find_upstream_modules("sim.study.sweep", as_package=True)
    files = {f"{name.removeprefix('sim.').replace('.', '/')}.py" for name in used}

    assert sorted(file for file in files if file.startswith(code.NOT_SIMULATING)) == []
    assert all((ROOT / "sim" / part).exists() for part in code.NOT_SIMULATING if part != "shipped/")


def test_a_module_of_one_file_has_a_digest_and_a_missing_one_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_rules.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert code.files_of_module("my_rules") == {"my_rules.py": tmp_path / "my_rules.py"}
    (name,) = code.made_by(Plugins(("my_rules.part",))).keys() - code.made_by(NO_PLUGINS).keys()
    assert name == "plugin my_rules.part"
    with pytest.raises(ModuleNotFoundError, match="no_such_rules"):
        code.files_of_module("no_such_rules")


def test_what_two_processes_have_differently_is_told_with_both_values() -> None:
    here = {"Python": "3.11", "code": "ab"}

    assert code.difference(here, here) is None
    assert code.difference({"Python": "3.12", "code": "ab"}, here) == "Python 3.12 there, 3.11 here"
    assert code.difference(here, here | {"plugin x": "d"}) == "plugin x none there, d here"
