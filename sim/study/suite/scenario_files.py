"""The scenario files of folders, found by their `format`, and the kinds of the other files.

No file is left out in silence, but hidden ones and those behind links to folders: a YAML or JSON
file without a format of Replog is refused, and the other files are counted by kind.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sim.errors import BadInput
from sim.files.document import Complaints, Document, check_format
from sim.files.foreign import command_line, one_line
from sim.files.formats import (
    FOLDERS,
    LOG_FORMAT,
    NOT_RUN,
    SCENARIO_FORMAT,
    STORY_FORMAT,
    WRITTEN,
    kind_of,
)
from sim.files.reading import document_in, head_of, read_document, read_text

if TYPE_CHECKING:
    from sim.protocol.rules.spec import RuleValue
    from sim.simulate.scenario.model import Scenario
    from sim.simulate.story.format import Story


def content_at(path: Path) -> Story | Scenario:
    """The story or the timed scenario in a file.

    Raises:
        BadInput: It is none of these, or has a mistake.
    """
    return content_in(read_document(path), path)


def content_in(document: Document, path: Path, *, seed: int | None = None) -> Story | Scenario:
    """The story or the timed scenario in a document; `path` names it if it has no id.

    Raises:
        BadInput: It has a mistake, or a story is given a seed.
    """
    # The imports for the other kinds of files are most of the start of a story.
    if isinstance(document.data, dict) and document.data.get("format") == STORY_FORMAT:
        from sim.simulate.story.format import story_in

        if seed is not None:
            raise BadInput(f"{document.name}: seed: a story has no randomness to seed")
        return story_in(document, default_id=one_line(path.stem))
    from sim.simulate.scenario.file.load import scenario_in

    return scenario_in(document, path=path, seed=seed)


def under(
    content: Story | Scenario, rules: Mapping[str, RuleValue], *, where: str
) -> Story | Scenario:
    """A scenario under other rules; `where` is their name in messages. Raises BadInput."""
    from sim.protocol.rules import rules_from

    changed = rules_from(rules, base=content.rules, where=where)
    preset: Any = rules.get("preset", content.preset)
    return replace(content, rules=changed, preset=preset)


SUFFIXES = (".yaml", ".yml", ".json")
IN_A_SUITE = (STORY_FORMAT, SCENARIO_FORMAT, LOG_FORMAT)
"""Formats of the files that a suite runs."""


SCHEMA, LEFT_OUT = "JSON Schema", "left out by --skip"
OUTPUT, OUTPUT_FOLDER = "file that a command wrote", "folder that a command wrote"
_MANY = {
    LEFT_OUT: LEFT_OUT,
    OUTPUT: "files that commands wrote",
    OUTPUT_FOLDER: "folders that commands wrote",
}
NO_SUFFIX = "."
_SCHEMA_OF_JSON_SCHEMA = ("http://json-schema.org/", "https://json-schema.org/")
_AT_THE_LEFT = re.compile(
    r"""^(["']?)format\1[ \t]*:[ \t]+(["']?)(?P<format>[^\s"'#]+)\2""", re.MULTILINE
)
"""The field in the top mapping of a YAML file."""
_FIRST = re.compile(r"""\A\s*\{\s*"format"\s*:\s*"(?P<format>[^"\\]+)\"""")
"""The field where it is the first one of a JSON file, or of the first line of a trace."""


class Collected(NamedTuple):
    """The files of a suite.

    Attributes:
        files: The files to run and the refused ones, in order of the folders and their paths.
        refused: The error of each of them that cannot be run: a YAML or JSON file without a format
            of Replog, or a file or folder that cannot be read.
        others: Number of other files by kind, such as `sweep plan`, or by suffix, such as `.md`.
    """

    files: tuple[Path, ...]
    refused: Mapping[Path, str]
    others: Mapping[str, int]

    @property
    def not_run(self) -> str:
        """The others as a line: `9 sweep plans, 1 other file (.md)`; empty when there are none."""
        kinds = {name: count for name, count in self.others.items() if not name.startswith(".")}
        parts = [_counted(kinds[name], name) for name in sorted(kinds)]
        suffixes = sorted(name for name in self.others if name.startswith("."))
        if suffixes:
            count = sum(self.others[name] for name in suffixes)
            named = ", ".join(name for name in suffixes if name != NO_SUFFIX) or "without a suffix"
            parts.append(f"{_counted(count, 'other file')} ({named})")
        return ", ".join(parts)


def _counted(count: int, name: str) -> str:
    return f"{count} {name if count == 1 else _MANY.get(name, f'{name}s')}"


def format_of(path: Path) -> str | None:
    """The value of the file's `format` field; None where it is missing or no text.

    Raises:
        BadInput: The file cannot be read.
    """
    text = read_text(path)
    if found := (_FIRST if path.suffix == ".json" else _AT_THE_LEFT).search(text):
        return found["format"]
    given = _top_of(document_in(text, path)).get("format")
    return given if isinstance(given, str) else None


def _top_of(document: Document) -> Mapping[str, Any]:
    return document.data if isinstance(document.data, dict) else {}


def refusal(path: Path, formats: Sequence[str]) -> list[str]:
    """The errors of a file with none of `formats`: file, line and what is allowed.

    Where a format is misspelt, the other mistakes in the file are reported as well.
    """
    try:
        document = read_document(path)
    except BadInput as error:
        return list(error.args)
    wrong = format_complaints(document, path, formats)
    plain = f"write it as plain text: format: {formats[0]}"
    return wrong or [document.problem(["format"], plain)]


def format_complaints(document: Document, path: Path, formats: Sequence[str]) -> list[str]:
    """The errors of a document with none of `formats`, as in `refusal`; empty if it has one."""
    wrong = Complaints()
    with wrong:
        check_format(document, formats)
    given = str(_top_of(document).get("format"))
    meant = get_close_matches(given, IN_A_SUITE, n=1)
    if wrong.lines and meant and meant[0] in formats and _name(given) not in _KNOWN:
        corrected = {**document.data, "format": meant[0]}
        with wrong:
            _read(Document(document.name, corrected, document.line_of), path)
    return wrong.lines


def elsewhere(document: Document, path: Path | None) -> str | None:
    """An error with the command for a file that is no scenario; None without path or known kind."""
    top = _top_of(document)
    found, kind = top.get("format"), kind_of(top)
    if path is None or kind is None:
        return None
    command = command_line(["replog", kind.command, path])
    return f"{document.name}: format: {found}: a {kind.name}; run it with: {command}"


def _name(given: str) -> str:
    return given.partition("/")[0]


_KNOWN = {_name(one) for one in (*IN_A_SUITE, *NOT_RUN)}.union(WRITTEN)
"""Names of formats without version: one of them is not misspelt."""


def _read(document: Document, path: Path) -> None:
    """Reads a scenario file for its mistakes. Raises BadInput."""
    if document.data["format"] != LOG_FORMAT:
        content_in(document, path)
        return
    from sim.simulate.logfile.eligible_file import eligible_file_in, is_eligible_document
    from sim.simulate.logfile.file import log_file_in

    (eligible_file_in if is_eligible_document(document) else log_file_in)(document)


def from_here(path: Path) -> Path:
    """A path relative to the current folder, if it is in there."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def is_output(folder: Path) -> bool:
    """True for a folder that a command wrote: of a failure, a sweep or a search."""
    for name, begins in FOLDERS.items():
        try:
            if (folder / name).is_file() and str(format_of(folder / name)).startswith(begins):
                return True
        except (BadInput, OSError):
            continue
    return False


def scenario_files(folder: Path) -> list[Path]:
    """All stories, timed scenarios and log files below `folder`, sorted by path.

    Hidden files and folders are skipped, links to folders, folders that commands wrote, and files
    that `collect` refuses. A file in place of a folder is returned unread.

    Raises:
        BadInput: There is no such folder, or it has no scenario.
    """
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such folder")
    found = collect([folder])
    return [path for path in found.files if path not in found.refused]


def collect(paths: Iterable[Path], *, skip: Sequence[str] = ()) -> Collected:
    """The files of a suite in these files and folders.

    Hidden files and folders are skipped, links to folders, and folders that commands wrote. A file
    that is found twice is run once.

    Args:
        paths: Files and folders.
        skip: Patterns as in a shell; a file with such a name, or such a path, is left out.

    Raises:
        BadInput: A path does not exist, or is a folder without any scenario.
    """
    files: dict[Path, Path] = {}
    refused: dict[Path, str] = {}
    others: Counter[str] = Counter()
    for start in paths:
        found = _look_into(start, skip)
        if not found.files:
            seen = f"; not run: {found.not_run}" if found.others else ""
            formats = " or ".join(IN_A_SUITE)
            raise BadInput(f"{start}: no scenario files{seen}; they say format: {formats}")
        for path in found.files:
            if files.setdefault(path.absolute(), path) is path and path in found.refused:
                refused[path] = found.refused[path]
        others.update(found.others)
    return Collected(tuple(files.values()), refused, others)


def _look_into(start: Path, skip: Sequence[str]) -> Collected:
    if not start.exists():
        text = "no such file or folder; what comes with Replog is run with --shipped"
        raise BadInput(f"{start}: {text}")
    others: Counter[str] = Counter()
    files: list[Path] = []
    refused: dict[Path, str] = {}
    unreadable: list[OSError] = []
    for path in _below(start, others, unreadable):
        if any(fnmatchcase(path.name, one) or fnmatchcase(str(path), one) for one in skip):
            others[LEFT_OUT] += 1
            continue
        try:
            kind = set_aside(path, named=path == start)
        except BadInput as error:
            kind, refused[path] = None, str(error)
        if kind is None:
            files.append(path)
        else:
            others[kind] += 1
    refused |= {
        Path(error.filename): f"{error.filename}: cannot be read: {error.strerror}"
        for error in unreadable
    }
    if start in refused and start.is_dir():
        raise BadInput(refused[start])
    return Collected(tuple(sorted({*files, *refused})), refused, others)


def _below(start: Path, others: Counter[str], unreadable: list[OSError]) -> Iterator[Path]:
    """The files below a folder, without hidden ones; folders of commands are counted.

    Folders that cannot be read are added to `unreadable`.
    """
    if not start.is_dir():
        yield start
        return
    for folder, folders, names in os.walk(start, onerror=unreadable.append):
        yield from (Path(folder, name) for name in names if not name.startswith("."))
        kept = [name for name in folders if not name.startswith(".")]
        folders[:] = [name for name in kept if not is_output(Path(folder, name))]
        if len(folders) < len(kept):
            others[OUTPUT_FOLDER] += len(kept) - len(folders)


def set_aside(path: Path, *, named: bool = False) -> str | None:
    """The kind of a file that a suite does not run; None for one that it runs.

    Args:
        path: The file.
        named: True for a file that was given by its path, and cannot be left out.

    Raises:
        BadInput: The file is meant as a scenario, and has no format, or an unknown one; it is named
            and of a kind that another command runs; or it is no regular file: a suite reads a file
            more than once.
    """
    if path.suffix.lower() not in SUFFIXES and not named:
        return path.suffix or NO_SUFFIX
    head_of(path, 0)
    found = format_of(path)
    if found in IN_A_SUITE:
        return None
    if named and found in NOT_RUN:
        raise BadInput(str(elsewhere(read_document(path), path)))
    if found in NOT_RUN:
        return NOT_RUN[found].name
    if _name(str(found)) in WRITTEN and not named:
        return OUTPUT
    schema = str(_top_of(read_document(path)).get("$schema")) if found is None else ""
    if not named and schema.startswith(_SCHEMA_OF_JSON_SCHEMA):
        return SCHEMA
    raise BadInput(*refusal(path, (*IN_A_SUITE, *NOT_RUN)))
