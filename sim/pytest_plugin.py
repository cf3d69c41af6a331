"""Pytest collects stories, timed scenarios and log files, one item each, and says why one is red.

Of YAML and JSON files only those are taken whose `format` is Replog's; other people's files are
left alone. Where the ini option `replog_paths` names folders, only files below these are taken, and
there every YAML or JSON file has to say a known format, as in `replog suite`. What is misspelt, or
says something wrong, is one more item, which fails in one line; the others are run all the same.
`-k` knows such a file by its path alone. What Replog wrote, folders of failures and of sweeps, is
evidence and no test, unless it is named.

The kind of a file (`story`, `timed`, `log`), its folder and its `tags` are its markers, so that
`-m "kip280 and not timed"` chooses; `-k` knows its id and these as well. With
`-o junit_family=xunit1` the JUnit report has each test's `file`. What is no failure and should be
known of a scenario, such as a step that did nothing, is told at the end of the run; with the ini
option `replog_strict` it fails the test, as `replog suite --strict` does.

Nothing else of Replog is imported before a file is taken, so that this costs others nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from sim.study.suite.cases import Case
    from sim.study.suite.result import CaseResult

PATHS, PLUGINS, STRICT = "replog_paths", "replog_plugins", "replog_strict"
FAILURES = "--replog-failures"
NOTE = "replog_note"
"""The property of a test that holds what should be known of a scenario, and is no failure."""
_SUFFIXES = (".yaml", ".yml", ".json")
_LOOKED_AT = 65_536
"""Bytes at the beginning of a file in which it has to say its format, or nobody reads it on."""
_SAYS = re.compile(rb"""format["']?\s*:\s*["']?replog-""")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    parser.addini(
        PATHS,
        "Folders whose YAML and JSON files are scenarios of Replog, every one; without it, "
        "any file that says format: replog-… is one.",
        type="paths",
        default=[],
    )
    parser.getgroup("replog").addoption(
        FAILURES,
        type=Path,
        metavar="DIR",
        help="Of a scenario that is not as it expects, write a folder with all there is about it "
        "below this folder.",
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
    """Imports the plugins that are named, and looks whether the folders are there.

    Raises:
        UsageError: A folder is not: its scenarios would never be missed. A plugin cannot be used.
    """
    for folder in config.getini(PATHS):
        if not folder.exists():
            raise pytest.UsageError(f"{PATHS}: {folder}: no such file or folder")
    if config.getini(PLUGINS):
        from sim.errors import BadInput
        from sim.plugins import load_plugins

        try:
            load_plugins(config.getini(PLUGINS))
        except BadInput as error:
            raise pytest.UsageError(str(error)) from None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """A collector for what may be a scenario file; None for anything else."""
    if file_path.suffix.lower() not in _SUFFIXES:
        return None
    folders = parent.config.getini(PATHS)
    if folders:
        taken = any(file_path.is_relative_to(folder) for folder in folders)
    else:
        taken = _says_a_format(file_path)
    return ScenarioFile.from_parent(parent, path=file_path) if taken else None


def _says_a_format(path: Path) -> bool:
    try:
        if not path.is_file():  # a pipe would be waited for
            return False
        with path.open("rb") as file:
            start = file.read(_LOOKED_AT)
        return b"replog-" in start and _SAYS.search(start) is not None
    except OSError:
        return False


@cache
def _load_installed_plugins() -> None:
    """Once. Raises BadInput when one cannot be used, for every file anew."""
    from sim.plugins import load_installed

    load_installed()


class ScenarioFile(pytest.File):
    """A file with one scenario, or none if it is something else that names a format."""

    def collect(self) -> Iterable[pytest.Item]:
        """The one item of the file; that it says something wrong is one, too."""
        # Pytest makes collectors of the files beside what it was given, too: what has to be
        # imported for a scenario is imported here, and not for those.
        from sim.errors import BadInput
        from sim.files.foreign.lines import one_line
        from sim.study.suite.cases import load_case
        from sim.study.suite.scenario_files import format_of, set_aside
        from sim.study.suite.selecting import tags_of

        has_to_be = bool(self.config.getini(PATHS))
        if self._is_evidence():
            return
        try:
            _load_installed_plugins()
            if not has_to_be and not str(format_of(self.path)).startswith("replog-"):
                return  # it has the words somewhere, but not as its own format
            if set_aside(self.path) is not None:
                return
            case, tags = load_case(self.path), tags_of(self.path)
        except BadInput as error:
            yield UnusableFile.from_parent(self, name=one_line(self.path.stem), why=error)
            return
        yield ScenarioItem.from_parent(self, name=one_line(case.id), case=case, tags=tags)

    def _is_evidence(self) -> bool:
        """Whether it lies in a folder that a command of Replog wrote, and nobody named."""
        from sim.study.suite.scenario_files import is_output

        for path in (self.path, *self.path.parents):
            if self.session.isinitpath(path) or path == self.config.rootpath:
                return False
            if is_output(path):
                return True
        return False


class FileItem(pytest.Item):
    """The one item of a file; what is wrong with the file is told in its own lines."""

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None
    ) -> Any:  # what pytest's own method returns has a private type
        """Expected and found in about ten lines; a traceback only of what is a bug."""
        from sim.errors import BadInput
        from sim.files.foreign.lines import one_line

        if isinstance(excinfo.value, NotAsExpected):
            return _as_named(self, "\n".join(map(one_line, excinfo.value.lines())))
        if isinstance(excinfo.value, BadInput):
            return _as_named(self, str(excinfo.value))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where it is, and its name."""
        return self.path, None, self.name


class ScenarioItem(FileItem):
    """One scenario: passes when it ends as it says it does."""

    def __init__(self, *, case: Case, tags: tuple[str, ...], **given: Any) -> None:
        super().__init__(**given)
        self.case = case
        self.extra_keyword_matches.update(tags)
        for tag in tags:
            if _may_be_a_marker(self.config, tag):
                self.add_marker(tag)

    def runtest(self) -> None:
        """Runs it.

        Raises:
            NotAsExpected: It did not end as it says.
        """
        result = self.case.run()
        if self.config.getini(STRICT):
            result = result.strictly()
        self.user_properties += [(NOTE, line) for line in result.notes]
        if not result.expectation_met:
            from sim.api.suites import save_result

            folder = self.config.getoption(FAILURES)
            raise NotAsExpected(result, None if folder is None else save_result(result, folder))


class UnusableFile(FileItem):
    """A file that is to be a scenario, and cannot be run: it fails, and says why."""

    def __init__(self, *, why: BaseException, **given: Any) -> None:
        super().__init__(**given)
        self.why = why

    def runtest(self) -> None:
        """Fails.

        Raises:
            BadInput: What is wrong with the file.
        """
        raise self.why


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tells what should be known of scenarios that are as they expect: what did nothing, say."""
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


