"""A plugin of pytest that collects stories, timed scenarios and log files, one item each.

Only YAML and JSON files with a `format` of Replog are collected. A file with a mistake is an item
that fails in one line; the others are still run. `-k` selects such a file by its path only. Folders
of failures and of sweeps, which Replog wrote, are skipped unless they are named.

The kind of a file (`story`, `timed`, `log`), its folder and its `tags` are markers, so that
`-m "kip280 and not timed"` selects; `-k` finds the id and these, too. With `-o junit_family=xunit1`
the JUnit report has each test's `file`. Notes on a scenario, such as a step without effect, are
printed at the end of the run; with the ini option `replog_strict` a note fails the test, as with
`replog suite --strict`.

The rest of Replog is imported only when a file is collected, so that other projects pay nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from sim.errors import BadInput
    from sim.study.suite import CaseResult, SuiteCase

PLUGINS, STRICT = "replog_plugins", "replog_strict"
FAILURES = "--replog-failures"
NOTE = "replog_note"
"""Name of the property of a test that holds a note on its scenario; a note is no failure."""
_SUFFIXES = (".yaml", ".yml", ".json")
_LOOKED_AT = 65_536
"""Bytes at the beginning of a file that are searched for its format."""
_SAYS = re.compile(rb"""format["']?\s*:\s*["']?replog-""")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options of the plugin to pytest."""
    parser.getgroup("replog").addoption(
        FAILURES,
        type=Path,
        metavar="DIR",
        help="Write a folder for each failing scenario, with run, trace and picture, below.",
    )
    parser.addini(
        PLUGINS,
        "Modules that register strategies, fixes or tombstone removal rules of Replog.",
        type="linelist",
        default=[],
    )
    parser.addini(
        STRICT,
        "Whether a note of a scenario is a failure, as with replog suite --strict.",
        type="bool",
        default=False,
    )


def pytest_configure(config: pytest.Config) -> None:
    """Imports the plugins that are named.

    Raises:
        UsageError: A plugin cannot be used.
    """
    if config.getini(PLUGINS):
        from sim.errors import BadInput
        from sim.plugins import load_plugins

        try:
            load_plugins(config.getini(PLUGINS))
        except BadInput as error:
            raise pytest.UsageError(str(error)) from None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> CollectedFile | None:
    """The collector for a file that may be a scenario; None for other files."""
    if file_path.suffix.lower() not in _SUFFIXES or not _says_a_format(file_path):
        return None
    return CollectedFile.from_parent(parent, path=file_path)


def _says_a_format(path: Path) -> bool:
    try:
        if not path.is_file():  # reading a pipe would wait
            return False
        with path.open("rb") as file:
            start = file.read(_LOOKED_AT)
        return b"replog-" in start and _SAYS.search(start) is not None
    except OSError:
        return False


@cache
def _load_installed_plugins() -> None:
    """Loads the installed plugins once. Raises BadInput, for every file, if one cannot be used."""
    from sim.plugins import load_installed

    load_installed()


class CollectedFile(pytest.File):
    """A file with a scenario, or with something else that names a format."""

    def collect(self) -> Iterable[pytest.Item]:
        """The item of the file, also for a file with a mistake."""
        # Pytest also makes collectors for files next to those it was given, but does not collect
        # those: the imports that a scenario needs are here.
        from sim.errors import BadInput
        from sim.files.foreign import one_line
        from sim.study.suite import load_case, tags_of
        from sim.study.suite.scenario_files import format_of, set_aside

        if self._is_evidence():
            return
        try:
            _load_installed_plugins()
            if not str(format_of(self.path)).startswith("replog-"):
                return  # the words are somewhere else in the file
            if set_aside(self.path) is not None:
                return
            case, tags = load_case(self.path), tags_of(self.path)
        except BadInput as error:
            yield FileItem.from_parent(self, name=one_line(self.path.stem), case=error)
            return
        yield FileItem.from_parent(self, name=one_line(case.id), case=case, tags=tags)

    def _is_evidence(self) -> bool:
        """True for a file in a folder that a command of Replog wrote and that was not named."""
        from sim.study.suite.scenario_files import is_output

        for path in (self.path, *self.path.parents):
            if self.session.isinitpath(path) or path == self.config.rootpath:
                return False
            if is_output(path):
                return True
        return False


class FileItem(pytest.Item):
    """The test of a scenario file, which passes when the run ends as the file expects.

    A failure is reported in Replog's own lines.
    """

    def __init__(
        self, *, case: SuiteCase | BadInput, tags: tuple[str, ...] = (), **given: Any
    ) -> None:
        """Takes the case, or the mistake for which the file cannot be run."""
        super().__init__(**given)
        self.case = case
        self.extra_keyword_matches.update(tags)
        for tag in tags:
            if _may_be_a_marker(self.config, tag):
                self.add_marker(tag)

    def runtest(self) -> None:
        """Runs the scenario.

        Raises:
            BadInput: The mistake in the file.
            NotAsExpected: The scenario did not end as the file expects.
        """
        if isinstance(self.case, Exception):
            raise self.case
        result = self.case.run()
        if self.config.getini(STRICT):
            result = result.strictly()
        self.user_properties += [(NOTE, line) for line in result.notes]
        if not result.expectation_met:
            from sim.api.failures import save_result

            folder = self.config.getoption(FAILURES)
            raise NotAsExpected(result, None if folder is None else save_result(result, folder))

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None
    ) -> Any:  # what pytest's own method returns has a private type
        """The failure in about ten lines; with a traceback only for a bug of Replog."""
        from sim.errors import BadInput
        from sim.files.foreign import one_line

        if isinstance(excinfo.value, NotAsExpected):
            return self._as_named("\n".join(map(one_line, excinfo.value.lines())))
        if isinstance(excinfo.value, BadInput):
            return self._as_named(str(excinfo.value))
        return super().repr_failure(excinfo, style)

    def _as_named(self, text: str) -> str:
        """A text in which the path of the file is relative to the folder pytest was started in."""
        started_in = self.config.invocation_params.dir
        if not self.path.is_relative_to(started_in):
            return text
        return text.replace(str(self.path), str(self.path.relative_to(started_in)))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """The file and the name of the item."""
        return self.path, None, self.name


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the notes on scenarios that passed, such as steps without effect."""
    notes = [
        f"{report.nodeid}: {line}"
        for report in terminalreporter.getreports("passed")
        for name, line in report.user_properties
        if name == NOTE and report.when == "call"
    ]
    if notes:
        terminalreporter.section("Replog: notes")
        for line in notes:
            terminalreporter.line(line)


class NotAsExpected(Exception):
    """A scenario that did not end as its file expects.

    Attributes:
        result: Result of the scenario.
        saved: The folder that was written for the failure; None without one.
    """

    def __init__(self, result: CaseResult, saved: Path | None) -> None:
        super().__init__("; ".join(result.complaints))
        self.result, self.saved = result, saved

    def lines(self) -> list[str]:
        """The lines about the failure."""
        from sim.study.suite.reports import failure_lines

        title = [*filter(None, [self.result.outcome.title])]
        lines = [*self.result.complaints[:1], *title, *failure_lines(self.result)]
        return [*lines, *([f"failure: {self.saved}"] if self.saved else [])]


_OURS = pytest.StashKey[set[str]]()


def _may_be_a_marker(config: pytest.Config, tag: str) -> bool:
    """Registers a tag as a marker; false for a marker with an effect, such as `skip`.

    A marker that takes arguments has an effect, and a scenario that is skipped by its own tag would
    look like one that passed.
    """
    ours = config.stash.setdefault(_OURS, set())
    if tag in ours:
        return True
    for line in config.getini("markers"):
        name, arguments, _ = re.split(r"([(:]|$)", line, maxsplit=1)
        if name.strip() == tag:
            return arguments != "("
    config.addinivalue_line("markers", f"{tag}: scenarios of Replog so tagged")
    ours.add(tag)
    return True
