"""Pytest with the plugin, in a folder of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sim.study.suite import load_case, tags_of
from sim.study.suite.reports import failure_lines
from tests.suite.red import RED, TIMED

GREEN = TIMED.partition("expect:")[0]

Replies = Callable[..., pytest.RunResult]


@pytest.fixture(scope="session")
def all_imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What the plugin imports when it meets files: pytester forgets what its runs imported first.

    A module that is imported twice has two of each class.
    """
    folder: Path = tmp_path_factory.mktemp("all")
    for name, text in RED.items():
        path = folder / name
        path.write_text(text)
        assert tags_of(path)
        assert failure_lines(load_case(path).run())


@pytest.fixture
def says(pytester: pytest.Pytester, all_imported: None) -> Replies:
    """Runs pytest in this process on files: path = text."""

    def run(files: dict[str, str], *arguments: str) -> pytest.RunResult:
        for name, text in files.items():
            path = pytester.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return pytester.runpytest_inprocess("-p", "sim.pytest_plugin", *arguments)

    return run