def _as_named(node: pytest.Item | pytest.File, text: str) -> str:
    """A text with the path of a node's file as people name it where pytest was started."""
    started_in = node.config.invocation_params.dir
    if not node.path.is_relative_to(started_in):
        return text
    return text.replace(str(node.path), str(node.path.relative_to(started_in)))


class NotAsExpected(Exception):
    """A scenario did not end as it says it does.

    Attributes:
        result: What came of it.
        saved: The folder that has all there is about it; None = none was asked for.
    """

    def __init__(self, result: CaseResult, saved: Path | None) -> None:
        super().__init__("; ".join(result.complaints))
        self.result, self.saved = result, saved

    def lines(self) -> list[str]:
        """What a developer needs of it."""
        from sim.study.suite.reports import failure_lines

        title = [*filter(None, [self.result.outcome.title])]
        lines = [*self.result.complaints[:1], *title, *failure_lines(self.result)]
        return [*lines, *([f"failure: {self.saved}"] if self.saved else [])]


_OURS = pytest.StashKey[set[str]]()


def _may_be_a_marker(config: pytest.Config, tag: str) -> bool:
    """Registers a tag as a marker; false for one that would do something, such as `skip`.

    A marker that takes arguments has an effect, and a scenario that its own tag skips or excuses
    would look like one that passed.
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
